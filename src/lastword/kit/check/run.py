"""A run of checks, and its findings as files: JSON, JUnit XML, SARIF and a badge.

Owns playing the acts that the checks need, in parallel; the findings in a fixed order; and the
baseline of known failures.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import time
import tomllib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Semaphore
from typing import TYPE_CHECKING, Any, Self
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from lastword._version import __version__
from lastword.core.redact.printable import printable
from lastword.kit.check.checks import CHECKS, Check, CheckVerdict, Finding
from lastword.kit.check.checks.model import shown
from lastword.kit.check.hooks import is_in_front
from lastword.kit.check.probes import ACTS, Played, play
from lastword.kit.check.stage import WaitLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lastword.kit.check.hooks import Hooks
    from lastword.kit.peer import StrictClient

    Row = tuple[Check, Finding]
    """A check and its finding."""


WORKERS = 2
"""Agents at once; with more, a small machine would be too slow for their timeouts."""

WAITING = 2
"""Additional agents whose provider fails: they mostly wait for their own retries."""

PLACES = {True: WAITING, False: WORKERS}
"""How many acts are played at once, by whether they wait for the agent's retries."""


PLAYS = 5
"""How often an act is played that fails only sometimes."""

REPLAYED_SECONDS = 20.0
"""Longer acts are played only once, since a race does not last that long."""

MUTE_ACTS = 4
"""After this many acts in a row without an answer to `initialize`, others wait a tenth as long."""

FEW_ACTS = 2
"""A check of more acts than this judges each separately."""


class UnknownCheckError(Exception):
    """There is no check by this name; the text suggests one."""


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The settings of a run.

    Attributes:
        command: The agent's command.
        hooks: How the agent is driven.
        limits: The timeouts.
        keep: The folder that transcripts are written to, if any.
        plays: How often a failing act is played at most.
    """

    command: tuple[str, ...]
    hooks: Hooks
    limits: WaitLimits = field(default_factory=WaitLimits)
    keep: Path | None = None
    plays: int = PLAYS


def chosen(words: Iterable[str]) -> list[Check]:
    """Return the checks by their names or requirements, in the table's order; without words, all.

    Raises:
        UnknownCheckError: A word is neither.
    """
    rows = CHECKS.values()
    names = [word.strip() for word in words if word.strip()]
    choices = {name.lower(): name for row in rows for name in (row.name, row.requirement)}
    for word in names:
        if word in choices.values():
            continue
        like = difflib.get_close_matches(word.lower(), choices, n=1)
        hint = f". Did you mean {choices[like[0]]}?" if like else ";"
        raise UnknownCheckError(
            f"there is no check {word!r}{hint} `lastword check --list` lists them all"
        )
    return [row for row in rows if not names or {row.name, row.requirement} & set(names)]


class CheckRun:
    """The acts of some checks, played in threads; a context manager that leaves no agent behind."""

    def __init__(
        self,
        settings: CheckSettings,
        checks: Sequence[Check],
        at: Callable[[Sequence[str], float | None], None] = lambda *_: None,
    ) -> None:
        self._settings = settings
        self._at = at
        self._playing: list[str] = []
        self._pools = {waits: ThreadPoolExecutor(places) for waits, places in PLACES.items()}
        self._peers: list[StrictClient] = []
        self._given_up = False
        self._mute = 0
        self._slots = {waits: Semaphore(places) for waits, places in PLACES.items()}
        self._seconds: dict[str, float] = {}
        self._replays: dict[str, list[Played]] = {}
        needed = {act for row in checks for act in row.acts}
        self._order = [name for name in ACTS if name in needed]
        self._acts: dict[str, Future[Played]] = {}

    @property
    def command(self) -> tuple[str, ...]:
        """The agent's command."""
        return self._settings.command

    def __enter__(self) -> Self:
        """Begin the acts; an interrupt during that kills the agents that already run."""
        try:
            for name in self._order:
                self._acts[name] = self._pools[_waits(name)].submit(self._play, name)
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._give_up()
        try:
            for pool in self._pools.values():
                pool.shutdown(wait=True, cancel_futures=True)
        except BaseException:  # a second interrupt: do not wait for the remaining acts
            self._give_up()
            raise

    def _give_up(self) -> None:
        """Kill the running agents, which ends their acts at once."""
        self._given_up = True
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        for peer in list(self._peers):
            peer.kill()

    def _started(self, peer: StrictClient) -> None:
        self._peers.append(peer)
        if self._given_up:
            peer.kill()

    @property
    def seconds_left(self) -> float | None:
        """An estimate for the remaining acts; `None` until one of each kind has finished."""
        seconds = dict(self._seconds)  # other threads write to it
        longest = 0.0
        for waits, places in PLACES.items():
            names = [name for name in self._order if _waits(name) is waits]
            over = [seconds[name] for name in names if name in seconds]
            if names and not over:
                return None
            left = sum(over) / max(len(over), 1) * (len(names) - len(over))
            longest = max(longest, left / places)
        return longest

    def in_order(self, checks: Iterable[Check]) -> list[Check]:
        """Return checks in the order in which their last acts begin; acts that wait come last."""
        begins = sorted(self._order, key=_waits)
        return sorted(checks, key=lambda row: max(map(begins.index, row.acts), default=0))

    def finding(self, check: Check) -> Finding:
        """Return a check's finding; waits for its acts, and replays those that failed."""
        acts = {name: self._acts[name].result() for name in check.acts}
        finding = check.find(acts)
        plays = self._settings.plays
        if finding.verdict is not CheckVerdict.FAIL or plays == 1:
            return finding
        names = failing_acts(check, acts)
        if not names or sum(self._seconds[name] for name in names) > REPLAYED_SECONDS:
            return finding
        failed = 1
        for number in range(1, plays):
            for name in names:
                replays = self._replays.setdefault(name, [])  # shared by several checks
                if len(replays) < number:
                    replays.append(self._play_once(name))
            acts = {name: self._replays[name][number - 1] for name in names}
            failed += replace(check, acts=names).find(acts).verdict is CheckVerdict.FAIL
            if number == 1 and failed > 1:
                return finding
        # A single failure may be due to this machine.
        verdict = CheckVerdict.FAIL if failed > 1 else CheckVerdict.WARN
        evidence = f"{failed} of {plays} times: {finding.evidence}"
        return replace(finding, verdict=verdict, evidence=evidence)

    def _play(self, name: str) -> Played:
        """Play an act, and write its transcript: each line as JSON, redacted."""
        played = self._play_once(name)
        if self._settings.keep is not None:
            lines = [
                json.dumps({"at": round(event.at, 3), "line": shown(event)[0]}, ensure_ascii=False)
                for event in played.transcript.events
            ]
            file = self._settings.keep / f"{name.replace(':', '-')}.jsonl"
            file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return played

    def _play_once(self, name: str) -> Played:
        own = self._settings
        with self._slots[_waits(name)]:
            since = time.monotonic()
            self._playing.append(name)
            self._at(tuple(self._playing), self.seconds_left)
            limits = own.limits
            if self._mute >= MUTE_ACTS:
                limits = replace(limits, answer_seconds=limits.answer_seconds / 10)
            played = play(name, own.command, own.hooks, limits, started=self._started)
            if "initialized" in played.transcript.notes:
                is_mute = played.transcript.notes["initialized"] is None
                self._mute = self._mute + 1 if is_mute else 0
            self._playing.remove(name)
            self._seconds.setdefault(name, time.monotonic() - since)
        return played


def _waits(name: str) -> bool:
    """Return whether an act waits for the agent's retries, since its provider fails."""
    return name.startswith("fail:")


def failing_acts(check: Check, acts: Mapping[str, Played]) -> tuple[str, ...]:
    """Return the acts that made a check fail: all, or the first of many that are judged alone.

    Completed acts come first, since an act that was cut short may show something else next time.
    """
    if len(acts) <= FEW_ACTS:
        return check.acts
    for name in sorted(check.acts, key=lambda name: not acts[name].is_complete):
        alone = replace(check, acts=(name,)).find({name: acts[name]})
        if alone.verdict is CheckVerdict.FAIL:
            return (name,)
    return ()


def findings(
    settings: CheckSettings,
    checks: Sequence[Check],
    at: Callable[[Sequence[str], float | None], None] = lambda *_: None,
) -> Iterator[tuple[Check, Finding]]:
    """Yield each check's finding, in the order in which their last acts begin.

    Args:
        settings: The agent, and how it is checked.
        checks: The checks.
        at: Called whenever an act begins, with the acts that are being played and an estimate of
            the remaining seconds.
    """
    with CheckRun(settings, checks, at) as run:
        for row in run.in_order(checks):
            yield row, run.finding(row)


MAX_BYTES = 256 * 1024

COUNTING = (CheckVerdict.FAIL, CheckVerdict.WARN)
"""The verdicts that a baseline covers."""


class BaselineError(ValueError):
    """The file cannot be used; the text says why."""


def load_baseline(path: Path) -> dict[str, str]:
    """Return the reasons of known failures, by the names of checks.

    Raises:
        BaselineError: The file cannot be read, or names an unknown check.
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
    """Return why a failure or warning does not count; `None` if it does, and for other verdicts."""
    return reasons.get(check.name) if finding.verdict in COUNTING else None


def outlived(reasons: Mapping[str, str], passed: Sequence[Check]) -> list[str]:
    """Return the known failures whose checks have passed."""
    names = {check.name for check in passed}
    return [name for name in reasons if name in names]


_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, not even escaped."""


def described(check: Check, command: Sequence[str] = ()) -> dict[str, Any]:
    """Return a check without a finding, with the advice for this agent.

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
    """Return findings in the table's order."""
    order = list(CHECKS)
    return sorted(rows, key=lambda row: order.index(row[0].name))


def words(check: Check, finding: Finding, command: Sequence[str]) -> list[str]:
    """Return the lines that describe a check that did not pass."""
    beside = [f"stderr: {line}" for line in finding.stderr]
    fault = [f"at fault: {finding.fault_of}"] if finding.fault_of else []
    advice = check.advice(is_in_front=is_in_front(command))
    same = [f"in acp-tck: {', '.join(check.tck)}"] if check.tck else []
    return [check.title, finding.evidence, *finding.frames, *beside, *fault, advice, *same]


def junit(
    command: Sequence[str], rows: Sequence[Row], seconds: float, reasons: Mapping[str, str]
) -> bytes:
    """Return a JUnit test suite with a case for each check.

    Warnings count as passed, known failures as skipped.
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


_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {CheckVerdict.FAIL: "error", CheckVerdict.WARN: "warning"}

_GREEN, _YELLOW, _RED, _GREY = "#2c7a39", "#9a6700", "#b3261e", "#555555"
_LABEL = "lastword check"
_CHAR_PIXELS = 6.6
"""The width of a character of 11 px, on average; `textLength` makes it exact."""


def sarif(command: Sequence[str], rows: Sequence[Row], reasons: Mapping[str, str]) -> bytes:
    """Return failures and warnings as a SARIF log, in which known ones are suppressed."""
    shown = [row for row in in_order(rows) if row[1].verdict in _LEVELS]
    # Code hosts need a file for each result: the first word of the command that is one.
    uri = os.path.basename(command[0]) if command else "agent"
    here = os.getcwd()
    for word in command:
        path = os.path.abspath(word)
        if os.path.isfile(path) and path.startswith(here + os.sep):
            uri = os.path.relpath(path, here).replace(os.sep, "/")
            break
    place = {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}
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


def badge(rows: Sequence[Row], reasons: Mapping[str, str]) -> bytes:
    """Return an SVG with the number of checks that failed, or else passed."""
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
