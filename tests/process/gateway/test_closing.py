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
from urllib.parse import quote

import pytest

from lastword.gateway import wire
from tests.kit.gateway.agents import noted, noting
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.editor import connected
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient, attached, has_ended_well, opened
from tests.kit.rows import every
from tests.process.gateway.test_http import Caller, lines_of, next_message

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway, Serve


def sessions_of(gateway: Gateway) -> list[str]:
    return [each["sessionId"] for each in gateway.sessions()]


def close(viewer: ViewerClient, session: str) -> None:
    assert viewer.result("session/close", {"sessionId": session}) == {}


def test_a_session_without_viewers_ends_after_its_time(serve: Serve) -> None:
    gateway = serve("healthy", "--idle-close", "1")
    with ViewerClient(gateway) as viewer:
        viewer.turn(viewer.new(gateway.root))
    until("the session is over", lambda: sessions_of(gateway) == [])


def test_a_session_ends_with_its_last_viewer_when_configured_so(serve: Serve) -> None:
    gateway = serve("slow", "--detach-grace", "0.5")
    viewer = ViewerClient(gateway)
    viewer.prompt(viewer.new(gateway.root))
    viewer.cut()
    until("the session is over", lambda: sessions_of(gateway) == [])


@pytest.fixture(scope="module")
def forking(serve_all: Serve, tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    """A gateway whose agent closes, forks and resumes sessions."""
    path = tmp_path_factory.mktemp("agent") / "noted"
    return serve_all("", command=noting(path, "close", "fork", "resume"))


def is_end(frame: dict[str, Any]) -> bool:
    """Is it what a viewer without positions is told of a session's end?"""
    meta = frame.get("params", {}).get("update", {}).get("_meta", {})
    return bool(meta.get("lastword", {}) == {"session_ended": {"cause": "closed"}})


@pytest.mark.parametrize("words", [["close"], []], ids=["by_the_agent", "by_the_gateway"])
def test_a_closed_session_ends_for_every_viewer_and_leaves_the_others_of_its_link_alone(
    serve: Serve, tmp_path: Path, words: list[str]
) -> None:
    gateway = serve("", command=noting(tmp_path / "noted", *words))
    with ViewerClient(gateway) as one, ViewerClient(gateway, replay=True) as other:
        closed, stays = one.new(gateway.root), one.new(gateway.root)
        other.load(closed, gateway.root)
        turn = one.prompt(stays, "wait")
        close(one, closed)
        assert one.find(is_end)["params"]["sessionId"] == closed
        one.cancel(stays)
        assert one.answer(turn)["result"]["stopReason"] == "cancelled"
        assert has_ended_well(one.turn(stays))
        # The other one has this session alone: it is told, and then its link is closed.
        assert other.closed() == (4410, "session_ended")
        lives = [f["params"] for f in other.frames if f.get("method") == "_lastword/life"]
        assert "session_ended" in [each["word"] for each in lives]
        listed = one.result("session/list", {})["sessions"]
        assert [each["sessionId"] for each in listed] == [stays] == sessions_of(gateway)


@every("replay", [False, True])
def test_a_viewer_that_closes_its_only_session_is_answered_before_its_link_ends(
    forking: Gateway, *, replay: bool
) -> None:
    with opened(forking, replay=replay) as (viewer, session):
        request = viewer.request("session/close", {"sessionId": session})
        assert viewer.closed() == (4410, "session_ended")
        answers = [frame for frame in viewer.frames if frame.get("id") == request]
        assert [each["result"] for each in answers] == [{}]


def test_a_prompt_in_a_session_that_another_viewer_closes_ends_as_cancelled(
    forking: Gateway,
) -> None:
    with opened(forking) as (one, session), attached(forking, session) as other:
        turn = one.prompt(session, "wait")
        other.find(lambda frame: "user_message_chunk" in str(frame))
        close(other, session)
        assert one.closed() == (4410, "session_ended")
        answers = [frame for frame in one.frames if frame.get("id") == turn]
        assert [each["result"]["stopReason"] for each in answers] == ["cancelled"]


def test_a_closed_sessions_http_stream_ends_and_the_others_continue(forking: Gateway) -> None:
    with contextlib.closing(Caller(forking)) as caller:
        link = caller.connect()
        own = caller.stream(link)
        streams = {}
        for number in (1, 2):
            caller.request(link, number, "session/new", **forking.opening())
            session = next_message(own)["result"]["sessionId"]
            streams[session] = caller.stream(link, session)
        closed, stays = streams
        wait = [{"type": "text", "text": "wait"}]
        caller.request(link, 3, "session/prompt", sessionId=stays, prompt=wait)
        caller.request(link, 4, "session/close", sessionId=closed)
        told = b"".join(lines_of(streams[closed])).decode()
        assert '"id":4,"result":{}' in told.replace(" ", "")
        assert told.index('"result"') < told.index('"session_ended"')
        caller.request(link, 5, "session/set_mode", sessionId=stays, modeId="x")
        assert next_message(streams[stays])["id"] == 5
        cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": stays}}
        caller.post(cancel, link)
        assert next_message(streams[stays])["result"]["stopReason"] == "cancelled"


@pytest.mark.processes
def test_closing_a_session_through_connect_leaves_the_other_ones_turn_running(
    serve: Serve, tmp_path: Path
) -> None:
    gateway = serve("", command=noting(tmp_path / "noted", "close"))

    def close_elsewhere(session: str) -> None:
        with attached(gateway, session) as viewer:
            close(viewer, session)

    async def play() -> str:
        async with connected(gateway.url, gateway.token()) as editor:
            stays = await editor.begin(gateway.root, {"session": {"notices": {}}})
            opened = await editor.call("session/new", gateway.opening())
            closed = {"sessionId": opened["result"]["sessionId"]}
            turn = editor.prompt(stays, "wait")
            assert (await editor.call("session/close", closed))["result"] == {}
            mode = {"sessionId": stays, "modeId": "x"}
            assert (await editor.call("session/set_mode", mode))["result"] == {}
            assert editor.answers(turn) == []
            editor.send({"method": "session/cancel", "params": {"sessionId": stays}})
            assert (await editor.answer(turn))["result"]["stopReason"] == "cancelled"
            # A session that another viewer closes is over here too, and is not brought back.
            opened = await editor.call("session/new", gateway.opening())
            await asyncio.to_thread(close_elsewhere, opened["result"]["sessionId"])
            await editor.wait_for(lambda _: "This session has ended." in str(editor.frames))
            await asyncio.to_thread(gateway.reload)
            assert has_ended_well(await editor.answer(editor.prompt(stays, "go on")))
            return stays

    stays = asyncio.run(play())
    assert sessions_of(gateway) == [stays]


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


def test_a_closed_session_can_be_loaded_as_soon_as_its_end_is_answered(forking: Gateway) -> None:
    with ViewerClient(forking) as viewer:
        with ViewerClient(forking) as other:
            stays = other.new(forking.root)
        closed = viewer.new(forking.root)
        viewer.request("session/close", {"sessionId": closed})
        viewer.load(stays, forking.root)  # over a link that has none at that moment
        assert has_ended_well(viewer.turn(stays))
        session = viewer.new(forking.root)
        forks = []
        for _ in range(3):
            forks.append(fork(viewer, session, forking))  # its holder stays
            close(viewer, session)
            viewer.load(session, forking.root)
            assert has_ended_well(viewer.turn(session))
        for each in forks:
            assert has_ended_well(viewer.turn(each))


def fork(viewer: ViewerClient, session: str, gateway: Gateway) -> str:
    made: str = viewer.result("session/fork", gateway.opening(sessionId=session))["sessionId"]
    return made


def test_the_log_of_a_closed_session_belongs_to_its_next_holder(forking: Gateway) -> None:
    with ViewerClient(forking) as viewer:
        viewer.new(forking.root)
        session = viewer.new(forking.root)
        forked = fork(viewer, session, forking)
        slow = ViewerClient(forking, receive_bytes=4096)
        slow.load(session, forking.root)
        content = {"type": "text", "text": "x" * 60_000}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        params = {"sessionId": "SESSION", "update": update}
        frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        for _ in range(60):
            viewer.turn(session, f"say {json.dumps(frame)}")
        close(viewer, session)
        viewer.load(session, forking.root)  # by another holder: the fork's goes on
        log = forking.state / "gateway" / "sessions" / f"{wire.name_of(session)}.db"

        def in_log(query: str) -> str:
            with contextlib.closing(sqlite3.connect(log)) as db:
                return str(db.execute(query).fetchone()[0])

        slow.cut()  # whose holder would have noted that
        time.sleep(1.0)
        before = int(in_log("SELECT max(last) FROM batches"))
        viewer.turn(session)
        assert int(in_log("SELECT max(last) FROM batches")) > before
        close(viewer, forked)  # the last one of the first holder
        until("the holder has ended", lambda: forked not in sessions_of(forking))
        time.sleep(1.0)
        assert in_log("SELECT value FROM facts WHERE name='clean'") == "0"


# --- forks, and sessions with odd names -----------------------------------------------------------


def test_a_fork_is_used_closed_and_loaded_as_any_session_is(serve: Serve, tmp_path: Path) -> None:
    gateway = serve("", command=noting(tmp_path / "noted", "fork"))
    with opened(gateway) as (viewer, session), ViewerClient(gateway) as other:
        forked = fork(viewer, session, gateway)
        listed = {each["sessionId"] for each in viewer.result("session/list", {})["sessions"]}
        assert listed == {session, forked}
        other.load(forked, gateway.root)
        for each in (viewer, other):
            assert has_ended_well(each.turn(forked, "in the fork"))
        prompts = noted(tmp_path / "noted", "session/prompt")
        assert [params["sessionId"] for params in prompts] == [forked, forked]
        # The turns of both run side by side, and closing one leaves the other's.
        waits = viewer.prompt(session, "wait")
        close(viewer, forked)
        viewer.cancel(session)
        assert viewer.answer(waits)["result"]["stopReason"] == "cancelled"
        assert has_ended_well(viewer.turn(session))
        assert sessions_of(gateway) == [session]
        # One agent has so many.
        for _ in range(63):
            fork(viewer, session, gateway)
        told = viewer.failure("session/fork", gateway.opening(sessionId=session))
        assert told["reason"] == "too_many_sessions"


@pytest.mark.processes
def test_a_fork_is_made_once_over_any_link_and_keeps_its_directories_when_it_is_restored(
    serve: Serve, tmp_path: Path
) -> None:
    gateway = serve("", command=noting(tmp_path / "noted", "fork"))
    more = gateway.root / "more"
    more.mkdir()
    before = ViewerClient(gateway, replay=True)
    session = before.new(gateway.root)
    opening = gateway.opening(sessionId=session, additionalDirectories=[str(more)])
    request = before.request("session/fork", opening)
    forked = before.answer(request)["result"]["sessionId"]
    before.cut()
    with attached(gateway, session, replay=True, known=before.known) as viewer:
        viewer.request("session/fork", opening, id_=request)
        assert viewer.answer(request)["result"]["sessionId"] == forked
        viewer.turn(forked)
    assert len(noted(tmp_path / "noted", "session/fork")) == 1
    gateway.crash()
    with attached(gateway, forked) as viewer:
        viewer.turn(forked)
    (restored,) = noted(tmp_path / "noted", "session/load")
    assert restored["additionalDirectories"] == [str(more)]
    assert restored["cwd"] == str(gateway.root)


@pytest.mark.parametrize(
    "name",
    ["a\r\nX-Other: 1\x00\x85 a\u2028b ", f"../ok/it is%20{'x' * 2000}"],
    ids=["controls", "long_path"],
)
def test_a_session_is_served_everywhere_whatever_its_id(
    serve: Serve, tmp_path: Path, name: str
) -> None:
    gateway = serve("", command=noting(tmp_path / "noted", f"id={json.dumps(name)}"))
    with opened(gateway) as (viewer, session):
        assert has_ended_well(viewer.turn(session))
        (said,) = viewer.updates("agent_message_chunk")
        assert said["content"]["text"] == "Heard go"
        prompts = noted(tmp_path / "noted", "session/prompt")
        assert [each["sessionId"] for each in prompts] == [name]
        listed = viewer.result("session/list", {})["sessions"]
        assert [each["sessionId"] for each in listed] == [session]
        # By its URL, with a token for it alone, and in the events API.
        quoted = quote(session, safe="")
        token = gateway.token(session=session)
        with attached(gateway, session, session=quoted, token=token) as beside:
            assert beside.updates("agent_message_chunk") == [said]
        view = ApiClient(gateway, token).json(f"/v1/sessions/{quoted}")
        assert view["session"]["id"] == session
    with contextlib.closing(Caller(gateway)) as caller:
        link = caller.connect()
        stream = caller.stream(link, session)
        load = {"jsonrpc": "2.0", "id": 1, "method": "session/load"}
        params = gateway.opening(sessionId=session)
        posted = caller.post(load | {"params": params}, link, Acp_Session_Id=session)
        assert posted.status == 202
        while (frame := next_message(stream)).get("params", {}).get("update") != said:
            assert "error" not in frame
