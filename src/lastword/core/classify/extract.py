"""Extracts from prose, found without understanding it: a status, names, `key: value` pairs.

Every pattern is linear, and runs on clipped text only.
"""

from __future__ import annotations

import re

from lastword.core.classify.text import normalise

MAX_WORDS = 96
_TRACEBACK = "Traceback (most recent call last)"

_STATUS = re.compile(
    r"""
    (?:status(?:[ _]?code)?|error[ _]?code|code|http(?:/\d(?:\.\d)?)?|api[ ]error|error|response
       |exception|returned|failed) \W{1,4} (?:\w{2,8}\W{1,2})?? ([45]\d\d) (?!\w|[.,]\d)
    | \b request: [ ] ([45]\d\d) (?=[ ][A-Za-z])
    | ^\W{0,3} ([45]\d\d) (?=[ ]?[-:<{("'|] | ,[ ]message= | [ ][A-Za-z]{2} | \W*$)
    | [\[(] ([45]\d\d) [\])]
    | [ ]\|[ ] ([45]\d\d) :[ ]
    | \b ([45]\d\d) [ ]\W?(?:status|too[ ]many[ ]requests|bad[ ]request|unauthorized
        |forbidden|not[ ]found|internal[ ]server|bad[ ]gateway|service[ ]unavailable|gateway[ ]time)
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE | re.ASCII,
)
_PAIR = re.compile(
    r"\b([A-Za-z_][\w-]{1,40})[\"'\\]{0,6}\s{0,3}[:=]\s{0,8}[\"'\\]{0,6}([A-Za-z0-9_.+-]{1,80}+)(?![\w+-])",
    re.ASCII,
)
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{2,79}")
_LAST_LINE = r"^([A-Za-z_][\w.]{2,120}(?:Error|Exception|Exit|Interrupt|Timeout))(?::|$)"
"""Compiled when first needed: few failures hold a traceback."""


def status_in(text: str) -> int | None:
    """Return the first HTTP error status in prose, in any of the ways in which SDKs write it."""
    match = _STATUS.search(text)
    return int(next(group for group in match.groups() if group)) if match else None


def identifiers(text: str) -> tuple[str, ...]:
    """Return the identifiers in prose: snake_case, CamelCase and CAPITALS words, normalised."""
    words: dict[str, None] = {}
    for name in _IDENTIFIER.findall(text):
        if name[1:].lower() != name[1:] or "_" in name or "-" in name.rstrip("-"):
            words.setdefault(normalise(name))
            if len(words) >= MAX_WORDS:
                break
    return tuple(words)


def pairs(text: str) -> list[tuple[str, str]]:
    """Return `key: value`, `"key": "value"` and `key=value` pairs, as in broken JSON and reprs."""
    return _PAIR.findall(text) if ":" in text or "=" in text else []


def traceback_class(text: str) -> str:
    """Return the exception's class at the end of a Python traceback, or an empty string."""
    if _TRACEBACK not in text:
        return ""
    for line in reversed(text.splitlines()[-40:]):
        match = re.match(_LAST_LINE, line)
        if match:
            name = match.group(1)
            return name if "." in name else f"builtins.{name}"
    return ""
