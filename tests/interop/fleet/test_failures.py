"""What befalls the parts of a fleet, one after the other, and what a viewer sees of it."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import WebSocketException

from lastword.gateway import wire
from lastword.gateway.fleet.records import LEASE_SECONDS
from tests.interop.fleet.playing import listed
from tests.kit.fleet.nodes import Fleet
from tests.kit.fleet.partition import Partition
from tests.kit.gateway import serving
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.editor import counting
from tests.kit.gateway.serving import is_running, until
from tests.kit.gateway.viewing import ViewerClient
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
