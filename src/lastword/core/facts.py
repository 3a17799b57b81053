"""What has happened in a turn so far, and what follows from it: its phase, and retry-safety.

Owns the counting. Every fact is read off frames that passed; what cannot be known from them is
taken as unsafe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core import acp
from lastword.core.taxonomy import Phase, RetrySafety

if TYPE_CHECKING:
    from lastword.core.jsonrpc import Update

MAX_OPEN_TOOLS = 4096
"""Tool calls remembered as open in one session. Real turns have a few; the bound is for madness."""


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


class Facts:
    """One turn's facts."""

    __slots__ = (
        "own_tools",
        "plan",
        "shown",
        "text",
        "thought",
        "tool_ran",
        "tool_seen",
        "unsafe_tool",
    )

    def __init__(self) -> None:
        self.shown = False
        """Something that a person sees came."""
        self.text = False
        self.thought = False
        self.plan = False
        self.tool_seen = False
        self.tool_ran = False
        self.unsafe_tool = False
        """A tool that may have side effects was started."""
        self.own_tools = 0
        """Tools at work that the handler itself told of, beside those on the wire."""

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

    def phase(self, *, tool_running: bool) -> Phase:
        """How far the turn has come."""
        if tool_running or self.own_tools:
            return Phase.TOOL_RUNNING
        if self.tool_ran:
            return Phase.AFTER_TOOL
        if self.text or self.tool_seen:
            return Phase.MID_OUTPUT
        return Phase.BEFORE_OUTPUT

    def retry_safety(self, *, retryable: bool) -> RetrySafety:
        """Would sending the prompt again do harm?"""
        if not retryable:
            return RetrySafety.NEVER
        if self.tool_ran:
            return RetrySafety.ASK
        if self.text or self.thought or self.tool_seen:
            return RetrySafety.OFFER_CONTINUE
        return RetrySafety.AUTO
