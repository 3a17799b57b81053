"""One finding of the doctor's: what was looked at, how it is, and what to do."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Health(StrEnum):
    """How it is. Only a problem makes the doctor's exit status 1."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


class Observation(msgspec.Struct, frozen=True):
    """One finding.

    Attributes:
        step: What was looked at, in a word or two.
        verdict: How it is.
        says: What was found, in one sentence.
        action: What to do about it; empty where there is nothing to be done.
        facts: What a machine may want of it.
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
    """Find that all is well."""
    return Observation(step, Health.OK, sentence, "", facts)


def note(step: str, sentence: str, action: str = "", /, **facts: Any) -> Observation:
    """Find what is worth knowing, and no problem with lastword in front."""
    return Observation(step, Health.NOTE, sentence, action, facts)


def problem(step: str, sentence: str, action: str, /, **facts: Any) -> Observation:
    """Find that it does not work like this."""
    return Observation(step, Health.PROBLEM, sentence, action, facts)
