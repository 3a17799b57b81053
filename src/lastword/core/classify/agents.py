"""Dialects of single agents: failures and retries that no error object reports.

Generic signs are read elsewhere (an HTTP status as the JSON-RPC code, `errorKind`,
`codexErrorInfo`). This module recognises what an agent hides in an update, in a result that claims
success, or in prose. What each agent does is a row of `quirks.wire`.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.classify import gather
from lastword.core.classify.decide import conclude, decide
from lastword.core.classify.evidence import Conclusion, Evidence, Verdict
from lastword.core.classify.text import as_int
from lastword.core.classify.waits import wait_in_text
from lastword.core.failure import ladder
from lastword.core.failure.signs import MAX_PROSE_CHARS, flattened
from lastword.core.failure.taxonomy import UNDECIDED, ErrorType
from lastword.core.protocol.acp import object_of
from lastword.core.redact.truncate import clip
from lastword.quirks import wire
from lastword.quirks.agents import agent_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NAMED_TYPES = frozenset(ErrorType) - {ErrorType.UNKNOWN, ErrorType.CANCELLED}

_RETRY_TEXTS = {row.agent: (row, re.compile(row.pattern)) for row in wire.RETRY_TEXTS}
_AIR_RETRY = re.compile(wire.AIR_RETRY.pattern)
_RETRY_BY_FORM = re.compile(
    r"\b(\d{1,4}) ?(?:/|of) ?(\d{1,4})\b"
    r"(?>[^\n]{0,40}?(?:in|waiting|after|wait) (\d{1,6})(?:\.\d+)? ?s)?",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"\b(\d{1,4})/(\d{1,4})\b")

MAX_WAIT_MS = 30 * 86_400_000
"""No agent waits longer than this."""


class Sign(msgspec.Struct, frozen=True, kw_only=True):
    """A failure that an agent reported in its own way.

    `will_retry` means that the agent carries on by itself: it signals a retry, not a turn's end.
    """

    verdict: Verdict
    will_retry: bool = False
    attempt: int | None = None
    max_attempts: int | None = None
    wait_seconds: int | None = None


def read_update(update: object, *, agent: str | None = None) -> Sign | None:
    """Read a failure or a retry in the `update` member of a `session/update`."""
    if not isinstance(update, dict):
        return None
    meta = object_of(update.get("_meta"))
    sign = _air_sign(meta) or _meta_sign(meta) or _state_sign(meta) or _retry_by_form(meta)
    text = object_of(update.get("content")).get("text")
    if sign is None and isinstance(text, str):
        return read_retry_text(text, agent=agent)
    return sign


def read_notification(method: str, params: object) -> Sign | None:
    """Read a retry that an agent announces with a method of its own."""
    row = wire.METHODS.get(method)
    if not isinstance(params, dict):
        return None
    if row is not None:
        error = {"code": params.get(row.code), "message": params.get(row.message)}
        verdict = decide(gather.from_any(error))
        return Sign(verdict=verdict, will_retry=True, wait_seconds=verdict.retry_after_seconds)
    if _names_one_of(method, _OTHER_METHODS):
        return None
    if "retry" in method.lower():
        # An id says nothing about what failed.
        rest = {key: value for key, value in params.items() if not str(key).lower().endswith("id")}
        sign = _announced_retry_in(object_of(params.get("error")) or rest)
        if sign is not None:
            return sign
    # Under any method, an object counts whose kind names a retry and that has an attempt.
    for _, members in _objects_in(params):
        number = next((n for key in _ATTEMPTS if (n := as_int(members.get(key))) is not None), None)
        kinds = [
            value.lower()[:64]
            for key, value in members.items()
            if str(key).lower() in _KINDS and isinstance(value, str)
        ]
        again = any("retry" in kind for kind in kinds)
        if number is None or not again or any(word in kind for kind in kinds for word in _OVER):
            continue
        if any(_names_one_of(kind, _OTHER_METHODS) for kind in kinds):
            continue
        if any(_names_one_of(str(key), _OTHER_MEMBERS) for key in members):
            continue
        reason = next((members[key] for key in _REASONS if members.get(key)), "")
        verdict = decide(gather.from_any(reason))
        most = next((n for key in _MOST if (n := as_int(members.get(key))) is not None), None)
        return Sign(
            verdict=verdict,
            will_retry=True,
            attempt=number + 1,
            max_attempts=None if most is None else most + 1,
            wait_seconds=verdict.retry_after_seconds,
        )
    return None


_WILL_RETRY = frozenset({"willretry", "retrying", "will_retry"})
_ATTEMPTS = ("attempt", "retryAttempt", "retry_attempt")
MAX_META_DEPTH = 4
MAX_META_MEMBERS = 64


def _retry_by_form(meta: dict[Any, Any]) -> Sign | None:
    """Read a retry anywhere in `_meta`: an error that will be retried, or a member's name."""
    for name, members in _objects_in(meta):
        will_retry = next(
            (members[key] for key in members if str(key).lower() in _WILL_RETRY), None
        )
        if will_retry is True or (
            will_retry is None and name.lower().endswith(("retry", "retrying"))
        ):
            return _announced_retry_in(members)
    return None


_KINDS = ("sessionupdate", "type", "kind", "event", "status")
_OVER = ("succe", "finish", "complet", "done", "exhaust", "fail", "abort", "cancel", "end")
_REASONS = ("reason", "message", "error", "detail", "cause", "error_message", "errorMessage")
_MOST = ("max_retries", "maxRetries", "max_attempts", "maxAttempts")


_OTHER_METHODS = frozenset({
    *("mcp", "tool", "plugin", "hook", "extension", "command", "test", "spec", "build", "job"),
    *("background", "subagent", "subtask", "download", "upload", "install", "package", "index"),
    *("web", "search", "git", "lsp", "terminal", "shell", "bash", "title", "summary", "webhook"),
    *("telemetry", "embedding", "deploy"),
})  # fmt: skip
_OTHER_MEMBERS = frozenset({
    *("mcp", "tool", "plugin", "hook", "command", "test", "job", "server", "package", "file"),
})  # fmt: skip
"""Words of a method, a kind or a member about something other than the turn's model call."""

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def _names_one_of(name: str, words: frozenset[str]) -> bool:
    """Return whether one of the words of a name is among these."""
    return any(word.lower().removesuffix("s") in words for word in _WORDS.findall(name[:128]))


def _announced_retry_in(error: dict[Any, Any]) -> Sign | None:
    """Return the retry after a failure, or `None` if the failure has no name."""
    verdict = decide(gather.from_any(error))
    if verdict.type in UNDECIDED:
        return None
    counted = _COUNTS.search(clip(str(error.get("message") or "")))
    attempt, most = _tries(counted.groups()) if counted else (None, None)
    number = next((n for key in _ATTEMPTS if (n := as_int(error.get(key))) is not None), None)
    return Sign(
        verdict=verdict,
        will_retry=True,
        attempt=attempt if number is None else number + 1,
        max_attempts=most,
        wait_seconds=verdict.retry_after_seconds,
    )


_STATE_MEMBERS = ("status", "state", "outcome")
_FAILED_STATE = re.compile(
    r"(?:system|internal|agent|turn|thread|fatal|model|provider|api)?[_-]?"
    r"(?:error|errored|failed|failure)",
    re.IGNORECASE,
)
_OTHERS = ("mcp", "tool", "server", "plugin", "hook", "extension", "command", "test", "build")


def has_failed_state(update: object) -> bool:
    """Return whether the agent's state in `_meta` is a failure, without further details."""
    meta = object_of(object_of(update).get("_meta"))
    for name, members in _objects_in(meta):
        of_state = name.lower().endswith(_STATE_MEMBERS)
        for key, value in members.items():
            named = str(key).lower()
            is_state = named.endswith(_STATE_MEMBERS) or (of_state and named in {"type", "kind"})
            if is_state and isinstance(value, str) and _FAILED_STATE.fullmatch(value[:40]):
                return True
    return False


def _objects_in(meta: dict[Any, Any]) -> Iterator[tuple[str, dict[Any, Any]]]:
    """Yield the objects in a `_meta` with their names, except those not about the model call."""
    waiting: list[tuple[str, dict[Any, Any], int]] = [("", meta, 0)]
    left = MAX_META_MEMBERS
    while waiting and left > 0:
        name, members, depth = waiting.pop(0)
        yield name, members
        for key, value in members.items():
            left -= 1
            of_others = any(word in str(key).lower() for word in _OTHERS)
            if isinstance(value, dict) and depth < MAX_META_DEPTH and not of_others:
                waiting.append((str(key), value, depth + 1))


def read_result(result: object) -> Sign | None:
    """Read a failure in a prompt result that claims success."""
    if not isinstance(result, dict):
        return None
    meta = object_of(result.get("_meta"))
    sign = _air_sign(meta)
    if sign is not None:
        return sign
    # An error's text or object counts anywhere, whatever its namespace.
    for _, members in _objects_in(meta):
        for key, value in members.items():
            name = re.split(r"[./:]", str(key))[-1].replace("_", "").lower()
            if name in {"error", "errormessage"} and value and isinstance(value, str | dict):
                will_retry = object_of(value).get("willRetry") is True
                return Sign(verdict=decide(gather.from_any(value)), will_retry=will_retry)
    return _state_sign(meta)


def read_prose(text: str, *, agent: str | None) -> Verdict | None:
    """Return the verdict on a turn's whole text if, from this agent, it is nothing but an error."""
    openings = wire.OPENINGS.get(agent_key(agent) or "", ())
    if len(text) > MAX_PROSE_CHARS or not openings:
        return None
    folded = flattened(text)
    opening = next((opening for opening in openings if folded.startswith(opening)), None)
    if opening is None:
        return None
    # An answer may begin like an error, and then discuss it.
    rest = folded.removeprefix(opening)
    if opening.startswith("["):
        closed, _, rest = rest.rpartition("]")
        if not closed:
            return None
    is_own = opening.startswith("we") and _EFFECT.match(rest)
    if _DISCUSSION.match(rest) and not is_own:
        return None
    if _ANSWERS.search(rest) or _NEW_PARAGRAPH.search(text):
        return None
    return decide(gather.from_any(text))


_DISCUSSION = re.compile(
    r"\s*+(?:[?,]|codes\b|[:.]?\s*+(?:\d{3}\s++)?"
    r"(?:is|are|was|were|means?|that|which|what|how|why|when|happens|occurs|comes)\b)"
)
_EFFECT = re.compile(r", which (?:may|might|can|could|will)\b")
"""How a provider that speaks as "we" describes its trouble, which no answer does."""

_ANSWERS = re.compile(r"\b(?:i|i've|i'll|let me|here is|here's|your code)\b")
_NEW_PARAGRAPH = re.compile(r"\n\s*\n\s*(?!please\b)[a-z]", re.IGNORECASE)


def _air_sign(meta: dict[Any, Any]) -> Sign | None:
    failure = object_of(ladder.extension_in(meta).get(ladder.SESSION_FAILURE))
    if not failure:
        return None
    texts = {key: failure.get(key) for key in ("title", "details", "reason")}
    evidence = gather.from_any(texts)
    verdict = decide(evidence)
    category = failure.get("category")
    reason = failure.get("reason")
    vague = verdict.type is ErrorType.UNKNOWN or verdict.rule.startswith(("text:", "concept:"))
    if vague and isinstance(category, str) and category in wire.AIR_CATEGORIES:
        kind, retryable = wire.AIR_CATEGORIES[category]
        finding = Conclusion(ErrorType(kind), f"air:{category}", retryable=retryable)
        verdict = conclude(finding, evidence)
    if isinstance(reason, str) and reason in _NAMED_TYPES:
        # The agent speaks `agent_error`, whose types are finer than the convention's categories.
        verdict = conclude(Conclusion(ErrorType(reason), f"air:{reason}"), evidence)
    if failure.get("severity") != "warning":
        return Sign(verdict=verdict)
    counted = _AIR_RETRY.search(clip(str(failure.get("title") or "")))
    if category == "unknown" and counted is None:
        # This is advice on something else, such as a model that replaced another.
        return None
    attempt, most = _tries(counted.groups()) if counted else (None, None)
    wait = verdict.retry_after_seconds or wait_in_text(evidence.folded, is_own=True)
    return Sign(
        verdict=verdict,
        will_retry=True,
        attempt=attempt,
        max_attempts=most,
        wait_seconds=math.ceil(wait) if wait else None,
    )


def _meta_sign(meta: dict[Any, Any]) -> Sign | None:
    for row in wire.META_ERRORS:
        error = object_of(_within(meta, row.path))
        if not error:
            continue
        attempt = as_int(error.get(row.attempt)) if row.attempt else None
        most = None
        if row.counts and not row.attempt:
            match = _COUNTS.search(clip(str(error.get("message") or "")))
            attempt, most = _tries(match.groups()) if match else (None, None)
        return Sign(
            verdict=decide(gather.from_any(error)),
            will_retry=not row.will_retry or error.get(row.will_retry) is True,
            attempt=attempt,
            max_attempts=most,
        )
    return None


def _tries(counted: Sequence[str]) -> tuple[int, int]:
    """Convert a retry's number and limit into numbers of tries; the first try was 1."""
    retry, most = (int(number) for number in counted)
    return retry + 1, most + 1


def read_event(method: str, params: object) -> Sign | None:
    """Read a retry in an event that we requested, with the attempt and the wait."""
    row = wire.EVENTS.get(method)
    message = object_of(object_of(params).get("message"))
    if row is None or any(message.get(key) != value for key, value in row.event.items()):
        return None
    status, code = as_int(message.get(row.status)), message.get(row.code)
    if message.get(row.no_response):
        kind, reason = row.silence
        verdict = conclude(Conclusion(ErrorType(kind), row.name, reason), Evidence())
    elif status is None:
        # No answer ever arrived, so the connection failed.
        finding = Conclusion(ErrorType.NETWORK, row.name)
        verdict = conclude(finding, Evidence())
    else:
        verdict = decide(gather.from_any({"status": status, "code": code}))
    retry, most = as_int(message.get(row.attempt)), as_int(message.get(row.max_retries))
    wait_ms = message.get(row.wait_ms)
    wait = None
    if isinstance(wait_ms, int | float) and not isinstance(wait_ms, bool):
        wait = math.ceil(wait_ms / 1000) if 0 <= wait_ms < MAX_WAIT_MS else None
    return Sign(
        verdict=verdict,
        will_retry=True,
        attempt=None if retry is None else retry + 1,
        max_attempts=None if most is None else most + 1,
        wait_seconds=wait,
    )


def _state_sign(meta: dict[Any, Any]) -> Sign | None:
    for row in wire.META_STATES:
        if _within(meta, row.path) == row.value:
            finding = Conclusion(ErrorType.UNKNOWN, row.name, row.reason)
            return Sign(verdict=conclude(finding, Evidence()))
    return None


def _within(meta: dict[Any, Any], path: tuple[str, ...]) -> object:
    """Return the value at this path, or `None`."""
    value: object = meta
    for member in path:
        value = object_of(value).get(member)
    return value


def read_retry_text(text: str, *, agent: str | None) -> Sign | None:
    """Read a retry that an agent announces in the conversation, using the agent's row."""
    row, pattern = _RETRY_TEXTS.get(agent_key(agent) or "", (None, None))
    match = pattern.search(clip(text)) if pattern else None
    return None if row is None or match is None else _counted_sign(match, row.name)


def read_retry_form(text: str) -> Sign | None:
    """Read a retry from the text's form, whichever agent wrote it."""
    match = _RETRY_BY_FORM.search(clip(text))
    return None if match is None else _counted_sign(match, "retry:form")


def _counted_sign(match: re.Match[str], rule: str) -> Sign:
    attempt, most = _tries(match.groups()[:2])
    wait = int(match.group(3)) if match.group(3) else None
    verdict = conclude(Conclusion(ErrorType.UNKNOWN, rule), Evidence())
    return Sign(
        verdict=verdict, will_retry=True, attempt=attempt, max_attempts=most, wait_seconds=wait
    )
