"""Entries of a session's log as entries of the record, without content.

Owns how the facts that `core.timeline.session_events` lists are read from a log's entry. A viewer's
own text is never recorded; of the reason with which it closed its socket, only the close code is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from lastword.core.link.entries import short
from lastword.core.protocol import acp
from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.session_events import BY_WORD, FACTS, GATEWAY
from lastword.gateway.log.entries import LogKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.log.entries import About, LogEntry

_Reader: TypeAlias = "Callable[[About], Any]"

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
    about = entry.about
    kind = (
        Kind.QUESTION_DECIDED if entry.kind is LogKind.TOLD else BY_WORD.get(about.word, Kind.LIFE)
    )
    if kind not in GATEWAY:  # the link records the others
        return None
    own = _LEFT if kind is Kind.VIEWER_LEFT else _FACTS
    facts = {
        name: own[name](about) if name in own else about.facts.get(name) for name in FACTS[kind]
    }
    return Entry(kind=kind, at_seconds=at_seconds, session_id=session_id, facts=facts)


def cause_of(code: int, cause: str) -> str:
    """Return why an attachment ended, as a word of low cardinality."""
    return CAUSES.get(cause) or CAUSE_OF_CODE.get(code, "other")


def what_is_asked(method: str) -> str:
    """Return what the agent's question is about, as a word of low cardinality."""
    return _WHAT.get(method) or _WHAT_BY_FAMILY.get(method.partition("/")[0], "other")


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


_FACTS: dict[str, _Reader] = {
    "viewer": lambda about: about.viewer,
    "client": lambda about: short(str(about.facts.get("client", ""))),
    "back": lambda about: about.facts.get("back") or None,
    "open_turns": lambda about: about.facts.get("open_turns") or None,
    "what": lambda about: what_is_asked(about.method) if about.method else None,
    "how": lambda about: _HOW.get(about.word) or about.facts.get("why"),
}
"""The facts that are not simply those of the log's entry."""

_LEFT: dict[str, _Reader] = _FACTS | {
    "code": lambda about: _number(about.facts.get("code")),
    "cause": lambda about: cause_of(
        _number(about.facts.get("code")), str(about.facts.get("cause", ""))
    ),
}
"""The same of a viewer's end, whose text may be the peer's."""
