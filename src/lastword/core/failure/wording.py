"""The error that people and clients see, composed from a verdict: text, action, redacted detail.

Owns how a sentence that appears in a client is put together; `sentences` has its words. It is
plain text without markup, of at most 500 characters, and ends with what to do. Some phrases never
appear, whatever their source, because a client in the field reads a meaning into them
(`sentences.MISREAD`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lastword.core.failure.phrases import attempt_words, plain_duration, plain_moment
from lastword.core.failure.sentences import (
    ACTION_BY_REASON,
    ADVICE,
    ADVICE_BY_REASON,
    ADVICE_OF_UNKNOWN,
    MISREAD,
    RESTARTED_ADVICE,
    WHAT_BY_REASON,
    what_of,
)
from lastword.core.failure.signs import (
    innermost,
    stated_reset,
    without_empty_lead,
    without_retry_advice,
)
from lastword.core.failure.taxonomy import (
    DEFAULTS,
    LIMITS,
    MAX_DETAIL_BYTES,
    MAX_MESSAGE_CHARS,
    MAX_TEXT_CHARS,
    Action,
    AgentError,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
    safety_of,
)
from lastword.core.redact.printable import without_sequences
from lastword.core.redact.redactor import redact_text
from lastword.core.redact.truncate import ends_to_bytes, informative_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from lastword.core.classify.evidence import Verdict
    from lastword.core.failure.taxonomy import TurnFacts

MAX_QUOTE_CHARS = 200
_MAX_ID_CHARS = 128

_SILENT = WHAT_BY_REASON[ErrorType.UNKNOWN]["silent_success"]

_AFTER_OUTPUT = (Phase.MID_OUTPUT, Phase.TOOL_RUNNING, Phase.AFTER_TOOL)

STARTED_AGAIN = "The agent is started again with your next prompt."
_INSTEAD_OF_RETRY: dict[ErrorType, Action] = {
    ErrorType.RATE_LIMIT: Action.SWITCH_MODEL,
    ErrorType.PROVIDER_UNAVAILABLE: Action.SWITCH_MODEL,
    ErrorType.TIMEOUT: Action.FIX_CONFIGURATION,
    ErrorType.NETWORK: Action.FIX_CONFIGURATION,
}
"""What helps if the usual retry does not, and it is unknown when one would."""
_CHANGES = frozenset({
    Action.LOGIN,
    Action.TOP_UP,
    Action.SWITCH_MODEL,
    Action.SHORTEN,
    Action.REPHRASE,
    Action.FIX_CONFIGURATION,
})  # fmt: skip
"""Actions that change something of the user's, unlike a wait or a retry."""

_GUESSED = frozenset({"concept"})
"""The kind of rule that infers a meaning from words outside the tables."""

_INFERRED = _GUESSED | {"text"}
"""These, and sentences so common that they count only if nothing else is left."""

_NEEDS_RESTART = (ErrorType.AGENT_CRASH,)
"""Failures after which only a new process can answer: the old one can no longer be reached."""

_QUOTED_TYPES = (
    ErrorType.UNKNOWN,
    ErrorType.INTERNAL,
    ErrorType.INVALID_REQUEST,
    ErrorType.AGENT_CRASH,
)
_MARKUP = re.compile(r"[\x00-\x1f\x7f`*<>{}\\|\u2028\u2029]+")
_EMPTY_TEXTS = ("", "internal error", "error", "unknown error", "null", "none")
_PREFIX = re.compile(r"^(?:internal error|error)\s?:\s?", re.IGNORECASE)
_MISREAD = re.compile("|".join(map(re.escape, MISREAD)), re.IGNORECASE)


def compose(  # noqa: PLR0913 - six options is our own limit
    verdict: Verdict,
    *,
    phase: Phase | None,
    retry_safety: RetrySafety | None,
    attempts: int | None = None,
    incident_id: str | None = None,
    redact: Callable[[str], str] = redact_text,
    now: datetime | None = None,
    restarts: bool = False,
) -> AgentError:
    """Return the error for a verdict, ready to be sent.

    Args:
        verdict: What was concluded.
        phase: How far the turn had come.
        retry_safety: Whether a retry would do harm.
        attempts: The number of times that the model call was tried, if known.
        incident_id: The name of the record in the timeline.
        redact: Removes secrets from a text; every text of the evidence goes through it.
        now: The reader's local time, with its zone. Without it, a reset is given as a date in UTC,
            since the core knows neither clock nor zone.
        restarts: The next request will reach a working agent, by whatever means.
    """
    text = without_forbidden(without_sequences(redact(verdict.detail or "")))
    action = choose_action(verdict, retry_safety, restarts=restarts)
    advice = _advice(verdict, action, now, text)
    if restarts and verdict.type is ErrorType.AGENT_CRASH:
        reason = verdict.reason or ""
        if reason in RESTARTED_ADVICE:
            advice = f"{STARTED_AGAIN} {RESTARTED_ADVICE[reason]}"
        elif reason not in ADVICE_BY_REASON:
            # What such a reason advises has to be done first: the agent would crash again.
            advice = f"{advice} {STARTED_AGAIN}"
    return AgentError(
        type=verdict.type,
        message=_message(verdict, advice, attempts, text, has_output=phase in _AFTER_OUTPUT),
        detail={"text": ends_to_bytes(text, MAX_DETAIL_BYTES - 64)} if text.strip() else None,
        retryable=verdict.retryable,
        retry_after_seconds=verdict.retry_after_seconds,
        reset_at_epoch_ms=verdict.reset_at_epoch_ms,
        source=_identifier(verdict.source, redact),
        reason=verdict.reason and verdict.reason[:MAX_TEXT_CHARS],
        origin=verdict.origin or DEFAULTS[verdict.type].origin,
        phase=phase,
        retry_safety=retry_safety,
        action=action,
        http_status=verdict.http_status,
        provider_code=_identifier(verdict.provider_code, redact),
        request_id=_identifier(verdict.request_id, redact),
        attempts=attempts,
        exit_code=verdict.exit_code,
        exit_signal=verdict.exit_signal,
        incident_id=incident_id,
    )


def compose_from_facts(
    verdict: Verdict,
    facts: TurnFacts | None,
    *,
    redact: Callable[[str], str] = redact_text,
    now: datetime | None = None,
) -> AgentError:
    """Return the error for a verdict when only these facts are known of the turn.

    Args:
        verdict: What was concluded.
        facts: What had happened in the turn; without them, a retry is never safe by itself.
        redact: As for `compose`.
        now: As for `compose`.
    """
    return compose(
        verdict,
        phase=facts.phase if facts else None,
        retry_safety=safety_of(facts, retryable=verdict.retryable),
        redact=redact,
        now=now,
    )


def choose_action(
    verdict: Verdict, retry_safety: RetrySafety | None, *, restarts: bool = False
) -> Action:
    """Return what the person can do: the type's own action, unless a retry needs care first.

    A login, a payment or a change of the configuration is advised only where the failure says so
    in words that have no other meaning.
    """
    kind = verdict.type
    if verdict.action is not None:
        return verdict.action
    if verdict.retryable and (restarts or kind not in _NEEDS_RESTART):
        if retry_safety is RetrySafety.ASK:
            return Action.CONFIRM_RETRY
        if retry_safety is RetrySafety.OFFER_CONTINUE:
            return Action.CONTINUE
        if restarts and DEFAULTS[kind].action is Action.RESTART:
            return Action.RETRY
    action = ACTION_BY_REASON.get(verdict.reason or "")
    if action is None and not verdict.retryable and not _when(verdict, None):
        action = _INSTEAD_OF_RETRY.get(kind)
    action = action or DEFAULTS[kind].action
    blamed = kind in {ErrorType.AUTH, ErrorType.INVALID_REQUEST}
    inferred = _kinds_of(verdict.rule) & (_INFERRED if blamed else _GUESSED)
    return Action.REPORT if action in _CHANGES and inferred else action


def _kinds_of(rule: str) -> frozenset[str]:
    """Return the kind of a rule, and where it was read: `stderr:concept:key + invalid`."""
    return frozenset(rule.split(":")[:2])


def usual_action(
    error_type: ErrorType, retry_safety: RetrySafety | None, *, retryable: bool
) -> Action:
    """Return what a person can do about a failure that came without an action."""
    usual = DEFAULTS[error_type].action
    if not retryable or usual is Action.RESTART:
        return usual
    if retry_safety is RetrySafety.OFFER_CONTINUE:
        return Action.CONTINUE
    return Action.CONFIRM_RETRY if retry_safety is RetrySafety.ASK else usual


def _message(
    verdict: Verdict, advice: str, attempts: int | None, text: str, *, has_output: bool
) -> str:
    # A guess is shown, so that the reader can judge it.
    is_quoted = verdict.type in _QUOTED_TYPES or bool(_kinds_of(verdict.rule) & _GUESSED)
    quote = ""
    if is_quoted:
        whole = without_empty_lead(text)
        part = innermost(whole)
        if part == whole and verdict.type is ErrorType.INVALID_REQUEST:
            # The body's own message comes first; an SDK's rendering of the body follows it.
            part = whole.strip().partition("\n")[0]
        elif part == whole:
            # Of a traceback, take the line that says what happened, not the frames.
            part = informative_lines(whole) or whole
        quote = quotable(part if verdict.retryable else without_retry_advice(part))
    what = what_of(verdict.type, verdict.reason, verdict.origin)
    if verdict.type is ErrorType.PROTOCOL_ERROR and verdict.origin is Origin.PROVIDER:
        what = what_of(verdict.type, "not_http")
    elif what == _SILENT and has_output:
        what = "Something failed, and the agent ended the turn as if nothing had."
    elif what == _SILENT and quote:
        what = "The agent ended the turn without an answer."
    parts = [what]
    if verdict.reason == "spend_limit" and (spent := plain_text(text or "")):
        parts.append(spent)
    if quote and verdict.reason == "spawn_failed" and verdict.exit_code is None:
        # No process ran that could have said so.
        parts = [f"{parts[0].removesuffix('.')}: {quote}."]
    elif quote:
        # Of a process that ended, only its stderr is left, and others may have written there.
        who = "On stderr" if verdict.rule.startswith("process:") else "It said"
        parts.append(f'{who}: "{quote}".')
    if attempts is not None and attempts > 1:
        parts.append(f"It was tried {min(attempts, 9999)} times.")
    parts.append(advice)
    return " ".join(parts)[:MAX_MESSAGE_CHARS]


def _advice(verdict: Verdict, action: Action, now: datetime | None, text: str) -> str:
    when = _when(verdict, now)
    if not when and verdict.type in LIMITS and (reset := stated_reset(on_one_line(text))):
        # Only the plain time is used, since the words around it may be anything.
        when = f"after {reset}"
    if action is Action.WAIT:
        return f"Try again {when}." if when else ADVICE[action]
    if action is Action.TOP_UP and when:
        return f"Add credits, switch to another model, or try again {when}."
    if action in {Action.CONTINUE, Action.CONFIRM_RETRY, Action.RETRY} and when:
        return f"{ADVICE[action].removesuffix('.')} {when}."
    if verdict.type is ErrorType.INTERNAL or verdict.action is not None:
        # An exception in a living agent: there is nothing to restart.
        return ADVICE[action]
    reason = verdict.reason or ""
    if verdict.type is ErrorType.UNKNOWN and reason in ADVICE_OF_UNKNOWN:
        return ADVICE_OF_UNKNOWN[reason]
    if action is Action.REPORT and _kinds_of(verdict.rule) & _INFERRED:
        return ADVICE[action]
    return ADVICE_BY_REASON.get(reason) or ADVICE[action]


def _when(verdict: Verdict, now: datetime | None) -> str:
    if verdict.reset_at_epoch_ms and now is not None:
        # Where both are known, the moment says more.
        moment = plain_moment(verdict.reset_at_epoch_ms, now)
        if moment:
            return moment
    if verdict.retry_after_seconds:
        return f"in {plain_duration(verdict.retry_after_seconds)}"
    if verdict.reset_at_epoch_ms:
        return plain_moment(verdict.reset_at_epoch_ms, now)
    return ""


def quotable(text: str) -> str:
    """Return a short piece of redacted evidence that may stand in a sentence, or nothing."""
    plain = _PREFIX.sub("", plain_text(text).replace('"', "'")).rstrip(".")
    if plain.lower() in _EMPTY_TEXTS:
        return ""
    if len(plain) > MAX_QUOTE_CHARS:
        return plain[: MAX_QUOTE_CHARS - 3].rstrip() + "..."
    return plain


def plain_text(text: str) -> str:
    """Return a redacted text on one line, without what clients read as markup or as a signal."""
    # This comes last, since joining lines can form the phrases.
    return without_forbidden(on_one_line(without_sequences(text)))


def on_one_line(text: str) -> str:
    """Return a text on one line, without anything that a client reads as markup."""
    # Unprintable characters may be half a character, or may reverse or move the text around them.
    visible = "".join(char if char.isprintable() else " " for char in text[:2000])
    plain = _MARKUP.sub(" ", visible)
    return " ".join(plain.replace("[", "(").replace("]", ")").split())


def without_forbidden(text: str) -> str:
    """Return the text with the phrases that clients misread reworded."""
    return _MISREAD.sub(lambda match: MISREAD[match.group().lower()], text)


def _identifier(value: str | None, redact: Callable[[str], str]) -> str | None:
    """Return a code, name or id of the evidence: one line, printable, short."""
    if not value:
        return None
    plain = "".join(char for char in redact(value) if char.isprintable())
    return plain.strip()[:_MAX_ID_CHARS] or None


def of_retry(
    verdict: Verdict, *, wait_seconds: int | None, attempt: int, max_attempts: int | None
) -> str:
    """Return a sentence on what failed, and one on when the agent tries again.

    Args:
        verdict: Why the last try failed.
        wait_seconds: The wait from now, if known.
        attempt: The number of the next try; the first was 1.
        max_attempts: The most tries that there will be, if known.
    """
    when = f" in {plain_duration(wait_seconds)}" if wait_seconds else ""
    what = what_of(verdict.type, verdict.reason)
    return f"{what} The agent tries again{when} ({attempt_words(attempt, max_attempts)})."
