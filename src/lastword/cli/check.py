"""`lastword check`: test an agent against the protocol, and the contract if it claims it."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from lastword.cli import envelope
from lastword.cli.page import Page, Progress
from lastword.cli.parser import CommandParser, add_arguments, positive_seconds
from lastword.cli.words import refuse
from lastword.kit.check import run
from lastword.kit.check.checks import CheckVerdict, Finding
from lastword.kit.check.hooks import PROMPT, HookError, Hooks, find, is_in_front
from lastword.kit.check.run import (
    COUNTING,
    CheckSettings,
    UnknownCheckError,
    chosen,
    findings,
    outlived,
    reason_for,
)
from lastword.kit.check.stage import WaitLimits
from lastword.platform.files import write_whole
from lastword.quirks.setup import PRESETS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from lastword.kit.check.checks import Check
    from lastword.kit.check.run import Row


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


def new_page() -> Page:
    """Return an empty page of a report's width."""
    return Page(least=MIN_COLUMNS, most=MAX_COLUMNS)


def show(
    page: Page, check: Check, finding: Finding, *, is_in_front: bool, reason: str | None = None
) -> None:
    """Show a check's finding. A check that was not judged is listed in the summary instead.

    Args:
        page: Where to show it.
        check: The check.
        finding: Its result.
        is_in_front: Whether something stands in front of the agent.
        reason: The baseline's reason for a known failure.
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
        if check.tck:
            page.line(f"in acp-tck: {', '.join(check.tck)}", indent=_INDENT + 2)
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
    starts = not any(c.name == INITIALIZE and f.verdict is CheckVerdict.FAIL for c, f in rows)
    if counts[CheckVerdict.UNREACHED] and starts:
        page.line(
            "Most checks that were not reached (n/r) need a model that fails on demand, or a "
            "login: see --preset, --provider-env and --keep-home in `lastword check --help`."
        )


def _listing(checks: Sequence[Check]) -> str:
    page = new_page()
    names = max(len(check.name) for check in checks) + 2
    wide = names + _ID_COLUMNS + MIN_COLUMNS <= page.columns
    for check in checks:
        head = f"{check.requirement:<{_ID_COLUMNS}}{check.name:<{names}}"
        if wide:
            page.row(((head, ""),), check.title)
        else:
            page.verbatim((head, ""))
            page.line(check.title, indent=4)
    return page.drain()


DESCRIPTION = """\
Tests whether an ACP agent keeps to the protocol, and to lastword's contract if
it declares support for that. Starts the agent several times, acting as a strict
client with a model provider that fails and a user who cancels, and reports the
result for each requirement. The agent gets its own home folder. Nothing leaves
this machine except what the agent itself sends.
"""

EPILOG = """\
An agent needs a model for its turns. lastword has one that fails on demand, on
this machine; --preset or --provider-env points the agent to it. For an agent
that fails on request, use --scenario-prompts. Without any of them, the checks
that need a failing provider are not reached (n/r).
A TEMPLATE may contain {openai}, {anthropic}, {key} and {model}.
A failed check is repeated; if it fails only sometimes, the result says how often.

examples:
  lastword check --preset opencode -- opencode acp
  lastword check --provider-env OPENAI_BASE_URL -- ./my-agent.py
  lastword check --provider-env 'X_URL={openai}' \\
                 --provider-env 'X_KEY={key}' -- ./my-agent.py
  lastword check --scenario-prompts '/scenario {name}' -- \\
                 lastword agent healthy
  lastword check --only AGT-12,opens-session -- ./my-agent.py
  lastword check --list

The same checks as pytest tests:
  pytest --pyargs lastword.conformance --agent "CMD" [the options above]

exit status: 0 if nothing failed, 1 if a check failed or no turn could be played,
2 for invalid arguments, 130 after Ctrl-C.
"""

INTERRUPTED_STATUS = 130


def main(arguments: Sequence[str]) -> int:
    options, agent = parser().parse_in_front(arguments)
    try:
        checks = chosen((options.only or "").split(","))
        if options.list:
            if options.json:
                envelope.write({"checks": [run.described(row) for row in checks]})
            else:
                sys.stdout.write(_listing(checks))
            return 0
        settings = _settings(options, agent)
        reasons = run.load_baseline(options.baseline) if options.baseline else {}
    except (HookError, UnknownCheckError, run.BaselineError) as error:
        return refuse("check", error)
    # The agents run in their own sessions, so neither signal reaches them, not even when the
    # terminal is closed.
    there = signal.Signals.__members__  # which of them differs
    for number in (there[name] for name in ("SIGTERM", "SIGHUP", "SIGBREAK") if name in there):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` has it
            signal.signal(number, _interrupt)
    try:
        return _check(settings, checks, reasons, options)
    except KeyboardInterrupt:
        sys.stderr.write("lastword check: stopped; the agents have been ended\n")
        return INTERRUPTED_STATUS


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


_MODEL = f"""\
--preset PRESET
    configure a known agent to use lastword's model: {", ".join(PRESETS)} (default: none)
--provider-env NAME[=TEMPLATE]
    set a variable that points the agent to lastword's model; can be repeated (default: none)
--scenario-prompts TEXT
    the prompt that makes the agent itself play the failure {{name}} (default: none)
--prompt TEXT  the text of all other prompts (default: %(default)s)
--keep-home  run the agent in your home folder, with your login, instead of an empty one
"""
_CHECKED = """\
--protocol  the version of ACP to speak (1, 2; default: %(default)s)
--only CHECKS
    run only these checks, by requirement or name, separated by commas (default: all)
--timeout TIME
    how long an answer that needs no model, or a healthy turn, may take (default: %(default)g s)
--turn-limit TIME
    how long a failing turn may take to end; raise it for an agent that keeps retrying (default:
    %(default)g s)
"""
_OUTPUT = """\
--list  list the checks without running them
--json  print everything as JSON
--junit FILE  also write the results as JUnit XML (default: none)
--sarif FILE  also write what failed as SARIF, for a code host's alerts (default: none)
--badge FILE  also write a badge as SVG (default: none)
--baseline FILE
    known failures, each with a reason, which do not count (default: none)
--fail-on WORD  what makes the exit status 1 (fail, warn, never; default: %(default)s)
--keep DIR  also write every message to this folder, with secrets removed (default: none)
"""


def parser() -> CommandParser:
    made = CommandParser(
        "check", usage="[options] -- CMD [ARGUMENT...]", about=DESCRIPTION, ends=EPILOG
    )
    add_arguments(
        made.add_argument_group("the agent's model"),
        _MODEL,
        preset={"default": "", "choices": tuple(PRESETS)},
        provider_env={"action": "append", "default": []},
        scenario_prompts={"default": ""},
        prompt={"default": PROMPT},
    )
    usual = WaitLimits()
    add_arguments(
        made.add_argument_group("what is checked"),
        _CHECKED,
        protocol={"type": int, "choices": (1, 2), "default": 1},
        timeout={"type": positive_seconds, "default": usual.answer_seconds},
        turn_limit={"type": positive_seconds, "default": usual.turn_seconds},
    )
    add_arguments(
        made.add_argument_group("output"),
        _OUTPUT,
        **{name: {"type": Path} for name in ("junit", "sarif", "badge", "baseline", "keep")},
        fail_on={"choices": ("fail", "warn", "never"), "default": "fail"},
    )
    return made


def _settings(options: argparse.Namespace, command: list[str]) -> CheckSettings:
    find(command)
    files = [file for file in (options.junit, options.sarif, options.badge) if file]
    for file in files:
        if file.exists() and not file.is_file():
            raise HookError(f"{file}: is not a regular file")
    for path in filter(None, (*(file.parent for file in files), options.keep)):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HookError(f"{path}: {(error.strerror or 'cannot be created').lower()}") from error
        if not os.access(path, os.W_OK):
            raise HookError(f"{path}: cannot be written to")
    hooks = Hooks(
        preset=options.preset,
        provider_env=tuple(options.provider_env),
        scenario_prompts=options.scenario_prompts,
        prompt=options.prompt,
        keep_home=options.keep_home,
        protocol=options.protocol,
    )
    limits = WaitLimits(options.timeout, options.turn_limit)
    return CheckSettings(tuple(command), hooks, limits, options.keep)


def _check(
    settings: CheckSettings,
    checks: Sequence[Check],
    reasons: Mapping[str, str],
    options: argparse.Namespace,
) -> int:
    started = time.monotonic()
    page = new_page()
    rows: list[Row] = []
    with Progress("Starting the agent", in_lines=True) as progress:

        def at(acts: Sequence[str], seconds_left: float | None) -> None:
            done = f"{len(rows)} of {len(checks)} checks done"
            left = "" if seconds_left is None else f", about {_rounded(seconds_left)} left"
            playing = " and ".join(acts).replace(":", " ")
            progress.say(f"Checking, {done}{left}; playing {playing}")

        for row, finding in findings(settings, checks, at):
            rows.append((row, finding))
            if not options.json:
                in_front = is_in_front(settings.command)
                reason = run.reason_for(row, finding, reasons)
                show(page, row, finding, is_in_front=in_front, reason=reason)
                with progress.aside():
                    sys.stdout.write(page.drain())
                    sys.stdout.flush()
    seconds = time.monotonic() - started
    if options.json:
        envelope.write(run.report(settings.command, rows, seconds, reasons))
    else:
        show_summary(page, rows, seconds, reasons)
        sys.stdout.write(page.drain())
    if options.junit:
        write_whole(options.junit, run.junit(settings.command, rows, seconds, reasons), mode=0o666)
    if options.sarif:
        write_whole(options.sarif, run.sarif(settings.command, rows, reasons), mode=0o666)
    if options.badge:
        write_whole(options.badge, run.badge(rows, reasons), mode=0o666)
    if options.fail_on == "never":
        return 0
    verdicts = {finding.verdict for _, finding in rows}
    new = {
        finding.verdict
        for check, finding in rows
        if run.reason_for(check, finding, reasons) is None
    }
    # An agent that cannot be judged has not passed, such as one that does not start, or that opens
    # no session.
    closed = any(r.name == OPENS and f.verdict is CheckVerdict.UNREACHED for r, f in rows)
    failing = {CheckVerdict.FAIL} | ({CheckVerdict.WARN} if options.fail_on == "warn" else set())
    return 1 if new & failing or closed or not verdicts & _CONCLUSIVE else 0


def _rounded(seconds: float) -> str:
    if seconds < 60:  # noqa: PLR2004
        return f"{max(5, round(seconds / 5) * 5)} s"
    return f"{math.ceil(seconds / 60)} min"


INITIALIZE = "initialize"
OPENS = "opens-session"
"""The check without which no turn can be checked."""

_CONCLUSIVE = {CheckVerdict.PASS, CheckVerdict.WARN, CheckVerdict.FAIL}
