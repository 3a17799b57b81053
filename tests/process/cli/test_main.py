"""The command line in processes: odd places and terminals, readers that leave, full disks."""

from __future__ import annotations

import json
import os
import pty
import resource
import select
import shlex
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from lastword.cli import record_access
from lastword.record.trends import PROGRESS_EVERY, trends_of
from tests.kit.client import TYPED, Client, clean_environment
from tests.kit.command import PROCESS, at_a_terminal, command, in_a_process
from tests.kit.desk import SCRIPTED, Editor
from tests.kit.patience import FUSE_SECONDS, patient
from tests.kit.programs import run_program
from tests.kit.recording import Book, a_book, a_run, lastword, now_ms, write
from tests.kit.rows import every
from tests.unit.cli.test_export import exported, state
from tests.unit.cli.test_meant import run

if TYPE_CHECKING:
    from pathlib import Path


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


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="it is Linux's full disk")
def test_output_to_a_full_disk_is_not_blamed_on_the_input() -> None:
    for words in (("explain", "429"), ("agent", "--list")):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*PROCESS, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert (done.returncode, done.stderr) == (
            2,
            "lastword: cannot write: no space left on device\n",
        )


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
    done = command("doctor", "--timeout", str(patient(1)), "--", *agent)
    assert "\\ud800" in done.stdout


# --- `lastword agent`: a client that leaves, a terminal, an interrupt


def test_a_client_that_leaves_without_a_word_is_not_a_failure() -> None:
    done = in_a_process("agent", "healthy")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_person_at_a_terminal_sees_what_the_command_expects() -> None:
    command = [sys.executable, "-m", "lastword", "agent", "healthy"]
    done = at_a_terminal(command, b"hello\n\x04")
    assert done.returncode == 0
    assert b"reading ACP messages from stdin" in done.stderr
    assert b"is not valid JSON" in done.stdout


def test_an_interrupt_ends_the_agent_quietly() -> None:
    client = Client([sys.executable, "-m", "lastword", "agent", "healthy"])
    try:
        client.initialize()
        client.signal(signal.SIGINT)
        assert (client.wait(), client.said) == (0, "")
    finally:
        client.kill()


# --- `lastword explain`: a terminal, a pipe, a reader that leaves


def test_a_terminal_gets_colours_unless_they_are_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    command = [sys.executable, "-m", "lastword", "explain", "--status", "429"]
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | environment
        subprocess.run(command, stdout=slave, check=True, timeout=60, env=env)
        os.write(slave, b"<end>")
        shown = b""
        while not shown.endswith(b"<end>"):
            shown += os.read(master, 65_536)
        assert (b"\x1b[" in shown) is coloured
    os.close(master)
    os.close(slave)


def test_a_line_is_answered_before_the_next_one_comes() -> None:
    command = [sys.executable, "-m", "lastword", "explain", "--jsonl"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        for number in range(3):
            child.stdin.write(b'{"id": %d}\n' % number)
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["id"] == number
        child.stdin.close()
        assert child.wait(60) == 0


# --- `lastword export`: of a recorded session, and on a full disk


__all__ = ["state"]


def test_a_real_session_is_exported_in_sentences(tmp_path: Path) -> None:
    state = tmp_path / "state"
    editor = Editor(state, "--record-text")
    for scenario in ("rate_limit", "healthy_tool", "crash_after_text"):
        editor.play(scenario)
    editor.leave()
    members = exported(state, "scripted-1-1")
    summary = members["summary.md"]
    assert summary.startswith("# Session `scripted-1-1`\n")
    assert "`rate limit: tokens per minute`" in summary
    assert "## Turn 1\n" in summary
    assert "## Turn 2\n" not in summary  # it went well
    assert "## Turn 3\n" in summary
    assert "killed" in summary
    assert "SECRET" not in "".join(members.values())
    printed = lastword("export", "--last", "-o", "-", state=state)
    assert printed.stdout == summary
    assert printed.stderr == ""


def test_a_full_disk_leaves_the_existing_file(state: Path) -> None:
    book = Book()
    for turn in range(1, 3000):
        book.failed("long", turn, f"type-{os.urandom(64).hex()}")
    write(state, book, a_run("01LONG"))
    target = state.parent / "out.zip"
    target.write_text("what was there before")

    def bounded() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))

    done = run_program(
        [sys.executable, "-m", "lastword", "export", "--last", "--force", "-o", str(target)],
        check=False,
        env=os.environ | {"LASTWORD_STATE_DIR": str(state)},
        preexec_fn=bounded,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert f"lastword export: cannot write {target}: file too large\n" == done.stderr
    assert target.read_text() == "what was there before"
    assert sorted(os.listdir(state.parent)) == ["out.zip", "state"]


# --- what a user meant: an incident, a command in one word, Ctrl-C


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


# --- what a command that takes long says meanwhile, and how Ctrl-C ends it


SILENT = [sys.executable, "-c", "import time; time.sleep(60)"]


def _shown(fd: int, text: str) -> str:
    """What stands on a terminal, up to a text."""
    seen = ""
    fuse = time.monotonic() + FUSE_SECONDS
    while text not in seen and time.monotonic() < fuse:
        if select.select([fd], [], [], 1.0)[0]:
            try:
                seen += os.read(fd, 65536).decode(errors="replace")
            except OSError:  # Linux says so of a terminal that nobody has open any more
                break
    assert text in seen, seen
    return seen


@pytest.mark.parametrize(
    ("arguments", "shown", "said"),
    [
        (
            ("check", "--only", "opens-session", "--", *SILENT),
            "0 of 1 checks done; playing ",
            "stopped",
        ),
        (
            ("doctor", "--", *SILENT),
            "Waiting for the agent's first answer (",
            "the agent has been ended",
        ),
        (("demo",), "Three agents fail", "stopped"),
    ],
)
def test_a_slow_command_shows_its_progress_and_ctrl_c_ends_it_with_one_line(
    arguments: tuple[str, ...], shown: str, said: str
) -> None:
    ours, theirs = pty.openpty()
    line = [sys.executable, "-P", "-m", "lastword", *arguments]
    with subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
    ) as process:
        os.close(theirs)
        _shown(ours, shown)
        process.send_signal(signal.SIGINT)
        after = _shown(ours, said)
        after += "" if after.endswith("\n") else _shown(ours, "\n")
        assert process.wait(FUSE_SECONDS) == 130
        assert after.rpartition("\033[K")[2].count("\n") == 1, "one line, in place of the other"
        assert process.stdout is not None
        assert process.stdout.read() == b""
    os.close(ours)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("export", "lastword export: stopped; no file was written\n"),
        ("stats", "lastword stats: stopped\n"),
        ("log", ""),
    ],
)
def test_an_interrupted_record_command_reports_it_with_status_130(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    def stopped() -> int:
        raise KeyboardInterrupt

    assert record_access.answer(command, str(tmp_path / "record.db"), stopped) == 130
    assert capsys.readouterr().err == said


def test_a_sum_over_many_turns_reports_its_progress(tmp_path: Path) -> None:
    path = write(tmp_path, a_book(2 * PROGRESS_EVERY, began_ms=now_ms() - 3_600_000))
    told: list[str] = []
    trends_of(str(path), 1, now_ms() + 1, told.append)
    assert [words.partition(" since ")[0] for words in told] == ["200 turns", "400 turns"]
