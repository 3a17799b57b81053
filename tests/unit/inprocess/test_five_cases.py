"""The five ways to fail that matter most, on both event loops, frame by frame.

The clock is the test's, and nothing is left to chance: the same frames in every run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import pytest

import lastword
from lastword.core.link.facts import Facts
from tests.kit.in_process import CANCEL, Json, Shell
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.kit.in_process import Json


TYPED: Json = {"_meta": {"agent_error": {"version": 1}}}
PLAIN: Json = {}
LIMIT_SECONDS = 0.05


class Work(Protocol):
    """What a handler can do, whatever carries it."""

    at_work: Any

    def say(self, text: str) -> Any: ...

    def show(self, **update: Any) -> Any: ...


@dataclass(frozen=True)
class Case:
    """One way to fail.

    Attributes:
        handler: What the agent does.
        payload: The typed error, without `incident_id`; empty where the turn ends as cancelled.
        said: The detail's text, where the failure has one of its own.
        shown: How many updates the handler sends.
        closed: Tool calls that are left open, and closed for the client.
        options: Limits.
        facts: What the core knows of the turn, where it is not the default.
        cancel: The client cancels.
    """

    handler: Callable[[Any], Awaitable[None]]
    payload: Json = field(default_factory=dict)
    code: int = -32603
    shown: int = 0
    closed: tuple[str, ...] = ()
    options: Json = field(default_factory=dict)
    facts: frozenset[str] = frozenset()
    cancel: bool = False


async def chunks(*texts: str, cut: bool = False) -> AsyncIterator[Json]:
    """A chat completion's stream that does not come to its end."""
    for text in texts:
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        yield {"id": "c", "model": "m", "choices": [choice]}
    if cut:
        raise ConnectionResetError("Connection reset by peer")


async def _ask(work: Work, stream: AsyncIterator[Json]) -> None:
    work.at_work.set()
    async for chunk in lastword.current_turn().watch(stream):
        await anyio.lowlevel.checkpoint()
        await done(work.say(chunk["choices"][0]["delta"]["content"]))


async def done(maybe: Any) -> None:
    """Wait for what may have to be waited for: one wire is a function, the other a coroutine."""
    if maybe is not None:
        await maybe


async def early_disconnect(work: Work) -> None:
    await _ask(work, chunks(cut=True))


async def mid_stream_disconnect(work: Work) -> None:
    await _ask(work, chunks("Half of an ", "answer", cut=True))


async def truncated(work: Work) -> None:
    await _ask(work, chunks("Half of an ", "answer"))


async def silent(work: Work) -> None:
    work.at_work.set()
    await anyio.sleep_forever()


async def silent_after_text(work: Work) -> None:
    await done(work.say("Half"))
    await silent(work)


async def silent_in_a_tool(work: Work) -> None:
    lastword.current_turn().tool_started("write", side_effects=True)
    await silent(work)


async def disconnect_after_tool_call(work: Work) -> None:
    call = {"toolCallId": "t1", "title": "Edit", "kind": "edit", "status": "in_progress"}
    await done(work.show(sessionUpdate="tool_call", **call))
    await done(work.show(sessionUpdate="tool_call_update", toolCallId="t1", status="completed"))
    await early_disconnect(work)


async def disconnect_in_tool_call(work: Work) -> None:
    call = {"toolCallId": "t1", "title": "Edit", "kind": "edit", "status": "in_progress"}
    await done(work.show(sessionUpdate="tool_call", **call))
    await early_disconnect(work)


async def disconnect_after_own_tool(work: Work) -> None:
    turn = lastword.current_turn()
    turn.tool_started("write", side_effects=True)
    turn.tool_finished("write")
    await early_disconnect(work)


NETWORK: Json = {"type": "network", "retryable": True, "origin": "network"}
STALLED: Json = {"type": "agent_stalled", "retryable": True, "origin": "agent"}
LOST = "The connection to the model provider failed."
CUT = "The model provider's answer was cut off."
STOPPED = "The agent stopped making progress."
RESET: Json = {"detail": {"text": "Connection reset by peer"}, "reason": "connection_lost"}
BEFORE: Json = {"phase": "before_output", "retry_safety": "auto"}
CONTINUE: Json = {"phase": "mid_output", "retry_safety": "offer_continue", "action": "continue"}
ASK: Json = {"retry_safety": "ask", "action": "confirm_retry"}
CHECK = "Check what has already been done before you try again."
TOOL = frozenset({"tool_called", "tool_ran", "unsafe_tool"})

CASES: dict[str, Case] = {
    "early disconnect": Case(
        early_disconnect,
        NETWORK | RESET | BEFORE | {"action": "retry", "message": f"{LOST} Try again."},
    ),
    "disconnect in mid-stream": Case(
        mid_stream_disconnect,
        NETWORK | RESET | CONTINUE | {"message": f"{LOST} Ask the agent to continue."},
        shown=2,
        facts=frozenset({"shown", "text"}),
    ),
    "stream cut without a sign": Case(
        truncated,
        NETWORK
        | CONTINUE
        | {
            "reason": "truncated_stream",
            "message": f"{CUT} Ask the agent to continue.",
            "detail": {
                "text": "The model's stream ended after 2 items, before its terminal event."
            },
        },
        shown=2,
        facts=frozenset({"shown", "text"}),
    ),
    "cancel before output": Case(silent, cancel=True),
    "cancel after text": Case(
        silent_after_text, cancel=True, shown=1, facts=frozenset({"shown", "text"})
    ),
    "no first update": Case(
        silent,
        STALLED
        | BEFORE
        | {"reason": "first_update_timeout", "action": "retry"}
        | {"message": f"{STOPPED} Try again."},
        options={"first_update_timeout_seconds": LIMIT_SECONDS},
    ),
    "idle": Case(
        silent_after_text,
        STALLED
        | CONTINUE
        | {"reason": "idle_timeout", "message": f"{STOPPED} Ask the agent to continue."},
        options={"idle_timeout_seconds": LIMIT_SECONDS},
        shown=1,
        facts=frozenset({"shown", "text"}),
    ),
    "whole turn": Case(
        silent_after_text,
        STALLED
        | CONTINUE
        | {"reason": "turn_timeout", "message": f"{STOPPED} Ask the agent to continue."},
        options={"turn_timeout_seconds": LIMIT_SECONDS},
        shown=1,
        facts=frozenset({"shown", "text"}),
    ),
    "idle tool": Case(
        silent_in_a_tool,
        STALLED
        | ASK
        | {"reason": "tool_timeout", "phase": "tool_running", "message": f"{STOPPED} {CHECK}"},
        options={"tool_timeout_seconds": LIMIT_SECONDS},
        facts=TOOL | {"own_tools"},
    ),
    "disconnect after a tool call": Case(
        disconnect_after_tool_call,
        NETWORK | RESET | ASK | {"phase": "after_tool", "message": f"{LOST} {CHECK}"},
        shown=2,
        facts=TOOL | {"shown"},
    ),
    "disconnect within a tool call": Case(
        disconnect_in_tool_call,
        NETWORK | RESET | ASK | {"phase": "tool_running", "message": f"{LOST} {CHECK}"},
        shown=1,
        closed=("t1",),
        facts=TOOL | {"shown"},
    ),
    "disconnect after a tool of its own": Case(
        disconnect_after_own_tool,
        NETWORK | RESET | ASK | {"phase": "after_tool", "message": f"{LOST} {CHECK}"},
        facts=TOOL,
    ),
}


def expected_end(case: Case, capabilities: Json, incident_id: str) -> list[Json]:
    """The frames with which the turn ends, after what the handler sent."""
    if case.cancel:
        return [_answer(result={"stopReason": "cancelled"})]
    payload = case.payload | {"incident_id": incident_id}
    inner = payload | {"stopReason": "error"}
    closing: list[Json] = [
        {"sessionUpdate": "tool_call_update", "toolCallId": tool, "status": "failed"}
        for tool in case.closed
    ]
    if capabilities == TYPED:
        told: Json = {"sessionUpdate": "agent_error", "stopReason": "error", "error": payload}
    else:
        told = {"sessionUpdate": "session_info_update", "_meta": {"agent_error": inner}}
    data = {"details": payload["message"], "errorKind": payload["type"], "agent_error": inner}
    error = {"code": case.code, "message": payload["message"], "data": data}
    return [*map(_update, [*closing, told]), _answer(error=error)]


def _update(update: Json) -> Json:
    params = {"sessionId": "s1", "update": update}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def _answer(**members: Any) -> Json:
    return {"jsonrpc": "2.0", "id": 2, **members}


pytestmark = pytest.mark.anyio

FACTS = Facts.__slots__


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["typed", "plain"])
def capabilities(request: pytest.FixtureRequest) -> Json:
    return TYPED if request.param == "typed" else PLAIN


async def play(case: Case, shell: Shell) -> None:
    """Take the turn."""
    async with shell.turn():
        if case.cancel:
            shell.client(CANCEL)
        elif case.options:
            shell.pass_time(LIMIT_SECONDS * 0.9)
            assert not shell.answered.is_set()
            shell.pass_time(LIMIT_SECONDS * 0.2)


@every("name", CASES)
async def test_each_case_ends_in_exactly_these_frames(
    name: str, capabilities: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    shell = Shell(case.handler, capabilities, monkeypatch, **case.options)
    await play(case, shell)
    assert shell.frames[case.shown :] == expected_end(case, capabilities, "t-1")
    assert {name for name in FACTS if getattr(shell.facts, name)} == case.facts
    assert shell.cancelled is bool(case.cancel or case.options)


@every("name", [name for name in CASES if not CASES[name].options])
async def test_frames_after_the_end_never_reach_a_client(
    name: str, capabilities: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    shell = Shell(case.handler, capabilities, monkeypatch, **case.options)
    await play(case, shell)
    frames = list(shell.frames)
    shell.pass_time(100_000)
    shell.link.handler_left()
    assert shell.frames == frames
    assert shell.request.over
    assert shell.link.open_requests == []
