"""The findings for a person: a row for each check, and under those that failed what to do.

Owns the words and the widths. Does not own colours' conditions, or the findings.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from lastword.conformance.checks import Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lastword.conformance.checks import Check

Row = tuple["Check", Finding]

LABELS: Mapping[Verdict, str] = {
    Verdict.PASS: "pass",
    Verdict.WARN: "warn",
    Verdict.FAIL: "FAIL",
    Verdict.NOT_APPLICABLE: "n/a",
    Verdict.UNREACHED: "n/r",
}
_COUNTED: Mapping[Verdict, str] = {
    Verdict.FAIL: "failed",
    Verdict.WARN: "warned",
    Verdict.PASS: "passed",
    Verdict.NOT_APPLICABLE: "not applicable (n/a)",
    Verdict.UNREACHED: "could not be reached (n/r)",
}
_COLOURS: Mapping[Verdict, str] = {
    Verdict.PASS: "\x1b[32m",
    Verdict.WARN: "\x1b[33m",
    Verdict.FAIL: "\x1b[1;31m",
    Verdict.NOT_APPLICABLE: "\x1b[2m",
    Verdict.UNREACHED: "\x1b[2m",
}
_PLAIN = "\x1b[0m"
_VERDICT_COLUMNS = 6
_ID_COLUMNS = 10
MIN_COLUMNS = 32
MAX_COLUMNS = 110
FRAME_LINES = 3


def row(check: Check, finding: Finding, columns: int, *, colours: bool) -> str:
    """A check's lines."""
    columns = max(MIN_COLUMNS, min(MAX_COLUMNS, columns))
    indent = _VERDICT_COLUMNS + _ID_COLUMNS
    width = columns - indent
    label = f"{LABELS[finding.verdict]:<{_VERDICT_COLUMNS}}"
    if colours:
        label = f"{_COLOURS[finding.verdict]}{label}{_PLAIN}"
    first, *more = textwrap.wrap(check.title, width)
    lines = [f"{label}{check.requirement:<{_ID_COLUMNS}}{first}"]
    lines += [" " * indent + line for line in more]
    if finding.verdict in {Verdict.FAIL, Verdict.WARN}:
        for part in _told(check, finding, width):
            lines.append(" " * indent + part)
    return "\n".join(lines) + "\n"


def _told(check: Check, finding: Finding, width: int) -> Iterable[str]:
    yield from textwrap.wrap(f"seen: {finding.evidence}", width, subsequent_indent="  ")
    for frame in finding.frames:
        wrapped = textwrap.wrap(frame, width, subsequent_indent="  ")
        cut = wrapped[:FRAME_LINES]
        yield from cut[:-1]
        yield cut[-1] if len(wrapped) <= FRAME_LINES else cut[-1][: width - 1] + "…"
    yield from textwrap.wrap(check.mend, width, initial_indent="  ", subsequent_indent="  ")
    yield f"  ({check.name})"


def summary(rows: Sequence[Row], seconds: float, columns: int) -> str:
    """Why some checks say nothing, and how many came to which verdict."""
    columns = max(MIN_COLUMNS, min(MAX_COLUMNS, columns))
    lines = [""]
    for verdict in (Verdict.NOT_APPLICABLE, Verdict.UNREACHED):
        reasons = Counter(f.evidence for _, f in rows if f.verdict is verdict)
        for reason, count in reasons.items():
            text = f"{LABELS[verdict]} ({count}): {reason}"
            lines += textwrap.wrap(text, columns, subsequent_indent="  ")
    counts = Counter(finding.verdict for _, finding in rows)
    said = [f"{counts[v]} {words}" for v, words in _COUNTED.items() if counts[v]]
    lines += textwrap.wrap(f"{', '.join(said)}; {seconds:.0f} s", columns)
    return "\n".join(lines) + "\n"


def listing(checks: Sequence[Check], columns: int) -> str:
    """The checks that there are."""
    columns = max(MIN_COLUMNS, min(MAX_COLUMNS, columns))
    names = max(len(check.name) for check in checks) + 2
    wide = names + _ID_COLUMNS + MIN_COLUMNS <= columns
    indent = names + _ID_COLUMNS if wide else 4
    lines = []
    for check in checks:
        head = f"{check.requirement:<{_ID_COLUMNS}}{check.name:<{names}}"
        title = textwrap.wrap(check.title, columns - indent)
        lines.append(head + title[0] if wide else head.rstrip())
        lines += [" " * indent + line for line in (title[1:] if wide else title)]
    return "\n".join(lines) + "\n"
