"""`lastword check`: does an agent keep to the protocol, and to the contract where it claims to?"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from lastword.cli import envelope
from lastword.cli.check import report
from lastword.kit.check import documents
from lastword.kit.check.checks import CheckVerdict
from lastword.kit.check.pointing import PROMPT, HookError, Hooks, find, is_in_front
from lastword.kit.check.run import CheckSettings, UnknownCheckError, chosen, findings
from lastword.kit.check.transcript import WaitLimits
from lastword.quirks.pointing import PRESETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.kit.check.checks import Check
    from lastword.kit.check.documents import Row

DESCRIPTION = """\
Starts an ACP agent again and again, plays a client that is strict, a provider that fails and a
user who cancels, and says for each requirement what came of it. Nothing leaves this machine that
the agent does not send itself; it gets a home of its own.
"""

EPILOG = f"""\
An agent needs a model for its turns. The kit has one, which fails when it shall:
  lastword check --preset opencode -- opencode acp       a recipe: {", ".join(PRESETS)}
  lastword check --provider-env OPENAI_BASE_URL -- CMD    a variable that it takes anyway
  lastword check --provider-env 'X_URL={{openai}}' --provider-env 'X_KEY={{key}}' -- CMD
      in a template: {{openai}} {{anthropic}} {{key}} {{model}}
An agent of protocol version 2 is checked in it with --protocol 2.
An agent that is driven by words plays its failures by itself:
  lastword check --scenario-prompts 'Please: /scenario {{name}}' -- lastword agent healthy
Without either, what needs a failing provider could not be reached (n/r).
What failed is played again; what fails only now and then says how often it did.

The same as tests, where pytest is installed (lastword does not bring it):
  pytest --pyargs lastword.conformance --agent "CMD" [the options above]

Exit status: 0 when nothing failed, 1 when something did, 2 for what cannot be run.
"""

INTERRUPTED_STATUS = 130


def main(arguments: Sequence[str]) -> int:
    """Check an agent."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    options = _parser().parse_args(words[:at])
    try:
        checks = chosen((options.only or "").split(","))
        if options.list:
            return _list(checks, as_json=options.json)
        settings = _settings(options, words[at + 1 :])
    except (HookError, UnknownCheckError) as error:
        sys.stderr.write(f"lastword check: {error}\n")
        return 2
    # A terminal that is closed, too: the agents are in sessions of their own, and hear of neither.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` has it
            signal.signal(number, _interrupt)
    try:
        return _check(settings, checks, options)
    except KeyboardInterrupt:
        sys.stderr.write("lastword check: given up; the agents that ran are gone\n")
        return INTERRUPTED_STATUS


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lastword check",
        usage="lastword check [options] -- CMD [ARGUMENT...]",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add, usual = parser.add_argument, WaitLimits()
    add("--preset", default="", metavar="NAME", help="point the agent to the kit's provider")
    add("--provider-env", action="append", default=[], metavar="NAME[=TEMPLATE]", help="likewise")
    add("--scenario-prompts", default="", metavar="TEXT", help="a prompt, with {name} in it")
    add("--prompt", default=PROMPT, metavar="TEXT", help="every other prompt")
    add("--keep-home", action="store_true", help="the agent works in your home, with your login")
    add("--protocol", type=int, choices=(1, 2), default=1, help="the version that is spoken (1)")
    add("--only", metavar="ID,…", help="these checks, by requirement or by name")
    add("--list", action="store_true", help="show the checks")
    add("--json", action="store_true", help="write JSON: everything")
    add("--junit", type=Path, metavar="FILE", help="write JUnit XML")
    add("--keep", type=Path, metavar="DIR", help="write what passed, redacted")
    add("--timeout", type=_seconds, default=usual.answer_seconds, metavar="SECONDS",
        help="for an answer without a model, and a healthy turn (%(default)g)")  # fmt: skip
    add("--turn-limit", type=_seconds, default=usual.turn_seconds, metavar="SECONDS",
        help="for the end of a failing turn (%(default)g)")  # fmt: skip
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError("it must be more than 0")
    return value


def _settings(options: argparse.Namespace, command: list[str]) -> CheckSettings:
    """Return what the command line asks for.

    Raises:
        HookError: It cannot be.
    """
    find(command)
    for path in filter(None, (options.junit and options.junit.parent, options.keep)):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HookError(f"{path}: {(error.strerror or 'cannot be made').lower()}") from error
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


def _list(checks: Sequence[Check], *, as_json: bool) -> int:
    if as_json:
        envelope.write({"checks": [documents.described(row) for row in checks]})
    else:
        page = report.page()
        report.show_list(page, checks)
        sys.stdout.write(page.take())
    return 0


def _check(settings: CheckSettings, checks: Sequence[Check], options: argparse.Namespace) -> int:
    started = time.monotonic()
    page = report.page()
    rows: list[Row] = []
    if sys.stderr.isatty():
        sys.stderr.write("lastword check: a few seconds; a few minutes for an agent that retries\n")
    for row, finding in findings(settings, checks):
        rows.append((row, finding))
        if not options.json:
            report.show(page, row, finding, is_in_front=is_in_front(settings.command))
            sys.stdout.write(page.take())
            sys.stdout.flush()
    seconds = time.monotonic() - started
    if options.json:
        envelope.write(documents.told(settings.command, rows, seconds))
    else:
        report.show_summary(page, rows, seconds)
        sys.stdout.write(page.take())
    if options.junit:
        documents.write_whole(options.junit, documents.junit(settings.command, rows, seconds))
    verdicts = {finding.verdict for _, finding in rows}
    # An agent of which nothing can be said, as one that does not start, is not fine; nor is one
    # whose sessions nobody has seen.
    closed = any(r.name == OPENS and f.verdict is CheckVerdict.UNREACHED for r, f in rows)
    return 1 if CheckVerdict.FAIL in verdicts or not verdicts & _SAID or closed else 0


OPENS = "opens-session"
"""The check without which there are no turns to be checked."""

_SAID = {CheckVerdict.PASS, CheckVerdict.WARN}
