"""The folder below which a gateway's sessions work: no path in any request leads out of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.viewing.reader import Role
from tests.kit.gateway import agents
from tests.kit.gateway.viewing import ViewerClient, attached, failure_of, opened

if TYPE_CHECKING:
    from tests.kit.gateway.serving import Gateway, Serve


@pytest.fixture
def noting(serve: Serve, tmp_path: Path) -> Gateway:
    """A gateway whose agent notes what it is sent."""
    words = ("fork", "resume", "additionalDirectories")
    return serve("", command=agents.noting(tmp_path / "notes", *words))


def noted(gateway: Gateway, method: str) -> list[dict[str, Any]]:
    return agents.noted(gateway.folder / "notes", method)


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


def test_a_request_that_names_a_folder_outside_of_the_root_is_refused(noting: Gateway) -> None:
    root = str(noting.root)
    with opened(noting) as (viewer, session):
        for method, named in (("session/new", ""), ("session/fork", session), ("_x/open", session)):
            refused = [
                params
                for folder in outside(noting)
                for params in naming(method, named, folder, root)
            ]
            refused.append({"sessionId": session, "cwd": None, "additionalDirectories": [root]})
            if method != "_x/open":  # which need not name one
                refused.append({"sessionId": session})
            for params in refused:
                answer = viewer.answer(viewer.request(method, params))
                assert answer["error"]["code"] == -32602, (method, params)
                assert failure_of(answer)["reason"] == "outside_root", answer
        for folder in (f"file://{noting.folder}", "file://elsewhere/x", "vscode-remote://x/y", 7):
            for params in (
                {"workspaceUri": folder},
                {"workspaceFolders": [{"name": "x", "uri": folder}]},
            ):
                answer = viewer.answer(viewer.request("nes/start", params))
                assert answer["error"]["code"] == -32602, params
        viewer.new(noting.root)
    asked = [*noted(noting, "session/new"), *noted(noting, "session/fork")]
    assert [each["cwd"] for each in asked] == [root, root]
    assert not noted(noting, "nes/start")
    assert not noted(noting, "_x/open")


@pytest.mark.processes
def test_paths_are_resolved_and_a_changed_link_leads_nowhere(
    noting: Gateway,
) -> None:
    for name in ("one", "more"):
        (noting.root / name).mkdir()
        (noting.root / f"link-{name}").symlink_to(noting.root / name)
    (noting.root / "project").mkdir()
    project = str(noting.root / "project")
    with ViewerClient(noting) as viewer:
        more = [str(noting.root / "link-more")]
        params = noting.opening(cwd=str(noting.root / "link-one"), additionalDirectories=more)
        session = viewer.result("session/new", params)["sessionId"]
        viewer.result("session/fork", {"sessionId": session} | params)
        lost = [
            viewer.result("session/new", noting.opening(**folders))["sessionId"]
            for folders in ({"cwd": project}, {"additionalDirectories": [project]})
        ]
    for method in ("session/new", "session/fork"):
        sent = noted(noting, method)[0]
        assert sent["cwd"] == str(noting.root / "one")
        assert sent["additionalDirectories"] == [str(noting.root / "more")]
    for name in ("one", "more"):
        (noting.root / f"link-{name}").unlink()
        (noting.root / f"link-{name}").symlink_to("/etc")
    shutil.rmtree(project)
    Path(project).symlink_to("/etc")
    noting.crash()
    with attached(noting, session) as viewer:
        viewer.turn(session)
        for each in lost:
            viewer.load(each, noting.root)
            assert failure_of(viewer.turn(each))["reason"] == "outside_root"
    (sent,) = noted(noting, "session/resume")
    assert sent["cwd"] == str(noting.root / "one")
    assert sent["additionalDirectories"] == [str(noting.root / "more")]
    assert not noted(noting, "session/load")
    assert [each["sessionId"] for each in noted(noting, "session/prompt")] == [session]


def test_the_root_is_hidden_from_viewers_that_may_not_open_sessions(noting: Gateway) -> None:
    with opened(noting) as (viewer, session):
        one = noting.token(role=Role.CONTROLLER, session=session)
        with attached(noting, session, token=one) as guest:
            outside_it = {"sessionId": session, "cwd": "/", "mcpServers": []}
            answer = guest.answer(guest.request("session/fork", outside_it))
            assert failure_of(answer)["reason"] == "one_session"
            assert str(noting.folder) not in json.dumps(answer)
        answer = viewer.answer(viewer.request("session/new", {"cwd": "/", "mcpServers": []}))
        assert str(noting.root) in answer["error"]["message"]
