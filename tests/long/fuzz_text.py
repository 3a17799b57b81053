"""A fuzzer for everything that takes text: not run by pytest, needs `atheris`.

    python -m tests.long.fuzz_text -max_total_time=60 [CORPUS_FOLDER]

Options are libFuzzer's. What may never happen: an exception, an answer without bounds, a page wider
than its columns, or a key that comes through redaction.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import atheris

from tests.kit.places import SAMPLES

with atheris.instrument_imports(include=["lastword"]):
    from lastword.cli.explain.page import (
        case_of_exit,
        case_of_response,
        case_of_text,
        explain,
        shown,
    )
    from lastword.cli.page import text_width
    from lastword.core.classify import FAILED_RULE, classify, classify_rpc_error, classify_text
    from lastword.core.redact.printable import one_line, printable, printable_json
    from lastword.core.redact.redactor import (
        MAX_TEXT_CHARS,
        Redactor,
        forms_of,
        redact_json,
        redact_text,
    )

from tests.kit.canaries import CANARIES, NAMED_CANARIES, PLAIN  # after the instrumented imports

SHAPES = CANARIES | NAMED_CANARIES
KEYS = sorted(SHAPES)
KNOWN = "lantern/velvet+harbor=drift meadow"
"""A value that lastword was told of."""

WRITTEN = sorted(forms_of(KNOWN))
NOISE = ("\n", "\r\n  ", "\x1b[1m", "\u200b")
MAX_SEEDS = 400


def fuzz(data: bytes) -> None:
    """One input: its first byte chooses the path."""
    path, text = (data[0] if data else 0), data[1:].decode("utf-8", "surrogateescape")
    checks = (
        check_case,
        lambda text: check_redaction(text, KEYS[path // 6 % len(KEYS)]),
        check_value,
        check_pieces,
        lambda text: check_known(text, path // 6),
        check_terminal,
    )
    checks[path % len(checks)](text)


def check_case(text: str) -> None:
    """Any text is explained, in 80 columns, without control characters."""
    explanation = explain(case_of_text(text))
    page = shown(explanation)
    assert max(map(text_width, page.splitlines())) <= 80
    assert page.replace("\n", "").isprintable()
    assert explanation.rule != FAILED_RULE
    json.dumps(explanation.as_json())


def check_redaction(text: str, kind: str) -> None:
    """A key between any two texts disappears, and what is left is bounded."""
    half = len(text) // 2
    secret = SHAPES[kind] if kind in CANARIES else PLAIN
    redacted = redact_text(f"{text[:half]} {SHAPES[kind]} {text[half:]}")
    assert secret not in redacted, kind
    assert len(redacted) <= MAX_TEXT_CHARS * 4


def check_known(text: str, number: int) -> None:
    """A known value disappears in any writing, whole or broken, from between any two texts."""
    half, value = len(text) // 2, WRITTEN[number % len(WRITTEN)]
    noise = NOISE[number % len(NOISE)]
    middle = len(value) // 2
    for written in (value, value[:middle] + noise + value[middle:]):
        redacted = Redactor((KNOWN,))(f"{text[:half]} {written} {text[half:]}")
        assert written not in redacted, repr(written)


def check_terminal(text: str) -> None:
    """What a terminal is shown moves nothing on it, and JSON is still the same."""
    assert one_line(text).isprintable()
    assert printable(text).replace("\n", "").replace("\t", "").isprintable()
    dumped = json.dumps({"said": text}, ensure_ascii=False)
    assert json.loads(printable_json(dumped)) == json.loads(dumped)


def check_value(text: str) -> None:
    """Any JSON value is classified and copied."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = {"code": -32603, "message": text, "data": {"details": text}}
    for verdict in (classify(value), classify_rpc_error(value)):
        assert verdict.rule != FAILED_RULE
    redact_json(value)


def check_pieces(text: str) -> None:
    """Text as a response's header and body, as last words, and as prose."""
    head, _, body = text.partition("\n")
    name, _, wait = head.partition(":")
    case = case_of_response(429, {"retry-after": wait, name: wait}, body)
    seconds = case.verdict.retry_after_seconds
    assert seconds is None or 0 <= seconds < 10**9
    shown(explain(case_of_exit(1, None, text)))
    assert classify_text(head, stderr_tail=body).rule != FAILED_RULE


def seed(folder: Path) -> None:
    """Real failures as the first inputs."""
    lines = SAMPLES.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines[:: max(1, len(lines) // MAX_SEEDS)]):
        (folder / f"seed-{number}").write_bytes(bytes([number % 251]) + line.encode())


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        if not argument.startswith("-") and Path(argument).is_dir():
            seed(Path(argument))
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()
