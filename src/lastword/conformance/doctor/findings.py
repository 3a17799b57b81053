"""One finding of the doctor's: what was looked at, how it is, and what to do."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Verdict(StrEnum):
    """How it is. Only a problem makes the doctor's exit status 1."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


class Finding(msgspec.Struct, frozen=True):
    """One finding.

    Attributes:
        step: What was looked at, in a word or two.
        verdict: How it is.
        says: What was found, in one sentence.
        action: What to do about it; empty where there is nothing to be done.
        facts: What a machine may want of it.
    """

    step: str
    verdict: Verdict
    says: str
    action: str = ""
    facts: dict[str, Any] = {}

    def told(self) -> dict[str, Any]:
        """The finding for a machine."""
        return {
            "step": self.step,
            "verdict": self.verdict.value,
            "says": self.says,
            **({"do": self.action} if self.action else {}),
            **({"facts": self.facts} if self.facts else {}),
        }


def ok(step: str, says: str, /, **facts: Any) -> Finding:
    """All is well."""
    return Finding(step, Verdict.OK, says, "", facts)


def note(step: str, says: str, action: str = "", /, **facts: Any) -> Finding:
    """Worth knowing, and no problem with lastword in front."""
    return Finding(step, Verdict.NOTE, says, action, facts)


def problem(step: str, says: str, action: str, /, **facts: Any) -> Finding:
    """It does not work like this."""
    return Finding(step, Verdict.PROBLEM, says, action, facts)
