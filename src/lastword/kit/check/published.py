"""The findings for code hosts: SARIF for their list of alerts, and a badge.

Owns both shapes: SARIF 2.1.0 as code hosts read it, and an SVG of two fields.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from lastword._version import __version__
from lastword.core.redact.printable import printable
from lastword.kit.check.baseline import reason_for
from lastword.kit.check.checks import CheckVerdict
from lastword.kit.check.documents import in_order, words
from lastword.kit.check.hooks import is_in_front

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.kit.check.documents import Row

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {CheckVerdict.FAIL: "error", CheckVerdict.WARN: "warning"}

_GREEN, _YELLOW, _RED, _GREY = "#2c7a39", "#9a6700", "#b3261e", "#555555"
_LABEL = "lastword check"
_CHAR_PIXELS = 6.6
"""The width of a character of 11 px, on average; `textLength` makes it exact."""


def sarif(command: Sequence[str], rows: Sequence[Row], reasons: Mapping[str, str]) -> bytes:
    """Return what failed or warned as a log of SARIF; what is known is suppressed in it.

    Code hosts want a file for each result: it is the first word of the command that is one.
    """
    shown = [row for row in in_order(rows) if row[1].verdict in _LEVELS]
    place = {"artifactLocation": {"uri": _file_of(command)}, "region": {"startLine": 1}}
    rules = [
        {
            "id": check.requirement,
            "name": check.name,
            "shortDescription": {"text": check.title},
            "help": {"text": check.advice(is_in_front=is_in_front(command))},
        }
        for check, _ in shown
    ]
    results: list[dict[str, Any]] = []
    for check, finding in shown:
        result: dict[str, Any] = {
            "ruleId": check.requirement,
            "level": _LEVELS[finding.verdict],
            "message": {"text": printable("\n".join(words(check, finding, command)))},
            "locations": [{"physicalLocation": place}],
            "partialFingerprints": {"check/v1": check.name},
        }
        if reason := reason_for(check, finding, reasons):
            result["suppressions"] = [{"kind": "external", "justification": printable(reason)}]
        results.append(result)
    driver = {"name": "lastword check", "version": __version__, "rules": rules}
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, indent=2, ensure_ascii=False).encode() + b"\n"


def _file_of(command: Sequence[str]) -> str:
    here = os.getcwd()
    for word in command:
        path = os.path.abspath(word)
        if os.path.isfile(path) and path.startswith(here + os.sep):
            return os.path.relpath(path, here).replace(os.sep, "/")
    return os.path.basename(command[0]) if command else "agent"


def badge(rows: Sequence[Row], reasons: Mapping[str, str]) -> bytes:
    """Return an SVG that says how many checks passed, or failed."""
    verdicts = [
        finding.verdict for check, finding in rows if reason_for(check, finding, reasons) is None
    ]
    failed, warned = verdicts.count(CheckVerdict.FAIL), verdicts.count(CheckVerdict.WARN)
    passed = verdicts.count(CheckVerdict.PASS)
    if failed:
        text, color = f"{failed} failed", _RED
    elif not passed:
        text, color = "not judged", _GREY
    else:
        text, color = f"{passed} passed", _YELLOW if warned else _GREEN
    return _drawn(text, color)


def _drawn(text: str, color: str) -> bytes:
    label, value = (round(len(part) * _CHAR_PIXELS) + 12 for part in (_LABEL, text))
    title = escape(f"{_LABEL}: {text}")
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{label + value}" height="20" role="img">
<title>{title}</title>
<rect width="{label}" height="20" fill="#333333"/>
<rect x="{label}" width="{value}" height="20" fill="{color}"/>
<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="6" y="14" textLength="{label - 12}">{_LABEL}</text>
<text x="{label + 6}" y="14" textLength="{value - 12}">{escape(text)}</text>
</g>
</svg>
""".encode()
