"""`lastword explain --jsonl`: one error per line in, one verdict per line out, as they arrive."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from lastword.cli.explain.case import facts_of
from lastword.core.classify import gather
from lastword.core.classify.decide import decide
from lastword.core.classify.pasted_error import parse_json
from lastword.core.failure.taxonomy import safety_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE_BYTES = 16 * 1024 * 1024
_ID = re.compile(r'^\{\s{0,8}"id"\s{0,8}:\s{0,8}"([^"\\]{0,200})"')


def explain_lines(lines: BinaryIO, out: TextIO) -> int:
    """Answer every line; return 1 if one of them was not a JSON object, else 0."""
    status = 0
    for number, line in enumerate(_bounded(lines), 1):
        if line is not None and not line.strip():
            continue
        answer = _answer(line, number)
        if "error" in answer:
            status = 1
        out.write(json.dumps(answer) + "\n")
        out.flush()
    return status


def _bounded(lines: BinaryIO) -> Iterator[bytes | None]:
    """Yield line by line, and `None` for a line that is too long, whose rest is discarded."""
    while line := lines.readline(MAX_LINE_BYTES):
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = lines.readline(MAX_LINE_BYTES)
        yield None


def _answer(line: bytes | None, number: int) -> dict[str, Any]:
    if line is None:
        return _refusal(number, f"is longer than {MAX_LINE_BYTES // 1024 // 1024} MiB")
    text = line.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    sample = parse_json(text)
    if sample is None and text.startswith("{") and text.endswith("}") and text.count("{") > 400:  # noqa: PLR2004
        # Nested too deeply for any decoder: use the text itself.
        named = _ID.match(text)
        sample = {"id": named.group(1) if named else None, "message": text}
    if not isinstance(sample, dict):
        return _refusal(number, "is not a JSON object")
    name = sample.get("id")
    verdict = decide(gather.from_record(sample))
    return {
        "id": name if isinstance(name, (str, int)) else None,
        "type": verdict.type.value,
        "retryable": verdict.retryable,
        "retry_after_seconds": verdict.retry_after_seconds,
        "reset_at_epoch_ms": verdict.reset_at_epoch_ms,
        "retry_safety": safety_of(facts_of(sample), retryable=verdict.retryable).value,
        "reason": verdict.reason,
        "rule": verdict.rule,
    }


def _refusal(number: int, why: str) -> dict[str, Any]:
    return {"id": None, "line": number, "error": f"Line {number} {why}."}
