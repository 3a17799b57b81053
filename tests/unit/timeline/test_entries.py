"""What the core writes down of a turn, and what it does not."""

from __future__ import annotations

import json
from typing import Any, Self

import pytest

from lastword.core.link.connection import Connection, LinkOptions
from lastword.core.link.effects import Effect, Record, Side
from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Entry, Kind, Level

KEY = "sk-ant-api03-" + "a" * 40
SECRET_WORDS = "the merger with Initech"
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Recorded:
    """A core, and the entries that it gave."""

    def __init__(self, **options: Any) -> None:
        self.core = Connection(LinkOptions(**options))
        self.entries: list[Entry] = []
        self.now = 0.0
        self.client(id=0, method="initialize", params={"protocolVersion": 1})
        self.agent(id=0, result={"protocolVersion": 1})
        self.client(id=1, method="session/new", params={"cwd": "/w", "mcpServers": []})
        self.agent(id=1, result={"sessionId": "s"})

    def client(self, **message: Any) -> Self:
        return self._take(Side.CLIENT, message)

    def agent(self, **message: Any) -> Self:
        return self._take(Side.AGENT, message)

    def _take(self, side: Side, message: dict[str, Any]) -> Self:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return self.keep(self.core.receive(side, jsonrpc.decode(line), self.now))

    def keep(self, effects: list[Effect]) -> Self:
        self.entries += [effect.entry for effect in effects if isinstance(effect, Record)]
        return self

    def prompt(self, request_id: int = 2, **params: Any) -> Self:
        block = {"type": "text", "text": SECRET_WORDS}
        params = {"sessionId": "s", "prompt": [block], **params}
        return self.client(id=request_id, method="session/prompt", params=params)

    def update(self, **update: Any) -> Self:
        return self.agent(method="session/update", params={"sessionId": "s", "update": update})

    def chunk(self, text: str = SECRET_WORDS) -> Self:
        return self.update(
            sessionUpdate="agent_message_chunk", content={"type": "text", "text": text}
        )

    def of(self, kind: Kind) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind is kind]

    @property
    def kinds(self) -> list[str]:
        return [entry.kind.value for entry in self.entries if entry.turn is not None]


def test_a_healthy_turn_is_recorded_in_order() -> None:
    link = Recorded().prompt().chunk()
    link.update(sessionUpdate="tool_call", toolCallId="c", kind="edit", title=SECRET_WORDS)
    link.update(sessionUpdate="tool_call_update", toolCallId="c", status="in_progress")
    link.update(sessionUpdate="tool_call_update", toolCallId="c", status="completed")
    link.agent(id=2, result={"stopReason": "end_turn"})
    assert link.kinds == [
        "prompt",
        "first_progress",
        "first_output",
        "tool_started",
        "tool_ended",
        "answer",
    ]
    assert {entry.turn for entry in link.entries if entry.session_id} == {None, 1}
    assert link.of(Kind.TOOL_STARTED)[0].facts == {"call": "c", "tool": "edit"}
    assert link.of(Kind.TOOL_ENDED)[0].facts == {"call": "c", "status": "completed"}
    assert link.of(Kind.ANSWER)[0].facts == {"stop_reason": "end_turn", "by": "agent"}


def test_a_call_that_arrives_complete_starts_and_ends() -> None:
    link = Recorded().prompt()
    link.update(sessionUpdate="tool_call", toolCallId="c", kind=SECRET_WORDS, status="completed")
    link.update(sessionUpdate="tool_call", toolCallId="d", status=SECRET_WORDS)
    link.update(sessionUpdate="tool_call_update", toolCallId="nobody", status="completed")
    assert [e.facts for e in link.of(Kind.TOOL_STARTED)] == [{"call": "c"}, {"call": "d"}]
    assert [e.facts["status"] for e in link.of(Kind.TOOL_ENDED)] == ["completed", "other"]


def test_the_replayed_history_of_a_loaded_session_is_not_work_of_a_turn() -> None:
    link = Recorded().client(id=5, method="session/load", params={"sessionId": "s", "cwd": "/w"})
    link.update(sessionUpdate="tool_call", toolCallId="c", kind="edit", status="completed")
    link.agent(id=5, result={})
    assert not link.of(Kind.TOOL_STARTED)
    assert [entry.facts["how"] for entry in link.of(Kind.SESSION_CREATED)] == ["new", "load"]


def test_only_the_clients_span_is_kept_from_its_meta() -> None:
    link = Recorded().prompt(_meta={"traceparent": TRACEPARENT, "user": SECRET_WORDS})
    (entry,) = link.of(Kind.PROMPT)
    assert (entry.facts, entry.request_id) == ({"traceparent": TRACEPARENT}, "2")


@pytest.mark.parametrize("meta", [{"traceparent": 7}, ["traceparent"], {"_": {"traceparent": "x"}}])
def test_a_span_in_another_place_is_ignored(meta: object) -> None:
    link = Recorded().prompt(_meta=meta)
    assert link.of(Kind.PROMPT)[0].facts == {}


def test_the_users_choice_is_kept_by_its_kind() -> None:
    link = Recorded().prompt()
    options = [
        {"optionId": "o1", "name": SECRET_WORDS, "kind": "allow_once"},
        {"optionId": "o2", "name": SECRET_WORDS},
    ]
    outcomes = [
        ({"outcome": {"outcome": "selected", "optionId": "o1"}}, "allow_once"),
        ({"outcome": {"outcome": "selected", "optionId": "o2"}}, "selected"),
        ({"outcome": {"outcome": "cancelled"}}, "cancelled"),
        ({"action": "decline"}, "decline"),
        ({"action": SECRET_WORDS}, "unknown"),
        (None, "unknown"),
    ]
    params = {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": options}
    for number, (result, _) in enumerate(outcomes):
        link.agent(id=number, method="session/request_permission", params=params)
        link.client(id=number, result=result)
    link.agent(id=99, method="elicitation/create", params={"sessionId": "s", "options": None})
    assert [e.facts["what"] for e in link.of(Kind.ASKED)] == ["permission"] * 6 + ["form"]
    told = [entry.facts["outcome"] for entry in link.of(Kind.USER_ANSWERED)]
    assert told == [outcome for _, outcome in outcomes]


def test_words_are_kept_only_on_request_and_secrets_never() -> None:
    for record_text in (False, True):
        link = Recorded(record_text=record_text).prompt()
        link.keep(link.core.receive_stderr(f"boom {KEY}\n".encode(), 0.0))
        failed = {"code": -32603, "message": f"overloaded, said {KEY}"}
        link.agent(id=2, error=failed)
        text = repr(link.entries)
        assert KEY not in text
        assert SECRET_WORDS not in text
        assert ("overloaded, said" in text) is record_text
        assert "The model provider is overloaded." not in text
        assert ("boom" in text) is record_text
        assert link.of(Kind.STDERR)[0].facts["bytes"] == len(f"boom {KEY}\n")


def test_a_burst_on_stderr_is_recorded_once() -> None:
    link = Recorded()
    link.keep(link.core.receive_stderr(b"12345", 0.0))
    for request_id in (2, 3):
        link.prompt(request_id).chunk().agent(id=request_id, result={"stopReason": "end_turn"})
    assert [entry.facts["bytes"] for entry in link.of(Kind.STDERR)] == [5]


def test_a_client_that_leaves_cancels_its_open_turns() -> None:
    link = Recorded().prompt()
    link.keep(link.core.receive_eof(Side.CLIENT, None, 1.0))
    assert [entry.facts["by"] for entry in link.of(Kind.CANCEL)] == ["client_gone"]


def test_an_exit_with_turns_open_is_an_error_and_one_without_is_not() -> None:
    busy, idle = Recorded(), Recorded()
    busy.prompt()
    for link in (busy, idle):
        link.keep(link.core.receive_eof(Side.AGENT, None, 1.0))
    assert busy.of(Kind.AGENT_EXITED)[0].level is Level.ERROR
    assert idle.of(Kind.AGENT_EXITED)[0].level is Level.INFO


def test_a_retry_that_the_agent_reports_is_recorded_whoever_sees_it() -> None:
    link = Recorded().prompt()
    retry = {"error": {"message": "429 Too Many Requests", "willRetry": True}}
    link.update(sessionUpdate="session_info_update", _meta={"codex": retry})
    link.update(sessionUpdate="session_info_update", _meta={"codex": {"willRetry": False}})
    (entry,) = link.of(Kind.RETRY)
    assert entry.facts == {"attempt": 2, "type": "rate_limit", "source": "wire"}
    assert entry.level is Level.WARNING


def test_ids_that_an_agent_makes_up_are_cut() -> None:
    link = Recorded().prompt().update(sessionUpdate="tool_call", toolCallId="c" * 5000, kind="read")
    assert len(link.of(Kind.TOOL_STARTED)[0].facts["call"]) == 128


def test_an_agents_death_in_a_cancelled_turn_is_reported_there_and_on_the_next_prompt() -> None:
    link = Recorded().prompt().client(method="session/cancel", params={"sessionId": "s"})
    link.keep(link.core.receive_eof(Side.AGENT, None, 1.0)).prompt(3)
    assert link.of(Kind.CANCEL)[0].facts == {"by": "user"}
    assert link.of(Kind.AGENT_EXITED)[0].facts["open_turns"] == 1
    assert link.of(Kind.ANSWER)[0].facts["stop_reason"] == "cancelled"
    assert link.of(Kind.ERROR)[0].facts["type"] == "agent_crash"


def test_the_clients_file_writes_and_commands_are_recorded_without_content() -> None:
    link = Recorded().prompt()
    params = {"sessionId": "s", "path": SECRET_WORDS, "content": SECRET_WORDS}
    link.agent(id=1, method="fs/write_text_file", params=params)
    link.agent(id=2, method="terminal/create", params={"sessionId": "s", "command": SECRET_WORDS})
    link.agent(id=3, method="fs/read_text_file", params=params)
    assert [entry.facts for entry in link.of(Kind.DELEGATED)] == [
        {"what": "file"},
        {"what": "command"},
    ]


def test_a_question_and_its_answer_have_the_requests_id() -> None:
    link = Recorded().prompt()
    params = {"sessionId": "s", "toolCall": {"title": SECRET_WORDS}, "options": []}
    link.agent(id="q", method="session/request_permission", params=params)
    link.client(id="q", result={"outcome": {"outcome": "cancelled"}})
    (asks, answers) = link.of(Kind.ASKED) + link.of(Kind.USER_ANSWERED)
    assert (asks.request_id, answers.request_id, asks.content) == ('"q"', '"q"', {})


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
    link = Recorded(notify_content=True).prompt()
    link.agent(id=5, method=method, params={"sessionId": "s", **params})
    (entry,) = link.of(Kind.ASKED)
    assert (entry.content, entry.facts.keys()) == (content, {"what"})


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_failures_texts_are_content_only_where_content_is_sent(is_sent: bool) -> None:
    link = Recorded(notify_content=is_sent).prompt()
    link.agent(id=2, error={"code": -32603, "message": f"429 Too Many Requests {KEY}"})
    (entry,) = link.of(Kind.ERROR)
    assert entry.content.keys() == ({"message", "detail"} if is_sent else set())
    assert "429 Too Many Requests" in entry.content.get("detail", "429 Too Many Requests")
    assert KEY not in json.dumps(entry.content)
    assert "detail" not in entry.facts
