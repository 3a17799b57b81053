"""One error to explain: the evidence in it, the verdict, and their page.

Owns the page of 80 columns, the JSON, and the lines of `--jsonl`; everything is redacted. A rule's
name includes the row that matched (`message:prompt is too long`), which is searched for in the
error, to show where it stands.
"""

from __future__ import annotations

import json
import os
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import msgspec

from lastword.cli.page import Page
from lastword.core import classify as classifier
from lastword.core.classify import gather, own_rows
from lastword.core.classify.agents import read_result, read_update
from lastword.core.classify.decide import decide
from lastword.core.classify.evidence import Evidence, ProcessEvidence, Verdict
from lastword.core.classify.pasted_error import parse_json, read_pasted
from lastword.core.classify.prose import MODEL_CALL_ERRORS
from lastword.core.classify.text import GAP, as_text, fold, normalise, phrase_in
from lastword.core.classify.tokens import type_of_status
from lastword.core.classify.waits import read_waits
from lastword.core.classify.writers import is_others, records
from lastword.core.failure import wording
from lastword.core.failure.phrases import plain_duration, plain_moment
from lastword.core.failure.sentences import (
    BASES,
    RULES,
    advice_of,
    as_phrase,
    exit_words,
    retry_words,
    whose_fault,
)
from lastword.core.failure.taxonomy import (
    AgentError,
    ErrorType,
    RetrySafety,
    TurnFacts,
    safety_of,
)
from lastword.core.redact.environment_secrets import secrets_of
from lastword.core.redact.printable import one_line
from lastword.core.redact.redactor import Redactor
from lastword.core.redact.truncate import clip, informative_lines
from lastword.platform.identity import local_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_RECORD_KEYS = {"exception_class", "http_status", "process", "cause_chain", "in_stream", "attrs"}
_NOT_SENT = ("before", "connect", "spawn")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """An error that was read.

    Attributes:
        form: the form in which it was read, in words.
        value: the error as a value whose parts have names: a record, a decoded body, or text.
        evidence: the evidence in it.
        verdict: the conclusion.
        facts: the state of the turn, if the error tells.
        retry_safety: whether a retry was safe, if that was decided before.
        of_others: whether its lines, on stderr or in a log, would be another program's.
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
    sign = None
    if isinstance(value, dict):  # an agent's own report of a failure, in an update or a result
        params = value.get("params")
        sign = read_update(params.get("update") if isinstance(params, dict) else None)
        sign = sign or read_result(value.get("result"))
    verdict = (sign.verdict if sign else None) or decide(evidence)
    if isinstance(value, str) and verdict.type is ErrorType.UNKNOWN:
        # The log's relevant lines may be inconclusive, and so may the whole text: try the other.
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
        # `lastword run` would take this text on stderr for another program's.
        of_others=isinstance(value, str)
        and verdict.type in MODEL_CALL_ERRORS
        and all(map(is_others, records(value))),
    )


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
    """Return the state of the turn, judging by the transport's state; `None` if unknown."""
    phase = record.get("phase")
    if record.get("in_stream"):
        return None
    if phase in _NOT_SENT:
        return TurnFacts(request_sent=False)
    return TurnFacts() if phase == "headers" else None


MAX_PARTS = 800
MAX_DEPTH = 16
_AROUND = 48

_PLAIN_PARTS = {
    "http_status": "HTTP status",
    "exception_class": "exception class",
    "exit_code": "exit code",
    "exit_signal": "signal",
    "rpc_code": "code",
}


class Proof(msgspec.Struct, frozen=True, rename={"text": "said"}):
    """One field of the error: its place, its text (`said` in JSON), and what that means."""

    where: str
    text: str
    means: str


def _deciding(case: Case) -> tuple[str, str, str] | None:
    """Return the field's place, its text, and the part of a longer text that matched."""
    kind, _, row = case.verdict.rule.partition(":")
    if kind == own_rows.KIND:
        row = own_rows.match_of(row, case.evidence) or ""
    whole = _whole(case, kind, row)
    if whole is not None:
        return (*whole, "")
    if not row or kind in {"process", "rpc"}:
        return None
    matched = _first(case.value, lambda part: phrase_in(fold(as_text(part)), (row,)) is not None)
    if matched is None and kind != "status":
        # A word or a part of one, in another spelling.
        bare = row = normalise(row)
        matched = _first(case.value, lambda part: bare in normalise_all(as_text(part)))
    return (*matched, row) if matched else None


def _whole(case: Case, kind: str, row: str) -> tuple[str, str] | None:
    """Return the part of the error that equals the row."""
    if kind == "process":
        if isinstance(case.value, dict):
            process = case.value.get("process")
            parts = process if isinstance(process, dict) else case.value
            for name in ("exit_signal", "signal", "exit_code", "returncode"):
                if parts.get(name) is not None:
                    return _PLAIN_PARTS.get(name, name), as_text(parts[name])
        return None
    if kind == "header":
        name = row if row in case.evidence.headers else "anthropic-ratelimit-unified-status"
        return f"header {name}", case.evidence.headers.get(name, "")
    if not row:
        return None
    if kind in {"status", "rpc"}:
        return _first(case.value, lambda part: as_text(part) == row)
    bare = normalise(row)
    return _first(case.value, lambda part: normalise(as_text(part).rpartition(".")[2]) == bare)


def _carrier(case: Case, carrier: str) -> tuple[str, str]:
    kind, _, name = carrier.partition(" ")
    if kind == "header":
        return carrier, case.evidence.headers.get(name, "")
    if kind == "field":
        for path, part in _parts(case.value):
            if normalise_all(path.rpartition(".")[2]) == name:
                return path, as_text(part)
        return name, as_text(case.evidence.fields.get(name))
    return carrier, ""


def normalise_all(text: str) -> str:
    """Return the whole text in lower case, with alphanumerics only."""
    return "".join(filter(str.isalnum, text[:8192])).lower()


def _around(text: str, row: str) -> str:
    """Return the part of a text around the row; without a row, all of it."""
    if not row:
        return text
    plain = " ".join(text.split())
    at = plain.lower().find(row.partition(GAP)[0])
    start, end = max(0, at - _AROUND), max(0, at) + len(row) + _AROUND * 2
    return ("..." if start else "") + plain[start:end] + ("..." if end < len(plain) else "")


def _first(value: Any, holds: Callable[[object], bool]) -> tuple[str, str] | None:
    for path, part in _parts(value):
        if holds(part):
            return path, as_text(part)
    return None


def _parts(value: Any) -> Iterator[tuple[str, object]]:
    """Yield the scalars of a value with their paths, each level before the next."""
    level: list[tuple[str, Any]] = [("", value)]
    given = 0
    for _ in range(MAX_DEPTH):
        below: list[tuple[str, Any]] = []
        for path, part in level:
            given += 1
            if given > MAX_PARTS:
                return
            if isinstance(part, dict):
                for key, child in list(part.items())[:200]:
                    name = _PLAIN_PARTS.get(as_text(key), as_text(key))[:64]
                    below.append((f"{path}.{name}" if path else name, child))
            elif isinstance(part, (list, tuple)):
                below += [(f"{path}[{n}]", child) for n, child in enumerate(part[:200])]
            elif part is not None:
                yield path or "text", part
        level = below


MAX_LINE_BYTES = 16 * 1024 * 1024
_ID = re.compile(r'^\{\s{0,8}"id"\s{0,8}:\s{0,8}"([^"\\]{0,200})"')


def explain_lines(lines: BinaryIO, out: TextIO) -> int:
    """Answer every line; return 1 if one of them was not a JSON object, else 0."""
    status = 0
    for number, line in enumerate(_bounded(lines), 1):
        if line is not None and not line.strip():
            continue
        problem, sample = "is not a JSON object", None
        if line is None:
            problem = f"is longer than {MAX_LINE_BYTES // 1024 // 1024} MiB"
        else:
            text = line.decode("utf-8", "replace").removeprefix("\ufeff").strip()
            sample = parse_json(text)
            is_braced = text.startswith("{") and text.endswith("}")
            if sample is None and is_braced and text.count("{") > 400:  # noqa: PLR2004
                # Nested too deeply for any decoder: use the text itself.
                named = _ID.match(text)
                sample = {"id": named.group(1) if named else None, "message": text}
        if isinstance(sample, dict):
            name = sample.get("id")
            verdict = decide(gather.from_record(sample))
            safety = safety_of(facts_of(sample), retryable=verdict.retryable)
            answer = {
                "id": name if isinstance(name, (str, int)) else None,
                "type": verdict.type.value,
                "retryable": verdict.retryable,
                "retry_after_seconds": verdict.retry_after_seconds,
                "reset_at_epoch_ms": verdict.reset_at_epoch_ms,
                "retry_safety": safety.value,
                "reason": verdict.reason,
                "rule": verdict.rule,
            }
        else:
            answer = {"id": None, "line": number, "error": f"Line {number} {problem}."}
            status = 1
        out.write(json.dumps(answer) + "\n")
        out.flush()
    return status


def _bounded(lines: BinaryIO) -> Iterator[bytes | None]:
    """Yield each line, and `None` for one that is too long, which is discarded."""
    while line := lines.readline(MAX_LINE_BYTES):
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = lines.readline(MAX_LINE_BYTES)
        yield None


MAX_QUOTED_CHARS = 600
MAX_COLUMNS = 80
_LABEL_COLUMNS = 13
_QUOTED_LINES = 12


class Explanation(msgspec.Struct, frozen=True):
    """An error with its reasons, redacted."""

    error: AgentError
    form: str
    rule: str
    proofs: list[Proof]
    now: datetime
    of_others: bool = False
    of_turn: bool = False
    """Whether it is known what the turn had done."""

    def as_json(self) -> dict[str, Any]:
        """Return the error's fields and the evidence that decided."""
        evidence = [msgspec.to_builtins(proof) for proof in self.proofs]
        reasons = {"rule": self.rule, "read_as": self.form, "evidence": evidence}
        others = {"another_program": True} if self.of_others else {}
        return self.error.payload() | reasons | others


def explain(case: Case) -> Explanation:
    """Return what is shown about an error, with the fields that decided the type and the wait."""
    redact = Redactor(secrets_of(os.environ))
    now = local_time()
    error = wording.compose_from_facts(case.verdict, case.facts, redact=redact, now=now)
    if case.retry_safety is not None:
        error = msgspec.structs.replace(error, retry_safety=case.retry_safety)
    matched = []
    deciding = _deciding(case)
    if deciding is not None:
        matched.append((*deciding, case.verdict.type.value))
    waits = read_waits(case.evidence)
    if waits.wait_from is not None:
        wait = f"wait {waits.retry_after_seconds} s"
        matched.append((*_carrier(case, waits.wait_from), "", wait))
    if waits.reset_from is not None:
        matched.append((*_carrier(case, waits.reset_from), "", "the reset"))
    proofs = [
        # Redacted before it is cut: half a secret does not look like one.
        Proof(_line(redact(where), 100), _line(_around(redact(text), row), 160), means)
        for where, text, row, means in matched
    ]
    rule = _line(redact(case.verdict.rule), 200)
    of_turn = case.facts is not None or case.retry_safety is not None
    return Explanation(error, case.form, rule, proofs, now, case.of_others, of_turn)


def _line(text: str, limit: int) -> str:
    """Return one line, without anything that could move a terminal's cursor."""
    plain = " ".join(one_line(text[: limit * 4]).split())
    return plain if len(plain) <= limit else plain[: limit - 3] + "..."


def shown(explanation: Explanation, *, columns: int = MAX_COLUMNS, colours: bool = False) -> str:
    error = explanation.error
    page = Page(columns, colours=colours, most=MAX_COLUMNS)
    page.line(error.type.value, "bold")
    page.line(error.message)
    page.line()
    _row(page, "retry", _retry(explanation), "green" if error.retryable else "red")
    if error.type is ErrorType.UNKNOWN:
        safe = "not known, so nothing is sent again by itself"
    elif error.retryable and not explanation.of_turn:
        safe = "not known: that depends on what the turn had done"
    else:
        safe = retry_words(error.payload())
    _row(page, "safe", safe)
    whose = whose_fault(error.payload()) or "not known"
    if explanation.of_others:
        whose = "another program's, if the text comes from stderr or a log"
    elif error.type is ErrorType.UNKNOWN:
        is_tools = error.reason == "tool_server"
        whose = "a tool server's, not the model provider's" if is_tools else "not known"
    _row(page, "whose fault", whose)
    _row(page, "what to do", as_phrase(advice_of(error.payload())))
    _row(page, "more exactly", (error.reason or "").replace("_", " "))
    _row(page, "source", _source_of(error))
    page.line()
    page.line("why", "bold")
    kind = explanation.rule.partition(":")[0]
    basis = BASES.get(kind) or f"Decided by {RULES.get(kind, 'a rule of its own')}"
    page.line(f"Read as {explanation.form}. {basis}.")
    _row(page, "rule", explanation.rule)
    for proof in explanation.proofs:
        quote = f': "{proof.text}"' if proof.text else ""
        _row(page, "evidence", f"{proof.where}{quote} = {proof.means}")
    if error.http_status and not explanation.rule.startswith("status:"):
        alone = type_of_status(error.http_status)
        if alone is not error.type:
            means = f"HTTP {error.http_status} alone would mean {alone.value}"
            _row(page, "overruled", means)
    if quote := (error.detail or {}).get("text", ""):
        page.line()
        page.line("what it said", "bold")
        cut = quote[:MAX_QUOTED_CHARS] + (" ..." if len(quote) > MAX_QUOTED_CHARS else "")
        for line in filter(str.strip, cut.splitlines()[:_QUOTED_LINES]):
            page.line(line, indent=2, hang=0)
    return page.drain()


def _row(page: Page, label: str, text: str, style: str = "") -> None:
    if text:
        page.row(label.ljust(_LABEL_COLUMNS), text, style)


def _retry(explanation: Explanation) -> str:
    error = explanation.error
    when = ""
    if error.retry_after_seconds:
        when = f"in {plain_duration(error.retry_after_seconds)}"
    if error.reset_at_epoch_ms:
        moment = datetime.fromtimestamp(error.reset_at_epoch_ms / 1000, tz=explanation.now.tzinfo)
        left = plain_moment(error.reset_at_epoch_ms, explanation.now)
        resets = "resets" if left else "was to reset"
        when = f"{when or left or 'now'} (the limit {resets} {moment:%Y-%m-%d %H:%M})"
    if error.retryable:
        return f"yes, {when}" if when else "yes, in a moment"
    if when:
        return f"not by itself; at the earliest {when}"
    recognised = error.type is not ErrorType.UNKNOWN
    return (
        "no, it would not help"
        if recognised
        else "not by itself: whether it would help is not known"
    )


def _source_of(error: AgentError) -> str:
    parts = [error.source or ""]
    if error.http_status:
        parts.append(f"HTTP {error.http_status}")
    if error.provider_code:
        parts.append(f"code {error.provider_code}")
    parts.append(exit_words({"exit_signal": error.exit_signal, "exit_code": error.exit_code}))
    if error.request_id:
        parts.append(f"request {error.request_id}")
    return _line(", ".join(filter(None, parts)), 200)
