"""What a viewer says again over another link, and what of the gateway is left behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.editor import counting
from tests.kit.gateway.serving import Gateway, agent, until
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    Serve = Callable[..., Gateway]

BACK_BY_SECONDS = 86_400


def _is_question(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "session/request_permission"


def _sessions(gateway: Gateway) -> list[str]:
    return [each["sessionId"] for one in gateway.holders() for each in one["sessions"]]


@pytest.mark.parametrize("log_kind", ["disk", "late"])
@pytest.mark.processes
@pytest.mark.parametrize("front_dies", [False, True])
def test_a_new_session_whose_answer_was_lost_is_given_again_and_is_not_made_twice(
    serve: Serve, *, front_dies: bool
) -> None:
    gateway = serve("healthy")
    opening = {"cwd": str(gateway.root), "mcpServers": []}
    before = ViewerClient(gateway, replay=True)
    request = before.request("session/new", opening)
    before.cut()
    if front_dies:
        gateway.kill_front()
        gateway.start()
    with ViewerClient(gateway, replay=True, known=before.known) as after:
        after.request("session/new", opening, id_=request)
        session = after.answer(request)["result"]["sessionId"]
        assert _sessions(gateway) == [session]
        assert after.answer(after.prompt(session))["result"]["stopReason"] == "end_turn"
        again = after.request("session/new", opening)
        assert after.answer(again)["result"]["sessionId"] != session
        assert len(_sessions(gateway)) == 2
    with ViewerClient(gateway, replay=True, known=before.known) as later:
        later.request("session/new", opening, id_=request)
        assert later.answer(request)["result"]["sessionId"] == session
        later.find(lambda frame: "agent_message_chunk" in str(frame))


@pytest.mark.parametrize("log_kind", ["disk", "late"])
def test_a_client_that_uses_one_id_for_all_is_answered_each_time(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as viewer:
        sessions = []
        for method in ("session/new", "session/new", "session/prompt", "session/prompt"):
            params: dict[str, Any] = {"cwd": str(gateway.root), "mcpServers": []}
            if method == "session/prompt":
                blocks = [{"type": "text", "text": "go"}]
                params = {"sessionId": sessions[0], "prompt": blocks}
            viewer.frames.clear()
            viewer.request(method, params, id_=1)
            result = viewer.answer(1)["result"]
            sessions += [result["sessionId"]] if "sessionId" in result else []
        assert len(set(sessions)) == 2


def test_a_request_is_cancelled_over_another_link_than_it_was_sent(serve: Serve) -> None:
    gateway = serve("", command=counting(os.devnull))
    before = ViewerClient(gateway, replay=True)
    session = before.new(gateway.root)
    prompt = before.prompt(session, "2 1")
    before.answer(prompt)
    prompt = before.prompt(session, "4000 5")
    before.find(lambda frame: "2.3" in str(frame))
    before.cut()
    with ViewerClient(gateway, replay=True, known=before.known) as after:
        after.load(session, gateway.root)
        after.send({"method": "$/cancel_request", "params": {"requestId": prompt}})
        blocks = [{"type": "text", "text": "4000 5"}]
        params = {"sessionId": session, "prompt": blocks}
        after.request("session/prompt", params, id_=prompt)
        assert after.answer(prompt)["result"]["stopReason"] == "cancelled"


def _children(pid: int) -> list[str]:
    """The states of a process's children."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_bytes().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid:
            found.append(state.decode())
    return found


@pytest.mark.processes
def test_holders_that_died_are_no_zombies_of_the_front_nor_of_the_next_one(serve: Serve) -> None:
    gateway = serve("healthy")
    for is_reloaded in (False, True):
        with ViewerClient(gateway) as viewer:
            viewer.new(gateway.root)
            if is_reloaded:
                gateway.reload()
            for holder in gateway.holders():
                os.kill(holder["pid"], signal.SIGKILL)
        until("they are gone", lambda: _children(gateway.front.pid) == [])


NO_OVERRIDE = """
import ctypes
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)
"""
"""Without it the folders' rights hold for root, too; for others it does nothing."""

CLOCK = """
import time
_real, _real_ns = time.time, time.time_ns
def _back():
    try:
        return float(open({file!r}).read())
    except (OSError, ValueError):
        return 0.0
time.time = lambda: _real() - _back()
time.time_ns = lambda: _real_ns() - int(_back() * 1e9)
"""


def _with_site(tmp_path: Path, code: str, *command: str) -> Gateway:
    """A gateway in whose processes this code runs at their start."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(code, encoding="utf-8")
    path = os.pathsep.join((str(site), str(ROOT)))
    return Gateway(tmp_path, command, environment={**os.environ, "PYTHONPATH": path})


def test_a_log_folder_that_may_not_be_written_refuses_new_sessions_and_leaves_the_open_ones(
    tmp_path: Path,
) -> None:
    gateway = _with_site(tmp_path, NO_OVERRIDE, *agent("permission"))
    folder = gateway.state / "gateway" / "sessions"
    try:
        with ViewerClient(gateway, replay=True) as viewer:
            session = viewer.new(gateway.root)
            prompt = viewer.prompt(session)
            asked = viewer.find(_is_question)
            folder.chmod(0o500)
            opening = {"cwd": str(gateway.root), "mcpServers": []}
            refused = viewer.answer(viewer.request("session/new", opening))
            told = refused["error"]["data"]["agent_error"]
            assert (told["reason"], told["type"]) == ("log_unwritable", "internal")
            assert _sessions(gateway) == [session]
            option = asked["params"]["options"][0]["optionId"]
            chosen = {"outcome": {"outcome": "selected", "optionId": option}}
            viewer.send({"id": asked["id"], "result": chosen})
            assert viewer.answer(prompt)["result"]["stopReason"] == "end_turn"
            folder.chmod(0o700)
            assert viewer.new(gateway.root) != session
    finally:
        if folder.exists():
            folder.chmod(0o700)
        gateway.close()


def test_a_clock_that_is_set_back_in_mid_turn_loses_nothing_and_lets_nobody_wait(
    tmp_path: Path,
) -> None:
    clock = tmp_path / "back"
    gateway = _with_site(tmp_path, CLOCK.format(file=str(clock)), *counting(os.devnull))
    try:
        before = ViewerClient(gateway, replay=True)
        session = before.new(gateway.root)
        prompt = before.prompt(session, "60 20 ask")
        before.find(lambda frame: "1.5" in str(frame))
        for _ in range(9):
            with pytest.raises(Exception, match="401"):
                ViewerClient(gateway, token="wrong")
        clock.write_text(str(BACK_BY_SECONDS), encoding="ascii")
        asked = before.find(_is_question)
        chosen = {"outcome": {"outcome": "selected", "optionId": "yes"}}
        before.send({"id": asked["id"], "result": chosen})
        assert before.answer(prompt)["result"]["stopReason"] == "end_turn"
        epoch = next(
            frame["result"]["_meta"]["lastword"]["epoch"]
            for frame in before.frames
            if "sessionId" in frame.get("result", {})
        )
        before.cut()
        with ViewerClient(gateway, replay=True, known=before.known) as after:
            place = after.load(session, gateway.root)["_meta"]["lastword"]
            assert place["epoch"] == epoch
            words = "".join(
                each["content"]["text"] for each in after.updates("agent_message_chunk")
            ).split()
            expected = [f"1.{number}" for number in range(60)]
            expected.insert(31, "1.answer=True")
            assert words == expected
            assert after.seqs() == sorted(after.seqs())
    finally:
        gateway.close()
