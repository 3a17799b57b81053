"""The findings as files, JSON, JUnit XML, SARIF and a badge; and what is known to fail.

Owns their shapes, and writing a file completely or not at all. `mend` is an older name of `advice`.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from lastword._version import __version__
from lastword.core.redact.printable import printable
from lastword.kit.check.checks import CHECKS, CheckVerdict
from lastword.kit.check.hooks import is_in_front

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.kit.check.checks import Check, Finding

    Row = tuple[Check, Finding]
    """A check and what came of it."""


MAX_BYTES = 256 * 1024

COUNTING = (CheckVerdict.FAIL, CheckVerdict.WARN)
"""The verdicts that a baseline covers."""


class BaselineError(ValueError):
    """The file cannot be used; the text says why."""


def load_baseline(path: Path) -> dict[str, str]:
    """Return the reasons by the names of checks.

    Raises:
        BaselineError: It cannot be read, or names what is not a check.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BaselineError(f"{path}: it is larger than any baseline")
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BaselineError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BaselineError(f"{path}: not TOML: {error}") from error
    rows = document.get("known")
    if not isinstance(rows, dict) or document.keys() != {"known"}:
        raise BaselineError(f"{path}: it needs one table, [known], with a reason for each check")
    reasons: dict[str, str] = {}
    for name, reason in rows.items():
        if not isinstance(reason, str) or not reason.strip():
            raise BaselineError(f"{path}: {name} needs a reason, as a text that is not empty")
        named = [check.name for check in CHECKS.values() if name in {check.name, check.requirement}]
        if not named:
            raise BaselineError(f"{path}: unknown check {name}; see `lastword check --list`")
        reasons |= dict.fromkeys(named, reason.strip())
    return reasons


def reason_for(check: Check, finding: Finding, reasons: Mapping[str, str]) -> str | None:
    """Return why a finding does not count; `None` if it does, or if there is nothing to excuse."""
    return reasons.get(check.name) if finding.verdict in COUNTING else None


def outlived(reasons: Mapping[str, str], passed: Sequence[Check]) -> list[str]:
    """Return the names that the file has of checks that passed."""
    names = {check.name for check in passed}
    return [name for name in reasons if name in names]


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
        "tck": list(check.tck),
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
    same = [f"in acp-tck: {', '.join(check.tck)}"] if check.tck else []
    return [check.title, finding.evidence, *finding.frames, *beside, *fault, advice, *same]


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
            "properties": {"tags": list(check.tck)},
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
