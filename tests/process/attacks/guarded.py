"""Agents in this very process whose handlers misbehave: `guarded.py DOOR` with a strict client.

The doors: `sdk` (`lastword.run_agent`), `asyncio` and `trio` (`lastword.serve`). A prompt's text
names one of the `do_…` below; `session/set_mode` is a handler that cancels the open prompt's task,
as `session/cancel` is where the door is told so (`guarded.py sdk own-cancel`).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import anyio

import lastword

DOOR, *MORE = sys.argv[1:]
OWN_CANCEL = "own-cancel" in MORE

if DOOR == "sdk":
    import acp
elif DOOR == "trio":
    import trio


class UnspeakableError(Exception):
    """Its text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class WordlessError(Exception):
    """Its text is none."""

    def __str__(self) -> str:
        text: Any = None
        return text


class RecursiveError(Exception):
    """Its text needs itself."""

    def __str__(self) -> str:
        return f"see {self}"

    __repr__ = __str__


class Work:
    """What a prompt does, with a way to show text."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Any] | None = None

    async def take(self, text: str, say: Any) -> None:
        if DOOR != "trio":
            self.task = asyncio.current_task()
        await getattr(self, f"do_{text.replace('-', '_')}")(say)

    def cancel_task(self) -> None:
        if self.task is not None:
            self.task.cancel()

    async def do_say(self, say: Any) -> None:
        await say("Here.")

    async def do_unspeakable(self, _say: Any) -> None:
        raise UnspeakableError

    async def do_wordless(self, _say: Any) -> None:
        raise WordlessError

    async def do_recursive(self, _say: Any) -> None:
        raise RecursiveError

    async def do_unspeakable_cause(self, _say: Any) -> None:
        raise ValueError("bad value") from UnspeakableError()

    async def do_timer(self, _say: Any) -> None:
        asyncio.get_running_loop().call_later(0.1, self.cancel_task)
        await asyncio.sleep(3600)

    async def do_cancels_itself(self, _say: Any) -> None:
        self.cancel_task()
        await asyncio.sleep(3600)

    async def do_hang(self, say: Any) -> None:
        await say("Working.")
        await anyio.sleep(3600)

    async def do_print(self, say: Any) -> None:
        print("printed by the handler", flush=True)
        await say("Here.")

    async def do_print_a_part(self, say: Any) -> None:
        print("printed by the handler", end="", flush=True)
        await say("Here.")

    async def do_write(self, say: Any) -> None:
        os.write(1, b"printed by the handler\n")
        await say("Here.")

    async def do_run(self, say: Any) -> None:
        subprocess.run(["echo", "printed by the handler"], check=True)  # noqa: ASYNC221
        await say("Here.")


WORK = Work()


class SdkAgent:
    """The same behind the official SDK."""

    def on_connect(self, conn: Any) -> None:
        self._conn = conn

    async def initialize(self, protocol_version: int, **_: Any) -> Any:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, **_: Any) -> Any:
        return acp.NewSessionResponse(session_id="s1")

    async def set_session_mode(self, **_: Any) -> Any:
        WORK.cancel_task()
        return acp.SetSessionModeResponse()

    async def prompt(self, prompt: Any, session_id: str, **_: Any) -> Any:
        async def say(text: str) -> None:
            update = acp.update_agent_message_text(text)
            await self._conn.session_update(session_id=session_id, update=update)

        await WORK.take(prompt[0].text, say)
        return acp.PromptResponse(stop_reason="end_turn")


class SdkAgentWithCancel(SdkAgent):
    async def cancel(self, **_: Any) -> None:
        WORK.cancel_task()


async def new_session(_client: Any) -> Any:
    return {"sessionId": "s1"}


async def set_mode(_client: Any) -> Any:
    WORK.cancel_task()
    return {}


async def cancel(_client: Any) -> None:
    WORK.cancel_task()


async def prompt(client: Any, session_id: str, prompt: Any) -> Any:
    async def say(text: str) -> None:
        await client.say(session_id, text)

    await WORK.take(prompt[0]["text"], say)
    return {"stopReason": "end_turn"}


METHODS = {"session/new": new_session, "session/set_mode": set_mode, "session/prompt": prompt}

if OWN_CANCEL:
    METHODS["session/cancel"] = cancel

if DOOR == "sdk":
    asyncio.run(lastword.run_agent(SdkAgentWithCancel() if OWN_CANCEL else SdkAgent()))  # type: ignore[arg-type]
elif DOOR == "trio":
    trio.run(lastword.serve, METHODS)
else:
    asyncio.run(lastword.serve(METHODS))
