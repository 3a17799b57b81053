"""Failures that an agent calls a success: told in prose, or in the margin of a frame."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.timeline.entry import Entry, Kind
from tests.kit.rows import every
from tests.kit.wire import Wire, cancel, chunk, failure, prompted, result, update

CODEX_PROSE = "exceeded retry limit, last status: 429 Too Many Requests"
AIR = {
    "id": "f1",
    "revision": 1,
    "category": "limit",
    "severity": "error",
    "title": "Rate limit reached. Try again in 20s.",
    "actions": ["retry"],
}


def test_a_turn_that_is_nothing_but_its_agents_error_in_prose_is_a_failure() -> None:
    wire = prompted(name="codex-acp").agent(chunk(CODEX_PROSE), result())
    payload = failure(wire)
    assert (payload["type"], payload["reason"]) == ("rate_limit", "silent_success")
    allowed = prompted(name="codex-acp", silent_success="pass").agent(chunk(CODEX_PROSE), result())
    assert allowed.answers() == [result()]


def test_a_session_failure_in_a_result_that_says_end_turn_is_a_failure() -> None:
    wire = prompted(name="claude-agent-acp")
    answer = result()
    answer["result"]["_meta"] = {"jetbrains": {"air": {"sessionFailure": AIR}}}
    wire.agent(chunk("One moment."), answer)
    payload = failure(wire)
    assert (payload["type"], payload["retry_after_seconds"]) == ("rate_limit", 20)


READS_AIR = {"_meta": {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}}


def _entries(wire: Wire, kind: Kind) -> list[Entry]:
    return [entry for entry in wire.entries if entry.kind is kind]


def _told_by_air(**members: Any) -> dict[str, Any]:
    answer = result()
    answer["result"]["_meta"] = {"jetbrains": {"air": {"sessionFailure": AIR | members}}}
    return answer


def test_a_client_that_reads_session_failures_itself_gets_them_as_they_came() -> None:
    wire = prompted(name="claude-agent-acp", capabilities=READS_AIR)
    answer = _told_by_air()
    wire.agent(chunk("One moment."), answer)
    assert wire.answers() == [answer]
    (entry,) = _entries(wire, Kind.ERROR)
    told = {key: entry.facts[key] for key in ("type", "retry_after_seconds", "phase", "by")}
    assert told == {
        "type": "rate_limit",
        "retry_after_seconds": 20,
        "phase": "mid_output",
        "by": "agent",
    }
    assert _entries(wire, Kind.ANSWER) == []


def test_a_warning_in_a_result_that_its_client_reads_is_recorded_as_no_failure() -> None:
    wire = prompted(name="claude-agent-acp", capabilities=READS_AIR)
    answer = _told_by_air(severity="warning", category="unknown", title="Another model took over.")
    wire.agent(chunk("Done."), answer)
    assert (wire.answers(), _entries(wire, Kind.ERROR)) == ([answer], [])
    assert len(_entries(wire, Kind.ANSWER)) == 1


def test_a_session_failure_after_the_users_cancel_is_recorded_as_the_cancel() -> None:
    wire = prompted(name="claude-agent-acp", capabilities=READS_AIR)
    answer = _told_by_air()
    wire.agent(chunk("One moment.")).client(cancel()).agent(answer)
    assert (wire.answers(), _entries(wire, Kind.ERROR)) == ([answer], [])


SYSTEM_ERROR = update(
    sessionUpdate="session_info_update", _meta={"codex": {"threadStatus": {"type": "systemError"}}}
)
UNKNOWN_MODEL = chunk("Warning: Model metadata for `m` not found. Defaulting to fallback metadata.")
TOOL = update(sessionUpdate="tool_call", toolCallId="t", status="completed")


@every(
    ("messages", "kind", "action", "sentence"),
    [
        ([chunk("The model `m` does not exist.")], "model_not_found", "switch_model", "This model"),
        ([chunk("429 Too Many Requests")], "rate_limit", "wait", "The model provider is limiting"),
        ([chunk("It went wrong.")], "unknown", "report", "Something failed, and"),
        ([], "unknown", "report", "The agent ended the turn without an answer and"),
    ],
)
def test_a_remark_before_the_error_of_a_failed_state_is_neither_an_answer_nor_the_cause(
    messages: list[dict[str, Any]], kind: str, action: str, sentence: str
) -> None:
    for remark in (UNKNOWN_MODEL, chunk("Model metadata for `m` not found. Defaulting to")):
        wire = prompted(name="codex-acp").agent(remark, *messages, SYSTEM_ERROR, result())
        payload = failure(wire.time(wire.now + 1))
        assert (payload["type"], payload["action"]) == (kind, action)
        assert payload["message"].startswith(sentence)


@every(
    ("meta", "stop_reason", "kind"),
    [
        ({"codebuddy.ai/errorMessage": "429 Too Many Requests"}, "end_turn", "rate_limit"),
        ({"error": {"statusCode": 503}}, "refusal", "provider_unavailable"),
        ({"agent": {"error_message": "Something went wrong"}}, "refusal", "unknown"),
    ],
)
def test_an_error_beside_the_stop_reason_is_a_failure_in_any_namespace(
    meta: dict[str, Any], stop_reason: str, kind: str
) -> None:
    for messages in ([], [chunk("I begin.")] if kind != "unknown" else []):
        wire = prompted(name="x").agent(*messages, result(stop_reason=stop_reason, _meta=meta))
        assert failure(wire)["type"] == kind


@every(
    "meta",
    [
        {"error": None, "x.ai/errorMessage": ""},
        {"mcp": {"error": "401 Unauthorized"}},
        {"codex": {"error": {"message": "429 Too Many Requests", "willRetry": True}}},
        {"error": "the title could not be updated"},
    ],
)
def test_an_unrelated_member_of_a_success_passes(meta: dict[str, Any]) -> None:
    answer = result(_meta=meta)
    assert prompted(name="x").agent(chunk("Done."), answer).answers() == [answer]


CURSORS = "Error: RetriableError: [unavailable] connect ECONNREFUSED 127.0.0.1:9"
CLAUDES = "You've hit your session limit \u00b7 resets in 2h"


@every(
    ("messages", "kind", "safety"),
    [
        ([chunk("I look at it."), chunk(f"\n\n{CURSORS}")], "network", "offer_continue"),
        ([chunk(f"I look at it.\n\n{CURSORS}\n")], "network", "offer_continue"),
        ([chunk("I look at it."), TOOL, chunk(CURSORS)], "network", "ask"),
        ([chunk(CURSORS)], "network", "auto"),
        ([TOOL, chunk(CLAUDES)], "rate_limit", "never"),
    ],
)
def test_a_last_line_that_no_model_writes_is_the_failure_that_it_names_also_after_work(
    messages: list[dict[str, Any]], kind: str, safety: str
) -> None:
    wire = prompted(name="x").agent(*messages, result())
    payload = failure(wire.time(wire.now + 1))
    assert (payload["type"], payload["retry_safety"]) == (kind, safety)


@every(
    "messages",
    [
        [chunk("The log says: exceeded retry limit, last status: 429.")],
        [chunk(CODEX_PROSE), chunk(" is what the test expects, so I changed it.")],
        [TOOL, chunk(CODEX_PROSE)],
        [chunk("The log ends with:\n" + CURSORS)],
        [chunk(f"It says:\n\n    x\n\n{CURSORS}\nfour times.")],
        [chunk(CURSORS), TOOL, chunk("The second try went well.")],
        [chunk("I look at it."), chunk(CURSORS), TOOL],
    ],
)
def test_an_answer_that_quotes_such_a_line_or_continues_after_it_passes(
    messages: list[dict[str, Any]],
) -> None:
    for name in ("x", "codex-acp"):
        wire = prompted(name=name).agent(*messages, result())
        assert wire.time(wire.now + 1).answers() == [result()]


@pytest.mark.parametrize("announced", [True, False])
def test_an_update_of_an_unknown_tool_call_is_not_an_answer(announced: bool) -> None:
    wire = prompted(name="codex-acp")
    if announced:
        wire.agent(update(sessionUpdate="tool_call", toolCallId="t", status="completed"))
    wire.agent(update(sessionUpdate="tool_call_update", toolCallId="t", status="completed"))
    wire.agent(result()).time(wire.now + 1)
    assert ("error" in wire.answers()[0]) is not announced
    # A tool may have run all the same.
    assert announced or failure(wire)["retry_safety"] != "auto"


def test_a_margin_that_only_names_the_extension_announces_nothing() -> None:
    wire = prompted(name="some-agent").agent(chunk("Here."))
    for meta in ({"agent_error": {"version": 1}}, {"agent_error": 7}, ["agent_error"]):
        wire.agent(update(sessionUpdate="session_info_update", _meta=meta))
    wire.agent(result())
    assert wire.answers() == [result()]


def test_an_unreadable_provider_answer_is_not_the_agents_message() -> None:
    words = "The model returned an empty response. Please resend your message to continue."
    payload = failure(prompted(name="goose").agent(chunk(words), result()))
    assert (payload["type"], payload["origin"]) == ("protocol_error", "provider")
    assert payload["message"].startswith("The model provider's answer could not be read.")
