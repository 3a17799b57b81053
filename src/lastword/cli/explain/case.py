"""One error to explain: how it was given, the evidence in it, and the verdict."""

from __future__ import annotations

from typing import Any

import msgspec

from lastword.core import classify as classifier
from lastword.core.classify import gather
from lastword.core.classify.agents import read_result, read_update
from lastword.core.classify.decide import decide
from lastword.core.classify.evidence import Evidence, ProcessEvidence, Verdict
from lastword.core.classify.pasted_error import parse_json, read_pasted
from lastword.core.classify.prose import MODEL_CALL_ERRORS
from lastword.core.classify.writers import is_others, records
from lastword.core.failure.taxonomy import ErrorType, RetrySafety, TurnFacts
from lastword.core.redact.truncate import clip, informative_lines

_RECORD_KEYS = {"exception_class", "http_status", "process", "cause_chain", "in_stream", "attrs"}
_NOT_SENT = ("before", "connect", "spawn")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """An error that was read.

    Attributes:
        form: what it was read as, in words.
        value: the error as a value whose parts have names: a record, a decoded body, or text.
        evidence: what was gathered from it.
        verdict: the conclusion.
        facts: what had already happened, if the error says so.
        retry_safety: whether a retry was safe, if that was decided before.
        of_others: on stderr or in a log, each of its lines would be another program's.
    """

    form: str
    value: Any
    evidence: Evidence
    verdict: Verdict
    facts: TurnFacts | None = None
    retry_safety: RetrySafety | None = None
    of_others: bool = False


def case_of_text(text: str) -> Case:
    """Return the case of a pasted error, in any format."""
    reading = read_pasted(text)
    value = reading.value
    record = isinstance(value, dict) and bool(_RECORD_KEYS & value.keys())
    evidence = gather.from_record(value) if record else gather.from_any(value)
    verdict = _agent_report(value) or decide(evidence)
    if isinstance(value, str) and verdict.type is ErrorType.UNKNOWN:
        # Neither the log's relevant lines nor the whole text need be conclusive: try the other.
        other = text if reading.form.startswith("the telling") else informative_lines(text)
        again = gather.from_any(other)
        if other and decide(again).type is not ErrorType.UNKNOWN:
            value, evidence, verdict = other, again, decide(again)
    facts = facts_of(value) if record and isinstance(value, dict) else None
    return Case(
        form=reading.form,
        value=value,
        evidence=evidence,
        verdict=verdict,
        facts=facts,
        of_others=_is_others(value, verdict),
    )


def _is_others(value: object, verdict: Verdict) -> bool:
    """Return whether `lastword run` would take this text on stderr for another program's."""
    if not isinstance(value, str) or verdict.type not in MODEL_CALL_ERRORS:
        return False
    return all(is_others(record) for record in records(value))


def _agent_report(value: object) -> Verdict | None:
    """Return a failure that an agent reports in its own way, in an update or a result."""
    if not isinstance(value, dict):
        return None
    params = value.get("params")
    sign = read_update(params.get("update") if isinstance(params, dict) else None)
    sign = sign or read_result(value.get("result"))
    return sign.verdict if sign else None


def case_of_response(status: int | None, headers: dict[str, str], body: str | None) -> Case:
    """Return the case of an HTTP response, given piece by piece."""
    decoded = parse_json(body.strip()) if body else None
    value = {
        "http_status": status,
        "headers": headers,
        "body": body if decoded is None else decoded,
    }
    evidence = gather.from_record(value)
    return Case(form="an HTTP response", value=value, evidence=evidence, verdict=decide(evidence))


def case_of_exit(code: int | None, signal: int | None, tail: str) -> Case:
    """Return the case of a process that exited, with the end of its output."""
    verdict = classifier.classify_exit(exit_code=code, exit_signal=signal, stderr_tail=tail)
    parts = {"exit_code": code, "exit_signal": signal, "stderr": clip(tail).strip()}
    value = {name: part for name, part in parts.items() if part not in (None, "")}
    process = ProcessEvidence(exit_code=code, exit_signal=signal, stderr_tail=clip(tail))
    evidence = Evidence(text=clip(tail).strip(), process=process)
    return Case(form="the end of a process", value=value, evidence=evidence, verdict=verdict)


def facts_of(record: dict[Any, Any]) -> TurnFacts | None:
    """Return what had happened, judging by the transport's state; `None` if unknown."""
    phase = record.get("phase")
    if record.get("in_stream"):
        return None
    if phase in _NOT_SENT:
        return TurnFacts(request_sent=False)
    return TurnFacts() if phase == "headers" else None
