"""Clients on the official Python SDK, with failures typed, and agents for them.

Owns the connection to a scripted or a played agent. Every wait is under a fuse.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import acp

from lastword.client import acp as typed
from lastword.errors import PromptFailedError
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import SOURCE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from lastword import AgentError
    from lastword.client import RetryNotice

LASTWORD = (sys.executable, "-m", "lastword")
Message = dict[str, Any]


class Client:
    """An author's client that notes what it is told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []
        self.shown = asyncio.Event()
        self.connected: Any = None

    def on_connect(self, connection: Any) -> None:
        """The SDK tells the client of its connection."""
        self.connected = connection

    async def session_update(self, session_id: str, update: Any, **meta: Any) -> None:
        """An ordinary update."""
        assert session_id
        self.told.append((update.session_update, meta))
        self.shown.set()

    async def request_permission(self, **_: Any) -> Any:
        """Nothing here asks."""
        raise AssertionError

    async def agent_error(self, session_id: str, error: AgentError) -> None:
        """Why the turn is about to fail."""
        assert session_id
        self.told.append(("agent_error", error))

    async def agent_retry(self, session_id: str, retry: RetryNotice) -> None:
        """The agent is trying again."""
        assert session_id
        self.told.append(("agent_retry", retry))

    @property
    def kinds(self) -> list[str]:
        """What it was told of."""
        return [kind for kind, _ in self.told]


@dataclass
class Turn:
    """One turn as the author of a client sees it."""

    client: Any
    answer: Any = None
    failed: PromptFailedError | None = None
    raised: Exception | None = None
    errors: list[Any] = field(default_factory=list)


async def converse(connection: Any, client: Any) -> Turn:
    """Initialize, open a session, prompt once."""
    await connection.initialize(protocol_version=1)
    session = await connection.new_session(cwd="/", mcp_servers=[])
    return await prompt(connection, client, session.session_id, "Why does the parser fail?")


async def prompt(connection: Any, client: Any, session_id: str, text: str) -> Turn:
    """One turn."""
    turn = Turn(client)
    try:
        turn.answer = await connection.prompt(session_id=session_id, prompt=[acp.text_block(text)])
    except PromptFailedError as failed:
        turn.failed = failed
    except Exception as raised:  # noqa: BLE001 - to be looked at
        turn.raised = raised
    return turn


def with_process(
    command: Sequence[str], client: Any, talk: Callable[..., Awaitable[Any]] = converse
) -> Any:
    """A conversation with an agent's process."""

    async def run() -> Any:
        env = {
            "PYTHONPATH": str(SOURCE),
            "LASTWORD_STDERR_LIMIT": "1MiB",
            "PATH": os.environ["PATH"],
        }
        pipes = {"stderr": asyncio.subprocess.DEVNULL}
        async with asyncio.timeout(FUSE_SECONDS):
            async with typed.spawn_agent_process(
                client, *command, env=env, transport_kwargs=pipes
            ) as (connection, process):
                turn = await talk(connection, client)
            # The SDK waits for the process, and not until its pipes are closed.
            process._transport.close()  # type: ignore[attr-defined]
            await asyncio.sleep(0)
        return turn

    return asyncio.run(run())


class PlayedAgent:
    """The agent's end as a transport: answers each request with what a table holds for it."""

    def __init__(self, answers: dict[str, list[Message]]) -> None:
        self.heard: list[Message] = []
        self.closed = False
        self._answers = {
            "initialize": [{"result": {"protocolVersion": 1}}],
            "session/new": [{"result": {"sessionId": "s1"}}],
            **answers,
        }
        self._inbox: asyncio.Queue[Any] = asyncio.Queue()

    async def send(self, message: Message) -> None:
        """A message from the client."""
        self.heard.append(message)
        for answer in self._answers.get(message["method"], ()):
            if isinstance(answer, dict) and "method" not in answer:
                answer = {"jsonrpc": "2.0", "id": message["id"], **answer}  # noqa: PLW2901
            self._inbox.put_nowait(answer)

    async def receive(self) -> Any:
        """The next message for the client."""
        return await self._inbox.get()

    async def close(self) -> None:
        """The client has closed the connection."""
        self.closed = True


def update(**members: Any) -> Message:
    """A `session/update`."""
    return {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": "s1", "update": members},
    }


def with_played(
    prompt: list[Any], client: Any, talk: Callable[..., Awaitable[Turn]] = converse
) -> tuple[Turn, PlayedAgent]:
    """A turn with an agent that answers the prompt with these frames."""

    async def run() -> tuple[Turn, PlayedAgent]:
        agent = PlayedAgent({"session/prompt": prompt})
        connection = typed.connect_to_agent(client, agent)
        async with asyncio.timeout(FUSE_SECONDS):
            turn = await talk(connection, client)
            await connection.close()
        return turn, agent

    return asyncio.run(run())
