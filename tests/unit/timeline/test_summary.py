"""A turn in one paragraph, from its entries alone."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.timeline.entry import Entry, Kind, Level
from lastword.core.timeline.session_events import histories
from lastword.core.timeline.summary import Confidence, Outcome, Summary, summarise
from tests.kit.rows import every

SESSION = "s1"


class Told:
    """Entries of one turn, a second apart unless said otherwise."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.now = 100.0
        self(Kind.PROMPT)

    def __call__(self, kind: Kind, *, after: float = 1.0, **facts: Any) -> Told:
        self.now += after if self.entries else 0.0
        self.entries.append(
            Entry(kind=kind, at_seconds=self.now, session_id=SESSION, turn=1, facts=facts)
        )
        return self

    def around(self, kind: Kind, **facts: Any) -> Told:
        self.entries.append(Entry(kind=kind, at_seconds=self.now, facts=facts))
        return self

    def text(self) -> Told:
        return self(Kind.FIRST_PROGRESS)(Kind.FIRST_OUTPUT, after=0.0)

    def tool(self, kind: str = "execute", *, ends: bool = True) -> Told:
        self(Kind.TOOL_STARTED, call="c", tool=kind)
        return self(Kind.TOOL_ENDED, call="c", status="completed") if ends else self

    def fails(self, error_type: ErrorType, **facts: Any) -> Told:
        return self(Kind.ERROR, type=error_type.value, **facts)

    @property
    def summary(self) -> Summary:
        return summarise(self.entries)


def test_a_client_that_left_before_any_output_is_described() -> None:
    told = Told().around(Kind.CLIENT_GONE)(Kind.CANCEL, after=0.0, by="client_gone").summary
    assert told.outcome is Outcome.OPEN
    assert told.confidence is Confidence.CERTAIN
    assert told.text == (
        "The client left at once, while the turn ran, so there was nobody to answer. "
        "Nothing had come from the agent yet. "
        "No fault of the agent's or the model provider's is recorded; whether the client was "
        "closed or crashed is not seen from here. "
        "Sending the prompt again is safe: nothing had happened yet. "
        "Open the session again to continue."
    )


def test_a_connection_lost_in_the_middle_of_the_answer_is_described() -> None:
    told = (
        Told()
        .text()
        .fails(
            ErrorType.NETWORK,
            reason="truncated_stream",
            origin="network",
            phase="mid_output",
            retryable=True,
            retry_safety="offer_continue",
            action="continue",
        )
    )
    assert told.summary.text == (
        "The turn failed after 2.0 seconds. The model provider's answer was cut off. "
        "That was in the middle of the answer. "
        "Until then text had been shown, and no tool had been used. "
        "The agent ended the turn with this error. "
        "The fault is the network's, between the agent and the model provider. "
        "Sending the prompt again repeats what was shown; asking the agent to continue does not. "
        "Ask the agent to continue."
    )


def test_text_that_was_the_failure_itself_is_not_called_an_answer() -> None:
    told = Told().text()
    told.fails(
        ErrorType.NETWORK,
        origin="network",
        phase="before_output",
        retryable=True,
        retry_safety="auto",
        action="retry",
    )
    assert told.summary.text == (
        "The turn failed after 2.0 seconds. The connection to the model provider failed. "
        "That was before any answer: only the failure had been shown, in words. "
        "The agent ended the turn with this error. "
        "The fault is the network's, between the agent and the model provider. "
        "Sending the prompt again is safe: no answer and no tool call had come. "
        "Try again."
    )


def test_a_connection_that_was_lost_after_a_tool_is_described() -> None:
    told = (
        Told()
        .text()
        .tool("edit")
        .fails(
            ErrorType.NETWORK,
            origin="network",
            phase="after_tool",
            retryable=True,
            retry_safety="ask",
            action="confirm_retry",
        )
    )
    assert "That was after a tool had run, between two steps of the agent." in told.summary.text
    assert "1 tool call (edit), which may have changed something." in told.summary.text
    assert told.summary.action == "Check what has already been done before you try again."


def test_the_users_own_cancel_is_not_a_failure() -> None:
    told = Told().text()(Kind.CANCEL, by="user")(Kind.ANSWER, stop_reason="cancelled", by="agent")
    assert told.summary.outcome is Outcome.CANCELLED
    assert told.summary.text == (
        "The user cancelled the turn, and it ended after 3.0 seconds. "
        "That was in the middle of the answer. "
        "Until then text had been shown, and no tool had been used. "
        "No failure is recorded. "
        "Sending the prompt again repeats what was shown; asking the agent to continue does not."
    )
    assert told.summary.action == ""


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("first_update_timeout", "nothing came within the limit"),
        ("idle_timeout", "the agent was silent for longer than the limit"),
        ("tool_timeout", "a tool took longer than the limit"),
        ("turn_timeout", "the turn took longer than the limit"),
        ("runaway", "the agent repeated the same step"),
        ("stderr_limit", "the agent's error output was over the limit"),
    ],
)
def test_the_watchdogs_end_says_which_limit(reason: str, words: str) -> None:
    told = Told()(Kind.CANCEL, after=900.0, by="watchdog", reason=reason).fails(
        ErrorType.AGENT_STALLED, reason=reason, phase="before_output", retryable=True
    )
    assert f"lastword's watchdog stopped the turn: {words}" in told.summary.text
    assert told.summary.text.startswith("The turn failed after 16 minutes.")


def test_a_crash_while_a_tool_runs_names_the_tool_and_the_signal() -> None:
    told = Told().text().tool(ends=False)
    told.around(Kind.AGENT_EXITED, exit_signal="SIGKILL", reason="killed", open_turns=1)
    told.fails(ErrorType.AGENT_CRASH, reason="killed", phase="tool_running", retry_safety="ask")
    text = told.summary.text
    assert "A tool was running (execute)." in text
    assert "The agent's process ended (killed by SIGKILL), and lastword answered for it." in text
    assert ("Agent's exit", "killed by SIGKILL") in told.summary.facts


def test_retries_are_counted_with_their_waits() -> None:
    told = Told()
    told(Kind.RETRY, attempt=2, wait_seconds=20, type="rate_limit")
    told(Kind.RETRY, after=25, attempt=3, wait_seconds=20, type="rate_limit")
    told(Kind.RETRY, after=20, attempt=4, wait_seconds=3600, type="rate_limit")  # ended in it
    told.fails(ErrorType.RATE_LIMIT, retryable=True, retry_after_seconds=30, http_status=429)
    assert "The model call was tried again 3 times, with waits of 41 seconds" in told.summary.text
    assert told.summary.action == "Try again no sooner than 30 seconds after the failure."


@pytest.mark.parametrize(
    ("earlier", "after", "words"),
    [
        (0, 5, "yet. The agent was waiting 20 seconds to try the model call again. No"),
        (1, 5, "tried again once, with waits of 20 seconds in all. The agent was waiting 20"),
        (0, 25, "yet. The model call was tried again once, with waits of 20 seconds in all. No"),
    ],
)
def test_a_wait_that_the_user_cancelled_is_not_a_call(
    earlier: int, after: float, words: str
) -> None:
    told = Told()
    for attempt in range(earlier + 1):
        told(Kind.RETRY, after=20, attempt=attempt + 2, wait_seconds=20, type="rate_limit")
    told(Kind.CANCEL, after=after, by="user")(Kind.ANSWER, stop_reason="cancelled", by="agent")
    assert words in told.summary.text


@every("error_type", sorted(set(ErrorType) - {ErrorType.CANCELLED}))
def test_every_type_is_described_in_whole_sentences(error_type: ErrorType) -> None:
    text = Told().fails(error_type, retry_safety="never").summary.text
    assert text.endswith(".")
    assert "None" not in text


def test_an_unrecognised_failure_is_called_unclear_with_what_would_help() -> None:
    summary = Told().fails(ErrorType.UNKNOWN).summary
    assert summary.confidence is Confidence.UNCLEAR
    assert summary.missing == ("the error's own words (recorded with --record-text)",)


def test_a_type_inferred_from_words_is_only_likely() -> None:
    summary = Told().fails(ErrorType.NETWORK, rule="text:econnreset").summary
    assert summary.confidence is Confidence.LIKELY


def test_a_record_that_stops_in_the_middle_says_so() -> None:
    summary = Told().text().summary
    assert summary.outcome is Outcome.OPEN
    assert summary.confidence is Confidence.UNCLEAR
    assert "it still runs, or lastword was killed" in summary.text
    assert summary.missing == ("how it ended",)


def test_lastwords_own_stop_names_its_signal() -> None:
    told = Told().around(Kind.SHUTDOWN, signal="SIGTERM").around(Kind.CLIENT_GONE)
    assert "lastword was told to stop (SIGTERM)" in told.summary.text


def test_the_summary_describes_the_last_turn_that_failed() -> None:
    first = Told().fails(ErrorType.AUTH)
    healthy = [
        Entry(kind=Kind.PROMPT, at_seconds=200.0, session_id=SESSION, turn=2),
        Entry(
            kind=Kind.ANSWER,
            at_seconds=201.0,
            session_id=SESSION,
            turn=2,
            facts={"stop_reason": "end_turn"},
        ),
    ]
    assert dict(summarise([*first.entries, *healthy]).facts)["Failure"] == "login refused"
    assert summarise(healthy).text == "The turn ended well after 1.0 seconds."


def test_an_exit_counts_only_for_the_turns_open_at_the_time() -> None:
    first = Told().fails(ErrorType.AUTH)
    first.around(Kind.AGENT_EXITED, exit_code=1)
    assert histories(first.entries)[0].exited is None


def test_an_empty_record_has_no_turn() -> None:
    assert summarise([]).text == "No turn is recorded here."


def test_words_in_place_of_numbers_are_ignored() -> None:
    told = Told()(Kind.SILENCE, silent_seconds="long")(Kind.STDERR, bytes=True)
    assert told.summary.outcome is Outcome.OPEN


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"phase": "startup"}, "while the agent was starting"),
        ({"phase": "before_request"}, "there was no agent that could have"),
        ({"by": "agent"}, "The agent itself reported this to the client."),
        ({"reason": "silent_success"}, "The agent called it a success"),
        ({"origin": "client"}, "The fault is the client's."),
        ({"retry_safety": "auto"}, "Sending the prompt again is safe"),
        ({"action": "login"}, "Log in again or check the API key."),
    ],
)
def test_each_fact_of_a_failure_is_put_into_words(facts: dict[str, Any], words: str) -> None:
    assert words in Told().fails(ErrorType.PROVIDER_UNAVAILABLE, **facts).summary.text


def test_a_turn_that_began_without_output_is_distinguished_from_one_that_did_not() -> None:
    begun = Told()(Kind.FIRST_PROGRESS).fails(ErrorType.TIMEOUT)
    assert "The agent had begun; no text and no tool call had come yet." in begun.summary.text
    assert "Nothing had come from the agent yet." in Told().fails(ErrorType.TIMEOUT).summary.text


def test_an_unanswered_question_is_described_as_open() -> None:
    asked = Told()(Kind.ASKED, what="permission")
    answered = Told()(Kind.ASKED, what="permission")(Kind.USER_ANSWERED, outcome="allow_once")
    assert "A question to the user was open." in asked.fails(ErrorType.NETWORK).summary.text
    assert "question" not in answered.fails(ErrorType.NETWORK).summary.text


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("client_gone", "The client left, and the turn was cancelled"),
        ("agent", "The agent ended the turn as cancelled"),
    ],
)
def test_a_cancelled_turn_says_who_cancelled_it(by: str, words: str) -> None:
    told = Told()(Kind.CANCEL, by=by)(Kind.ANSWER, stop_reason="cancelled")
    assert told.summary.text.startswith(f"{words} after 2.0 seconds.")


def test_a_turn_that_was_cancelled_by_our_own_end_says_so() -> None:
    told = Told().around(Kind.SHUTDOWN, signal="SIGTERM")(Kind.ANSWER, stop_reason="cancelled")
    assert told.summary.text.startswith("lastword was told to stop, and the turn was cancelled")


@pytest.mark.parametrize(
    ("exit_facts", "shown"),
    [
        ({"exit_code": 3}, "exit status 3"),
        ({"reason": "closed_stdout"}, "closed stdout"),
        ({}, "its exit status is unknown"),
    ],
)
def test_an_exit_is_described_as_far_as_it_is_known(exit_facts: dict[str, Any], shown: str) -> None:
    told = Told().around(Kind.AGENT_EXITED, **exit_facts)
    assert told.summary.text.startswith("The agent's process ended at once, and nothing")
    assert ("Agent's exit", shown) in told.fails(ErrorType.AGENT_CRASH).summary.facts


def test_the_missing_evidence_is_named() -> None:
    no_status = Told().fails(ErrorType.RATE_LIMIT, origin="provider")
    assert no_status.summary.missing == ("the provider's HTTP status",)
    no_exit = Told().around(Kind.AGENT_EXITED).fails(ErrorType.AGENT_CRASH)
    assert no_exit.summary.missing == ("the agent's exit status",)
    cut = Told()(Kind.OMITTED, count=88).fails(ErrorType.NETWORK)
    assert cut.summary.missing == ("88 entries that were over the bound of a turn",)


def test_incidental_events_are_listed_in_the_facts() -> None:
    told = Told()(Kind.STDERR, bytes=700)(Kind.SILENCE, silent_seconds=45)(Kind.CANCEL, by="user")
    for _ in range(2):
        told(Kind.FRAME_DROPPED, reason="not_json")
    facts = dict(told.fails(ErrorType.NETWORK).summary.facts)
    assert facts["Error output"] == "700 bytes"
    assert facts["Longest silence noticed"] == "45 seconds"
    assert facts["Ended early by"] == "the user"
    assert facts["Messages withheld"] == "2 (not json)"


def test_read_only_and_failed_tools_are_described_as_such() -> None:
    told = Told().tool("read")(Kind.TOOL_STARTED, call="d", tool="search")
    told(Kind.TOOL_ENDED, call="d", status="failed").fails(ErrorType.NETWORK)
    assert "2 tool calls (read, search, 1 failed), which only read." in told.summary.text


def test_a_type_from_a_later_version_is_unclear() -> None:
    told = Told()(Kind.ERROR, type="weather")
    assert told.summary.confidence is Confidence.UNCLEAR


def test_an_answer_after_the_end_changes_nothing() -> None:
    told = Told().fails(ErrorType.AUTH)(Kind.ANSWER, stop_reason="end_turn")
    assert told.summary.outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("around", "words"),
    [
        (None, "The agent did not confirm that; lastword answered for it."),
        (Kind.AGENT_EXITED, "The agent's process ended before it had confirmed that; lastword"),
        (Kind.CLIENT_GONE, "Nobody was there to be answered."),
    ],
)
def test_an_unconfirmed_cancel_says_what_ended_the_turn(around: Kind | None, words: str) -> None:
    told = Told().text()(Kind.CANCEL, by="user")
    if around is not None:
        told.around(around)
    told(Kind.ANSWER, stop_reason="cancelled", by="lastword")
    assert words in told.summary.text


def test_looking_first_is_advised_after_a_cancelled_tool() -> None:
    told = Told().tool("edit")(Kind.CANCEL, by="user")(Kind.ANSWER, stop_reason="cancelled")
    assert told.summary.action == "Look at what has been done before you send the prompt again."
    assert "may do twice what a tool has done" in told.summary.text


def test_opening_the_session_and_looking_is_advised_after_a_tool_of_a_client_that_left() -> None:
    told = Told().tool("edit").around(Kind.CLIENT_GONE)(Kind.ANSWER, stop_reason="cancelled")
    assert told.summary.action == "Open the session again and look at what has been done."


def test_read_only_tools_are_not_said_to_act_twice() -> None:
    told = (
        Told()
        .tool("read")
        .fails(ErrorType.NETWORK, phase="after_tool", retry_safety="ask", action="confirm_retry")
    )
    assert "repeats the tool calls; those that are recorded only read." in told.summary.text
    assert "twice" not in told.summary.text


def test_resending_is_called_safe_if_the_agent_had_only_begun() -> None:
    told = Told()(Kind.FIRST_PROGRESS).fails(ErrorType.NETWORK, retry_safety="auto")
    assert "is safe: no text and no tool call had come." in told.summary.text


@pytest.mark.parametrize(
    ("reason", "words", "confidence"),
    [
        ("idle_timeout", "its silence does not say which", Confidence.LIKELY),
        ("tool_timeout", "The fault is the tool's", Confidence.CERTAIN),
        ("turn_timeout", "It may be nobody's fault", Confidence.CERTAIN),
        ("runaway", "The fault is the agent's, or its model's.", Confidence.CERTAIN),
    ],
)
def test_a_stalled_agent_is_not_blamed_for_the_cause_of_its_wait(
    reason: str, words: str, confidence: Confidence
) -> None:
    summary = Told().fails(ErrorType.AGENT_STALLED, reason=reason, origin="agent").summary
    assert words in summary.text
    assert summary.confidence is confidence


def test_a_short_duration_is_stated_in_milliseconds() -> None:
    facts = dict(Told()(Kind.FIRST_OUTPUT, after=0.02).fails(ErrorType.NETWORK).summary.facts)
    assert facts["First output after"] == "20 ms"


def test_a_question_counts_as_output_as_soon_as_it_is_asked() -> None:
    told = Told()(Kind.ASKED, after=2.0, what="permission")(Kind.USER_ANSWERED, after=102.0)
    told(Kind.ASKED, after=1.0, what="permission")(Kind.FIRST_OUTPUT, after=1.0)
    facts = dict(told.fails(ErrorType.NETWORK).summary.facts)
    assert facts["First output after"] == "2.0 seconds"
    silent = dict(Told().fails(ErrorType.NETWORK).summary.facts)
    assert "First output after" not in silent


def test_the_clients_work_for_the_agent_counts_as_done() -> None:
    told = Told()(Kind.DELEGATED, what="file")(Kind.CANCEL, by="user")
    told(Kind.ANSWER, stop_reason="cancelled", by="agent")
    assert "Until then the client was asked to write a file or run a command, once." in (
        told.summary.text
    )
    assert "safe: nothing" not in told.summary.text
    twice = Told()(Kind.DELEGATED, what="file")(Kind.DELEGATED, what="command")
    assert "command, 2 times." in twice.fails(ErrorType.NETWORK).summary.text


def held(*more: Entry) -> list[Entry]:
    """A turn whose client is a gateway's process, which ends."""
    begun = Entry(kind=Kind.SESSION_HELD, at_seconds=99.0, session_id=SESSION)
    return [begun, *Told().text().around(Kind.CLIENT_GONE).entries, *more]


def test_a_gateways_process_that_ends_is_not_called_the_client() -> None:
    told = summarise(held())
    assert "The gateway that held the session ended after 1.0 seconds" in told.text
    assert "client" not in told.text
    end = Told()(Kind.ANSWER, after=3.0, stop_reason="cancelled", by="lastword").entries[-1]
    told = summarise(held(end))
    assert told.text.startswith("The gateway that held the session ended, and the turn")
    assert "Nobody was there" not in told.text


def test_a_viewer_that_comes_later_makes_no_turn_longer() -> None:
    viewer = Entry(kind=Kind.VIEWER_CAME, at_seconds=9000.0, session_id=SESSION)
    (story,) = histories([*Told().text().entries, viewer])
    assert story.seconds == 1.0
    assert story.in_gateway


@pytest.mark.parametrize(
    ("kind", "facts", "level"),
    [
        (Kind.SESSION_RESTORED, {"history": "none"}, Level.WARNING),
        (Kind.SESSION_RESTORED, {"history": "full"}, Level.INFO),
        (Kind.SUPERVISOR_EXITED, {"open_turns": 1}, Level.ERROR),
        (Kind.SUPERVISOR_EXITED, {"exit_code": 0}, Level.INFO),
        (Kind.HOLDER_DIED, {}, Level.ERROR),
    ],
)
def test_an_event_that_costs_a_turn_or_the_past_has_a_higher_level(
    kind: Kind, facts: dict[str, Any], level: Level
) -> None:
    assert Entry(kind=kind, at_seconds=0.0, facts=facts).level is level
