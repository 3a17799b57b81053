"""An editor before `lastword connect`, and the gateway behind it, as processes.

Owns their start and end, and what the editor has been given, in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

FUSE_SECONDS = 120.0


class Editor:
    """One editor."""

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
        """Say something."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    def ask(self, method: str, params: dict[str, Any]) -> int:
        """Send a request; gives its id."""
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
        """The answer to a request."""
        found = await self.wait_for(lambda editor: editor.answers(request_id))
        first: dict[str, Any] = found[0]
        return first

    def answers(self, request_id: int) -> list[dict[str, Any]]:
        """All answers to a request."""
        return [
            each for each in self.frames if each.get("id") == request_id and "method" not in each
        ]

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and wait for its answer."""
        return await self.answer(self.ask(method, params))

    async def begin(self, folder: Path, capabilities: dict[str, Any] | None = None) -> str:
        """Introduce itself, and open a session; gives its id."""
        hello = {"protocolVersion": 1, "clientCapabilities": capabilities or {}}
        await self.call("initialize", hello)
        opened = await self.call("session/new", {"cwd": str(folder), "mcpServers": []})
        session_id: str = opened["result"]["sessionId"]
        return session_id

    def prompt(self, session_id: str, text: str) -> int:
        """Send a prompt; gives its id."""
        blocks = [{"type": "text", "text": text}]
        return self.ask("session/prompt", {"sessionId": session_id, "prompt": blocks})

    def updates(self, kind: str) -> list[dict[str, Any]]:
        """The updates of one kind, in order."""
        found = [
            each["params"]["update"]
            for each in self.frames
            if each.get("method") == "session/update"
        ]
        return [update for update in found if update["sessionUpdate"] == kind]

    def words(self) -> list[str]:
        """What the agent said, word by word."""
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


@contextlib.asynccontextmanager
async def connected(
    url: str, token: str, *options: str, hasty: bool = False
) -> AsyncIterator[Editor]:
    """An editor before `lastword connect URL`; a hasty one is back at once, and tries for ever."""
    program = ["tests.kit.gateway.hasty_connect"] if hasty else ["lastword", "connect"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *program,
        url,
        *options,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=32 * 1024 * 1024,
        env=dict(os.environ) | {"LASTWORD_GATEWAY_TOKEN": token},
    )
    try:
        yield Editor(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class Gateway:
    """`lastword gateway` on a port, which may be killed and started again."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self.folder = folder
        self.port = free_port()
        self._command = list(command)
        self._process: asyncio.subprocess.Process | None = None
        self._environment = dict(os.environ) | {"XDG_STATE_HOME": str(folder / "state")}

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/acp"

    async def start(self) -> None:
        """Start the front."""
        with (self.folder / "gateway.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "lastword", "gateway"),
                *("--listen", f"127.0.0.1:{self.port}", "--root", str(self.folder)),
                "--",
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
            )
        async with asyncio.timeout(FUSE_SECONDS):
            while not await self._listens():
                assert self._process.returncode is None, (self.folder / "gateway.log").read_text()
                await asyncio.sleep(0.02)

    async def _listens(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True

    async def kill(self) -> None:
        """Kill the front, as nothing that ends well does."""
        assert self._process is not None
        self._process.kill()
        await self._process.wait()

    async def word(self, *arguments: str) -> str:
        """What `lastword gateway WORD` prints."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "lastword", "gateway", *arguments),
            stdout=asyncio.subprocess.PIPE,
            env=self._environment,
        )
        async with asyncio.timeout(FUSE_SECONDS):
            out, _ = await process.communicate()
        return out.decode().strip()

    async def token(self) -> str:
        """A token that lasts."""
        return await self.word("token", "--expires", "0")

    async def holders(self) -> list[dict[str, Any]]:
        """What `lastword gateway status` tells of its agents."""
        told = json.loads(await self.word("status", "--json", "--port", str(self.port)))
        found: list[dict[str, Any]] = told["holders"]
        return found

    async def kill_holder_of(self, session_id: str) -> None:
        """Kill the process that holds a session."""
        for holder in await self.holders():
            if any(each["sessionId"] == session_id for each in holder["sessions"]):
                os.kill(holder["pid"], signal.SIGKILL)
                return
        raise AssertionError(session_id)

    async def stop(self) -> None:
        """End it, with its agents."""
        await self.word("stop", "--agents", "--port", str(self.port))
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(20):
                    await self._process.wait()
            if self._process.returncode is None:
                await self.kill()


@contextlib.asynccontextmanager
async def serving(folder: Path, command: Sequence[str]) -> AsyncIterator[Gateway]:
    """A gateway before an agent."""
    gateway = Gateway(folder, command)
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def agent(scenario: str) -> list[str]:
    """The command of a scripted agent."""
    return [sys.executable, "-m", "lastword", "agent", scenario]


def counting(folder: Path) -> list[str]:
    """The command of the agent that counts."""
    return [sys.executable, "-m", "tests.kit.gateway.counting_agent", str(folder / "prompts")]
