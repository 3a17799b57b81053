"""Dialects of single agents: failures and retries that no error object says.

Everything generic is elsewhere (an HTTP status as the JSON-RPC code, `errorKind`,
`codexErrorInfo`). Here are the recognisers for what an agent hides in an update, in a result that
claims success, or in prose; what each agent does is a row of `quirks.wire` or `quirks.prose`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastword.core.classify import gather
from lastword.core.classify.decide import conclude, decide
from lastword.core.classify.evidence import Conclusion, Evidence, Verdict
from lastword.core.classify.text import as_int
from lastword.core.failure import air
from lastword.core.failure.signs import MAX_PROSE_CHARS, flattened
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol.tolerant import object_of
from lastword.core.redact.truncate import clip
from lastword.quirks import prose, wire
from lastword.quirks.agents import agent_key

_IN_RESULTS = tuple(row for row in wire.META_ERRORS if row.in_results)

_NAMED_TYPES = frozenset(ErrorType) - {ErrorType.UNKNOWN, ErrorType.CANCELLED}

_RETRY_TEXTS = {row.agent: (row, re.compile(row.pattern)) for row in wire.RETRY_TEXTS}
_AIR_RETRY = re.compile(wire.AIR_RETRY.pattern)


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
        or _text_sign(update, agent)
    )


def read_notification(method: str, params: object) -> Sign | None:
    """A retry that an agent announces by a method of its own."""
    row = wire.METHODS.get(method)
    if row is None or not isinstance(params, dict):
        return None
    told = {"code": params.get(row.code), "message": params.get(row.message)}
    verdict = decide(gather.from_any(told))
    return Sign(verdict=verdict, will_retry=True, wait_seconds=verdict.retry_after_seconds)


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
    vague = verdict.type is ErrorType.UNKNOWN or verdict.rule.startswith(("text:", "concept:"))
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
    attempt, most = (int(group) for group in counted.groups()) if counted else (None, None)
    return Sign(verdict=verdict, will_retry=True, attempt=attempt, max_attempts=most)


def _meta_sign(meta: dict[Any, Any], rows: tuple[wire.MetaError, ...]) -> Sign | None:
    for row in rows:
        error = object_of(_within(meta, row.path))
        if error:
            return Sign(
                verdict=decide(gather.from_any(error)),
                will_retry=not row.will_retry or error.get(row.will_retry) is True,
                attempt=as_int(error.get(row.attempt)) if row.attempt else None,
            )
    return None


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
    row, pattern = _RETRY_TEXTS.get(agent_key(agent) or "", (None, None))
    text = object_of(update.get("content")).get("text")
    found = pattern.search(clip(text)) if pattern and isinstance(text, str) else None
    if row is None or found is None:
        return None
    attempt, most, wait = (int(group) for group in found.groups())
    verdict = conclude(Conclusion(ErrorType.UNKNOWN, row.name), Evidence())
    return Sign(
        verdict=verdict, will_retry=True, attempt=attempt, max_attempts=most, wait_seconds=wait
    )
