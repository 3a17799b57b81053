"""`lastword agent`: an agent that fails on purpose, for whoever writes a client."""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

import anyio

from lastword.conformance.scenarios import IN_FRONT, SCENARIOS, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

DESCRIPTION = """\
An ACP agent on stdin and stdout whose turns fail on purpose, each in the way of its scenario: one
for every type of failure, and some that go well. No model, no key, no network.

A prompt with "/scenario NAME" in its text plays that one for its turn. (Write something before it
for silent_success: a prompt that begins with a command may end without a word.)
"""

EPILOG = f"""\
In a client's settings:
  command: lastword    arguments: agent rate_limit

Scenarios marked * happen to the whole process, which cannot answer then:
put `{IN_FRONT}` in front:
  command: lastword    arguments: run -- lastword agent agent_crash

Exit status: 0 when the client has closed stdin, 2 for arguments that cannot be used.
"""

MAX_COLUMNS = 128
MIN_SEES_COLUMNS = 24


def main(arguments: Sequence[str]) -> int:
    """Run the scripted agent, or list its scenarios."""
    parser = argparse.ArgumentParser(
        prog="lastword agent",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenario", metavar="SCENARIO", nargs="?", help="what its turns do")
    parser.add_argument("--list", action="store_true", help="show the scenarios")
    parser.add_argument("--json", action="store_true", help="with --list: as JSON")
    chosen = parser.parse_args(list(arguments))
    if chosen.list:
        sys.stdout.write(_json() if chosen.json else _table())
        return 0
    if chosen.json:
        return _refused("--json goes with --list")
    if chosen.scenario is None:
        return _refused("a scenario is missing")
    if chosen.scenario not in SCENARIOS:
        return _refused(unknown(chosen.scenario))
    return _play(chosen.scenario)


def _refused(problem: str) -> int:
    sys.stderr.write(f"lastword agent: {problem}. `lastword agent --list` shows what there is.\n")
    return 2


def _play(scenario: str) -> int:
    # 51 ms of it are the JSON-RPC library's, which a list of scenarios does not need.
    from lastword.conformance.agent import play  # noqa: PLC0415

    if sys.stdin.isatty():
        sys.stderr.write(
            "lastword agent: this speaks ACP on stdin and stdout, one JSON message a line, and is "
            "meant to be started by a client. Ctrl-D ends it.\n"
        )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain())
    logging.getLogger("lastword").addHandler(handler)
    try:
        anyio.run(play, scenario)
    except KeyboardInterrupt:
        # How a person at a terminal ends it.
        return 0
    return 0


class _Plain(logging.Formatter):
    """One line each: its failures are on purpose, and where they are raised is no news."""

    def format(self, record: logging.LogRecord) -> str:
        """The message alone."""
        return f"lastword agent: {record.getMessage()}"


def _json() -> str:
    return json.dumps([scenario.told() for scenario in SCENARIOS.values()], indent=2) + "\n"


def _table() -> str:
    columns = min(MAX_COLUMNS, shutil.get_terminal_size((100, 24)).columns)
    name_columns = max(map(len, SCENARIOS)) + 3
    type_columns = name_columns
    indent = name_columns + type_columns
    width = max(MIN_SEES_COLUMNS, columns - indent)
    rows = [("scenario", "type", "what the client sees")]
    for scenario in SCENARIOS.values():
        mark = "*" if scenario.needs_sidecar else ""
        error_type = scenario.error_type.value if scenario.error_type else "-"
        rows.append((scenario.name + mark, error_type, scenario.sees))
    lines = []
    for name, error_type, sees in rows:
        first, *more = textwrap.wrap(sees, width)
        lines.append(f"{name:<{name_columns}}{error_type:<{type_columns}}{first}")
        lines += [" " * indent + line for line in more]
    lines += ["", f"* put `{IN_FRONT}` in front: the agent cannot answer for itself then"]
    return "\n".join(lines) + "\n"
