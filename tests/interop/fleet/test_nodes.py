"""Sessions of a fleet at any of its fronts: nodes with folders of their own, and real servers."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.viewing.reader import Role
from tests.interop.fleet.playing import listed, says
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.editor import counting
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.patience import patient

if TYPE_CHECKING:
    from tests.kit.fleet.nodes import Fleet

CHUNKS = 200
LOUD = f"{CHUNKS} 0 pad=100000"
"""A turn of 20 MB."""

DEAF = 6
ALLOWED_BYTES = 48 * 1024 * 1024
"""How much a node's memory may grow with this many viewers that do not read and slow servers."""


def test_a_session_continues_at_every_front_and_its_viewer_resumes_by_cursor(fleet: Fleet) -> None:
    one, two, three = fleet.start("one"), fleet.start("two"), fleet.start("three")
    first = ViewerClient(one, capabilities=TYPED, replay=True)
    session = first.new(one.root)
    with ViewerClient(three, capabilities=TYPED, replay=True):
        pass  # the agent that greets is running there
    token = one.tell("token", "--fleet-key-file", str(fleet.key)).stdout.strip()
    with ViewerClient(two, capabilities=TYPED, token=token) as second:
        second.load(session, one.root)
        prompt = second.prompt(session)
        first.find(says("Hi."))
        first.question()
        second.allow(second.question())
        assert second.answer(prompt)["result"]["stopReason"] == "end_turn"
        first.find(says("Done."))
        last = max(first.seqs())
        opened = next(frame for frame in first.frames if "epoch" in str(frame.get("result")))
        epoch = opened["result"]["_meta"]["lastword"]["epoch"]
        one.reload()
        assert first.closed() == (1012, "gateway_restarts")
        assert second.closed() == (1012, "agent_lost")  # its gateway has lost the other one
        began = time.monotonic()
        with (
            ViewerClient(two, capabilities=TYPED, token=token) as other,
            ViewerClient(three, capabilities=TYPED, replay=True, known=first.known) as back,
        ):
            other.load(session, one.root)
            after = {"epoch": epoch, "seq": last}
            back.load(session, one.root, _meta={"lastword": {"after": after}})
            assert time.monotonic() - began < patient(2.0)
            prompt = back.prompt(session)
            other.find(says("Again."))
            assert back.answer(prompt)["result"]["stopReason"] == "end_turn"
            assert min(back.seqs()) == last + 1


@pytest.mark.matrix
def test_viewers_at_another_node_that_do_not_read_hold_up_nobody_and_are_not_kept_in_memory(
    fleet: Fleet,
) -> None:
    fleet.command = counting(os.devnull)
    one, two = fleet.start("one"), fleet.start("two")
    with ViewerClient(one) as own, ViewerClient(two) as reads, contextlib.ExitStack() as deaf:
        session = own.new(one.root)
        for viewer in (
            reads,
            *(deaf.enter_context(ViewerClient(two, receive_bytes=64 * 1024)) for _ in range(DEAF)),
        ):
            viewer.load(session, one.root)
        before = [each.resident_bytes for each in fleet.nodes]
        asked = own.prompt(session, LOUD)
        reads.find(lambda _: len(reads.updates("agent_message_chunk")) == CHUNKS)
        sizes = [each.resident_bytes for each in fleet.nodes]
        grown = [size - earlier for size, earlier in zip(sizes, before, strict=True)]
        assert max(grown) < ALLOWED_BYTES, grown
        assert own.answer(asked)["result"]["stopReason"] == "end_turn"
        assert len(own.updates("agent_message_chunk")) == CHUNKS


def test_a_new_session_goes_once_to_the_node_that_has_its_folder(fleet: Fleet) -> None:
    one, two = fleet.start("one"), fleet.start("two")
    place = {"cwd": str(two.root), "mcpServers": []}
    with ViewerClient(one, capabilities=TYPED, replay=True) as first:
        opened = first.answer(first.request("session/new", place, id_=77))
        session = opened["result"]["sessionId"]
        assert [each["sessionId"] for held in two.holders() for each in held["sessions"]] == [
            session
        ]
        until(
            "it is listed",
            lambda: (
                {"sessionId": session, "cwd": str(two.root)}
                in first.result("session/list", {})["sessions"]
            ),
        )
        outside = {"cwd": str(fleet.folder), "mcpServers": []}
        inside = place | {"additionalDirectories": ["/etc"]}
        for refused in (outside, inside):
            assert first.failure("session/new", refused)["reason"] == "outside_root"
    with ViewerClient(two, replay=True, known=first.known) as again:
        sent = again.request("session/new", place, id_=77)
        assert again.answer(sent)["result"]["sessionId"] == session


def test_a_new_session_is_refused_with_a_wait_when_no_node_has_room(fleet: Fleet) -> None:
    one = fleet.start("one", "--sessions", "1")
    two = fleet.start("two", "--sessions", "1", root=one.root)
    with ViewerClient(one, capabilities=TYPED) as viewer:
        sessions = {viewer.new(one.root), viewer.new(one.root)}
        assert len(sessions) == len({each["agent_pid"] for each in one.holders() + two.holders()})
        failure = viewer.failure("session/new", {"cwd": str(one.root), "mcpServers": []})
        assert (failure["type"], failure["reason"]) == ("rate_limit", "no_free_node")
        assert failure["retry_after_seconds"] > 0


def test_every_front_shows_all_sessions_and_an_observer_there_starts_nothing(fleet: Fleet) -> None:
    one, two = fleet.start("one"), fleet.start("two")
    token = one.token(role=Role.OBSERVER)
    with ViewerClient(one, capabilities=TYPED) as viewer:
        session = viewer.new(one.root)
        with ViewerClient(two, token=token) as observer:
            observer.load(session, one.root)
            viewer.prompt(session)
            observer.find(says("Hi."))
            params = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
            assert observer.failure("session/prompt", params)["reason"] == "observer"
        viewer.question()
        until(
            "the other front knows what it waits for",
            lambda: listed(two, session).get("state") == "waiting_for_answer",
        )
        assert listed(two, session)["node"] == listed(one, session)["node"] == one.name
        guest = two.token(role=Role.OBSERVER, session=session)
        assert "node" not in ApiClient(two, guest).json(f"/v1/sessions/{session}")["session"]
        here, there = (
            ApiClient(node).json(f"/v1/sessions/{session}/events") for node in (one, two)
        )
        assert there == here
        with ApiClient(two).stream(session, f"after={there['next']}") as stream:
            viewer.allow(viewer.question())
            stream.until(lambda _, event: event.get("kind") == "answer")
    one.crash()
    with ViewerClient(two, token=token) as observer:
        params = {"sessionId": session, "cwd": "/", "mcpServers": []}
        assert observer.failure("session/load", params)["reason"] == "observer"
    assert not one.holders() + two.holders()


def test_a_link_to_the_page_works_once_at_whichever_front_and_its_cookie_at_all(
    fleet: Fleet,
) -> None:
    one, two = fleet.start("one"), fleet.start("two")
    link = one.link("", "--fleet-key-file", str(fleet.key))
    path = link.partition(f":{one.port}")[2]
    followed = ApiClient(two, "").ask(path)
    assert followed.status == 303
    assert ApiClient(one, "").ask(path).status == 401
    cookie = followed.headers["set-cookie"].partition(";")[0]
    for node in (one, two):
        assert ApiClient(node, "").ask("/v1/sessions", Cookie=cookie).status == 200
