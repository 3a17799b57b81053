"""Checks, and their findings.

Owns how a check reaches its verdict, and what several checks read from a failing turn, as it is.
The checks are the rows of `checks.json`, in the order in which they are shown; the modules beside
this one have the functions that judge them.
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
    """The agent ignores a SHOULD."""
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    """The agent does not claim to support it."""
    UNREACHED = "unreached"
    """The situation could not be produced."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict and its evidence.

    Attributes:
        verdict: The verdict.
        evidence: One line: what was observed, or why nothing was.
        frames: The lines that prove it, redacted.
        stderr: What the agent wrote to stderr at that time, redacted.
        fault_of: Whose fault it is, if that is known.
        events: The lines that prove it, unchanged.
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
        title: The requirement, as a sentence.
        mend: What a client's user notices if it is not met, and how to fix it.
        in_front: What `lastword run` does about it, as part of a sentence; empty for nothing.
        acts: The acts whose transcripts it needs, except those that could not be played.
        judge: Returns the finding on the transcripts.
        partial: Whether it also looks at acts that were not completed.
        tck: The ids of the same tests in the official `acp-tck`; from 201 on, of version 2.
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
        """Return how to fix it; `lastword run` is not advised if the command has it already."""
        more = f" {self.in_front[0].upper()}{self.in_front[1:]}." if self.in_front else ""
        return self.mend if is_in_front else self.mend + more

    def find(self, played: Mapping[str, Played]) -> Finding:
        """Return the finding on finished acts, with stderr, and whose fault it is."""
        acts = [played[name] for name in self.acts if name in played]
        missed = [act for act in acts if act.unreached or act.not_applicable]
        judged = [act.transcript for act in acts if self.partial or act not in missed]
        inapplicable = [act.not_applicable for act in acts if act.not_applicable]
        if judged and len(inapplicable) < len(acts):
            try:
                finding = self.judge(judged)
            except NotApplicableError as error:
                finding = Finding(CheckVerdict.NOT_APPLICABLE, str(error))
            except UnreachedError as error:
                finding = Finding(CheckVerdict.UNREACHED, str(error))
        elif inapplicable:
            finding = Finding(CheckVerdict.NOT_APPLICABLE, inapplicable[0])
        else:
            reason = missed[0].unreached if missed else "the act was not played"
            finding = Finding(CheckVerdict.UNREACHED, reason)
        if finding.verdict not in {CheckVerdict.FAIL, CheckVerdict.WARN}:
            return finding
        transcripts = [act.transcript for act in acts]
        events = finding.events
        if not events and "answer" in finding.evidence:
            # The evidence of a missing answer is the request.
            named = [act for act in transcripts if f"(act {act.name})" in finding.evidence]
            missing = filter(None, (act.unanswered() for act in named or transcripts))
            events = tuple(islice(missing, 1))
        stderr: tuple[str, ...] = ()
        for act in transcripts:
            if events and any(event is events[-1] for event in act.events):
                first = next(event for event in act.events if any(event is each for each in events))
                lines = act.stderr_beside(first, events[-1]).decode("utf-8", "replace").splitlines()
                stderr = tuple(_redact(line)[:SHOWN_CHARACTERS] for line in lines if line.strip())
        sdk = next((act.sdk for act in transcripts if act.sdk), None)
        return replace(
            finding,
            frames=finding.frames or shown(*events),
            stderr=stderr[-STDERR_LINES:],
            fault_of=blame(self.name, sdk) if sdk else "",
        )


JUDGES: dict[str, Judge] = {}
"""The function that judges each check, by the check's name."""

_ACTS = {
    "every": tuple(ACTS),
    "failing": tuple(name for name in ACTS if name.startswith("fail:")),
}
"""The acts that a word in `checks.json` stands for."""


def judges(*names: str) -> Callable[[Judge], Judge]:
    """Register the function that judges the checks of these names."""

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
    """Return the finding that a requirement is not met, with the lines that prove it."""
    return _on(CheckVerdict.FAIL, evidence, events)


def warned(evidence: str, *events: PeerEvent | None) -> Finding:
    """Return the finding that a requirement is not fully met."""
    return _on(CheckVerdict.WARN, evidence, events)


def _on(verdict: CheckVerdict, evidence: str, events: Sequence[PeerEvent | None]) -> Finding:
    given = tuple(event for event in events if event is not None)
    return Finding(verdict, evidence, shown(*given), events=given)


def shown(*events: PeerEvent | None) -> tuple[str, ...]:
    """Return lines for people: redacted, with an arrow for the direction."""
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
    """Return the stop reason in a prompt's answer, `None` if there is none."""
    result = (answer.frame or {}).get("result") if answer else None
    if answer is not None and answer.kind == acp.STATE_UPDATE:
        result = answer.update
    reason = result.get("stopReason") if isinstance(result, dict) else None
    return reason if isinstance(reason, str | None) else repr(reason)


def missing_answer(act: Transcript, turn: ObservedTurn, since: str = "") -> str:
    """Return the evidence of a turn without an answer: the exit status, or the time waited."""
    if act.exit_code is not None:
        return f"no answer: the agent exited with status {act.exit_code}"
    return f"no answer within {turn.seconds:.0f} s" + (f" of {since}" if since else "")


def shows(act: Transcript, turn: ObservedTurn) -> list[PeerEvent]:
    """Return the updates of a turn that clients display."""
    return [e for e in act.of(turn) if e.kind in acp.SHOWN_KINDS]


def error_in(answer: PeerEvent | None) -> Payload:
    """Return the error object of an answer, empty if there is none."""
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
    """Return the payload in an update, on any rung."""
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
    frame = (turn.answer.frame or {}) if turn.answer else {}
    if "error" in frame or stop_reason(turn.answer) == acp.STOP_ERROR:
        return True
    result = frame.get("result")
    has_session_failure = isinstance(result, dict) and "sessionFailure" in str(result.get("_meta"))
    return has_session_failure or payload_in_answer(turn.answer) is not None


def speaking(acts: Sequence[Transcript]) -> list[Transcript]:
    """Return the acts in which the agent advertises the extension.

    Raises:
        NotApplicableError: There is none.
    """
    advertising = [act for act in acts if act.speaks]
    if not advertising:
        raise NotApplicableError("it does not say that it speaks agent_error")
    return advertising


def failed_turns(acts: Sequence[Transcript]) -> list[tuple[Transcript, ObservedTurn]]:
    """Return the turns that were reported as failed, in acts that advertise the extension.

    Raises:
        NotApplicableError: The agent does not speak the extension.
    """
    # Only the first turn of each of these acts fails.
    turns = [(act, act.turns[0]) for act in speaking(acts) if act.turns]
    return [(act, turn) for act, turn in turns if reports_failure(turn)]


def payloads(acts: Sequence[Transcript]) -> Iterator[tuple[Payload, PeerEvent]]:
    """Yield every payload in the failed turns, with its frame."""
    for act, turn in failed_turns(acts):
        for event in act.of(turn):
            payload = payload_in_update(event)
            if payload is not None:
                yield payload, event
        payload = payload_in_answer(turn.answer)
        if payload is not None and turn.answer is not None:
            yield payload, turn.answer
