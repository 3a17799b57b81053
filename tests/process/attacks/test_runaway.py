"""Honest turns that look like broken ones: they pass as they came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.process.attacks.client import payload_of

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack

END_TURN = {"stopReason": "end_turn"}
SENTENCE = "I will now look at the next file."
TOOL = {"toolCallId": "t$n", "title": "Read", "kind": "read", "rawInput": {"path": "/src/$n.py"}}
BEGINS = ["update", "tool_call", {**TOOL, "status": "pending"}]
ENDS = ["update", "tool_call_update", {"toolCallId": "t$n", "status": "completed"}]
RUNS = ["update", "tool_call_update", {"toolCallId": "t$n", "status": "in_progress"}]
POLLS = [
    "update",
    "tool_call",
    {"toolCallId": "p$n", "title": "Poll", "rawInput": {"job": 1}, "status": "completed"},
]


def turn_of(*steps: list[Any], times: int = 60) -> dict[str, Any]:
    return {"session/prompt": [[["repeat", times, list(steps)], ["answer", END_TURN]]]}


# FAIL-5: "in a row" means that nothing else is shown in between.

BETWEEN = {
    "a tool call in one update": [BEGINS],
    "a tool call with its steps": [BEGINS, RUNS, ENDS],
    "a plan": [["update", "plan", {"entries": [{"content": "$n", "status": "pending"}]}]],
}


@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk"])
@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
def test_equal_sentences_with_other_work_between_them_are_no_runaway(
    attack: Attack, between: list[Any], kind: str
) -> None:
    sentence = ["update", kind, {"content": {"type": "text", "text": SENTENCE}}]
    with attack.run(turn_of(sentence, *between)) as client:
        client.open()
        assert client.turn().get("result") == END_TURN


def test_equal_tool_calls_with_other_text_between_them_are_no_runaway(attack: Attack) -> None:
    with attack.run(turn_of(POLLS, ["say", "The job is at $n of 60."])) as client:
        client.open()
        assert client.turn().get("result") == END_TURN


RUNAWAYS = {
    "one sentence": [["say", SENTENCE]],
    "one tool call": [POLLS],
    "one sentence, and usage between": [["say", SENTENCE], ["update", "usage_update", {"used": 1}]],
}


@pytest.mark.parametrize("steps", RUNAWAYS.values(), ids=RUNAWAYS)
def test_what_repeats_itself_alone_is_a_runaway(attack: Attack, steps: list[Any]) -> None:
    with attack.run(turn_of(*steps), options=("--cancel-grace=0.5",)) as client:
        client.open()
        assert payload_of(client.turn())["reason"] == "runaway"


# SIL-2: a command of the agent's own may show nothing, wherever in the prompt it stands.

FILE = {"type": "resource_link", "uri": "file:///notes.md", "name": "notes.md"}
EMBEDDED = {"type": "resource", "resource": {"uri": "file:///notes.md", "text": "notes"}}
PICTURE = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param(["/compact"], id="alone"),
        pytest.param(["/compact", FILE], id="before a file"),
        *(
            pytest.param(blocks, id=case)
            for case, blocks in {
                "behind a file": [FILE, "/compact"],
                "behind an embedded file": [EMBEDDED, " /compact"],
                "behind a picture": [PICTURE, "/compact"],
                "behind an empty text": ["", "/compact"],
            }.items()
        ),
    ],
)
def test_a_command_that_shows_nothing_is_no_failure(attack: Attack, blocks: list[Any]) -> None:
    with attack.run({"session/prompt": [[["answer", END_TURN]]]}) as client:
        client.open()
        assert client.turn(*blocks).get("result") == END_TURN


@pytest.mark.parametrize("blocks", [["Say /compact."], [FILE, "What is in a/b?"]])
def test_a_slash_within_a_text_makes_it_no_command(attack: Attack, blocks: list[Any]) -> None:
    with attack.run({"session/prompt": [[["answer", END_TURN]]]}) as client:
        client.open()
        assert payload_of(client.turn(*blocks))["reason"] == "silent_success"


# SIL-4: a message is an error only where all of it is one.

HONEST = [
    ("claude-code", "Prompt is too long is an error that the API returns when the input is large."),
    ("claude-code", "API Error: 529 is what you see while the service is overloaded. Here is why."),
    ("claude-code", "Prompt is too long?\n\nYes: cut the second paragraph, it repeats the first."),
    ("codex", "Unexpected status codes are logged in `client.py`, and then raised."),
    ("codex", "Connection failed: that is what the test prints. I have mended it now."),
    ("goose", "Authentication error: what it means, and how to handle it in your code."),
    ("qwen", "[API Error: …] is how the CLI marks failures; the parser is in errors.ts."),
]
ERRORS = [
    ("claude-code", "Prompt is too long", "context_overflow"),
    ("claude-code", "Credit balance is too low", "budget"),
    ("claude-code", 'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}', None),
    ("codex", "unexpected status 401 Unauthorized: Missing bearer", "auth"),
    ("codex", "exceeded retry limit, last status: 429 Too Many Requests", "rate_limit"),
    ("qwen", "[API Error: 429 Too Many Requests]", "rate_limit"),
]


@pytest.mark.parametrize(("name", "text"), HONEST)
def test_an_honest_answer_that_begins_like_an_error_passes(
    attack: Attack, name: str, text: str
) -> None:
    agent = {"name": name, "session/prompt": [[["say", text], ["answer", END_TURN]]]}
    with attack.run(agent) as client:
        client.open()
        assert client.turn().get("result") == END_TURN


@pytest.mark.parametrize(("name", "text", "error_type"), ERRORS)
def test_a_message_that_is_an_agents_error_and_nothing_else_is_a_failure(
    attack: Attack, name: str, text: str, error_type: str | None
) -> None:
    agent = {"name": name, "session/prompt": [[["say", text], ["answer", END_TURN]]]}
    with attack.run(agent) as client:
        client.open()
        payload = payload_of(client.turn())
        assert error_type in (None, payload["type"])
