"""Hints: what sources beside the answer say of a failed call, told once, and what it decides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.classify import classify
from lastword.core.failure.taxonomy import Attribution
from lastword.core.link.clocks import STDERR_LOOKS
from lastword.core.link.decision import RETRIES_PENDING
from lastword.core.link.effects import Side
from lastword.core.link.evidence import (
    LATE_SECONDS,
    SILENT,
    WITHHELD_SECONDS,
    Hint,
    HintSource,
    SilentTurn,
)
from tests.kit.wire import (
    INITIALIZE,
    Wire,
    cancel,
    chunk,
    error,
    failure,
    greeted,
    prompt,
    reply,
    request,
    result,
    retries,
    update,
)
from tests.unit.restart.crashing import Link

LIMITED = classify({"error": {"message": "slow down"}, "status": 429})
EMPTY = classify({"error": {"message": "insufficient_quota", "code": "insufficient_quota"}})
RESET = classify(ConnectionResetError("Connection reset by peer"))
REFUSED = classify({"error": {"message": "model not found"}, "status": 404})
VAGUE = classify("something odd")

JOURNAL, WIRE, STDERR = HintSource.JOURNAL, HintSource.WIRE, HintSource.STDERR
TOOL = {"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "read", "status": "completed"}


def begun(name: str = "agent", *, sessions: tuple[str, ...] = ("s",), **options: Any) -> Wire:
    """A link with a prompt under way in each of these sessions."""
    client = options.pop("client", {"retry": True})
    capabilities = {"_meta": {"agent_error": {"version": 1, **client}}} if client else {}
    expects = options.pop("expects", False)
    wire = greeted(capabilities, name=name, **options)
    for number, session in enumerate(sessions, 1):
        wire.client(prompt(number, session))
    if expects:
        wire.core.expects_hints(present=True)
    return wire


def hint(wire: Wire, verdict: Any = LIMITED, source: HintSource = JOURNAL, **told: Any) -> Wire:
    """A source gives this hint."""
    told = {"at_seconds": wire.now, "session_id": "s", "goes_on": True} | told
    told = {"attribution": attribution_by(source)} | told
    wire.carry_out(wire.core.receive_hint(Hint(source=source, verdict=verdict, **told), wire.now))
    return wire


def attribution_by(source: HintSource) -> Attribution:
    """How certain a source usually is."""
    by_form = source in {HintSource.STDERR, HintSource.LOG}
    return Attribution.STRONG if by_form else Attribution.PROVEN


# --- which turn, and once


def test_a_hint_is_reported_as_a_retry_with_its_attempt_and_its_wait() -> None:
    wire = hint(begun(), attempt=2, max_attempts=11, wait_seconds=1.2)
    (told,) = wire.updates("agent_retry")
    assert (told["attempt"], told["max_attempts"], told["wait_seconds"]) == (2, 11, 2)
    assert told["error"]["type"] == "rate_limit"
    (entry,) = [e for e in wire.entries if e.kind.value == "retry"]
    assert entry.facts["source"] == "journal"


@pytest.mark.parametrize("attempt", [2, None])
def test_a_retry_that_the_agent_reported_itself_is_not_repeated(attempt: int | None) -> None:
    wire = begun().agent(update(sessionUpdate="agent_retry", attempt=attempt, wait_seconds=1))
    hint(wire, source=STDERR)
    hint(wire, source=JOURNAL, attempt=2)
    assert [u.get("attempt") for u in wire.updates()] == [attempt]
    hint(wire, source=JOURNAL, attempt=3)
    assert [u["attempt"] for u in wire.updates()[1:]] == [3]


def test_a_hint_is_reported_to_a_client_that_the_agents_own_update_does_not_reach() -> None:
    wire = begun(client=None).agent(update(sessionUpdate="agent_retry", attempt=2, wait_seconds=1))
    hint(wire, attempt=2, wait_seconds=60.0).time(10)
    (told,) = wire.updates()
    assert told["content"]["text"].strip().endswith("in 55 seconds (attempt 2).")


def test_an_attempt_that_several_sources_report_is_reported_once() -> None:
    wire = hint(begun(), source=WIRE, attempt=2)
    hint(wire, source=JOURNAL, attempt=2)
    hint(wire, source=STDERR)
    hint(wire, source=JOURNAL, attempt=3)
    assert retries(wire) == [(2, "rate_limit"), (3, "rate_limit")]


def test_retries_from_a_source_without_counts_are_counted() -> None:
    wire = hint(begun(), source=STDERR)
    hint(wire, source=STDERR)
    assert retries(wire) == [(2, "rate_limit"), (3, "rate_limit")]


@pytest.mark.parametrize("less", [LIMITED, VAGUE], ids=["coarser", "without a cause"])
def test_a_finer_sources_cause_is_used_for_the_attempts_that_follow(less: Any) -> None:
    wire = hint(begun(), less, WIRE, attempt=2)
    hint(wire, EMPTY, JOURNAL, attempt=2)
    hint(wire, less, WIRE, attempt=3)
    first = "rate_limit" if less is LIMITED else "unknown"
    assert retries(wire) == [(2, first), (3, "budget")]


def test_a_final_failed_call_is_not_reported_as_a_retry_and_decides() -> None:
    wire = hint(begun(), goes_on=False)
    assert retries(wire) == []
    wire.agent(result()).time(1)
    assert failure(wire)["type"] == "rate_limit"


def test_a_side_call_has_no_effect_on_the_turn() -> None:
    wire = hint(begun(), side=True)
    assert retries(wire) == []
    wire.agent(result()).time(1)
    assert (failure(wire)["type"], failure(wire)["reason"]) == ("unknown", SILENT)


def test_the_named_one_of_two_sessions_gets_the_retry() -> None:
    wire = hint(begun(sessions=("s", "other")), session_id="other")
    told = [json.loads(frame) for frame in wire.to_client]
    assert [f["params"]["sessionId"] for f in told if "method" in f] == ["other"]
    wire.agent(result(2), result(1)).time(1)
    kinds = [failure(wire, n)["type"] for n in (2, 1)]
    assert kinds == ["rate_limit", "unknown"]


def test_a_hint_without_a_session_counts_only_if_one_turn_is_open() -> None:
    wire = hint(begun(sessions=("s", "other")), session_id=None)
    assert retries(wire) == []
    wire.now = 1.0
    wire.agent(chunk("Done.", "other"), result(2))
    wire.now += LATE_SECONDS
    hint(wire, session_id=None)
    assert retries(wire) == [(2, "rate_limit")]


def test_a_hint_without_a_session_at_another_turns_end_may_belong_to_that_turn() -> None:
    wire = begun(sessions=("s", "other"))
    wire.now = 1.0
    wire.agent(error(2))
    hint(wire, session_id=None)
    wire.now += LATE_SECONDS
    hint(wire, session_id=None, at_seconds=0.5)
    assert retries(wire) == []


def test_a_turn_that_begins_after_anothers_end_gets_later_hints_alone() -> None:
    wire = begun(sessions=("other",))
    wire.now = 1.0
    wire.agent(error(1)).client(prompt(2, "s"))
    hint(wire, session_id=None)
    assert retries(wire) == [(2, "rate_limit")]


def test_a_call_given_up_without_a_session_belongs_to_the_turn_that_ends_silently() -> None:
    wire = begun(sessions=("s", "other")).agent(chunk("The answer", "other"), result(1))
    hint(wire, session_id=None, goes_on=False).time(1)
    assert failure(wire)["type"] == "rate_limit"
    wire.agent(result(2))
    assert wire.answers(2)[0]["result"]["stopReason"] == "end_turn"


@pytest.mark.parametrize("told", [{"session_id": "nobody"}, {"at_seconds": -1.0}])
def test_a_hint_of_no_session_that_is_open_and_one_from_before_the_turn_count_for_nothing(
    told: dict[str, Any],
) -> None:
    wire = hint(begun(), **told)
    assert retries(wire) == []
    wire.agent(result()).time(1)
    assert failure(wire)["type"] == "unknown"


def test_a_users_cancel_ends_the_turn_as_cancelled_whatever_failed() -> None:
    wire = begun().client(cancel())
    hint(wire).agent(error())
    assert (retries(wire), wire.answers()[0]["result"]) == ([], {"stopReason": "cancelled"})


# --- what it decides


def test_a_typed_answer_outweighs_a_hint_and_a_vague_one_does_not() -> None:
    wire = hint(begun()).agent(error(1, 401, "Unauthorized"))
    assert failure(wire)["type"] == "auth"
    wire = hint(begun()).agent(error())
    assert failure(wire)["type"] == "rate_limit"


def test_a_turn_that_times_out_during_retries_fails_with_their_cause() -> None:
    wire = hint(begun(idle_timeout_seconds=60, first_update_timeout_seconds=60), attempt=2).time(80)
    assert (failure(wire)["type"], failure(wire)["reason"]) == ("rate_limit", RETRIES_PENDING)


def test_the_rest_of_the_servers_wait_is_reported_at_the_end() -> None:
    hour = classify({"error": {"message": "slow down"}, "status": 429, "retry_after": 100})
    assert hour.retry_after_seconds == 100
    wire = hint(begun(idle_timeout_seconds=60, first_update_timeout_seconds=60), hour).time(80)
    assert failure(wire)["retry_after_seconds"] == 30
    wire = hint(begun(idle_timeout_seconds=600, first_update_timeout_seconds=600), hour).time(620)
    assert "retry_after_seconds" not in failure(wire)
    wire = hint(begun(), hour).time(40).agent(error())  # the agent gave up within it
    assert failure(wire)["retry_after_seconds"] == 60


def test_output_after_a_hint_shows_that_the_failure_was_overcome() -> None:
    wire = hint(begun(idle_timeout_seconds=60)).agent(chunk("Here I am.")).time(80)
    assert failure(wire)["type"] == "agent_stalled"


def test_text_after_our_own_stop_is_not_output() -> None:
    wire = (
        hint(begun(first_update_timeout_seconds=60))
        .time(60)
        .agent(chunk("No content generated."), result())
    )
    told = failure(wire)
    assert (told["type"], told["phase"]) == ("rate_limit", "before_output")


def test_a_finer_cause_is_not_lowered_by_a_coarser_source() -> None:
    wire = hint(begun(), EMPTY, JOURNAL)
    hint(wire, LIMITED, WIRE).agent(error())
    assert failure(wire)["type"] == "budget"
    wire = hint(begun(), LIMITED, WIRE)
    hint(wire, RESET, STDERR)
    hint(wire, VAGUE, JOURNAL).agent(error())
    assert failure(wire)["type"] == "network"


def test_a_success_after_a_tool_and_a_failed_call_is_a_failure() -> None:
    wire = begun().agent(update(**TOOL))
    hint(wire).agent(result())
    assert failure(wire)["type"] == "rate_limit"


def test_an_answer_that_waits_for_a_look_at_stderr_passes_although_its_agent_dies() -> None:
    wire = begun().agent(chunk("Done."))
    wire.stderr(b"Traceback (most recent call last):\nValueError: odd\n").agent(result())
    assert wire.answers() == []
    wire.eof(Side.AGENT)
    assert wire.answers() == [result()]


def test_a_failure_on_stderr_does_not_fail_a_turn_that_has_shown_something() -> None:
    wire = begun().agent(update(**TOOL))
    hint(wire, source=STDERR).agent(result())
    assert wire.answers() == [result()]


@pytest.mark.parametrize(("goes_on", "fails"), [(None, True), (False, True), (True, False)])
def test_cut_text_is_a_failure_unless_the_call_was_to_be_retried(
    goes_on: bool | None, fails: bool
) -> None:
    wire = begun().agent(chunk("The answer is"))
    hint(wire, RESET, goes_on=goes_on).agent(result())
    assert ("error" in wire.answers()[0]) is fails


@pytest.mark.parametrize(("last", "fails"), [(chunk("Done."), False), (update(**TOOL), True)])
def test_a_failed_request_after_a_textual_answer_may_be_for_a_title(
    last: Any, *, fails: bool
) -> None:
    wire = begun().agent(chunk("Hello."), update(**TOOL), last)
    hint(wire, REFUSED, HintSource.OBSERVER, session_id=None, goes_on=False)
    wire.agent(result()).time(wire.now + 5)
    assert ("error" in wire.answers()[0]) is fails


@pytest.mark.parametrize(("answered", "fails"), [(-0.1, True), (0.1, False)])
def test_a_failed_request_after_one_without_output_may_be_for_a_title(
    answered: float, *, fails: bool
) -> None:
    wire = begun().agent(update(**TOOL))
    told: dict[str, Any] = {"goes_on": False, "answered_at": wire.now + answered}
    wire.time(wire.now + 1)
    hint(wire, REFUSED, HintSource.OBSERVER, session_id=None, **told)
    wire.agent(result()).time(wire.now + 5)
    assert ("error" in wire.answers()[0]) is fails


def test_an_agents_own_command_may_show_nothing() -> None:
    wire = Wire().client(INITIALIZE).agent(reply(0, protocolVersion=1))
    wire.client(prompt(text="/compact"))
    hint(wire).agent(result()).time(1)
    assert wire.answers() == [result()]


# --- an end that says nothing waits a moment for the sources


def test_a_vague_error_waits_a_moment_for_the_sources() -> None:
    wire = begun(expects=True).agent(error())
    assert wire.answers() == []
    hint(wire, goes_on=False).time(1)
    assert failure(wire)["type"] == "rate_limit"


def test_an_unexplained_vague_error_passes_unchanged() -> None:
    wire = begun(expects=True).agent(error()).time(1)
    assert failure(wire)["type"] == "unknown"
    wire = begun(expects=True).agent(error(1, 401, "Unauthorized"))
    assert failure(wire)["type"] == "auth"


def test_output_releases_a_vague_error_at_once_and_a_cancel_makes_it_cancelled() -> None:
    wire = begun(expects=True).agent(error(), chunk("late"))
    assert failure(wire)["type"] == "unknown"
    wire = begun(expects=True).agent(error()).client(cancel())
    assert wire.answers()[0]["result"] == {"stopReason": "cancelled"}


def test_a_success_without_a_word_after_its_tool_waits_a_moment_and_passes_as_it_came() -> None:
    wire = begun(expects=True).agent(update(**TOOL), result())
    assert wire.answers() == []
    wire.time(1)
    assert wire.answers() == [result()]


def cut_after_a_retry(**told: Any) -> Wire:
    """A turn that has got over a cut, as it seems, and ends with a success that is held back."""
    wire = hint(begun(expects=True), RESET, goes_on=None)
    wire.now = 2.0
    for text in ("The answer", " is"):
        wire.agent(chunk(text))
    wire.now = 3.0
    wire.agent(result())
    assert wire.answers() == []
    hint(wire, RESET, **({"goes_on": None} | told))
    return wire


def test_text_cut_off_a_second_time_is_a_failure_although_the_agent_calls_it_a_success() -> None:
    wire = cut_after_a_retry().time(4)
    assert (failure(wire)["type"], failure(wire)["reason"]) == ("network", SILENT)
    # Nothing is tried again once the agent has answered, and nothing is told of that.
    assert retries(wire) == [(2, "network")]


def test_a_turn_that_recovered_from_a_failure_waits_a_moment_and_passes_unchanged() -> None:
    wire = hint(begun(expects=True)).agent(chunk("The answer is 42."), result())
    assert wire.answers() == []
    wire.time(1)
    assert wire.answers() == [result()]


@pytest.mark.parametrize(("before", "fails"), [(0.2, True), (0.4, False)])
def test_a_failure_well_before_the_last_output_was_overcome(before: float, fails: bool) -> None:
    wire = cut_after_a_retry(at_seconds=2.0 - before).time(4)
    assert ("error" in wire.answers()[0]) is fails


def test_a_failure_read_late_is_not_reported_as_a_retry_once_the_turn_continues() -> None:
    wire = begun()
    wire.now = 1.0
    wire.agent(chunk("The answer"))
    wire.now = 3.0
    hint(wire, at_seconds=0.2)
    assert retries(wire) == []
    wire.agent(result())
    assert wire.answers() == [result()]


# --- a retry whose cause its agent does not tell waits a moment for a source that does


def announced(*, expects: bool = True, **told: Any) -> Wire:
    """A turn whose agent says that it tries again, and not why."""
    wire = begun()
    wire.core.expects_hints(present=expects)
    hint(wire, VAGUE, WIRE, **({"attempt": 2, "max_attempts": 4, "wait_seconds": 2.0} | told))
    return wire


def test_a_retry_without_a_cause_gets_the_one_in_a_journal() -> None:
    wire = announced()
    assert retries(wire) == []
    hint(wire, goes_on=None)
    (told,) = wire.updates("agent_retry")
    assert (told["attempt"], told["max_attempts"], told["wait_seconds"]) == (2, 4, 2)
    assert told["error"]["type"] == "rate_limit"
    wire.time(5)
    assert retries(wire) == [(2, "rate_limit")]


def test_a_retry_with_an_unknown_cause_is_reported_unchanged() -> None:
    wire = announced().time(1)
    assert retries(wire) == [(2, "unknown")]
    assert retries(announced(expects=False)) == [(2, "unknown")]


def test_a_retrys_wait_for_its_cause_sets_the_timer_although_its_frame_passes() -> None:
    wire = begun("pi-acp", expects=True)
    assert (wire.core.next_timeout() or 0.0) > 1
    wire.agent(chunk("Retrying (attempt 1/3, waiting 2s)..."))
    assert wire.core.next_timeout() == WITHHELD_SECONDS
    wire.time(0.3)
    assert retries(wire) == [(2, "unknown")]


def test_a_retry_is_reported_before_the_one_that_follows() -> None:
    wire = announced()
    hint(wire, VAGUE, WIRE, attempt=3)
    assert retries(wire) == [(2, "unknown")]
    wire.time(1)
    assert retries(wire) == [(2, "unknown"), (3, "unknown")]


@pytest.mark.parametrize("text", [("The answer",), ("The answer", " is")])
def test_a_retry_that_succeeded_before_its_report_is_not_reported(text: tuple[str, ...]) -> None:
    wire = begun().agent(chunk("I begin."))
    wire.core.expects_hints(present=True)
    hint(wire, VAGUE, WIRE, attempt=2)
    for piece in text:
        wire.agent(chunk(piece))
    wire.time(1)
    assert retries(wire) == []


def test_a_suspension_does_not_shorten_a_retrys_wait_for_its_cause() -> None:
    wire = announced()
    wire.core.stand_still(10.0)
    wire.time(10.1)
    assert retries(wire) == []
    wire.time(10.3)
    assert retries(wire) == [(2, "unknown")]


# --- stderr as it comes


LINE = b"ERROR RateLimitError: 429 Too Many Requests. Attempt #1\n"


def test_new_failures_on_stderr_are_reported_once_it_pauses() -> None:
    wire = begun().stderr(LINE)
    assert retries(wire) == []
    wire.time(1.5).time(5)
    assert retries(wire) == [(2, "rate_limit")]
    wire.stderr(LINE).time(10)
    assert retries(wire) == [(2, "rate_limit"), (3, "rate_limit")]
    assert {e.facts["source"] for e in wire.entries if e.kind.value == "retry"} == {"stderr"}


def test_stderr_from_before_the_turn_is_not_evidence() -> None:
    wire = begun(sessions=()).stderr(LINE)
    wire.now = 1.0
    wire.client(prompt()).time(60)
    assert retries(wire) == []
    assert "RateLimitError" not in wire.core.stderr_tail()


def test_stderr_of_a_failed_turn_is_not_attributed_to_another() -> None:
    wire = begun(sessions=("s", "other")).stderr(LINE)
    wire.now = 1.0
    wire.agent(error(2)).stderr(LINE).time(30).stderr(b"INFO all is well\n").time(35)
    assert retries(wire) == []
    wire.stderr(LINE).time(40)
    assert retries(wire) == [(2, "rate_limit")]


def test_updates_beside_the_answer_do_not_hide_a_failure_on_stderr() -> None:
    wire = begun().stderr(LINE)
    wire.now = 0.1
    wire.agent(update(sessionUpdate="available_commands_update", availableCommands=[])).time(5)
    assert retries(wire) == [(2, "rate_limit")]


def test_the_number_of_looks_in_a_turn_is_bounded_with_one_more_at_a_stall() -> None:
    wire = begun(first_update_timeout_seconds=3 * STDERR_LOOKS, warn_after_seconds=0)
    for second in range(2 * STDERR_LOOKS):
        wire.stderr(b"INFO again\n").time(float(second))
    wire.stderr(LINE).time(wire.now + 5)
    assert retries(wire) == []
    wire.time(3.0 * STDERR_LOOKS + 20)
    assert failure(wire)["reason"] == RETRIES_PENDING


# --- the shells' questions


def test_the_turns_that_show_nothing_are_named_with_their_times() -> None:
    wire = begun(sessions=("s", "other"))
    wire.now = 2.0
    wire.agent(chunk("at work", "other"))
    assert wire.core.silent_turns(2.5, 1.0) == [SilentTurn("s", 0.0, 0.0, number=1)]


def test_the_sources_know_a_renamed_session_by_the_agents_name() -> None:
    link = Link().die()
    link.time(link.now + 10).client(request(7, "session/new", cwd="/w", mcpServers=[])).greet()
    link.asked()
    link.answer(7, sessionId="s")
    ours = link.answers(7)[0]["result"]["sessionId"]
    assert ours != "s"
    link.client(prompt(8, ours))
    link.core.expects_hints(present=True)
    assert [turn.session_id for turn in link.core.silent_turns(link.now, 0.0)] == ["s"]
    hint(link, session_id="s", goes_on=False).agent(result(8)).time(link.now + 1)
    assert failure(link, 8)["type"] == "rate_limit"


def test_a_late_hint_is_reported_with_the_rest_of_its_wait() -> None:
    wire = begun()
    wire.now = 3.0
    hint(wire, attempt=2, wait_seconds=8.0, at_seconds=1.0)
    hint(wire, attempt=3, wait_seconds=1.0, at_seconds=1.0)
    waits = [u["wait_seconds"] for u in wire.updates("agent_retry")]
    assert waits == [6, 0]


def test_a_withheld_answer_does_not_delay_its_sessions_quarantine() -> None:
    wire = begun(sessions=("s", "s"), expects=True)
    wire.client({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 1}})
    wire.now = 9.9
    wire.agent(error(2))
    wire.now = 10.0
    wire.time(10.0).time(11.0)
    assert wire.answers(1)[0]["result"] == {"stopReason": "cancelled"}
    before = len(wire.updates())
    wire.agent(chunk("I go on."))
    assert len(wire.updates()) == before


# --- how many requests there were


def told_again(wire: Wire) -> int:
    """The number of the next request, as it is told when the prompt is sent again."""
    wire.agent(error(message="429 Too Many Requests"))
    attempt: int = wire.updates("agent_retry")[-1]["attempt"]
    return attempt


@pytest.mark.parametrize(
    ("goes_on", "requests"), [((None,), 1), ((True,), 2), ((None, None), 2), ((True, None), 2)]
)
def test_a_failed_call_that_may_be_the_last_counts_as_one_request(
    goes_on: tuple[bool | None, ...], requests: int
) -> None:
    wire = begun(retry=2)
    for each in goes_on:
        hint(wire, source=STDERR, goes_on=each).time(wire.now + 1)
    assert told_again(wire) == requests + 1


def test_several_lines_on_one_failed_call_are_one_request() -> None:
    wire = begun(retry=2)
    for at in (0.0, 0.1, 0.2):
        hint(wire, source=STDERR, goes_on=None, at_seconds=at)
    assert len(retries(wire)) == 1
    hint(wire, source=STDERR, goes_on=None, at_seconds=1.0)
    assert [attempt for attempt, _ in retries(wire)] == [2, 3]
    assert told_again(wire) == 3


def test_retries_are_counted_on_across_a_resent_prompt() -> None:
    wire = hint(begun(retry=2), source=JOURNAL, goes_on=None)
    assert told_again(wire) == 2
    wire.time(wire.now + 60)
    hint(wire, source=JOURNAL, goes_on=None, max_attempts=5)
    last = wire.updates()[-1]
    assert (last["attempt"], last.get("max_attempts"), told_again(wire)) == (3, None, 3)


def test_output_after_a_failed_call_counts_as_a_retry() -> None:
    wire = hint(begun(), source=JOURNAL, goes_on=None).agent(chunk("Here is"))
    (turn,) = wire.core.connection.link.sessions["s"].turns
    assert turn.tries == 2


GROK = {
    "sessionUpdate": "retry_state",
    "type": "retrying",
    "attempt": 1,
    "max_retries": 15,
    "reason": "error sending request for url (http://127.0.0.1:9/v1/chat/completions): "
    "client error (Connect): tcp connect error: Connection refused (os error 111)",
    "error_type": "http",
}


def notification(
    update: dict[str, Any], method: str = "_x.ai/session_notification"
) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {"sessionId": "s", "update": update}}


@pytest.mark.parametrize("method", ["_x.ai/session_notification", "_anyone/at_all"])
def test_a_retry_in_any_notification_is_recognised_by_its_kind_and_attempt(method: str) -> None:
    wire = begun("newcomer").agent(notification(GROK, method))
    (update,) = wire.updates("agent_retry")
    assert (update["attempt"], update["max_attempts"]) == (2, 16)
    assert update["error"]["type"] == "network"


@pytest.mark.parametrize("change", [{"type": "retry_finished"}, {"attempt": None}])
def test_a_finished_retry_or_one_without_an_attempt_is_ignored(change: dict[str, Any]) -> None:
    wire = begun("newcomer").agent(notification(GROK | change))
    assert retries(wire) == []


def test_a_retry_does_not_count_as_progress_and_its_wait_not_as_silence() -> None:
    wire = begun("newcomer", first_update_timeout_seconds=60)
    for at in range(5, 60, 5):
        wire.now = float(at)
        wire.agent(notification(GROK | {"attempt": at}))
    wire.time(60.0).agent(error())
    assert failure(wire)["reason"] == RETRIES_PENDING
    wire = begun(first_update_timeout_seconds=60)
    wire.now = 50.0
    wire.agent(_retrying(wait=30)).time(89.0)
    assert not wire.core.connection.link.sessions["s"].turns[0].evidence.signs
    wire.time(90.0).agent(error())
    assert failure(wire)["reason"] == RETRIES_PENDING


@pytest.mark.parametrize("source", [JOURNAL, STDERR, None])
def test_a_long_wait_that_the_agent_announces_keeps_its_turn_open(
    source: HintSource | None,
) -> None:
    wire = begun(first_update_timeout_seconds=900)
    for at in (0.0, 0.2):  # two sources of one wait, or one that says it twice
        wire.time(at)
        if source is None:
            wire.agent(update(sessionUpdate="agent_retry", attempt=2, wait_seconds=3600))
        else:
            hint(wire, source=source, attempt=2, wait_seconds=3600.0)
    wire.time(3600.2 + 890.0)
    assert wire.answers() == []
    wire.time(3600.2 + 920.0)
    assert wire.answers() != []


def test_an_agent_that_would_wait_for_days_is_not_waited_for_and_its_error_has_the_rest() -> None:
    days = 3 * 86_400.0
    wire = hint(begun(first_update_timeout_seconds=900), attempt=2, wait_seconds=days).time(920)
    assert (failure(wire)["type"], failure(wire)["reason"]) == ("rate_limit", RETRIES_PENDING)
    assert (
        failure(wire)["retry_after_seconds"] == days - 910
    )  # once the agent has had its time to end the turn
    allowed = begun(first_update_timeout_seconds=900, continue_at_reset_seconds=days)
    hint(allowed, attempt=2, wait_seconds=days).time(days + 890)
    assert allowed.answers() == []


def test_the_users_own_limit_ends_a_turn_that_waits_and_its_error_has_the_rest() -> None:
    wire = hint(begun(turn_timeout_seconds=600), attempt=2, wait_seconds=3600.0).time(620)
    assert failure(wire)["retry_after_seconds"] == 2990
    refused = classify({"error": {"message": "Unauthorized"}, "status": 401})
    wire = hint(begun(turn_timeout_seconds=600), refused, attempt=2, wait_seconds=3600.0).time(620)
    assert "retry_after_seconds" not in failure(wire)


def _retrying(wait: int) -> dict[str, Any]:
    params = {
        "sessionId": "s",
        "category": "rate_limited",
        "detail": f"HTTP 429, retry after {wait} seconds",
    }
    return {"jsonrpc": "2.0", "method": "_session/retrying", "params": params}


def test_a_retry_that_waits_for_its_cause_at_the_turns_end_is_not_reported() -> None:
    wire = announced().agent(result()).time(0.3)
    assert retries(wire) == []
    wire = announced().client(cancel()).time(1)
    assert retries(wire) == []


def test_a_call_given_up_without_a_session_counts_for_neither_of_two_open_turns() -> None:
    wire = begun(sessions=("s", "other"))
    hint(wire, session_id=None, goes_on=False)
    for number in (1, 2):
        wire.agent(result(number))
    wire.time(1)
    kinds = [failure(wire, n)["type"] for n in (1, 2)]
    assert kinds == ["unknown", "unknown"]


def test_a_hint_after_the_turn_is_ignored() -> None:
    wire = begun().agent(chunk(), result())
    hint(wire)
    assert retries(wire) == []


def test_a_hint_of_any_other_session_passes_the_names_by() -> None:
    link = Link().die_and_be_greeted()
    (load,) = link.asked()
    link.answer(load["id"])
    hint(link, goes_on=False).agent(result(2)).time(link.now + 1)
    assert failure(link, 2)["type"] == "rate_limit"
