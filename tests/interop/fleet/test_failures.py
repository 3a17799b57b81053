"""What befalls the parts of a fleet, one after the other, and what a viewer sees of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import sqlite3
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import nats
import pytest
from websockets.exceptions import WebSocketException

from lastword.gateway import wire
from lastword.gateway.fleet.records import LEASE_SECONDS
from tests.interop.fleet.playing import listed
from tests.kit.fleet.nodes import Fleet
from tests.kit.fleet.partition import Partition
from tests.kit.gateway import serving
from tests.kit.gateway.agents import limited, prompts_in
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.editor import connected, counting
from tests.kit.gateway.serving import is_running, until
from tests.kit.gateway.viewing import TYPED, ViewerClient, is_life
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.kit.fleet.nodes import Node
    from tests.kit.fleet.servers import Cluster

NOTICES = {"session": {"notices": {}}}
ENDLESS = "100000 20"
LOST = ("agent_crash", "machine_lost")


@pytest.fixture
def fleet(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """A fleet whose leases end sooner, and whose nodes play an agent that counts."""
    hasty = (sys.executable, "-m", "tests.kit.fleet.hasty_gateway")
    monkeypatch.setattr(serving, "GATEWAY", hasty)
    with Fleet(tmp_path, cluster, counting(str(tmp_path / "counted"))) as fleet:
        yield fleet


def words_in(frames: list[dict[str, Any]]) -> list[str]:
    updates = [frame.get("params", {}).get("update", {}) for frame in frames]
    return [
        str(update["content"]["text"]).strip()
        for update in updates
        if update.get("sessionUpdate") == "agent_message_chunk"
    ]


def is_word(text: str) -> Callable[[dict[str, Any]], bool]:
    return lambda frame: text in words_in([frame])


def in_turn(viewer: ViewerClient, root: Path) -> str:
    """Open a session, begin an endless turn, and wait for some words of it."""
    session = viewer.new(root)
    viewer.prompt(session, ENDLESS)
    viewer.find(is_word("1.5"))
    return session


def failure_in(frame: dict[str, Any]) -> tuple[str, str]:
    """The type and the reason of a turn's failure: of an answer, or of one that another gets."""
    error = frame.get("error") or frame["params"]["error"]
    payload = error.get("data", {}).get("agent_error") or error
    return payload["type"], payload["reason"]


def is_end(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "_lastword/ended" and "error" in frame["params"]


def counted(frames: list[dict[str, Any]], turn: int) -> list[int]:
    """The numbers that a turn's words have, in the order in which they came."""
    found = [re.fullmatch(rf"{turn}\.(\d+)", word) for word in words_in(frames)]
    return [int(match[1]) for match in found if match]


def holder_of(node: Node, session: str) -> dict[str, Any]:
    for holder in node.holders():
        if session in [each["sessionId"] for each in holder["sessions"]]:
            return holder
    raise AssertionError(session)


def metrics_of(node: Node) -> str:
    return ApiClient(node).ask("/metrics").body.decode()


def kinds_recorded(node: Node) -> set[str]:
    with closing(sqlite3.connect(stored(node.state))) as store:
        return {kind for (kind,) in store.execute("SELECT kind FROM entries")}


def viewing(node: Node, session: str) -> ViewerClient:
    """A viewer at a node that has a session, once there is one that shows it."""

    def attached() -> ViewerClient | None:
        try:
            viewer = ViewerClient(node, replay=True)
            viewer.load(session, node.root)
        except (AssertionError, OSError, WebSocketException):
            return None
        return viewer

    found: ViewerClient = until(f"{node.name} shows the session", attached)
    return found


def epochs(frames: list[dict[str, Any]]) -> Iterator[str]:
    for frame in frames:
        text = json.dumps(frame)
        yield from re.findall(r'"epoch": "(\w+)"', text)


def test_a_session_of_a_gateway_that_was_killed_and_started_again_stays_on_its_node(
    fleet: Fleet,
) -> None:
    one, two = fleet.start("b1"), fleet.start("b2")
    with ViewerClient(one) as viewer:
        session = in_turn(viewer, one.root)
        one.crash()
        with viewing(two, session) as other:
            other.find(is_life("restored"))
            assert failure_in(other.find(is_end)) == ("agent_crash", "holder_died")
            answer = other.answer(other.prompt(session, "2 1"))
            assert answer["result"] == {"stopReason": "end_turn"}
    assert holder_of(one, session)["agent_pid"]


def test_a_node_that_dies_is_reported_and_its_conversation_stays_readable(fleet: Fleet) -> None:
    one, two, three = (fleet.start(name) for name in ("c1", "c2", "c3"))
    with ViewerClient(one) as viewer:
        session = viewer.new(one.root)
        viewer.prompt(session, ENDLESS)
        viewer.find(is_word("1.9"))
        one.kill()
        with ViewerClient(two, replay=True) as other:
            other.load(session, two.root)  # which waits, rather than being refused
            assert failure_in(other.find(is_end)) == LOST
            numbers = counted(other.frames, 1)
            assert numbers == [*range(len(numbers))]
            assert len(numbers) >= 10
            other.find(is_life("not_restored"))
            refused = other.answer(other.prompt(session, "2 1"))
            assert failure_in(refused) == ("agent_crash", "context_lost")
    held = [each for node in (two, three) for each in node.holders() if each["sessions"]]
    assert len(held) == 1
    assert ApiClient(three).events(session) == ApiClient(two).events(session)
    until(
        "it is listed so",
        lambda: (listed(three, session)["last_failure"] or {}).get("reason") == "context_lost",
    )


def test_a_node_that_is_stopped_ends_its_turns_itself_and_leaves_the_list(fleet: Fleet) -> None:
    one, two = fleet.start("m1"), fleet.start("m2")
    with ViewerClient(one) as viewer:
        session = in_turn(viewer, one.root)
        one.front.terminate()
        one.front.wait(FUSE_SECONDS)
    until("the turn has ended", lambda: ApiClient(two).events(session, kinds="answer,error"))
    nodes = json.loads(two.tell("status", "--fleet", "--json").stdout)["fleet"]["nodes"]
    assert one.name not in {each["node"] for each in nodes}
    until("it has left the session", lambda: listed(two, session)["state"] == "lost")
    (error,) = ApiClient(two).events(session, kinds="error")
    assert (error["facts"]["type"], error["facts"]["reason"]) == ("agent_crash", "holder_died")
    assert not [each for each in two.holders() if each["sessions"]]


def test_an_editor_at_another_front_learns_how_its_turn_ended_with_the_node(fleet: Fleet) -> None:
    one, two = fleet.start("q1"), fleet.start("q2")
    with ViewerClient(one) as viewer:
        session = viewer.new(one.root)

    async def play() -> None:
        async with connected(two.url, two.token(), "--session", session, hasty=True) as editor:
            await editor.begin(one.root, TYPED)
            prompted = editor.prompt(session, ENDLESS)
            await editor.wait_for(lambda each: each.words())
            # As if its machine were gone, of which the servers learn nothing.
            os.kill(one.front.pid, signal.SIGSTOP)
            assert failure_in(await editor.answer(prompted)) == LOST
            again = await editor.answer(editor.prompt(session, "2 1"))
            assert failure_in(again) == ("agent_crash", "context_lost")

    try:
        asyncio.run(play())
    finally:
        os.kill(one.front.pid, signal.SIGCONT)


@pytest.mark.matrix
def test_a_turn_that_waits_for_a_limit_continues_at_another_node(
    fleet: Fleet, tmp_path: Path
) -> None:
    shared, prompts = tmp_path / "files", tmp_path / "prompts"
    shared.mkdir()
    command = limited(prompts, 12)
    goes_on = ("--continue-at-reset", "--continue-with", "Go on.", "--workspace-id", "limited")
    one = fleet.start("n1", *goes_on, command=command, root=shared)
    with ViewerClient(one, replay=True) as viewer:
        session = viewer.new(shared)
        two = fleet.start("n2", *goes_on, command=command, root=shared)
        viewer.prompt(session)
        viewer.find(is_life("limit_wait"))
        one.kill()
    until("it has gone on", lambda: len(prompts_in(prompts)) == 2)
    assert [each["text"] for each in prompts_in(prompts)] == ["go", "Go on."]
    with viewing(two, session) as other:
        other.find(is_word("Done."))
        answer = other.answer(other.prompt(session, "next"))
        assert answer["result"] == {"stopReason": "end_turn"}


def test_a_wait_survives_a_stop_of_its_node_and_ends_with_the_sessions(
    fleet: Fleet, tmp_path: Path
) -> None:
    command = limited(tmp_path / "prompts", 3600)
    node = fleet.start("w1", "--continue-at-reset=12h", command=command)
    with ViewerClient(node, replay=True) as viewer:
        session = viewer.new(node.root)
        viewer.prompt(session)
        viewer.find(is_life("limit_wait"))
    for words in (("stop",), ("stop", "--agents")):
        # A node that has just started brings the session back, and then its wait.
        until("it waits", lambda: "a turn continues" in node.tell("status").stdout)
        node.tell(*words)
        node.front.wait(FUSE_SECONDS)
        node.start()
    assert "a turn continues" not in node.tell("status").stdout
    until("it has ended", lambda: listed(node, session)["state"] == "ended")


def test_an_owner_that_was_stopped_for_longer_than_its_lease_shows_and_does_nothing_more(
    fleet: Fleet,
) -> None:
    one, two = fleet.start("e1"), fleet.start("e2")
    with ViewerClient(one, replay=True) as viewer:
        session = in_turn(viewer, one.root)
        holder = holder_of(one, session)
        for pid in (one.front.pid, holder["agent_pid"]):
            os.kill(pid, signal.SIGSTOP)
        try:
            with viewing(two, session) as other:
                died = other.find(is_life("holder_died"))
                other.find(is_life("not_restored"))
        finally:
            for pid in (holder["agent_pid"], one.front.pid):
                os.kill(pid, signal.SIGCONT)
        until("the old agent has ended", lambda: not is_running(holder["agent_pid"]))
        code, reason = viewer.closed()
        assert (code, reason) == (1012, "agent_lost")
        last = died["params"]["_meta"]["lastword"]["seq"]
        assert max(viewer.seqs()) < last
    with viewing(two, session) as other:
        numbers = counted(other.frames, 1)
        assert numbers == [*range(len(numbers))]
        places = [frame for frame in other.frames if words_in([frame])]
        assert all(each["params"]["_meta"]["lastword"]["seq"] < last for each in places)
    assert [*(one.state / "gateway").rglob(f"{wire.name_of(session)}.db.fenced-1")]
    until("it is recorded", lambda: "session_fenced" in kinds_recorded(one))


def test_a_session_that_the_fleet_cannot_store_is_refused_in_time_and_typed(
    fleet: Fleet, cluster: Cluster
) -> None:
    with Partition(*cluster.ports) as way:
        one, two = fleet.start("p1", servers=way.option), fleet.start("p2")
        with ViewerClient(one) as viewer:
            way.cut()
            opening = {"cwd": str(one.root), "mcpServers": []}
            answer = viewer.answer(viewer.request("session/new", opening))
            assert failure_in(answer) == ("network", "fleet_away")
            until("it is not ready", lambda: b"fleet_away" in ApiClient(one).ask("/readyz").body)
            until("that is said", lambda: "no server of the fleet answers" in one.stderr())
            until("its record has ended", lambda: "fleet_nodes 1" in metrics_of(two))
            way.reset()

            def answered() -> dict[str, Any] | None:
                answer = viewer.answer(viewer.request("session/new", opening))
                is_away = "error" in answer and failure_in(answer) == ("network", "fleet_away")
                return None if is_away else answer

            answer = until("it is back", answered)
            assert "result" in answer, answer
            until("it is ready", lambda: ApiClient(one).ask("/readyz").status == 200)
            until("that is said", lambda: "connected to the fleet again" in one.stderr())


@pytest.mark.matrix
def test_a_node_is_not_reloaded_while_no_server_answers(fleet: Fleet, cluster: Cluster) -> None:
    with Partition(*cluster.ports) as way:
        one = fleet.start("s1", servers=way.option)
        with ViewerClient(one) as viewer:
            session = viewer.new(one.root)
            way.cut()
            until("that is noticed", lambda: "fleet_connected 0" in metrics_of(one))
            one.tell("reload")
            until("it is refused", lambda: "not reloaded" in one.stderr())
            way.reset()
            assert (
                viewer.answer(viewer.prompt(session, "3 1"))["result"]["stopReason"] == "end_turn"
            )


@pytest.mark.matrix
def test_a_reload_just_after_a_server_died_ends_no_turn(fleet: Fleet, cluster: Cluster) -> None:
    one = fleet.start("s2")
    with ViewerClient(one) as viewer:
        session = viewer.new(one.root)
        viewer.prompt(session, "1000000 20")
        viewer.find(is_word("1.5"))
        # Nothing that is said is stored until another server leads this stream.
        cluster.leader_of(f"LW{int(wire.name_of(session), 16) % 16}").kill()
        one.reload()
    (held,) = one.holders()
    (shown,) = held["sessions"]
    assert (shown["sessionId"], shown["turn"]) == (session, True)


def test_an_owner_that_is_cut_off_says_so_and_shows_all_once_it_is_back(
    fleet: Fleet, cluster: Cluster
) -> None:
    with Partition(*cluster.ports) as way:
        one = fleet.start("f1", servers=way.option)
        with ViewerClient(one, capabilities=NOTICES) as viewer, ViewerClient(one) as stock:
            session = viewer.new(one.root)
            stock.load(session, one.root)
            prompt = viewer.prompt(session, "400 20")
            for each in (viewer, stock):
                each.find(is_word("1.5"))
            way.cut()
            for each, kind in ((viewer, "notice"), (stock, "agent_thought_chunk")):
                said = each.find(lambda frame: "cannot reach the other" in json.dumps(frame))
                assert said["params"]["update"]["sessionUpdate"] == kind
            shown = len(counted(viewer.frames, 1))
            assert shown < 400
            held = re.search(r"fleet_entries_not_replicated (\d+)", metrics_of(one))
            assert held is not None
            assert int(held[1]) > 0
            way.reset()
            assert viewer.answer(prompt)["result"] == {"stopReason": "end_turn"}
            assert counted(viewer.frames, 1) == [*range(400)]


def test_an_owner_that_is_cut_off_ends_its_agent_before_another_node_has_the_same_files(
    fleet: Fleet, cluster: Cluster
) -> None:
    shared = fleet.folder / "files"
    shared.mkdir(exist_ok=True)
    with Partition(*cluster.ports) as way:
        one = fleet.start("g1", "--workspace-id", "files", root=shared, servers=way.option)
        with ViewerClient(one) as viewer:
            session = in_turn(viewer, shared)
            two = fleet.start("g2", "--workspace-id", "files", root=shared)
            agent = holder_of(one, session)["agent_pid"]
            way.cut()
            cut = time.monotonic()
            assert viewer.closed()[0] == 1012
            until("the agent has ended", lambda: not is_running(agent))
            assert time.monotonic() - cut < LEASE_SECONDS
        with viewing(two, session) as other:
            other.find(is_life("restored"))
            assert failure_in(other.find(is_end)) == LOST
            answer = other.answer(other.prompt(session, "2 1"))
            assert answer["result"] == {"stopReason": "end_turn"}
        way.reset()


def test_an_outage_that_is_longer_than_a_lease_costs_no_session(
    fleet: Fleet, cluster: Cluster
) -> None:
    one, two = fleet.start("o1"), fleet.start("o2")
    with ViewerClient(one) as viewer:
        session = viewer.new(one.root)
        prompt = viewer.prompt(session, "500 20")
        viewer.find(is_word("1.5"))
        before = holder_of(one, session)["agent_pid"]
        for server in cluster.servers:
            server.stop()
        time.sleep(LEASE_SECONDS / 2)  # more than these leases; the servers end them by their clock
        for server in cluster.servers:
            server.resume()
        assert viewer.answer(prompt)["result"] == {"stopReason": "end_turn"}
        assert counted(viewer.frames, 1) == [*range(500)]
        until("its owner is known again", lambda: listed(two, session).get("state") == "idle")
        until("both nodes are", lambda: "fleet_nodes 2" in metrics_of(two))
    assert holder_of(one, session)["agent_pid"] == before


def test_a_node_set_to_work_alone_shows_what_the_fleet_lacks_and_reports_it(
    fleet: Fleet, cluster: Cluster
) -> None:
    with Partition(*cluster.ports) as way:
        one = fleet.start("l1", "--fleet-on-loss", "local", servers=way.option)
        with ViewerClient(one, replay=True) as viewer:
            session = viewer.new(one.root)
            prompt = viewer.prompt(session, "400 20")
            viewer.find(is_word("1.5"))
            way.cut()
            assert viewer.answer(prompt)["result"] == {"stopReason": "end_turn"}
            assert counted(viewer.frames, 1) == [*range(400)]
            reset = viewer.find(is_life("log_reset"))
            assert reset["params"]["facts"]["reason"] == "fleet"
            way.reset()
            viewer.answer(viewer.prompt(session, "2 1"))
            two = fleet.start("l2")  # which would have taken the session over
            with viewing(two, session) as other:
                assert counted(other.frames, 1) == [*range(400)]


def stream_of(session: str) -> str:
    """The stream that a session's log is replicated to."""
    return f"LW{int(wire.name_of(session), 16) % 16}"


async def _asked(cluster: Cluster, subject: str, request: dict[str, Any]) -> dict[str, Any]:
    connection = await nats.connect(servers=cluster.urls)
    try:
        reply = await connection.request(
            subject, json.dumps(request).encode(), timeout=FUSE_SECONDS
        )
    finally:
        await connection.close()
    answer: dict[str, Any] = json.loads(reply.data)
    assert "error" not in answer, answer
    return answer


def ask(cluster: Cluster, subject: str, **request: Any) -> dict[str, Any]:
    return asyncio.run(_asked(cluster, f"$JS.API.{subject}", request))


@pytest.mark.matrix
def test_streams_deleted_under_running_nodes_are_created_again(
    fleet: Fleet, cluster: Cluster
) -> None:
    one = fleet.start("r1")
    with ViewerClient(one, replay=True) as viewer:
        session = viewer.new(one.root)
        viewer.answer(viewer.prompt(session, "3 1"))
        for name in (stream_of(session), "KV_lw_nodes", "KV_lw_sessions"):
            ask(cluster, f"STREAM.DELETE.{name}")
        assert viewer.answer(viewer.prompt(session, "3 1"))["result"]["stopReason"] == "end_turn"
        assert counted(viewer.frames, 2) == [0, 1, 2]
    two = fleet.start("r2")
    with viewing(two, session) as other:
        assert counted(other.frames, 2) == [0, 1, 2]


def test_a_session_that_lost_all_copies_starts_a_new_log_and_reports_it(
    fleet: Fleet, cluster: Cluster
) -> None:
    one = fleet.start("k1")
    with ViewerClient(one, replay=True) as viewer:
        session = viewer.new(one.root)
        viewer.answer(viewer.prompt(session, "3 1"))
        before = next(epochs(viewer.frames))
    one.tell("stop", "--agents")
    until("its holder has ended, and sends no more", lambda: not one.holders())
    one.kill()
    shutil.rmtree(one.state / "gateway" / "sessions", ignore_errors=True)
    name = wire.name_of(session)
    for kind in ("s", "p"):
        ask(cluster, f"STREAM.PURGE.{stream_of(session)}", filter=f"lw.*.{kind}.{name}.>")
    ask(cluster, f"STREAM.PURGE.{stream_of(session)}", filter=f"lw.*.p.{name}")
    one.start()
    with viewing(one, session) as back:
        reset = back.find(is_life("log_reset"))
        assert reset["params"]["facts"]["reason"] == "lost"
        assert before not in [*epochs(back.frames)]
