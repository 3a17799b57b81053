"""What becomes of a fleet's sessions when a node or the servers have gone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.fleet.records import LEASE_SECONDS
from tests.interop.fleet.playing import (
    answer_question,
    ended,
    is_question,
    listed,
    refusal,
    says,
)
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.editor import connected
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from tests.kit.fleet.nodes import Fleet


def test_another_node_ends_the_turn_of_a_dead_node(fleet: Fleet) -> None:
    one, two, three = fleet.start("one"), fleet.start("two"), fleet.start("three")
    with ViewerClient(one, capabilities=TYPED) as viewer:
        session = viewer.new(one.root)
        viewer.prompt(session)
        viewer.find(says("Hi."))
        until("it is replicated", lambda: len(ApiClient(two).events(session)) > 2)
        one.kill()
    until("the turn has ended", lambda: ended(two, session))
    (error,) = ApiClient(two).events(session, kinds="error")
    assert (error["facts"]["type"], error["facts"]["reason"]) == ("agent_crash", "machine_lost")
    held = [each for node in (two, three) for each in node.holders() if each["sessions"]]
    assert len(held) == 1
    assert ApiClient(three).events(session) == ApiClient(two).events(session)
    lost = "context_lost"
    until(
        "it is listed so",
        lambda: (listed(two, session)["last_failure"] or {}).get("reason") == lost,
    )
    with ViewerClient(two, capabilities=TYPED, replay=True) as other:
        other.load(session, one.root)
        other.find(says("Hi."))
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
        assert refusal(other, "session/prompt", params)["reason"] == lost


def test_a_node_that_is_stopped_ends_its_turns_itself_and_leaves_the_list(
    fleet: Fleet,
) -> None:
    one, two = fleet.start("one"), fleet.start("two")
    with ViewerClient(one, capabilities=TYPED) as viewer:
        session = viewer.new(one.root)
        viewer.prompt(session)
        viewer.find(says("Hi."))
        until("it is replicated", lambda: len(ApiClient(two).events(session)) > 2)
        one.front.terminate()
        one.front.wait(FUSE_SECONDS)
    until("the turn has ended", lambda: ended(two, session))
    nodes = json.loads(two.tell("status", "--fleet", "--json").stdout)["fleet"]["nodes"]
    assert one.name not in {each["node"] for each in nodes}
    until("it has left the session", lambda: listed(two, session)["state"] == "lost")
    (error,) = ApiClient(two).events(session, kinds="error")
    assert (error["facts"]["type"], error["facts"]["reason"]) == ("agent_crash", "holder_died")
    assert not [each for each in two.holders() if each["sessions"]]


@pytest.mark.parametrize("is_silent", [False, True])
def test_an_editor_at_another_front_learns_how_its_turn_ended_with_the_node(
    is_silent: bool, fleet: Fleet
) -> None:
    one, two = fleet.start("one"), fleet.start("two")
    with ViewerClient(one, capabilities=TYPED) as viewer:
        session = viewer.new(one.root)

    async def play() -> None:
        async with connected(two.url, two.token(), "--session", session) as editor:
            editor.answer_questions = False
            await editor.begin(one.root, TYPED)
            prompted = editor.prompt(session, "go")
            await editor.wait_for(
                lambda each: [e for e in each.frames if e.get("id") and "method" in e]
            )
            if is_silent:  # as if its machine were gone, of which the servers learn nothing
                os.kill(one.front.pid, signal.SIGSTOP)
            else:
                one.kill()
            answer = await editor.answer(prompted)
            assert reason_of(answer) == ("agent_crash", "machine_lost")
            answer = await editor.answer(editor.prompt(session, "again"))
            assert reason_of(answer) == ("agent_crash", "context_lost")

    try:
        asyncio.run(play())
    finally:
        if is_silent:
            os.kill(one.front.pid, signal.SIGCONT)


@pytest.mark.matrix
def test_an_editor_that_only_watched_finds_its_session_at_the_next_node(fleet: Fleet) -> None:
    one, two = fleet.start("one"), fleet.start("two")
    with ViewerClient(one, capabilities=TYPED) as viewer:
        session = viewer.new(one.root)
        viewer.prompt(session)
        viewer.find(says("Hi."))

        async def play() -> None:
            async with connected(two.url, two.token(), "--session", session) as editor:
                editor.answer_questions = False
                await editor.begin(one.root, TYPED)
                one.kill()
                await asyncio.to_thread(until, "the turn has ended", lambda: ended(two, session))
                answer = await editor.answer(editor.prompt(session, "again"))
                assert reason_of(answer) == ("agent_crash", "context_lost")

        asyncio.run(play())


def reason_of(answer: dict[str, Any]) -> tuple[str, str]:
    payload = answer["error"]["data"]["agent_error"]
    return payload["type"], payload["reason"]


@pytest.mark.matrix
def test_a_session_continues_at_another_node_that_shares_its_files(fleet: Fleet) -> None:
    one = fleet.start("one", "--workspace-id", "shared")
    two = fleet.start("two", "--workspace-id", "shared", root=one.root)
    with ViewerClient(one, capabilities=TYPED) as viewer:
        session = viewer.new(one.root)
        viewer.prompt(session)
        viewer.find(says("Hi."))
        one.kill()
    until("the turn has ended", lambda: ended(two, session))
    with ViewerClient(two, capabilities=TYPED) as other:
        other.load(session, one.root)
        prompt = other.prompt(session)
        answer_question(other)
        assert other.answer(prompt)["result"]["stopReason"] == "end_turn"


@pytest.mark.matrix
@pytest.mark.parametrize("on_loss", ["hold", "local"])
def test_known_sessions_continue_while_no_server_answers(fleet: Fleet, on_loss: str) -> None:
    one, two = fleet.start("one", "--fleet-on-loss", on_loss), fleet.start("two")
    with ViewerClient(one, capabilities=TYPED) as viewer:
        session = viewer.new(one.root)
        prompt = viewer.prompt(session)
        viewer.find(says("Hi."))
        for server in fleet.cluster.servers:
            server.stop()
        try:
            with ViewerClient(two, capabilities=TYPED) as other:
                other.load(session, one.root)
                other.find(says("Hi."))
                answer_question(other)
                if on_loss == "local":
                    viewer.find(says("Done."))
                    assert viewer.answer(prompt)["result"]["stopReason"] == "end_turn"
        finally:
            for server in fleet.cluster.servers:
                server.resume()
        viewer.find(says("Done."))
        assert viewer.answer(prompt)["result"]["stopReason"] == "end_turn"


def test_an_outage_that_is_longer_than_a_lease_costs_no_session(fleet: Fleet) -> None:
    one, two = fleet.start("one"), fleet.start("two")
    with ViewerClient(one, capabilities=TYPED) as viewer:
        session = viewer.new(one.root)
        prompt = viewer.prompt(session)
        viewer.find(is_question)
        (before,) = [each["agent_pid"] for each in one.holders() if each["sessions"]]
        for server in fleet.cluster.servers:
            server.stop()
        time.sleep(LEASE_SECONDS + 3)  # the servers end leases by their clock
        for server in fleet.cluster.servers:
            server.resume()
        answer_question(viewer)
        assert viewer.answer(prompt)["result"]["stopReason"] == "end_turn"
        until("its owner is known again", lambda: listed(two, session).get("state") == "idle")
        until(
            "both nodes are",
            lambda: "fleet_nodes 2" in ApiClient(two).ask("/metrics").body.decode(),
        )
    assert [each["agent_pid"] for each in one.holders() if each["sessions"]] == [before]


def test_a_second_node_of_a_name_is_refused_while_the_first_one_lives(fleet: Fleet) -> None:
    one = fleet.start("one")
    with pytest.raises(AssertionError, match="give this one another name with --fleet-node"):
        fleet.start("two", "--fleet-node", one.name)
