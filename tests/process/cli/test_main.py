"""The command line as a whole: odd places, odd terminals, readers that leave."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kit.command import PROCESS, command, in_a_process
from tests.kit.patience import FUSE_SECONDS, patient
from tests.kit.programs import run_program
from tests.kit.recording import a_book, write
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path


def lastword(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return command(*arguments, environment=os.environ | environment)


LEFT_OUT = (
    (
        ("log",),
        "sqlite3",
        (
            "pydantic anyio asyncio http webbrowser lastword.cli.web lastword.core.classify"
            " lastword.core.redact.redactor"
        ),
    ),
    (("agent", "--list"), "lastword.kit.agent.scenarios", "jsonrpcserver jsonschema"),
    (("completion", "bash"), "lastword.cli.completion", "argparse msgspec sqlite3 asyncio"),
)
"""A command, what it needs, and what it can do without."""


@every("words, needed, unneeded", LEFT_OUT)
def test_a_command_loads_nothing_that_it_can_do_without(
    tmp_path: Path, words: tuple[str, ...], needed: str, unneeded: str
) -> None:
    write(tmp_path, a_book(1))
    code = "import sys; from lastword.cli import main; main(sys.argv[1:]); "
    code += "print(*sys.modules, file=sys.stderr)"
    environment = os.environ | {"LASTWORD_STATE_DIR": str(tmp_path)}
    done = run_program([sys.executable, "-P", "-c", code, *words], env=environment)
    loaded = done.stderr.split()
    assert needed in loaded
    assert [name for name in loaded if name.startswith(tuple(unneeded.split()))] == []


def test_the_demo_uses_the_defaults_wherever_it_runs_and_leaves_no_record(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("json.py", "lastword.py", "select.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong module')\n")
    config = home / ".config" / "lastword" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[run]\nfallback = 'text'\n")
    places = {"HOME": str(home), "XDG_STATE_HOME": "", "LASTWORD_STATE_DIR": ""}
    places |= {"XDG_CONFIG_HOME": "", "LASTWORD_NO_CONFIG": ""}
    forced = {"LASTWORD_PASSTHROUGH": "1", "LASTWORD_FALLBACK": "text"}
    done = in_a_process("demo", cwd=tmp_path, environment=os.environ | places | forced)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Retry: yes, after 20 s" in done.stdout
    assert done.stdout.count("A client that reads lastword's errors knows:") == 3
    assert [path for path in home.rglob("*") if path.is_file()] == [config]


@pytest.mark.parametrize("words", [("--help",), ("log", "--json")])
def test_a_reader_that_leaves_causes_no_traceback(words: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, a_book(1))
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-m", "lastword", *words],
        stdin=subprocess.DEVNULL,
        stdout=write_end,
        stderr=subprocess.PIPE,
        timeout=FUSE_SECONDS,
        check=False,
        env=os.environ | {"LASTWORD_STATE_DIR": str(tmp_path)},
    )
    os.close(write_end)
    assert done.stderr == b""


def test_the_output_of_a_program_that_is_not_an_agent_arrives_bounded() -> None:
    text = "usage: agent\n\n  --help   this\n\n"
    script = f"import sys; sys.stdout.write({text!r} + 'y' * 3000000 + '\\n')"
    done = in_a_process("run", "--", sys.executable, "-c", script)
    assert done.stdout == text
    assert "left out" in done.stderr


EVERY_COMMAND = [
    ("log",),
    ("log", "--json"),
    ("stats",),
    ("export", "--last"),
    ("explain", "--status", "429"),
    ("agent", "--list"),
    ("agent", "--bare", "healthy"),
    ("check", "--list"),
    ("check", "--help"),
    ("doctor", "--", "true"),
    ("--version",),
    ("nonsense",),
]


def test_a_closed_stream_causes_no_traceback() -> None:
    failures = []
    for words in (
        ("stats",),
        ("agent", "--bare", "healthy"),
        ("doctor", "--", "true"),
        ("nonsense",),
    ):
        line = shlex.join([*PROCESS, *words])
        done = subprocess.run(
            ["sh", "-c", f"{line} <&- >&-"],
            stderr=subprocess.PIPE,
            timeout=FUSE_SECONDS,
            check=False,
        )
        if b"Traceback" in done.stderr or b"Error" in done.stderr:
            failures.append((words, done.stderr))
    assert not failures


def test_an_ascii_terminal_causes_no_traceback(tmp_path: Path) -> None:
    for words in EVERY_COMMAND:
        # In a folder of its own: what is exported is written there.
        environment = os.environ | {"PYTHONIOENCODING": "ascii"}
        done = command(*words, cwd=tmp_path, environment=environment)
        assert done.stdout.isascii()
        assert done.stderr.isascii()


def test_an_agent_whose_name_has_a_lone_surrogate_is_reported() -> None:
    result = r"""{"protocolVersion":1,"agentInfo":{"name":"\\ud800"}}"""
    answer = f'{{"jsonrpc":"2.0","id":1,"result":{result}}}'
    agent = ("sh", "-c", f"read _; printf '%b\\n' '{answer}'; cat >/dev/null")
    done = lastword("doctor", "--timeout", str(patient(1)), "--", *agent)
    assert "\\ud800" in done.stdout
