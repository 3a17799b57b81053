"""A gateway that replaces itself: its agents run on, with whatever was open."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.serving import is_running, until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.places import PROTOCOL, ROOT, SOURCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

pytestmark = pytest.mark.processes

HALVES = """
import json, os, sys, time

def answer(asked, result):
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)

for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        answer(asked, {"protocolVersion": 1, "agentCapabilities": {}})
    elif asked.get("method") == "session/new":
        answer(asked, {"sessionId": "halves"})
    elif asked.get("method") == "session/prompt":
        content = {"type": "text", "text": "whole"}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        params = {"sessionId": "halves", "update": update}
        frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        whole = json.dumps(frame).encode() + b"\\n"
        os.write(1, whole.replace(b"whole", b"first") + whole[:40])
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        os.write(1, whole[40:])
        answer(asked, {"stopReason": "end_turn"})
"""
"""An agent that ends a line once a file is there."""


def viewing(gateway: Gateway, **how: Any) -> ViewerClient:
    return ViewerClient(gateway, capabilities=TYPED, replay=True, **how)


def agents(gateway: Gateway) -> list[int]:
    return [each["agent_pid"] for each in gateway.holders()]


def begun(gateway: Gateway, viewer: ViewerClient) -> tuple[str, int]:
    """A session and its prompt, once the turn is under way."""
    session = viewer.new(gateway.root)
    prompt = viewer.prompt(session)
    until("the turn runs", lambda: held(gateway, session)["turn"])
    return session, prompt


def held(gateway: Gateway, session: str) -> dict[str, Any]:
    """A session, with what there is to know of its holder."""
    (found,) = [
        holder | each
        for holder in gateway.holders()
        for each in holder["sessions"]
        if each["sessionId"] == session
    ]
    return found


def back(gateway: Gateway, before: ViewerClient, session: str, prompt: int) -> ViewerClient:
    """The viewer after the replacement, which asks for the answer of its prompt once more."""
    after = viewing(gateway, known=before.known)
    after.load(session, gateway.root)
    blocks = [{"type": "text", "text": "go"}]
    after.request("session/prompt", {"sessionId": session, "prompt": blocks}, id_=prompt)
    return after


def test_a_line_interrupted_by_the_reload_is_whole(serve: Serve, tmp_path: Path) -> None:
    ends = tmp_path / "ends"
    gateway = serve("", command=[sys.executable, "-c", HALVES, str(ends)])
    with viewing(gateway) as before:
        session = before.new(gateway.root)
        prompt = before.prompt(session)
        before.find(lambda frame: "first" in str(frame))
        gateway.reload()
    ends.touch()
    with back(gateway, before, session, prompt) as after:
        assert after.answer(prompt)["result"] == {"stopReason": "end_turn"}
        assert after.find(lambda frame: "whole" in str(frame))


def test_questions_and_turns_stay_open_and_end_as_without_a_replacement(serve: Serve) -> None:
    gateway = serve("hang")
    with viewing(gateway) as asked, viewing(gateway) as cancelling, viewing(gateway) as bereft:
        asking = asked.new(gateway.root)
        asked_in = asked.prompt(asking, "Please: /scenario permission")
        question = asked.question()
        session, prompt = begun(gateway, cancelling)
        doomed, lost = begun(gateway, bereft)
        running = agents(gateway)
        gateway.reload()
    assert agents(gateway) == running
    with back(gateway, asked, asking, asked_in) as after:
        again = after.question()
        assert again["id"] == question["id"]
        after.allow(again)
        assert after.answer(asked_in)["result"]["stopReason"] == "end_turn"
    with back(gateway, cancelling, session, prompt) as after:
        after.send({"method": "session/cancel", "params": {"sessionId": session}})
        assert after.answer(prompt)["result"]["stopReason"] == "cancelled"
        second = after.prompt(session, "Please: /scenario healthy")
        assert after.answer(second)["result"]["stopReason"] == "end_turn"
    os.kill(held(gateway, doomed)["agent_pid"], signal.SIGKILL)
    with back(gateway, bereft, doomed, lost) as after:
        error = after.answer(lost)["error"]["data"]["agent_error"]
        assert (error["type"], error["exit_signal"]) == ("agent_crash", "SIGKILL")


def test_an_agent_that_dies_during_the_reload_ends_its_turn_typed(
    serve: Serve, tmp_path: Path
) -> None:
    gateway = serve("hang")
    with viewing(gateway) as before:
        session, prompt = begun(gateway, before)
        (holder,) = [each for each in gateway.holders() if each["sessions"]]
        gateway.tell("reload")
        os.kill(holder["agent_pid"], signal.SIGKILL)
        until("it serves again", lambda: gateway.stderr().count("serving at") == 2)
    with back(gateway, before, session, prompt) as after:
        error = after.answer(prompt)["error"]["data"]["agent_error"]
        assert error["type"] == "agent_crash"


def test_an_unused_agent_survives_a_reload_and_gets_the_next_session(serve: Serve) -> None:
    gateway = serve("healthy")
    with viewing(gateway):
        (spare,) = agents(gateway)
        gateway.reload()
    with viewing(gateway) as after:
        assert agents(gateway) == [spare]
        session = after.new(gateway.root)
        assert after.answer(after.prompt(session))["result"]["stopReason"] == "end_turn"
        assert [each["agent_pid"] for each in gateway.holders() if each["sessions"]] == [spare]


def test_the_agents_end_if_the_new_program_does_not_start(serve: Serve) -> None:
    gateway = serve("hang")
    with viewing(gateway) as before:
        begun(gateway, before)
        running = agents(gateway)
        gateway.root.rename(gateway.folder / "elsewhere")
        gateway.tell("reload")
        before.closed()
    assert gateway.front.wait(60) == 2
    for pid in running:
        until("its agent has ended", lambda pid=pid: not is_running(pid))
    (gateway.folder / "elsewhere").rename(gateway.root)


HANGS = """
import os, sys, time

if os.path.exists({flag!r}):
    time.sleep(600)
if "gateway" in sys.orig_argv:
    from lastword.gateway.front import process
    process.START_SECONDS = 1
"""


def test_the_agents_end_if_the_new_program_hangs_at_its_start(serve: Serve, tmp_path: Path) -> None:
    flag, site = tmp_path / "hangs", tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(HANGS.format(flag=str(flag)), encoding="utf-8")
    path = os.pathsep.join((str(site), str(ROOT)))
    gateway = serve("hang", variables={"PYTHONPATH": path})
    with viewing(gateway) as before:
        begun(gateway, before)
        running = agents(gateway)
        flag.touch()
        os.kill(gateway.front.pid, signal.SIGHUP)
        before.closed()
    assert gateway.front.wait(60) == -signal.SIGALRM
    for pid in running:
        until("its agent has ended", lambda pid=pid: not is_running(pid))
    flag.unlink()


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
        until("it is told", lambda: "which does not start" in gateway.stderr())
        version.write_text('__version__ = "99.0"\n')
        until("it has taken over", lambda: gateway.stderr().count("serving at") == 2)
        assert agents(gateway) == before
    with back(gateway, viewer, session, prompt) as after:
        after.send({"method": "session/cancel", "params": {"sessionId": session}})
        assert after.answer(prompt)["result"]["stopReason"] == "cancelled"


def test_turns_continue_through_many_replacements(serve: Serve) -> None:
    turn = [{"repeat": {"times": 60, "steps": [{"say": "x"}, {"wait": 0.02}]}}]
    gateway = serve({"turns": [[*turn, {"result": "end_turn"}]]})
    with viewing(gateway) as before:
        session = before.new(gateway.root)
        prompt = before.prompt(session)
        for _ in range(4):
            gateway.reload()
    with back(gateway, before, session, prompt) as after:
        assert after.answer(prompt)["result"] == {"stopReason": "end_turn"}
        text = "".join(each["content"]["text"] for each in after.updates("agent_message_chunk"))
        assert text == "x" * 60
