"""A tunnel: one connection to a gateway on another machine, through `ssh -W`.

Owns the process. A tunnel belongs to one connection and ends with it, so that a lost network, a
laptop that slept, or a new address of the machine is a new connection, and nothing else. No local
port is opened.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lastword.gateway.connecting import ssh

if TYPE_CHECKING:
    from asyncio.subprocess import Process

_PORTS = {"ws": 80, "wss": 443}
STDERR_BYTES = 64 * 1024
END_SECONDS = 2.0


class Tunnel:
    """A tunnel that is open, or is being opened."""

    def __init__(self, host: str, process: Process, end: socket.socket) -> None:
        self._host = host
        self._process = process
        self._errors = bytearray()
        self._reading = asyncio.create_task(self._read())
        self.socket: socket.socket = end

    @classmethod
    async def open(cls, host: str, url: str, way: str = ssh.OWN) -> Tunnel:
        """Start `ssh`; whether it gets there shows when the socket is used.

        Args:
            host: The machine to go through.
            url: The WebSocket address, as that machine sees it.
            way: `ssh.OWN` or `ssh.SHARED`.

        Raises:
            SshError: There is no `ssh` here.
        """
        parts = urlsplit(url)
        name = parts.hostname or ""
        target = f"[{name}]" if ":" in name else name
        forward = f"{target}:{parts.port or _PORTS[parts.scheme]}"
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *ssh.command(host, "-W", forward, way=way),
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=asyncio.subprocess.PIPE,
                env=os.environ | {"LC_ALL": "C"},  # its errors are read
                start_new_session=True,  # Ctrl-C is for `connect`, which ends it
            )
        except FileNotFoundError:
            ours.close()
            raise ssh.SshError(ssh.MISSING, ssh.BAD_REQUEST) from None
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)  # noqa: FBT003 - as it is called
        return cls(host, process, ours)

    async def failure(self) -> ssh.SshError | None:
        """Return why `ssh` has ended; `None` if it is the other end that has hung up."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await self._process.wait()
                await self._reading
        status = self._process.returncode
        if not status and not self._errors.strip():
            return None
        return ssh.error_of(self._host, self._errors.decode("utf-8", "replace"), status)

    async def close(self) -> None:
        """End `ssh`, which would wait for a network that is gone."""
        self.socket.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        self._reading.cancel()

    async def _read(self) -> None:
        """Keep the end of what `ssh` says."""
        assert self._process.stderr is not None  # noqa: S101 - it has a pipe
        while piece := await self._process.stderr.read(STDERR_BYTES):
            self._errors += piece
            del self._errors[:-STDERR_BYTES]
