"""Checks, and their findings.

Owns how a check reaches its verdict, and what several checks read from a failing turn, without
correcting anything. The checks are the rows of `checks.json`, in the order in which they are shown;
the modules beside this one have what judges them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastword.core.protocol import acp
from lastword.core.redact.redactor import Redactor
from lastword.kit.check.probes import ACTS, Played
from lastword.kit.check.stage import NotApplicableError, UnreachedError, blame
from lastword.kit.provider.server import API_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lastword.kit.check.stage import ObservedTurn, Transcript
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
        tck: The ids of the same in the official `acp-tck`; from 201 on they are of version 2.
    """

    name: str
    requirement: str
    title: str
    mend: str
    acts: tuple[str, ...]
    judge: Judge
    partial: bool = False
    in_front: str = ""
    tck: tuple[str, ...] = ()

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


JUDGES: dict[str, Judge] = {}
"""What judges each check, by its name."""

_ACTS = {
    "every": tuple(ACTS),
    "failing": tuple(name for name in ACTS if name.startswith("fail:")),
}
"""What single words among the acts in `checks.json` stand for."""


def judges(*names: str) -> Callable[[Judge], Judge]:
    """Have a function judge the checks of these names."""

    def enter(judge: Judge) -> Judge:
        JUDGES.update(dict.fromkeys(names, judge))
        return judge

    return enter


def read_checks() -> dict[str, Check]:
    """Return the rows of `checks.json` by name, once the modules beside this one are loaded."""
    rows = json.loads(Path(__file__).with_name("checks.json").read_bytes())
    for row in rows:
        row["tck"] = tuple(row.get("tck", ()))
        row["acts"] = tuple(act for word in row["acts"] for act in _ACTS.get(word, (word,)))
    return {row["name"]: Check(judge=JUDGES[row["name"]], **row) for row in rows}


def passed(evidence: str = "") -> Finding:
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


# --- what checks read from a turn

Payload = dict[str, Any]


def stop_reason(answer: PeerEvent | None) -> str | None:
    """Return the stop reason in a prompt's answer, `None` where there is none."""
    result = (answer.frame or {}).get("result") if answer else None
    if answer is not None and answer.kind == acp.STATE_UPDATE:
        result = answer.update
    reason = result.get("stopReason") if isinstance(result, dict) else None
    return reason if isinstance(reason, str | None) else repr(reason)


def missing_answer(act: Transcript, turn: ObservedTurn, since: str = "") -> str:
    """Return the sentence for a turn without an answer, with the time or the agent's exit."""
    if act.exit_code is not None:
        return f"no answer: the agent exited with status {act.exit_code}"
    return f"no answer within {turn.seconds:.0f} s" + (f" of {since}" if since else "")


def shows(act: Transcript, turn: ObservedTurn) -> list[PeerEvent]:
    """Return the updates of a turn that a user sees."""
    return [e for e in act.of(turn) if e.kind in acp.SHOWN_KINDS]


def error_in(answer: PeerEvent | None) -> Payload:
    """Return the error object of an answer, empty where there is none."""
    error = (answer.update or answer.frame or {}).get("error") if answer else None
    return error if isinstance(error, dict) else {}


def payload_in_answer(answer: PeerEvent | None) -> Payload | None:
    """Return the payload in a prompt's answer, error or result."""
    data = error_in(answer).get("data")
    result = (answer.frame or {}).get("result") if answer else None
    meta = result.get("_meta") if isinstance(result, dict) else None
    for carrier in (data, meta):
        payload = carrier.get("agent_error") if isinstance(carrier, dict) else None
        if isinstance(payload, dict):
            return payload
    return None


def payload_in_update(event: PeerEvent) -> Payload | None:
    """Return the payload in an update, of whatever rung."""
    update = event.update
    if event.kind in acp.AGENT_ERROR_KINDS:
        error = update.get("error")
        return error if isinstance(error, dict) else {}
    meta = update.get("_meta")
    payload = meta.get("agent_error") if isinstance(meta, dict) else None
    return payload if isinstance(payload, dict) else None


def is_typed_update(event: PeerEvent) -> bool:
    """Return whether it is an `agent_error` update."""
    return event.kind in acp.AGENT_ERROR_KINDS


def reports_failure(turn: ObservedTurn) -> bool:
    """Return whether a turn's answer says that it failed."""
    return (
        (turn.answer is not None and bool("error" in (turn.answer.frame or {})))
        or stop_reason(turn.answer) == acp.STOP_ERROR
        or payload_in_answer(turn.answer) is not None
        or _has_session_failure(turn.answer)
    )


def _has_session_failure(answer: PeerEvent | None) -> bool:
    result = (answer.frame or {}).get("result") if answer else None
    text = str(result.get("_meta")) if isinstance(result, dict) else ""
    return "sessionFailure" in text


def failed_turns(acts: Sequence[Transcript]) -> list[tuple[Transcript, ObservedTurn]]:
    """Return the failing turns of speakers that ended as such; others have their own checks.

    Raises:
        NotApplicableError: The agent does not speak the extension.
    """
    speaking = [act for act in acts if act.speaks]
    if not speaking:
        raise NotApplicableError("it does not say that it speaks agent_error")
    # Only the first turn of each of these acts fails.
    return [(act, act.turns[0]) for act in speaking if act.turns and reports_failure(act.turns[0])]


def payloads(acts: Sequence[Transcript]) -> Iterator[tuple[Payload, PeerEvent, bool]]:
    """Yield every payload that speakers sent, its frame, and whether that is a typed update."""
    for act, turn in failed_turns(acts):
        for event in act.of(turn):
            payload = payload_in_update(event)
            if payload is not None:
                yield payload, event, is_typed_update(event)
        payload = payload_in_answer(turn.answer)
        if payload is not None and turn.answer is not None:
            yield payload, turn.answer, False
