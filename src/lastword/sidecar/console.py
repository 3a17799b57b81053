"""The console: what lastword itself says, on stderr.

Owns our sentences there: in line with what the agent writes to its own stderr, and never blocking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.redact.printable import one_line
from lastword.posix.framing import StderrWriter

if TYPE_CHECKING:
    from lastword.core.timeline.entry import Entry


class Console:
    """Says sentences on the stderr that the agent's is passed on to."""

    __slots__ = ("_verbose", "stderr")

    def __init__(self, *, verbose: bool) -> None:
        self.stderr: StderrWriter = StderrWriter(2)
        self._verbose = verbose

    def say(self, sentence: str) -> None:
        """Say a sentence."""
        self.stderr.write(f"lastword: {one_line(sentence)}\n".encode(errors="replace"))

    def record(self, entry: Entry) -> None:
        """Tell of what happened, where somebody asked to be told."""
        if self._verbose:
            known = {"session": entry.session_id} | entry.facts
            facts = [f"{key}={value}" for key, value in known.items() if value is not None]
            self.say(" ".join([entry.kind.value, *facts]))

    def report(self, error: Exception) -> None:
        """Tell of a bug of ours."""
        self.say(
            f"a bug in lastword ({type(error).__name__}: {error}); from now on messages pass "
            "through unchanged. Please report it."
        )
