"""`acpx`, the command-line client, as a client program: what a person sees of it, as events.

Owns: one saved session of acpx's with the command after `--`, one run of `acpx prompt` a turn, and
the same JSON lines as `client_py.py`: its text is an update, its `[error]` an error without code or
data, for it shows none; what it says on stderr is a `log`. acpx takes no `_meta` and speaks
protocol version 1, so a `--meta` is refused. Its HOME is a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).resolve().parent / "node_modules" / "acpx" / "dist" / "cli.js"
SESSION = "turns"
ERROR, DONE, ABOUT_ITSELF = "[error] ", "[done] ", ("[client] ", "[acpx] ")
FOR_EVER_SECONDS = 3600.0
IDLE_SECONDS = "30"
"""After so long without a prompt its background process leaves by itself, should a close fail."""


def report(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


class Acpx:
    def __init__(self, arguments: argparse.Namespace, home: str) -> None:
        node = shutil.which("node") or "node"
        agent = shlex.join(arguments.command)
        self._command = [node, str(PROGRAM), "--agent", agent, "--approve-all"]
        self._command += ["--ttl", IDLE_SECONDS, "--cwd", arguments.cwd]
        self._environment = {**os.environ, "HOME": home, "NO_COLOR": "1"}
        self._limit = arguments.turn_timeout

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One run to its end.

        Raises:
            TimeoutExpired: it did not end within a turn's time.
        """
        return subprocess.run(
            [*self._command, *words],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=self._limit,
            check=False,
        )


def turn(acpx: Acpx, number: int, text: str) -> None:
    report("prompt", n=number)
    try:
        done = acpx.run("prompt", "-s", SESSION, text)
    except subprocess.TimeoutExpired:
        report("hang", n=number)
        return
    for line in done.stderr.splitlines():
        report("log", text=line)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(ABOUT_ITSELF)]
    text, error, stop_reason = _read(lines)
    if text:
        content = {"type": "text", "text": text}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        report("update", kind="agent_message_chunk", update=update)
    if error:
        report("error", n=number, code=None, message=error, data=None)
    elif stop_reason:
        report("answer", n=number, stop_reason=stop_reason, result={"exit_code": done.returncode})
    else:
        report("exception", n=number, cause=f"exit status {done.returncode}", text=done.stderr)


def _read(lines: list[str]) -> tuple[str, str, str]:
    """The text, the error and the stop reason on acpx's stdout, each empty where there is none."""
    for at, line in enumerate(lines):
        if line.startswith(ERROR):
            return "\n".join(lines[:at]).strip(), "\n".join(lines[at:]).removeprefix(ERROR), ""
        if line.startswith(DONE):
            return "\n".join(lines[:at]).strip(), "", line.removeprefix(DONE).strip()
    return "\n".join(lines).strip(), "", ""


def opened(acpx: Acpx) -> bool:
    try:
        done = acpx.run("sessions", "new", "--name", SESSION)
    except subprocess.TimeoutExpired:
        report("failed", stage="session/new", cause="TimeoutExpired", text="no answer")
        return False
    if done.returncode:
        cause = f"exit status {done.returncode}"
        report("failed", stage="session/new", cause=cause, text=done.stdout)
    return done.returncode == 0


def converse(acpx: Acpx, arguments: argparse.Namespace) -> None:
    if not opened(acpx):
        return
    for number, text in enumerate(arguments.prompt):
        turn(acpx, number, text)
    acpx.run("sessions", "close", SESSION)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", help="taken and not used: its name is acpx")
    parser.add_argument("--protocol", choices=["1"], help="the only version of it")
    parser.add_argument("--cwd", default=".")
    parser.add_argument("--prompt", action="append", default=[])
    parser.add_argument("--turn-timeout", type=float, default=FOR_EVER_SECONDS)
    at = argv.index("--")
    arguments = parser.parse_args(argv[:at])
    arguments.command = argv[at + 1 :]
    arguments.cwd = os.path.abspath(arguments.cwd)
    with tempfile.TemporaryDirectory() as home:
        converse(Acpx(arguments, home), arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
