"""The command line of the gateway, in processes: what cannot be started says why, with status 2."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import socket
import subprocess
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import InvalidStatus

from lastword.gateway.front import control
from lastword.gateway.run_folder import PidFile
from lastword.gateway.viewing.reader import Role
from tests.kit.command import command, in_a_process
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import GATEWAY, Gateway, Place, agent, until
from tests.kit.gateway.viewing import ViewerClient, attached, has_ended_well, opened
from tests.kit.json_glossary import problems_in
from tests.kit.patience import FUSE_SECONDS
from tests.kit.push_service import PushBrowser, PushService
from tests.kit.rows import every
from tests.process.gateway.test_doors import link_of, refused

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.gateway.serving import Serve


@every(
    ("words", "said"),
    [
        (("--listen", "0.0.0.0:0", "--", "true"), "--behind-proxy"),
        (("--root", "/nowhere/at/all", "--", "true"), "not a folder"),
        (("--path", "acp", "--", "true"), "begins with /"),
        (("--proxy-address", "proxy.example", "--", "true"), "--proxy-address"),
        (("--ping", "0", "--", "true"), "a duration above 0"),
        (("--frob", "--", "true"), "--frob"),
        (("--frames", "f", "--", "true"), "is an option of `lastword run`"),
        (("--listen", "127.0.0.1:0"), "command is missing"),
        (("token", "--expires", "-5"), "--expires"),
        (("--port", "7780", "--", "true"), "--listen 127.0.0.1:7780"),
        (("--listen", "127.0.0.1:0", "--", "NOTTHERE"), "NOTTHERE: not found; is the agent"),
        (("--listen", "127.0.0.1:0", "--", "/etc/passwd"), "cannot be started (permission denied)"),
    ],
)
def test_an_unusable_option_is_reported_with_status_2(words: tuple[str, ...], said: str) -> None:
    done = command("gateway", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_in_use_is_reported_with_status_2() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = in_a_process("gateway", "--listen", f"127.0.0.1:{port}", "--", "true")
    assert done.returncode == 2
    assert "address already in use" in done.stderr
    assert "--listen" in done.stderr


def test_a_terminal_shows_how_to_stop_the_gateway_and_that_it_stopped(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    front = subprocess.Popen(
        [*GATEWAY, "--listen", "127.0.0.1:0", "--", *agent("healthy")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=Place(tmp_path).environment,
    )
    said = b""
    try:
        os.close(theirs)
        while b"Ctrl-C" not in said:
            said += os.read(ours, 4096)
        front.send_signal(signal.SIGINT)
        front.wait(FUSE_SECONDS)
        while b"stopped" not in said:
            said += os.read(ours, 4096)
    finally:
        front.kill()
        front.wait(FUSE_SECONDS)
        os.close(ours)
    assert b"Ctrl-C stops the gateway and its agents" in said


def told(gateway: Gateway, *words: str) -> subprocess.CompletedProcess[str]:
    """Say a word to a gateway as a user does, in a process of its own."""
    port = ("--port", str(gateway.port))
    return in_a_process("gateway", *words, *port, environment=gateway.environment)


@pytest.mark.processes
def test_a_gateway_with_a_record_of_its_own_names_it_where_that_is_needed(
    serve: Serve, tmp_path: Path
) -> None:
    record = tmp_path / "own"
    gateway = serve("healthy", "--record", str(record))
    assert f"`lastword gateway token --record {record}` prints" in gateway.stderr()


@pytest.mark.processes
def test_status_stop_and_the_log_cover_what_runs_and_reveal_no_secret(serve: Serve) -> None:
    gateway = serve("healthy")
    page = f"http://127.0.0.1:{gateway.port}"
    assert f"the page is at {page}/; `lastword gateway token --link {page}`" in gateway.stderr()
    assert "code=" not in gateway.stderr()
    assert "agents: none is running" in gateway.tell("status").stdout
    with pytest.raises(InvalidStatus):
        ViewerClient(gateway, token="wrong")
    words = ("gateway", "token", "--role", "observer", "--expires", "0")
    token = in_a_process(*words, environment=gateway.environment)
    assert (token.returncode, token.stderr) == (0, "")  # it alone is printed
    with ViewerClient(gateway, token=token.stdout.strip()) as observer:
        assert observer.failure("session/new", gateway.opening())["reason"] == "observer"
    with opened(gateway) as (viewer, session):
        viewer.turn(session)
        status = told(gateway, "status")
        assert status.returncode == 0
        assert f"gateway: process {gateway.front.pid}" in status.stdout
        assert f"{session}: idle, 1 viewer\n" in status.stdout
        document = json.loads(gateway.tell("status", "--json").stdout)
        assert problems_in(document, "gateway") == []
        assert document["holders"][0]["sessions"][0]["session_id"] == session
        said = told(gateway, "stop").stdout
        assert said.startswith(f"gateway: process {gateway.front.pid} is stopping\n")
    gateway.front.wait(FUSE_SECONDS)
    for secret in (gateway.token(), token.stdout.strip(), viewer.known["secret"]):
        assert secret not in gateway.stderr()
    assert "ASGI" not in gateway.stderr()
    status = gateway.tell("status")
    assert status.returncode == 1
    assert f"gateway: not running on port {gateway.port} (does it" in status.stdout
    # Nor is a process ended that has its number now.
    with subprocess.Popen(["sleep", "600"]) as other:
        (pid_file,) = (gateway.runtime / "lastword").glob("*/front.pid")
        pid_file.write_text(str(other.pid), encoding="ascii")
        for word in ("reload", "stop"):
            refused = told(gateway, word)
            assert refused.returncode == 1
            assert f"you have no gateway running on port {gateway.port}" in refused.stderr
        assert other.poll() is None
        other.send_signal(signal.SIGKILL)


def test_the_ports_of_other_gateways_are_named_where_none_runs(
    serve: Serve, tmp_path: Path
) -> None:
    first = serve("healthy")
    (tmp_path / "second").mkdir()
    shared = {"LASTWORD_STATE_DIR": str(first.state), "XDG_RUNTIME_DIR": str(first.runtime)}
    here = os.environ | shared
    second = Gateway(tmp_path / "second", agent("healthy"), variables=shared)
    try:
        low, high = sorted((first.port, second.port))
        told = second.tell("status")
        assert told.returncode == 0
        assert f"; another is running on port {first.port} (--port {first.port})\n" in told.stdout
        told = command("gateway", "stop", "--port", "1", environment=here)
        assert told.returncode == 1
        assert f"; others are running on ports {low}, {high} (--port {low}) (does" in told.stderr
        told = command("gateway", "status", "--json", "--port", "1", environment=here)
        assert json.loads(told.stdout)["other_ports"] == [low, high]
        words = ("gateway", "--listen", f"127.0.0.1:{second.port}", "--", "true")
        told = in_a_process(*words, environment=here)
        assert f"is running on this port, as process {second.front.pid}" in told.stderr
    finally:
        second.close()


@pytest.mark.processes
def test_a_reload_works_although_the_agents_program_is_gone(serve: Serve, tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\nexec {shlex.join(agent('healthy'))}\n", encoding="utf-8")
    program.chmod(0o755)
    gateway = serve("", command=[str(program)])
    with opened(gateway) as (viewer, session):
        program.unlink()
        gateway.tell("reload")
        assert viewer.closed()[0] == 1012
    until("the front is back", lambda: gateway.stderr().count("serving at") == 2)
    with attached(gateway, session, token=gateway.token(role=Role.OBSERVER)):
        pass  # its agent is there


def test_a_session_works_under_a_state_folder_with_a_long_path(
    tmp_path: Path, serve: Serve
) -> None:
    long = tmp_path / ("long" * 20)
    long.mkdir()
    folders = {"XDG_RUNTIME_DIR": "/nowhere", "LASTWORD_STATE_DIR": str(long), "TMPDIR": str(long)}
    gateway = serve("healthy", variables=folders)
    gateway.state = long
    with ViewerClient(gateway) as viewer:
        assert has_ended_well(viewer.turn(viewer.new(gateway.root)))


@pytest.mark.processes
def test_a_new_key_ends_every_token_cookie_link_subscription_and_connection(serve: Serve) -> None:
    gateway = serve("healthy")
    token, cookie, link = gateway.token(), "=".join(gateway.cookie()), link_of(gateway)
    nobody = ApiClient(gateway, "")
    with ViewerClient(gateway, token=token) as viewer, PushService() as service:
        assert nobody.ask("/", Cookie=cookie).status == 200
        asked = json.dumps(PushBrowser(service, "one").request).encode()
        push: dict[str, Any] = {"method": "POST", "body": asked, "content_type": "application/json"}
        assert ApiClient(gateway).ask("/v1/push", **push).status == 201
        (gateway.state / "gateway" / "gateway.key").unlink()
        gateway.tell("reload")
        assert viewer.closed()[0] == 1012
    until("the front is back", lambda: gateway.stderr().count("serving at") == 2)
    assert refused(gateway.url, token) == 401
    assert nobody.ask("/", Cookie=cookie).status == 401
    assert nobody.ask(link).status == 401
    assert ApiClient(gateway).json("/v1/push")["subscriptions"] == []
    with ViewerClient(gateway) as viewer:  # by the new key
        assert viewer.new(gateway.root)


def test_a_reloading_gateway_is_asked_until_it_answers_and_none_where_none_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def statuses() -> list[dict[str, Any]]:
        return [{"sessions": []}]

    front: Any = SimpleNamespace(run_folder=str(tmp_path), statuses=statuses)
    assert control.ask(str(tmp_path), control.STATUS) == {}
    loop = asyncio.new_event_loop()
    socket = control.ControlSocket(front)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def until_served(_seconds: float) -> None:
        asyncio.run_coroutine_threadsafe(socket.make(), loop).result()

    monkeypatch.setattr(control.time, "sleep", until_served)
    pid_file = PidFile(str(tmp_path))
    try:
        assert control.ask(str(tmp_path), control.STATUS) == {"holders": [{"sessions": []}]}
    finally:
        asyncio.run_coroutine_threadsafe(socket.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        os.close(pid_file.number)
