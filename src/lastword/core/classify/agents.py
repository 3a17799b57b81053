"""Dialects of single agents: failures and retries that no error object says.

Everything generic is elsewhere (an HTTP status as the JSON-RPC code, `errorKind`,
`codexErrorInfo`). Here are the recognisers for what an agent hides in an update, in a result that
claims success, or in prose; what each agent does is a row of `quirks.wire` or `quirks.prose`.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

from lastword.core.classify import gather
from lastword.core.classify.decide import conclude, decide
from lastword.core.classify.evidence import Conclusion, Evidence, Verdict
from lastword.core.classify.text import as_int
from lastword.core.failure import air
from lastword.core.failure.signs import MAX_PROSE_CHARS, flattened
from lastword.core.failure.taxonomy import UNDECIDED, ErrorType
from lastword.core.protocol.tolerant import object_of
from lastword.core.redact.truncate import clip
from lastword.quirks import prose, wire
from lastword.quirks.agents import agent_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_IN_RESULTS = tuple(row for row in wire.META_ERRORS if row.in_results)

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
"""A longer wait is none that an agent keeps."""


class Sign(msgspec.Struct, frozen=True, kw_only=True):
    """A failure that an agent told in its own way.

    `will_retry` says that the agent goes on by itself: a retry signal, no end of the turn.
    """

    verdict: Verdict
    will_retry: bool = False
    attempt: int | None = None
    max_attempts: int | None = None
    wait_seconds: int | None = None


def read_update(update: object, *, agent: str | None = None) -> Sign | None:
    """A failure or a retry inside the `update` member of a `session/update`."""
    if not isinstance(update, dict):
        return None
    meta = object_of(update.get("_meta"))
    return (
        _air_sign(meta)
        or _meta_sign(meta, wire.META_ERRORS)
        or _state_sign(meta)
        or _retry_by_form(meta)
        or _text_sign(update, agent)
    )


def read_notification(method: str, params: object) -> Sign | None:
    """A retry that an agent announces by a method of its own."""
    row = wire.METHODS.get(method)
    if not isinstance(params, dict):
        return None
    if row is None:
        return _retry_told_in(object_of(params.get("error")) or _without_names(params))
    told = {"code": params.get(row.code), "message": params.get(row.message)}
    verdict = decide(gather.from_any(told))
    return Sign(verdict=verdict, will_retry=True, wait_seconds=verdict.retry_after_seconds)


def _without_names(params: dict[Any, Any]) -> dict[Any, Any]:
    """What a notification says, without whose it is."""
    return {key: value for key, value in params.items() if not str(key).lower().endswith("id")}


_WILL_RETRY = frozenset({"willretry", "retrying", "will_retry"})
_ATTEMPTS = ("attempt", "retryAttempt", "retry_attempt")
MAX_META_DEPTH = 4
MAX_META_MEMBERS = 64


def _retry_by_form(meta: dict[Any, Any]) -> Sign | None:
    """A retry anywhere in `_meta`: an error that says it is tried again, or a member's name."""
    for name, told in _objects_in(meta):
        says = next((told[key] for key in told if str(key).lower() in _WILL_RETRY), None)
        if says is True or (says is None and name.lower().endswith(("retry", "retrying"))):
            return _retry_told_in(told)
    return None


def _retry_told_in(told: dict[Any, Any]) -> Sign | None:
    """The retry of a failure that is told there; of no failure that can be named, none."""
    verdict = decide(gather.from_any(told))
    if verdict.type in UNDECIDED:
        return None
    counted = _COUNTS.search(clip(str(told.get("message") or "")))
    attempt, most = _tries(counted.groups()) if counted else (None, None)
    number = next((n for key in _ATTEMPTS if (n := as_int(told.get(key))) is not None), None)
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


def says_it_failed(update: object) -> bool:
    """Does the agent's own state, in `_meta`, say that something failed? Nothing says what."""
    meta = object_of(object_of(update).get("_meta"))
    for name, told in _objects_in(meta):
        of_state = name.lower().endswith(_STATE_MEMBERS)
        for key, value in told.items():
            named = str(key).lower()
            is_state = named.endswith(_STATE_MEMBERS) or (of_state and named in {"type", "kind"})
            if is_state and isinstance(value, str) and _FAILED_STATE.fullmatch(value[:40]):
                return True
    return False


def _objects_in(meta: dict[Any, Any]) -> Iterator[tuple[str, dict[Any, Any]]]:
    """The objects in it with their names, but for what is about others than the model's call."""
    waiting: list[tuple[str, dict[Any, Any], int]] = [("", meta, 0)]
    left = MAX_META_MEMBERS
    while waiting and left > 0:
        name, told, depth = waiting.pop(0)
        yield name, told
        for key, value in told.items():
            left -= 1
            of_others = any(word in str(key).lower() for word in _OTHERS)
            if isinstance(value, dict) and depth < MAX_META_DEPTH and not of_others:
                waiting.append((str(key), value, depth + 1))


def read_result(result: object) -> Sign | None:
    """A failure inside a prompt result that claims success."""
    if not isinstance(result, dict):
        return None
    meta = object_of(result.get("_meta"))
    return _air_sign(meta) or _meta_sign(meta, _IN_RESULTS) or _state_sign(meta)


def read_prose(text: str, *, agent: str | None) -> Verdict | None:
    """The verdict on a turn's whole text, if for this agent it is nothing but the error."""
    openings = prose.OPENINGS.get(agent_key(agent) or "", ())
    if len(text) > MAX_PROSE_CHARS or not openings:
        return None
    told = flattened(text)
    opening = next((opening for opening in openings if told.startswith(opening)), None)
    if opening is None or _speaks_of_it(text, opening, told.removeprefix(opening)):
        return None
    return decide(gather.from_text(text))


_SAYS_OF_IT = re.compile(
    r"\s*(?:[?,]|codes\b|[:.]?\s*(?:\d{3}\s+)?"
    r"(?:is|are|was|were|means?|that|which|what|how|why|when|happens|occurs|comes)\b)"
)
_ANSWERS = re.compile(r"\b(?:i|i've|i'll|let me|here is|here's|your code)\b")
_NEW_PARAGRAPH = re.compile(r"\n\s*\n\s*(?!please\b)[a-z]", re.IGNORECASE)


def _speaks_of_it(text: str, opening: str, rest: str) -> bool:
    """Is this an answer that only begins as an error does, and then goes on about it?"""
    if opening.startswith("["):
        closed, _, rest = rest.rpartition("]")
        if not closed:
            return True
    if _SAYS_OF_IT.match(rest):
        return True
    return bool(_ANSWERS.search(rest) or _NEW_PARAGRAPH.search(text))


def _air_sign(meta: dict[Any, Any]) -> Sign | None:
    failure = object_of(air.extension_in(meta).get(air.SESSION_FAILURE))
    if not failure:
        return None
    told = {key: failure.get(key) for key in ("title", "details", "reason")}
    evidence = gather.from_any(told)
    verdict = decide(evidence)
    category = failure.get("category")
    reason = failure.get("reason")
    vague = verdict.type is ErrorType.UNKNOWN or verdict.rule.startswith(
        ("text:", "concept:", "guess:")
    )
    if vague and isinstance(category, str) and category in wire.AIR.categories:
        kind, retryable = wire.AIR.categories[category]
        finding = Conclusion(ErrorType(kind), f"air:{category}", retryable=retryable)
        verdict = conclude(finding, evidence)
    if isinstance(reason, str) and reason in _NAMED_TYPES:
        # A speaker of the contract: its word is finer than the convention's categories.
        verdict = conclude(Conclusion(ErrorType(reason), f"air:{reason}"), evidence)
    if failure.get("severity") != "warning":
        return Sign(verdict=verdict)
    counted = _AIR_RETRY.search(clip(str(failure.get("title") or "")))
    if category == "unknown" and counted is None:
        # Advice on something else, such as a model that took another's place.
        return None
    attempt, most = _tries(counted.groups()) if counted else (None, None)
    return Sign(verdict=verdict, will_retry=True, attempt=attempt, max_attempts=most)


def _meta_sign(meta: dict[Any, Any], rows: tuple[wire.MetaError, ...]) -> Sign | None:
    for row in rows:
        error = object_of(_within(meta, row.path))
        if error:
            attempt, most = _counted(error, row)
            return Sign(
                verdict=decide(gather.from_any(error)),
                will_retry=not row.will_retry or error.get(row.will_retry) is True,
                attempt=attempt,
                max_attempts=most,
            )
    return None


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _counted(error: dict[Any, Any], row: wire.MetaError) -> tuple[int | None, int | None]:
    """The number of the try that comes next, and how many there will be at most."""
    if row.attempt:
        return as_int(error.get(row.attempt)), None
    found = _COUNTS.search(clip(str(error.get("message") or ""))) if row.counts else None
    return _tries(found.groups()) if found else (None, None)


def _tries(counted: Sequence[str]) -> tuple[int, int]:
    """A retry's number and how many there are at most, as numbers of tries: the first was 1."""
    retry, most = (int(number) for number in counted)
    return retry + 1, most + 1


def read_event(method: str, params: object) -> Sign | None:
    """A retry in a frame that was asked for, of which an agent tells the attempt and the wait."""
    row = wire.EVENTS.get(method)
    told = object_of(object_of(params).get("message"))
    if row is None or any(told.get(key) != value for key, value in row.event.items()):
        return None
    status, code = as_int(told.get(row.status)), told.get(row.code)
    if status is None:
        # No answer ever came: it was the connection.
        finding = Conclusion(ErrorType.NETWORK, row.name)
        verdict = conclude(finding, Evidence())
    else:
        verdict = decide(gather.from_any({"status": status, "code": code}))
    retry, most = as_int(told.get(row.attempt)), as_int(told.get(row.max_retries))
    wait_ms = told.get(row.wait_ms)
    wait = wait_ms / 1000 if _is_number(wait_ms) and 0 <= wait_ms < MAX_WAIT_MS else None
    return Sign(
        verdict=verdict,
        will_retry=True,
        attempt=None if retry is None else retry + 1,
        max_attempts=None if most is None else most + 1,
        wait_seconds=None if wait is None else math.ceil(wait),
    )


def _state_sign(meta: dict[Any, Any]) -> Sign | None:
    for row in wire.META_STATES:
        if _within(meta, row.path) == row.value:
            finding = Conclusion(ErrorType.UNKNOWN, row.name, row.reason)
            return Sign(verdict=conclude(finding, Evidence()))
    return None


def _within(meta: dict[Any, Any], path: tuple[str, ...]) -> object:
    """The value that this path leads to, or nothing."""
    found: object = meta
    for member in path:
        found = object_of(found).get(member)
    return found


def _text_sign(update: dict[Any, Any], agent: str | None) -> Sign | None:
    text = object_of(update.get("content")).get("text")
    return read_retry_text(text, agent=agent) if isinstance(text, str) else None


def read_retry_text(text: str, *, agent: str | None) -> Sign | None:
    """A retry that an agent announces in the conversation, as its row has it."""
    row, pattern = _RETRY_TEXTS.get(agent_key(agent) or "", (None, None))
    found = pattern.search(clip(text)) if pattern else None
    return None if row is None or found is None else _counted_sign(found, row.name)


def read_retry_form(text: str) -> Sign | None:
    """The same by the text's form, whoever wrote it."""
    found = _RETRY_BY_FORM.search(clip(text))
    return None if found is None else _counted_sign(found, "retry:form")


def _counted_sign(found: re.Match[str], rule: str) -> Sign:
    attempt, most = _tries(found.groups()[:2])
    wait = int(found.group(3)) if found.group(3) else None
    verdict = conclude(Conclusion(ErrorType.UNKNOWN, rule), Evidence())
    return Sign(
        verdict=verdict, will_retry=True, attempt=attempt, max_attempts=most, wait_seconds=wait
    )
