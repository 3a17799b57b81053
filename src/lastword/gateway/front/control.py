"""The control socket: how `lastword gateway status` and `stop` ask a running gateway.

Owns the socket in the run folder, which is for its user alone, and the two words that it takes. One
JSON object a line, in both directions.
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
        """Answer about these holders, once it is made."""
        self._holders = holders
        self._path = os.path.join(holders.run_folder, NAME)
        self._server: asyncio.Server | None = None

    async def make(self) -> None:
        """Make it, in the place of one that is there.

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
        """Make it again if it has been deleted; return whether it was."""
        if os.path.lexists(self._path):  # noqa: ASYNC240 - some microseconds
            return False
        with contextlib.suppress(OSError):  # as of a home that is away: it comes back
            make_private(self._holders.run_folder)
            await self.make()
        return True

    async def close(self) -> None:
        """Close it, and remove its name."""
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
                writer.write(jsonrpc.dumps(await self._answer(word)) + b"\n")
                await writer.drain()
        except (OSError, ValueError):
            pass
        finally:
            writer.close()

    async def _answer(self, word: object) -> dict[str, Any]:
        if word == STATUS:
            return {"holders": await self._holders.statuses()}
        if word == STOP:
            return {"stopped": await self._holders.stop_all(ends_sessions=True)}
        return {}


def ask(run_folder: str, word: str) -> dict[str, Any]:
    """Ask the gateway with this run folder; return its answer, empty if none is running.

    One that is starting or reloading is running, and has no socket yet: it is asked again.
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
