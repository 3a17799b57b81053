"""The findings of a check as text: one row for each check, with advice below each failed one.

Owns the words and the layout. The findings come from `kit.check`, the page from `cli.page`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lastword.cli.page import Page
from lastword.kit.check.checks import CheckVerdict, Finding
from lastword.kit.check.documents import COUNTING, outlived, reason_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.kit.check.checks import Check
    from lastword.kit.check.documents import Row

LABELS: Mapping[CheckVerdict, str] = {
    CheckVerdict.PASS: "pass",
    CheckVerdict.WARN: "warn",
    CheckVerdict.FAIL: "FAIL",
    CheckVerdict.NOT_APPLICABLE: "n/a",
    CheckVerdict.UNREACHED: "n/r",
}
_COUNTED: Mapping[CheckVerdict, str] = {
    CheckVerdict.FAIL: "failed",
    CheckVerdict.WARN: "warned",
    CheckVerdict.PASS: "passed",
    CheckVerdict.NOT_APPLICABLE: "not applicable (n/a)",
    CheckVerdict.UNREACHED: "not reached (n/r)",
}
_STYLES: Mapping[CheckVerdict, str] = {
    CheckVerdict.PASS: "green",
    CheckVerdict.WARN: "yellow",
    CheckVerdict.FAIL: "alarm",
    CheckVerdict.NOT_APPLICABLE: "dim",
    CheckVerdict.UNREACHED: "dim",
}
_VERDICT_COLUMNS = 6
_ID_COLUMNS = 10
_INDENT = _VERDICT_COLUMNS + _ID_COLUMNS
MIN_COLUMNS = 32
MAX_COLUMNS = 110
FRAME_LINES = 3
STDERR_LINES = 6
_SILENT = (CheckVerdict.NOT_APPLICABLE, CheckVerdict.UNREACHED)
"""Verdicts whose reason is often the same for many checks."""


def page() -> Page:
    """Return an empty page of a report's width."""
    return Page(least=MIN_COLUMNS, most=MAX_COLUMNS)


def show(
    page: Page, check: Check, finding: Finding, *, is_in_front: bool, reason: str | None = None
) -> None:
    """Show a check's finding. A check that was not judged is listed in the summary instead.

    Args:
        page: Where.
        check: The check.
        finding: What came of it.
        is_in_front: Whether something stands in front of the agent.
        reason: Why the baseline has it, if it does.
    """
    if finding.verdict in _SILENT:
        return
    if reason is not None:
        lead = (("known ", "dim"), (f"{check.requirement:<{_ID_COLUMNS}}", ""))
        page.row(lead, check.title)
        page.line(f"because: {reason}", indent=_INDENT, hang=2)
        return
    label = f"{LABELS[finding.verdict]:<{_VERDICT_COLUMNS}}"
    lead = ((label, _STYLES[finding.verdict]), (f"{check.requirement:<{_ID_COLUMNS}}", ""))
    page.row(lead, check.title)
    if finding.verdict in COUNTING:
        page.line(f"seen: {finding.evidence}", indent=_INDENT, hang=2)
        for frame in finding.frames:
            page.line(frame, indent=_INDENT, hang=2, at_most=FRAME_LINES)
        for line in finding.stderr[-STDERR_LINES:]:
            page.line(f"stderr: {line.strip()}", "dim", indent=_INDENT, hang=8, at_most=2)
        if finding.fault_of:
            page.line(f"at fault: {finding.fault_of}", indent=_INDENT, hang=2)
        page.line(check.advice(is_in_front=is_in_front), indent=_INDENT + 2)
        page.line(f"({check.name})", indent=_INDENT + 2)


def show_summary(
    page: Page, rows: Sequence[Row], seconds: float, reasons: Mapping[str, str]
) -> None:
    """Show why some checks were not judged, and how many ended with each verdict."""
    page.line()
    for verdict in _SILENT:
        left_out: dict[str, list[str]] = {}
        for check, finding in rows:
            if finding.verdict is verdict:
                left_out.setdefault(finding.evidence, []).append(check.name)
        for reason, names in left_out.items():
            lead = ((f"{LABELS[verdict]:<{_VERDICT_COLUMNS}}", _STYLES[verdict]),)
            page.row(lead, f"{reason} ({len(names)}): {', '.join(names)}")
    expected = [check for check, finding in rows if reason_for(check, finding, reasons)]
    counts = Counter(finding.verdict for check, finding in rows if check not in expected)
    parts = [f"{counts[v]} {words}" for v, words in _COUNTED.items() if counts[v]]
    if expected:
        parts.append(f"{len(expected)} known to fail")
    page.line(f"{', '.join(parts)}; {seconds:.0f} s")
    passed = [check for check, finding in rows if finding.verdict is CheckVerdict.PASS]
    if names := outlived(reasons, passed):
        page.line(f"No longer needed in the baseline, since it passes: {', '.join(names)}.")
    if counts[CheckVerdict.FAIL]:
        page.line(
            "Each FAIL says how to fix it. `lastword check --only NAME -- CMD` repeats one check; "
            "its name is in parentheses below it."
        )
    if counts[CheckVerdict.UNREACHED]:
        page.line(
            "Most checks that were not reached (n/r) need a model that fails on demand, or a "
            "login: see --preset, --provider-env and --keep-home in `lastword check --help`."
        )


def show_list(page: Page, checks: Sequence[Check]) -> None:
    """List all checks."""
    names = max(len(check.name) for check in checks) + 2
    wide = names + _ID_COLUMNS + MIN_COLUMNS <= page.columns
    for check in checks:
        head = f"{check.requirement:<{_ID_COLUMNS}}{check.name:<{names}}"
        if wide:
            page.row(((head, ""),), check.title)
        else:
            page.verbatim((head, ""))
            page.line(check.title, indent=4)
