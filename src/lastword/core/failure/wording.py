"""The error that people and clients see, composed from a verdict: text, action, redacted detail.

Owns every sentence of ours that can appear in a client. A sentence is plain text without markup, of
at most 500 characters, and ends with what to do. Some phrases never appear, whatever their source,
because a client in the field reads a meaning into them (`FORBIDDEN`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lastword.core.failure.phrases import plain_duration, plain_moment
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
from lastword.core.redact.redactor import redact_text
from lastword.core.redact.truncate import ends_to_bytes, informative_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from lastword.core.classify.evidence import Verdict
    from lastword.core.failure.taxonomy import TurnFacts

MAX_QUOTE_CHARS = 200
_MAX_ID_CHARS = 128

FORBIDDEN = {
    "session not found": "no such session",
    "unknown session": "no such session",
    "user aborted": "stopped by the user",
    "this operation was aborted": "the operation was stopped",
    "empty response text": "a response without text",
}
"""Measured: some client drops, resends or swallows a failure whose text holds one of these."""

_UNREADABLE = "The model provider's answer could not be read."
_SILENT = "The agent ended the turn without an answer and without an error."

WHAT: dict[ErrorType, str] = {
    ErrorType.RATE_LIMIT: "The model provider is limiting requests.",
    ErrorType.BUDGET: "The account's credits or its usage limit are used up.",
    ErrorType.PROVIDER_UNAVAILABLE: "The model provider is not available at the moment.",
    ErrorType.CONTEXT_OVERFLOW: "The conversation is too long for this model.",
    ErrorType.AUTH: "The model provider refused the login or API key.",
    ErrorType.UNKNOWN: "The agent reported an error that was not recognised.",
    ErrorType.MODEL_NOT_FOUND: "This model does not exist or is not open to this account.",
    ErrorType.INVALID_REQUEST: "The request was refused as invalid.",
    ErrorType.CONTENT_FILTER: "The model provider's content policy blocked the request.",
    ErrorType.TIMEOUT: "The model provider did not answer in time.",
    ErrorType.NETWORK: "The connection to the model provider failed.",
    ErrorType.CANCELLED: "The turn was cancelled.",
    ErrorType.AGENT_CRASH: "The agent's process ended unexpectedly.",
    ErrorType.AGENT_STALLED: "The agent stopped making progress.",
    ErrorType.STDERR_OVERFLOW: "The agent flooded its error output and was stopped.",
    ErrorType.PROTOCOL_ERROR: "The agent sent an invalid message.",
    ErrorType.INTERNAL: "The agent failed because of an internal error.",
}
"""What happened, by type."""

WHAT_BY_REASON: dict[ErrorType, dict[str, str]] = {
    ErrorType.RATE_LIMIT: {
        "concurrency": "The model provider is limiting how many requests run at once.",
        "usage_window": "The plan's usage limit for this period is used up.",
    },
    ErrorType.BUDGET: {
        "credits": "The account's credits are used up.",
        "spend_cap": "The account's spending limit is reached.",
        "usage_window": "The plan's usage limit for this period is used up.",
        "daily_quota": "The daily quota is used up.",
        "monthly_quota": "The monthly quota is used up.",
        "spend_limit": "The spending limit that you set is reached.",
    },
    ErrorType.PROVIDER_UNAVAILABLE: {
        "overloaded": "The model provider is overloaded.",
        "model_loading": "The model is still being loaded.",
        "oom": "The machine that runs the model is out of memory.",
    },
    ErrorType.AUTH: {
        "login_required": "The agent asks for a login.",
        "expired": "The login or API key has expired.",
        "region": "The model provider does not serve this country or region.",
        "blocked": "A firewall in front of the model provider blocked the request.",
        "forbidden": "This account is not allowed to make the request.",
    },
    ErrorType.CONTENT_FILTER: {"refusal": "The model declined to answer."},
    ErrorType.CONTEXT_OVERFLOW: {
        "compaction_failed": "The conversation is too long and could not be compacted.",
        "conversation_limit": "The conversation has reached the agent's own limit.",
    },
    ErrorType.TIMEOUT: {
        "provider_silent": "The model provider did not answer the agent's request.",
    },
    ErrorType.NETWORK: {
        "provider_unreachable": "The agent could not connect to the model provider.",
        "certificate": "The connection failed: a TLS certificate could not be verified.",
        "tls_version": "The connection failed: the two sides have no TLS version in common.",
        "name_not_resolved": "The model provider's host name could not be found.",
        "connection_refused": "The connection to the model provider was refused.",
        "truncated_stream": "The model provider's answer was cut off.",
    },
    ErrorType.INVALID_REQUEST: {
        "bad_url": "The address of the model provider is not valid.",
        "method_not_found": "The agent does not support this request.",
        "invalid_params": "The agent refused the request's parameters.",
        "resource_not_found": "The agent does not know what the request refers to.",
    },
    ErrorType.AGENT_CRASH: {
        "oom": "The agent ran out of memory.",
        "spawn_failed": "The agent could not be started.",
        "killed": "The agent's process was killed, possibly for lack of memory.",
        "terminated": "The agent's process was stopped from outside.",
        "native_crash": "The agent's process crashed.",
        "aborted": "The agent's process aborted.",
        "premature_exit": "The agent exited before it had answered.",
        "uncaught_exception": "The agent crashed on an error of its own.",
        "panic": "The agent crashed on an error of its own.",
        "bad_arguments": "The agent did not accept its command line.",
        "crash_loop": "The agent crashed several times in a row.",
        "context_lost": "The agent was restarted and this session could not be brought back.",
        "missing_library": "The agent needs a system library that is not here.",
        "runtime_version": "The agent does not run on this version of its runtime.",
        "file_not_found": "The agent did not find a file that it needs.",
        "ended_by_lastword": "The agent was ended by lastword, since it did not stop a turn.",
        "told_to_stop": "The agent was stopped, as lastword was told to stop.",
    },
    ErrorType.AGENT_STALLED: {
        "runaway": "The agent repeated the same step without end and was stopped.",
    },
    ErrorType.PROTOCOL_ERROR: {
        "line_too_long": "The agent sent a message over the size limit.",
        "protocol_version": "The two sides speak different versions of the protocol.",
        "not_http": _UNREADABLE,
    },
    ErrorType.UNKNOWN: {
        "silent_success": _SILENT,
        "agent_cancelled": "The agent cancelled the turn by itself.",
        "tool_server": "A tool server (MCP) that the agent uses failed.",
    },
}
"""What happened, if the reason is more precise than the type."""

WHAT_OF_CLIENT: dict[str, str] = {
    "line_too_long": "The message was too long to be passed on to the agent.",
    "client_left": "The client closed its side before the agent had answered.",
}
"""What happened, if the client caused it."""

_AFTER_OUTPUT = (Phase.MID_OUTPUT, Phase.TOOL_RUNNING, Phase.AFTER_TOOL)

ADVICE: dict[Action, str] = {
    Action.WAIT: "Try again in a moment.",
    Action.RETRY: "Try again.",
    Action.CONTINUE: "Ask the agent to continue.",
    Action.CONFIRM_RETRY: "Check what has already been done before you try again.",
    Action.LOGIN: "Log in again or check the API key.",
    Action.TOP_UP: "Add credits, wait for the limit to reset, or switch to another model.",
    Action.SWITCH_MODEL: "Choose another model.",
    Action.SHORTEN: "Compact or shorten the conversation, or choose a model with more room.",
    Action.REPHRASE: "Rephrase the request.",
    Action.FIX_CONFIGURATION: "Check the agent's configuration.",
    Action.RESTART: "Start the agent again, then try again.",
    Action.REPORT: "Check the details, and report it if it happens again.",
}
"""What to do, as the last sentence."""

ADVICE_BY_REASON: dict[str, str] = {
    "certificate": "Check the proxy and the trusted certificates.",
    "tls_version": "Check the proxy and the provider's address.",
    "name_not_resolved": "Check the provider's address and your network.",
    "provider_silent": "Try again, or choose another model if it happens again.",
    "provider_unreachable": "Check the network, proxy or VPN.",
    "bad_url": "Check the provider's address in the agent's configuration.",
    "login_required": "Log in, then try again.",
    "expired": "Log in again or renew the API key.",
    "region": "Check the account's region, or switch to another model.",
    "blocked": "Check the network, proxy or VPN.",
    "forbidden": "Check the account's permissions and the API key.",
    "spawn_failed": "Check that the agent is installed and its command is right.",
    "bad_arguments": "Check the agent's command line.",
    "missing_library": "Install a build of the agent that is made for this system.",
    "runtime_version": "Install the version of Node.js or Python that the agent asks for.",
    "file_not_found": "Check the agent's installation and the paths in its configuration.",
    "crash_loop": "Check the agent's installation before you try again.",
    "context_lost": "Start a new session.",
    "uncaught_exception": "Start it anew, and report it if it happens again.",
    "panic": "Start it anew, and report it if it happens again.",
    "exit_status": "Check the details, then start it anew.",
    "runaway": "Rephrase the request, or choose another model.",
    "protocol_version": "Update the older of the two.",
    "spend_limit": "Raise --spend-limit to go on.",
}
"""What to do, if the reason is more precise than the action."""

_ADVICE_OF_UNKNOWN = {
    "silent_success": "Look at the agent's own log.",
    "tool_server": "Check that server in the agent's configuration.",
}
"""What to do, if only the reason is known."""

STARTED_AGAIN = "The agent is started again with your next prompt."
_STARTED_AND_REPORT = f"{STARTED_AGAIN} Report it if it happens again."
RESTARTED_ADVICE: dict[str, str] = {
    "uncaught_exception": _STARTED_AND_REPORT,
    "panic": _STARTED_AND_REPORT,
    "exit_status": f"{STARTED_AGAIN} Check the details if it happens again.",
}
"""What to do if a crashed agent is started again."""

_NOT_RESTARTED = (
    *("spawn_failed", "bad_arguments", "crash_loop", "context_lost"),
    *("missing_library", "runtime_version", "file_not_found"),
)

_ACTION_BY_REASON: dict[str, Action] = {
    "certificate": Action.FIX_CONFIGURATION,
    "name_not_resolved": Action.FIX_CONFIGURATION,
    "tls_version": Action.FIX_CONFIGURATION,
    "spawn_failed": Action.FIX_CONFIGURATION,
    "bad_arguments": Action.FIX_CONFIGURATION,
    "missing_library": Action.FIX_CONFIGURATION,
    "runtime_version": Action.FIX_CONFIGURATION,
    "file_not_found": Action.FIX_CONFIGURATION,
    "tool_server": Action.FIX_CONFIGURATION,
    "region": Action.SWITCH_MODEL,
    "blocked": Action.FIX_CONFIGURATION,
    "runaway": Action.REPHRASE,
    "spend_limit": Action.FIX_CONFIGURATION,
}
_INSTEAD_OF_RETRY: dict[ErrorType, Action] = {
    ErrorType.RATE_LIMIT: Action.SWITCH_MODEL,
    ErrorType.PROVIDER_UNAVAILABLE: Action.SWITCH_MODEL,
    ErrorType.TIMEOUT: Action.FIX_CONFIGURATION,
    ErrorType.NETWORK: Action.FIX_CONFIGURATION,
}
"""What helps if a retry, which usually helps, does not, and no time is known when it would."""
_CHANGES = frozenset({
    Action.LOGIN,
    Action.TOP_UP,
    Action.SWITCH_MODEL,
    Action.SHORTEN,
    Action.REPHRASE,
    Action.FIX_CONFIGURATION,
})  # fmt: skip
"""Actions that change something of the user's; to wait or to try again changes nothing."""

_GUESSED = frozenset({"concept"})
"""The kind of rule that infers a meaning from words that stand in no table of their own."""

_INFERRED = _GUESSED | {"text"}
"""The same, and sentences that are so common that they count only if nothing else is left."""

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
_FORBIDDEN = re.compile("|".join(map(re.escape, FORBIDDEN)), re.IGNORECASE)


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
    text = without_forbidden(redact(verdict.detail)) if verdict.detail else ""
    action = choose_action(verdict, retry_safety, restarts=restarts)
    advice = _advice(verdict, action, now, text)
    if restarts and verdict.type is ErrorType.AGENT_CRASH:
        advice = RESTARTED_ADVICE.get(verdict.reason or "") or f"{advice} {STARTED_AGAIN}"
        if verdict.reason in _NOT_RESTARTED:
            advice = _advice(verdict, action, now, text)
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
    action = _proper_action(verdict, retry_safety, restarts=restarts)
    return Action.REPORT if verdict.action is None and _is_too_much(action, verdict) else action


def _is_too_much(action: Action, verdict: Verdict) -> bool:
    """Return whether an action has the user change something although its cause is inferred."""
    if action not in _CHANGES:
        return False
    blamed = verdict.type in {ErrorType.AUTH, ErrorType.INVALID_REQUEST}
    return bool(_kinds_of(verdict.rule) & (_INFERRED if blamed else _GUESSED))


def _kinds_of(rule: str) -> frozenset[str]:
    """Return the kind of a rule, and where it was read: `stderr:concept:key + invalid`."""
    return frozenset(rule.split(":")[:2])


def _proper_action(verdict: Verdict, retry_safety: RetrySafety | None, *, restarts: bool) -> Action:
    if verdict.action is not None:
        return verdict.action
    if verdict.retryable and (restarts or verdict.type not in _NEEDS_RESTART):
        if retry_safety is RetrySafety.ASK:
            return Action.CONFIRM_RETRY
        if retry_safety is RetrySafety.OFFER_CONTINUE:
            return Action.CONTINUE
        if restarts and DEFAULTS[verdict.type].action is Action.RESTART:
            return Action.RETRY
    action = _ACTION_BY_REASON.get(verdict.reason or "")
    if action is None and not verdict.retryable and not _when(verdict, None):
        action = _INSTEAD_OF_RETRY.get(verdict.type)
    return action or DEFAULTS[verdict.type].action


def what_of(error_type: ErrorType, reason: str | None) -> str:
    """Return what happened: the reason's own sentence, or the type's."""
    return WHAT_BY_REASON.get(error_type, {}).get(reason or "") or WHAT[error_type]


def own_sentence(error_type: ErrorType, action: Action, reason: str | None = None) -> str:
    """Return what to say of a failure that came without words of its own."""
    advice = ADVICE_BY_REASON.get(reason or "") or ADVICE[action]
    return f"{what_of(error_type, reason)} {advice}"


def usual_action(
    error_type: ErrorType, retry_safety: RetrySafety | None, *, retryable: bool
) -> Action:
    """Return what a person can do about a failure that was reported without an action."""
    usual = DEFAULTS[error_type].action
    if not retryable or usual is Action.RESTART:
        return usual
    if retry_safety is RetrySafety.OFFER_CONTINUE:
        return Action.CONTINUE
    return Action.CONFIRM_RETRY if retry_safety is RetrySafety.ASK else usual


def _message(
    verdict: Verdict, advice: str, attempts: int | None, text: str, *, has_output: bool
) -> str:
    # What was inferred is shown, so that the reader can judge.
    is_quoted = verdict.type in _QUOTED_TYPES or bool(_kinds_of(verdict.rule) & _GUESSED)
    quote = quotable(_informative_part(verdict, text)) if is_quoted else ""
    what = what_of(verdict.type, verdict.reason)
    if verdict.type is ErrorType.PROTOCOL_ERROR and verdict.origin is Origin.PROVIDER:
        what = _UNREADABLE
    elif what == _SILENT and has_output:
        what = "Something failed, and the agent ended the turn as if nothing had."
    elif what == _SILENT and quote:
        what = "The agent ended the turn without an answer."
    if verdict.origin is Origin.CLIENT:
        what = WHAT_OF_CLIENT.get(verdict.reason or "") or what
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


def _informative_part(verdict: Verdict, text: str) -> str:
    text = without_empty_lead(text)
    part = innermost(text)
    if part == text:
        if verdict.type is ErrorType.INVALID_REQUEST:
            # The body's own message comes first; an SDK's rendering of the body follows it.
            part = text.strip().partition("\n")[0]
        else:
            # Of a traceback, take the line that says what happened, not the frames.
            part = informative_lines(text) or text
    return part if verdict.retryable else without_retry_advice(part)


def _advice(verdict: Verdict, action: Action, now: datetime | None, text: str) -> str:
    when = _when(verdict, now) or _stated_reset_words(verdict, text)
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
    if verdict.type is ErrorType.UNKNOWN and reason in _ADVICE_OF_UNKNOWN:
        return _ADVICE_OF_UNKNOWN[reason]
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


def _stated_reset_words(verdict: Verdict, text: str) -> str:
    """Return when a limit resets, if only the failure's own words say so."""
    reset = stated_reset(on_one_line(text)) if verdict.type in LIMITS else ""
    # Only the plain time is used, since the words around it may be anything.
    return f"after {reset}" if reset else ""


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
    return without_forbidden(on_one_line(text))


def on_one_line(text: str) -> str:
    """Return a text on one line, without anything that a client reads as markup."""
    # Unprintable characters may be half a character, or may reverse or move the text around them.
    visible = "".join(char if char.isprintable() else " " for char in text[:2000])
    plain = _MARKUP.sub(" ", visible)
    return " ".join(plain.replace("[", "(").replace("]", ")").split())


def without_forbidden(text: str) -> str:
    """Return the text with the phrases that clients misread reworded."""
    return _FORBIDDEN.sub(lambda match: FORBIDDEN[match.group().lower()], text)


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
    of = "" if max_attempts is None else f" of {max_attempts}"
    what = what_of(verdict.type, verdict.reason)
    return f"{what} The agent tries again{when} (attempt {attempt}{of})."
