"""What single agents do differently on the wire: failures and retries that no error object says.

Everything generic is elsewhere (an HTTP status as the JSON-RPC code, `errorKind`,
`codexErrorInfo`). Here are the recognisers for what an agent hides in an update, in a result that
claims success, or in prose. Agents are told apart by `agent_names.agent_key`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastword.core import air
from lastword.core.classify import gather
from lastword.core.classify.agent_names import agent_key
from lastword.core.classify.decide import conclude, decide
from lastword.core.classify.evidence import Evidence, Finding, Verdict
from lastword.core.classify.text import as_int, clip
from lastword.core.members import object_of
from lastword.core.prose import MAX_PROSE_CHARS, OPENINGS, opening_of
from lastword.core.taxonomy import ErrorType

_AIR_CATEGORIES = {
    "connection": (ErrorType.NETWORK, None),
    "access": (ErrorType.AUTH, None),
    "limit": (ErrorType.RATE_LIMIT, False),
    "service": (ErrorType.PROVIDER_UNAVAILABLE, None),
    "request": (ErrorType.INVALID_REQUEST, None),
}
"""JetBrains AIR's `category`: coarse and at times wrong, so it counts only after the text."""

_PI_RETRY = re.compile(r"Retrying \(attempt (\d{1,4})/(\d{1,4}), waiting (\d{1,6})(?:\.\d+)?s\)")

_NAMED_TYPES = frozenset(ErrorType) - {ErrorType.UNKNOWN, ErrorType.CANCELLED}

_AIR_RETRY = re.compile(r"attempt (\d{1,4}) of (\d{1,4})\b")
"""In the title of a warning (claude-agent-acp: "Retrying Claude, attempt 2 of 10.")."""


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
        or _codex_sign(object_of(meta.get("codex")))
        or _opencode_sign(object_of(meta.get("opencode/retry")))
        or (_pi_sign(update) if agent_key(agent) == "pi" else None)
    )


def read_notification(method: str, params: object) -> Sign | None:
    """A retry that an agent announces by a method of its own (mistral-vibe)."""
    if method != "_session/retrying" or not isinstance(params, dict):
        return None
    evidence = gather.from_any({"code": params.get("category"), "message": params.get("detail")})
    verdict = decide(evidence)
    return Sign(verdict=verdict, will_retry=True, wait_seconds=verdict.retry_after_seconds)


def read_result(result: object) -> Sign | None:
    """A failure inside a prompt result that claims success."""
    if not isinstance(result, dict):
        return None
    meta = object_of(result.get("_meta"))
    return _air_sign(meta) or _codex_sign(object_of(meta.get("codex")))


def read_prose(text: str, *, agent: str | None) -> Verdict | None:
    """The verdict on a turn's whole text, if for this agent it is nothing but the error."""
    openings = OPENINGS.get(agent_key(agent) or "", ())
    if len(text) > MAX_PROSE_CHARS or not openings or not opening_of(text).startswith(openings):
        return None
    return decide(gather.from_text(text))


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
    if vague and isinstance(category, str) and category in _AIR_CATEGORIES:
        kind, retryable = _AIR_CATEGORIES[category]
        verdict = conclude(Finding(kind, f"air:{category}", retryable=retryable), evidence)
    if isinstance(reason, str) and reason in _NAMED_TYPES:
        # A speaker of the contract: its word is finer than the convention's categories.
        verdict = conclude(Finding(ErrorType(reason), f"air:{reason}"), evidence)
    if failure.get("severity") != "warning":
        return Sign(verdict=verdict)
    counted = _AIR_RETRY.search(clip(str(failure.get("title") or "")))
    if category == "unknown" and counted is None:
        # Advice on something else, such as a model that took another's place.
        return None
    attempt, most = (int(group) for group in counted.groups()) if counted else (None, None)
    return Sign(verdict=verdict, will_retry=True, attempt=attempt, max_attempts=most)


def _codex_sign(codex: dict[Any, Any]) -> Sign | None:
    error = codex.get("error")
    if isinstance(error, dict):
        verdict = decide(gather.from_any(error))
        return Sign(verdict=verdict, will_retry=error.get("willRetry") is True)
    if object_of(codex.get("threadStatus")).get("type") != "systemError":
        return None
    finding = Finding(ErrorType.UNKNOWN, "codex:systemError", "system_error")
    return Sign(verdict=conclude(finding, Evidence()))


def _opencode_sign(retry: dict[Any, Any]) -> Sign | None:
    if not retry:
        return None
    verdict = decide(gather.from_any(retry))
    return Sign(verdict=verdict, will_retry=True, attempt=as_int(retry.get("attempt")))


def _pi_sign(update: dict[Any, Any]) -> Sign | None:
    text = object_of(update.get("content")).get("text")
    found = _PI_RETRY.search(clip(text)) if isinstance(text, str) else None
    if found is None:
        return None
    attempt, most, wait = (int(group) for group in found.groups())
    verdict = conclude(Finding(ErrorType.UNKNOWN, "pi:retrying"), Evidence())
    return Sign(
        verdict=verdict, will_retry=True, attempt=attempt, max_attempts=most, wait_seconds=wait
    )
