"""A gateway whose front is the first process of its container: signals, and orphans.

The kernel keeps from such a process every signal that it does not handle, and hands it whatever is
left behind. A namespace of its own is all that a container has to do with it. Words to the gateway
are said inside, as `docker exec` does: outside, its number is another process'.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.front.tokens import Grant, Keeper
from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.serving import GATEWAY, agent, is_running, until
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.installs import give_up
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.processes

UNSHARE = ("unshare", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")


class Contained:
    """A gateway in a namespace of processes."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self._stderr = folder / "stderr"
        self._state = folder / "state"
        self.runtime = Path(tempfile.mkdtemp(prefix="lw-", dir="/tmp"))
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("LASTWORD_")}
        self._environment = {
            **inherited,
            "LASTWORD_STATE_DIR": str(self._state),
            "XDG_RUNTIME_DIR": str(self.runtime),
        }
        options = ("--listen", "127.0.0.1:0", "--root", str(self.root), "--")
        with self._stderr.open("wb") as file:
            self.outer = subprocess.Popen(
                [*UNSHARE, *GATEWAY, *options, *agent("healthy")],
                stdin=subprocess.DEVNULL,
                stderr=file,
                env=self._environment,
            )
        until("the front serves", lambda: self.starts == 1)
        self.url = self._said().partition("serving at ")[2].partition("\n")[0]
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])

    def _said(self) -> str:
        return self._stderr.read_text(encoding="utf-8")

    @property
    def starts(self) -> int:
        """How often a front began to serve."""
        assert self.outer.poll() is None, self._said()
        return self._said().count("serving at ")

    @property
    def first(self) -> int:
        """The first process, by its number outside."""
        children = Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children")
        return int(children.read_text(encoding="ascii"))

    @property
    def children(self) -> list[int]:
        """The children of the first process, by their numbers outside."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # it has gone since
                if int(stat.read_bytes().rpartition(b")")[2].split()[1]) == self.first:
                    found.append(int(stat.parent.name))
        return found

    def command_of(self, pid: int) -> bytes:
        """The command line of a process; none of one that has gone since."""
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes()
        return b""

    def tell(self, word: str) -> None:
        """Say a word to the gateway, in the namespace."""
        enter = ("nsenter", "--target", str(self.first), "--user", "--pid", "--mount")
        told = (*GATEWAY, word, "--port", str(self.port))
        subprocess.run(
            [*enter, "--preserve-credentials", "--", *told],
            check=True,
            timeout=FUSE_SECONDS,
            env=self._environment,
        )

    def token(self) -> str:
        """A token for it."""
        return Keeper.at(str(self._state / "gateway")).token(Grant(Role.CONTROLLER))


@pytest.fixture
def contained(tmp_path: Path) -> Iterator[Contained]:
    """One that is gone afterwards, whatever is still in it."""
    if subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode:
        give_up("no namespace of processes can be made here.")
    found = Contained(tmp_path)
    yield found
    if found.outer.poll() is None:
        os.kill(found.first, signal.SIGKILL)  # its namespace goes with it
    found.outer.wait(FUSE_SECONDS)
    shutil.rmtree(found.runtime, ignore_errors=True)


def test_the_first_process_reloads_reaps_orphans_and_stops(contained: Contained) -> None:
    first = contained.first
    with ViewerClient(contained) as viewer:  # type: ignore[arg-type]
        session = viewer.new(contained.root)
        viewer.answer(viewer.prompt(session))
        contained.tell("reload")
        assert viewer.closed()[0] == 1012
    until("the newer front serves", lambda: contained.starts == 2)
    assert contained.first == first
    with ViewerClient(contained, known=viewer.known) as viewer:  # type: ignore[arg-type]
        viewer.load(session, contained.root)
        viewer.answer(viewer.prompt(session))
        # What an agent that is killed leaves behind is the first process' to bury.
        viewer.result("session/close", {"sessionId": session})
        until("nobody is left unburied", lambda: all(map(is_running, contained.children)))
    contained.tell("stop")
    assert contained.outer.wait(FUSE_SECONDS) == 0
    until("all of it is gone", lambda: not is_running(first))
