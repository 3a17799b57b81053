"""How a session ends: its user closes it, or nobody is there for too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]


def sessions_of(gateway: Gateway) -> list[str]:
    with ViewerClient(gateway) as viewer:
        listed: list[dict[str, Any]] = viewer.result("session/list", {})["sessions"]
        return [each["sessionId"] for each in listed]


def test_a_session_that_is_closed_ends_for_every_viewer_of_it(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as one, ViewerClient(gateway) as other:
        session = one.new(gateway.root)
        other.load(session, gateway.root)
        # The scripted agent knows no `session/close`: the gateway closes it in its place.
        assert one.result("session/close", {"sessionId": session}) == {}
        assert other.closed() == (4410, "session_ended")
        assert one.closed()[0] == 4410
    assert sessions_of(gateway) == []


def test_a_session_that_nobody_is_at_ends_after_its_time(serve: Serve) -> None:
    gateway = serve("healthy", "--idle-close", "1")
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        viewer.answer(viewer.prompt(session))
    until("the session is over", lambda: sessions_of(gateway) == [])


def test_a_session_ends_with_its_last_viewer_where_that_is_asked_for(serve: Serve) -> None:
    gateway = serve("slow", "--detach-grace", "0.5")
    viewer = ViewerClient(gateway)
    session = viewer.new(gateway.root)
    viewer.prompt(session)
    viewer.cut()
    until("the session is over", lambda: sessions_of(gateway) == [])


def test_one_viewer_more_than_there_may_be_is_told_so(serve: Serve) -> None:
    gateway = serve("healthy", "--viewers", "1")
    with ViewerClient(gateway) as one, ViewerClient(gateway) as other:
        session = one.new(gateway.root)
        loading = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
        error = other.answer(other.request("session/load", loading))["error"]
        assert error["data"]["agent_error"]["reason"] == "too_many_viewers"
        assert one.answer(one.prompt(session))["result"]["stopReason"] == "end_turn"
