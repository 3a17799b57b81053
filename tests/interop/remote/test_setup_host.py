"""`lastword setup --host`: an agent on another machine, which a real `sshd` on loopback plays."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.fleet.servers import free_port
from tests.kit.gateway.box import Box
from tests.kit.gateway.editor import Editor, before, counting
from tests.kit.gateway.serving import until
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

ROOT = Path(__file__).resolve().parents[3]


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
        done = subprocess.run(
            [
                *(sys.executable, "-P", "-m", "lastword", "setup", editor, "--host", "box"),
                *("--port", str(self.port), *words),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=FUSE_SECONDS,
            check=False,
            env=self.environment,
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert not (done.stderr if status == 0 else done.stdout)
        assert "Traceback" not in done.stderr
        return " ".join((done.stdout + done.stderr).split())

    def entries(self) -> dict[str, Any]:
        """The agents in Zed's settings."""
        if not self.settings.exists():
            return {}
        agents: dict[str, Any] = json.loads(self.settings.read_text()).get("agent_servers", {})
        return agents

    @contextlib.asynccontextmanager
    async def editor(self, *, hurried: bool = False) -> AsyncIterator[Editor]:
        """Zed, which starts what its settings say; hurried, with two short tries a search."""
        (entry,) = self.entries().values()
        command = [entry["command"], *entry["args"]]
        if hurried:
            command[:2] = [sys.executable, "-m", "tests.kit.gateway.hasty_connect"]
        async with before(command, self.environment | {"LASTWORD_TEST_TRIES": "2"}) as editor:
            yield editor


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    user = User(tmp_path)
    yield user
    user.box.close()


def test_one_command_sets_it_up_and_the_turn_goes_on_whatever_happens_to_the_network(
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


async def _turns(user: User, project: Path) -> None:
    async with user.editor() as editor:
        session_id = await editor.begin(project, {"fs": {"readTextFile": True}, "terminal": True})
        prompt = editor.prompt(session_id, "60 100 as=a")
        await editor.wait_for(lambda _: len(editor.words()) > 5)
        user.box.cut()
        await editor.wait_for(lambda _: len(editor.words()) > 20)
        for pid in user.box.fall_silent():
            os.kill(pid, signal.SIGCONT)  # a short sleep
        user.box.stop()
        await asyncio.sleep(1)
        user.box.start()  # at another address
        answer = await editor.answer(prompt)
        assert answer["result"]["stopReason"] == "end_turn"
        assert editor.words() == [f"a.{number}" for number in range(60)]
        status, said = await editor.close()
        assert status == 0, said
    until("its connections have ended", lambda: not user.box.sessions())


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
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    asyncio.run(play())


def test_a_machine_is_sought_on_while_a_turn_is_open_and_no_longer(user: User) -> None:
    user.setup("zed", "--write", "--", "counting")

    async def play() -> None:
        async with user.editor(hurried=True) as editor:
            session_id = await editor.begin(user.home)
            prompt = editor.prompt(session_id, "20 50 as=a")
            await editor.wait_for(lambda _: len(editor.words()) > 3)
            user.box.stop()
            await asyncio.sleep(3)  # many times the two tries
            user.box.start()
            answer = await editor.answer(prompt)
            assert answer["result"]["stopReason"] == "end_turn"
            assert editor.words() == [f"a.{number}" for number in range(20)]
            await editor.close()
        user.box.stop()
        async with user.editor(hurried=True) as editor:
            greeted = await editor.call("initialize", {"protocolVersion": 1})
            assert greeted["error"]["data"]["agent_error"]["reason"] == "gateway_unreachable"
            assert "box refuses connections to ssh" in json.dumps(greeted)
            await editor.close()
        user.box.start()

    asyncio.run(play())


def test_the_agent_works_in_the_folders_there_and_asks_nothing_of_this_machine(user: User) -> None:
    noting = f"{sys.executable} -m tests.kit.gateway.noting_agent"
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


def test_what_cannot_be_used_is_said_in_a_sentence_and_changes_nothing(user: User) -> None:
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
    assert "box refuses connections to ssh" in user.setup("zed", *words, status=1)
    box.start()
    assert not user.entries()
    assert not list(user.home.rglob("*.token"))


def test_what_a_login_shell_sets_holds_there_and_one_that_becomes_another_is_left_out(
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
