"""Remarks: what an agent says of its own upkeep in the conversation, which is no output."""

from __future__ import annotations

from lastword.core.classify import classify
from tests.kit.wire import chunk, error, failure, greeted, prompt, reply, result, update
from tests.unit.link.test_hints import TOOL, begun, hint

KIMI_CODE = (
    "Compacting conversation context\u2026",
    "Compaction is blocked by the current turn; retry when the turn is idle.",
    "Compaction cancelled.",
)
OVERFLOW = classify("400 This model's maximum context length is 128000 tokens.")


def test_an_agents_remark_on_its_compaction_is_not_output() -> None:
    for before in ((), (TOOL,)):
        wire = begun("Kimi Code CLI", expects=True)
        for told in before:
            wire.agent(update(**told))
        for text in KIMI_CODE:
            wire.agent(chunk(text))
        wire.agent(result())
        assert wire.answers() == [], "the sources are looked at first"
        hint(wire, OVERFLOW, goes_on=None).time(wire.now + 1)
        assert failure(wire)["type"] == "context_overflow"
        chunks = [u for u in wire.updates() if u["sessionUpdate"] == "agent_message_chunk"]
        texts = [u["content"]["text"] for u in chunks]
        assert texts == list(KIMI_CODE), "what the agent says passes as it came"


def test_a_compaction_that_was_requested_or_precedes_an_answer_is_not_a_failure() -> None:
    done = "Compaction completed.\n- Messages compacted: 4"
    wire = begun("Kimi Code CLI", sessions=()).client(prompt(1, text="/compact"))
    for text in (KIMI_CODE[0], done):
        wire.agent(chunk(text))
    wire.agent(result())
    assert wire.answers() == [result()]
    wire = begun("Kimi Code CLI")
    for text in (KIMI_CODE[0], done, "The answer is 42."):
        wire.agent(chunk(text))
    wire.agent(result())
    assert wire.answers() == [result()]


def test_the_same_words_of_another_agent_are_its_answer() -> None:
    wire = begun("other")
    for text in KIMI_CODE:
        wire.agent(chunk(text))
    wire.agent(result())
    assert wire.answers() == [result()]


# --- Tool calls that belong to no open turn


def test_a_tool_call_from_before_a_turn_is_not_the_turns() -> None:
    wire = greeted()
    load = {"method": "session/load", "params": {"sessionId": "s"}}
    wire.client({"jsonrpc": "2.0", "id": 5} | load).agent(reply(5))
    wire.agent(update(sessionUpdate="tool_call", toolCallId="old", status="in_progress"))
    wire.client(prompt()).time(901)
    assert any(b"session/cancel" in frame for frame in wire.to_agent)
    wire.agent(error())
    assert not any(told["sessionUpdate"] == "tool_call_update" for told in wire.updates())
