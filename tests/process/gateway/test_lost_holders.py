"""A holder that hangs or dies: its own sessions learn that in time, and no other waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway import wire
from lastword.gateway.front.holders import Holders, StartError
from lastword.gateway.settings.holder import HolderSettings
from tests.kit.gateway import serving
from tests.kit.gateway.serving import agent, is_running, until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.patience import patient
from tests.kit.sidecar import hurried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

pytestmark = pytest.mark.processes


LOST = ("agent_crash", "holder_died")


TURNS: dict[str, Any] = {
    "turns": [[{"say": "One."}, {"result": "end_turn"}]],
    "sessions": "resume",
}


def holder_of(gateway: Gateway, session: str) -> dict[str, Any]:
    """Return the holder of a session."""
    for holder in gateway.holders():
        if session in [each["sessionId"] for each in holder["sessions"]]:
            return holder
    raise AssertionError(session)


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Hold a process up, as a debugger or a disk that does not answer."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def failure(answer: dict[str, Any]) -> tuple[str, str]:
    """Return the type and the reason of a typed error with a sentence."""
    payload = answer["error"]["data"]["agent_error"]
    assert answer["error"]["message"][0].isupper(), answer
    assert answer["error"]["message"].endswith("."), answer
    assert "errno" not in answer["error"]["message"].lower()
    return payload["type"], payload["reason"]


def is_said(frame: dict[str, Any], session: str) -> bool:
    """Tell whether a frame is a word of the agent's in a session."""
    return frame.get("params", {}).get("sessionId") == session and "One." in str(frame)


def let_hang(monkeypatch: pytest.MonkeyPatch, look: float, silent: float) -> None:
    """Have the gateways of a test find out sooner, or later, that a holder hangs."""
    limits = {
        "gateway.front.upstream.LOOK_SECONDS": look,
        "gateway.front.holders.SILENT_SECONDS": silent,
    }
    monkeypatch.setattr(serving, "GATEWAY", (*hurried(limits), "gateway"))


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A holder that hangs is found in seconds: no other is kept from its answer for as long."""
    let_hang(monkeypatch, 1.0, patient(1))


def test_nobody_else_waits_for_a_holder_that_hangs(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_hang(monkeypatch, 600, 600)
    gateway = serve(TURNS)
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        hung, well = viewer.new(gateway.root), viewer.new(gateway.root)
        params = {"cwd": str(gateway.root), "mcpServers": []}
        with (
            stopped(holder_of(gateway, hung)["pid"]),
            ViewerClient(gateway, capabilities=TYPED) as other,
        ):
            prompt = viewer.prompt(hung)
            viewer.result("_lastword/ping", {})
            assert viewer.answer(viewer.prompt(well))["result"]["stopReason"] == "end_turn"
            load = other.request("session/load", {"sessionId": hung} | params)
            other.result("_lastword/ping", {})
            other.load(well, gateway.root)
            assert viewer.answers_to(prompt) == other.answers_to(load) == []
        assert viewer.answer(prompt)["result"]["stopReason"] == "end_turn"


@pytest.mark.usefixtures("soon")
def test_who_waits_for_a_holder_that_hangs_is_told(serve: Serve) -> None:
    gateway = serve(TURNS)
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        hung = viewer.new(gateway.root)
        viewer.new(gateway.root)  # for which the link stays
        params = {"cwd": str(gateway.root), "mcpServers": []}
        with stopped(holder_of(gateway, hung)["pid"]):
            prompt = viewer.prompt(hung)
            assert failure(viewer.answer(prompt)) == ("timeout", "holder_silent")
            with ViewerClient(gateway, capabilities=TYPED) as other:
                load = other.request("session/load", {"sessionId": hung} | params)
                other.result("session/list", {})
                assert failure(other.answer(load)) == ("timeout", "holder_silent")
        # The link has been open all the time, and the session is there again.
        viewer.answer(viewer.prompt(hung))
        viewer.load(hung, gateway.root)


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGKILL, "has just ended"), (signal.SIGTERM, "was stopped")]
)
def test_a_holder_that_is_ended_takes_no_other_session_of_the_link_with_it(
    serve: Serve, number: signal.Signals, said: str
) -> None:
    gateway = serve({"turns": [[{"say": "One."}, {"silence": True}]], "sessions": "resume"})
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        lost, well = viewer.new(gateway.root), viewer.new(gateway.root)
        prompt, other = viewer.prompt(lost), viewer.prompt(well)
        for session in (lost, well):
            viewer.find(lambda frame, session=session: is_said(frame, session))
        holder = holder_of(gateway, lost)
        os.kill(holder["pid"], number)
        answer = viewer.answer(prompt)
        assert failure(answer) == ("agent_crash", "holder_died")
        assert said in answer["error"]["message"]
        until("the agent has ended", lambda: not is_running(holder["agent_pid"]))
        viewer.send({"method": "session/cancel", "params": {"sessionId": well}})
        assert viewer.answer(other)["result"]["stopReason"] == "cancelled"
        # It comes back over the same link when it is named, once its holder has ended.
        until("the holder has ended", lambda: not is_running(holder["pid"]))
        viewer.frames.clear()
        again = viewer.prompt(lost)
        came = viewer.find(lambda frame: is_said(frame, lost) or frame.get("id") == again)
        if "error" in came:  # the gateway did not know yet
            assert failure(came)[1] == "holder_died"
            viewer.prompt(lost)
            viewer.find(lambda frame: is_said(frame, lost))
        assert not [frame for frame in viewer.frames if frame.get("id") == "lastword-front"]


SLOW_TO_END = """
import signal, subprocess, sys, threading
agent = subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def pass_on():
    for line in sys.stdin.buffer:
        agent.stdin.write(line)
        agent.stdin.flush()
threading.Thread(target=pass_on, daemon=True).start()
threading.Event().wait()
"""


def test_a_holder_that_ends_late_leaves_its_session_to_the_next_one(
    serve: Serve, tmp_path: Path
) -> None:
    slow, scenario = tmp_path / "slow.py", tmp_path / "turns.json"
    slow.write_text(SLOW_TO_END)
    scenario.write_text(json.dumps(TURNS))
    gateway = serve(command=[sys.executable, str(slow), *agent(str(scenario))[1:]])
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        session = viewer.new(gateway.root)
    first = holder_of(gateway, session)
    os.kill(first["pid"], signal.SIGKILL)
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        viewer.load(session, gateway.root)
    second = holder_of(gateway, session)
    assert second["pid"] != first["pid"]
    (path,) = gateway.runtime.rglob("session-*.sock")
    (link,) = gateway.runtime.rglob("*.session")
    with closing(socket.socket(socket.AF_UNIX)) as asking:
        asking.connect(str(path))
        asking.sendall(wire.control(wire.STOP) + b"\n")
    until("it has left the session", lambda: not os.path.lexists(link))
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        viewer.load(session, gateway.root)
        third, made = holder_of(gateway, session), os.stat(link)
        assert is_running(second["pid"])
        until("the second has ended", lambda: not is_running(second["pid"]))
        assert third["pid"] != second["pid"]
        assert os.path.samestat(os.stat(link), made)
        assert viewer.answer(viewer.prompt(session))["result"]["stopReason"] == "end_turn"


@pytest.mark.usefixtures("soon")
def test_a_spare_that_hangs_keeps_nobody_from_a_session(serve: Serve) -> None:
    gateway = serve(TURNS)
    with ViewerClient(gateway, capabilities=TYPED):
        (spare,) = gateway.holders()
        with stopped(spare["pid"]), ViewerClient(gateway, capabilities=TYPED) as viewer:
            viewer.new(gateway.root)


@pytest.mark.usefixtures("soon")
def test_what_waits_for_a_holder_that_hangs_is_bounded(serve: Serve) -> None:
    gateway = serve(TURNS)
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        hung, well = viewer.new(gateway.root), viewer.new(gateway.root)
        before = resident_bytes(gateway.front.pid)
        with stopped(holder_of(gateway, hung)["pid"]):
            blocks = [{"type": "text", "text": "x" * 4 * 1024 * 1024}]
            asked = [
                viewer.request("session/prompt", {"sessionId": hung, "prompt": blocks})
                for _ in range(16)
            ]
            answers = [failure(viewer.answer(each)) for each in asked]
            silent, refused = ("timeout", "holder_silent"), ("invalid_request", "too_many_requests")
            assert silent in answers
            assert set(answers) <= {silent, refused}
            assert resident_bytes(gateway.front.pid) - before < 150 * 1024 * 1024
            viewer.answer(viewer.prompt(well))


def resident_bytes(pid: int) -> int:
    """Return a process's memory."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_the_limit_of_agents_is_a_typed_error_and_those_that_died_do_not_count(
    serve: Serve,
) -> None:
    gateway = serve(TURNS, "--sessions", "2")
    params = {"cwd": str(gateway.root), "mcpServers": []}
    for _ in range(3):
        with ViewerClient(gateway) as viewer:
            viewer.new(gateway.root)
            for holder in gateway.holders():
                os.kill(holder["pid"], signal.SIGKILL)
            assert viewer.closed()[0] == 1012
    with ViewerClient(gateway) as viewer:
        for _ in range(2):
            viewer.new(gateway.root)
        answer = viewer.answer(viewer.request("session/new", params))
        assert failure(answer) == ("invalid_request", "too_many_agents")
        assert "--sessions" in answer["error"]["message"]


def test_a_holder_that_cannot_start_is_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = HolderSettings(
        name="", run_folder=str(tmp_path), log_folder=str(tmp_path), command=["agent"]
    )
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(StartError) as failed:
        asyncio.run(Holders(settings).spare({}))
    assert failure({"error": failed.value.error}) == ("agent_crash", "holder_ended")


def test_a_request_in_the_moment_of_a_holders_death_is_answered(serve: Serve) -> None:
    gateway = serve(
        "",
        command=[
            sys.executable,
            "-m",
            "tests.kit.gateway.agents",
            "noting",
            os.devnull,
            "fork",
            "resume",
            "additionalDirectories",
        ],
    )
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        well = viewer.new(gateway.root)
        for _ in range(2):
            session = viewer.new(gateway.root)
            holder = holder_of(gateway, session)
            os.kill(holder["pid"], signal.SIGKILL)
            answer = viewer.answer(viewer.prompt(session))
            assert "error" not in answer or failure(answer) == LOST  # or it was resumed just then
        viewer.answer(viewer.prompt(well))
