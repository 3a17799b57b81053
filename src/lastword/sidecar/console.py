"""The console: lastword's own messages on stderr.

Owns these messages. They are ordered with the agent's own stderr output, and never block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.redact.printable import one_line
from lastword.core.timeline.entry import Kind
from lastword.platform.framing import StderrWriter

if TYPE_CHECKING:
    from lastword.core.timeline.entry import Entry


_MODELS = {
    "not_offered": "the agent does not offer the model {model}: --fallback-model skips it",
    "no_models": "the agent offers no choice of models, so --fallback-model has no effect",
    "not_restored": "the agent does not go back to the model {model}",
}
"""What is said of a session's models, by the outcome in the entry."""


class Console:
    """Writes messages to the stderr to which the agent's is passed on."""

    __slots__ = ("_verbose", "stderr")

    def __init__(self, *, verbose: bool) -> None:
        self.stderr: StderrWriter = StderrWriter(2)
        self._verbose = verbose

    def say(self, sentence: str) -> None:
        self.stderr.write(f"lastword: {one_line(sentence)}\n".encode(errors="replace"))

    def record(self, entry: Entry) -> None:
        """Describe an event, if the output is verbose or the user has to know of it."""
        if entry.kind is Kind.MODEL_SWITCH and entry.facts["outcome"] in _MODELS:
            sentence = _MODELS[entry.facts["outcome"]]
            self.say(sentence.format(model=entry.facts.get("to_model")))
        if self._verbose:
            shown = {"session": entry.session_id} | entry.facts
            facts = [f"{key}={value}" for key, value in shown.items() if value is not None]
            self.say(" ".join([entry.kind.value, *facts]))

    def report(self, error: Exception) -> None:
        self.say(
            f"a bug in lastword ({type(error).__name__}: {error}); from now on messages pass "
            "through unchanged. Please report it."
        )
