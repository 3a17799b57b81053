"""Activity of an agent where no turn waits for it, or where only its answer is missing.

Owns the two words of `session_info_update._meta.lastword.session`: `active` and `quiet`. Sans-IO;
the link and a gateway's hub each have one for a session.
"""

from __future__ import annotations

from lastword.core.protocol import acp

QUIET_SECONDS = 10.0
"""Without an update for this long, an agent that had been at work is quiet."""

ACTIVE, QUIET = "active", "quiet"


class Activity:
    """What a session's agent does beside its turns.

    Attributes:
        word: `active` or `quiet`; empty while there is nothing to say.
        due: when it becomes quiet unless something is shown; `None` for never.
    """

    __slots__ = ("_had_turn", "_in_turn", "_speaks", "due", "word")

    def __init__(self) -> None:
        self.word: str = ""
        self.due: float | None = None
        self._in_turn = False
        self._had_turn = False
        self._speaks = False

    def begin_turn(self) -> None:
        """Note that a turn begins, which says itself that the agent is at work."""
        self.word, self.due = "", None
        self._in_turn = self._had_turn = True
        self._speaks = False

    def end_turn(self) -> None:
        """Note that no turn is open any more."""
        self.word, self.due = "", None
        self._in_turn = False

    def note(self, kind: str, now: float) -> bool:
        """Take in an update of a kind; return whether the word has changed."""
        if kind == "usage_update":
            # In a turn, the usage follows the last words.
            if self._in_turn and self._speaks and not self.word:
                self.due = now + QUIET_SECONDS
            return False
        if kind not in acp.SHOWN_KINDS:
            return False
        self._speaks = kind in acp.TEXT_KINDS
        if self._in_turn and not self.word:
            self.due = None
            return False
        return self._is_active(now)

    def _is_active(self, now: float) -> bool:
        if not self._had_turn:
            return False
        self.due = now + QUIET_SECONDS
        changes, self.word = self.word != ACTIVE, ACTIVE
        return changes

    def time_out(self, now: float) -> bool:
        """Return whether the agent has become quiet."""
        if self.due is None or self.due > now:
            return False
        self.word, self.due = QUIET, None
        return True

    def shift(self, seconds: float) -> None:
        """Shift its clock by the time that it stood still."""
        if self.due is not None:
            self.due += seconds
