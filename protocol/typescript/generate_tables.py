"""Write `tables.ts`, the guard's tables, anew from those of the Python package.

`python protocol/typescript/generate_tables.py` rewrites the file. It has the defaults and sentences
of every type, the statuses, machine-readable words and names of errors, and the shapes of secrets,
as the guard in Python uses them. It leaves out other languages than English, the words that count
only in pairs, and what concerns processes.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = HERE / "tables.ts"
sys.path.insert(0, str(HERE.parents[1] / "src"))

from lastword.core.classify import messages, rules, text, tokens  # noqa: E402
from lastword.core.failure import sentences  # noqa: E402
from lastword.core.failure.taxonomy import DEFAULTS, ErrorType  # noqa: E402
from lastword.core.redact import shapes  # noqa: E402
from lastword.core.redact.named_values import DENIED_ENDINGS, DENIED_NAMES  # noqa: E402
from lastword.quirks import clients, failure_groups  # noqa: E402

HEAD = "// Generated from the tables of src/lastword by protocol/typescript/generate_tables.py.\n"
IMPORTS = """import type { Action, ErrorType, Origin } from "./agent_error.js";

/** Headers with a wait or a moment, each with the one that says whether its limit is used up. */
export type Buckets = readonly (readonly [header: string, usedUp: string])[];
"""
POSSESSIVE = re.compile(r"(?<!\\)([*+?}])\+")
PARTS = re.compile(r"\(\?-?i:|\\.|\[(?:\\.|[^\]\\])*\]|\{[\d,]*\}|\(\?(?:<?[=!]|:)|.")
"""Of a pattern: flags for a group, an escape, a class, a number of times, a group, a character."""

BACKSLASH = "\\"
OUTSIDE = (ErrorType.AGENT_CRASH, ErrorType.STDERR_OVERFLOW)
"""Types of a process that ends, whose reasons a guard inside it never gives."""

TYPES = {
    "TYPES": "Record<ErrorType, "
    "{ retryable: boolean; origin: Origin; action: Action; sentence: string }>",
    "REASONS": "Record<string, "
    "Record<string, { sentence?: string; advice?: string; action?: Action }>>",
    "ADVICE": "Record<Action, string>",
    "MISREAD": "Record<string, string>",
    "CLIENTS": "Record<string, { rung: string; details: string }>",
    "STATUSES": "Record<string, ErrorType>",
    "CODES": "Record<number, { type: ErrorType; reason: string; origin?: Origin }>",
    "STRONG": "readonly (readonly [ErrorType, readonly string[], readonly string[]])[]",
    "PARTS": "readonly (readonly [ErrorType, readonly string[]])[]",
    "WEAK": "readonly (readonly [ErrorType, readonly string[]])[]",
    "UNLESS": "Record<string, readonly string[]>",
    "MENTIONED": "readonly (readonly [ErrorType, readonly string[]])[]",
    "SIGNS": "readonly (readonly [ErrorType, string, readonly string[]])[]",
    "QUOTA": "readonly string[]",
    "PER_MINUTE": "readonly string[]",
    "PER_DAY": "readonly string[]",
    "BY_CLASS": "Record<string, ErrorType>",
    "TRANSPORT": "readonly "
    "{ type: ErrorType; reason: string; retryable: boolean; "
    "names: readonly string[]; phrases: readonly string[] }[]",
    "EXACT": "Record<string, string>",
    "WINDOWS": "Record<string, readonly [ErrorType, string]>",
    "GENERIC": "readonly string[]",
    "LISTED": "readonly string[]",
    "VAGUE": "readonly string[]",
    "PASSING": "readonly string[]",
    "LONG_INPUT": "readonly string[]",
    "CANCELLED": "readonly string[]",
    "BUILTINS": "readonly string[]",
    "BUGS": "readonly string[]",
    "TOO_WIDE": "readonly string[]",
    "UNITS": "Record<string, number>",
    "WAIT_HEADERS": "Record<string, number>",
    "WAIT_KEYS": "Record<string, number>",
    "WAIT_BUCKETS": "readonly Buckets[]",
    "WAIT_TEXT": "RegExp",
    "MOMENT_KEYS": "readonly string[]",
    "MOMENT_HEADERS": "Buckets",
    "MOMENT_BUCKETS": "Buckets",
    "MOMENT_TEXT": "RegExp",
    "SECRET_NAMES": "readonly string[]",
    "SECRET_ENDINGS": "readonly string[]",
    "SHAPES": "readonly (readonly [RegExp, string, readonly string[]])[]",
}


def tables() -> dict[str, Any]:
    """Return every table by its name."""
    return {
        "TYPES": {
            kind: {
                "retryable": row.retryable,
                "origin": row.origin,
                "action": row.action,
                "sentence": sentences.WHAT[kind],
            }
            for kind, row in DEFAULTS.items()
        },
        "REASONS": {kind: _reasons(kind) for kind in ErrorType if kind not in OUTSIDE},
        "ADVICE": sentences.ADVICE,
        "MISREAD": sentences.MISREAD,
        "CLIENTS": {
            name: {"rung": row.rung, "details": row.details} for name, row in clients.RULES.items()
        },
        "STATUSES": tokens.STATUS_TYPES,
        "CODES": {
            code: {"type": kind, "reason": reason} | ({"origin": origin} if origin else {})
            for code, (kind, reason, origin) in tokens.RPC_TYPES.items()
        },
        "STRONG": [
            [kind, sorted(words), _ascii(messages.STRONG[kind])]
            for kind, words in tokens.STRONG.items()
        ],
        "PARTS": list(tokens.PARTS.items()),
        "WEAK": [[kind, sorted(words)] for kind, words in tokens.WEAK.items()],
        "UNLESS": {kind: _ascii(parts) for kind, parts in messages.UNLESS.items()},
        "MENTIONED": [
            [kind, _ascii(parts)] for kind, parts in messages.WEAK.items() if kind not in OUTSIDE
        ],
        "SIGNS": [
            [kind, reason, _ascii(signs)]
            for kind, reason, signs in messages.REASONS
            if kind not in OUTSIDE
        ],
        "QUOTA": _ascii(messages.QUOTA),
        "PER_MINUTE": _ascii(messages.PER_MINUTE),
        "PER_DAY": _ascii(messages.PER_DAY),
        "BY_CLASS": dict(sorted(tokens.BY_STATUS.items())),
        "TRANSPORT": [
            {
                "type": row.type,
                "reason": row.reason,
                "retryable": row.retryable,
                "names": sorted(row.names),
                "phrases": row.ascii_phrases,
            }
            for row in (rules.CERTIFICATE, *rules.ROWS)
        ],
        "EXACT": rules.EXACT_MESSAGES,
        "WINDOWS": tokens.WINDOW_WORDS,
        "GENERIC": sorted(tokens.GENERIC_CLASSES),
        "LISTED": sorted(tokens.LISTED),
        "VAGUE": sorted(tokens.VAGUE),
        "PASSING": sorted(tokens.PASSING),
        "LONG_INPUT": sorted(tokens.LONG_INPUT),
        "CANCELLED": sorted(tokens.CANCELLED),
        "BUILTINS": sorted(tokens.BUILTINS),
        "BUGS": sorted(tokens.BUGS),
        "TOO_WIDE": sorted(text.TOO_WIDE_ALONE),
        **_resets(),
        "SECRET_NAMES": sorted(DENIED_NAMES),
        "SECRET_ENDINGS": sorted(DENIED_ENDINGS),
        "SHAPES": _shapes(),
    }


class Source(str):
    """What stands in the file as it is."""

    __slots__ = ()


def _resets() -> dict[str, Any]:
    """Return how a wait or the moment of a reset is stated; `*` in a header is a limit's name."""
    groups = failure_groups("resets")
    rows = {group.tier: group.entries for group in groups}
    either = {group.tier: group.alternatives for group in groups}
    wait = f"\\b{either['wait_word']}{either['wait_amount']}".replace("<unit>", either["unit"])
    return {
        "UNITS": {row["match"]: row["seconds"] for row in rows["unit"]},
        "WAIT_HEADERS": {row["match"]: row.get("seconds", 1) for row in rows["wait_header"]},
        "WAIT_KEYS": {
            text.plain_key(row["match"]): row.get("seconds", 1) for row in rows["wait_key"]
        },
        "WAIT_BUCKETS": [_buckets(one.entries) for one in groups if one.tier == "wait_bucket"],
        "WAIT_TEXT": Source(f"/{wait}/g"),
        "MOMENT_KEYS": [text.plain_key(row["match"]) for row in rows["moment_key"]],
        "MOMENT_HEADERS": _buckets(rows["moment_header"]),
        "MOMENT_BUCKETS": _buckets(rows["moment_bucket"]),
        "MOMENT_TEXT": Source(f"/{either['moment_text']}/"),
    }


def _buckets(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return each header, and the one that says whether the limit is used up."""
    return [[row["match"], row.get("used_up", "")] for row in rows]


def _ascii(parts: tuple[str, ...]) -> list[str]:
    return [part for part in parts if part.isascii()]


def _reasons(kind: ErrorType) -> dict[str, dict[str, str]]:
    advice = sentences.ADVICE_BY_REASON
    if kind is ErrorType.UNKNOWN:
        advice = advice | sentences.ADVICE_OF_UNKNOWN
    rows = {
        reason: {
            "sentence": sentence,
            "advice": advice.get(reason),
            "action": sentences.ACTION_BY_REASON.get(reason),
        }
        for reason, sentence in sentences.WHAT_BY_REASON[kind].items()
    }
    return {reason: {k: v for k, v in row.items() if v} for reason, row in rows.items()}


def _shapes() -> Source:
    """Return the shapes in JavaScript's patterns, in their order, each with its hints."""
    bare = r"[^\s\"'\\,;&}<>()]"
    name = rf"(\b{shapes.CREDENTIAL_NAME}{shapes.SEPARATOR}){shapes.NEW}(?!\$|process\.env)"
    variable = rf"(\b{shapes.VARIABLE}[\"']?\s?=\s?[\"']?){shapes.NEW}"
    variable += r"(?!\$|true|false|null|\d{1,6}\b)"
    named = [
        (name + shapes.value_of(6, bare), rf"\1{shapes.REDACTED}", re.IGNORECASE),
        (variable + shapes.value_of(4, bare), rf"\1{shapes.REDACTED}", 0),
    ]
    given = (*shapes.CARRIERS, *shapes.SHAPES, *shapes.KEY_SHAPES)
    given += (*shapes.SERVICE_KEYS, *shapes.ASSIGNED_SHAPES)
    every = [shapes.Shape("named", (), *each) for each in named]
    rows = ""
    for s in (*given, *every):
        replacement = json.dumps(s.replacement.replace(BACKSLASH, "$"))
        rows += f"  [{_javascript(s.source, s.flags)}, {replacement}, {json.dumps(s.hints)}],\n"
    return Source(f"[\n{rows}]")


def _javascript(source: str, flags: int) -> str:
    """Return a pattern as JavaScript has it.

    It has no flags for a group: their letters are written in both cases. Possessive repeats become
    ordinary ones; a text of the guard's is short.
    """
    source = POSSESSIVE.sub(r"\1", source)
    if "(?i:" not in source and "(?-i:" not in source:
        return f"/{_slashed(source)}/{'gi' if flags & re.IGNORECASE else 'g'}"
    made, folded = "", [bool(flags & re.IGNORECASE)]
    for part in PARTS.findall(source):
        if part.startswith("("):
            has_flags = part.endswith("i:")
            folded.append("-" not in part if has_flags else folded[-1])
            made += "(?:" if has_flags else part
        else:
            made += _in_both_cases(part) if folded[-1] else part
            folded = folded[:-1] if part == ")" else folded
    return f"/{_slashed(made)}/g"


def _in_both_cases(part: str) -> str:
    if part.startswith("["):
        both = r"[a-z]-[a-z]|(?<!\\)[A-Za-z]"
        return re.sub(both, lambda found: found[0].lower() + found[0].upper(), part)
    return f"[{part.upper()}{part.lower()}]" if part.isalpha() else part


def _slashed(source: str) -> str:
    return re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", source)


def _typescript(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(str(k))}: {_typescript(v)}" for k, v in value.items())
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_typescript, value)) + "]"
    return json.dumps(value)


def _rows(value: Any) -> str:
    """Return a table with a row a line."""
    if isinstance(value, dict):
        lines = [f"  {json.dumps(str(k))}: {_typescript(v)},\n" for k, v in value.items()]
        return "{\n" + "".join(lines) + "}"
    if value and isinstance(value[0], str):
        return _typescript(value)
    return "[\n" + "".join(f"  {_typescript(v)},\n" for v in value) + "]"


def made() -> str:
    """Return the whole file."""
    made = HEAD + IMPORTS
    for name, value in tables().items():
        shown = value if isinstance(value, Source) else _rows(value)
        made += f"\nexport const {name}: {TYPES[name]} = {shown};\n"
    return made


if __name__ == "__main__":
    TARGET.write_text(made(), encoding="utf-8")
