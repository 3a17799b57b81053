"""The same ways to fail through the SDK's own connection, on a pair of sockets: the same frames."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import acp
import pytest

import lastword
from lastword import Options
from tests.kit.five_cases import CASES, PLAIN, TYPED, Case, expected_end
from tests.kit.in_process import CANCEL, FUSE_SECONDS, PROMPT_ID, Json, requests


class Work:
    """What the cases' handlers do, over the SDK's connection."""

    def __init__(self, client: Any, session_id: str) -> None:
        self.at_work = asyncio.Event()
        self._client = client
        self._session_id = session_id

    async def say(self, text: str) -> None:
        await self._client.session_update(self._session_id, acp.update_agent_message_text(text))

    async def show(self, **update: Any) -> None:
        kind = update.pop("sessionUpdate")
        update["tool_call_id"] = update.pop("toolCallId")
        make: Any = acp.start_tool_call if kind == "tool_call" else acp.update_tool_call
        await self._client.session_update(self._session_id, make(**update))


class CaseAgent:
    """An agent whose every prompt is one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.work: asyncio.Future[Work] = asyncio.get_running_loop().create_future()

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="s1")

    async def prompt(self, session_id: str, **_: Any) -> acp.PromptResponse:
        work = Work(self.client, session_id)
        self.work.set_result(work)
        await self.case.handler(work)
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, **_: Any) -> None: ...


async def take_turn(case: Case, capabilities: Json) -> list[Json]:
    """What the client gets for its prompt, up to its answer."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    client_reader, client_writer = await asyncio.open_connection(sock=ours)
    agent: Any = CaseAgent(case)
    options = Options(incident_prefix="t-", **case.options)
    async with asyncio.TaskGroup() as group:
        group.create_task(lastword.run_agent(agent, writer, reader, options=options))
        for request in requests(capabilities):
            client_writer.write(json.dumps(request).encode() + b"\n")
        if case.cancel:
            work = await agent.work
            await work.at_work.wait()
            client_writer.write(json.dumps(CANCEL).encode() + b"\n")
        frames: list[Json] = []
        while not frames or frames[-1].get("id") != PROMPT_ID:
            frame = json.loads(await client_reader.readline())
            if frame.get("id") not in (0, 1):
                frames.append(frame)
        client_writer.close()
    writer.close()
    assert await client_reader.read() == b""
    await asyncio.gather(client_writer.wait_closed(), writer.wait_closed())
    return frames


@pytest.mark.parametrize("capabilities", [TYPED, PLAIN], ids=["typed", "plain"])
@pytest.mark.parametrize("name", CASES)
def test_it_ends_in_exactly_these_frames(name: str, capabilities: Json) -> None:
    case = CASES[name]
    frames = asyncio.run(asyncio.wait_for(take_turn(case, capabilities), FUSE_SECONDS))
    assert frames[case.shown :] == expected_end(case, capabilities, "t-1")


async def retry_in_thread(_: Any) -> None:
    """As a framework may do that has no event loop of its own in its threads."""

    async def call() -> None:
        retry = lastword.Retry(attempts=2, first_wait_seconds=0)
        async for attempt in lastword.current_turn().attempts(retry):
            with attempt:
                raise ConnectionResetError

    await asyncio.to_thread(asyncio.run, call())


def test_a_retry_in_a_threads_own_event_loop_is_told_and_counted() -> None:
    wants_retries = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
    turn = take_turn(Case(retry_in_thread), wants_retries)
    *updates, answer = asyncio.run(asyncio.wait_for(turn, FUSE_SECONDS))
    kinds = [frame["params"]["update"]["sessionUpdate"] for frame in updates]
    assert kinds == ["agent_retry", "agent_error"]
    assert answer["error"]["data"]["agent_error"]["attempts"] == 2
