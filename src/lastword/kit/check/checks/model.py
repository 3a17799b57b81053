"""A check, and its finding.

Owns the table of checks, which the modules beside this one fill, and how a check reaches its
verdict. It defines no check itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING

from lastword.core.redact.redactor import Redactor
from lastword.kit.check.probes import ACTS, Played
from lastword.kit.check.stage import NotApplicableError, UnreachedError, blame
from lastword.kit.provider.server import API_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lastword.kit.check.stage import Transcript
    from lastword.kit.peer import PeerEvent

    Judge = Callable[[Sequence[Transcript]], "Finding"]

SHOWN_CHARACTERS = 160
FULL_CHARACTERS = 4000
STDERR_LINES = 20

_redact = Redactor(values=(API_KEY,))


class CheckVerdict(StrEnum):
    """The result of a check."""

    PASS = "pass"  # noqa: S105  (no password)
    WARN = "warn"
    """Something that SHOULD be is not."""
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    """The agent has not claimed it."""
    UNREACHED = "unreached"
    """The situation could not be produced."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict and what it rests on.

    Attributes:
        verdict: What came of it.
        evidence: One line: what was seen, or why nothing was.
        frames: The lines that prove it, redacted.
        stderr: What the agent wrote to stderr meanwhile, redacted.
        fault_of: Whose fault it is, where that is known.
        events: The lines, as they passed.
    """

    verdict: CheckVerdict
    evidence: str = ""
    frames: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()
    fault_of: str = ""
    events: tuple[PeerEvent, ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: Its name; unique.
        requirement: The id in `protocol/requirements.json`.
        title: What is required.
        mend: What a client lives through where it is not, and how to mend it.
        in_front: What `lastword run` does about it, as part of a sentence; empty for nothing.
        acts: The acts whose transcripts it needs; those that could not be played are left out.
        judge: Gives the finding on the transcripts.
        partial: Whether it also looks at acts that were not completed.
    """

    name: str
    requirement: str
    title: str
    mend: str
    acts: tuple[str, ...]
    judge: Judge
    partial: bool = False
    in_front: str = ""

    def advice(self, *, is_in_front: bool) -> str:
        """Return how to mend it; `lastword run` is not advised if it is there already."""
        more = f" {self.in_front[0].upper()}{self.in_front[1:]}." if self.in_front else ""
        return self.mend if is_in_front else self.mend + more

    def find(self, played: Mapping[str, Played]) -> Finding:
        """Return the finding on acts that are over, with what stood beside it."""
        acts = [played[name].transcript for name in self.acts if name in played]
        return in_context(self, self._judged(played), acts)

    def _judged(self, played: Mapping[str, Played]) -> Finding:
        acts = [played[name] for name in self.acts if name in played]
        missed = [act for act in acts if act.unreached or act.not_applicable]
        transcripts = [a.transcript for a in acts if self.partial or a not in missed]
        if transcripts and not all(act.not_applicable for act in acts):
            try:
                return self.judge(transcripts)
            except NotApplicableError as error:
                return Finding(CheckVerdict.NOT_APPLICABLE, str(error))
            except UnreachedError as error:
                return Finding(CheckVerdict.UNREACHED, str(error))
        for act in missed:
            if act.not_applicable:
                return Finding(CheckVerdict.NOT_APPLICABLE, act.not_applicable)
        return Finding(
            CheckVerdict.UNREACHED, missed[0].unreached if missed else "the act was not played"
        )


TABLE: dict[str, Check] = {}
"""Every check, in the order in which the modules are loaded."""

EVERY_ACT = tuple(ACTS)
FAILING = tuple(name for name in ACTS if name.startswith("fail:"))


def check(  # noqa: PLR0913  (a row of the table)
    name: str,
    requirement: str,
    title: str,
    *,
    acts: tuple[str, ...],
    mend: str,
    partial: bool = False,
    in_front: str = "",
) -> Callable[[Judge], Judge]:
    """Enter a function into the table."""

    def enter(judge: Judge) -> Judge:
        assert name not in TABLE, name  # noqa: S101  (a mistake in this package)
        TABLE[name] = Check(name, requirement, title, mend, acts, judge, partial, in_front)
        return judge

    return enter


def passed(evidence: str = "") -> Finding:
    """Return a finding that the requirement is met."""
    return Finding(CheckVerdict.PASS, evidence)


def failed(evidence: str, *events: PeerEvent | None) -> Finding:
    """Return a finding that it is not met, with the lines that prove it."""
    return _on(CheckVerdict.FAIL, evidence, events)


def warned(evidence: str, *events: PeerEvent | None) -> Finding:
    """Return a finding that it is not fully met."""
    return _on(CheckVerdict.WARN, evidence, events)


def _on(verdict: CheckVerdict, evidence: str, events: Sequence[PeerEvent | None]) -> Finding:
    given = tuple(event for event in events if event is not None)
    return Finding(verdict, evidence, shown(*given), events=given)


def in_context(row: Check, finding: Finding, acts: Sequence[Transcript]) -> Finding:
    """Return a finding with the request that got no answer, stderr, and whose fault it is."""
    if finding.verdict not in {CheckVerdict.FAIL, CheckVerdict.WARN}:
        return finding
    events = finding.events
    if not events and "answer" in finding.evidence:
        named = [act for act in acts if f"(act {act.name})" in finding.evidence]
        missing = filter(None, (act.unanswered() for act in named or acts))
        events = tuple(islice(missing, 1))
    stderr: tuple[str, ...] = ()
    for act in acts:
        if events and any(event is events[-1] for event in act.events):
            first = next(event for event in act.events if any(event is each for each in events))
            lines = act.stderr_beside(first, events[-1]).decode("utf-8", "replace").splitlines()
            stderr = tuple(_redact(line)[:SHOWN_CHARACTERS] for line in lines if line.strip())
    sdk = next((act.sdk for act in acts if act.sdk), None)
    return replace(
        finding,
        frames=finding.frames or shown(*events),
        stderr=stderr[-STDERR_LINES:],
        fault_of=blame(row.name, sdk) if sdk else "",
    )


def shown(*events: PeerEvent | None) -> tuple[str, ...]:
    """Return lines as they may be shown: redacted, with the way they went."""
    return tuple(
        ("→ " if event.sent else "← ") + quoted(event.raw, FULL_CHARACTERS)
        for event in events
        if event is not None
    )


def quoted(raw: bytes, characters: int = SHOWN_CHARACTERS) -> str:
    """Return a line, redacted and cut."""
    text = _redact(raw.decode("utf-8", "backslashreplace"))
    return text if len(text) <= characters else text[: characters - 1] + "…"
