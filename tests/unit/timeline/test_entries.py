"""What the core writes down of a turn, and what it does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.link.effects import Side
from lastword.core.timeline.entry import Entry, Kind, Level
from tests.kit.wire import (
    Wire,
    cancel,
    chunk,
    greeted,
    prompt,
    prompted,
    reply,
    request,
    result,
    update,
)

KEY = "sk-ant-api03-" + "a" * 40
SECRET_WORDS = "the merger with Initech"
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def of(wire: Wire, kind: Kind) -> list[Entry]:
    return [entry for entry in wire.entries if entry.kind is kind]


def facts(wire: Wire, kind: Kind) -> list[dict[str, Any]]:
    return [entry.facts for entry in of(wire, kind)]


def tool(call: str, word: str = "tool_call", /, **members: Any) -> dict[str, Any]:
    return update(sessionUpdate=word, toolCallId=call, **members)


def test_a_healthy_turn_is_recorded_in_order() -> None:
    wire = prompted().agent(
        chunk(SECRET_WORDS),
        tool("c", kind="edit", title=SECRET_WORDS),
        tool("c", "tool_call_update", status="in_progress"),
        tool("c", "tool_call_update", status="completed"),
        result(),
    )
    assert [entry.kind.value for entry in wire.entries if entry.turn == 1] == [
        *("prompt", "first_progress", "first_output", "tool_started", "tool_ended", "answer")
    ]
    assert facts(wire, Kind.TOOL_STARTED) == [{"call": "c", "tool": "edit"}]
    assert facts(wire, Kind.TOOL_ENDED) == [{"call": "c", "status": "completed"}]
    assert facts(wire, Kind.ANSWER) == [{"stop_reason": "end_turn", "by": "agent"}]


def test_a_call_that_arrives_complete_starts_and_ends_and_foreign_words_are_left_out() -> None:
    wire = prompted().agent(
        tool("c", kind=SECRET_WORDS, status="completed"),
        tool("d" * 5000, status=SECRET_WORDS),
        tool("nobody", "tool_call_update", status="completed"),
    )
    assert facts(wire, Kind.TOOL_STARTED) == [{"call": "c"}, {"call": "d" * 128}]
    assert [each["status"] for each in facts(wire, Kind.TOOL_ENDED)] == ["completed", "other"]


def test_the_replayed_history_of_a_loaded_session_is_not_work_of_a_turn() -> None:
    wire = greeted().client(request(4, "session/new")).agent(reply(4, sessionId="s"))
    wire.client(request(5, "session/load", sessionId="s", cwd="/w"))
    wire.agent(tool("c", kind="edit", status="completed"), reply(5))
    assert not of(wire, Kind.TOOL_STARTED)
    assert [each["how"] for each in facts(wire, Kind.SESSION_CREATED)] == ["new", "load"]


def test_only_the_clients_span_is_kept_from_its_meta() -> None:
    for meta, kept in (
        ({"traceparent": TRACEPARENT, "user": SECRET_WORDS}, {"traceparent": TRACEPARENT}),
        ({"traceparent": 7}, {}),
        (["traceparent"], {}),
        ({"_": {"traceparent": "x"}}, {}),
    ):
        asked = prompt(2, text=SECRET_WORDS)
        asked["params"]["_meta"] = meta
        (entry,) = of(greeted().client(asked), Kind.PROMPT)
        assert (entry.facts, entry.request_id) == (kept, "2")


def test_a_question_is_kept_by_its_id_and_the_users_choice_by_its_kind() -> None:
    wire = prompted()
    options = [
        {"optionId": "o1", "name": SECRET_WORDS, "kind": "allow_once"},
        {"optionId": "o2", "name": SECRET_WORDS},
    ]
    params = {"sessionId": "s", "toolCall": {"title": SECRET_WORDS}, "options": options}
    for number, (answer, outcome) in enumerate(
        [
            ({"outcome": {"outcome": "selected", "optionId": "o1"}}, "allow_once"),
            ({"outcome": {"outcome": "selected", "optionId": "o2"}}, "selected"),
            ({"outcome": {"outcome": "cancelled"}}, "cancelled"),
            ({"action": "decline"}, "decline"),
            ({"action": SECRET_WORDS}, "unknown"),
            (None, "unknown"),
        ]
    ):
        wire.agent(request(f"q{number}", "session/request_permission", **params))
        wire.client({"jsonrpc": "2.0", "id": f"q{number}", "result": answer})
        asks, answers = of(wire, Kind.ASKED)[-1], of(wire, Kind.USER_ANSWERED)[-1]
        assert asks.request_id == answers.request_id == f'"q{number}"'
        assert (asks.facts, asks.content) == ({"what": "permission"}, {})
        assert answers.facts["outcome"] == outcome
    wire.agent(request(99, "elicitation/create", sessionId="s", options=None))
    assert facts(wire, Kind.ASKED)[-1] == {"what": "form"}


@pytest.mark.parametrize("record_text", [False, True])
def test_words_are_kept_only_on_request_and_secrets_never(record_text: bool) -> None:
    wire = greeted(record_text=record_text).client(prompt(text=SECRET_WORDS))
    wire.stderr(f"boom {KEY}\n".encode())
    failed = {"code": -32603, "message": f"overloaded, said {KEY}"}
    wire.agent({"jsonrpc": "2.0", "id": 1, "error": failed})
    text = repr(wire.entries)
    assert KEY not in text
    assert SECRET_WORDS not in text
    assert ("overloaded, said" in text) is record_text
    assert "The model provider is overloaded." not in text
    assert ("boom" in text) is record_text
    assert facts(wire, Kind.STDERR)[0]["bytes"] == len(f"boom {KEY}\n")


def test_a_burst_on_stderr_is_recorded_once() -> None:
    wire = greeted().stderr(b"12345")
    for request_id in (2, 3):
        wire.client(prompt(request_id)).agent(chunk(), result(request_id))
    assert [each["bytes"] for each in facts(wire, Kind.STDERR)] == [5]


def test_the_end_of_either_side_is_recorded_with_the_turns_that_it_costs() -> None:
    wire = prompted().eof(Side.CLIENT)
    assert [each["by"] for each in facts(wire, Kind.CANCEL)] == ["client_gone"]
    for link, level in ((prompted(), Level.ERROR), (greeted(), Level.INFO)):
        assert of(link.eof(Side.AGENT), Kind.AGENT_EXITED)[0].level is level


def test_a_retry_that_the_agent_reports_is_recorded_whoever_sees_it() -> None:
    retry = {"error": {"message": "429 Too Many Requests", "willRetry": True}}
    wire = prompted().agent(
        update(sessionUpdate="session_info_update", _meta={"codex": retry}),
        update(sessionUpdate="session_info_update", _meta={"codex": {"willRetry": False}}),
    )
    (entry,) = of(wire, Kind.RETRY)
    assert entry.facts == {"attempt": 2, "type": "rate_limit", "source": "wire"}
    assert entry.level is Level.WARNING


def test_an_agents_death_in_a_cancelled_turn_is_reported_there_and_on_the_next_prompt() -> None:
    wire = prompted().client(cancel()).eof(Side.AGENT).client(prompt(3))
    assert facts(wire, Kind.CANCEL) == [{"by": "user"}]
    assert facts(wire, Kind.AGENT_EXITED)[0]["open_turns"] == 1
    assert facts(wire, Kind.ANSWER)[0]["stop_reason"] == "cancelled"
    assert facts(wire, Kind.ERROR)[0]["type"] == "agent_crash"


def test_the_clients_file_writes_and_commands_are_recorded_without_content() -> None:
    file = {"sessionId": "s", "path": SECRET_WORDS, "content": SECRET_WORDS}
    wire = prompted().agent(
        request(1, "fs/write_text_file", **file),
        request(2, "terminal/create", sessionId="s", command=SECRET_WORDS),
        request(3, "fs/read_text_file", **file),
    )
    assert facts(wire, Kind.DELEGATED) == [{"what": "file"}, {"what": "command"}]


@pytest.mark.parametrize(
    ("method", "params", "content"),
    [
        ("session/request_permission", {"toolCall": {"title": "Edit"}}, {"title": "Edit"}),
        ("session/request_permission", {"toolCall": {"title": 7}}, {}),
        ("session/request_permission", {"toolCall": None}, {}),
        ("elicitation/create", {"message": "Which?"}, {"title": "Which?"}),
        ("elicitation/create", {"message": "x" * 9999}, {"title": "x" * 1000}),
    ],
)
def test_a_questions_title_is_content_only_where_content_is_sent(
    method: str, params: dict[str, Any], content: dict[str, str]
) -> None:
    wire = prompted(notify_content=True).agent(request(5, method, sessionId="s", **params))
    (entry,) = of(wire, Kind.ASKED)
    assert (entry.content, entry.facts.keys()) == (content, {"what"})


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_failures_texts_are_content_only_where_content_is_sent(is_sent: bool) -> None:
    failed = {"code": -32603, "message": f"429 Too Many Requests {KEY}"}
    wire = prompted(notify_content=is_sent)
    wire.agent({"jsonrpc": "2.0", "id": 1, "error": failed})
    (entry,) = of(wire, Kind.ERROR)
    assert entry.content.keys() == ({"message", "detail"} if is_sent else set())
    assert "429 Too Many Requests" in entry.content.get("detail", "429 Too Many Requests")
    assert KEY not in json.dumps(entry.content)
    assert "detail" not in entry.facts
