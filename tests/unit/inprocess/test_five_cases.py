"""The ways to fail that matter most, on both event loops: what is known of a turn, and its end.

The clock is the test's, and nothing is left to chance: the same frames in every run. Which words
and frames a failure has is decided in `tests/unit/failure` and by the vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import lastword
from lastword.core.link.facts import Facts
from tests.kit.in_process import CANCEL, Json, Shell
from tests.kit.rows import every
from tests.unit.inprocess.conftest import TYPED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

pytestmark = pytest.mark.anyio

LIMIT_SECONDS = 0.05
FACTS = Facts.__slots__


@dataclass(frozen=True)
class Case:
    """One way to fail.

    Attributes:
        handler: What the agent does.
        error: The failure's type, reason, phase and retry safety; empty where the client cancels.
        facts: What the core knows of the turn, where it is not the default.
        shown: How many updates the handler sends.
        closed: Tool calls that are left open, and closed for the client.
        limit: The limit that the turn reaches.
    """

    handler: Callable[[Shell], Awaitable[None]]
    error: str
    facts: str = ""
    shown: int = 0
    closed: tuple[str, ...] = ()
    limit: str = ""


async def chunks(*texts: str, cut: bool = False) -> AsyncIterator[Json]:
    """A chat completion's stream that does not come to its end."""
    for text in texts:
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        yield {"id": "c", "model": "m", "choices": [choice]}
    if cut:
        raise ConnectionResetError("Connection reset by peer")


async def ask(shell: Shell, stream: AsyncIterator[Json]) -> None:
    shell.at_work.set()
    async for chunk in lastword.current_turn().watch(stream):
        await anyio.lowlevel.checkpoint()
        shell.say(chunk["choices"][0]["delta"]["content"])


async def early_disconnect(shell: Shell) -> None:
    await ask(shell, chunks(cut=True))


async def mid_stream_disconnect(shell: Shell) -> None:
    await ask(shell, chunks("Half of an ", "answer", cut=True))


async def truncated(shell: Shell) -> None:
    await ask(shell, chunks("Half of an ", "answer"))


async def silent(shell: Shell) -> None:
    shell.at_work.set()
    await anyio.sleep_forever()


async def silent_after_text(shell: Shell) -> None:
    shell.say("Half")
    await silent(shell)


async def silent_in_a_tool(shell: Shell) -> None:
    lastword.current_turn().tool_started("write", side_effects=True)
    await silent(shell)


CALL: Json = {"toolCallId": "t1", "title": "Edit", "kind": "edit", "status": "in_progress"}


async def disconnect_after_tool_call(shell: Shell) -> None:
    shell.show(sessionUpdate="tool_call", **CALL)
    shell.show(sessionUpdate="tool_call_update", toolCallId="t1", status="completed")
    await early_disconnect(shell)


async def disconnect_in_tool_call(shell: Shell) -> None:
    shell.show(sessionUpdate="tool_call", **CALL)
    await early_disconnect(shell)


async def disconnect_after_own_tool(shell: Shell) -> None:
    turn = lastword.current_turn()
    turn.tool_started("write", side_effects=True)
    turn.tool_finished("write")
    await early_disconnect(shell)


TEXT, TOOL = "shown text", "tool_called tool_ran unsafe_tool"
CASES = {
    "early disconnect": Case(early_disconnect, "network connection_lost before_output auto"),
    "disconnect in mid-stream": Case(
        mid_stream_disconnect,
        "network connection_lost mid_output offer_continue",
        TEXT,
        shown=2,
    ),
    "stream cut without a sign": Case(
        truncated, "network truncated_stream mid_output offer_continue", TEXT, shown=2
    ),
    "cancel before output": Case(silent, ""),
    "cancel after text": Case(silent_after_text, "", TEXT, shown=1),
    "no first update": Case(
        silent,
        "agent_stalled first_update_timeout before_output auto",
        limit="first_update_timeout_seconds",
    ),
    "idle": Case(
        silent_after_text,
        "agent_stalled idle_timeout mid_output offer_continue",
        TEXT,
        shown=1,
        limit="idle_timeout_seconds",
    ),
    "whole turn": Case(
        silent_after_text,
        "agent_stalled turn_timeout mid_output offer_continue",
        TEXT,
        shown=1,
        limit="turn_timeout_seconds",
    ),
    "idle tool": Case(
        silent_in_a_tool,
        "agent_stalled tool_timeout tool_running ask",
        f"{TOOL} own_tools",
        limit="tool_timeout_seconds",
    ),
    "disconnect after a tool call": Case(
        disconnect_after_tool_call,
        "network connection_lost after_tool ask",
        f"{TOOL} shown",
        shown=2,
    ),
    "disconnect within a tool call": Case(
        disconnect_in_tool_call,
        "network connection_lost tool_running ask",
        f"{TOOL} shown",
        shown=1,
        closed=("t1",),
    ),
    "disconnect after a tool of its own": Case(
        disconnect_after_own_tool, "network connection_lost after_tool ask", TOOL
    ),
}


@every("name", CASES)
async def test_each_case_ends_in_exactly_these_frames_and_none_comes_after_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    limits: Json = {case.limit: LIMIT_SECONDS} if case.limit else {}
    shell = Shell(case.handler, TYPED, monkeypatch, **limits)
    async with shell.turn():
        if not case.error:
            shell.client(CANCEL)
        elif case.limit:
            shell.pass_time(LIMIT_SECONDS * 0.9)
            assert not shell.answered.is_set()
            shell.pass_time(LIMIT_SECONDS * 0.2)
    *updates, answer = shell.frames
    told: list[Any] = [frame["params"]["update"] for frame in updates[case.shown :]]
    assert answer["id"] == 2
    if case.error:
        error = answer["error"]["data"]["agent_error"]
        members = ("type", "reason", "phase", "retry_safety")
        assert [error[name] for name in members] == case.error.split()
        assert error["incident_id"] == "t-1"
        *closing, update = told
        assert update["sessionUpdate"] == "agent_error"
        assert update["error"] | {"stopReason": "error"} == error
        assert [(each["toolCallId"], each["status"]) for each in closing] == [
            (tool, "failed") for tool in case.closed
        ]
    else:
        assert (told, answer["result"]) == ([], {"stopReason": "cancelled"})
    assert {name for name in FACTS if getattr(shell.facts, name)} == set(case.facts.split())
    assert shell.cancelled is bool(case.limit or not case.error)
    frames = list(shell.frames)
    shell.pass_time(100_000)
    shell.link.handler_left()
    assert shell.frames == frames
    assert shell.request.over
    assert shell.link.open_requests == []
