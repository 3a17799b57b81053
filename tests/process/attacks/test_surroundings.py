"""Surroundings that nobody tidied: variables, descriptors, folders, signals, limits, languages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.command import command as in_process
from tests.kit.patience import FUSE_SECONDS, patient
from tests.kit.rows import every
from tests.process.attacks.client import payload_of
from tests.process.attacks.watched import END_TURN, ask, in_turn, leave, limited, scoped

if TYPE_CHECKING:
    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

PYTHON = sys.executable
USAGE = 2


def command(attack: Attack, door: str) -> list[str]:
    if door == "run":
        return [PYTHON, "-m", "lastword", "run", "--", *attack.agent({})]
    return scoped(door)


def takes(client: AttackClient) -> None:
    assert client.turn("say").get("result") == END_TURN, client.story("a turn")


# Variables.

ODD_VALUES = {
    "LASTWORD_IDLE_TIMEOUT": ["abc", "-1", "nan", "inf", "1e400", "0x10", "1,5", "9" * 5000],
    "LASTWORD_LINE_LIMIT": ["-1", "1.5MiB", "MiB", "\u0663", "9" * 5000, "1TiB"],
    "LASTWORD_FALLBACK": ["TYPED", "auto|typed", "\x1b[31m"],
    "LASTWORD_VERBOSE": ["maybe", "2", "\n"],
}


@every(("variable", "value"), [(name, value) for name in ODD_VALUES for value in ODD_VALUES[name]])
def test_a_meaningless_variable_is_refused_by_run_in_one_sentence(
    attack: Attack, variable: str, value: str
) -> None:
    attack.environment[variable] = value
    done = attack.command("run", "--", "true", check=False)
    del attack.environment[variable]
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert done.stderr.startswith(f"lastword: {variable}"), done
    assert done.stderr.count("\n") == 1, done
    assert "\x1b" not in done.stderr


def test_meaningless_variables_do_not_stop_a_guarded_agent(watched: Attack) -> None:
    for variable, values in ODD_VALUES.items():
        watched.environment[variable] = values[-1]
    watched.environment["LASTWORD_IDLE_TIMEOUT"] = "\udcff"
    watched.environment |= {"LASTWORD_RECORD_DAYS": "nan", "LASTWORD_RECORD_MIB": "\udcff"}
    with watched.start(*command(watched, "trio")) as client:
        client.open()
        takes(client)
        leave(client)


FOLDERS = {
    "below a file": "{folder}/file/state",
    "a device": "/dev/null",
    "not to be made": "/proc/nowhere/state",
    "a name of 300 characters": "{folder}/" + "n" * 300,
    "bytes that are no text": "{folder}/\udcff\udcfe",
    "a user that is not there": "~nobody-at-all/state",
    "relative": "state",
    "a pipe": "{folder}/pipe",
}


@pytest.mark.parametrize(("door", "where"), in_turn(["run", "trio"], FOLDERS))
def test_a_state_folder_of_any_kind_costs_no_turn(watched: Attack, door: str, where: str) -> None:
    (watched.folder / "file").touch()
    os.mkfifo(watched.folder / "pipe")
    named = FOLDERS[where].format(folder=watched.folder)
    watched.environment["LASTWORD_STATE_DIR"] = named
    inside = ["sh", "-c", 'cd "$0" && exec "$@"', str(watched.folder)]
    with watched.start(*inside, *command(watched, door)) as client:
        client.open()
        takes(client)
        takes(client)
        leave(client)
    watched.command("log", check=False)


GONE = ["sh", "-c", 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"']


@pytest.mark.parametrize("door", ["run", "trio"])
def test_a_deleted_working_directory_costs_no_turn(watched: Attack, door: str) -> None:
    watched.environment["LASTWORD_STATE_DIR"] = "state"
    # Python itself cannot find a module in a directory that is not there.
    with watched.start(*GONE, str(watched.folder / "gone"), *command(watched, door)) as client:
        client.open()
        takes(client)
        takes(client)
        leave(client)


C = {"LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
LANGUAGES = {
    "C, and no home": {
        **C,
        "HOME": "",
        "PATH": os.defpath,
    },
    "UTF-16, and warnings are errors": {
        "PYTHONIOENCODING": "utf-16",
        "PYTHONWARNINGS": "error",
    },
    "not there, and no docstrings": {
        "LC_ALL": "xx_XX.nowhere",
        "LANG": "\udcff",
        "PYTHONOPTIMIZE": "2",
    },
}
HARMLESS = [signal.SIGWINCH, signal.SIGCHLD, signal.SIGURG, signal.SIGCONT, signal.SIGPIPE]


@pytest.mark.parametrize(
    ("door", "language"),
    [*in_turn(["run", "trio"], LANGUAGES), ("sdk", "C, and no home")],
)
def test_a_turn_is_the_same_in_any_language_of_python(
    watched: Attack, door: str, language: str
) -> None:
    """In a directory of odd characters too, and whatever signals come that mean nothing here."""
    watched.environment |= LANGUAGES[language]
    odd = watched.folder / "\u00e9\u4e2d\U0001f600\n\u202e it's"
    odd.mkdir()
    within = ["sh", "-c", 'cd "$0" && exec "$@"', str(odd)]
    with watched.start(*within, *command(watched, door)) as client:
        client.open()
        takes(client)
        for number in HARMLESS * 5:
            client.signal(number)
        says = "say \u00e9\u4e2d\U0001f600"
        assert client.turn(says).get("result") == END_TURN
        if door != "run":
            assert client.updates()[-1]["content"]["text"] == says.removeprefix("say ")
        leave(client)


def test_the_log_and_the_help_are_printed_in_any_surroundings_of_python(watched: Attack) -> None:
    with watched.run({"name": "\u4e2d\u6587 \U0001f600"}) as client:
        client.open()
        takes(client)
        leave(client)
    of_c, _, without_docstrings = LANGUAGES.values()
    for arguments, language in ((["log"], of_c), (["run", "--help"], without_docstrings)):
        done = subprocess.run(
            [PYTHON, "-m", "lastword", *arguments],
            env=watched.environment | language,
            capture_output=True,
            timeout=FUSE_SECONDS,
            check=True,
        )
        assert b"Traceback" not in done.stderr


# Descriptors.


def shell(attack: Attack, door: str, redirections: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirections}', "sh", *command(attack, door)],
        env=attack.environment | {"PYTHONPATH": os.getcwd()},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        cwd=attack.folder,
        timeout=FUSE_SECONDS,
        check=False,
    )


CLOSED = [("run", "<&-"), ("run", ">&-"), ("trio", "2>&-"), ("run", "<&- >&- 2>&-")]


@pytest.mark.parametrize(("door", "redirections"), CLOSED)
def test_a_closed_standard_stream_causes_no_crash(
    watched: Attack, door: str, redirections: str
) -> None:
    done = shell(watched, door, redirections)
    assert b"Traceback" not in done.stderr, done
    assert done.returncode in {0, 1}, done


# Signals around turns.


def test_an_agent_that_was_stopped_longer_than_its_clocks_allow_finishes_its_turn(
    watched: Attack,
) -> None:
    limit = patient(1)
    clocks = ("LASTWORD_IDLE_TIMEOUT", "LASTWORD_FIRST_UPDATE_TIMEOUT")
    watched.environment |= dict.fromkeys(clocks, str(limit))
    with watched.start(*scoped("trio")) as client:
        client.open()
        prompt = client.prompt("nap 0.6")
        client.expect_method("session/update")
        time.sleep(0.2)  # by now the handler has begun to wait
        client.signal(signal.SIGSTOP)
        time.sleep(1.6 * limit)  # longer than the clock of silence allows
        client.signal(signal.SIGCONT)
        assert client.answer(prompt).get("result") == END_TURN, client.story("stopped")
        leave(client)


# Limits and long words.


@pytest.mark.parametrize("descriptors", [8, 16])
def test_a_lack_of_descriptors_costs_no_answer_or_ends_in_a_sentence(
    watched: Attack, descriptors: int
) -> None:
    with watched.start(*limited("NOFILE", descriptors), *command(watched, "run")) as client:
        asked = ask(client, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        client.read_until_true(
            lambda: bool(client.answers(asked)) or client.peer.exit_code is not None, "an end"
        )
        if client.answers(asked) and "result" in client.answers(asked)[0]:
            client.answer(ask(client, "session/new", {"cwd": "/", "mcpServers": []}))
            client.answer(client.prompt("say"))
        leave(client, None)


def test_an_argument_as_long_as_the_kernel_allows_reaches_the_agent(watched: Attack) -> None:
    with watched.start(*command(watched, "run"), "x" * 130_000) as client:
        client.open()
        takes(client)
        leave(client)


NOT_THERE = ["n" * 300, "/" + "d/" * 3000, "a\nb\x1b[31mc", "\u202egpj.exe", "~/agent", "."]
HELLO = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'


def test_an_invalid_command_gets_one_clean_sentence_and_a_typed_answer(attack: Attack) -> None:
    for name in NOT_THERE:
        done = in_process("run", "--", name, stdin=HELLO, environment=attack.environment)
        assert payload_of(json.loads(done.stdout))["reason"] == "spawn_failed", done
        assert done.stderr.count("\n") == 1, done
        assert not any(odd in done.stderr for odd in ("\x1b", "\u202e")), done
        assert done.returncode in {126, 127}


NUMBERS: list[list[Any]] = [
    ["log", "--limit", "000000000001" + "9" * 30],
    ["log", "--limit", "000000000001" + "9" * 5000],
    ["log", "--since", "999999w"],
    ["log", "--since", "0001-01-01"],
    ["log", "--since", "9999-12-31"],
    ["stats", "--days", "000000000001" + "9" * 30],
    ["stats", "--days", "999999999"],
    ["log", "\udcff"],
    ["log", "%"],
    ["export", "s1\x1b[31m"],
]


def test_numbers_of_any_size_are_answered_or_refused_in_a_sentence(
    watched: Attack,
) -> None:
    with watched.run({}) as client:
        client.open()
        takes(client)
        leave(client)
    for arguments in NUMBERS:
        done = watched.command(*arguments, check=False)
        assert "\x1b" not in done.stderr + done.stdout
        assert done.returncode in {0, 1, 2}, done
