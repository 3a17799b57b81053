"""The command line of the gateway, in processes: what cannot be started says why, with status 2."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from lastword._installation import command_for
from lastword.gateway.front.folders import run_folder_of
from lastword.gateway.viewing.attachment import Role
from tests.kit.gateway.serving import GATEWAY, Gateway, agent, until
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.json_glossary import problems_in
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    Serve = Callable[..., Gateway]

BLOCKED = """
import sys
sys.modules[{module!r}] = None
sys.argv = ["lastword"]
from lastword.cli import main
sys.exit(main(["gateway", *{words!r}]))
"""


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GATEWAY, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
        env=os.environ | environment,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "0.0.0.0:0", "--", "true"), "--behind-proxy"),
        (("--listen", "192.0.2.1:7780", "--", "true"), "--behind-proxy"),
        (("--listen", "nowhere", "--", "true"), "HOST:PORT"),
        (("--listen", "127.0.0.1:70000", "--", "true"), "HOST:PORT"),
        (("--root", "/nowhere/at/all", "--", "true"), "not a folder"),
        (("--path", "acp", "--", "true"), "begins with /"),
        (("--sessions", "0", "--", "true"), "from 1 up"),
        (("--proxy-address", "proxy.example", "--", "true"), "--proxy-address"),
        (("--ping", "0", "--", "true"), "a duration above 0"),
        (("--unattended-timeout", "nan", "--", "true"), "a duration above 0"),
        (("--log-limit", "lots", "--", "true"), "takes a size"),
        (("--idle-timeout", "soon", "--", "true"), "idle-timeout"),
        (("--frob", "--", "true"), "--frob"),
        (("--frames", "f", "--", "true"), "is an option of `lastword run`"),
        (("--listen", "127.0.0.1:0"), "command is missing"),
        (("--",), "command"),
        (("token", "--expires", "-5"), "--expires"),
    ],
)
def test_what_cannot_be_used_is_said_with_status_2(words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def blocked(module: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    """The command where a module of the extra is missing."""
    return subprocess.run(
        [sys.executable, "-c", BLOCKED.format(module=module, words=words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
    )


@pytest.mark.parametrize("module", ["starlette", "uvicorn", "websockets"])
def test_without_the_extra_the_line_that_installs_it_is_said(module: str) -> None:
    done = blocked(module, ["--", "true"])
    assert done.returncode == 2
    assert command_for("gateway") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("words", "status"), [(["token"], 0), (["status"], 1), (["stop"], 1)])
def test_a_command_to_a_gateway_needs_no_extra(words: list[str], status: int) -> None:
    done = blocked("uvicorn", words)
    assert done.returncode == status
    assert command_for("gateway") not in done.stderr


def test_help_is_written_for_the_gateway_and_each_of_its_words() -> None:
    for words in ((), ("token",), ("status",), ("reload",), ("stop",)):
        done = run(*words, "--help")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"usage: {' '.join(('lastword gateway', *words))}")


@pytest.mark.parametrize("words", [["--help"], ["stop", "--help"], ["--root", ".", "-h"]])
def test_help_needs_no_extra(words: list[str]) -> None:
    done = blocked("uvicorn", words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: lastword gateway")


@pytest.mark.processes
def test_at_a_terminal_the_end_says_which_agents_keep_running(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as viewer:
        viewer.new(gateway.root)
    gateway.kill_front()
    ours, theirs = os.openpty()
    front = subprocess.Popen(
        [*GATEWAY, "--listen", f"127.0.0.1:{gateway.port}", "--", *agent("healthy")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=gateway.environment,
    )
    said = b""
    try:
        os.close(theirs)
        while b"Ctrl-C" not in said:
            said += os.read(ours, 4096)
        front.send_signal(signal.SIGINT)
        front.wait(FUSE_SECONDS)
        while b"stop --agents" not in said:
            said += os.read(ours, 4096)
    finally:
        front.kill()
        front.wait(FUSE_SECONDS)
        os.close(ours)
    assert b"stopped; 1 agent keeps running" in said
    assert f"stop --agents --port {gateway.port}`".encode() in said
    ended = gateway.tell("stop", "--agents")
    assert (ended.returncode, ended.stdout) == (0, "1 agent is stopping\n")


@pytest.mark.processes
def test_stop_says_what_it_ends_and_what_it_leaves(serve: Serve) -> None:
    gateway = serve("healthy")
    assert "agents: none is running" in gateway.tell("status").stdout
    with ViewerClient(gateway) as viewer:
        viewer.new(gateway.root)
        pid = gateway.front.pid
        said = gateway.tell("stop").stdout
        assert said.startswith(f"gateway: process {pid} is stopping\n")
        assert "--agents ends them too" in said


@pytest.mark.processes
def test_a_refused_upgrade_leaves_no_line_of_the_server_in_the_log(serve: Serve) -> None:
    gateway = serve("healthy")
    with pytest.raises(InvalidStatus):
        connect(gateway.url, additional_headers={"Authorization": "Bearer wrong"})
    assert gateway.tell("stop").returncode == 0
    gateway.front.wait(FUSE_SECONDS)
    assert "ASGI" not in gateway.stderr()


def test_a_token_is_printed_alone_and_lets_in(serve: Serve) -> None:
    gateway = serve("healthy")
    done = subprocess.run(
        [*GATEWAY, "token", "--role", "observer", "--expires", "0"],
        capture_output=True,
        text=True,
        check=True,
        timeout=FUSE_SECONDS,
        env=gateway.environment,
    )
    assert done.stderr == ""
    with ViewerClient(gateway, token=done.stdout.strip()) as viewer:
        refused = viewer.answer(viewer.request("session/new", {"cwd": str(gateway.root)}))
        assert refused["error"]["data"]["agent_error"]["reason"] == "observer"


@pytest.mark.processes
def test_no_token_and_no_secret_is_in_what_the_gateway_writes(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as viewer:
        viewer.answer(viewer.prompt(viewer.new(gateway.root)))
        with ViewerClient(gateway, known=viewer.known) as again:
            again.new(gateway.root)
            held = [str(holder["pid"]) for holder in gateway.holders()]
        assert len(held) == 2
        for pid in held:
            arguments = Path("/proc", pid, "cmdline").read_text(encoding="utf-8")
            assert viewer.known["secret"] not in arguments
    assert gateway.token() not in gateway.stderr()
    assert viewer.known["secret"] not in gateway.stderr()


@pytest.mark.processes
def test_status_tells_what_runs_and_where_nothing_does(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        told = gateway.tell("status")
        assert told.returncode == 0
        assert f"gateway: process {gateway.front.pid}" in told.stdout
        assert f"{session}: idle, 1 viewer\n" in told.stdout
        document = json.loads(gateway.tell("status", "--json").stdout)
        assert problems_in(document, "gateway") == []
        assert document["holders"][0]["sessions"][0]["session_id"] == session
    gateway.kill_front()
    told = gateway.tell("status")
    assert told.returncode == 1
    assert f"gateway: not running on port {gateway.port}\n" in told.stdout
    assert session in told.stdout
    for word in ("reload", "stop"):
        told = gateway.tell(word)
        assert told.returncode == 1
        assert f"you have no gateway running on port {gateway.port}" in told.stderr


def test_where_none_runs_the_ports_of_the_others_are_named(serve: Serve, tmp_path: Path) -> None:
    first = serve("healthy")
    (tmp_path / "second").mkdir()
    shared = {"LASTWORD_STATE_DIR": str(first.state), "XDG_RUNTIME_DIR": str(first.runtime)}
    second = Gateway(tmp_path / "second", agent("healthy"), variables=shared)
    try:
        low, high = sorted((first.port, second.port))
        told = second.tell("status")
        assert told.returncode == 0
        assert f"; another is running on port {first.port} (--port {first.port})\n" in told.stdout
        told = run("stop", "--port", "1", **shared)
        assert told.returncode == 1
        assert f"; others are running on ports {low}, {high} (--port {low})\n" in told.stderr
        told = run("status", "--json", "--port", "1", **shared)
        assert json.loads(told.stdout)["other_ports"] == [low, high]
    finally:
        second.close()


@pytest.mark.processes
def test_a_process_that_has_the_number_of_a_dead_front_is_not_signalled(serve: Serve) -> None:
    gateway = serve("healthy")
    gateway.kill_front()
    with subprocess.Popen(["sleep", "600"]) as other:
        (pid_file,) = (gateway.runtime / "lastword").glob("*/front.pid")
        pid_file.write_text(str(other.pid), encoding="ascii")
        assert gateway.tell("stop").returncode == 1
        assert other.poll() is None
        other.send_signal(signal.SIGKILL)


def test_a_port_that_is_taken_is_said_with_status_2() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("--listen", f"127.0.0.1:{taken.getsockname()[1]}", "--", "true")
    assert done.returncode == 2
    assert "address already in use" in done.stderr
    assert "--listen" in done.stderr


def test_an_agent_that_cannot_be_started_is_told_to_who_comes(serve: Serve) -> None:
    gateway = serve("", command=["/bin/false"])
    with pytest.raises(AssertionError, match="agent_crash"):
        ViewerClient(gateway)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("NOTTHERE", "NOTTHERE: not found; is the agent installed, and on the PATH here?"),
        ("/nowhere/agent", "/nowhere/agent: not found; is the agent installed, and on the PATH"),
        ("/etc/passwd", "/etc/passwd: cannot be started (permission denied)"),
    ],
)
def test_a_command_that_is_no_program_is_said_at_once(command: str, said: str) -> None:
    done = run("--listen", "127.0.0.1:0", "--", command)
    assert (done.returncode, done.stderr.startswith(f"lastword: {said}")) == (2, True)
    assert done.stderr.count("\n") == 1


@pytest.mark.processes
def test_a_reload_goes_on_though_the_agent_is_gone(serve: Serve) -> None:
    gateway = serve("healthy")
    program = gateway.folder / "agent"
    program.write_text(f"#!/bin/sh\nexec {shlex.join(gateway.command)}\n", encoding="utf-8")
    program.chmod(0o755)
    gateway.command = [str(program)]
    gateway.kill_front()
    gateway.start()
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        program.unlink()
        gateway.tell("reload")
        assert viewer.closed()[0] == 1012
    until("the front is back", lambda: gateway.stderr().count("serving at") == 3)
    with ViewerClient(gateway, token=gateway.token(role=Role.OBSERVER)) as viewer:
        viewer.load(session, gateway.root)


def test_folders_that_are_too_long_for_a_socket_give_way_to_a_short_one(tmp_path: Path) -> None:
    long = tmp_path / ("long" * 20)
    long.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(long))
        short = run_folder_of(str(long), 7780)
        other = run_folder_of(str(tmp_path), 7780)
    assert len(short) < 64
    assert short != other


@pytest.mark.skipif(sys.platform == "darwin", reason="there /tmp is always short enough")
def test_where_no_folder_is_short_enough_the_gateway_says_so(tmp_path: Path) -> None:
    long = tmp_path / ("long" * 20)
    long.mkdir()
    said = {"XDG_RUNTIME_DIR": str(long), "LASTWORD_STATE_DIR": str(long), "TMPDIR": str(long)}
    done = run("--listen", "127.0.0.1:0", "--", "true", **said)
    assert done.returncode == 2
    assert "set XDG_RUNTIME_DIR" in done.stderr


@pytest.mark.processes
def test_a_session_goes_on_under_a_state_folder_with_a_long_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    gateway = serve("healthy")
    gateway.kill_front()
    monkeypatch.setitem(gateway.environment, "XDG_RUNTIME_DIR", "/nowhere")
    long = tmp_path / ("long" * 20)
    long.mkdir()
    monkeypatch.setitem(gateway.environment, "LASTWORD_STATE_DIR", str(long))
    monkeypatch.setitem(gateway.environment, "TMPDIR", str(gateway.runtime))
    gateway.state = long
    gateway.start()
    with ViewerClient(gateway) as viewer:
        answer = viewer.answer(viewer.prompt(viewer.new(gateway.root)))
        assert answer["result"]["stopReason"] == "end_turn"
    until("the viewer has left", lambda: gateway.holders()[0]["sessions"][0]["controllers"] == 0)
