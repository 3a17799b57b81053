"""An agent whose turns are recorded: ``recorded_agent.py guard|serve [record=FOLDER|off] [log]``.

A prompt's first word says what its turn does, the rest is what it is given. With `log` every
record of the logger `lastword.timeline` goes to the file that LOG_FILE names, all of its fields.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import sys
from typing import Any

import lastword

END = {"stopReason": "end_turn"}


class ToFile(logging.Handler):
    """Writes all there is of a log record."""

    def emit(self, record: logging.LogRecord) -> None:
        with open(os.environ["LOG_FILE"], "a") as file:
            said = {"message": record.getMessage(), **record.__dict__}
            file.write(json.dumps(said, default=str) + "\n")


async def take_turn(text: str, show: Any) -> None:
    """Do what the prompt says; `show` sends an update."""
    word, _, rest = text.partition(" ")
    if word == "fail":
        raise RuntimeError(f"429 Too Many Requests: {rest}")
    if word == "tool":
        raw = {"command": rest, "env": {"API_KEY": rest}}
        call = {"sessionUpdate": "tool_call", "toolCallId": "c1", "kind": "execute"}
        await show({**call, "title": rest, "rawInput": raw})
        content = [{"type": "content", "content": {"type": "text", "text": rest}}]
        ended = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed"}
        await show({**ended, "content": content, "rawOutput": {"said": rest}})
    if word == "stderr":
        sys.stderr.write(rest + "\n")
    if word == "own":
        lastword.current_turn().fail("budget", rest[:400], reason="own", detail=rest)
    if word == "fork":
        fork(rest)
    if word == "stop":
        raise SystemExit(3)
    content = {"type": "text", "text": f"done {rest}"}
    await show({"sessionUpdate": "agent_message_chunk", "content": content})


def fork(how: str) -> None:
    """Have a child that ends in this way, and wait for it."""
    if how == "by_multiprocessing":
        child = multiprocessing.get_context("fork").Process(target=os.getpid)
        child.start()
        child.join()
        return
    number = os.fork()
    if not number:
        os._exit(0)
    os.waitpid(number, 0)


def on_serve(options: lastword.Options | None) -> None:
    """Be an agent without an SDK."""

    async def initialize(_: Any) -> Any:
        return {"protocolVersion": 1, "agentInfo": {"name": "recorded", "version": "1"}}

    async def new_session(_: Any) -> Any:
        return {"sessionId": "s1"}

    async def prompt(client: Any, session_id: str, prompt: Any) -> Any:
        await take_turn(prompt[0]["text"], lambda update: client.update(session_id, update))
        return END

    methods = {"initialize": initialize, "session/new": new_session, "session/prompt": prompt}
    asyncio.run(lastword.serve(methods, options=options))


def on_the_sdk(options: lastword.Options | None) -> None:
    """Be an agent of the official SDK."""
    import acp  # noqa: PLC0415 - one of two agents has it

    class Agent:
        def on_connect(self, conn: Any) -> None:
            self.client = conn

        async def initialize(self, **_: Any) -> Any:
            info = {"name": "recorded", "version": "1"}
            return acp.InitializeResponse(protocol_version=1, agent_info=info)

        async def new_session(self, **_: Any) -> Any:
            return acp.NewSessionResponse(session_id="s1")

        async def prompt(self, prompt: Any, session_id: str, **_: Any) -> Any:
            async def show(update: Any) -> None:
                note = acp.schema.SessionNotification(session_id=session_id, update=update)
                await self.client.session_update(session_id, note.update)

            await take_turn(prompt[0].text, show)
            return acp.PromptResponse(stop_reason="end_turn")

    asyncio.run(lastword.run_agent(Agent(), options=options))


def main() -> None:
    """Be the agent that the arguments name."""
    options = None
    for word in sys.argv[2:]:
        name, _, value = word.partition("=")
        if name == "record":
            options = lastword.Options(record=False if value == "off" else value)
        elif name == "log":
            logger = logging.getLogger("lastword.timeline")
            logger.addHandler(ToFile())
            logger.setLevel(logging.DEBUG)
    {"serve": on_serve, "guard": on_the_sdk}[sys.argv[1]](options)


main()
