"""What happened in a turn, and what follows for its phase and for a retry."""

from __future__ import annotations

import pytest

from lastword.core.failure.taxonomy import Phase, RetrySafety, TurnFacts, safety_of
from lastword.core.link.facts import MAX_OPEN_TOOLS, Facts, OpenTools
from lastword.core.protocol.jsonrpc import Update
from tests.kit.rows import every


def _facts(*updates: Update) -> tuple[Facts, OpenTools]:
    facts, tools = Facts(), OpenTools()
    for update in updates:
        facts.note(update, tools.note(update) if update.tool_call_id else "")
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
def test_the_more_has_happened_the_less_safe_a_retry_is(
    updates: tuple[Update, ...], safety: RetrySafety, phase: Phase
) -> None:
    facts, tools = _facts(*updates)
    assert facts.retry_safety(retryable=True) is safety
    assert facts.phase(tool_running=tools.running) is phase


def test_what_is_not_retryable_is_never_safe_to_retry() -> None:
    assert _facts()[0].retry_safety(retryable=False) is RetrySafety.NEVER


@pytest.mark.parametrize(
    ("kind", "unsafe"),
    [("read", False), ("search", False), ("fetch", False), ("edit", True), (None, True)],
)
def test_a_tool_of_unknown_effect_counts_as_one_with_side_effects(
    kind: str | None, unsafe: bool
) -> None:
    assert _facts(_tool(kind, "in_progress"))[0].unsafe_tool is unsafe


def test_a_later_update_of_a_tool_keeps_the_kind_that_it_began_with() -> None:
    started = Update(session_update="tool_call_update", tool_call_id="t", status="in_progress")
    assert _facts(_tool("read", "pending"), started)[0].unsafe_tool is False


def test_only_tools_that_have_not_ended_are_left_to_close() -> None:
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
def test_what_an_author_says_of_the_turn_follows_the_same_rules(
    facts: TurnFacts | None, safety: RetrySafety, phase: Phase | None
) -> None:
    assert safety_of(facts, retryable=True) is safety
    assert safety_of(facts, retryable=False) is RetrySafety.NEVER
    assert (facts and facts.phase) is phase
