"""`lastword doctor`: whether an agent starts here, what it can do, and what clients would get.

There is one module for each question: the command, the conversation, its diagnosis, the clients,
and lastword's own surroundings. Each returns findings, whose shape is here; none prints.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Health(StrEnum):
    """The result. Only a problem makes the doctor's exit status 1."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


class Observation(msgspec.Struct, frozen=True):
    """One finding.

    Attributes:
        step: What was examined, in a word or two.
        verdict: The result.
        sentence: The finding, in one sentence.
        action: What to do about it; empty where there is nothing to be done.
        facts: The details, for programs.
    """

    step: str
    verdict: Health
    sentence: str
    action: str = ""
    facts: dict[str, Any] = {}

    def as_json(self) -> dict[str, Any]:
        """Return the finding for a machine; `says` and `do` are older names."""
        return {
            "step": self.step,
            "verdict": self.verdict.value,
            "sentence": self.sentence,
            "says": self.sentence,
            **({"advice": self.action, "do": self.action} if self.action else {}),
            **({"facts": self.facts} if self.facts else {}),
        }


def ok(step: str, sentence: str, /, **facts: Any) -> Observation:
    """Return a finding without a problem."""
    return Observation(step, Health.OK, sentence, "", facts)


def note(step: str, sentence: str, action: str = "", /, **facts: Any) -> Observation:
    """Return a finding that is worth knowing, but not a problem behind lastword."""
    return Observation(step, Health.NOTE, sentence, action, facts)


def problem(step: str, sentence: str, action: str, /, **facts: Any) -> Observation:
    """Return a finding that must be fixed."""
    return Observation(step, Health.PROBLEM, sentence, action, facts)
