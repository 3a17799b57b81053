"""How a session ends: its user closes it, or nobody is there for too long."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import sqlite3
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway import wire
from tests.kit.gateway.editor import connected
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.rows import every
from tests.process.gateway.test_http import EVENTS, JSON, Caller, lines_of, next_message

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]


def sessions_of(gateway: Gateway) -> list[str]:
    return [each["sessionId"] for holder in gateway.holders() for each in holder["sessions"]]


def test_closing_a_session_ends_it_for_every_viewer(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as one, ViewerClient(gateway) as other:
        session = one.new(gateway.root)
        other.load(session, gateway.root)
        # The scripted agent knows no `session/close`: the gateway closes it in its place.
        assert one.result("session/close", {"sessionId": session}) == {}
        assert other.closed() == (4410, "session_ended")
        assert one.closed()[0] == 4410
    assert sessions_of(gateway) == []


def test_a_session_without_viewers_ends_after_its_time(serve: Serve) -> None:
    gateway = serve("healthy", "--idle-close", "1")
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        viewer.answer(viewer.prompt(session))
    until("the session is over", lambda: sessions_of(gateway) == [])


def test_a_session_ends_with_its_last_viewer_when_configured_so(serve: Serve) -> None:
    gateway = serve("slow", "--detach-grace", "0.5")
    viewer = ViewerClient(gateway)
    session = viewer.new(gateway.root)
    viewer.prompt(session)
    viewer.cut()
    until("the session is over", lambda: sessions_of(gateway) == [])


@pytest.fixture(scope="module")
def noting(serve_all: Serve, tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    """A gateway whose agent closes, forks and resumes sessions."""
    return serve_all("", command=agent_at(tmp_path_factory.mktemp("agent"), *WORDS))


WORDS = ("close", "fork", "resume")


def agent_at(folder: Path, *words: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "tests.kit.gateway.agents",
        "noting",
        str(folder / "noted"),
        *words,
    ]


def is_end(frame: dict[str, Any]) -> bool:
    """Is it what a viewer without positions is told of a session's end?"""
    meta = frame.get("params", {}).get("update", {}).get("_meta", {})
    return "session_ended" in meta.get("lastword", {})


@pytest.mark.parametrize("words", [["close"], []])
def test_a_closed_session_leaves_the_others_of_its_link_alone(
    serve: Serve, tmp_path: Path, words: list[str]
) -> None:
    # An agent that closes a session itself, and one in whose place the gateway does.
    gateway = serve("", command=agent_at(tmp_path, *words))
    with ViewerClient(gateway) as one, ViewerClient(gateway, replay=True) as other:
        closed, stays = one.new(gateway.root), one.new(gateway.root)
        other.load(closed, gateway.root)
        turn = one.prompt(stays, "wait")
        assert one.result("session/close", {"sessionId": closed}) == {}
        end = one.find(is_end)
        assert end["params"]["sessionId"] == closed
        assert end["params"]["update"]["_meta"]["lastword"] == {
            "session_ended": {"cause": "closed"}
        }
        one.send({"method": "session/cancel", "params": {"sessionId": stays}})
        assert one.answer(turn)["result"]["stopReason"] == "cancelled"
        assert one.answer(one.prompt(stays))["result"]["stopReason"] == "end_turn"
        # The other one has this session alone: it is told, and then its link is closed.
        assert other.closed() == (4410, "session_ended")
        words_told = [
            frame["params"]["word"]
            for frame in other.frames
            if frame.get("method") == "_lastword/life"
        ]
        assert "session_ended" in words_told
        listed = one.result("session/list", {})["sessions"]
        assert [each["sessionId"] for each in listed] == [stays]


@every("replay", [False, True])
def test_a_viewer_that_closes_its_only_session_is_answered_before_its_link_ends(
    noting: Gateway, *, replay: bool
) -> None:
    with ViewerClient(noting, replay=replay) as viewer:
        session = viewer.new(noting.root)
        request = viewer.request("session/close", {"sessionId": session})
        assert viewer.closed() == (4410, "session_ended")
        assert [each["result"] for each in viewer.answers_to(request)] == [{}]


def test_a_prompt_in_a_session_that_another_viewer_closes_ends_as_cancelled(
    noting: Gateway,
) -> None:
    gateway = noting
    with ViewerClient(gateway) as one, ViewerClient(gateway) as other:
        session = one.new(gateway.root)
        other.load(session, gateway.root)
        turn = one.prompt(session, "wait")
        other.find(lambda frame: "user_message_chunk" in str(frame))
        assert other.result("session/close", {"sessionId": session}) == {}
        assert one.answer(turn)["result"]["stopReason"] == "cancelled"
        assert one.closed() == (4410, "session_ended")
        assert len(one.answers_to(turn)) == 1


def test_a_closed_sessions_http_stream_ends_and_the_others_continue(noting: Gateway) -> None:
    gateway = noting
    caller = Caller(gateway)
    try:
        link = {"Acp-Connection-Id": caller.connect()}
        own = caller.ask("GET", headers=EVENTS | link)
        streams = {}
        for number in (1, 2):
            params = {"cwd": str(gateway.root), "mcpServers": []}
            opening = {"jsonrpc": "2.0", "id": number, "method": "session/new", "params": params}
            caller.ask("POST", json.dumps(opening).encode(), JSON | link)
            session = next_message(own)["result"]["sessionId"]
            headers = EVENTS | link | {"Acp-Session-Id": session}
            streams[session] = caller.ask("GET", headers=headers)

        def post(request: int, method: str, **params: Any) -> None:
            message = {"jsonrpc": "2.0", "id": request, "method": method, "params": params}
            assert caller.ask("POST", json.dumps(message).encode(), JSON | link).status == 202

        closed, stays = streams
        post(3, "session/prompt", sessionId=stays, prompt=[{"type": "text", "text": "wait"}])
        post(4, "session/close", sessionId=closed)
        told = b"".join(lines_of(streams[closed])).decode()
        assert '"id":4,"result":{}' in told.replace(" ", "")
        assert told.index('"result"') < told.index('"session_ended"')
        post(5, "session/set_mode", sessionId=stays, modeId="x")
        assert next_message(streams[stays])["id"] == 5
        cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": stays}}
        caller.ask("POST", json.dumps(cancel).encode(), JSON | link)
        assert next_message(streams[stays])["result"]["stopReason"] == "cancelled"
    finally:
        caller.close()


@pytest.mark.processes
def test_closing_a_session_through_connect_leaves_the_other_ones_turn_running(
    serve: Serve, tmp_path: Path
) -> None:
    gateway = serve("", command=agent_at(tmp_path, "close"))

    async def play() -> str:
        async with connected(gateway.url, gateway.token()) as editor:
            stays = await editor.begin(gateway.root, {"session": {"notices": {}}})
            opening = {"cwd": str(gateway.root), "mcpServers": []}
            closed = (await editor.call("session/new", opening))["result"]["sessionId"]
            turn = editor.prompt(stays, "wait")
            assert (await editor.call("session/close", {"sessionId": closed}))["result"] == {}
            mode = {"sessionId": stays, "modeId": "x"}
            assert (await editor.call("session/set_mode", mode))["result"] == {}
            assert editor.answers(turn) == []
            editor.send({"method": "session/cancel", "params": {"sessionId": stays}})
            assert (await editor.answer(turn))["result"]["stopReason"] == "cancelled"
            # A session that another viewer closes is over here too, and is not brought back.
            other = (await editor.call("session/new", opening))["result"]["sessionId"]
            await asyncio.to_thread(close_elsewhere, gateway, other)
            await editor.wait_for(lambda _: "This session has ended." in str(editor.frames))
            await asyncio.to_thread(gateway.reload)
            answer = await editor.answer(editor.prompt(stays, "go on"))
            assert answer["result"]["stopReason"] == "end_turn"
            assert (await editor.close())[0] == 0
            return stays

    stays = asyncio.run(play())
    assert sessions_of(gateway) == [stays]


def close_elsewhere(gateway: Gateway, session: str) -> None:
    with ViewerClient(gateway) as viewer:
        viewer.load(session, gateway.root)
        assert viewer.result("session/close", {"sessionId": session}) == {}


def test_a_closed_session_can_be_loaded_as_soon_as_its_end_is_answered(noting: Gateway) -> None:
    gateway = noting
    with ViewerClient(gateway) as viewer:
        viewer.new(gateway.root)
        session = viewer.new(gateway.root)
        opening = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
        forks = []
        for _ in range(3):
            forks.append(viewer.result("session/fork", opening)["sessionId"])  # its holder stays
            assert viewer.result("session/close", {"sessionId": session}) == {}
            viewer.load(session, gateway.root)
            assert viewer.answer(viewer.prompt(session))["result"]["stopReason"] == "end_turn"
        for fork in forks:
            assert viewer.answer(viewer.prompt(fork))["result"]["stopReason"] == "end_turn"


def test_a_link_stays_open_for_a_session_loaded_after_a_close(
    noting: Gateway,
) -> None:
    gateway = noting
    with ViewerClient(gateway) as viewer:
        with ViewerClient(gateway) as other:
            stays = other.new(gateway.root)
        closed = viewer.new(gateway.root)
        viewer.request("session/close", {"sessionId": closed})
        viewer.load(stays, gateway.root)
        assert viewer.answer(viewer.prompt(stays))["result"]["stopReason"] == "end_turn"


def test_the_log_of_a_closed_session_belongs_to_its_next_holder(noting: Gateway) -> None:
    gateway = noting
    with ViewerClient(gateway) as viewer:
        viewer.new(gateway.root)
        session = viewer.new(gateway.root)
        forking = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
        fork = viewer.result("session/fork", forking)["sessionId"]
        slow = ViewerClient(gateway, receive_bytes=4096)
        slow.load(session, gateway.root)
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text"}}
        update["content"] |= {"text": "x" * 60_000}
        params = {"sessionId": "SESSION", "update": update}
        frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        for _ in range(60):
            viewer.answer(viewer.prompt(session, f"say {json.dumps(frame)}"))
        viewer.result("session/close", {"sessionId": session})
        viewer.load(session, gateway.root)  # by another holder: the fork's goes on
        log = gateway.state / "gateway" / "sessions" / f"{wire.name_of(session)}.db"

        def in_log(query: str) -> str:
            with contextlib.closing(sqlite3.connect(log)) as db:
                return str(db.execute(query).fetchone()[0])

        slow.cut()  # whose holder would have noted that
        time.sleep(1.0)
        before = int(in_log("SELECT max(last) FROM batches"))
        viewer.answer(viewer.prompt(session))
        assert int(in_log("SELECT max(last) FROM batches")) > before
        viewer.result("session/close", {"sessionId": fork})  # the last one of the first holder
        until("the holder has ended", lambda: fork not in sessions_of(gateway))
        time.sleep(1.0)
        assert in_log("SELECT value FROM facts WHERE name='clean'") == "0"


def test_closing_a_server_leaves_no_connection_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", left.append)

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async def connect(path: Path) -> None:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_unix_connection(path)
            writer.transport.abort()

    async def close_after(rounds: int) -> None:
        path = tmp_path / str(rounds)
        server = await asyncio.start_unix_server(serve, path)
        connecting = [asyncio.create_task(connect(path)) for _ in range(4)]
        for _ in range(rounds):
            await asyncio.sleep(0)
        await wire.close_server(server)
        await asyncio.gather(*connecting)

    for rounds in range(8):  # of the loop, from the connection to the end
        asyncio.run(close_after(rounds))
    gc.collect()
    assert left == []
