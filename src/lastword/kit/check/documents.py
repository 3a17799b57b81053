"""The findings for programs: JSON, and JUnit XML for build servers.

Owns both shapes, and writing a file completely or not at all.

`mend` is an older name of `advice`.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from lastword._version import __version__
from lastword.core.redact.printable import printable
from lastword.kit.check.baseline import reason_for
from lastword.kit.check.checks import CHECKS, CheckVerdict
from lastword.kit.check.hooks import is_in_front

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.kit.check.checks import Check, Finding

    Row = tuple[Check, Finding]
    """A check and what came of it."""

_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no place for, not even escaped."""


def described(check: Check, command: Sequence[str] = ()) -> dict[str, Any]:
    """Return a check without a finding; with what mends it for this agent.

    `mend` is an older name of `advice`.
    """
    advice = check.advice(is_in_front=is_in_front(command))
    return {
        "name": check.name,
        "requirement": check.requirement,
        "title": check.title,
        "advice": advice,
        "mend": advice,
    }


def report(
    command: Sequence[str], rows: Sequence[Row], seconds: float, reasons: Mapping[str, str]
) -> dict[str, Any]:
    """Return everything, for `--json`.

    `agent`, `lastword` and `seconds` are older names of `command`, `lastword_version` and
    `duration_seconds`.
    """
    verdicts = [finding.verdict for _, finding in rows]
    took = round(seconds, 1)
    return {
        "command": list(command),
        "agent": list(command),
        "lastword_version": __version__,
        "lastword": __version__,
        "duration_seconds": took,
        "seconds": took,
        "summary": {verdict.value: verdicts.count(verdict) for verdict in CheckVerdict},
        "checks": [
            {
                **described(check, command),
                "verdict": finding.verdict.value,
                "evidence": finding.evidence,
                "frames": list(finding.frames),
                "stderr": list(finding.stderr),
                "fault_of": finding.fault_of,
                "known": reason_for(check, finding, reasons),
            }
            for check, finding in in_order(rows)
        ],
    }


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Return what came as it came in the order of the table."""
    order = list(CHECKS)
    return sorted(rows, key=lambda row: order.index(row[0].name))


def words(check: Check, finding: Finding, command: Sequence[str]) -> list[str]:
    """Return all that is said of a check that was not passed, a line each."""
    beside = [f"stderr: {line}" for line in finding.stderr]
    fault = [f"at fault: {finding.fault_of}"] if finding.fault_of else []
    advice = check.advice(is_in_front=is_in_front(command))
    return [check.title, finding.evidence, *finding.frames, *beside, *fault, advice]


def junit(
    command: Sequence[str], rows: Sequence[Row], seconds: float, reasons: Mapping[str, str]
) -> bytes:
    """Return a test suite with a case for each check; what only warns has passed.

    What is known to fail is skipped in it.
    """
    skips = [_skip(check, finding, reasons) for check, finding in rows]
    failures = sum(
        finding.verdict is CheckVerdict.FAIL and skip is None
        for (_, finding), skip in zip(rows, skips, strict=True)
    )
    skipped = len(rows) - skips.count(None)
    counts = {"tests": str(len(rows)), "failures": str(failures), "skipped": str(skipped)}
    counts |= {"errors": "0", "time": f"{seconds:.1f}"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "lastword check", **counts})
    for check, finding in in_order(rows):
        group = check.requirement.rstrip("0123456789").rstrip("-")
        case = ET.SubElement(
            suite,
            "testcase",
            {
                "classname": f"lastword.check.{group}",
                "name": f"{check.requirement} {check.name}",
                "time": "0",
            },
        )
        text = "\n".join(words(check, finding, command))
        if skip := _skip(check, finding, reasons):
            _add(case, "skipped", skip, text if finding.verdict is CheckVerdict.FAIL else "")
        elif finding.verdict is CheckVerdict.FAIL:
            _add(case, "failure", finding.evidence, text)
        elif finding.verdict is CheckVerdict.WARN:
            ET.SubElement(case, "system-out").text = _clean(f"warning: {text}")
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


_SKIPPED = {
    CheckVerdict.NOT_APPLICABLE: "not applicable",
    CheckVerdict.UNREACHED: "could not be reached",
}


def _skip(check: Check, finding: Finding, reasons: Mapping[str, str]) -> str | None:
    if finding.verdict is CheckVerdict.FAIL and (reason := reason_for(check, finding, reasons)):
        return f"known: {reason}"
    if finding.verdict in _SKIPPED:
        return f"{_SKIPPED[finding.verdict]}: {finding.evidence}"
    return None


def _add(case: ET.Element, tag: str, message: str, text: str = "") -> None:
    element = ET.SubElement(case, tag, {"message": _clean(message)})
    if text:
        element.text = _clean(text)


def _clean(text: str) -> str:
    return printable(_NO_XML.sub("�", text))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically.

    Raises:
        OSError: It cannot be written; what was there before is untouched.
    """
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
