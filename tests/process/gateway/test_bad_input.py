"""Bad input to a whole gateway: a clear answer, and nobody else's session is touched."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from lastword.gateway.viewing.reader import Role
from tests.kit.gateway import agents
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient, attached, failure_of, has_ended_well, opened
from tests.kit.patience import FUSE_SECONDS
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.gateway.serving import Gateway, Serve


HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


@pytest.fixture(scope="module")
def turning(serve_all: Serve) -> Iterator[tuple[Gateway, str]]:
    """A gateway, with a session in the middle of whose turn its viewer is; the turn ends well."""
    gateway = serve_all("permission", "--frame-limit", "64KiB")
    with opened(gateway) as (viewer, session):
        prompt = viewer.prompt(session)
        asked = viewer.question()
        yield gateway, session
        viewer.allow(asked)
        assert has_ended_well(viewer.answer(prompt))


def close_code_of(gateway: Gateway, *frames: str | bytes) -> tuple[int, str]:
    """How a socket ends that says this."""
    said = {"Authorization": f"Bearer {gateway.token()}"}
    with connect(gateway.url, additional_headers=said, open_timeout=FUSE_SECONDS) as viewer:
        for frame in frames:
            viewer.send(frame)
        try:
            while True:
                viewer.recv(FUSE_SECONDS)
        except ConnectionClosed as closed:
            received = closed.rcvd
    return (received.code, received.reason) if received is not None else (1006, "")


def error_code_of(viewer: ViewerClient, text: str) -> int:
    """Of the error, without an id, that a frame is answered with; the socket stays."""
    viewer._socket.send(text)
    while "error" not in (frame := viewer.next()) or frame.get("id") is not None:
        pass
    code: int = frame["error"]["code"]
    return code


def test_a_malformed_message_is_answered_and_the_connection_stays_open(
    turning: tuple[Gateway, str],
) -> None:
    gateway, session = turning
    with ViewerClient(gateway) as viewer:
        assert error_code_of(viewer, json.dumps([HELLO, HELLO])) == -32600
        for garbage in ("{", "nothing", '{"jsonrpc": "2.0"', '"text"', "\x00", "[" * 10_000):
            assert error_code_of(viewer, garbage) in {-32700, -32600}, garbage[:20]
        viewer._socket.send(b'{"jsonrpc":"2.0","id":77,"method":"session/list"}')  # binary
        again = viewer.answer(viewer.request("initialize", {"protocolVersion": 1}))
        assert again["error"]["code"] == -32600
        listed = viewer.result("session/list", {})["sessions"]
        assert [each["sessionId"] for each in listed] == [session]
        assert not any(frame.get("id") == 77 for frame in viewer.frames)


def test_what_is_no_http_is_named_on_stderr(turning: tuple[Gateway, str]) -> None:
    gateway, _ = turning
    with socket.create_connection(("127.0.0.1", gateway.port)) as other:
        other.sendall(b"\x16\x03\x01: TLS\r\n\r\n")  # such as of a browser that is given https
        assert other.recv(100).startswith(b"HTTP/1.1 400")
    until("it is named", lambda: "lastword: Invalid HTTP request" in gateway.stderr())


def test_a_frame_over_the_limit_closes_its_own_socket_alone(turning: tuple[Gateway, str]) -> None:
    gateway, _ = turning
    assert close_code_of(gateway, json.dumps(HELLO), "x" * 65_537)[0] == 1009
    assert close_code_of(gateway, "x" * 65_537)[0] == 1009
    with ViewerClient(gateway) as viewer:
        text = "x" * 60_000
        assert "sessions" in viewer.result("session/list", {"_meta": {"text": text}})


@every("frame", ['{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}', "[]", "nothing"])
def test_a_socket_that_does_not_initialize_first_is_closed(
    turning: tuple[Gateway, str], frame: str
) -> None:
    assert close_code_of(turning[0], frame) == (1002, "initialize_first")


def test_a_token_for_one_session_opens_no_other(turning: tuple[Gateway, str]) -> None:
    gateway, session = turning
    with ViewerClient(gateway) as elsewhere:
        other = elsewhere.new(gateway.root)
        with ViewerClient(gateway, token=gateway.token(session=other)) as viewer:
            listed = viewer.result("session/list", {})["sessions"]
            assert [each["sessionId"] for each in listed] == [other]
            for method in ("session/load", "session/resume", "session/prompt", "session/close"):
                refused = viewer.answer(viewer.request(method, gateway.opening(sessionId=session)))
                assert refused["error"]["code"] == -32002, method
            viewer.cancel(session)
            assert "error" in viewer.answer(viewer.request("session/new", gateway.opening()))
            viewer.load(other, gateway.root)


def test_a_viewers_name_replaces_its_older_socket_and_without_its_secret_makes_another_viewer(
    turning: tuple[Gateway, str],
) -> None:
    gateway, session = turning
    with attached(gateway, session, replay=True) as one:
        for secret in ("", "wrong", one.known["secret"][:-1]):
            known: dict[str, Any] = {"viewer": one.known["viewer"], "secret": secret}
            with ViewerClient(gateway, replay=True, known=known) as thief:
                assert thief.known["viewer"] != one.known["viewer"]
                thief.load(session, gateway.root)
        assert one.result("session/list", {})  # its own link was not taken from it
        with attached(gateway, session, replay=True, known=one.known):
            assert one.closed() == (4409, "superseded")


# --- the folder below which its sessions work: no path in any request leads out of it


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


def test_the_root_is_hidden_from_viewers_that_may_not_open_sessions(
    turning: tuple[Gateway, str],
) -> None:
    gateway, session = turning
    one = gateway.token(role=Role.CONTROLLER, session=session)
    with ViewerClient(gateway) as viewer, attached(gateway, session, token=one) as guest:
        outside_it = {"sessionId": session, "cwd": "/", "mcpServers": []}
        answer = guest.answer(guest.request("session/fork", outside_it))
        assert failure_of(answer)["reason"] == "one_session"
        assert str(gateway.folder) not in json.dumps(answer)
        answer = viewer.answer(viewer.request("session/new", {"cwd": "/", "mcpServers": []}))
        assert str(gateway.root) in answer["error"]["message"]
