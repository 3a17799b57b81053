"""A turn in one paragraph: what failed and where, who was at fault, who ended it, retry safety.

Owns the sentences. They are based on entries alone: they state what was recorded, and name what is
missing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure.members import MEMBERS
from lastword.core.failure.phrases import counted, plain, plain_duration, times
from lastword.core.failure.sentences import (
    CANCELLED_BY,
    PHASES,
    SAFETY,
    STALL_FAULTS,
    TYPES,
    advice_of,
    exit_words,
    retry_words,
    type_of,
    what_of,
    whose_fault,
)
from lastword.core.failure.taxonomy import DEFAULTS, ErrorType, Origin, Phase, RetrySafety
from lastword.core.protocol.acp import number_of
from lastword.core.timeline.entry import By, ended_by_cancel
from lastword.core.timeline.session_events import PHRASES, TurnHistory, histories

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lastword.core.timeline.entry import Entry


class Outcome(StrEnum):
    """The outcome of a turn."""

    OK = "ok"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OPEN = "open"
    """No end is recorded."""


class Confidence(StrEnum):
    """The certainty of the cause."""

    CERTAIN = "certain"
    LIKELY = "likely"
    UNCLEAR = "unclear"


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A turn in one paragraph, for a person.

    Attributes:
        outcome: how it ended.
        text: one paragraph of plain sentences.
        facts: labels and values, for a list next to the text.
        action: what to do, as a sentence; empty if there is nothing to do.
        confidence: how well the cause is known.
        missing: unrecorded information that would say more, each item a short phrase.
    """

    outcome: Outcome
    text: str
    facts: tuple[tuple[str, str], ...] = ()
    action: str = ""
    confidence: Confidence = Confidence.CERTAIN
    missing: tuple[str, ...] = ()


_HOLDER_ENDED = "The gateway that held the session ended"

_WEAK_RULES = ("text:", "concept:", "weak:", "prose:")
"""Rules that read words rather than codes."""

AT_ONCE_SECONDS = 0.1
_SHORT_SECONDS = 10


def summarise(entries: Iterable[Entry]) -> Summary:
    """Summarise the turn that matters most in these entries: the last that did not end well.

    Args:
        entries: of one session or one turn, in the order in which they were recorded.
    """
    turns = histories(entries)
    if not turns:
        return Summary(outcome=Outcome.OK, text="No turn is recorded here.")
    bad = [story for story in turns if outcome_of(story) is not Outcome.OK]
    return summary_of((bad or turns)[-1])


def outcome_of(story: TurnHistory) -> Outcome:
    if story.error is not None:
        return Outcome.FAILED
    if story.answer is None:
        return Outcome.OPEN
    return Outcome.CANCELLED if ended_by_cancel(story.answer) else Outcome.OK


def summary_of(story: TurnHistory) -> Summary:
    outcome = outcome_of(story)
    parts = [_how_it_ended(story, outcome), _where(story, outcome), *_before(story, outcome)]
    action = ""
    if outcome is Outcome.FAILED:
        error = story.error or {}
        safety = str(error.get("retry_safety"))
        parts += [_who_ended(story), fault_of(error), _safety(story, safety)]
        action = advice_of(error)
    elif outcome is not Outcome.OK:
        sentences, action = _without_error(story)
        parts += sentences
    parts.append(action)
    return Summary(
        outcome=outcome,
        text=" ".join(part for part in parts if part),
        facts=tuple(_facts(story, outcome)),
        action=action,
        confidence=_confidence(story, outcome),
        missing=_missing(story, outcome),
    )


def _how_it_ended(story: TurnHistory, outcome: Outcome) -> str:
    after = f"after {_duration(story.seconds)}" if story.seconds >= AT_ONCE_SECONDS else "at once"
    if outcome is Outcome.OK:
        return f"The turn ended well {after}."
    if outcome is Outcome.FAILED:
        error = story.error or {}
        reason, origin = str(error.get("reason")), str(error.get("origin"))
        return f"The turn failed {after}. {what_of(type_of(error), reason, origin)}"
    if outcome is Outcome.CANCELLED:
        if story.was_cancelled_by(By.USER):
            return f"The user cancelled the turn, and it ended {after}."
        if story.shutdown is not None:
            return f"lastword was told to stop, and the turn was cancelled {after}."
        if _client_left(story):
            who = _HOLDER_ENDED if story.in_gateway else "The client left"
            return f"{who}, and the turn was cancelled {after}."
        return f"The agent ended the turn as cancelled {after}."
    if story.shutdown is not None:
        return f"lastword was told to stop ({story.shutdown}) {after}, while the turn ran."
    if _client_left(story):
        if story.in_gateway:
            return f"{_HOLDER_ENDED} {after}, while the turn ran."
        return f"The client left {after}, while the turn ran, so there was nobody to answer."
    if story.exited is not None:
        return f"The agent's process ended {after}, and nothing is recorded after that."
    rest = f"What is known of it ends {after}."
    if story.seconds < AT_ONCE_SECONDS:
        rest = "Nothing after its start is known."
    return f"No end of the turn is recorded: it still runs, or lastword was killed. {rest}"


def _where(story: TurnHistory, outcome: Outcome) -> str:
    if outcome is Outcome.OK:
        return ""
    phase = str((story.error or {}).get("phase", ""))
    if phase in {Phase.STARTUP, Phase.BEFORE_REQUEST}:
        return f"That was {PHASES[phase]}."
    if story.open_tools:
        return f"A tool was running ({_listed(list(story.open_tools.values()))})."
    if story.waits_for_user:
        return "A question to the user was open."
    if story.tools or phase == "after_tool":
        return "That was after a tool had run, between two steps of the agent."
    if _shown_is_no_answer(story):
        return "That was before any answer: only the failure had been shown, in words."
    if story.output_at is not None:
        return "That was in the middle of the answer."
    if story.progress_at is not None:
        return "The agent had begun; no text and no tool call had come yet."
    return "Nothing had come from the agent yet."


def _before(story: TurnHistory, outcome: Outcome) -> list[str]:
    """Return what had happened before, with the retries of the model call."""
    parts = []
    until = "In it" if outcome is Outcome.OK else "Until then"
    if story.tools:
        what = counted(len(story.tools), "tool call")
        effect = "may have changed something" if story.unsafe_tools else "only read"
        failed = f", {story.failed_tools} failed" if story.failed_tools else ""
        parts.append(f"{until}: {what} ({_listed(story.tools)}{failed}), which {effect}.")
    elif story.delegated:
        how_often = times(story.delegated)
        parts.append(f"{until} the client was asked to write a file or run a command, {how_often}.")
    elif _shown_is_no_answer(story):
        pass  # `_where` says so
    elif story.output_at is not None and outcome is not Outcome.OK:
        parts.append("Until then text had been shown, and no tool had been used.")
    waits = story.waits
    waiting = ""
    cancel = story.was_cancelled_by(By.USER)
    announced = number_of(story.retries[-1].get("wait_seconds")) if waits else 0.0
    if waits and cancel is not None and cancel.at_seconds < story.retried_at[-1] + announced:
        waits.pop()
        waiting = f"The agent was waiting {_duration(announced)} to try the model call again."
    if waits:
        waited = f", with waits of {_duration(sum(waits))} in all" if any(waits) else ""
        parts.append(f"The model call was tried again {times(len(waits))}{waited}.")
    return [*parts, waiting]


def _who_ended(story: TurnHistory) -> str:
    error = story.error or {}
    stopped = story.was_cancelled_by(By.WATCHDOG)
    if stopped is not None:
        why = PHRASES["limits"].get(str(stopped.reason))
        stop = f"lastword's watchdog stopped the turn: {why}."
        return stop if why else "lastword stopped the turn."
    if story.exited is not None:
        return f"The agent's process ended ({_exit(story.exited)}), and lastword answered for it."
    if error.get("by") == By.AGENT.value:
        return "The agent itself reported this to the client."
    if str(error.get("reason")) == "silent_success":
        return "The agent called it a success; lastword did not let that pass."
    if error.get("phase") == "before_request":
        return "lastword answered for the agent."
    return "The agent ended the turn with this error."


def fault_of(error: Mapping[str, object]) -> str:
    """Return a sentence about the origin of a failure; empty if it is unknown."""
    if type_of(error) is ErrorType.AGENT_STALLED:
        # A stalled agent can only be observed from outside.
        silent = (
            "The fault is the agent's, or lies in what it waited for, such as the model provider: "
            "its silence does not say which."
        )
        return STALL_FAULTS.get(str(error.get("reason")), silent)
    if type_of(error) is ErrorType.UNKNOWN and error.get("reason") is None:
        return ""  # an unrecognised failure is blamed on nobody
    if error.get("reason") == "spend_limit":
        return ""
    whose = whose_fault({"origin": DEFAULTS[type_of(error)].origin, **error})
    return f"The fault is {whose}." if whose else ""


def _safety(story: TurnHistory, safety: str) -> str:
    if safety == RetrySafety.ASK and story.tools and not story.unsafe_tools:
        # The agent may also have written a file through the client, which is not a tool call.
        return "Sending the prompt again repeats the tool calls; the recorded ones only read data."
    if safety == RetrySafety.AUTO and story.progress_at is not None:
        what = "answer" if _shown_is_no_answer(story) else "text"
        return f"Sending the prompt again is safe: no {what} and no tool call had come."
    if safety == RetrySafety.NEVER and not retry_words(story.error or {}).startswith("no,"):
        return ""  # it may help, at another time or for all that is known
    return SAFETY.get(safety, "")


def _shown_is_no_answer(story: TurnHistory) -> bool:
    """Return whether text came before a failure without output: the error or a retry in words."""
    return story.output_at is not None and (story.error or {}).get("phase") == Phase.BEFORE_OUTPUT


def _without_error(story: TurnHistory) -> tuple[list[str], str]:
    """Return the sentences on a turn that was cancelled or left open, and what to do about it."""
    left = _client_left(story)
    who_answered = fault = action = ""
    is_ours = (story.answer or {}).get("by") == By.LASTWORD.value
    if is_ours and left:
        who_answered = "" if story.in_gateway else "The client had gone: nobody got an answer."
    elif is_ours and story.exited is not None:
        who_answered = (
            "The agent's process ended before it had confirmed that; lastword answered for it."
        )
    elif is_ours:
        who_answered = "The agent did not confirm that; lastword answered for it."
    if story.was_cancelled_by(By.USER) or story.shutdown is not None:
        fault = "No failure is recorded."
    elif left:
        fault = "No fault of the agent's or the model provider's is recorded; whether " + (
            "it was stopped or killed is described where the session was resumed."
            if story.in_gateway
            else "the client was closed or crashed is not seen from here."
        )
    if story.acted:
        safety = RetrySafety.ASK
    else:
        safety = RetrySafety.AUTO if story.output_at is None else RetrySafety.OFFER_CONTINUE
    if story.ended_at is not None and not left:
        if story.unsafe_tools:
            action = "Look at what has been done before you send the prompt again."
    elif story.acted:
        action = "Open the session again and look at what has been done."
    elif left:
        action = "Open the session again to continue."
    return [who_answered, fault, _safety(story, safety)], action


def _client_left(story: TurnHistory) -> bool:
    """Return whether the client left while the turn ran."""
    return story.client_gone_at is not None or story.was_cancelled_by(By.CLIENT_GONE) is not None


def _confidence(story: TurnHistory, outcome: Outcome) -> Confidence:
    if outcome is Outcome.OPEN:
        is_certain = _client_left(story) or story.shutdown is not None
        return Confidence.CERTAIN if is_certain else Confidence.UNCLEAR
    if outcome is not Outcome.FAILED or story.error is None:
        return Confidence.CERTAIN
    error_type = type_of(story.error)
    if error_type is ErrorType.UNKNOWN:
        return Confidence.UNCLEAR
    if error_type is ErrorType.AGENT_STALLED and story.error.get("reason") not in STALL_FAULTS:
        return Confidence.LIKELY
    rule = str(story.error.get("rule", ""))
    return Confidence.LIKELY if rule.startswith(_WEAK_RULES) else Confidence.CERTAIN


def _missing(story: TurnHistory, outcome: Outcome) -> tuple[str, ...]:
    missing = []
    if story.omitted:
        missing.append(f"{story.omitted} entries that were over the bound of a turn")
    if outcome is Outcome.OPEN and story.client_gone_at is None:
        missing.append("how it ended")
    error = story.error
    if error is not None:
        unknown = type_of(error) is ErrorType.UNKNOWN
        if unknown and not {"message", "detail"} & error.keys():
            missing.append("the error's own words (recorded with --record-text)")
        provider = error.get("origin") == Origin.PROVIDER.value
        if provider and "http_status" not in error:
            missing.append("the provider's HTTP status")
        crashed = type_of(error) is ErrorType.AGENT_CRASH and story.exited is not None
        if crashed and not {"exit_code", "exit_signal"} & (story.exited or {}).keys():
            missing.append("the agent's exit status")
    return tuple(missing)


_QUOTED = tuple((member.name, member.label) for member in MEMBERS if member.label)

QUOTED = frozenset(label for _, label in _QUOTED)
"""Labels of values that may quote somebody else."""


def _facts(story: TurnHistory, outcome: Outcome) -> list[tuple[str, str]]:
    ended = "no end recorded" if outcome is Outcome.OPEN else outcome.value
    facts = [("Outcome", ended), ("Took", _duration(story.seconds))]
    shown = [at for at in (story.output_at, story.question_at) if at is not None]
    if shown:
        facts.append(("First output after", _duration(min(shown) - story.started_at)))
    error = story.error or {}
    if error:
        facts.append(("Failure", plain(type_of(error), TYPES)))
    if error.get("phase"):
        facts.append(("When", plain(error["phase"], PHASES)))
    if error.get("origin"):
        facts.append(("Fault", whose_fault(error) or plain(error["origin"])))
    retry = retry_words(error)
    if retry:
        facts.append(("Retry", retry))
    for key, label in _QUOTED:
        value = error.get(key)
        if value is not None:
            facts.append((label, plain(value) if label == "More exactly" else str(value)))
    if story.exited is not None:
        facts.append(("Agent's exit", _exit(story.exited)))
    if story.tools:
        facts.append(("Tool calls", f"{len(story.tools)} ({_listed(story.tools)})"))
    if story.retries:
        facts.append(("Retries", str(len(story.retries))))
    if story.silences:
        facts.append(("Longest silence noticed", _duration(max(story.silences))))
    if story.cancels:
        by = [plain(cancel.by, CANCELLED_BY) for cancel in story.cancels]
        facts.append(("Ended early by", _listed(by)))
    if story.dropped:
        dropped = [f"{count} ({plain(reason)})" for reason, count in sorted(story.dropped.items())]
        facts.append(("Messages withheld", ", ".join(dropped)))
    if story.stderr_bytes:
        facts.append(("Error output", counted(story.stderr_bytes, "byte")))
    return facts


def _exit(facts: dict[str, object]) -> str:
    if facts.get("exit_signal"):
        return f"killed by {facts['exit_signal']}"
    reason = facts.get("reason")
    return exit_words(facts) or (plain(reason) if reason else "its exit status is unknown")


def _listed(words: list[str]) -> str:
    """Return words with their counts, in order of first appearance."""
    counts: dict[str, int] = {}
    for word in words:
        name = word or "of unknown kind"
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(word if count == 1 else f"{count} {word}" for word, count in counts.items())


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))} ms"
    if seconds < _SHORT_SECONDS:
        return f"{seconds:.1f} seconds"
    return plain_duration(round(seconds))
