"""Processes of a gateway that end or are replaced: no turn is lost, and nothing comes twice."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from lastword.gateway.front import process
from lastword.gateway.viewing.reader import Role
from lastword.platform.files import file_with
from tests.kit.gateway.serving import is_running, until
from tests.kit.gateway.viewing import (
    TYPED,
    ViewerClient,
    attached,
    failure_of,
    has_ended_well,
    is_life,
    opened,
)
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import PROTOCOL, ROOT, SOURCE
from tests.process.gateway.test_recorded import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway, Serve

WORDS = [f"<{number}>" for number in range(60)]
TALKS: dict[str, Any] = {
    "turns": [
        [step for word in WORDS for step in ({"say": word}, {"wait": 0.05})]
        + [{"result": "end_turn"}]
    ],
    "sessions": "resume",
}
HANGS: dict[str, Any] = {
    "turns": [[{"say": "One."}, {"hang": True}], [{"say": "Back."}, {"result": "end_turn"}]],
    "sessions": "resume",
}
OTHER = {"_meta": {"of": "another kind"}}
HALVES = """
import json, os, sys, time
from lastword.kit.agent.plain import Output, PlainAgent

class Halves(PlainAgent):
    def serve(self, prompt):
        content = {"type": "text", "text": "whole"}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        params = {"sessionId": self.session_id, "update": update}
        frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        whole = json.dumps(frame).encode() + b"\\n"
        self.wire.write(whole.replace(b"whole", b"first") + whole[:40])
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        self.wire.write(whole[40:])
        self.end_turn(prompt)

Halves(sys.stdin.buffer, Output()).run()
"""
"""An agent that ends a line once a file is there."""

FAILS = """
import os, sys, time
from lastword.kit.agent.plain import Output, PlainAgent

class Fails(PlainAgent):
    capabilities = {"loadSession": True}

    def handle_request(self, request_id, method, params):
        if os.path.exists(os.path.join(sys.argv[1], method.replace("/", "-"))):
            if os.fork():
                os._exit(3)
            time.sleep(60)
            os._exit(0)
        if method == "session/load":
            while os.path.exists(os.path.join(sys.argv[1], "waits")):
                time.sleep(0.01)
            if os.path.exists(os.path.join(sys.argv[1], "replays")):
                said = {"type": "text", "text": "Earlier."}
                update = {"sessionUpdate": "user_message_chunk", "content": said}
                self.wire.update(params["sessionId"], update)
            self.wire.frame(id=request_id, result={})
        else:
            super().handle_request(request_id, method, params)

Fails(sys.stdin.buffer, Output()).run()
"""
"""An agent that dies of each method for which a folder has a file; a child keeps its pipes. It does
not load a session while there is a file `waits`."""

HAS_MODES = """
import os, sys
from lastword.kit.agent.plain import Output, PlainAgent

class HasModes(PlainAgent):
    capabilities = {"loadSession": True}
    mode = "code"

    def handle_request(self, request_id, method, params):
        if method == "session/set_mode" and os.path.exists(sys.argv[1]):
            self.wire.frame(id=request_id, error={"code": -32602, "message": "There is none."})
        elif method in {"session/new", "session/load", "session/set_mode"}:
            self.mode = params.get("modeId", self.mode)
            listed = [{"id": name, "name": name} for name in ("code", "plan")]
            modes = {"currentModeId": self.mode, "availableModes": listed}
            self.wire.frame(id=request_id, result={"sessionId": f"m{os.getpid()}", "modes": modes})
        else:
            super().handle_request(request_id, method, params)

    def serve(self, prompt):
        self.say(self.mode)
        self.end_turn(prompt)

HasModes(sys.stdin.buffer, Output()).run()
"""
"""An agent that works in a mode, which it can no longer change once a file is there."""

HANGS_AT_START = """
import os, sys, time

if os.path.exists({flag!r}) and os.environ.get("LASTWORD_GATEWAY_SOCKET") != "trial":
    time.sleep(600)
if "gateway" in sys.orig_argv:
    from lastword.gateway.front import process
    process.START_SECONDS = 1
"""


def viewing(gateway: Gateway, **how: Any) -> ViewerClient:
    return ViewerClient(gateway, capabilities=TYPED, replay=True, **how)


def back(
    gateway: Gateway, before: ViewerClient, session: str, prompt: int, **more: Any
) -> ViewerClient:
    """The viewer after an end, which asks for the answer of its prompt once more."""
    after = viewing(gateway, known=before.known)
    after.load(session, gateway.root, **more)
    after.prompt(session, id_=prompt)
    return after


def begun(gateway: Gateway, viewer: ViewerClient, text: str = "go") -> tuple[str, int]:
    """A session and its prompt, once the turn is under way."""
    session = viewer.new(gateway.root)
    prompt = viewer.prompt(session, text)
    until("the turn runs", lambda: gateway.session(session)["turn"])
    return session, prompt


def cursor(viewer: ViewerClient, epoch: str) -> dict[str, Any]:
    return {"_meta": {"lastword": {"after": {"epoch": epoch, "seq": viewer.seqs()[-1]}}}}


def agents(gateway: Gateway) -> list[int]:
    return [each["agent_pid"] for each in gateway.holders()]


def have_ended(pids: list[int]) -> None:
    until("the agents have ended", lambda: not any(map(is_running, pids)))


# --- a reload -------------------------------------------------------------------------------------


@contextlib.contextmanager
def connects(gateway: Gateway) -> Iterator[None]:
    """Connections come one after the other all the while, and none of them is refused."""
    over = threading.Event()
    refused: list[OSError] = []
    answered: list[int] = []

    def connect() -> None:
        while not over.is_set():
            try:
                with socket.create_connection(("127.0.0.1", gateway.port), FUSE_SECONDS) as made:
                    made.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    answered.append(len(made.recv(64)))
            except OSError as error:
                refused.append(error)

    hammering = threading.Thread(target=connect)
    hammering.start()
    try:
        yield
        until("many are answered", lambda: len(answered) > 10)
    finally:
        over.set()
        hammering.join(FUSE_SECONDS)
    assert not [error for error in refused if isinstance(error, ConnectionRefusedError)]


@pytest.mark.processes
def test_a_gateway_replaced_in_mid_turn_loses_duplicates_and_refuses_nothing(
    serve: Serve,
) -> None:
    gateway = serve(TALKS)
    before = viewing(gateway)
    session, prompt = begun(gateway, before)
    epoch, pid = gateway.session(session)["epoch"], gateway.front.pid
    before.find(lambda frame: WORDS[5] in str(frame))
    with connects(gateway):
        gateway.reload()
        assert before.closed() == (1012, "gateway_restarts")
        for _ in range(2):
            gateway.reload()
    with (
        back(gateway, before, session, prompt, **cursor(before, epoch)) as after,
        attached(gateway, session) as stock,  # which knows nothing of positions
    ):
        assert gateway.session(session)["epoch"] == epoch
        assert not any("reset" in str(frame.get("result")) for frame in after.frames)
        assert has_ended_well(after.answer(prompt))
        assert before.said + after.said == WORDS
        # A position may be told again, by a frame that says nothing else.
        seqs = before.seqs() + after.seqs()
        assert seqs == sorted(seqs)
        stock.find(lambda frame: WORDS[-1] in str(frame))
    assert gateway.front.poll() is None
    assert gateway.front.pid == pid


@pytest.mark.processes
def test_a_line_interrupted_by_the_reload_is_whole(serve: Serve, tmp_path: Path) -> None:
    ends = tmp_path / "ends"
    gateway = serve("", command=[sys.executable, "-c", HALVES, str(ends)])
    with viewing(gateway) as before:
        session, prompt = begun(gateway, before)
        before.find(lambda frame: "first" in str(frame))
        gateway.reload()
    ends.touch()
    with back(gateway, before, session, prompt) as after:
        assert after.answer(prompt)["result"] == {"stopReason": "end_turn"}
        assert after.find(lambda frame: "whole" in str(frame))


@pytest.mark.processes
def test_questions_turns_and_unused_agents_are_after_a_reload_as_without_it(serve: Serve) -> None:
    gateway = serve("hang")
    with viewing(gateway) as asked, viewing(gateway) as cancelling, viewing(gateway) as bereft:
        asking, killed = begun(gateway, asked)
        os.kill(gateway.session(asking)["agent_pid"], signal.SIGKILL)
        assert failure_of(asked.answer(killed))["type"] == "agent_crash"
        # It is asked by an agent that was started again.
        asked_in = asked.prompt(asking, "Please: /scenario permission")
        question = asked.question()
        session, prompt = begun(gateway, cancelling)
        doomed, lost = begun(gateway, bereft)
        with ViewerClient(gateway, capabilities=OTHER):  # which needs another agent
            (spare,) = [each["agent_pid"] for each in gateway.holders() if not each["sessions"]]
        running = agents(gateway)
        gateway.reload()
    assert agents(gateway) == running
    with back(gateway, asked, asking, asked_in) as after:
        again = after.question()
        assert again["id"] == question["id"]
        after.allow(again)
        assert has_ended_well(after.answer(asked_in))
    with back(gateway, cancelling, session, prompt) as after:
        after.cancel(session)
        assert after.answer(prompt)["result"]["stopReason"] == "cancelled"
        assert has_ended_well(after.turn(session, "Please: /scenario healthy"))
    with ViewerClient(gateway, capabilities=OTHER) as other:
        assert gateway.session(other.new(gateway.root))["agent_pid"] == spare
    os.kill(gateway.session(doomed)["agent_pid"], signal.SIGKILL)
    with back(gateway, bereft, doomed, lost) as after:
        error = failure_of(after.answer(lost))
        assert (error["type"], error["exit_signal"]) == ("agent_crash", "SIGKILL")


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux has files in memory.")
def test_a_reload_needs_no_room_on_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(tempfile, "TemporaryFile", mock.Mock(side_effect=full))
    with os.fdopen(file_with(b"what continues"), "rb") as file:
        file.seek(0)
        assert file.read() == b"what continues"


@pytest.mark.processes
def test_a_reload_is_refused_while_the_new_program_does_not_start(
    serve: Serve, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.touch()
    variables = {"LASTWORD_NO_CONFIG": "", "LASTWORD_CONFIG": str(file)}
    gateway = serve("hang", variables=variables)
    with viewing(gateway) as viewer:
        session, prompt = begun(gateway, viewer)
        file.write_text("[gateway]\nsessions = 'many'\n", encoding="utf-8")
        os.kill(gateway.front.pid, signal.SIGHUP)
        until("it is refused", lambda: "not reloaded, since the installed" in gateway.stderr())
        assert "config.toml:2: sessions" in gateway.stderr()
        viewer.cancel(session)
        assert viewer.answer(prompt)["result"]["stopReason"] == "cancelled"
        file.write_text("", encoding="utf-8")
        gateway.reload()


@pytest.mark.processes
def test_the_agents_end_if_the_new_program_hangs_at_its_start(serve: Serve, tmp_path: Path) -> None:
    flag, site = tmp_path / "hangs", tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(HANGS_AT_START.format(flag=str(flag)), encoding="utf-8")
    path = os.pathsep.join((str(site), str(ROOT)))
    gateway = serve("hang", variables={"PYTHONPATH": path})
    with viewing(gateway) as before:
        begun(gateway, before)
        running = agents(gateway)
        flag.touch()
        os.kill(gateway.front.pid, signal.SIGHUP)
        before.closed()
    assert gateway.front.wait(FUSE_SECONDS) == -signal.SIGALRM
    have_ended(running)
    flag.unlink()


@pytest.mark.processes
def test_an_installed_version_takes_over_once_it_starts(serve: Serve, tmp_path: Path) -> None:
    installed = tmp_path / "installed" / "lastword"
    shutil.copytree(SOURCE / "lastword", installed, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PROTOCOL / "failures", installed / "protocol" / "failures")
    look = installed / "gateway" / "front" / "process.py"
    look.write_text(look.read_text().replace("LOOK_SECONDS = 60.0", "LOOK_SECONDS = 0.1"))
    version = installed / "_version.py"
    gateway = serve("hang", variables={"PYTHONPATH": str(installed.parent)})
    with viewing(gateway) as viewer:
        session, prompt = begun(gateway, viewer)
        before = agents(gateway)
        version.write_text("a release that is broken")
        until("it is told", lambda: "the installed version does not start" in gateway.stderr())
        version.write_text('__version__ = "99.0"\n')
        until("it has taken over", lambda: gateway.stderr().count("serving at") == 2)
        assert agents(gateway) == before
    with back(gateway, viewer, session, prompt) as after:
        after.cancel(session)
        assert after.answer(prompt)["result"]["stopReason"] == "cancelled"


def test_a_version_is_tried_once_no_agent_would_end_and_the_next_one_if_it_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[tuple[bytes, bool]] = [(b"1", True), (b"2", True), (b"", True), (b"2", True)]
    looks += [(b"2", False), (b"2", True), (b"2", True), (b"1", True), (b"1", True)]
    looks += [(b"3", True), (b"3", True)]
    seen: list[tuple[bytes, bool]] = []
    tried: list[bytes] = []
    services = mock.Mock(reload_cost="")

    def look() -> bytes:
        if not looks:
            raise asyncio.CancelledError
        seen.append(looks.pop(0))
        services.holders.can_be_handed_over = seen[-1][1]
        return seen[-1][0]

    monkeypatch.setattr(process, "_installed", look)
    monkeypatch.setattr(process, "LOOK_SECONDS", 0)
    monkeypatch.setattr(os, "kill", lambda *_: tried.append(seen[-1][0]))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(process._upgrade(services))
    assert tried == [b"2", b"3"]


# --- an end ---------------------------------------------------------------------------------------


@pytest.mark.processes
def test_a_gateway_killed_in_mid_turn_ends_it_typed_and_the_session_is_restored(
    serve: Serve,
) -> None:
    gateway = serve(HANGS)
    before = viewing(gateway)
    session, prompt = begun(gateway, before)
    epoch = gateway.session(session)["epoch"]
    before.find(lambda frame: "One." in str(frame))
    gateway.crash()
    assert before.closed()[0] == 1006
    with back(gateway, before, session, prompt, **cursor(before, epoch)) as after:
        failure = failure_of(after.answer(prompt))
        assert failure["type"] == "agent_crash"
        assert "The gateway was stopped" in failure["message"]
        assert before.said + after.said == ["One."]
        assert after.find(lambda frame: "restored" in str(frame))
        after.prompt(session)
        after.find(lambda frame: "One." in str(frame))
    (held,) = gateway.sessions()
    assert (held["sessionId"], held["epoch"]) == (session, epoch)


@pytest.mark.processes
def test_a_session_is_reached_and_restored_although_its_agent_could_not_start_or_load_it(
    serve: Serve, tmp_path: Path
) -> None:
    gateway = serve("", command=[sys.executable, "-c", FAILS, str(tmp_path)])
    starts, loads = tmp_path / "initialize", tmp_path / "session-load"
    with opened(gateway, capabilities=TYPED, replay=True) as (viewer, session):
        starts.touch()  # such as an update that does not work
        assert viewer.failure("session/new", gateway.opening())["type"] == "agent_crash"
        with attached(gateway, session, capabilities=OTHER) as other:
            assert has_ended_well(other.turn(session))
        assert has_ended_well(viewer.turn(session))
        starts.unlink()
    gateway.crash()
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        starts.touch()
        # It was greeted by a spare agent; the session gets one of its own.
        failure = viewer.failure("session/load", gateway.opening(sessionId=session))
        assert failure["type"] == "agent_crash"
        with pytest.raises(AssertionError, match="ended unexpectedly"):
            ViewerClient(gateway, capabilities=OTHER)
        starts.unlink()
        with attached(gateway, session, capabilities=OTHER) as other:
            assert has_ended_well(other.turn(session))
    gateway.crash()
    loads.touch()
    with attached(gateway, session, capabilities=TYPED, replay=True) as viewer:
        assert failure_of(viewer.turn(session))["type"] == "agent_crash"
        loads.unlink()
        prompts = [viewer.prompt(session), viewer.prompt(session)]  # one waits behind the other
        assert all(has_ended_well(viewer.answer(prompt)) for prompt in prompts)
    (tmp_path / "replays").touch()
    gateway.crash()
    with attached(gateway, session, replay=True) as viewer:
        viewer.turn(session)
        back = filter(is_life("restored"), viewer.frames)
        assert [each["params"]["facts"]["history"] for each in back] == ["none", "none", "full"]
        assert "Earlier." not in str(viewer.frames)  # the log has it already


@pytest.mark.processes
def test_a_session_is_shown_and_can_be_closed_while_its_agent_still_loads_it(
    serve: Serve, tmp_path: Path
) -> None:
    gateway = serve("", command=[sys.executable, "-c", FAILS, str(tmp_path)])
    with opened(gateway) as (viewer, session):
        viewer.turn(session)
        first = viewer.said
    gateway.crash()
    waits = tmp_path / "waits"
    waits.touch()
    with attached(gateway, session) as viewer:
        assert viewer.said  # from the log
        fork = viewer.request("session/fork", gateway.opening(sessionId=session))
        prompt = viewer.prompt(session)
        viewer.result("_lastword/ping", {})
        with attached(gateway, session, token=gateway.token(role=Role.OBSERVER)) as observer:
            observer.cancel(session)
            assert failure_of(observer.turn(session))["reason"] == "observer"  # at once
        viewer.result("_lastword/ping", {})
        assert not any(frame.get("id") in {fork, prompt} for frame in viewer.frames)
        viewer.cancel(session)
        assert viewer.answer(prompt)["result"] == {"stopReason": "cancelled"}
        kept = viewer.prompt(session)
        viewer.result("_lastword/ping", {})
        said = viewer.said
        waits.unlink()
        assert "no method" in viewer.answer(fork)["error"]["message"]
        assert has_ended_well(viewer.answer(kept))
        assert len(viewer.said) == len(said) + len(first)  # the agent had one prompt
    gateway.crash()
    waits.touch()
    with attached(gateway, session) as viewer, attached(gateway, session) as other:
        prompt = viewer.prompt(session)
        other.result("session/close", {"sessionId": session})
        assert "error" in viewer.answer(prompt)
        assert viewer.closed()[0] == 4410
    waits.unlink()


@pytest.mark.processes
def test_a_chosen_mode_is_shown_to_each_viewer_and_outlives_agents_and_gateways(
    serve: Serve, tmp_path: Path
) -> None:
    fault = tmp_path / "no modes"
    gateway = serve("", command=[sys.executable, "-c", HAS_MODES, str(fault)])
    with opened(gateway) as (viewer, session):
        viewer.result("session/set_mode", {"sessionId": session, "modeId": "plan"})

    def works_in() -> tuple[str, str]:
        with ViewerClient(gateway) as viewer:
            modes = viewer.load(session, gateway.root)["modes"]
            viewer.turn(session)
            told = [each.get("params", {}).get("update", {}) for each in viewer.frames]
            shown = [each for each in (modes, *told) if "currentModeId" in each]
            return shown[-1]["currentModeId"], viewer.said[-1]

    assert works_in() == ("plan", "plan")
    gateway.reload()
    os.kill(gateway.session(session)["agent_pid"], signal.SIGKILL)
    assert works_in() == ("plan", "plan")
    gateway.crash()
    assert works_in() == ("plan", "plan")
    fault.touch()
    gateway.crash()
    assert works_in() == ("code", "code")


@pytest.mark.processes
def test_stopping_the_gateway_ends_the_turn_and_the_next_one_restores_the_session(
    serve: Serve,
) -> None:
    gateway = serve(HANGS)
    before = viewing(gateway)
    session, prompt = begun(gateway, before)
    before.find(lambda frame: "One." in str(frame))
    gateway.reload()  # does not count as a crash
    assert gateway.tell("stop").returncode == 0
    assert before.closed()[0] == 1012
    assert gateway.front.wait(FUSE_SECONDS) == 0
    assert gateway.tell("stop").returncode == 1
    gateway.start()
    with back(gateway, before, session, prompt) as after:
        assert "The agent was stopped" in after.answer(prompt)["error"]["message"]
        after.find(lambda frame: "restored" in str(frame))
        after.prompt(session)
        until("it is recorded", lambda: "session_restored" in kinds(gateway, session))
    assert "holder_died" not in kinds(gateway, session)
