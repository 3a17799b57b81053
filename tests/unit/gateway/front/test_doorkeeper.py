"""The doorkeeper: every refusal, with its status, its code and what it says."""

from __future__ import annotations

import itertools
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
from lastword.gateway.viewing.access import AnswerCode
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


def refusal(request: Requester, door: Doorkeeper | None = None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        (door or keeper()).admit(request)
    return caught.value


def test_loopback_is_recognised_by_all_its_names_and_an_allowed_name_is_let_in() -> None:
    for host in ("127.0.0.1:7780", "localhost:1", "LOCALHOST", "[::1]:7780", "[::1]", "127.1.2.3"):
        assert keeper().admit(asked(host=host)).role is Role.CONTROLLER
    assert keeper(hosts=["Gate.Example"]).admit(asked(host="gate.example:443"))


def test_a_host_name_that_is_not_allowed_is_refused() -> None:
    for host in ("evil.example", "", "localhost.evil.example:80", "[", "1.2.3.4"):
        refused = refusal(asked(host=host))
        assert (refused.status, refused.code, refused.reason) == (403, 4403, "host")
        assert "--allow-host" in str(refused)


def test_a_page_of_another_origin_is_refused() -> None:
    for origin in ("http://evil.example", "null", "", "http://127.0.0.1:1", "http://[", "file://"):
        refused = refusal(asked(origin=origin))
        assert (refused.status, refused.code, refused.reason) == (403, 4403, "origin")
        assert "--allow-origin" in str(refused)


def test_pages_of_the_gateway_and_of_an_allowed_origin_are_let_in() -> None:
    assert keeper().admit(asked(origin=f"http://{HOST}"))
    page = keeper(hosts=["gw.example"], origins=["https://Page.example/"])
    assert page.admit(asked(origin="https://page.example"))
    assert page.admit(asked(host="gw.example:443", origin="https://gw.example"))
    for host in ("gw.example:443", "gw.example:8443"):
        assert refusal(asked(host=host, origin="http://gw.example"), page).reason == "origin"


def test_a_missing_and_a_wrong_and_an_expired_token_are_refused() -> None:
    missing = refusal(asked(""))
    assert (missing.status, missing.code) == (401, 4401)
    assert "missing" in str(missing)
    wrong = refusal(asked("wrong"))
    assert (wrong.status, wrong.code, wrong.reason) == (401, 4401, "unauthorized")
    assert "wrong" in str(wrong)
    expired = refusal(asked(KEEPER.token(Grant(Role.CONTROLLER, "", 999))))
    assert "expired" in str(expired)
    assert "lastword gateway token" in str(expired)


def test_wrong_tokens_have_their_sender_wait_and_never_a_right_one() -> None:
    door = keeper()
    for _ in range(20):  # a missing one is no wrong one
        refusal(asked(""), door)
    assert [refusal(asked("wrong"), door).status for _ in range(10)] == [401] * 10
    refused = refusal(asked("wrong"), door)
    assert (refused.status, refused.code, refused.retry_after) == (429, 4429, 61)
    assert door.admit(asked()).role is Role.CONTROLLER
    other = Requester(peer="10.0.0.2", headers=asked("wrong").headers)
    assert refusal(other, door).status == 401


def test_wrong_codes_must_wait_and_the_right_one_never_does() -> None:
    door, statuses = keeper(), []
    for _ in range(11):
        with pytest.raises(Refusal) as refused:
            door.read_answer(asked(), "wrong")
        statuses.append(refused.value.status)
    assert statuses == [401] * 10 + [429]
    code = AnswerCode("s", "run", 3, 1, 2000, "reject_once")
    assert door.read_answer(asked(), KEEPER.answer_code(code)) == code


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_caused_by_another_site_is_refused_and_not_counted(
    site: str,
) -> None:
    door = keeper()
    for dest, token in itertools.product(("image", "script", "iframe", "empty"), ("wrong", TOKEN)):
        headers = {"sec-fetch-site": site, "sec-fetch-dest": dest, "sec-fetch-mode": "no-cors"}
        for _ in range(10):
            refused = refusal(asked(token, **headers), door)
            assert (refused.status, refused.reason) == (403, "origin")
    assert refusal(asked("wrong"), door).status == 401


def test_the_page_itself_and_a_followed_link_are_let_in() -> None:
    followed = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    for headers in (
        {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "none"} | followed,
        {"sec-fetch-site": "cross-site"} | followed,
        {"sec-fetch-site": "same-site", "origin": f"http://{HOST}"},
    ):
        assert keeper().admit(asked(**headers))


def test_guests_have_a_rate_limit_apart_from_the_owners() -> None:
    door = keeper()
    guests = [asked(KEEPER.token(Grant(Role.OBSERVER, "", 2000 + each))) for each in range(3)]
    for each in guests[:2]:
        for _ in range(int(GUEST_REQUESTS.burst)):
            assert door.admit(each)
        assert refusal(each, door).status == 429
    refused = refusal(guests[2], door)  # of the same address
    assert (refused.status, refused.code, refused.reason) == (429, 4429, "too_many")
    assert refused.retry_after == 1
    assert door.admit(asked())


@every("name", [*sorted(FORWARDED), "x-forwarded-for", "x-forwarded-port"])
def test_a_forwarded_request_is_recognised_by_its_headers(name: str) -> None:
    assert is_forwarded({"host": HOST, name: ""})
    assert not is_forwarded({"host": HOST, "accept": "*/*", "user-agent": "Prometheus"})


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
    assert refusal(Requester(peer="", headers=bare, cookies={one.cookies.cookie: cookie}), other)
    renamed = Requester(peer="", headers=bare, cookies={other.cookies.cookie: cookie})
    assert refusal(renamed, other).status == 401
    as_token = Requester(peer="", headers=bare, cookies={one.cookies.cookie: TOKEN})
    assert refusal(as_token, one).status == 401
    assert refusal(asked(cookie), one).status == 401
    assert keeper(port=7780).admit(  # as after a restart
        Requester(peer="", headers=bare, cookies={one.cookies.cookie: cookie})
    )
    elsewhere = Doorkeeper(Keeper(b"j" * 32), port=7780)
    assert elsewhere.cookies.cookie != one.cookies.cookie


def test_a_grant_counts_for_its_session_and_until_its_end() -> None:
    door = keeper()
    assert door.has_expired(Grant(Role.OBSERVER, "", 1000))
    assert not door.has_expired(Grant(Role.OBSERVER, "", 1001))
    assert not door.has_expired(Grant(Role.OBSERVER))
    grant = Grant(Role.CONTROLLER, "mine")
    for_session(grant, "mine")
    for_session(Grant(Role.CONTROLLER), "any")
    with pytest.raises(Refusal) as caught:
        for_session(grant, "other")
    assert (caught.value.status, caught.value.code) == (403, 4403)
