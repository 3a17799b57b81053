"""`lastword completion`, in the shells themselves: what TAB gives."""

from __future__ import annotations

import os
import pty
import select
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docs.completion.command_line import PARSERS, Completed, commands
from lastword.cli.commands import names
from lastword.cli.completion import FILES, path_of
from tests.kit.command import command
from tests.kit.installs import give_up
from tests.kit.patience import FUSE_SECONDS
from tests.kit.programs import run_program
from tests.kit.recording import a_book, a_run, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file, a folder, a program and the scripts in it."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "crash.log").touch()
    (folder / "records").mkdir()
    (folder / "bin").mkdir()
    program = folder / "bin" / "agentinous"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for shell in ("bash", "zsh", "fish"):
        (folder / f"lastword.{shell}").write_text(command("completion", shell).stdout)
    return folder


def _environment(place: Path) -> dict[str, str]:
    path = os.pathsep.join([str(place / "bin"), str(BIN), os.environ["PATH"]])
    own = {"PATH": path, "HOME": str(place), "TERM": "dumb", "LASTWORD_STATE_DIR": str(place)}
    return os.environ | own


def _needed(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        give_up(f"{shell} is not installed")
    return found


_IN_BASH = """\
source lastword.bash
while IFS= read -r line; do
  IFS=' ' read -ra COMP_WORDS <<< "$line"
  [[ $line == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  _lastword
  echo "${COMPREPLY[*]}"
done
"""


def each_in_bash(place: Path, lines: Sequence[str]) -> list[list[str]]:
    """What bash gives for the last word of each line, from one shell."""
    done = run_program(
        [_needed("bash"), "--norc", "-c", _IN_BASH],
        stdin="".join(f"{line}\n" for line in lines),
        cwd=place,
        env=_environment(place),
    )
    assert done.stderr == ""
    return [told.split() for told in done.stdout.splitlines()]


def in_bash(place: Path, line: str) -> list[str]:
    """What bash gives for the last word of a line."""
    (told,) = each_in_bash(place, [line])
    return told


def in_fish(place: Path, line: str) -> list[str]:
    """What fish gives for the last word of a line."""
    done = run_program(
        [_needed("fish"), "-N", "-c", f"source lastword.fish; complete -C '{line}'"],
        cwd=place,
        env=_environment(place),
    )
    assert done.stderr == ""
    return [told.partition("\t")[0] for told in done.stdout.splitlines()]


_TYPED = """\
lastword() {
  if [[ $2 == sessions ]]; then
    command lastword "$@"
  else
    print -r -- "<<${(j:|:)@}>>"
  fi
}
"""
"""What stands for lastword: it shows its arguments."""


class Zsh:
    """An interactive zsh on a terminal of its own."""

    def __init__(self, place: Path) -> None:
        self._pid, self._fd = pty.fork()
        if not self._pid:
            os.chdir(place)
            os.execve(_needed("zsh"), ["zsh", "-f", "-i"], _environment(place))
        self._write("PS1=; LISTMAX=0; stty columns 999 -echo\n")
        self._write("autoload -U compinit; compinit -u -d dump; source ./lastword.zsh\n")
        self._write(_TYPED + "print rea''dy\n")
        self._until("ready")

    def _write(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def _until(self, text: str) -> str:
        seen = ""
        fuse = time.monotonic() + FUSE_SECONDS
        while text not in seen and time.monotonic() < fuse:
            if select.select([self._fd], [], [], 1.0)[0]:
                seen += os.read(self._fd, 65536).decode(errors="replace")
        assert text in seen, seen
        return seen

    def typed(self, line: str) -> list[str]:
        """The arguments, as they are once TAB and Enter were typed behind a line."""
        self._write(f"{line}\t\n")
        return self._until(">>").rpartition("<<")[2].partition(">>")[0].split("|")

    def listed(self, line: str, *, to: str) -> str:
        """What is shown up to a text once TAB was typed behind a line."""
        self._write(f"{line}\t")
        seen = self._until(to)
        self._write("\x15")  # Ctrl-U: a new line
        return seen

    def close(self) -> None:
        os.close(self._fd)
        os.waitpid(self._pid, 0)


@pytest.fixture(scope="module")
def zsh(place: Path) -> Iterator[Zsh]:
    _needed("zsh")
    shell = Zsh(place)
    yield shell
    shell.close()


CASES = [
    ("lastword exp", ["explain", "export"]),
    ("lastword run --idl", ["--idle-timeout"]),
    ("lastword run --silent-success e", ["error"]),
    ("lastword run --record rec", ["records"]),
    ("lastword run -- agentin", ["agentinous"]),
    ("lastword run --verbose -- cat cra", ["crash.log"]),
    ("lastword doctor --client jet", ["jetbrains"]),
    ("lastword check --protocol 1 -- agentin", ["agentinous"]),
    ("lastword check --preset openc", ["opencode"]),
    ("lastword agent silent_s", ["silent_success"]),
    ("lastword explain cra", ["crash.log"]),
    ("lastword gateway stat", ["status"]),
    ("lastword gateway --retry-w", ["--retry-wait-limit"]),
    ("lastword gateway token --role obs", ["observer"]),
    ("lastword completion fi", ["fish"]),
]


def test_bash_completes(place: Path) -> None:
    found = each_in_bash(place, [line for line, _ in CASES])
    for told, (line, words) in zip(found, CASES, strict=True):
        assert sorted(set(told)) == words, line


@pytest.mark.matrix
def test_fish_completes(place: Path) -> None:
    for line, words in CASES:
        assert sorted(word.rstrip("/") for word in in_fish(place, line)) == words, line


@pytest.mark.matrix
def test_zsh_completes(zsh: Zsh) -> None:
    for line, [word] in CASES[1:]:
        assert zsh.typed(line)[-1].rstrip("/") == word, line


@pytest.mark.matrix
def test_zsh_lists_the_completions_of_a_word_with_their_purpose(zsh: Zsh) -> None:
    seen = zsh.listed("lastword exp", to="write a session to one file")
    assert "explain" in seen


def test_bash_completes_a_value_behind_an_equals_sign(place: Path) -> None:
    forms = ["--silent-success = er", "--silent-success=er"]
    told = each_in_bash(place, [f"lastword run {form}" for form in forms])
    assert told == [["error"], ["--silent-success=error"]]


@pytest.mark.matrix
def test_fish_and_zsh_complete_a_value_behind_an_equals_sign(place: Path, zsh: Zsh) -> None:
    assert in_fish(place, "lastword run --silent-success=er") == ["--silent-success=error"]
    assert zsh.typed("lastword run --silent-success=er")[-1] == "--silent-success=error"


def each_in_fish(place: Path, lines: Sequence[str]) -> list[list[str]]:
    return [in_fish(place, line) for line in lines]


@pytest.mark.parametrize(
    "complete", [each_in_bash, pytest.param(each_in_fish, marks=pytest.mark.matrix)]
)
def test_every_option_of_every_command_is_completed(
    place: Path, complete: Callable[[Path, Sequence[str]], list[list[str]]]
) -> None:
    failures = []
    every = commands()
    lines = [f"lastword {known.name} --" for known in every]
    for known, told in zip(every, complete(place, lines), strict=True):
        flags = {name for flag in known.flags for name in flag.names if name.startswith("--")}
        found = set(told) - {"--", "-h", "-o"}
        if found != flags:
            failures.append((known.name, found ^ flags))
    assert not failures
    assert {known.name for known in every} >= {*PARSERS}


def test_the_commands_of_the_help_and_the_parsers_correspond() -> None:
    assert {name for name in PARSERS if " " not in name} == set(names())
    assert {value.kind for c in commands() if (value := c.argument)} >= {
        Completed.FILE,
        Completed.SESSION,
    }


@pytest.fixture
def sessions(place: Path) -> Iterator[None]:
    """Three sessions in the record, of which one's name is a trap."""
    for number, name in enumerate(("s-first", "s-second", "s$(touch trapped)")):
        write(place, a_book(1, session=name), a_run(f"01RUN{number}"))
    yield
    (place / "record.db").unlink(missing_ok=True)


def test_recorded_sessions_are_completed_except_names_that_a_shell_would_run(
    place: Path, sessions: None
) -> None:
    told = each_in_bash(place, ["lastword log s", "lastword export s-f"])
    assert [sorted(words) for words in told] == [["s-first", "s-second"], ["s-first"]]
    assert not (place / "trapped").exists()


@pytest.mark.matrix
def test_sessions_are_completed_in_fish_and_zsh_too(place: Path, zsh: Zsh, sessions: None) -> None:
    assert sorted(in_fish(place, "lastword export s")) == ["s-first", "s-second"]
    assert zsh.typed("lastword log s-s")[-1] == "s-second"
    assert not (place / "trapped").exists()


def test_each_script_and_the_manual_page_are_printed_unchanged() -> None:
    for form in FILES:
        assert command("completion", form).stdout == path_of(form).read_text(encoding="utf-8")


def test_a_missing_record_completes_no_session_and_prints_nothing(
    tmp_path: Path, place: Path
) -> None:
    environment = _environment(place) | {"LASTWORD_STATE_DIR": str(tmp_path)}
    done = command("completion", "sessions", environment=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# --- the manual page: complete, and shown without a warning


PAGE = path_of("man")


def test_the_page_has_every_command_and_every_option() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\-", "-")
    for name in names():
        assert f".SH LASTWORD {name.upper()}\n" in text
    for made in PARSERS.values():
        for action in made().shown_actions:
            if action.dest != "help":
                assert f".B {made().written(action)}".replace("'", "\\(aq") in text


@pytest.mark.parametrize(
    "command",
    [
        ["mandoc", "-T", "lint", "-W", "warning", str(PAGE)],
        ["groff", "-man", "-ww", "-T", "utf8", str(PAGE)],
    ],
)
@pytest.mark.matrix
def test_the_page_is_shown_without_a_warning(command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        give_up(f"{command[0]} is not installed")
    done = run_program(command, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "WARNING" not in done.stdout
