"""Entries of a session's log: their kinds, which are pinned, and what is recorded of them.

Entries of a session's log: messages and events, as frozen values. Owns the kinds of entries and
their members. A frame in an entry has the bytes that came; `render` makes the frames that viewers
are sent.

Pinned entries: the part of a session's state that must stay when the log is trimmed. Owns which
entry represents which piece of state, and until when. A viewer that returns after the entries it
needs were trimmed gets the pinned ones in their place.

Entries of a session's log as entries of the record, without content. Owns how the facts that
`core.timeline.session_events` lists are read from a log's entry. A viewer's own text is never
recorded; of the reason with which it closed its socket, only the close code is.
"""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from lastword.core.link.entries import short
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.session_events import BY_WORD, FACTS, GATEWAY, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class LogKind(StrEnum):
    """The kind of an entry."""

    OUT = "out"
    """A notification of the agent's."""
    ASK = "ask"
    """A request of the agent's, which somebody has to answer."""
    TOLD = "told"
    """How such a request was answered, and by whom."""
    IN = "in"
    """A request or a notification of a viewer's, which has reached the agent."""
    END = "end"
    """The answer to a viewer's request, failures included."""
    LIFE = "life"
    """What happened to the session or its viewers."""


class About(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What is known about an entry beside its frame.

    Attributes:
        viewer: the viewer that sent it, that it answers, or that it is about.
        request: the id of that viewer's request (JSON text).
        number: the gateway's own number of a request: of `in` and `end` the one towards the agent,
            of `ask` and `told` the one towards viewers.
        turn: of a prompt and of its end: the number of the turn, as `lastword run` behind the same
            holder records it; 0 in entries of older versions.
        session: the agent's session that the frame names, if the log holds several (forks).
        method: of a request.
        word: of `life` what happened, of `told` how it was decided; a low-cardinality word.
        facts: of `life`: further facts, without content.
        failure: of `end`: the payload of the failure.
        shown: of a retry: viewers that do not know retries get a line about it.
    """

    viewer: str = ""
    request: bytes = b""
    number: int = 0
    turn: int = 0
    session: str = ""
    method: str = ""
    word: str = ""
    facts: dict[str, Any] = {}
    failure: dict[str, Any] | None = None
    shown: bool = False


NOTHING = About()


class LogEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One entry.

    Attributes:
        kind: its kind.
        at_ms: its time, in milliseconds since 1970 UTC.
        frame: the bytes of the frame as it came, without its line end; empty for `life`.
        about: what is known beside the frame.
        is_text: of `out`: it is a piece of the agent's text or thoughts, as most are. It is
            classified where the agent's line is decoded; entries of older versions are not.
    """

    kind: LogKind
    at_ms: int
    frame: bytes = b""
    about: About = NOTHING
    is_text: bool = False

    @property
    def size(self) -> int:
        """Return its size in bytes, for limits."""
        return len(self.frame) + OVERHEAD_BYTES


OVERHEAD_BYTES = 48
"""What an entry takes beside its frame, about."""


class Numbered(NamedTuple):
    """An entry with its sequence number, which is dense and begins with 1."""

    seq: int
    entry: LogEntry


class Cursor(msgspec.Struct, frozen=True):
    """A position in one log: everything up to `seq` has been applied.

    A number means nothing in a log of another `epoch`.
    """

    epoch: str
    seq: int


MAX_SEQ = 2**53 - 1
"""The largest whole number that every JSON reader keeps."""


class Gap(msgspec.Struct, frozen=True):
    """Entries that are no longer kept, reported in their place.

    Attributes:
        first: the first of them.
        last: the last of them.
        reason: `trimmed` if the log's size or age limit removed them.
    """

    first: int
    last: int
    reason: str = "trimmed"


MAX_TOOLS = 512
"""Open tool calls that are kept; beyond that the oldest is dropped."""

MAX_ENDS = 256
"""Answers that are kept. A viewer that missed its answer sends the request again when it returns;
it must still be known that the agent has received it."""


MAX_SETTINGS = 64
"""Choices of modes, models and options that are kept."""

WAIT = "wait:limit"
"""The key of the wait for the end of a limit, in which a session has one turn at most."""

_ENDS_WAIT = frozenset({acp.PROMPT, acp.CANCEL, acp.CANCEL_REQUEST})
"""What a user sends to end it."""

_WAIT_IS_OVER = frozenset({WORDS[Kind.CONTINUED], WORDS[Kind.SESSION_ENDED]})


class Pins:
    """The pinned entries of one log, by what they represent."""

    def __init__(self, pinned: Iterable[tuple[str, Numbered]] = ()) -> None:
        self._kinds: defaultdict[str, dict[str, Numbered]] = defaultdict(dict)
        """The keys of each kind, which is what stands before their colon; the newest last."""
        for key, value in pinned:
            self._of_kind(key)[key] = value

    def _of_kind(self, key: str) -> dict[str, Numbered]:
        return self._kinds[key.partition(":")[0]]

    def note_all(
        self, first: int, entries: Sequence[LogEntry]
    ) -> list[tuple[str, Numbered | None]]:
        """Receive entries numbered from `first`, each as `note` does."""
        changes: list[tuple[str, Numbered | None]] = []
        for seq, entry in enumerate(entries, first):
            if not entry.is_text:
                changes += self.note(seq, entry)
        return changes

    def note(self, seq: int, entry: LogEntry) -> list[tuple[str, Numbered | None]]:
        """Receive an entry; return what has changed, with `None` for what is no longer pinned."""
        changes: list[tuple[str, Numbered | None]] = []
        if entry.kind is LogKind.OUT:
            self._note_update(seq, entry, changes)
        elif entry.kind is LogKind.ASK:
            self._set(f"ask:{entry.about.number}", Numbered(seq, entry), changes)
        elif entry.kind is LogKind.TOLD:
            self._drop(f"ask:{entry.about.number}", changes)
        elif entry.kind is LogKind.LIFE:
            if entry.about.word == WORDS[Kind.LIMIT_WAIT]:
                self._set(WAIT, Numbered(seq, entry), changes)
            elif entry.about.word in _WAIT_IS_OVER:
                self._drop(WAIT, changes)
        elif entry.kind is LogKind.IN:
            self._set("in", Numbered(seq, entry), changes)
            if entry.about.method in _ENDS_WAIT:
                self._drop(WAIT, changes)
            if entry.about.number:
                self._set(f"open:{entry.about.number}", Numbered(seq, entry), changes)
        elif entry.kind is LogKind.END:
            if entry.about.method in acp.SETTINGS:
                self._note_setting(entry, changes)
            self._drop(f"open:{entry.about.number}", changes)
            if entry.about.method == acp.PROMPT:
                self._drop(WAIT, changes)
            key = f"end:{entry.about.number}"
            self._set(key, Numbered(seq, entry), changes, limit=MAX_ENDS)
        return changes

    def _note_setting(self, end: LogEntry, changes: list[tuple[str, Numbered | None]]) -> None:
        """Pin a request whose choice of a mode, model or option the agent has accepted."""
        asked = self._of_kind("open:").get(f"open:{end.about.number}")
        if asked is None or object_of(jsonrpc.loads(end.frame)).get("error") is not None:
            return
        params = object_of(object_of(jsonrpc.loads(asked.entry.frame)).get("params"))
        key = _storable(f"set:{end.about.method}:{params.get('configId', '')}")
        self._set(key, asked, changes, limit=MAX_SETTINGS)

    def _note_update(
        self, seq: int, entry: LogEntry, changes: list[tuple[str, Numbered | None]]
    ) -> None:
        if entry.is_text:
            return
        frame = jsonrpc.decode(entry.frame)
        update = frame.message.update if isinstance(frame, jsonrpc.Frame) else None
        if update is None:
            return
        kind, session = update.session_update, entry.about.session
        if kind in acp.SESSION_STATE_KINDS or kind in {"plan", acp.STATE_UPDATE}:
            self._set(_storable(f"state:{session}:{kind}"), Numbered(seq, entry), changes)
        elif kind in acp.TOOL_KINDS:
            first = _storable(f"tool:{session}:{update.tool_call_id}")
            later = f"{first}:update"
            if update.status in acp.TOOL_ENDS:
                self._drop(first, changes)
                self._drop(later, changes)
            elif kind == "tool_call" or first in self._of_kind(first):
                key = first if kind == "tool_call" else later
                self._set(key, Numbered(seq, entry), changes, limit=2 * MAX_TOOLS)

    def _set(
        self,
        key: str,
        value: Numbered,
        changes: list[tuple[str, Numbered | None]],
        *,
        limit: int = 0,
    ) -> None:
        """Pin an entry; with a limit, drop the oldest of its kind beyond it."""
        pinned = self._of_kind(key)
        pinned.pop(key, None)
        pinned[key] = value
        changes.append((key, value))
        while limit and len(pinned) > limit:
            self._drop(next(iter(pinned)), changes)

    def _drop(self, key: str, changes: list[tuple[str, Numbered | None]]) -> None:
        if self._of_kind(key).pop(key, None) is not None:
            changes.append((key, None))

    def items(self) -> list[tuple[str, Numbered]]:
        """Return all pinned entries with their keys, in order."""
        items = [item for kind in self._kinds.values() for item in kind.items()]
        return sorted(items, key=lambda item: item[1].seq)

    def between(self, after: int, last: int) -> list[Numbered]:
        """Return the pinned entries of a range, in order, each once."""
        by_seq = {
            each.seq: each
            for kind in self._kinds.values()
            for each in kind.values()
            if after < each.seq <= last
        }
        return [by_seq[seq] for seq in sorted(by_seq)]

    def of(self, prefix: str) -> list[Numbered]:
        """Return the pinned entries of one kind of key, in order."""
        return sorted(self._of_kind(prefix).values(), key=lambda each: each.seq)


def _storable(key: str) -> str:
    """Return a key without lone surrogates, which an agent's id may have."""
    return key.encode(errors="backslashreplace").decode()


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
