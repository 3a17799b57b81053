"""What the attacks are made with: a sidecar or a guarded agent, and a strict client of it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit import left_behind
from tests.kit.command import command
from tests.kit.sidecar import SIDECAR, patiently
from tests.process.attacks.client import KEY, AttackClient, leave, scoped

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

Life = dict[str, Any]

DOORS = ("sdk", "asyncio", "trio")
ATTACKER = Path(__file__).parent / "attacker.py"
GRACE = "--cancel-grace=0.5"
"""Short enough to wait for, as every option here: each test takes seconds."""


class Attack:
    """Clients of one test, and what its agents noted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._scripts = 0
        self.marks: list[str] = []
        """By what the processes of its clients are found."""
        plain = {k: v for k, v in os.environ.items() if not k.startswith("LASTWORD_")}
        self.environment = {**plain, "LASTWORD_STATE_DIR": str(folder / "state")}

    def agent(self, *lives: Life) -> list[str]:
        """The command of an agent that lives so; each such command counts its own lives."""
        self._scripts += 1
        script = self.folder / f"script-{self._scripts}.json"
        script.write_text(json.dumps(lives))
        return [sys.executable, "-E", str(ATTACKER), str(script)]

    def run(self, *lives: Life, options: tuple[str, ...] = ()) -> AttackClient:
        """`lastword run` before an agent that lives so, with a client."""
        return self.start(*patiently(), *SIDECAR, *options, "--", *self.agent(*lives))

    def start(self, *command: str) -> AttackClient:
        """A client of any command."""
        client = AttackClient(command, self.environment)
        self.marks.append(client.mark)
        return client

    def command(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command of lastword's to its end, in this process."""
        done = command(*arguments, environment=self.environment, cwd=self.folder)
        assert not check or done.returncode == 0, done
        return done

    def noted(self, event: str) -> list[Any]:
        """What the agents noted under this name, in order: `method`s that they read, `pid`s."""
        lines = (self.folder / "journal").read_bytes().splitlines(keepends=True)
        entries = [json.loads(line) for line in lines if line.endswith(b"\n")]
        return [entry[event] for entry in entries if event in entry]


@pytest.fixture
def attack(tmp_path: Path) -> Iterator[Attack]:
    made = Attack(tmp_path)
    yield made
    for mark in made.marks:  # what ignores signals would outlive a test that fails
        left_behind.kill_all(mark)


@pytest.fixture
def watched(attack: Attack) -> Iterator[Attack]:
    """An attack of which nothing may be left: no process, and the key nowhere in its record."""
    with _watching(attack):
        yield attack


@contextlib.contextmanager
def _watching(attack: Attack) -> Iterator[None]:
    mark = left_behind.new_mark()
    attack.environment |= {"PROVIDER_API_KEY": KEY, "LASTWORD_CANCEL_GRACE": "0.5"}
    attack.environment[left_behind.VARIABLE] = mark
    yield
    left = [left_behind.wait_for_none(each) for each in [*attack.marks, mark]]
    left_behind.kill_all(mark)
    assert not any(left), left
    for file in (attack.folder / "state").rglob("*"):
        if file.is_file() and not file.is_symlink():
            assert KEY.encode() not in file.read_bytes(), file


@pytest.fixture(scope="module", params=DOORS)
def door(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AttackClient]:
    """A client of an agent behind one in-process door, which serves all stories of a file."""
    attack = Attack(tmp_path_factory.mktemp("door"))
    with _watching(attack), attack.start(*scoped(request.param)) as client:
        client.open(sessions=0)
        yield client
        leave(client, tells_its_author=True)
