"""The control socket: how `lastword gateway status` and `stop` ask a running gateway.

Owns the socket in the run folder, which only its user may open, and its two requests. Each message
is a line with a JSON object.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.errors import StoreError
from lastword.gateway import wire
from lastword.gateway.run_folder import make_private, pid_of

if TYPE_CHECKING:
    from lastword.gateway.front.holders import Holders

NAME = "gateway.sock"
STATUS = "status"
STOP = "stop"
"""End all agents with their sessions."""

ANSWER_SECONDS = 30.0
LOOK_SECONDS = 0.1


class ControlSocket:
    """The socket of a gateway that is running."""

    def __init__(self, holders: Holders) -> None:
        """Serve requests about these holders, once `make` is called."""
        self._holders = holders
        self._path = os.path.join(holders.run_folder, NAME)
        self._server: asyncio.Server | None = None

    async def make(self) -> None:
        """Make the socket, and replace an earlier one.

        Raises:
            OSError: It cannot be made.
        """
        new = f"{self._path}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        before = self._server
        self._server = await asyncio.start_unix_server(self._serve, new)
        os.chmod(new, 0o600)
        os.rename(new, self._path)
        if before is not None:
            await wire.close_server(before)

    async def keep(self) -> bool:
        """Make the socket again if it was deleted; return whether it was."""
        if os.path.lexists(self._path):  # noqa: ASYNC240 - some microseconds
            return False
        with contextlib.suppress(OSError, StoreError):  # as at the end of a login
            make_private(self._holders.run_folder)
            await self.make()
        return True

    async def close(self) -> None:
        """Close the socket and delete its file."""
        if self._server is not None:
            await wire.close_server(self._server)
            with contextlib.suppress(OSError):
                os.unlink(self._path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("socket")
        user = wire.peer_user(peer) if peer is not None else None
        try:
            if user is None or user == os.getuid():
                word = object_of(jsonrpc.loads(await reader.readline())).get("word")
                answer: dict[str, Any] = {}
                if word == STATUS:
                    answer["holders"] = await self._holders.statuses()
                elif word == STOP:
                    answer["stopped"] = await self._holders.stop_all(ends_sessions=True)
                writer.write(jsonrpc.dumps(answer) + b"\n")
                await writer.drain()
        except (OSError, ValueError):
            pass
        finally:
            writer.close()


def ask(run_folder: str, word: str) -> dict[str, Any]:
    """Send a request to the gateway with this run folder; return its answer, empty without one.

    While a gateway starts or reloads, it has no socket: the request is repeated.
    """
    until = time.monotonic() + ANSWER_SECONDS
    while True:
        with contextlib.suppress(OSError, ValueError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(os.path.join(run_folder, NAME))
            connection.sendall(jsonrpc.dumps({"word": word}) + b"\n")
            with connection.makefile("rb") as answer:
                return object_of(json.loads(answer.readline()))
        if time.monotonic() > until or pid_of(run_folder) is None:
            return {}
        time.sleep(LOOK_SECONDS)
