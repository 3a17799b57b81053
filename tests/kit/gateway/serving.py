"""A gateway in a process of its own, as a test has it: its folders, its process, its agents.

Owns their end: nothing of a gateway is left when its test is over, and no process is ended that is
not its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from lastword.gateway.front.tokens import Grant, Keeper
from lastword.gateway.viewing.reader import Role
from tests.kit.command import command
from tests.kit.fleet.servers import free_port
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LOOK_SECONDS = 0.02
GATEWAY = (sys.executable, "-m", "lastword", "gateway")

Serve: TypeAlias = "Callable[..., Gateway]"
"""A fixture that starts gateways."""

_COMMANDS = threading.Lock()
"""Of the commands in this process, whose streams and environment they use."""


def until(what: str, holds: Callable[[], Any]) -> Any:
    """Wait under a fuse until something is so; gives what it was asked for."""
    burns_at = time.monotonic() + FUSE_SECONDS
    while time.monotonic() < burns_at:
        found = holds()
        if found:
            return found
        time.sleep(LOOK_SECONDS)
    raise AssertionError(f"the fuse burned: {what}")


def agent(*words: str) -> list[str]:
    """The command of a scripted agent, without lastword in front of it."""
    return [sys.executable, "-m", "lastword", "agent", "--bare", *words]


class Place:
    """Where a gateway is: its folders, its environment, and the tokens for its port."""

    port = 0

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Make one, whose state is in a folder and whose sessions work there.

        Its environment is the tests' own, or this one, without lastword's variables but for these.
        """
        self.folder = folder
        self.root = folder / "work"
        self.root.mkdir(exist_ok=True)
        self.state = folder / "state"
        # A socket's path is short.
        self.runtime = Path(tempfile.mkdtemp(prefix="lw-", dir="/tmp"))
        inherited = os.environ if environment is None else environment
        self.environment = {
            **{key: value for key, value in inherited.items() if not key.startswith("LASTWORD_")},
            "LASTWORD_STATE_DIR": str(self.state),
            "LASTWORD_NO_CONFIG": "1",
            "XDG_RUNTIME_DIR": str(self.runtime),
            **(variables or {}),
        }

    def opening(self, **more: Any) -> dict[str, Any]:
        """What a request for a session says, and these members."""
        return {"cwd": str(self.root), "mcpServers": []} | more

    def holders(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def sessions(self) -> list[dict[str, Any]]:
        """Those that are held, each with what there is to know of its holder."""
        return [holder | held for holder in self.holders() for held in holder["sessions"]]

    def session(self, session_id: str) -> dict[str, Any]:
        (found,) = [each for each in self.sessions() if each["sessionId"] == session_id]
        return found

    def stderr(self) -> str:
        return (self.folder / "stderr").read_text(errors="replace")

    def keeper(self) -> Keeper:
        return Keeper.at(str(self.state / "gateway"))

    def token(self, *, role: Role = Role.CONTROLLER, session: str = "", expires: int = 0) -> str:
        return self.keeper().token(Grant(role, session, expires))

    def cookie(self, *, role: Role = Role.CONTROLLER, expires: int = 0) -> tuple[str, str]:
        """The name and the value of a cookie of its page's."""
        keeper = self.keeper().of_cookies(self.port)
        return keeper.cookie, keeper.token(Grant(role, "", expires))


class Gateway(Place):
    """One gateway, which may be killed and started again."""

    def __init__(
        self,
        folder: Path,
        command: Sequence[str],
        *options: str,
        environment: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Start one; its folders and its environment are as `Place` has them."""
        super().__init__(folder, environment, variables)
        self.command = list(command)
        """The agent's, at the next start."""
        self._options = list(options)
        self.port = free_port()  # nobody is given it while the gateway is away
        self.front = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        stderr = self.folder / "stderr"
        begins = stderr.stat().st_size if stderr.exists() else 0
        with stderr.open("ab") as file:
            self.front = subprocess.Popen(
                [
                    *(*GATEWAY, "--listen", f"127.0.0.1:{self.port}", "--root", str(self.root)),
                    *(*self._options, "--", *self.command),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                env=self.environment,
            )

        def url() -> bytes:
            assert self.front.poll() is None, self.stderr()
            _, _, rest = stderr.read_bytes()[begins:].partition(b"serving at ")
            return rest.partition(b"\n")[0] if b"\n" in rest else b""

        try:
            self.url = until("the gateway serves", url).decode()
        except AssertionError:
            self.front.kill()
            self.front.wait(FUSE_SECONDS)
            raise
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])
        return self.front

    def kill(self) -> None:
        """Kill it, as a machine out of memory does, and wait until its agents have ended."""
        held = self.holders()
        self.front.kill()
        self.front.wait(FUSE_SECONDS)
        for each in held:
            until("the agent has ended", lambda pid=each["agent_pid"]: not is_running(pid))

    def crash(self) -> None:
        self.kill()
        self.start()

    def reload(self) -> None:
        """Let the code that is installed now take over, and wait until it serves."""
        before = self.stderr().count("serving at")
        assert self.tell("reload").returncode == 0
        until("the gateway is back", lambda: self.stderr().count("serving at") > before)

    def tell(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one of the commands beside serving, such as `status`, in the test's own process."""
        return self._run(*words, "--port", str(self.port))

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        # In a thread, since the test may have a loop that runs.
        with _COMMANDS, ThreadPoolExecutor(1) as pool:
            run = partial(command, "gateway", *words, environment=self.environment)
            return pool.submit(run).result(FUSE_SECONDS)

    def holders(self) -> list[dict[str, Any]]:
        told = self.tell("status", "--json").stdout
        found: list[dict[str, Any]] = msgspec.json.decode(told)["holders"] if told else []
        return [each for each in found if "pid" in each]

    @property
    def resident_bytes(self) -> int:
        """How much memory its process has."""
        pages = Path("/proc", str(self.front.pid), "statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def link(self, page: str = "", *options: str) -> str:
        done = self._run("token", "--link", page or f"http://127.0.0.1:{self.port}", *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def close(self) -> None:
        held = self.holders()
        try:
            if self.front.poll() is None:
                self.front.terminate()
                self.front.wait(FUSE_SECONDS)
            for pid in [each["agent_pid"] for each in held]:
                until(f"{pid} has ended", lambda pid=pid: not is_running(pid))
        finally:
            if self.front.poll() is None:
                self.front.kill()
                self.front.wait(FUSE_SECONDS)
            shutil.rmtree(self.runtime, ignore_errors=True)


def two_with_one_key(folder: Path) -> tuple[Gateway, Gateway]:
    """Start two gateways on one host that share nothing but the key of their tokens."""
    made = []
    for name in ("one", "two"):
        keys = folder / name / "state" / "gateway"
        keys.mkdir(parents=True)
        (keys / "gateway.key").write_bytes(b"k" * 32)
        made.append(Gateway(folder / name, agent("healthy")))
    return made[0], made[1]


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    except OSError:
        return False
