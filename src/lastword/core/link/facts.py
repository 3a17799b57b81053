"""Facts of a turn: what has happened in it so far.

Owns the counting. Every fact is read off frames that passed; what cannot be known from them is
taken as unsafe. What follows from them is `core.failure.safety`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from lastword.core.failure.safety import TurnFacts
from lastword.core.protocol import acp, jsonrpc

if TYPE_CHECKING:
    from lastword.core.failure.taxonomy import Phase, RetrySafety
    from lastword.core.protocol.jsonrpc import Update

MAX_OPEN_TOOLS = 4096
"""Tool calls remembered as open in one session. Real turns have a few; the bound is for madness."""


def text_of(update: Update) -> str | None:
    """The text of a chunk, where it has one."""
    return _text_in(jsonrpc.loads(update.content))


def content_text(content: object) -> str:
    """The text of a chunk's content as it came (JSON); empty where it has none."""
    return _text_in(jsonrpc.loads(content) if isinstance(content, Raw) else None) or ""


def _text_in(content: Any) -> str | None:
    text = content.get("text") if isinstance(content, dict) else None
    return text if isinstance(text, str) else None


class OpenTools:
    """A session's tool calls that have not come to an end, by id, with their kinds."""

    __slots__ = ("_kinds", "_waiting")

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._waiting: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._kinds)

    @property
    def running(self) -> bool:
        """Is any of them at work, rather than still being written by the model?"""
        return len(self._kinds) > len(self._waiting)

    def knows(self, update: Update) -> bool:
        """Is the call that this update is about an open one?"""
        return update.tool_call_id in self._kinds

    def note(self, update: Update) -> str:
        """Take a tool call's update in; gives the call's kind (`""` when unknown)."""
        tool_call_id = update.tool_call_id
        if tool_call_id is None:
            return update.kind or ""
        kind = update.kind or self._kinds.get(tool_call_id, "")
        if update.status is not None and update.status not in acp.OPEN_TOOL:
            self._kinds.pop(tool_call_id, None)
            self._waiting.discard(tool_call_id)
        elif len(self._kinds) < MAX_OPEN_TOOLS:
            known = tool_call_id in self._kinds
            self._kinds[tool_call_id] = kind
            if update.status == "pending" or (update.status is None and not known):
                self._waiting.add(tool_call_id)
            elif update.status is not None:
                self._waiting.discard(tool_call_id)
        return kind

    def drain(self) -> list[str]:
        """The ids of the open calls; afterwards there are none."""
        ids = list(self._kinds)
        self._kinds.clear()
        self._waiting.clear()
        return ids


class Facts(msgspec.Struct):
    """One turn's facts.

    Attributes:
        shown: something that a person sees came.
        text: a piece of the agent's message came.
        thought: a piece of its thoughts did.
        tool_seen: it told of a tool call.
        tool_ran: a tool was started.
        unsafe_tool: one was started that may have side effects.
        own_tools: tools at work that the handler itself told of, beside those on the wire.
    """

    shown: bool = False
    text: bool = False
    thought: bool = False
    tool_seen: bool = False
    tool_ran: bool = False
    unsafe_tool: bool = False
    own_tools: int = 0

    @property
    def output(self) -> bool:
        """Text came, or a tool was seen: the turn left something behind."""
        return self.text or self.tool_seen

    def note(self, update: Update, tool_kind: str = "") -> None:
        """Take an update in; `tool_kind` is the kind that its tool call is known to have."""
        kind = update.session_update
        if kind in acp.SHOWN_KINDS:
            self.shown = True
        if kind in acp.TEXT_KINDS:
            self.text = True
        elif kind in acp.THOUGHT_KINDS:
            self.thought = True
        elif kind in acp.TOOL_KINDS:
            self.tool_seen = True
            if update.status in acp.STARTED_TOOL:
                self._tool_started(safe=tool_kind in acp.READ_ONLY_TOOLS)

    def note_request(self, method: str) -> None:
        """Take a request of the agent's to the client in."""
        if method in acp.ASKS_USER or method in acp.HAS_SIDE_EFFECTS:
            self.shown = True
        if method in acp.HAS_SIDE_EFFECTS:
            self.tool_seen = True
            self._tool_started(safe=False)

    def note_output(self) -> None:
        """Take in that the user saw something that did not pass here."""
        self.shown = self.text = True

    def note_tool(self, *, safe: bool) -> None:
        """Take in that a tool was started which did not pass here."""
        self.tool_seen = True
        self.own_tools += 1
        self._tool_started(safe=safe)

    def note_tool_finished(self) -> None:
        """Take in that such a tool came to its end."""
        self.own_tools = max(self.own_tools - 1, 0)

    def _tool_started(self, *, safe: bool) -> None:
        self.tool_ran = True
        if not safe:
            self.unsafe_tool = True

    def without_text(self) -> Facts:
        """The same, had the agent said nothing: what it said was the error itself."""
        return msgspec.structs.replace(self, text=False, shown=False)

    def phase(self, *, tool_running: bool) -> Phase:
        """How far the turn has come."""
        return self._known(tool_running=tool_running or self.own_tools > 0).phase

    def retry_safety(self, *, retryable: bool) -> RetrySafety:
        """Would sending the prompt again do harm?"""
        return self._known().retry_safety(retryable=retryable)

    def _known(self, *, tool_running: bool = False) -> TurnFacts:
        """The facts as values; that a request was sent to a provider is taken for granted."""
        return TurnFacts(
            text=self.text,
            thought=self.thought,
            tool_called=self.tool_seen,
            tool_ran=self.tool_ran,
            unsafe_tool=self.unsafe_tool,
            tool_running=tool_running,
        )
