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
from tests.kit.fleet.nodes import Fleet
from tests.kit.fleet.partition import Partition
from tests.kit.gateway import serving
from tests.kit.gateway.agents import prompts_in
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import is_running, until
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.patience import FUSE_SECONDS, patient
from tests.kit.recording import stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.kit.fleet.nodes import Node
    from tests.kit.fleet.servers import Cluster

NODE_LOST_SECONDS = 30.0
"""Within this, a node's death is reported: it takes up to 20 seconds on a machine with nothing else
to do."""

NOTICES = {"session": {"notices": {}}}
ENDLESS = "100000 20"
LOST = ("agent_crash", "machine_lost")


@pytest.fixture
def haste() -> bool:
    """Whether the leases of the test's nodes end sooner than they do."""
    return True


@pytest.fixture
def fleet(
    cluster: Cluster,
    tmp_path: Path,
    haste: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Fleet]:
    """A fleet whose nodes play an agent that counts, and end with the test."""
    if haste:
        hasty = (sys.executable, "-m", "tests.kit.fleet.hasty_gateway")
        monkeypatch.setattr(serving, "GATEWAY", hasty)
    command = [
        sys.executable,
        "-m",
        "tests.kit.gateway.agents",
        "counting",
        str(tmp_path / "counted"),
    ]
    with Fleet(tmp_path, cluster, command) as fleet:
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


def is_life(word: str) -> Callable[[dict[str, Any]], bool]:
    return lambda frame: frame.get("params", {}).get("word") == word


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


def kinds_recorded(node: Node) -> set[str]:
    with closing(sqlite3.connect(stored(node.state))) as store:
        return {kind for (kind,) in store.execute("SELECT kind FROM entries")}


class Viewing:
    """A viewer's socket to a node that has a session, once there is one that shows it."""

    def __init__(self, node: Node, session: str, **more: Any) -> None:
        def attached() -> ViewerClient | None:
            try:
                viewer = ViewerClient(node, replay=True, **more)
                viewer.load(session, node.root)
            except (AssertionError, OSError, WebSocketException):
                return None
            return viewer

        self.viewer = until(f"{node.name} shows the session", attached)

    def __enter__(self) -> ViewerClient:
        return self.viewer.__enter__()

    def __exit__(self, *raised: object) -> None:
        self.viewer.__exit__(*raised)


@pytest.mark.matrix
def test_a_viewer_whose_gateway_dies_continues_at_another_while_the_owner_is_replaced(
    fleet: Fleet,
) -> None:
    one, two = fleet.start("a1"), fleet.start("a2")
    with ViewerClient(one) as first:
        session = first.new(one.root)
    with ViewerClient(two, replay=True) as viewer:
        viewer.load(session, one.root)
        viewer.prompt(session, ENDLESS)
        viewer.find(is_word("1.5"))
        known, seen = viewer.known, viewer.seqs()[-1]
        epoch = next(each for each in epochs(viewer.frames))
    two.kill()
    one.reload()
    three = fleet.start("a3")
    began = time.monotonic()
    with ViewerClient(three, replay=True, known=known) as back:
        cursor = {"_meta": {"lastword": {"after": {"epoch": epoch, "seq": seen}}}}
        back.request("session/load", {"sessionId": session, "cwd": "/", "mcpServers": []} | cursor)
        back.find(lambda frame: bool(words_in([frame])))
        assert time.monotonic() - began < FUSE_SECONDS / 2
        assert back.seqs()[0] == seen + 1
        assert back.seqs() == [*range(seen + 1, back.seqs()[-1] + 1)]


def epochs(frames: list[dict[str, Any]]) -> Iterator[str]:
    for frame in frames:
        text = json.dumps(frame)
        yield from re.findall(r'"epoch": "(\w+)"', text)


def test_a_session_of_a_gateway_that_was_killed_and_started_again_stays_on_its_node(
    fleet: Fleet,
) -> None:
    one, two = fleet.start("b1"), fleet.start("b2")
    with ViewerClient(one) as viewer:
        session = viewer.new(one.root)
        viewer.prompt(session, ENDLESS)
        viewer.find(is_word("1.3"))
        one.crash()
        with Viewing(two, session) as other:
            other.find(is_life("restored"))
            assert failure_in(other.find(is_end)) == ("agent_crash", "holder_died")
            answer = other.answer(other.prompt(session, "2 1"))
            assert answer["result"] == {"stopReason": "end_turn"}
    assert holder_of(one, session)["agent_pid"]


@pytest.mark.parametrize("haste", [False])
def test_a_node_that_dies_is_reported_in_time_and_its_conversation_stays_readable(
    fleet: Fleet,
) -> None:
    one, two = fleet.start("c1"), fleet.start("c2")
    with ViewerClient(one) as viewer:
        session = viewer.new(one.root)
        viewer.prompt(session, ENDLESS)
        viewer.find(is_word("1.9"))
        one.kill()
        died = time.monotonic()
        with ViewerClient(two, replay=True) as other:
            other.load(session, two.root)  # which waits, rather than being refused
            assert failure_in(other.find(is_end)) == LOST
            assert time.monotonic() - died < patient(NODE_LOST_SECONDS)
            numbers = counted(other.frames, 1)
            assert numbers == [*range(len(numbers))]
            assert len(numbers) >= 10
            other.find(is_life("not_restored"))
            refused = other.answer(other.prompt(session, "2 1"))
            assert failure_in(refused) == ("agent_crash", "context_lost")


def test_a_node_that_dies_is_replaced_by_one_with_the_same_files(fleet: Fleet) -> None:
    shared = fleet.folder / "shared"
    shared.mkdir(exist_ok=True)
    one = fleet.start("d1", "--workspace-id", "team", root=shared)
    with ViewerClient(one) as viewer:
        session = viewer.new(shared)
        viewer.prompt(session, ENDLESS)
        viewer.find(is_word("1.5"))
        two = fleet.start("d2", "--workspace-id", "team", root=shared)
        one.kill()
        with Viewing(two, session) as other:
            assert failure_in(other.find(is_end)) == LOST
            other.find(is_life("restored"))
            answer = other.answer(other.prompt(session, "2 1"))
            assert answer["result"] == {"stopReason": "end_turn"}


def test_a_turn_that_waits_for_a_limit_continues_at_another_node(
    fleet: Fleet, tmp_path: Path
) -> None:
    shared, prompts = tmp_path / "files", tmp_path / "prompts"
    shared.mkdir()
    limited = [sys.executable, "-m", "tests.kit.gateway.agents", "limited", str(prompts), "1", "12"]
    goes_on = ("--continue-at-reset", "--continue-with", "Go on.", "--workspace-id", "limited")
    one = fleet.start("n1", *goes_on, command=limited, root=shared)
    with ViewerClient(one, replay=True) as viewer:
        session = viewer.new(shared)
        two = fleet.start("n2", *goes_on, command=limited, root=shared)
        viewer.prompt(session)
        viewer.find(is_life("limit_wait"))
        one.kill()
    until("it has gone on", lambda: len(prompts_in(prompts)) == 2)
    assert [each["text"] for each in prompts_in(prompts)] == ["go", "Go on."]
    with Viewing(two, session) as other:
        other.find(is_word("Done."))
        answer = other.answer(other.prompt(session, "next"))
        assert answer["result"] == {"stopReason": "end_turn"}


def test_an_owner_that_was_stopped_for_longer_than_its_lease_shows_and_does_nothing_more(
    fleet: Fleet,
) -> None:
    one, two = fleet.start("e1"), fleet.start("e2")
    with ViewerClient(one, replay=True) as viewer:
        session = viewer.new(one.root)
        viewer.prompt(session, ENDLESS)
        viewer.find(is_word("1.5"))
        holder = holder_of(one, session)
        for pid in (one.front.pid, holder["agent_pid"]):
            os.kill(pid, signal.SIGSTOP)
        try:
            with Viewing(two, session) as other:
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
    with Viewing(two, session) as other:
        numbers = counted(other.frames, 1)
        assert numbers == [*range(len(numbers))]
        places = [frame for frame in other.frames if words_in([frame])]
        assert all(each["params"]["_meta"]["lastword"]["seq"] < last for each in places)
    assert [*(one.state / "gateway").rglob(f"{wire.name_of(session)}.db.fenced-1")]
    until("it is recorded", lambda: "session_fenced" in kinds_recorded(one))


def test_a_session_that_the_fleet_cannot_store_is_refused_in_time_and_typed(
    fleet: Fleet, cluster: Cluster
) -> None:
    with Partition(cluster) as way:
        one, two = fleet.start("p1", servers=way.option), fleet.start("p2")
        with ViewerClient(one) as viewer:
            way.cut()
            opening = {"cwd": str(one.root), "mcpServers": []}
            answer = viewer.answer(viewer.request("session/new", opening))
            assert failure_in(answer) == ("network", "fleet_away")
            until("it is not ready", lambda: b"fleet_away" in ApiClient(one).ask("/readyz").body)
            until("that is said", lambda: "no server of the fleet answers" in one.stderr())
            until(
                "its record has ended",
                lambda: "fleet_nodes 1" in ApiClient(two).ask("/metrics").body.decode(),
            )
            way.heal()

            def answered() -> dict[str, Any] | None:
                answer = viewer.answer(viewer.request("session/new", opening))
                is_away = "error" in answer and failure_in(answer) == ("network", "fleet_away")
                return None if is_away else answer

            answer = until("it is back", answered)
            assert "result" in answer, answer
            until("it is ready", lambda: ApiClient(one).ask("/readyz").status == 200)
            until("that is said", lambda: "connected to the fleet again" in one.stderr())


def test_a_node_that_is_reloaded_while_no_server_answers_ends_its_agents(
    fleet: Fleet, cluster: Cluster
) -> None:
    with Partition(cluster) as way:
        one = fleet.start("s1", servers=way.option)
        with ViewerClient(one) as viewer:
            session = viewer.new(one.root)
        agent = holder_of(one, session)["agent_pid"]
        way.cut()
        one.reload()
        until("its agent has ended", lambda: not is_running(agent))
        assert ApiClient(one).ask("/healthz").status == 200
        way.heal()


def test_an_owner_that_is_cut_off_says_so_and_shows_all_once_it_is_back(
    fleet: Fleet, cluster: Cluster
) -> None:
    with Partition(cluster) as way:
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
            way.heal()
            assert viewer.answer(prompt)["result"] == {"stopReason": "end_turn"}
            assert counted(viewer.frames, 1) == [*range(400)]


def test_a_viewer_at_another_node_does_not_wait_for_an_owner_that_is_cut_off(
    fleet: Fleet, cluster: Cluster
) -> None:
    with Partition(cluster) as way:
        one, two = fleet.start("n1", servers=way.option), fleet.start("n2")
        with ViewerClient(one) as viewer:
            session = viewer.new(one.root)
            viewer.prompt(session, ENDLESS)
            with Viewing(two, session) as other:
                other.find(is_word("1.5"))
                way.cut()
                assert other.closed() == (1012, "agent_lost")
            with Viewing(two, session) as other:
                assert failure_in(other.find(is_end)) == LOST
            way.heal()


def test_an_owner_that_is_cut_off_ends_its_agent_before_another_node_has_the_same_files(
    fleet: Fleet, cluster: Cluster
) -> None:
    shared = fleet.folder / "files"
    shared.mkdir(exist_ok=True)
    with Partition(cluster) as way:
        one = fleet.start("g1", "--workspace-id", "files", root=shared, servers=way.option)
        with ViewerClient(one) as viewer:
            session = viewer.new(shared)
            viewer.prompt(session, ENDLESS)
            viewer.find(is_word("1.5"))
            two = fleet.start("g2", "--workspace-id", "files", root=shared)
            agent = holder_of(one, session)["agent_pid"]
            way.cut()
            cut = time.monotonic()
            assert viewer.closed()[0] == 1012
            until("the agent has ended", lambda: not is_running(agent))
            assert time.monotonic() - cut < LEASE_SECONDS
        with Viewing(two, session) as other:
            other.find(is_life("restored"))
            assert failure_in(other.find(is_end)) == LOST
        way.heal()


def test_a_node_set_to_work_alone_shows_what_the_fleet_lacks_and_reports_it(
    fleet: Fleet, cluster: Cluster
) -> None:
    with Partition(cluster) as way:
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
            way.heal()
            viewer.answer(viewer.prompt(session, "2 1"))
            two = fleet.start("l2")  # which would have taken the session over
            with Viewing(two, session) as other:
                assert counted(other.frames, 1) == [*range(400)]


@pytest.mark.matrix
def test_a_turn_continues_when_the_leader_of_its_stream_dies(
    fleet: Fleet, cluster: Cluster
) -> None:
    one = fleet.start("h1")
    with ViewerClient(one) as viewer:
        session = viewer.new(one.root)
        prompt = viewer.prompt(session, "150 20")
        viewer.find(is_word("1.5"))
        leader = cluster.leader_of(stream_of(session))
        leader.kill()
        try:
            assert viewer.answer(prompt)["result"] == {"stopReason": "end_turn"}
            assert counted(viewer.frames, 1) == [*range(150)]
        finally:
            cluster.start(leader)
            cluster.wait_until_ready()


@pytest.mark.matrix
def test_a_turn_continues_when_all_servers_restart(fleet: Fleet, cluster: Cluster) -> None:
    one, _ = fleet.start("o1"), fleet.start("o2")
    with ViewerClient(one) as viewer:
        session = viewer.new(one.root)
        prompt = viewer.prompt(session, "700 20")
        viewer.find(is_word("1.5"))
        holder = holder_of(one, session)
        for server in cluster.servers:
            server.kill()
        for server in cluster.servers:
            cluster.start(server)
        cluster.wait_until_ready()
        assert viewer.answer(prompt)["result"] == {"stopReason": "end_turn"}
        assert counted(viewer.frames, 1) == [*range(700)]
        assert holder_of(one, session)["agent_pid"] == holder["agent_pid"]


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


def last_message(cluster: Cluster, session: str) -> int:
    """The number of the last message of a session's log."""
    subject = f"lw.*.s.{wire.name_of(session)}.>"
    answer = ask(cluster, f"STREAM.MSG.GET.{stream_of(session)}", last_by_subj=subject)
    return int(answer["message"]["seq"])


@pytest.mark.matrix
def test_entries_that_the_broker_lost_after_acknowledging_are_replicated_again(
    fleet: Fleet, cluster: Cluster
) -> None:
    one, two = fleet.start("i1"), fleet.start("i2")
    with ViewerClient(one) as viewer:
        session = viewer.new(one.root)
        viewer.answer(viewer.prompt(session, "20 5"))
        for _ in range(3):
            number = last_message(cluster, session)
            ask(cluster, f"STREAM.MSG.DELETE.{stream_of(session)}", seq=number)
        viewer.answer(viewer.prompt(session, "20 5"))
        one.kill()
        with Viewing(two, session) as other:
            assert counted(other.frames, 1) == [*range(20)]
            assert counted(other.frames, 2) == [*range(20)]


@pytest.mark.matrix
def test_entries_with_a_lost_acknowledgement_are_shown_and_stored_once(
    fleet: Fleet, cluster: Cluster
) -> None:
    two = fleet.start("j2")
    with Partition(cluster) as way:
        one = fleet.start("j1", servers=way.option)
        with ViewerClient(one) as viewer:
            session = viewer.new(one.root)
            prompt = viewer.prompt(session, "100 20")
            viewer.find(is_word("1.5"))
            way.lose_answers()
            time.sleep(0.5)
            way.heal()
            assert viewer.answer(prompt)["result"] == {"stopReason": "end_turn"}
            assert counted(viewer.frames, 1) == [*range(100)]
            with Viewing(two, session) as other:
                assert counted(other.frames, 1) == [*range(100)]


def test_streams_deleted_under_running_nodes_are_created_again(
    fleet: Fleet, cluster: Cluster
) -> None:
    one = fleet.start("r1")
    with ViewerClient(one, replay=True) as viewer:
        session = viewer.new(one.root)
        viewer.answer(viewer.prompt(session, "3 1"))
        for name in (stream_of(session), "KV_lw_nodes", "KV_lw_owners"):
            ask(cluster, f"STREAM.DELETE.{name}")
        assert viewer.answer(viewer.prompt(session, "3 1"))["result"]["stopReason"] == "end_turn"
        assert counted(viewer.frames, 2) == [0, 1, 2]
    two = fleet.start("r2")
    with Viewing(two, session) as other:
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
    with Viewing(one, session) as back:
        reset = back.find(is_life("log_reset"))
        assert reset["params"]["facts"]["reason"] == "lost"
        assert before not in [*epochs(back.frames)]
