"""The deciding evidence: from the name of a rule back to the field that matched it.

A rule's name includes the row that matched (`message:prompt is too long`). This module searches
the error for that row, to show where it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.classify import own_rows
from lastword.core.classify.text import GAP, as_text, fold, normalise, phrase_in
from lastword.core.classify.waits import read_waits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lastword.cli.explain.case import Case

MAX_PARTS = 800
MAX_DEPTH = 16
_AROUND = 48

RULES = {
    "process": "how the process ended",
    "phase": "where the transport stood",
    "spawn": "the system's refusal to start it",
    "rpc": "the JSON-RPC code",
    "header": "a response header",
    "transport": "how the connection failed",
    "quota": "the window that the quota's name gives",
    "token": "a machine-readable word, which goes before sentences and the status",
    "message": "a sentence, which goes before the status",
    "word": "a machine-readable word inside the text",
    "part": "a part of a machine-readable word, which goes before the status",
    "weak": "a machine-readable word that says little, for want of a better one",
    "class": "the exception's class",
    "status": "the HTTP status, as nothing more telling came with it",
    "text": "the wording alone, the weakest evidence there is",
    "concept": "two words close together, for want of anything better",
    "guess": "what the words of the text weigh together, for want of anything better",
    "agent": "a name or a sentence that is one agent's own",
    "air": "the category that the agent gave",
    "codex": "the state that the agent gave",
    own_rows.KIND: "a rule of your configuration file",
}
"""What decided, by the first part of the rule's name."""

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


def basis_of(rule: str) -> str:
    """Return what decided, as a sentence without a full stop."""
    kind = rule.partition(":")[0]
    if kind == "unmatched":
        return "Nothing in it is known, and what is not known is not retried"
    if kind == "type":
        return "Nothing but the type is known, so nothing was decided by what an error said"
    if kind == "record":
        return "Decided when it happened"
    return f"Decided by {RULES.get(kind, 'a rule of its own')}"


def proofs_of(case: Case, redact: Callable[[str], str]) -> list[Proof]:
    """Return the fields that decided the type, the wait and the reset, redacted."""
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
    # Cut once it is redacted: half a secret looks like none.
    return [
        Proof(redact(where), _around(redact(text), row), means)
        for where, text, row, means in matched
    ]


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
    matched = _in_text(case, row)
    if matched is None and kind != "status":
        # A word or a part of one, in another spelling.
        row = normalise(row)
        matched = _in_text(case, row, squeeze=True)
    return (*matched, row) if matched else None


def _whole(case: Case, kind: str, row: str) -> tuple[str, str] | None:
    """Return the part of the error that is the row, and no more."""
    if kind == "process":
        return _ending(case.value)
    if kind == "header":
        name = row if row in case.evidence.headers else "anthropic-ratelimit-unified-status"
        return f"header {name}", case.evidence.headers.get(name, "")
    if not row:
        return None
    if kind in {"status", "rpc"}:
        return _first(case.value, lambda part: as_text(part) == row)
    bare = normalise(row)
    return _first(case.value, lambda part: normalise(as_text(part).rpartition(".")[2]) == bare)


def _ending(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    process = value.get("process")
    parts = process if isinstance(process, dict) else value
    for name in ("exit_signal", "signal", "exit_code", "returncode"):
        if parts.get(name) is not None:
            return _PLAIN_PARTS.get(name, name), as_text(parts[name])
    return None


def _carrier(case: Case, carrier: str) -> tuple[str, str]:
    kind, _, name = carrier.partition(" ")
    if kind == "header":
        return carrier, case.evidence.headers.get(name, "")
    if kind == "field":
        matched = _first_named(case.value, name)
        return matched or (name, as_text(case.evidence.fields.get(name)))
    return carrier, ""


def _in_text(case: Case, row: str, *, squeeze: bool = False) -> tuple[str, str] | None:
    """Return the first text in the error that holds the row."""

    def holds(part: object) -> bool:
        text = as_text(part)
        if squeeze:
            return row in normalise_all(text)
        return phrase_in(fold(text), (row,)) is not None

    return _first(case.value, holds)


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


def _first_named(value: Any, name: str) -> tuple[str, str] | None:
    for path, part in _parts(value):
        if normalise_all(path.rpartition(".")[2]) == name:
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
                below += [(_join(path, key), child) for key, child in list(part.items())[:200]]
            elif isinstance(part, (list, tuple)):
                below += [(f"{path}[{n}]", child) for n, child in enumerate(part[:200])]
            elif part is not None:
                yield path or "text", part
        level = below


def _join(path: str, key: object) -> str:
    name = _PLAIN_PARTS.get(as_text(key), as_text(key))[:64]
    return f"{path}.{name}" if path else name
