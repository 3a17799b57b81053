"""The gateway's doors: who is let in, with which status or code they are not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.inside import InsideGateway
    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]


def refused(url: str, token: str, **headers: str) -> int:
    """The HTTP status that an upgrade is refused with."""
    said = {"Authorization": f"Bearer {token}"} | headers
    with pytest.raises(InvalidStatus) as caught:
        connect(url, additional_headers=said, open_timeout=FUSE_SECONDS)
    return caught.value.response.status_code


def closed(url: str, token: str, origin: str) -> tuple[int, dict[str, Any]]:
    """The code and the reason that a page is refused with."""
    said = {"Authorization": f"Bearer {token}", "Origin": origin}
    with connect(url, additional_headers=said, open_timeout=FUSE_SECONDS) as socket:
        with pytest.raises(ConnectionClosed) as caught:
            socket.recv(FUSE_SECONDS)
        received = caught.value.rcvd
    assert received is not None
    reason = received.reason
    return received.code, msgspec.json.decode(reason) if reason[:1] == "{" else {"reason": reason}


def test_a_refused_client_gets_a_status_and_a_refused_page_a_close_code(serve: Serve) -> None:
    gateway = serve("healthy")
    token, page = gateway.token(), f"http://127.0.0.1:{gateway.port}"
    past = gateway.token(expires=int(time.time()) - 1)
    unknown = f"ws://127.0.0.1:{gateway.port}/v1/sessions/never-was/ws"
    assert refused(unknown, token) == 404
    assert closed(unknown, token, page)[0] == 4404
    assert closed(unknown, token, page)[1]["reason"] == "session_unknown"
    assert refused(gateway.url, "wrong") == 401
    assert refused(gateway.url, past) == 401
    assert closed(gateway.url, "wrong", page)[0] == 4401
    assert closed(gateway.url, token, "http://elsewhere.example")[0] == 4403
    other = f"ws://127.0.0.1:{gateway.port}/v1/sessions/never-was/ws"
    assert refused(other, gateway.token(session="mine")) == 403
    for _ in range(8):  # an expired token is no guess
        assert refused(gateway.url, "wrong") == 401
    assert refused(gateway.url, "wrong") == 429
    said = {"Authorization": f"Bearer {token}"}
    with connect(gateway.url, additional_headers=said, open_timeout=FUSE_SECONDS):
        pass  # a valid one is never refused for those


def test_an_unknown_path_is_not_found_with_or_without_a_token(healthy: InsideGateway) -> None:
    gateway = healthy
    page = f"http://127.0.0.1:{gateway.port}"
    for path in ("/", "/nothing", "/acp/", "/v1/sessions", "/v1/sessions//ws"):
        url = f"ws://127.0.0.1:{gateway.port}{path}"
        assert refused(url, gateway.token()) == 404, path
        assert refused(url, "wrong") == (401 if path.endswith("/ws") else 404)
    code, reason = closed(f"ws://127.0.0.1:{gateway.port}/nothing", gateway.token(), page)
    assert (code, reason["reason"]) == (4404, "not_found")


def test_a_page_can_log_in_with_a_token_as_a_subprotocol(healthy: InsideGateway) -> None:
    gateway = healthy
    with connect(
        gateway.url,
        subprotocols=["acp.lastword.v1", f"bearer.{gateway.token()}"],  # type: ignore[list-item]
        origin=f"http://127.0.0.1:{gateway.port}",  # type: ignore[arg-type]
        open_timeout=FUSE_SECONDS,
    ) as socket:
        assert socket.subprotocol == "acp.lastword.v1"
