"""The doorkeeper: every refusal, with its status, its code and what it says."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.gateway.front.doorkeeper import (
    FORWARDED,
    GUEST_REQUESTS,
    Doorkeeper,
    Refusal,
    Requester,
    for_session,
    is_forwarded,
)
from lastword.gateway.front.tokens import Grant, Keeper
from lastword.gateway.viewing.reader import Role
from tests.kit.rows import every

KEEPER = Keeper(b"k" * 32)
TOKEN = KEEPER.token(Grant(Role.CONTROLLER))
HOST = "127.0.0.1:7780"


def asked(token: str = TOKEN, **headers: str) -> Requester:
    known = {"host": HOST} | ({"authorization": f"Bearer {token}"} if token else {})
    return Requester(peer="10.0.0.1", headers=known | headers)


def keeper(**options: Any) -> Doorkeeper:
    return Doorkeeper(KEEPER, clock=lambda: 1000.0, waits=lambda: 5.0, **options)


def refusal(request: Requester, **options: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        keeper(**options).admit(request)
    return caught.value


@pytest.mark.parametrize(
    "host", ["127.0.0.1:7780", "localhost:1", "LOCALHOST", "[::1]:7780", "[::1]", "127.1.2.3"]
)
def test_loopback_is_recognised_by_all_its_names(host: str) -> None:
    assert keeper().admit(asked(host=host)).role is Role.CONTROLLER


@pytest.mark.parametrize("host", ["evil.example", "", "localhost.evil.example:80", "[", "1.2.3.4"])
def test_a_host_name_that_is_not_allowed_is_refused(host: str) -> None:
    refused = refusal(asked(host=host))
    assert (refused.status, refused.code, refused.reason) == (403, 4403, "host")
    assert "--allow-host" in refused.message


def test_an_allowed_host_name_is_let_in() -> None:
    assert keeper(hosts=["Gate.Example"]).admit(asked(host="gate.example:443"))


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "http://127.0.0.1:1", "http://[", "file://"]
)
def test_a_page_of_another_origin_is_refused(origin: str) -> None:
    refused = refusal(asked(origin=origin))
    assert (refused.status, refused.code, refused.reason) == (403, 4403, "origin")
    assert "--allow-origin" in refused.message


def test_pages_of_the_gateway_and_of_an_allowed_origin_are_let_in() -> None:
    assert keeper().admit(asked(origin=f"http://{HOST}"))
    page = keeper(origins=["https://Page.example/"])
    assert page.admit(asked(origin="https://page.example"))


def test_a_missing_and_a_wrong_and_an_expired_token_are_refused() -> None:
    missing = refusal(asked(""))
    assert (missing.status, missing.code) == (401, 4401)
    assert "missing" in missing.message
    wrong = refusal(asked("wrong"))
    assert (wrong.status, wrong.code, wrong.reason) == (401, 4401, "unauthorized")
    assert "wrong" in wrong.message
    expired = refusal(asked(KEEPER.token(Grant(Role.CONTROLLER, "", 999))))
    assert "expired" in expired.message
    assert "lastword gateway token" in expired.message


def test_wrong_tokens_have_their_sender_wait_and_never_a_right_one() -> None:
    door = keeper()
    for _ in range(10):
        with pytest.raises(Refusal) as caught:
            door.admit(asked("wrong"))
        assert caught.value.status == 401
    with pytest.raises(Refusal) as caught:
        door.admit(asked("wrong"))
    assert (caught.value.status, caught.value.code) == (429, 4429)
    assert caught.value.retry_after == 61
    assert door.admit(asked()).role is Role.CONTROLLER
    other = Requester(peer="10.0.0.2", headers=asked("wrong").headers)
    with pytest.raises(Refusal) as caught:
        door.admit(other)
    assert caught.value.status == 401


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_caused_by_another_site_is_refused_and_not_counted(
    site: str,
) -> None:
    door = keeper()
    for dest in ("image", "script", "iframe", "empty"):
        for token in ("wrong", TOKEN):
            for _ in range(10):
                headers = {"sec-fetch-site": site, "sec-fetch-dest": dest}
                with pytest.raises(Refusal) as caught:
                    door.admit(asked(token, **headers, **{"sec-fetch-mode": "no-cors"}))
                assert (caught.value.status, caught.value.reason) == (403, "origin")
    assert refusal_of(door, asked("wrong")).status == 401


def refusal_of(door: Doorkeeper, request: Requester) -> Refusal:
    with pytest.raises(Refusal) as caught:
        door.admit(request)
    return caught.value


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
        {
            "sec-fetch-site": "cross-site",
            "sec-fetch-mode": "navigate",
            "sec-fetch-dest": "document",
        },
        {"sec-fetch-site": "same-site", "origin": f"http://{HOST}"},
    ],
)
def test_the_page_itself_and_a_followed_link_are_let_in(headers: dict[str, str]) -> None:
    assert keeper().admit(asked(**headers))


def test_guests_have_a_rate_limit_apart_from_the_owners() -> None:
    door = keeper()
    guests = [asked(KEEPER.token(Grant(Role.OBSERVER, "", 2000 + each))) for each in range(3)]
    for each in guests[:2]:
        for _ in range(int(GUEST_REQUESTS.burst)):
            assert door.admit(each)
        assert refusal_of(door, each).status == 429
    refused = refusal_of(door, guests[2])  # of the same address
    assert (refused.status, refused.code, refused.reason) == (429, 4429, "too_many")
    assert refused.retry_after == 1
    assert door.admit(asked())


@every("name", [*sorted(FORWARDED), "x-forwarded-for", "x-forwarded-port"])
def test_a_forwarded_request_is_recognised_by_its_headers(name: str) -> None:
    assert is_forwarded({"host": HOST, name: ""})
    assert not is_forwarded({"host": HOST, "accept": "*/*", "user-agent": "Prometheus"})


def test_a_missing_token_does_not_count_as_a_failure() -> None:
    door = keeper()
    for _ in range(20):
        with pytest.raises(Refusal):
            door.admit(asked(""))
    assert door.admit(asked())


def test_a_token_is_read_from_header_subprotocol_and_cookie() -> None:
    bare = {"host": HOST}
    offered = ["acp.lastword.v1", f"bearer.{TOKEN}"]
    assert keeper().admit(Requester(peer="", headers=bare, subprotocols=offered))
    door = keeper()
    cookie = door.cookies.token(Grant(Role.OBSERVER))
    name = door.cookies.cookie
    assert (
        door.admit(Requester(peer="", headers=bare, cookies={name: cookie})).role is Role.OBSERVER
    )
    assert keeper().admit(asked("", authorization=f"bearer  {TOKEN} "))
    assert refusal(asked("", authorization="Basic abc")).status == 401


def test_a_cookie_is_valid_only_at_its_own_gateway_and_is_not_a_token() -> None:
    one, other = keeper(port=7780), keeper(port=7781)
    grant = Grant(Role.CONTROLLER)
    cookie, bare = one.cookies.token(grant), {"host": HOST}
    assert one.cookies.cookie != other.cookies.cookie
    assert refusal_of(other, Requester(peer="", headers=bare, cookies={one.cookies.cookie: cookie}))
    renamed = Requester(peer="", headers=bare, cookies={other.cookies.cookie: cookie})
    assert refusal_of(other, renamed).status == 401
    as_token = Requester(peer="", headers=bare, cookies={one.cookies.cookie: TOKEN})
    assert refusal_of(one, as_token).status == 401
    assert refusal_of(one, asked(cookie)).status == 401
    assert keeper(port=7780).admit(  # as after a restart
        Requester(peer="", headers=bare, cookies={one.cookies.cookie: cookie})
    )
    elsewhere = Doorkeeper(Keeper(b"j" * 32), port=7780)
    assert elsewhere.cookies.cookie != one.cookies.cookie


def test_the_end_of_a_token_is_noticed_while_a_connection_is_open() -> None:
    door = keeper()
    assert door.has_expired(Grant(Role.OBSERVER, "", 1000))
    assert not door.has_expired(Grant(Role.OBSERVER, "", 1001))
    assert not door.has_expired(Grant(Role.OBSERVER))


def test_a_token_for_one_session_does_not_open_another() -> None:
    grant = Grant(Role.CONTROLLER, "mine")
    for_session(grant, "mine")
    for_session(Grant(Role.CONTROLLER), "any")
    with pytest.raises(Refusal) as caught:
        for_session(grant, "other")
    assert (caught.value.status, caught.value.code) == (403, 4403)
