"""Facts of a turn: what has happened in it so far.

Owns the counting. Every fact is read from frames that passed; what is not known to be harmless is
assumed to be unsafe. `core.failure.safety` draws the conclusions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from lastword.core.failure.safety import TurnFacts
from lastword.core.protocol import acp, jsonrpc

if TYPE_CHECKING:
    from lastword.core.failure.taxonomy import Phase, RetrySafety
    from lastword.core.protocol.jsonrpc import Envelope, Update

MAX_TITLE_CHARS = 200
"""What is kept of a tool call's title."""

MAX_OPEN_TOOLS = 4096
"""Tool calls remembered as open in one session. Real turns have a few; the bound is for madness."""

_FORBIDS = frozenset({"cancelled", "reject_once", "reject_always"})
"""Outcomes of a request for permission after which a tool does not run."""


def text_of(update: Update) -> str | None:
    """Return the text of a chunk, if it has one."""
    return _text_in(jsonrpc.loads(update.content))


def purpose_of(message: Envelope) -> str:
    """Return a message's method; for an MCP server's message, with the method within it."""
    method = message.method or ""
    if method != acp.MCP_MESSAGE or message.params is UNSET:
        return method
    return f"{method} {jsonrpc.loads(message.params.method)}"


def content_text(content: object) -> str:
    """Return the text of a chunk's content, given as JSON; empty if it has none."""
    return _text_in(jsonrpc.loads(content) if isinstance(content, Raw) else None) or ""


def _text_in(content: Any) -> str | None:
    text = content.get("text") if isinstance(content, dict) else None
    return text if isinstance(text, str) else None


class RunningTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that is running.

    Attributes:
        call_id: its id.
        kind: its kind; empty if unknown.
        title: its title, as far as it is kept.
        since: since when it runs.
    """

    call_id: str
    kind: str
    title: str | None
    since: float


class OpenTools:
    """A session's unfinished tool calls, by id, with their kinds."""

    __slots__ = ("_began", "_kinds", "_titles", "ended_at")

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._began: dict[str, float] = {}
        """Since when those run that are no longer being written by the model."""
        self._titles: dict[str, str] = {}
        self.ended_at: float = -math.inf
        """When the last of them ended."""

    def __bool__(self) -> bool:
        return bool(self._kinds)

    @property
    def running(self) -> bool:
        """Return whether any of them is running, rather than still being written by the model."""
        return bool(self._began)

    def longest(self) -> RunningTool | None:
        """Return the call that has been running longest, if any is."""
        if not self._began:
            return None
        call_id = min(self._began, key=self._began.__getitem__)
        return RunningTool(
            call_id=call_id,
            kind=self._kinds[call_id],
            title=self._titles.get(call_id),
            since=self._began[call_id],
        )

    def title_of(self, tool_call_id: object) -> str | None:
        """Return the title of an open call."""
        return self._titles.get(tool_call_id) if isinstance(tool_call_id, str) else None

    def knows(self, update: Update) -> bool:
        """Return whether this update is about an open call."""
        return update.tool_call_id in self._kinds

    def note(self, update: Update, now: float = -math.inf) -> str:
        """Take in the update of a tool call; return the call's kind (`""` if unknown)."""
        tool_call_id = update.tool_call_id
        if tool_call_id is None:
            return update.kind or ""
        kind = update.kind or self._kinds.get(tool_call_id, "")
        if update.status is not None and update.status not in acp.OPEN_TOOL:
            self._kinds.pop(tool_call_id, None)
            self._began.pop(tool_call_id, None)
            self._titles.pop(tool_call_id, None)
            self.ended_at = now
        elif len(self._kinds) < MAX_OPEN_TOOLS:
            self._kinds[tool_call_id] = kind
            if update.title:
                self._titles[tool_call_id] = update.title[:MAX_TITLE_CHARS]
            if update.status == "pending":
                self._began.pop(tool_call_id, None)
            elif update.status is not None:
                self._began.setdefault(tool_call_id, now)
        return kind

    def drain(self) -> list[str]:
        """Return the ids of the open calls, and forget them."""
        ids = list(self._kinds)
        self._kinds.clear()
        self._began.clear()
        self._titles.clear()
        return ids


class Facts(msgspec.Struct):
    """One turn's facts.

    Attributes:
        shown: something that a person sees arrived.
        had_question: the user was asked something, and may have ended the turn by the answer.
        text: a piece of the agent's message arrived.
        thought: a piece of its thoughts arrived.
        tool_called: a tool call was reported.
        tool_ran: a tool was started.
        unsafe_tool: a tool that may have side effects was started.
        own_tools: running tools that the handler itself reported, besides those on the wire.
        begun: something besides this session's tool calls may have happened: a message that is not
            known to be harmless, a tool that the user allowed, or work in a session that the
            client never opened.
    """

    shown: bool = False
    had_question: bool = False
    text: bool = False
    thought: bool = False
    tool_called: bool = False
    tool_ran: bool = False
    unsafe_tool: bool = False
    own_tools: int = 0
    begun: bool = False

    @property
    def output(self) -> bool:
        """Return whether the turn produced output: text, or a tool call."""
        return self.text or self.tool_called

    def note(self, update: Update, tool_kind: str = "") -> None:
        """Take in an update; `tool_kind` is the known kind of its tool call."""
        kind = update.session_update
        if kind in acp.SHOWN_KINDS:
            self.shown = True
        if kind in acp.TEXT_KINDS:
            self.text = True
        elif kind in acp.THOUGHT_KINDS:
            self.thought = True
        elif kind in acp.TOOL_KINDS:
            self.tool_called = True
            if update.status not in acp.NOT_STARTED_TOOL:
                self._tool_started(safe=tool_kind in acp.READ_ONLY_TOOLS)
        elif kind not in acp.HARMLESS_KINDS:
            self.begun = True

    def note_message(self, method: str | None) -> None:
        """Take in a request or a notification from the agent, except an update, by its purpose.

        Without one, it could not be read.
        """
        if method in acp.USER_REQUESTS or method in acp.HAS_SIDE_EFFECTS:
            self.shown = True
        if method in acp.USER_REQUESTS:
            self.had_question = True
        if method in acp.HAS_SIDE_EFFECTS:
            self.tool_called = True
            self._tool_started(safe=False)
        elif method not in acp.HARMLESS_METHODS:
            self.begun = True

    def note_elsewhere(self, update: Update) -> None:
        """Take in an update of a session that the client never opened, such as a sub-agent's."""
        kind = update.session_update
        if kind not in acp.HARMLESS_KINDS or (kind in acp.SHOWN_KINDS and text_of(update) != ""):
            self.begun = True

    def note_permission(self, outcome: str) -> None:
        """Take in how the user answered a request for permission: a tool may run after it."""
        if outcome not in _FORBIDS:
            self.begun = True

    def note_output(self) -> None:
        """Take in that the user saw something that did not pass here."""
        self.shown = self.text = True

    def note_tool(self, *, safe: bool) -> None:
        """Take in that a tool was started that did not pass here."""
        self.tool_called = True
        self.own_tools += 1
        self._tool_started(safe=safe)

    def note_tool_finished(self) -> None:
        """Take in that such a tool has finished."""
        self.own_tools = max(self.own_tools - 1, 0)

    def _tool_started(self, *, safe: bool) -> None:
        self.tool_ran = True
        if not safe:
            self.unsafe_tool = True

    def after(self, earlier: Facts) -> Facts:
        """Return these facts together with those of earlier work on the same turn."""
        either = {
            name: getattr(self, name) or getattr(earlier, name)
            for name in self.__struct_fields__
            if name != "own_tools"
        }
        return msgspec.structs.replace(self, **either)

    def without_text(self) -> Facts:
        """Return the same facts without the agent's text, which was the error itself."""
        return msgspec.structs.replace(self, text=False, shown=False)

    def phase(self, *, tool_running: bool) -> Phase:
        """Return how far the turn has come."""
        return self._summary(tool_running=tool_running or self.own_tools > 0).phase

    def retry_safety(self, *, retryable: bool) -> RetrySafety:
        """Return whether sending the prompt again would do harm."""
        return self._summary().retry_safety(retryable=retryable)

    def _summary(self, *, tool_running: bool = False) -> TurnFacts:
        """Return the facts as values; that a request was sent to a provider is assumed."""
        return TurnFacts(
            text=self.text,
            thought=self.thought,
            tool_called=self.tool_called,
            tool_ran=self.tool_ran,
            unsafe_tool=self.unsafe_tool,
            tool_running=tool_running,
            provider_tools=self.begun,
        )
