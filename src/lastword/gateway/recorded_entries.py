"""Entries of a session's log as entries of the record, without content.

Owns which of them are recorded, and which facts. A viewer's own text is never recorded; of the
reason with which it closed its socket, only the close code is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from lastword.core.link.entries import short
from lastword.core.protocol import acp
from lastword.core.timeline.entry import Entry, Kind
from lastword.gateway.entries import About, LogEntry, LogKind

if TYPE_CHECKING:
    from collections.abc import Callable

_Maker: TypeAlias = "Callable[[About, str, float], Entry]"

CAUSES = {
    "attached again": "attached_again",
    "cut": "link_cut",
    "deleted": "deleted",
    "gateway_restarts": "front_restarts",
    "gateway_stops": "front_stops",
    "keepalive ping timeout": "no_pong",
    "no stream is open": "no_stream",
    "stalled": "stalled",
    "the front is gone": "front_gone",
}
"""The gateway's own words for the end of an attachment. Any other text is the peer's, and is not
written down: its code says enough."""

CAUSE_OF_CODE = {
    1000: "closed",
    1001: "tab_closed",
    1002: "protocol",
    1003: "protocol",
    1005: "closed",
    1006: "link_cut",
    1007: "protocol",
    1008: "forbidden",
    1009: "too_large",
    1011: "front_error",
    1012: "front_restarts",
    1013: "too_many",
    4400: "protocol",
    4401: "unauthorized",
    4403: "forbidden",
    4404: "session_unknown",
    4408: "no_heartbeat",
    4409: "superseded",
    4410: "session_ended",
    4429: "too_many",
}

_WHAT = {acp.PERMISSION: "permission", acp.ELICITATION: "form"}
_WHAT_BY_FAMILY = {"fs": "file", "terminal": "command"}
_HOW = {"viewer": "answered", "lost": "lost", "withdrawn": "withdrawn"}


def recorded(entry: LogEntry, session_id: str, at_seconds: float) -> Entry | None:
    """Return the record's entry for a log's entry; `None` for most."""
    if entry.kind is LogKind.TOLD:
        return _decided(entry.about, session_id, at_seconds)
    maker = _MAKERS.get(entry.about.word)
    return maker(entry.about, session_id, at_seconds) if maker is not None else None


def cause_of(code: int, cause: str) -> str:
    """Return why an attachment ended, as a word of low cardinality."""
    return CAUSES.get(cause) or CAUSE_OF_CODE.get(code, "other")


def what_is_asked(method: str) -> str:
    """Return what the agent's question is about, as a word of low cardinality."""
    return _WHAT.get(method) or _WHAT_BY_FAMILY.get(method.partition("/")[0], "other")


def _came(about: About, session_id: str, at: float) -> Entry:
    facts = about.facts
    return Entry(
        kind=Kind.VIEWER_CAME,
        at_seconds=at,
        session_id=session_id,
        facts={
            "viewer": about.viewer,
            "role": facts.get("role"),
            "client": short(str(facts.get("client", ""))),
            "back": facts.get("back") or None,
        },
    )


def _left(about: About, session_id: str, at: float) -> Entry:
    code = _number(about.facts.get("code"))
    return Entry(
        kind=Kind.VIEWER_LEFT,
        at_seconds=at,
        session_id=session_id,
        facts={
            "viewer": about.viewer,
            "code": code,
            "cause": cause_of(code, str(about.facts.get("cause", ""))),
        },
    )


def _lags(about: About, session_id: str, at: float) -> Entry:
    return Entry(
        kind=Kind.VIEWER_LAGS,
        at_seconds=at,
        session_id=session_id,
        facts={
            "viewer": about.viewer,
            "entries": about.facts.get("entries"),
            "bytes": about.facts.get("bytes"),
        },
    )


def _caught_up(about: About, session_id: str, at: float) -> Entry:
    return Entry(
        kind=Kind.VIEWER_CAUGHT_UP,
        at_seconds=at,
        session_id=session_id,
        facts={"viewer": about.viewer},
    )


def _gap(about: About, session_id: str, at: float) -> Entry:
    return Entry(
        kind=Kind.GAP_TOLD,
        at_seconds=at,
        session_id=session_id,
        facts={
            "viewer": about.viewer,
            "first": about.facts.get("first"),
            "last": about.facts.get("last"),
            "reason": about.facts.get("reason"),
        },
    )


def _held(about: About, session_id: str, at: float) -> Entry:
    return Entry(
        kind=Kind.QUESTION_HELD,
        at_seconds=at,
        session_id=session_id,
        facts={"what": what_is_asked(about.method)},
    )


def _decided(about: About, session_id: str, at: float) -> Entry:
    return Entry(
        kind=Kind.QUESTION_DECIDED,
        at_seconds=at,
        session_id=session_id,
        facts={
            "viewer": about.viewer,
            "what": what_is_asked(about.method) if about.method else None,
            "how": _HOW.get(about.word) or about.facts.get("why"),
        },
    )


def _died(about: About, session_id: str, at: float) -> Entry:
    return Entry(
        kind=Kind.HOLDER_DIED,
        at_seconds=at,
        session_id=session_id,
        facts={
            "open_turns": about.facts.get("open_turns") or None,
            "incident_id": about.facts.get("incident_id"),
        },
    )


def _restored(about: About, session_id: str, at: float) -> Entry:
    return Entry(
        kind=Kind.SESSION_RESTORED,
        at_seconds=at,
        session_id=session_id,
        facts={"history": about.facts.get("history")},
    )


def _not_restored(about: About, session_id: str, at: float) -> Entry:
    return Entry(
        kind=Kind.SESSION_NOT_RESTORED,
        at_seconds=at,
        session_id=session_id,
        facts={
            "type": about.facts.get("type"),
            "reason": about.facts.get("reason"),
            "incident_id": about.facts.get("incident_id"),
        },
    )


def _exited(about: About, session_id: str, at: float) -> Entry:
    return Entry(
        kind=Kind.SUPERVISOR_EXITED,
        at_seconds=at,
        session_id=session_id,
        facts={
            "exit_code": about.facts.get("exit_code"),
            "exit_signal": about.facts.get("exit_signal"),
            "open_turns": about.facts.get("open_turns") or None,
            "incident_id": about.facts.get("incident_id"),
        },
    )


def _reset(about: About, session_id: str, at: float) -> Entry:
    return Entry(
        kind=Kind.LOG_RESET,
        at_seconds=at,
        session_id=session_id,
        facts={"reason": about.facts.get("reason")},
    )


def _ended(about: About, session_id: str, at: float) -> Entry:
    return Entry(
        kind=Kind.SESSION_ENDED,
        at_seconds=at,
        session_id=session_id,
        facts={"cause": about.facts.get("cause")},
    )


_MAKERS: dict[str, _Maker] = {
    "viewer_came": _came,
    "viewer_left": _left,
    "viewer_lags": _lags,
    "viewer_caught_up": _caught_up,
    "gap_told": _gap,
    "question_held": _held,
    "holder_died": _died,
    "restored": _restored,
    "not_restored": _not_restored,
    "agent_ended": _exited,
    "log_reset": _reset,
    "session_ended": _ended,
}
"""By the word of a `life` entry."""


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
