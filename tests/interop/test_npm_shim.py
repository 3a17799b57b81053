"""The npm package's command: packed, installed in an empty folder, and run over real pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from lastword import __version__
from tests.interop.toolchain import require_plain_node
from tests.kit.installs import INSTALL_TIMEOUT_SECONDS
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = ROOT / "protocol" / "typescript"
FRAME = b'{"jsonrpc":"2.0","method":"x","params":"' + b"a" * 1_000_000 + b'"}\n'
BYTES = FRAME + bytes(range(256)) * 16 + b"\r\n\x00\xff without an end of line"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the packed package is installed."""
    require_plain_node()
    folder = tmp_path_factory.mktemp("npm")

    def npm(*words: str) -> None:
        command = ("npm", *words, "--offline", "--no-audit", "--no-fund", "--loglevel=error")
        subprocess.run(command, cwd=folder, check=True, timeout=INSTALL_TIMEOUT_SECONDS)

    npm("pack", "--ignore-scripts", str(PACKAGE))
    packed = folder / f"lastword-{__version__}.tgz"
    npm("install", "--ignore-scripts", str(packed))
    return folder / "node_modules" / ".bin"


class Machine:
    """Programs on a PATH on which the package itself is first, as `npx` puts it."""

    def __init__(self, folder: Path, installed: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "node").symlink_to(str(require_plain_node()))
        self.command = str(installed / "lastword")
        path = os.pathsep.join((str(installed), str(self.bin)))
        self.environment = {"PATH": path, "HOME": str(folder)}

    def program(self, name: str, code: str) -> None:
        file = self.bin / name
        file.write_text(f"#!{sys.executable}\nimport os, sys, signal\n{code}\n")
        file.chmod(0o755)

    def run(
        self, *arguments: str, stdin: bytes = b"", **variables: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [self.command, *arguments],
            input=stdin,
            capture_output=True,
            env=self.environment | variables,
            timeout=FUSE_SECONDS,
            check=False,
        )

    def start(self) -> subprocess.Popen[bytes]:
        """Start it, and wait for the first line of the program behind it."""
        started = subprocess.Popen([self.command], stdout=subprocess.PIPE, env=self.environment)
        assert started.stdout is not None
        assert started.stdout.readline() == b"ready\n"
        return started


@pytest.fixture
def machine(tmp_path: Path, installed: Path) -> Machine:
    return Machine(tmp_path, installed)


ECHO = "sys.stdout.buffer.write(sys.stdin.buffer.read())"
WORDS = "print(os.path.basename(sys.argv[0]), *sys.argv[1:])"


def test_every_byte_the_arguments_and_the_exit_status_pass_through(machine: Machine) -> None:
    machine.program("lastword", f"{ECHO}\nsys.exit(3)")
    done = machine.run(stdin=BYTES)
    assert (done.returncode, done.stdout, done.stderr) == (3, BYTES, b"")
    machine.program("lastword", WORDS)
    done = machine.run("run", "--", "a b", "", "*", '"')
    assert (done.returncode, done.stdout) == (0, b'lastword run -- a b  * "\n')


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_reaches_the_program_which_may_answer_it(machine: Machine, name: str) -> None:
    handler = f"signal.signal(signal.{name}, lambda *_: os._exit(7))"
    machine.program("lastword", f"{handler}\nprint('ready', flush=True)\nsignal.pause()")
    started = machine.start()
    started.send_signal(getattr(signal, name))
    with started:
        assert started.wait(FUSE_SECONDS) == 7


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_the_shim_ends_by_the_same_signal_as_its_program(machine: Machine, name: str) -> None:
    machine.program("lastword", f"print('ready', flush=True)\nos.kill(os.getpid(), signal.{name})")
    with machine.start() as started:
        assert started.wait(FUSE_SECONDS) == -getattr(signal, name)


def test_an_installed_lastword_comes_first_then_uvx_then_uv(machine: Machine) -> None:
    def shown() -> str:
        return machine.run("demo", LASTWORD_FROM="a folder").stdout.decode()

    machine.program("uv", WORDS)
    assert shown() == "uv tool run --from a folder lastword demo\n"
    machine.program("uvx", WORDS)
    assert shown() == "uvx --from a folder lastword demo\n"
    machine.program("lastword", WORDS)
    assert shown() == "lastword demo\n"


def test_a_missing_uv_and_a_missing_source_are_each_a_sentence(machine: Machine) -> None:
    done = machine.run("demo", LASTWORD_FROM="a folder")
    assert (done.returncode, done.stdout) == (127, b"")
    assert done.stderr.startswith(
        b"lastword: uv, which runs lastword and brings Python, was not found; to"
    )
    assert done.stderr.count(b"\n") == 1
    machine.program("uvx", WORDS)
    done = machine.run("demo")
    assert done.returncode == 127
    assert b"set LASTWORD_FROM to what uv can install lastword from" in done.stderr


def test_the_shim_runs_the_clone_that_it_is_in(machine: Machine) -> None:
    machine.program("uvx", WORDS)
    machine.command = str(PACKAGE / "lastword.cjs")
    assert machine.run("demo").stdout.decode() == f"uvx --from {ROOT} lastword demo\n"


def test_a_package_managers_own_script_is_not_mistaken_for_lastword(machine: Machine) -> None:
    machine.program("lastword", "# exec node node_modules/lastword/lastword.cjs")
    machine.program("uvx", WORDS)
    assert machine.run("demo", LASTWORD_FROM=".").stdout == b"uvx --from . lastword demo\n"
