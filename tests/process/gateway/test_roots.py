"""The folder below which a gateway's sessions work: no path in any request leads out of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.viewing.attachment import Role
from tests.kit.gateway.serving import is_running, until
from tests.kit.gateway.viewing import ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]


@pytest.fixture
def noting(serve: Serve, tmp_path: Path) -> Gateway:
    """A gateway whose agent notes what it is sent."""
    notes = tmp_path / "notes"
    return serve("", command=[sys.executable, "-m", "tests.kit.gateway.requests_agent", str(notes)])


def noted(gateway: Gateway, method: str) -> list[dict[str, Any]]:
    """Return the params of the agent's requests of a method."""
    lines = (gateway.folder / "notes").read_text(encoding="utf-8").splitlines()
    messages = [json.loads(line) for line in lines]
    return [each["params"] for each in messages if each.get("method") == method]


def outside(gateway: Gateway) -> list[str]:
    """Return paths that are not below its root, one through a link."""
    away = gateway.root / "away"
    if not away.is_symlink():
        away.symlink_to(gateway.folder)
    root = gateway.root
    return ["/", str(gateway.folder), f"{root}x", str(away), f"{root}/../x", "work", f"{root}\0"]


def naming(method: str, session: str, folder: str, root: str) -> list[dict[str, Any]]:
    """Return the params of a method with this folder in each member that names one."""
    ours = {"cwd": root, "mcpServers": []} | ({"sessionId": session} if session else {})
    server = {"name": "x", "command": "/bin/true", "args": [], "env": []}
    return [
        ours | {"cwd": folder},
        ours | {"additionalDirectories": [root, folder]},
        ours | {"mcpServers": [server | {"cwd": folder}]},
        ours | {"_meta": {"additionalRoots": [folder]}},
        ours | {"_meta": {"claudeCode": {"options": {"cwd": folder}}}},
        ours | {"_meta": {"claudeCode": {"options": {"additionalDirectories": [folder]}}}},
    ]


def test_no_member_of_a_request_names_a_folder_outside_of_the_root(noting: Gateway) -> None:
    root = str(noting.root)
    with ViewerClient(noting) as viewer:
        session = viewer.new(noting.root)
        for method, named in (("session/new", ""), ("session/fork", session), ("_x/open", session)):
            for folder in outside(noting):
                for params in naming(method, named, folder, root):
                    answer = viewer.answer(viewer.request(method, params))
                    assert answer["error"]["code"] == -32602, (method, params)
                    failure = answer["error"]["data"]["agent_error"]
                    assert failure["reason"] == "outside_root", answer
        for folder in (f"file://{noting.folder}", "file://elsewhere/x", "vscode-remote://x/y", 7):
            for params in (
                {"workspaceUri": folder},
                {"workspaceFolders": [{"name": "x", "uri": folder}]},
            ):
                answer = viewer.answer(viewer.request("nes/start", params))
                assert answer["error"]["code"] == -32602, params
        viewer.new(noting.root)
    opened = [*noted(noting, "session/new"), *noted(noting, "session/fork")]
    assert [each["cwd"] for each in opened] == [root, root]
    assert not noted(noting, "nes/start")
    assert not noted(noting, "_x/open")


def test_a_request_with_a_folder_twice_is_refused(noting: Gateway) -> None:
    root = str(noting.root)
    with ViewerClient(noting) as viewer:
        text = json.dumps({"cwd": root, "mcpServers": []})
        twice = f'{{"cwd":"/etc",{text[1:]}'
        viewer._socket.send(f'{{"jsonrpc":"2.0","id":77,"method":"session/new","params":{twice}}}')
        assert viewer.answer(77)["error"]["code"] == -32600
    assert b"/etc" not in (noting.folder / "notes").read_bytes()


@pytest.mark.processes
def test_an_agent_is_sent_resolved_paths_and_a_link_switched_later_leads_nowhere(
    noting: Gateway,
) -> None:
    for name in ("one", "more"):
        (noting.root / name).mkdir()
        (noting.root / f"link-{name}").symlink_to(noting.root / name)
    with ViewerClient(noting) as viewer:
        params = {
            "cwd": str(noting.root / "link-one"),
            "additionalDirectories": [str(noting.root / "link-more")],
            "mcpServers": [],
        }
        session = viewer.result("session/new", params)["sessionId"]
        viewer.result("session/fork", {"sessionId": session} | params)
    for method in ("session/new", "session/fork"):
        (sent,) = noted(noting, method)
        assert sent["cwd"] == str(noting.root / "one")
        assert sent["additionalDirectories"] == [str(noting.root / "more")]
    for name in ("one", "more"):
        (noting.root / f"link-{name}").unlink()
        (noting.root / f"link-{name}").symlink_to("/etc")
    lose_holder(noting)
    with ViewerClient(noting) as viewer:
        viewer.load(session, noting.root)
        viewer.answer(viewer.prompt(session))
    (sent,) = noted(noting, "session/resume")
    assert sent["cwd"] == str(noting.root / "one")
    assert sent["additionalDirectories"] == [str(noting.root / "more")]


def lose_holder(gateway: Gateway) -> None:
    """Kill a gateway's holder, and wait for its agent's end."""
    for holder in gateway.holders():
        os.kill(holder["pid"], signal.SIGKILL)
        until("the agent has ended", lambda pid=holder["agent_pid"]: not is_running(pid))


@pytest.mark.processes
@pytest.mark.parametrize("member", ["cwd", "additionalDirectories"])
def test_a_session_whose_folder_has_become_a_link_outside_does_not_come_back(
    noting: Gateway, member: str
) -> None:
    folder = noting.root / "project"
    folder.mkdir()
    params = {"cwd": str(noting.root), "mcpServers": []}
    params |= {"cwd": str(folder)} if member == "cwd" else {member: [str(folder)]}
    with ViewerClient(noting) as viewer:
        session = viewer.result("session/new", params)["sessionId"]
    shutil.rmtree(folder)
    folder.symlink_to("/etc")
    lose_holder(noting)
    with ViewerClient(noting) as viewer:
        viewer.load(session, noting.root)
        answer = viewer.answer(viewer.prompt(session))
    assert answer["error"]["data"]["agent_error"]["reason"] == "outside_root"
    assert not noted(noting, "session/resume")
    assert not noted(noting, "session/load")
    assert not noted(noting, "session/prompt")


def test_the_root_is_not_named_to_who_may_not_open_sessions(noting: Gateway) -> None:
    with ViewerClient(noting) as viewer:
        session = viewer.new(noting.root)
        one = noting.token(role=Role.CONTROLLER, session=session)
        with ViewerClient(noting, token=one) as guest:
            guest.load(session, noting.root)
            answer = guest.answer(
                guest.request("session/fork", {"sessionId": session, "cwd": "/", "mcpServers": []})
            )
            assert answer["error"]["data"]["agent_error"]["reason"] == "one_session"
            assert str(noting.folder) not in json.dumps(answer)
        answer = viewer.answer(viewer.request("session/new", {"cwd": "/", "mcpServers": []}))
        assert str(noting.root) in answer["error"]["message"]
