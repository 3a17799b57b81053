"""Facts of what an agent does: in a turn, beside its turns, and again and again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.failure.taxonomy import Phase, RetrySafety, TurnFacts, safety_of
from lastword.core.link.facts import MAX_OPEN_TOOLS, MAX_REPEATS, Activity, Facts, OpenTools
from lastword.core.protocol import jsonrpc
from lastword.core.protocol.jsonrpc import Update
from tests.kit.rows import every
from tests.kit.wire import (
    Wire,
    chunk,
    error,
    failure,
    greeted,
    prompt,
    prompted,
    reply,
    request,
    result,
    update,
)
from tests.unit.link.test_connection_rare_frames import in_turn


def _facts(*updates: Update) -> tuple[Facts, OpenTools]:
    facts, tools = Facts(), OpenTools()
    for each in updates:
        facts.note(each, tools.note(each) if each.tool_call_id else "")
    return facts, tools


TEXT = Update(session_update="agent_message_chunk")
THOUGHT = Update(session_update="agent_thought_chunk")


def _tool(kind: str | None, status: str | None, tool_call_id: str = "t") -> Update:
    return Update(session_update="tool_call", tool_call_id=tool_call_id, kind=kind, status=status)


@pytest.mark.parametrize(
    ("updates", "safety", "phase"),
    [
        ((), RetrySafety.AUTO, Phase.BEFORE_OUTPUT),
        ((THOUGHT,), RetrySafety.OFFER_CONTINUE, Phase.BEFORE_OUTPUT),
        ((TEXT,), RetrySafety.OFFER_CONTINUE, Phase.MID_OUTPUT),
        ((_tool("edit", "pending"),), RetrySafety.OFFER_CONTINUE, Phase.MID_OUTPUT),
        ((_tool("edit", None),), RetrySafety.OFFER_CONTINUE, Phase.MID_OUTPUT),
        ((_tool("read", "completed"),), RetrySafety.ASK, Phase.AFTER_TOOL),
        ((_tool("execute", "in_progress"),), RetrySafety.ASK, Phase.TOOL_RUNNING),
        ((_tool(None, "failed"), TEXT), RetrySafety.ASK, Phase.AFTER_TOOL),
    ],
)
def test_the_more_has_happened_the_less_safe_is_a_retry(
    updates: tuple[Update, ...], safety: RetrySafety, phase: Phase
) -> None:
    facts, tools = _facts(*updates)
    assert facts.retry_safety(retryable=True) is safety
    assert facts.phase(tool_running=tools.running) is phase


@pytest.mark.parametrize(
    ("kind", "unsafe"),
    [("read", False), ("search", False), ("fetch", False), ("edit", True), (None, True)],
)
def test_a_tool_of_unknown_effect_counts_as_one_with_side_effects(
    kind: str | None, unsafe: bool
) -> None:
    assert _facts(_tool(kind, "in_progress"))[0].unsafe_tool is unsafe


@every("method", ("fs/write_text_file", "terminal/create"))
def test_what_is_changed_through_the_client_counts_as_a_tool_with_side_effects(method: str) -> None:
    wire = prompted().agent(request(9, method, sessionId="s")).client(reply(9))
    payload = failure(wire.agent(error(message="429")))
    assert (payload["phase"], payload["retry_safety"]) == ("after_tool", "ask")


def test_a_later_update_of_a_tool_keeps_the_kind_that_it_began_with() -> None:
    started = Update(session_update="tool_call_update", tool_call_id="t", status="in_progress")
    assert _facts(_tool("read", "pending"), started)[0].unsafe_tool is False


def test_only_unfinished_tools_are_left_to_close() -> None:
    _, tools = _facts(
        _tool("read", "in_progress", "a"),
        _tool("read", "pending", "b"),
        _tool("read", "in_progress", "c"),
        Update(session_update="tool_call_update", tool_call_id="c", status="completed"),
    )
    assert tools.drain() == ["a", "b"]
    assert not tools


def test_open_tools_are_bounded() -> None:
    tools = OpenTools()
    for number in range(MAX_OPEN_TOOLS + 10):
        tools.note(_tool("read", "in_progress", str(number)))
    assert len(tools.drain()) == MAX_OPEN_TOOLS


@every(
    ("facts", "safety", "phase"),
    [
        (TurnFacts(request_sent=False), RetrySafety.AUTO, Phase.BEFORE_REQUEST),
        (TurnFacts(), RetrySafety.AUTO, Phase.BEFORE_OUTPUT),
        (TurnFacts(thought=True), RetrySafety.OFFER_CONTINUE, Phase.BEFORE_OUTPUT),
        (TurnFacts(text=True), RetrySafety.OFFER_CONTINUE, Phase.MID_OUTPUT),
        (TurnFacts(tool_called=True), RetrySafety.OFFER_CONTINUE, Phase.MID_OUTPUT),
        (TurnFacts(tool_ran=True), RetrySafety.ASK, Phase.AFTER_TOOL),
        (TurnFacts(unsafe_tool=True), RetrySafety.ASK, Phase.AFTER_TOOL),
        (TurnFacts(tool_running=True), RetrySafety.ASK, Phase.TOOL_RUNNING),
        (TurnFacts(provider_tools=True), RetrySafety.ASK, Phase.BEFORE_OUTPUT),
        (None, RetrySafety.ASK, None),
    ],
)
def test_an_authors_notes_follow_the_same_rules(
    facts: TurnFacts | None, safety: RetrySafety, phase: Phase | None
) -> None:
    assert safety_of(facts, retryable=True) is safety
    assert safety_of(facts, retryable=False) is RetrySafety.NEVER
    assert (facts and facts.phase) is phase


ASKS = {"_meta": {"agent_error": {"version": 1, "session": True}}}
USAGE = update(sessionUpdate="usage_update", used=10, size=100)


def linked(capabilities: dict[str, Any] | None = None) -> Wire:
    """A turn at work."""
    capabilities = ASKS if capabilities is None else capabilities
    return prompted(capabilities).agent(chunk("Half of it."))


def words(wire: Wire) -> list[str]:
    told = [each["_meta"] for each in wire.updates() if set(each) == {"sessionUpdate", "_meta"}]
    return [meta["lastword"]["session"] for meta in told if "lastword" in meta]


def test_an_agent_that_works_after_its_answer_is_active_and_then_quiet() -> None:
    wire = linked().agent(result(), chunk("The build is done.")).time(5)
    wire.agent(chunk("The tests are done."))
    assert words(wire) == ["active"]
    wire.time(14)
    assert words(wire) == ["active"]
    wire.time(15)
    assert words(wire) == ["active", "quiet"]
    wire.agent(chunk("One more thing.")).time(60)
    assert words(wire) == ["active", "quiet", "active", "quiet"]


def test_a_new_turn_ends_background_work_without_a_word() -> None:
    wire = linked().agent(result(), chunk("In the background.")).client(prompt(2))
    wire.agent(chunk("A new answer.")).time(30)
    assert words(wire) == ["active"]


def test_an_agent_that_has_reported_its_usage_is_quiet_until_its_answer() -> None:
    wire = linked().agent(USAGE).time(9)
    assert words(wire) == []
    wire.time(10)
    assert words(wire) == ["quiet"]
    wire.agent(chunk("Oh, and this."))
    assert words(wire) == ["quiet", "active"]
    wire.agent(result()).time(30)
    assert words(wire) == ["quiet", "active"]


@pytest.mark.parametrize("capabilities", [{}, {"_meta": {"agent_error": {"version": 1}}}])
def test_a_client_that_did_not_ask_gets_no_extra_frame(capabilities: dict[str, Any]) -> None:
    wire = linked(capabilities).agent(result(), chunk("In the background.")).time(60)
    assert words(wire) == []


def test_a_healthy_turn_with_its_late_title_and_usage_has_no_frame_more() -> None:
    wire = linked().agent(USAGE, chunk("Done."), result(), USAGE)
    wire.agent(update(sessionUpdate="session_info_update", title="The parser")).time(60)
    assert words(wire) == []


def test_a_standstill_does_not_count_as_quiet_time() -> None:
    wire = linked()
    wire.core.stand_still(5.0)
    wire.agent(result(), chunk("In the background."))
    wire.core.stand_still(100.0)
    wire.time(100)
    assert words(wire) == ["active"]
    wire.time(110)
    assert words(wire) == ["active", "quiet"]


SENTENCE = "I will now look at the next file."


def call(number: int, asks: object) -> dict[str, Any]:
    """A tool call that ends at once."""
    members = {"toolCallId": f"t{number}", "title": "Read", "rawInput": {"path": asks}}
    return update(sessionUpdate="tool_call", status="completed", **members)


def bare(number: int, status: str = "completed") -> dict[str, Any]:
    """A tool call of which no input is told."""
    return update(sessionUpdate="tool_call", toolCallId=f"t{number}", title="Read", status=status)


def plan() -> dict[str, Any]:
    """A plan."""
    return update(sessionUpdate="plan", entries=[])


def stops(*rows: list[dict[str, Any]]) -> bool:
    """Is the turn stopped by what the agent sends?"""
    wire = in_turn()
    for row in rows:
        for message in row:
            wire.agent(message)
    return any(b"session/cancel" in frame for frame in wire.to_agent)


@pytest.mark.parametrize(
    "rows",
    [
        [[chunk(SENTENCE), call(number, number)] for number in range(60)],
        [[chunk(SENTENCE), plan()] for _ in range(60)],
        [[chunk(SENTENCE), bare(number)] for number in range(60)],
        [[call(number, 1), chunk(f"At {number} of 60.")] for number in range(60)],
    ],
)
def test_a_new_update_in_between_ends_a_repetition(rows: list[list[dict[str, Any]]]) -> None:
    assert not stops(*rows)


@pytest.mark.parametrize(
    "rows",
    [
        [[chunk(SENTENCE)] for _ in range(60)],
        [[call(number, 1)] for number in range(60)],
        [[chunk(SENTENCE), call(number, 1)] for number in range(60)],
        [[chunk(SENTENCE), bare(1)] for _ in range(60)],
        [[chunk(SENTENCE), call(number, 1), bare(number)] for number in range(60)],
        [[chunk(SENTENCE), update(sessionUpdate="usage_update", used=1)] for _ in range(60)],
    ],
)
def test_a_repeating_update_in_between_does_not_end_a_repetition(
    rows: list[list[dict[str, Any]]],
) -> None:
    assert stops(*rows)


def test_a_runaway_within_a_block_is_stopped_too() -> None:
    wire = in_turn().agent(chunk("Begun."))
    wire.agent(update(sessionUpdate="tool_call", toolCallId="t", status="in_progress"))
    wire.agent(chunk("Going on."))
    for number in range(60):
        running = {"toolCallId": "t", "status": "in_progress", "rawInput": {"at": number}}
        rows = [chunk(SENTENCE), update(sessionUpdate="tool_call_update", **running)]
        block = jsonrpc.decode_block(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
        assert block is not None
        assert wire.core.observe(block, 0, wire.now) == 2


def observed(wire: Wire, text: str, times: int) -> int:
    """How many of so many equal chunks the short way takes in, at once."""
    block = (json.dumps(chunk(text)).encode() + b"\n") * times
    messages = jsonrpc.decode_block(block)
    assert messages is not None
    return wire.core.observe(messages, 0, wire.now)


def test_repeating_short_chunks_take_the_fast_path() -> None:
    wire = in_turn().agent(chunk("-"))
    assert observed(wire, "-", 1000) == 1000


def test_a_repeating_sentence_takes_the_fast_path_until_it_may_be_a_runaway() -> None:
    wire = in_turn().agent(chunk(SENTENCE))
    taken = observed(wire, SENTENCE, 1000)
    assert MAX_REPEATS - 3 < taken < MAX_REPEATS
    for _ in range(MAX_REPEATS - taken):
        wire.agent(chunk(SENTENCE))
    assert any(b"session/cancel" in frame for frame in wire.to_agent)
    # What still comes of the turn that was stopped is looked at no closer than anything else.
    assert observed(wire, SENTENCE, 1000) == 1000


# --- Tool calls that only look alike


def calls(wire: Wire, *commands: str) -> None:
    """Call a tool as opencode and claude do: opened with an empty input, told in full after."""
    for number, command in enumerate(commands):
        call = {"toolCallId": f"c{number}"}
        wire.agent(update(sessionUpdate="tool_call", title="bash", rawInput={}, **call))
        told = {"title": command, "rawInput": {"command": command}}
        wire.agent(update(sessionUpdate="tool_call_update", status="completed", **told, **call))


def stopped(*commands: str) -> bool:
    """Was a turn with these calls stopped?"""
    wire = prompted()
    calls(wire, *commands)
    return any(b"session/cancel" in frame for frame in wire.to_agent)


def test_calls_that_only_begin_alike_are_not_a_runaway() -> None:
    assert not stopped(*(f"ls {number}" for number in range(120)))


def test_the_same_call_again_and_again_is_still_a_runaway() -> None:
    assert not stopped(*["ls"] * 49)
    assert stopped(*["ls"] * 50)


def test_a_tool_call_from_before_a_turn_is_not_the_turns() -> None:
    wire = greeted()
    wire.client(request(5, "session/load", sessionId="s")).agent(reply(5))
    wire.agent(update(sessionUpdate="tool_call", toolCallId="old", status="in_progress"))
    wire.client(prompt()).time(901)
    assert any(b"session/cancel" in frame for frame in wire.to_agent)
    wire.agent(error())
    assert not any(told["sessionUpdate"] == "tool_call_update" for told in wire.updates())


def test_output_before_the_first_turn_does_not_count_as_activity() -> None:
    activity = Activity()
    assert not activity.note("agent_message_chunk", 1.0)
    assert activity.due is None
    assert not activity.time_out(100.0)
