"""`lastword setup --host`: an agent on another machine, which a real `sshd` on loopback plays."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.fleet.servers import free_port
from tests.kit.gateway.editor import Editor, before, counting
from tests.kit.gateway.serving import until
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import ROOT
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + os.pathsep + "/usr/sbin") or "sshd"
PRIVILEGE_SEPARATION = Path("/run/sshd")
"""A folder that `sshd` wants of root; Debian's service makes it."""


class Box:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "box"
        self.home = self.folder / "home"
        (self.home / ".local/bin").mkdir(parents=True)
        self.runtime = Path(tempfile.mkdtemp(prefix="lw-", dir="/tmp"))  # a socket's path is short
        self.user_bin = folder / "user-bin"
        self.user_bin.mkdir()
        self.known_hosts = self.folder / "known_hosts"
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("host", "user", "stranger"):
            self.make_key(name)
        shutil.copy(self.folder / "user.pub", self.folder / "authorized_keys")
        self.accept_host_key()
        self.install("lastword", f'exec {sys.executable} -P -m lastword "$@"')
        self.use_key("user")
        self.start()

    def make_key(self, name: str) -> None:
        path = self.folder / name
        path.unlink(missing_ok=True)
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
        subprocess.run(words, check=True, timeout=FUSE_SECONDS)

    def accept_host_key(self) -> None:
        key = (self.folder / "host.pub").read_text()
        self.known_hosts.write_text(f"box {key}")

    def install(self, name: str, script: str) -> None:
        program = self.home / ".local/bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def use_key(self, name: str) -> None:
        self._key = self.folder / name
        self._write_user_config()

    def _write_user_config(self) -> None:
        config = self.folder / "ssh_config"
        name = pwd.getpwuid(os.geteuid()).pw_name  # whatever the variables say
        config.write_text(
            f"Host box\n  HostName 127.0.0.1\n  Port {self.port}\n  User {name}\n"
            f"  HostKeyAlias box\n  IdentityFile {self._key}\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.known_hosts}\n"
            f"  ControlPath {self.runtime}/master\n"
            "Host *\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"
        )
        made = self.user_bin / "ssh.new"  # the other one may be starting just now
        made.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
        made.chmod(0o755)
        made.replace(self.user_bin / "ssh")

    def start(self) -> None:
        if os.geteuid() == 0:
            PRIVILEGE_SEPARATION.mkdir(exist_ok=True)
        self.port = free_port()
        config = self.folder / "sshd_config"
        path = os.environ.get("PATH", os.defpath)
        config.write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {self.folder}/host\nPidFile none\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            f"SetEnv HOME={self.home} XDG_RUNTIME_DIR={self.runtime} PATH={path}\n"
        )
        self._write_user_config()
        with (self.folder / "sshd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        until("sshd listens", self._listens)

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "sshd.log").read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def sessions(self) -> list[int]:
        assert self._process is not None
        pid = self._process.pid
        if self._process.poll() is not None:
            return []
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(each) for each in text.split()]

    def fall_silent(self) -> list[int]:
        """Have all connections say nothing more, as a network does that is gone."""
        silent = self.sessions()
        for pid in silent:
            send(pid, signal.SIGSTOP)
        return silent

    def stop(self) -> None:
        assert self._process is not None
        serving = self.sessions()
        self._process.terminate()
        self._process.wait(FUSE_SECONDS)
        for pid in serving:
            send(pid, signal.SIGKILL)

    def environment(self, home: Path) -> dict[str, str]:
        """The environment of a user at another machine, whose `ssh` reaches it."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("LASTWORD_")}
        path = f"{self.user_bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return kept | {"HOME": str(home), "PATH": path, "LASTWORD_NO_CONFIG": "1"}

    def ssh(self, command: str) -> subprocess.CompletedProcess[str]:
        return run_program([str(self.user_bin / "ssh"), "box", command], check=False)

    def close(self) -> None:
        for pid in self.sessions():
            send(pid, signal.SIGCONT)
        logs = (self.home / ".local/state/lastword").glob("gateway-*.log")
        for port in {int(path.stem.rpartition("-")[2]) for path in logs}:
            self.ssh(f"$HOME/.local/bin/lastword gateway stop --agents --port {port}")
        self.stop()
        shutil.rmtree(self.runtime, ignore_errors=True)


def send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class User:
    """A user with Zed, at a machine from which `ssh box` leads to the other."""

    def __init__(self, folder: Path) -> None:
        self.box = Box(folder)
        self.home = folder / "me"
        self.settings = self.home / ".config/zed/settings.json"
        self.settings.parent.mkdir(parents=True)
        self.environment = self.box.environment(self.home)
        self.port = free_port()  # the gateway's, since both machines are this one
        self.agent = counting(os.devnull)
        self.box.install("counting", f'cd {ROOT} && exec {" ".join(self.agent)} "$@"')

    def setup(self, editor: str, *words: str, status: int = 0) -> str:
        """Run `lastword setup EDITOR --host box`; gives what it says, on stderr where it fails."""
        done = run_program(
            [
                *(sys.executable, "-P", "-m", "lastword", "setup", editor, "--host", "box"),
                *("--port", str(self.port), *words),
            ],
            check=False,
            env=self.environment,
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert not (done.stderr if status == 0 else done.stdout)
        assert "Traceback" not in done.stderr
        return " ".join((done.stdout + done.stderr).split())

    def entries(self) -> dict[str, Any]:
        if not self.settings.exists():
            return {}
        agents: dict[str, Any] = json.loads(self.settings.read_text()).get("agent_servers", {})
        return agents

    @contextlib.asynccontextmanager
    async def editor(self) -> AsyncIterator[Editor]:
        """Zed, which starts what its settings say."""
        (entry,) = self.entries().values()
        async with before([entry["command"], *entry["args"]], self.environment) as editor:
            yield editor


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    user = User(tmp_path)
    yield user
    user.box.close()


def test_one_command_sets_it_up_and_the_turn_survives_any_network_failure(
    user: User,
) -> None:
    shown = user.setup("zed", "--", "counting")
    assert "No gateway is running" in shown
    assert not user.entries()
    assert not list((user.box.home / ".local").rglob("gateway-*.log"))

    written = user.setup("zed", "--write", "--retry", "1", "--", "counting")
    assert "A gateway was started" in written
    assert list(user.entries()) == ["counting-box"]
    (token,) = user.home.rglob("*.token")
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    check = written.partition("Check: ssh box '")[2].partition("'")[0]
    assert "agents: none is running" in user.box.ssh(check).stdout

    project = user.home / "src/app"
    (user.box.home / "src/app").mkdir(parents=True)
    asyncio.run(_turns(user, project))

    assert "needs no change" in user.setup("zed", "--write")
    stop = f"lastword gateway stop --agents --port {user.port}"
    removed = user.setup("zed", "--remove")
    assert f"On box, `{stop}` ends the gateway" in removed
    assert not user.entries()
    assert not token.exists()
    assert "is stopping" in user.box.ssh(f"~/.local/bin/{stop}").stdout


def test_removing_it_from_one_editor_leaves_another_editors_token(user: User) -> None:
    (user.home / ".jetbrains").mkdir()
    for editor in ("zed", "jetbrains"):
        user.setup(editor, "--write", "--", "counting")
    user.setup("zed", "--remove")
    (token,) = user.home.rglob("*.token")
    assert str(token) in (user.home / ".jetbrains/acp.json").read_text()


async def _turns(user: User, project: Path) -> None:
    async with user.editor() as editor:
        session_id = await editor.begin(project, {"fs": {"readTextFile": True}, "terminal": True})
        prompt = editor.prompt(session_id, "60 50 as=a")
        await editor.wait_for(lambda _: len(editor.words()) > 5)
        for pid in user.box.sessions():
            send(pid, signal.SIGKILL)
        await editor.wait_for(lambda _: len(editor.words()) > 20)
        for pid in user.box.fall_silent():
            send(pid, signal.SIGCONT)  # a short sleep
        user.box.stop()
        await asyncio.sleep(1)
        user.box.start()  # at another address
        answer = await editor.answer(prompt)
        assert answer["result"]["stopReason"] == "end_turn"
        assert editor.words() == [f"a.{number}" for number in range(60)]
        status, said = await editor.close()
        assert status == 0, said
    until("its connections have ended", lambda: not user.box.sessions())


@pytest.mark.matrix
def test_a_link_that_falls_silent_is_left_for_another(user: User) -> None:
    user.setup("zed", "--write", "--", "counting")

    async def play() -> None:
        async with user.editor() as editor:
            session_id = await editor.begin(user.home)
            prompt = editor.prompt(session_id, "40 200 as=a")
            await editor.wait_for(lambda _: len(editor.words()) > 3)
            silent = user.box.fall_silent()
            assert silent
            # The next attempt is a new connection: the silent one is never heard again.
            answer = await editor.answer(prompt)
            assert answer["result"]["stopReason"] == "end_turn"
            assert editor.words() == [f"a.{number}" for number in range(40)]
            await editor.close()
        for pid in silent:
            send(pid, signal.SIGCONT)

    asyncio.run(play())


def test_the_agent_works_in_that_machines_folders_and_uses_nothing_of_this_one(user: User) -> None:
    noting = f"{sys.executable} -m tests.kit.gateway.agents noting"
    notes = user.box.home / "notes"
    user.box.install("noting", f'cd {ROOT} && exec {noting} {notes} "$@"')
    (user.box.home / "src/app").mkdir(parents=True)
    user.setup("zed", "--write", "--", "noting")

    async def play() -> None:
        async with user.editor() as editor:
            hello = {"fs": {"readTextFile": True}, "terminal": True, "_meta": {"x": 1}}
            await editor.call("initialize", {"protocolVersion": 1, "clientCapabilities": hello})
            here = user.home / "src/app"
            local = {"name": "files", "command": "/bin/files", "args": [], "env": []}
            web = {"type": "http", "name": "web", "url": "http://127.0.0.1:1/", "headers": []}
            place = {"cwd": str(here), "mcpServers": [local, web]}
            opened = await editor.call("session/new", place)
            link = {"type": "resource_link", "name": "a b", "uri": f"file://{here}/a%20b.py"}
            blocks = [{"type": "text", "text": "Look"}, link]
            params = {"sessionId": opened["result"]["sessionId"], "prompt": blocks}
            await editor.call("session/prompt", params)
            _, said = await editor.close()
            assert "MCP server files is a command of this machine" in said

    asyncio.run(play())
    requests = [json.loads(json.loads(line)) for line in notes.read_text().splitlines()]
    params = {each["method"]: each["params"] for each in requests if "method" in each}
    offered = params["initialize"]["clientCapabilities"]
    assert offered["_meta"]["x"] == 1
    assert not {"fs", "terminal"} & set(offered)
    there = user.box.home / "src/app"
    assert params["session/new"]["cwd"] == str(there)
    assert [each["name"] for each in params["session/new"]["mcpServers"]] == ["web"]
    assert params["session/prompt"]["prompt"][1]["uri"] == f"file://{there}/a%20b.py"


def test_an_unusable_host_or_command_is_refused_in_a_sentence(user: User) -> None:
    box, words = user.box, ("--write", "--", "counting")
    box.known_hosts.write_text("")
    said = user.setup("zed", *words, status=1)
    assert "the host key of box is not known here: run `ssh box` once" in said
    box.accept_host_key()
    box.use_key("stranger")
    assert "box does not let you in without a password" in user.setup("zed", *words, status=1)
    box.use_key("user")
    assert "say which agent it is to serve" in user.setup("zed", "--write", status=1)
    assert "box has no program 'nowhere'" in user.setup("zed", "--", "nowhere", status=1)
    (box.home / ".local/state").write_text("")
    assert "did not start: mkdir: " in user.setup("zed", *words, status=1)
    (box.home / ".local/state").unlink()
    keys = box.folder / "authorized_keys"
    keys.write_text(f'command="echo Hello >&2; echo No logins here; exit 1" {keys.read_text()}')
    assert "ssh to box failed: No logins here" in user.setup("zed", *words, status=1)
    shutil.copy(box.folder / "user.pub", keys)
    box.install("lastword", "echo lastword 0.1.9")
    assert "box has lastword 0.1.9, and this needs 0.2" in user.setup("zed", *words, status=1)
    (box.home / ".local/bin/lastword").unlink()
    assert "box has no lastword: install it there" in user.setup("zed", *words, status=1)
    box.install("python3", "echo 3.9.2")
    (box.home / ".bash_profile").write_text("PATH=$HOME/.local/bin:/usr/bin:/bin\n")
    assert "only Python 3.9.2: install Python 3.11" in user.setup("zed", *words, status=1)
    box.make_key("host")
    box.stop()
    box.start()
    changed = user.setup("zed", *words, status=1)
    assert "the host key of box has changed" in changed
    assert "ssh-keygen -R box" in changed
    box.stop()
    assert "box refuses ssh connections" in user.setup("zed", *words, status=1)
    box.start()
    assert not user.entries()
    assert not list(user.home.rglob("*.token"))


@pytest.mark.matrix
def test_the_login_shells_variables_apply_and_a_profile_that_execs_is_skipped(
    user: User,
) -> None:
    profile = user.box.home / ".bash_profile"
    profile.write_text('echo "Good day"; export XDG_STATE_HOME="$HOME/my state"\n')
    odd = ["sh", "-c", 'exec counting # {port} $HOME "a  b" \'']
    stop = f"~/.local/bin/lastword gateway stop --agents --port {user.port}"
    try:
        user.setup("zed", "--write", "--", *odd)
        assert list((user.box.home / "my state/lastword").glob("gateway-*.log"))
        assert list(user.entries()) == ["sh-box"]
        assert "needs no change" in user.setup("zed", "--write", "--", *odd)
    finally:
        user.box.ssh(f'XDG_STATE_HOME="$HOME/my state" {stop}')
    profile.write_text("exec sh\n")
    assert "No gateway is running" in user.setup("zed", "--", "counting")
