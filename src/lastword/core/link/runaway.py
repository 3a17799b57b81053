"""Runaways: an agent that says or asks for the very same thing again and again.

Owns the count for each session, and when it is too much. `core.link.ending` acts on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from lastword.core.link.facts import text_of
from lastword.core.protocol import acp

if TYPE_CHECKING:
    from lastword.core.protocol.jsonrpc import Update

MAX_REPEATS = 50
"""The same chunk, or one tool with the same input, so often in a row: an agent in a loop. One was
measured to send the same request 966 times in two minutes."""

MIN_CHARS = 20
"""Shorter chunks repeat in honest output (a table's cells, a ruler of dashes)."""

NEAR = MAX_REPEATS - 2
"""From here on every repetition is looked at closely."""


def is_short(update: Update) -> bool:
    """Return whether this chunk is short enough to be repeated without limit."""
    return len(text_of(update) or "") < MIN_CHARS


class Repetition:
    """How often in a row one session's agent has done the same thing."""

    __slots__ = ("_tool_before", "_tool_last", "_tool_repeats", "_tool_shown", "content", "repeats")

    def __init__(self) -> None:
        self.content: object = None
        """The last chunk's content, as it came."""
        self.repeats: int = 0
        self._tool_last: tuple[str | None, object] = (None, None)
        self._tool_repeats = 0
        self._tool_before: tuple[object, int] = (None, 0)
        """What the call before the last asked for, and how often in a row that had been asked."""
        self._tool_shown: tuple[object, ...] = ()
        """What was last told of a call without an input."""

    def went_on(self, content: object, repeats: int) -> None:
        """Take in the result of a run of chunks: the content of the last, and its count."""
        if content != self.content:
            self._other_than_tools()
        self.content, self.repeats = content, repeats

    def is_too_much(self, update: Update) -> bool:
        """Take in an update; return whether it is one repetition too many."""
        if update.session_update in acp.TOOL_KINDS:
            return self.is_tool_too_much(update)
        if update.content is UNSET:
            if update.session_update in acp.SHOWN_KINDS:
                self._other_than_text()
                self._other_than_tools()
            return False
        if update.content != self.content:
            self._other_than_tools()
            self.content, self.repeats = update.content, 0
            return False
        self.repeats += 1
        return self.repeats >= MAX_REPEATS - 1 and not is_short(update)

    @property
    def tool_near(self) -> bool:
        """Return whether the next call may be one too many."""
        return max(self._tool_repeats, self._tool_before[1]) >= NEAR

    def is_tool_too_much(self, update: Update) -> bool:
        """Take in a tool call; return whether too many in a row ask for the very same thing."""
        if update.raw_input is UNSET:
            self._other_call(update)
            return False
        tool_call_id, last = self._tool_last
        if update.tool_call_id != tool_call_id:
            self._tool_before = (last, self._tool_repeats)
        # Agents open a call with an empty input and send the real one later: the latest counts.
        request = (update.title, bytes(update.raw_input))
        self._tool_last = (update.tool_call_id, request)
        before, repeats = self._tool_before
        self._tool_repeats = repeats + 1 if request == before else 0
        if self._tool_repeats == 0:
            self._other_than_text()
        return self._tool_repeats >= MAX_REPEATS - 1

    def _other_call(self, update: Update) -> None:
        """Take in a call with unknown input, which may ask for anything."""
        shown = (update.tool_call_id, update.title, update.status)
        if update.tool_call_id != self._tool_last[0] and shown != self._tool_shown:
            self.repeats = 0
        self._tool_shown = shown

    # "In a row" means that nothing new is shown in between. A repetition is nothing new: an agent
    # in a loop may well say the same thing between two identical calls.

    def _other_than_text(self) -> None:
        self.content, self.repeats = None, 0

    def _other_than_tools(self) -> None:
        self._tool_repeats, self._tool_before = 0, (None, 0)

    def forget(self) -> None:
        """Forget the counts, since the turns are over."""
        self.repeats = self._tool_repeats = 0
        self._tool_before = (None, 0)
