"""What the connector knows of the editor: positions, frames, questions and probes.

The connector's position in each session, and the messages that are not done yet. Owns the order of
the editor's messages, and which of them must be sent again over the next link.

The connector's frames: what it adds towards the gateway, and removes towards the editor. Owns the
place of the gateway's facts, `_meta.lastword`. The editor sees none of them: apart from that, a
frame reaches it as the agent wrote it.

The connector's probes: the editor's position in each session, and the round-trip time. Owns which
probe is measured. A probe without an answer is handled by the reconnect policy.

The agent's questions that are open in the editor, and answers that may have to be repeated. Owns
the rule that a question is shown once, whatever the gateway repeats over a new link. Its id is the
gateway's, the same over every link.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import Raw

from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of, raw_members
from lastword.gateway.log.entries import Cursor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lastword.core.protocol.acp import Dialect
    from lastword.core.protocol.jsonrpc import Frame


class Position(msgspec.Struct):
    """One session that the editor uses.

    Attributes:
        session_id: the session's id.
        folder: JSON text of what an attach says about the session beside its id.
        epoch: the log to which `seq` belongs; empty until it is known.
        seq: the last entry that the editor has received.
        parts: how many frames of the next entry it has received, too.
        past: the past is wanted, although there is no cursor.
        attaching: the number of the request that attaches it over this link; 0 if there is none.
        begun: the frames of that request have begun.
        attached: the request has been answered.
        probing: the request only asks for the session's state; what comes with it is dropped.
        skipping: the log is a different one: its past is not repeated.
        running: version 2: the session's foreground work is running.
    """

    session_id: str
    folder: dict[str, msgspec.Raw] = {}
    epoch: str = ""
    seq: int = 0
    parts: int = 0
    past: bool = False
    attaching: int = 0
    begun: bool = False
    attached: bool = False
    probing: bool = False
    skipping: bool = False
    running: bool = False

    @property
    def cursor(self) -> Cursor | None:
        """Return the editor's position."""
        return Cursor(self.epoch, self.seq) if self.epoch else None

    def bring_back(self, item: Item) -> bytes:
        """Return the line for the editor's own load or resume, over this link."""
        line = item.line
        if not item.was_sent:
            self.forget()
            line = with_compact_past(line)
        elif self.cursor is not None:
            line = from_cursor(line, self.cursor)
        self.folder = folder_of(item.line)
        self.attaching, self.begun, self.attached = item.number, False, False
        return line

    def look(self, item: Item) -> bytes:
        """Return a request for the state of the session that answers the editor's `session/new`."""
        self.folder = folder_of(item.line)
        self.probing, self.past = True, True
        self.attaching, self.begun = item.number, False
        return attach_request(self.session_id, self.folder, acp.RESUME, item.number)

    def attach(self, number: int, dialect: Dialect) -> bytes:
        """Return a request of the connector that attaches at the editor's position."""
        self.attaching, self.begun = number, False
        if self.cursor is not None:
            line = attach_request(self.session_id, self.folder, acp.RESUME, number)
            return from_cursor(line, self.cursor)
        replays = self.past and not dialect.turn_ends_by_state
        method = acp.LOAD if replays else acp.RESUME
        line = attach_request(self.session_id, self.folder, method, number)
        if self.past and not replays:
            line = with_param(line, "replayFrom", {"type": "start"})
        return with_compact_past(line) if self.past else line

    def has_attached(self, ours: dict[str, Any]) -> None:
        """Note that it is attached, with these facts of the gateway."""
        self.attaching, self.attached = 0, True
        if not self.epoch:  # its frames did not give their first position
            self.begin(ours)

    def skip_past(self) -> None:
        """Attach anew without the past: the log is no longer the same."""
        self.forget()
        self.past = False
        self.skipping = True

    def begin(self, ours: dict[str, Any]) -> None:
        """Move to before the first entry that comes, as named by the gateway."""
        epoch = ours.get("epoch")
        before = self.epoch, self.seq
        self.epoch = epoch if isinstance(epoch, str) else ""
        self.seq = max(count_of(ours.get("from")) - 1, 0)
        if before != (self.epoch, self.seq):
            self.parts = 0

    def move(self, ours: dict[str, Any]) -> None:
        """Move to the position in the log that came with a frame, if any."""
        seq = ours.get("seq")
        if not isinstance(seq, int) or isinstance(seq, bool):
            return
        if not self.probing and (self.begun or self.attached):
            self.seq, self.parts = seq, 0

    def is_repeated(self, ours: dict[str, Any]) -> bool:
        """Return whether this is a part of the next entry that came before the link was lost."""
        part = count_of(ours.get("part"))
        if not part or count_of(ours.get("of")) <= self.seq:
            return False
        received, self.parts = self.parts, max(self.parts, part)
        return part <= received

    def forget(self) -> None:
        """Drop the position: the log is a different one, or is wanted from its beginning."""
        self.epoch, self.seq, self.parts = "", 0, 0

    def unlink(self) -> None:
        """Note that the link is gone."""
        self.attaching = 0
        self.begun = self.attached = self.probing = self.skipping = False


class Item(msgspec.Struct):
    """One message of the editor, until it is done.

    Attributes:
        number: its place in the order; for a request, also its id towards the gateway.
        line: the line for the gateway.
        method: of a request or a notification; empty for an answer.
        session_id: the session that it names.
        request: the editor's id of a request (JSON text).
        answers: the id (JSON text) of the question that it answers.
        about: the number of the request that it cancels.
        was_sent: it has been sent over some link.
    """

    number: int
    line: bytes
    method: str = ""
    session_id: str | None = None
    request: bytes | None = None
    answers: bytes | None = None
    about: int = 0
    was_sent: bool = False


class Items:
    """All messages that are not done, in order."""

    def __init__(self) -> None:
        self._all: dict[int, Item] = {}
        self._unsent: dict[int, Item] = {}
        self._last = 0
        self.unsent_bytes: int = 0

    def next_number(self) -> int:
        """Return the next number."""
        self._last += 1
        return self._last

    def __iter__(self) -> Iterator[Item]:
        return iter(list(self._all.values()))

    def get(self, number: int) -> Item | None:
        """Return the item with this number."""
        return self._all.get(number)

    def add(self, item: Item) -> None:
        """Add an item that has not been sent."""
        self._all[item.number] = item
        self._unsent[item.number] = item
        self.unsent_bytes += len(item.line)

    def sent(self, item: Item) -> None:
        """Note that it has been sent over this link."""
        if self._unsent.pop(item.number, None) is not None:
            self.unsent_bytes -= len(item.line)
        item.was_sent = True

    def done(self, item: Item) -> None:
        """Drop an item that is done."""
        if self._unsent.pop(item.number, None) is not None:
            self.unsent_bytes -= len(item.line)
        self._all.pop(item.number, None)

    def unsent(self) -> list[Item]:
        """Return what has not been sent over this link, in order."""
        return list(self._unsent.values())

    def unlink(self) -> None:
        """Note that the link is gone: everything not done is to be sent again."""
        self._unsent = dict(sorted(self._all.items()))
        self.unsent_bytes = sum(len(item.line) for item in self._unsent.values())

    def request(self, request: bytes) -> Item | None:
        """Return the open request with this id of the editor."""
        return next((item for item in self._all.values() if item.request == request), None)


META = "lastword"
_MARK = b'"lastword"'


def members_of(raw: bytes | Raw | None) -> dict[str, Raw]:
    """Return an object's members with their values undecoded; none of anything else.

    An object that is nested too deeply has none either.
    """
    with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
        return raw_members(None if raw is None else Raw(raw))
    # Half a character, as of an emoji that was cut in two, has an escape that msgspec refuses.
    return {
        name.encode(errors="replace").decode(): Raw(jsonrpc.dumps(value))
        for name, value in object_of(jsonrpc.loads(raw or b"")).items()
    }


def greeting(frame: Frame, number: int, viewer: str, secret: str) -> bytes:
    """Return the editor's `initialize` for the gateway, with cursors and the earlier viewer."""
    ours = {"replay": 1} | ({"viewer": viewer, "secret": secret} if viewer else {})
    return _with_ours(jsonrpc.with_id(frame, b"%d" % number), ours)


def from_cursor(line: bytes, cursor: Cursor) -> bytes:
    """Return a request that attaches, beginning at this position."""
    return _with_ours(line, {"after": {"epoch": cursor.epoch, "seq": cursor.seq}})


def with_compact_past(line: bytes) -> bytes:
    """Return a request that attaches, with a compact past unless the editor chose."""
    if META in members_of(members_of(members_of(line).get("params")).get("_meta")):
        return line
    return _with_ours(line, {"replay": "compact"})


def _with_ours(line: bytes, ours: dict[str, Any]) -> bytes:
    meta = members_of(members_of(members_of(line).get("params")).get("_meta"))
    return with_param(line, "_meta", meta | {META: ours})


def stripped(line: bytes, member: str) -> tuple[bytes, dict[str, Any]]:
    """Return a frame without the gateway's facts, and those facts.

    Args:
        line: The frame.
        member: Where the facts are: `params` or `result`.
    """
    if _MARK not in line:
        return line, {}
    members = members_of(line)
    inner = members_of(members.get(member))
    meta = members_of(inner.get("_meta"))
    ours = meta.pop(META, None)
    if ours is None:
        return line, {}
    if meta:
        inner["_meta"] = Raw(msgspec.json.encode(meta))
    else:
        del inner["_meta"]
    members[member] = Raw(msgspec.json.encode(inner))
    return msgspec.json.encode(members), object_of(jsonrpc.loads(ours))


def count_of(value: object) -> int:
    """Return a value that is a whole number, and 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def with_id(line: bytes, request_id: bytes) -> bytes:
    """Return the line with another id."""
    frame = jsonrpc.decode(line)
    return jsonrpc.with_id(frame, request_id) if isinstance(frame, jsonrpc.Frame) else line


def folder_of(line: bytes) -> dict[str, Raw]:
    """Return what a request says about where its session works, unchanged."""
    params = members_of(members_of(line).get("params"))
    names = ("cwd", "mcpServers", "additionalDirectories")
    return {name: params[name] for name in names if name in params}


def attach_request(session_id: str, folder: Mapping[str, Raw], method: str, number: int) -> bytes:
    """Return a request of the connector's own that attaches a session."""
    params = {"sessionId": session_id, "mcpServers": []} | dict(folder)
    return jsonrpc.request(b"%d" % number, method, params)


def with_param(line: bytes, name: str, value: dict[str, Any]) -> bytes:
    """Return the line with one more member in its params, unless it is too deep to be read."""
    members = members_of(line)
    if not members:
        return line
    params = members_of(members.get("params"))
    params[name] = Raw(msgspec.json.encode(value))
    members["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(members)


def with_result(line: bytes, name: str, value: str) -> bytes:
    """Return the line with one more member in its result, in first place."""
    members = members_of(line)
    result = {name: Raw(msgspec.json.encode(value))} | members_of(members.get("result"))
    members["result"] = Raw(msgspec.json.encode(result))
    return msgspec.json.encode(members)


MAX_SESSIONS = 64
"""Sessions that one probe reports; the gateway keeps no more positions."""


class Probes:
    """The probes over all links, one link after the other."""

    def __init__(self, items: Items) -> None:
        """Number them in the same sequence as the editor's messages."""
        self._items = items
        self._sent = (0, 0.0)
        """The number of the probe that is measured, and when it was sent."""
        self._rtt_ms: float | None = None

    def requests(self, positions: Iterable[Position], now: float) -> list[bytes]:
        """Ping, and report the editor's position in each attached session.

        The duration of the last one is reported once, so that it is counted once.
        """
        attached = [position for position in positions if position.attached][:MAX_SESSIONS]
        params_of_each: list[dict[str, Any]] = [
            {"sessionId": position.session_id, "seq": position.seq} for position in attached
        ] or [{}]
        if self._rtt_ms is not None:
            params_of_each[0]["rttMs"], self._rtt_ms = self._rtt_ms, None
        numbers = [self._items.next_number() for _ in params_of_each]
        self._sent = (numbers[0], now)
        return [
            jsonrpc.request(b"%d" % number, "_lastword/ping", params)
            for number, params in zip(numbers, params_of_each, strict=True)
        ]

    def is_answer(self, number: int, now: float) -> bool:
        """Return whether an answer with this number ends the measured probe."""
        sent, at = self._sent
        if not number or number != sent:
            return False
        self._sent = (0, 0.0)
        self._rtt_ms = round((now - at) * 1000, 3)
        return True

    def unlink(self) -> None:
        """Note that the link is gone, and the answer with it."""
        self._sent = (0, 0.0)


MAX_ANSWERS = 256
"""Answers that may be sent again over the next link."""


class Questions:
    """The questions in one editor."""

    def __init__(self, items: Items) -> None:
        self._items = items
        self._open: dict[bytes, str | None] = {}

    def receive(self, frame: Frame, line: bytes, question: bytes) -> list[ConnectEffect]:
        """Receive a question: the editor has seen it, has answered it, or is shown it now."""
        answer = self._answer_to(question)
        if answer is not None:
            return [ToGateway(answer.line)]
        if question in self._open:
            return []
        self._open[question] = frame.message.session_id
        return [ToEditor(line)]

    def answered(self, frame: Frame) -> bool:
        """Receive the editor's answer; return whether it answers a question."""
        question = frame.message.request_id or b""
        if question not in self._open:
            return False
        session_id = self._open.pop(question)
        repeated = [item for item in self._items if item.answers is not None and item.was_sent]
        if len(repeated) >= MAX_ANSWERS:
            self._items.done(repeated[0])
        number = self._items.next_number()
        self._items.add(Item(number, frame.line, session_id=session_id, answers=question))
        return True

    def withdrawn(self, line: bytes, question: bytes) -> list[ConnectEffect]:
        """Note that the question needs no answer any more."""
        answer = self._answer_to(question)
        if answer is not None:
            self._items.done(answer)
        if question not in self._open:
            return []
        del self._open[question]
        return [ToEditor(line)]

    def _answer_to(self, question: bytes) -> Item | None:
        return next((item for item in self._items if item.answers == question), None)


class ToEditor(msgspec.Struct, frozen=True):
    """Write this line to the editor. The connector counts it as written."""

    line: bytes


class ToGateway(msgspec.Struct, frozen=True):
    """Send this frame to the gateway, over the open link."""

    line: bytes


class Greeted(msgspec.Struct, frozen=True):
    """The link is ready: every session is attached again.

    Attributes:
        updates: the number of past frames that came since it opened.
    """

    updates: int


class NotGreeted(msgspec.Struct, frozen=True):
    """The link is open but cannot be used now."""


class Dial(msgspec.Struct, frozen=True):
    """Connect, unless that is under way: somebody is waiting for the gateway."""


class HangUp(msgspec.Struct, frozen=True):
    """Close the link, which nobody needs until the next `Dial`."""


class Say(msgspec.Struct, frozen=True):
    """Print a line on stderr."""

    line: str


class OwnError(msgspec.Struct, frozen=True):
    """Report to the gateway, once that is possible, an error that affected a session.

    Attributes:
        word: one of `protocol/words.json`.
        session_id: the session's id.
    """

    word: str
    session_id: str


ConnectEffect: TypeAlias = (
    ToEditor | ToGateway | Greeted | NotGreeted | Dial | HangUp | Say | OwnError
)
