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


def lost(**facts: Any) -> dict[str, Any]:
    """What is known of a connection that was lost, and may be tried again."""
    return {"origin": "network", "retryable": True} | facts


def waits(*attempts: int) -> Told:
    """The agent waits 20 seconds before each of these attempts."""
    told = Told()
    for attempt in attempts:
        told(Kind.RETRY, after=20, attempt=attempt, wait_seconds=20, type="rate_limit")
    return told


def ends(told: Told, by: str | None = "agent") -> Told:
    return told(Kind.ANSWER, stop_reason="cancelled", **({"by": by} if by else {}))


REPEATS = "Sending the prompt again repeats what was shown; asking the agent to continue does not."
PARAGRAPHS = {
    "the client left before any output": (
        Told().around(Kind.CLIENT_GONE)(Kind.CANCEL, after=0.0, by="client_gone"),
        Outcome.OPEN,
        (
            "The client left at once, while the turn ran, so there was nobody to answer. "
            "Nothing had come from the agent yet. "
            "No fault of the agent's or the model provider's is recorded; whether the client was "
            "closed or crashed is not seen from here. "
            "Sending the prompt again is safe: nothing had happened yet. "
            "Open the session again to continue."
        ),
    ),
    "the connection was lost in the middle of the answer": (
        Told()
        .text()
        .fails(
            ErrorType.NETWORK,
            **lost(reason="truncated_stream", phase="mid_output", action="continue"),
            retry_safety="offer_continue",
        ),
        Outcome.FAILED,
        (
            "The turn failed after 2.0 seconds. The model provider's answer was cut off. "
            "That was in the middle of the answer. "
            "Until then text had been shown, and no tool had been used. "
            "The agent ended the turn with this error. "
            "The fault is the network's, between the agent and the model provider. "
            f"{REPEATS} "
            "Ask the agent to continue."
        ),
    ),
    "the text was the failure itself": (
        Told()
        .text()
        .fails(
            ErrorType.NETWORK, **lost(phase="before_output", retry_safety="auto", action="retry")
        ),
        Outcome.FAILED,
        (
            "The turn failed after 2.0 seconds. The connection to the model provider failed. "
            "That was before any answer: only the failure had been shown, in words. "
            "The agent ended the turn with this error. "
            "The fault is the network's, between the agent and the model provider. "
            "Sending the prompt again is safe: no answer and no tool call had come. "
            "Try again."
        ),
    ),
    "the user cancelled": (
        ends(Told().text()(Kind.CANCEL, by="user")),
        Outcome.CANCELLED,
        (
            "The user cancelled the turn, and it ended after 3.0 seconds. "
            "That was in the middle of the answer. "
            "Until then text had been shown, and no tool had been used. "
            "No failure is recorded. "
            f"{REPEATS}"
        ),
    ),
}


@pytest.mark.parametrize(("told", "outcome", "text"), PARAGRAPHS.values(), ids=PARAGRAPHS)
def test_a_turn_is_told_in_one_paragraph(told: Told, outcome: Outcome, text: str) -> None:
    summary = told.summary
    assert summary.text == text
    assert (summary.outcome, summary.confidence) == (outcome, Confidence.CERTAIN)
    assert text.endswith(summary.action)
    assert bool(summary.action) == (outcome is not Outcome.CANCELLED)


def after_tool(kind: str) -> Told:
    facts = lost(phase="after_tool", retry_safety="ask", action="confirm_retry")
    return Told().text().tool(kind).fails(ErrorType.NETWORK, **facts)


def unavailable(**facts: Any) -> Told:
    return Told().fails(ErrorType.PROVIDER_UNAVAILABLE, **facts)


def stopped(reason: str) -> Told:
    """What the watchdog has ended after a quarter of an hour."""
    told = Told()(Kind.CANCEL, after=900.0, by="watchdog", reason=reason)
    return told.fails(ErrorType.AGENT_STALLED, reason=reason, phase="before_output", origin="agent")


def unconfirmed(*around: Kind) -> Told:
    """The user has cancelled, and lastword answers."""
    told = Told().text()(Kind.CANCEL, by="user")
    for kind in around:
        told.around(kind)
    return ends(told, "lastword")


WATCHDOG = ("The turn failed after 16 minutes.", "lastword's watchdog stopped the turn: ")
CRASHED = (
    Told()
    .text()
    .tool(ends=False)
    .around(Kind.AGENT_EXITED, exit_signal="SIGKILL", reason="killed", open_turns=1)
    .fails(ErrorType.AGENT_CRASH, reason="killed", phase="tool_running", retry_safety="ask")
)
SAID: list[Any] = [
    (stopped("first_update_timeout"), *WATCHDOG, "nothing came within the limit"),
    (
        stopped("idle_timeout"),
        *WATCHDOG,
        "the agent was silent for longer than the limit",
        "its silence does not say which",
    ),
    (
        stopped("tool_timeout"),
        *WATCHDOG,
        "a tool took longer than the limit",
        "The fault is the tool's",
    ),
    (
        stopped("turn_timeout"),
        *WATCHDOG,
        "the turn took longer than the limit",
        "It may be nobody's fault",
    ),
    (
        stopped("runaway"),
        *WATCHDOG,
        "the agent repeated the same step",
        "The fault is the agent's, or its model's.",
    ),
    (stopped("stderr_limit"), *WATCHDOG, "the agent's error output was over the limit"),
    (
        after_tool("edit"),
        "1 tool call (edit), which may have changed something.",
        "That was after a tool had run, between two steps of the agent.",
        "Check what has already been done before you try again.",
    ),
    (after_tool("read"), "repeats the tool calls; the recorded ones only read data."),
    (
        Told()
        .tool("read")(Kind.TOOL_STARTED, call="d", tool="search")(
            Kind.TOOL_ENDED, call="d", status="failed"
        )
        .fails(ErrorType.NETWORK),
        "2 tool calls (read, search, 1 failed), which only read.",
    ),
    (
        CRASHED,
        "A tool was running (execute).",
        "The agent's process ended (killed by SIGKILL), and lastword answered for it.",
    ),
    (
        ends(waits(2)(Kind.CANCEL, after=5, by="user")),
        "yet. The agent was waiting 20 seconds to try the model call again. No",
    ),
    (
        ends(waits(2, 3)(Kind.CANCEL, after=5, by="user")),
        "tried again once, with waits of 20 seconds in all. The agent was waiting 20",
    ),
    (
        ends(waits(2)(Kind.CANCEL, after=25, by="user")),
        "yet. The model call was tried again once, with waits of 20 seconds in all. No",
    ),
    (
        waits(2, 3)(Kind.RETRY, after=20, attempt=4, wait_seconds=3600, type="rate_limit").fails(
            ErrorType.RATE_LIMIT, retryable=True, retry_after_seconds=30, http_status=429
        ),
        "The model call was tried again 3 times, with waits of 41 seconds",  # in the third it ends
        "Try again no sooner than 30 seconds after the failure.",
    ),
    (
        Told().around(Kind.SHUTDOWN, signal="SIGTERM").around(Kind.CLIENT_GONE),
        "lastword was told to stop (SIGTERM)",
    ),
    (
        ends(Told().around(Kind.SHUTDOWN, signal="SIGTERM"), None),
        "lastword was told to stop, and the turn was cancelled",
    ),
    (unavailable(phase="startup"), "while the agent was starting"),
    (unavailable(phase="before_request"), "lastword answered for the agent."),
    (unavailable(by="agent"), "The agent itself reported this to the client."),
    (unavailable(reason="silent_success"), "The agent called it a success"),
    (unavailable(origin="client"), "The fault is the client's."),
    (unavailable(retry_safety="auto"), "Sending the prompt again is safe"),
    (unavailable(action="login"), "Log in again or check the API key."),
    (Told().fails(ErrorType.TIMEOUT), "Nothing had come from the agent yet."),
    (
        Told()(Kind.FIRST_PROGRESS).fails(ErrorType.TIMEOUT, retry_safety="auto"),
        "The agent had begun; no text and no tool call had come yet.",
        "is safe: no text and no tool call had come.",
    ),
    (
        Told()(Kind.ASKED, what="permission").fails(ErrorType.NETWORK),
        "A question to the user was open.",
    ),
    (
        ends(Told()(Kind.CANCEL, by="client_gone"), None),
        "The client left, and the turn was cancelled after 2.0 seconds.",
    ),
    (
        ends(Told()(Kind.CANCEL, by="agent"), None),
        "The agent ended the turn as cancelled after 2.0 seconds.",
    ),
    (unconfirmed(), "The agent did not confirm that; lastword answered for it."),
    (
        unconfirmed(Kind.AGENT_EXITED),
        "The agent's process ended before it had confirmed that; lastword",
    ),
    (unconfirmed(Kind.CLIENT_GONE), "The client had gone: nobody got an answer."),
    (
        ends(Told().tool("edit")(Kind.CANCEL, by="user"), None),
        "may do twice what a tool has done",
        "Look at what has been done before you send the prompt again.",
    ),
    (
        ends(Told().tool("edit").around(Kind.CLIENT_GONE), None),
        "Open the session again and look at what has been done.",
    ),
    (
        ends(Told()(Kind.DELEGATED, what="file")(Kind.CANCEL, by="user")),
        "Until then the client was asked to write a file or run a command, once.",
    ),
    (
        Told()(Kind.DELEGATED, what="file")(Kind.DELEGATED, what="command").fails(
            ErrorType.NETWORK
        ),
        "command, 2 times.",
    ),
    (Told().text(), "it still runs, or lastword was killed"),
    (Told(), "Nothing after its start is known."),
]


@pytest.mark.parametrize("said", SAID, ids=[said[-1] for said in SAID])
def test_what_is_known_of_a_turn_is_put_into_words(said: tuple[Any, ...]) -> None:
    told, *words = said
    for each in words:
        assert each in told.summary.text


def test_what_did_not_happen_is_not_told() -> None:
    assert summarise([]).text == "No turn is recorded here."
    answered = Told()(Kind.ASKED, what="permission")(Kind.USER_ANSWERED, outcome="allow_once")
    assert "question" not in answered.fails(ErrorType.NETWORK).summary.text
    assert "twice" not in after_tool("read").summary.text
    delegated = ends(Told()(Kind.DELEGATED, what="file")(Kind.CANCEL, by="user"))
    assert "safe: nothing" not in delegated.summary.text
    odd = Told()(Kind.SILENCE, silent_seconds="long")(Kind.STDERR, bytes=True)
    assert odd.summary.outcome is Outcome.OPEN
    late = Told().fails(ErrorType.AUTH)(Kind.ANSWER, stop_reason="end_turn")
    assert late.summary.outcome is Outcome.FAILED


NETWORK = ErrorType.NETWORK
SURE = [
    (Told().fails(ErrorType.UNKNOWN), Confidence.UNCLEAR,
     ("the error's own words (recorded with --record-text)",)),
    (Told().fails(NETWORK, rule="text:econnreset"), Confidence.LIKELY, ()),
    (stopped("idle_timeout"), Confidence.LIKELY, ()),
    (stopped("tool_timeout"), Confidence.CERTAIN, ()),
    (Told()(Kind.ERROR, type="weather"), Confidence.UNCLEAR,  # a later version's
     ("the error's own words (recorded with --record-text)",)),
    (Told().text(), Confidence.UNCLEAR, ("how it ended",)),
    (Told().fails(ErrorType.RATE_LIMIT, origin="provider"), Confidence.CERTAIN,
     ("the provider's HTTP status",)),
    (Told().around(Kind.AGENT_EXITED).fails(ErrorType.AGENT_CRASH), Confidence.CERTAIN,
     ("the agent's exit status",)),
    (Told()(Kind.OMITTED, count=88).fails(NETWORK), Confidence.CERTAIN,
     ("88 entries that were over the bound of a turn",)),
]  # fmt: skip


@every(("told", "confidence", "missing"), SURE)
def test_what_is_unclear_is_called_so_with_what_would_help(
    told: Told, confidence: Confidence, missing: tuple[str, ...]
) -> None:
    assert told.summary.confidence is confidence
    assert told.summary.missing == missing


@pytest.mark.parametrize(
    ("exit_facts", "shown"),
    [
        ({"exit_code": 3}, "exit status 3"),
        ({"exit_signal": "SIGKILL"}, "killed by SIGKILL"),
        ({"reason": "closed_stdout"}, "closed stdout"),
        ({}, "its exit status is unknown"),
    ],
)
def test_an_exit_is_described_as_far_as_it_is_known(exit_facts: dict[str, Any], shown: str) -> None:
    told = Told().around(Kind.AGENT_EXITED, **exit_facts)
    assert told.summary.text.startswith("The agent's process ended at once, and nothing")
    assert ("Agent's exit", shown) in told.fails(ErrorType.AGENT_CRASH).summary.facts
    # It counts for the turns that were open at the time alone.
    over = Told().fails(ErrorType.AUTH).around(Kind.AGENT_EXITED, **exit_facts)
    assert histories(over.entries)[0].exited is None


def test_incidental_events_are_listed_in_the_facts() -> None:
    told = Told()(Kind.STDERR, bytes=700)(Kind.SILENCE, silent_seconds=45)(Kind.CANCEL, by="user")
    for _ in range(2):
        told(Kind.FRAME_DROPPED, reason="not_json")
    facts = dict(told.fails(ErrorType.NETWORK).summary.facts)
    assert facts["Error output"] == "700 bytes"
    assert facts["Longest silence noticed"] == "45 seconds"
    assert facts["Ended early by"] == "the user"
    assert facts["Messages withheld"] == "2 (not json)"
    assert "First output after" not in facts


def test_a_question_counts_as_output_as_soon_as_it_is_asked() -> None:
    told = Told()(Kind.ASKED, after=2.0, what="permission")(Kind.USER_ANSWERED, after=102.0)
    told(Kind.ASKED, after=1.0, what="permission")(Kind.FIRST_OUTPUT, after=1.0)
    soon = Told()(Kind.FIRST_OUTPUT, after=0.02)
    for each, seconds in ((told, "2.0 seconds"), (soon, "20 ms")):
        facts = dict(each.fails(ErrorType.NETWORK).summary.facts)
        assert facts["First output after"] == seconds


def test_the_summary_describes_the_last_turn_that_failed() -> None:
    first = Told().fails(ErrorType.AUTH)
    healthy = [
        Entry(kind=kind, at_seconds=at, session_id=SESSION, turn=2, facts=facts)
        for kind, at, facts in (
            (Kind.PROMPT, 200.0, {}),
            (Kind.ANSWER, 201.0, {"stop_reason": "end_turn"}),
        )
    ]
    assert dict(summarise([*first.entries, *healthy]).facts)["Failure"] == "login refused"
    assert summarise(healthy).text == "The turn ended well after 1.0 seconds."


@every("error_type", sorted(set(ErrorType) - {ErrorType.CANCELLED}))
def test_every_type_is_described_in_whole_sentences(error_type: ErrorType) -> None:
    text = Told().fails(error_type, retry_safety="never").summary.text
    assert text.endswith(".")
    assert "None" not in text


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
    assert "nobody got" not in told.text


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
