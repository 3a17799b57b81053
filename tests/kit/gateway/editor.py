"""An editor before `lastword connect`, which is a process.

Owns its start and end, and what the editor has been given, in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from tests.kit.patience import FUSE_SECONDS
from tests.kit.sidecar import hurried as under_limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path


class Editor:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.frames: list[dict[str, Any]] = []
        self.noise: list[bytes] = []
        self.answer_questions = True
        self._last = 0
        self._grown = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            try:
                frame = json.loads(line)
            except ValueError:
                self.noise.append(line)
                continue
            self.frames.append(frame)
            if "method" in frame and "id" in frame and self.answer_questions:
                chosen = {"outcome": {"outcome": "selected", "optionId": "yes"}}
                self.send({"id": frame["id"], "result": chosen})
            async with self._grown:
                self._grown.notify_all()
        async with self._grown:
            self._grown.notify_all()

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    def ask(self, method: str, params: dict[str, Any]) -> int:
        self._last += 1
        self.send({"id": self._last, "method": method, "params": params})
        return self._last

    async def wait_for(self, is_there: Callable[[Editor], Any]) -> Any:
        """Wait until something is so, under a fuse; gives it."""
        async with asyncio.timeout(FUSE_SECONDS), self._grown:
            while not (found := is_there(self)):
                assert not self._reading.done(), "connect has ended"
                await self._grown.wait()
            return found

    async def answer(self, request_id: int) -> dict[str, Any]:
        found = await self.wait_for(lambda editor: editor.answers(request_id))
        first: dict[str, Any] = found[0]
        return first

    def answers(self, request_id: int) -> list[dict[str, Any]]:
        return [
            each for each in self.frames if each.get("id") == request_id and "method" not in each
        ]

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self.answer(self.ask(method, params))

    async def begin(self, folder: Path, capabilities: dict[str, Any] | None = None) -> str:
        """Introduce itself, and open a session; gives its id."""
        hello = {"protocolVersion": 1, "clientCapabilities": capabilities or {}}
        await self.call("initialize", hello)
        opened = await self.call("session/new", {"cwd": str(folder), "mcpServers": []})
        assert "result" in opened, opened
        session_id: str = opened["result"]["sessionId"]
        return session_id

    def prompt(self, session_id: str, text: str) -> int:
        blocks = [{"type": "text", "text": text}]
        return self.ask("session/prompt", {"sessionId": session_id, "prompt": blocks})

    def updates(self, kind: str) -> list[dict[str, Any]]:
        found = [
            each["params"]["update"]
            for each in self.frames
            if each.get("method") == "session/update"
        ]
        return [update for update in found if update["sessionUpdate"] == kind]

    def words(self) -> list[str]:
        chunks = self.updates("agent_message_chunk")
        return "".join(chunk["content"]["text"] for chunk in chunks).split()

    async def close(self) -> tuple[int, str]:
        """Close stdin, and wait for connect to end; gives its status and its stderr."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        async with asyncio.timeout(FUSE_SECONDS):
            said = await self.process.stderr.read()
            return await self.process.wait(), said.decode()


def at_once(tries: int) -> list[str]:
    """What to start `connect` under, so that it is back at once, and tries so often.

    For links that are cut more often in a second than the policy takes for a gateway that is there.
    """
    names = dict.fromkeys(("TRIES", "PATIENT_TRIES"), tries)
    names |= dict.fromkeys(("FIRST_DELAY", "MAX_DELAY"), 20)
    names |= dict.fromkeys(("PROBE_EVERY", "PROBE_FUSE"), 2_000)
    return under_limits({f"client.reconnect.{name}": value for name, value in names.items()})


@contextlib.asynccontextmanager
async def connected(
    url: str,
    token: str,
    *options: str,
    hasty: bool = False,
    hurried: bool = False,
    under: Sequence[str] = (),
) -> AsyncIterator[Editor]:
    """An editor before `lastword connect URL`.

    A hasty one is back at once, and tries for ever; a hurried one gives up after 2 tries. It may be
    started under limits of its own.
    """
    command = [*under, sys.executable, "-m", "lastword", "connect", url, *options]
    if hasty or hurried:
        command = [*at_once(2 if hurried else 100_000), *command]
    async with before(command, os.environ | {"LASTWORD_GATEWAY_TOKEN": token}) as editor:
        yield editor


@contextlib.asynccontextmanager
async def before(command: Sequence[str], environment: Mapping[str, str]) -> AsyncIterator[Editor]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=32 * 1024 * 1024,
        env=environment,
    )
    try:
        yield Editor(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def counting(path: str) -> list[str]:
    """The command of the agent that counts, and writes its prompts there."""
    return [sys.executable, "-m", "tests.kit.gateway.agents", "counting", path]
