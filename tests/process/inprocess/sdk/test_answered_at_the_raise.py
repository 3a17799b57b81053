"""A failure reaches the client before anything else is done about it: the log may take its time."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from typing import TYPE_CHECKING, Any

import acp

import lastword

if TYPE_CHECKING:
    import pytest

FUSE_SECONDS = 10.0


class Agent(acp.Agent):
    """Raises."""

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def prompt(self, **_: Any) -> Any:
        raise TimeoutError("the provider took too long")


class SlowLog(logging.Handler):
    """The author's log, which waits for what the client has been told, and keeps what it is."""

    def __init__(self, client: socket.socket) -> None:
        super().__init__(logging.ERROR)
        self._client = client
        self.logged: list[Any] = []
        self.told = b""
        self.heard = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        while b'"id":1' not in self.told:
            self.told += self._client.recv(65536)
        if record.exc_info:
            self.logged.append(record.exc_info[1])
            self.heard.set()


def test_the_client_has_its_answer_before_the_exception_reaches_the_log_and_only_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(FUSE_SECONDS)
    log = SlowLog(ours)
    monkeypatch.setattr(logging.getLogger(), "handlers", [log])

    async def main() -> None:
        ours.sendall(
            b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'
            b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s",'
            b'"prompt":[]}}\n'
        )
        reader, writer = await asyncio.open_connection(sock=theirs)
        run = asyncio.create_task(lastword.run_agent(Agent(), writer, reader))
        await log.heard.wait()
        ours.shutdown(socket.SHUT_WR)
        await asyncio.wait_for(run, FUSE_SECONDS)
        writer.close()

    asyncio.run(asyncio.wait_for(main(), FUSE_SECONDS))
    (error,) = log.logged
    assert isinstance(error, TimeoutError)
    while piece := ours.recv(65536):
        log.told += piece
    ours.close()
    frames = [json.loads(line) for line in log.told.splitlines()]
    (answer,) = [frame for frame in frames if frame.get("id") == 1]
    assert answer["error"]["data"]["agent_error"]["type"] == "timeout"
