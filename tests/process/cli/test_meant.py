"""What a user meant: an error by its name, a command in one word, `--json` of a failure, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import TYPED, Client, clean_environment
from tests.kit.command import PROCESS, command, in_a_process
from tests.kit.desk import SCRIPTED
from tests.kit.patience import FUSE_SECONDS
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from pathlib import Path


def run(
    *arguments: str, state: Path | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environment = clean_environment() | ({"LASTWORD_STATE_DIR": str(state)} if state else {})
    begin = in_a_process if arguments[:2] == ("run", "--") else command
    return begin(*arguments, cwd=cwd, environment=environment)


def test_an_incident_is_explained_from_the_record(tmp_path: Path) -> None:
    client = Client(
        [*PROCESS, "run", "--", *SCRIPTED, "--bare", "rate_limit"],
        environment=clean_environment(LASTWORD_STATE_DIR=str(tmp_path)),
    )
    client.open(**TYPED)
    error = client.turn("Hi").error
    assert client.end() == 0
    done = run("explain", "--json", error["incident_id"], state=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    for name in ("type", "reason", "retry_after_seconds", "retry_safety", "http_status"):
        assert told[name] == error[name]
    page = run("explain", error["incident_id"], state=tmp_path).stdout
    assert f"`lastword log {error['incident_id']}`" in page
    # The list of sessions is readable in forty columns.
    environment = clean_environment(LASTWORD_STATE_DIR=str(tmp_path), COLUMNS="40")
    lines = command("log", environment=environment).stdout.splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[1] == "    lastword-agent in raw-client"
    assert any(line.strip().partition("  ")[2].startswith("rate limit, ") for line in lines)


def test_a_command_given_as_one_word_is_split_into_words(tmp_path: Path) -> None:
    agent = " ".join([*SCRIPTED, "healthy"])
    client = Client([*PROCESS, "run", "--", agent], environment=clean_environment())
    client.open(**TYPED)
    assert client.turn("Hi").answer["result"]["stopReason"] == "end_turn"
    assert client.end() == 0
    assert client.said.startswith("lastword: ")
    assert "is run as: " in client.said.partition("\n")[0]
    assert run("doctor", "--", agent).returncode == 0
    shown = json.loads(run("setup", "--json", "zed", "--", agent).stdout)
    assert shown["entry"]["args"][-2:] == ["--bare", "healthy"]
    spaced = tmp_path / "my agent"
    spaced.write_text("#!/bin/sh\nexit 7\n")
    spaced.chmod(0o755)
    done = run("run", "--", "my agent", cwd=tmp_path, state=tmp_path)
    assert "is run as" not in done.stderr
    assert run("run", "--", "./my agent", cwd=tmp_path, state=tmp_path).returncode == 7


def test_ctrl_c_ends_a_command_with_one_line_and_status_130(tmp_path: Path) -> None:
    fifo = tmp_path / "input"
    os.mkfifo(fifo)
    with (
        subprocess.Popen(
            [*PROCESS, "explain", str(fifo)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        ) as process,
        fifo.open("w"),
    ):  # it is open at both ends: the command reads
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=FUSE_SECONDS)
    assert (process.returncode, out, err) == (130, "", "lastword explain: stopped\n")


IMPORTING = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from lastword.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("module", "name"), [("lastword.cli.page", "log"), ("lastword.platform.signals", "run")]
)
def test_ctrl_c_while_modules_are_loaded_is_one_line_too(module: str, name: str) -> None:
    done = run_program(
        [sys.executable, "-P", "-c", IMPORTING, module, name], check=False, env=clean_environment()
    )
    assert done.returncode == 130, done.stderr
    assert (done.stdout, done.stderr) == ("", f"lastword {name}: stopped\n")
