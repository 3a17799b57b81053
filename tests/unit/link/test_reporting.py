"""Retries and delays, reported to a client in the form that it can show."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from lastword.core import classify
from lastword.core.failure.sentences import WHAT_BY_REASON
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link import reporting
from lastword.core.link.connection import Side
from lastword.core.link.evidence import (
    FREE_REPORTS,
    REPORT_EVERY_SECONDS,
    SHOW_AFTER_SECONDS,
    SHOW_EVERY_SECONDS,
    HintSource,
    ReportedRetries,
    Retrying,
)
from lastword.core.timeline.entry import Kind
from tests.kit.rows import every
from tests.kit.wire import (
    Wire,
    cancel,
    chunk,
    error,
    failure,
    prompt,
    prompted,
    result,
    retries,
    second_version,
    thoughts,
    update,
)
from tests.kit.wire import update as wire_update
from tests.unit.link.test_hints import EMPTY as QUOTA
from tests.unit.link.test_hints import JOURNAL, LIMITED, RESET, STDERR, TOOL, WIRE, begun, hint

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("asked_for", [True, False])
def test_a_retry_is_recorded_whether_or_not_the_client_sees_it(asked_for: bool) -> None:
    wire = begun(client={"retry": asked_for})
    error = {"type": "rate_limit", "message": "the merger with Initech"}
    facts = {"attempt": 2, "max_attempts": 4, "wait_seconds": 1.5}
    wire.agent(update(sessionUpdate="agent_retry", **facts, error=error))
    (entry,) = [each for each in wire.entries if each.kind is Kind.RETRY]
    assert entry.facts == facts | {"wait_seconds": 2, "type": "rate_limit"}
    assert entry.turn == 1
    assert (len(wire.updates()), len(wire.drops)) == ((1, 0) if asked_for else (0, 1))


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"error": "the merger with Initech", "attempt": "two", "wait_seconds": True},
        {"error": {"type": "the merger with Initech"}, "attempt": -1, "wait_seconds": 1e300},
        {"error": {"type": ["x"]}, "max_attempts": {"a": 1}},
    ],
)
def test_an_invalid_number_or_type_is_left_out(members: dict[str, Any]) -> None:
    wire = begun().agent(update(sessionUpdate="agent_retry", **members))
    (entry,) = [each for each in wire.entries if each.kind is Kind.RETRY]
    assert entry.facts == {"type": "unknown"}


def test_a_retry_that_an_agent_error_speaker_reports_is_not_repeated() -> None:
    extension = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
    link = prompted(extension, says={"agentCapabilities": extension})
    signal = {"codex": {"error": {"message": "429", "willRetry": True}}}
    link.agent(wire_update(sessionUpdate="session_info_update", _meta=signal))
    assert [update["sessionUpdate"] for update in link.updates()] == ["session_info_update"]


PI = {"text": "Retrying (attempt 1/3, waiting 2s)...", "end": "Retry finished, resuming."}


def plain(name: str = "agent", **options: Any) -> Wire:
    return begun(name, client=None, **options)


def test_a_lasting_wait_is_shown_with_its_remaining_time() -> None:
    wire = hint(plain(), attempt=3, max_attempts=10, wait_seconds=23.0).time(
        SHOW_AFTER_SECONDS - 0.1
    )
    assert thoughts(wire) == []
    wire.time(SHOW_AFTER_SECONDS)
    (told,) = thoughts(wire)
    assert told.startswith("The model provider is limiting requests.")
    assert told.endswith("The agent tries again in 18 seconds (attempt 3 of 10).")


def test_an_unknown_or_elapsed_wait_is_not_counted_down() -> None:
    for wait in (2.0, None):
        wire = plain()
        hint(wire, attempt=2, wait_seconds=wait).time(10)
        assert thoughts(wire) == [
            "The model provider is limiting requests. The agent tries again (attempt 2)."
        ]


def test_further_retries_are_shown_at_a_bounded_rate() -> None:
    wire = plain()
    for attempt in range(2, 12):
        hint(wire, attempt=attempt).time(wire.now + 4)
    assert len(thoughts(wire)) == 2
    wire.time(wire.now + SHOW_EVERY_SECONDS)
    assert len(thoughts(wire)) == 3
    wire.time(wire.now + 4 * SHOW_EVERY_SECONDS)
    assert len(thoughts(wire)) == 3


def test_a_retry_that_soon_succeeds_is_not_shown() -> None:
    wire = hint(plain())
    wire.now = 2.0
    wire.agent(chunk("Here.")).time(60)
    assert thoughts(wire) == []
    hint(wire).time(wire.now + SHOW_AFTER_SECONDS)
    assert len(thoughts(wire)) == 1


def test_a_client_that_reads_retries_or_disables_them_gets_no_thought() -> None:
    for wire in (begun(), plain(show_retries="off")):
        hint(wire).time(60)
        assert thoughts(wire) == []


def test_a_notice_in_version_2_needs_no_negotiation() -> None:
    wire = second_version()
    hint(wire).time(60)
    kinds = [u["sessionUpdate"] for u in wire.updates()]
    assert "notice" in kinds
    assert thoughts(wire) == []


def test_our_own_thought_is_not_output_of_the_turn() -> None:
    wire = hint(plain()).time(10).agent(error())
    told = failure(wire)
    assert (told["phase"], told["retry_safety"]) == ("before_output", "auto")


def test_a_wait_does_not_elapse_while_the_machine_is_suspended() -> None:
    wire = hint(plain(), wait_seconds=20.0)
    wire.core.stand_still(100)
    wire.now = 100.0
    wire.time(100 + SHOW_AFTER_SECONDS)
    assert thoughts(wire) == [
        "The model provider is limiting requests. The agent tries again in 15 seconds (attempt 2)."
    ]


def test_a_standstill_after_a_shown_line_does_not_hasten_the_next() -> None:
    wire = hint(plain()).time(SHOW_AFTER_SECONDS)
    hint(wire)
    wire.core.stand_still(100)
    wire.now += 100
    wire.time(100 + SHOW_EVERY_SECONDS)
    assert len(thoughts(wire)) == 1
    wire.time(100 + SHOW_AFTER_SECONDS + SHOW_EVERY_SECONDS)
    assert len(thoughts(wire)) == 2


def test_an_agents_words_about_its_retries_are_not_output() -> None:
    wire = begun("pi-acp").agent(chunk(PI["text"]))
    (told,) = wire.updates("agent_retry")
    assert (told["attempt"], told["max_attempts"], told["wait_seconds"]) == (2, 4, 2)
    hint(wire, LIMITED, goes_on=False).agent(chunk(PI["end"]), result()).time(wire.now + 1)
    failed = failure(wire)
    assert (failed["type"], failed["phase"]) == ("rate_limit", "before_output")


def test_text_beside_a_picture_is_not_an_error() -> None:
    wire = begun("codex-acp")
    picture = {"type": "image", "data": "", "mimeType": "image/png"}
    wire.agent(update(sessionUpdate="agent_message_chunk", content=picture))
    wire.agent(chunk("unexpected status 429 Too Many Requests"), result()).time(wire.now + 1)
    assert wire.answers() == [result()]


def test_an_error_behind_a_remark_is_read_if_the_turn_had_announced_one() -> None:
    wire = begun("codex-acp").agent(chunk("Warning: no metadata for this model."))
    wire.agent(
        update(
            sessionUpdate="session_info_update",
            _meta={
                "codex": {
                    "error": {
                        "message": "Reconnecting... 1/5",
                        "codexErrorInfo": "rateLimitExceeded",
                        "willRetry": True,
                    }
                }
            },
        )
    )
    (told,) = wire.updates("agent_retry")
    assert (told["attempt"], told["max_attempts"]) == (2, 6)
    wire.agent(chunk("exceeded retry limit, last status: 429 Too Many Requests"), result())
    told = failure(wire)
    # The remark before it was shown.
    assert (told["type"], told["retry_safety"]) == ("rate_limit", "offer_continue")


def test_an_answer_that_had_begun_is_output_despite_a_later_error() -> None:
    wire = begun("claude-code-acp").agent(chunk("The answer is"))
    hint(wire, RESET, goes_on=True).agent(chunk("API Error: Connection error."), error())
    told = failure(wire)
    assert (told["phase"], told["retry_safety"]) == ("mid_output", "offer_continue")


def test_a_retry_in_words_is_not_an_answer_where_a_log_reports_a_failed_call() -> None:
    wire = hint(begun("other"), source=HintSource.LOG, goes_on=None)
    wire.agent(chunk(PI["text"]), chunk("Retrying (attempt 2/3, waiting 4s)..."))
    assert retries(wire) == [(2, "rate_limit"), (3, "rate_limit")]
    wire.agent(chunk(PI["end"]), result()).time(wire.now + 1)
    failed = failure(wire)
    assert (failed["type"], failed["reason"]) == ("rate_limit", "silent_success")


def test_an_answer_behind_retries_in_words_passes() -> None:
    wire = hint(begun("other"), source=HintSource.LOG)
    wire.agent(chunk(PI["text"]), chunk(PI["end"]), chunk("It is 42."), result())
    assert wire.answers() == [result()]


def test_a_log_counts_after_a_tool_if_no_text_was_shown() -> None:
    wire = begun("other").agent(update(**TOOL))
    hint(wire, source=HintSource.LOG, goes_on=None).agent(chunk("Retrying (attempt 1/3)"), result())
    assert failure(wire)["type"] == "rate_limit"


def test_a_log_read_after_the_answer_reports_no_retry() -> None:
    wire = begun("other", expects=True).agent(result())
    hint(wire, source=HintSource.LOG, goes_on=None).time(wire.now + 1)
    assert [u["sessionUpdate"] for u in wire.updates()] == ["agent_error"]
    assert failure(wire)["type"] == "rate_limit"


def info(**meta: Any) -> dict[str, Any]:
    return update(sessionUpdate="session_info_update", _meta=meta)


def test_a_state_of_failure_alone_does_not_fail_an_answer() -> None:
    wire = begun("other").agent(info(x={"status": "error"}), chunk("It is "), chunk("42."))
    wire.agent(result())
    assert wire.answers() == [result()]


CAPABILITIES = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
WAITS: list[dict[str, Any]] = [
    {},
    {"retry_after_seconds": 20},
    {"retry_after_seconds": 7200},
    {"reset_at_epoch_ms": 1_790_000_000_000},
]


def announced(verdict: classify.Verdict, *before: dict[str, Any]) -> dict[str, Any]:
    """The update about a retry of this failure, in a turn that has shown this before."""
    wire = prompted(CAPABILITIES).agent(*before)
    link = wire.core.connection.link
    (turn,) = link.open_turns()
    retry = Retrying(verdict=verdict, attempt=2, max_attempts=3, wait_seconds=4.0)
    wire.carry_out(reporting.announce(link, turn, retry))
    told: dict[str, Any] = wire.updates()[-1]
    return told


@pytest.mark.no_cover
@every("error_type", ErrorType)
def test_a_retrys_message_never_contradicts_its_error(error_type: ErrorType) -> None:
    reasons = [None, *WHAT_BY_REASON.get(error_type, {})]
    refusals = [{"retryable": False}, {"retryable": True}, {"retryable": False, "refused": True}]
    for reason, refusal, wait in product(reasons, refusals, WAITS):
        verdict = classify.Verdict(type=error_type, rule="test", reason=reason, **refusal, **wait)
        for before in ((), (chunk(),)):
            told = announced(verdict, *before)
            error = told["error"]
            assert told["sessionUpdate"] == "agent_retry"
            assert (error["retryable"], error["retry_safety"]) == (True, "auto")
            assert error["action"] == "wait"
            assert error["message"].endswith("Trying again in 4 seconds (attempt 2 of 3).")


AIR = {"_meta": {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}}
RETRYING = {
    "jsonrpc": "2.0",
    "method": "_session/retrying",
    "params": {"sessionId": "s", "category": "unauthorized", "detail": "401 Unauthorized"},
}
LOGIN = error(code=-32000, message="Authentication required")


def linked(**options: Any) -> Wire:
    """A turn of a client that reads AIR's records, with an agent that offers a login."""
    return prompted(AIR, says={"authMethods": [{"id": "k", "name": "Key"}]}, **options)


def own_record(severity: str, revision: Any = 1) -> dict[str, Any]:
    """A record that the agent itself sends."""
    record = {"id": "own", "revision": revision, "category": "access", "severity": severity}
    record |= {"title": "Retrying Claude, attempt 1 of 10.", "actions": []}
    meta = {"jetbrains": {"air": {"version": 1, "sessionFailure": record}}}
    return update(sessionUpdate="session_info_update", _meta=meta)


def records(wire: Wire) -> list[dict[str, Any]]:
    """Every record that the client got, in order, the answer's included."""
    holders = [*wire.updates(), *(answer.get("result", {}) for answer in wire.answers())]
    metas = [holder.get("_meta", {}).get("jetbrains", {}).get("air", {}) for holder in holders]
    return [meta["sessionFailure"] for meta in metas if "sessionFailure" in meta]


def expect_one_row(wire: Wire, severity: str) -> dict[str, Any]:
    """The client has one row, and its last record is this."""
    rows = records(wire)
    assert len({row["id"] for row in rows}) == 1
    assert [row["revision"] for row in rows] == list(range(1, len(rows) + 1))
    assert rows[-1]["severity"] == severity
    assert "again" not in rows[-1]["title"] or severity == "error"
    assert len(wire.answers()) == 1
    return rows[-1]


ENDS: dict[str, tuple[Callable[[Wire], object], str]] = {
    "a login": (lambda wire: wire.agent(LOGIN), "error"),
    "another failure": (lambda wire: wire.agent(error(message="boom")), "error"),
    "a death": (lambda wire: wire.eof(Side.AGENT), "error"),
    "a success": (lambda wire: [wire.agent(chunk()), wire.agent(result())], "warning"),
    "a cancel": (
        lambda wire: [wire.client(cancel()), wire.agent(result(stop_reason="cancelled"))],
        "warning",
    ),
    "a cancel that fails": (lambda wire: [wire.client(cancel()), wire.agent(error())], "warning"),
    "a cancel without an answer": (lambda wire: [wire.client(cancel()), wire.time(99)], "warning"),
    "a cancel and a success": (
        lambda wire: [wire.client(cancel()), wire.agent(result())],
        "warning",
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_the_turn_replaces_our_warning(end: str) -> None:
    wire = linked().agent(RETRYING)
    carry_out, severity = ENDS[end]
    carry_out(wire)
    assert expect_one_row(wire, severity)["revision"] == 2


def test_a_withheld_success_replaces_it_too() -> None:
    wire = linked(silent_success="pass").agent(RETRYING, result()).time(99)
    assert (len(wire.answers()), records(wire)[-1]["revision"]) == (1, 2)


def test_a_login_that_the_agent_warned_of_itself_comes_under_its_own_id() -> None:
    wire = linked().agent(own_record("warning"), LOGIN)
    last = expect_one_row(wire, "error")
    assert (last["id"], last["actions"]) == ("own", ["login"])
    assert wire.answers()[0]["error"]["code"] == -32000


@pytest.mark.parametrize("frames", [[], [own_record("warning"), own_record("error", 2)]])
def test_a_login_without_an_open_warning_is_the_error_alone(frames: list[dict[str, Any]]) -> None:
    wire = linked()
    for frame in frames:
        wire.agent(frame)
    wire.agent(LOGIN)
    assert len(records(wire)) == len(frames)


def test_an_unconfirmed_cancel_closes_an_agents_own_warning() -> None:
    wire = linked().agent(own_record("warning")).client(cancel()).time(99)
    assert expect_one_row(wire, "warning")["revision"] == 2


def test_a_failure_in_the_agents_own_record_ends_our_warning() -> None:
    wire = linked().agent(RETRYING)
    failed = own_record("error")["params"]["update"]["_meta"]
    wire.agent({"id": 1, "result": {"stopReason": "end_turn", "_meta": failed}})
    ours = [row for row in records(wire) if row["id"] != "own"]
    assert [row["title"] for row in ours][-1] == "The turn failed."


# --- an agent that tries again without a pause


def flooded(source: HintSource = JOURNAL, *, count: int = 1000, **options: Any) -> Wire:
    """A turn whose model call is tried again so often within a second."""
    wire = begun(**options)
    for attempt in range(2, 2 + count):
        wire.now += 0.9 / count
        hint(wire, source=source, attempt=attempt)
    return wire


@every("source", [JOURNAL, WIRE, STDERR, HintSource.OBSERVER, HintSource.EVENTS, HintSource.LOG])
def test_retries_in_rapid_succession_are_reported_at_most_once_a_second(source: HintSource) -> None:
    wire = flooded(source)
    first = [attempt for attempt, _ in retries(wire)]
    assert first == list(range(2, 2 + FREE_REPORTS))
    wire.time(wire.now + REPORT_EVERY_SECONDS)
    assert [attempt for attempt, _ in retries(wire)] == [*first, 1001]
    wire.time(wire.now + 10 * REPORT_EVERY_SECONDS)
    assert len(retries(wire)) == FREE_REPORTS + 1


def test_each_of_these_retries_is_recorded_and_counted() -> None:
    wire = flooded(retry=2)
    entries = [entry for entry in wire.entries if entry.kind is Kind.RETRY]
    assert len(entries) == 1000
    wire.agent(error(message="429 Too Many Requests"))
    assert retries(wire)[FREE_REPORTS:] == [(1002, "rate_limit")]


def test_a_retry_of_another_type_is_reported_at_once() -> None:
    wire = flooded()
    hint(wire, RESET, attempt=1002)
    hint(wire, RESET, attempt=1003)
    assert retries(wire)[FREE_REPORTS:] == [(1002, "network")]
    wire.time(wire.now + REPORT_EVERY_SECONDS)
    assert retries(wire)[FREE_REPORTS:] == [(1002, "network"), (1003, "network")]


def test_a_suppressed_retry_is_not_reported_once_the_agent_has_continued() -> None:
    wire = flooded().agent(chunk())
    wire.time(wire.now + 10)
    assert len(retries(wire)) == FREE_REPORTS
    wire = flooded().client(cancel())
    wire.time(wire.now + 1)
    assert len(retries(wire)) == FREE_REPORTS


def test_a_delayed_retry_is_reported_with_the_rest_of_its_wait() -> None:
    wire = flooded(count=10)
    hint(wire, attempt=12, wait_seconds=60.0)
    wire.core.stand_still(10.0)
    wire.time(wire.now + 10 + REPORT_EVERY_SECONDS)
    (last,) = [u for u in wire.updates() if u["attempt"] == 12]
    assert last["wait_seconds"] < 60


# --- a source that is about to know more of a failed call


def test_a_failed_call_with_details_to_come_is_reported_with_them() -> None:
    observer = HintSource.OBSERVER
    wire = hint(begun(), source=observer, attempt=2, goes_on=None, is_early=True)
    assert retries(wire) == []
    hint(wire, QUOTA, source=observer, attempt=2, goes_on=None)
    assert retries(wire) == [(2, "budget")]
    wire.time(wire.now + 5)
    assert retries(wire) == [(2, "budget")]


@every(("seconds", "told"), [(0.9, []), (1.1, [(2, "budget")])])
def test_a_call_that_turns_out_to_be_final_is_reported_unless_the_turn_ends(
    seconds: float, told: list[tuple[int, str]]
) -> None:
    observer = HintSource.OBSERVER
    wire = hint(begun(), source=observer, attempt=2, goes_on=None, is_early=True)
    hint(wire, QUOTA, source=observer, attempt=2, goes_on=False).time(wire.now + seconds)
    assert retries(wire) == told
    assert failure(wire.agent(error()).time(wire.now + 1))["type"] == "budget"


def test_an_immediate_answer_has_the_cause_known_so_far() -> None:
    wire = hint(begun(), source=HintSource.OBSERVER, attempt=2, goes_on=None, is_early=True)
    assert failure(wire.agent(error()).time(wire.now + 1))["type"] == "rate_limit"


def test_an_early_report_without_details_is_used_after_a_second() -> None:
    wire = hint(begun(), source=HintSource.OBSERVER, attempt=2, goes_on=None, is_early=True)
    wire.time(wire.now + 2)
    assert retries(wire) == [(2, "rate_limit")]


# --- a failed call that was answered well in the end


def test_a_failure_that_was_overcome_neither_fails_the_turn_nor_is_reported() -> None:
    observer = HintSource.OBSERVER
    wire = begun().agent(wire_update(**TOOL))
    wire.now += 1
    hint(wire, source=observer, attempt=2, goes_on=None)
    hint(wire, source=observer, attempt=2, is_over=True).agent(result()).time(wire.now + 5)
    assert wire.answers() == [result()]


def test_the_runtime_would_have_reported_a_further_call_that_succeeded() -> None:
    for source, fails in ((HintSource.OBSERVER, True), (JOURNAL, False)):
        wire = begun().agent(chunk("Let me see."), wire_update(**TOOL))
        wire.now += 1
        hint(wire, source=source, attempt=2, goes_on=None, may_go_on=True)
        wire.agent(result()).time(wire.now + 5)
        assert ("error" in wire.answers()[0]) is fails


# --- remarks of an agent on its own upkeep


KIMI_CODE = (
    "Compacting conversation context\u2026",
    "Compaction is blocked by the current turn; retry when the turn is idle.",
    "Compaction cancelled.",
)
OVERFLOW = classify.classify("400 This model's maximum context length is 128000 tokens.")


def test_an_agents_remark_on_its_compaction_is_not_output() -> None:
    for before in ((), (TOOL,)):
        wire = begun("Kimi Code CLI", expects=True)
        for told in before:
            wire.agent(update(**told))
        wire.agent(*map(chunk, KIMI_CODE), result())
        assert wire.answers() == [], "the sources are looked at first"
        hint(wire, OVERFLOW, goes_on=None).time(wire.now + 1)
        assert failure(wire)["type"] == "context_overflow"
        texts = [u["content"]["text"] for u in wire.updates("agent_message_chunk")]
        assert texts == list(KIMI_CODE), "what the agent says passes as it came"


def test_a_compaction_that_was_requested_or_precedes_an_answer_is_not_a_failure() -> None:
    done = "Compaction completed.\n- Messages compacted: 4"
    wire = begun("Kimi Code CLI", sessions=()).client(prompt(1, text="/compact"))
    wire.agent(chunk(KIMI_CODE[0]), chunk(done), result())
    assert wire.answers() == [result()]
    for agent, texts in (
        ("Kimi Code CLI", (KIMI_CODE[0], done, "The answer is 42.")),
        ("other", KIMI_CODE),
    ):
        wire = begun(agent).agent(*map(chunk, texts), result())
        assert wire.answers() == [result()], agent


def test_a_retry_notification_that_no_row_lists_is_reported() -> None:
    wire = begun("other")
    params = {"sessionId": "s", "category": "rate_limited", "detail": "HTTP 429"}
    wire.agent({"jsonrpc": "2.0", "method": "_other/retrying", "params": params})
    wire.agent({"jsonrpc": "2.0", "method": "_other/retry_options", "params": {"sessionId": "s"}})
    (told,) = wire.updates("agent_retry")
    assert told["error"]["type"] == "rate_limit"


def test_a_reported_retry_is_not_kept() -> None:
    retries = ReportedRetries()
    assert retries.may_send(Retrying(verdict=LIMITED, attempt=2), "", 0.0)
    assert retries.pop_unsent(10.0) is None


def test_nothing_is_recorded_outside_of_a_turn() -> None:
    wire = begun(sessions=()).client(prompt()).agent(chunk(), result())
    assert "retry" not in wire.agent(update(sessionUpdate="agent_retry", attempt=2)).kinds
