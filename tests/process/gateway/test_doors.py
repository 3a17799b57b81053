"""The gateway's doors: who is let in, by a token, a link or a cookie, and pages of other sites."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from lastword.gateway.front import app, doorkeeper
from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.api import ApiAnswer, ApiClient
from tests.kit.gateway.viewing import ViewerClient, attached, has_ended_well, opened
from tests.kit.patience import FUSE_SECONDS
from tests.process.gateway.test_http import Caller, next_message

if TYPE_CHECKING:
    from tests.kit.gateway.inside import InsideGateway
    from tests.kit.gateway.serving import Gateway, Serve

HOUR_SECONDS = 3600
IMAGE = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"}
VISIT = IMAGE | {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
GUARDS = {"x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin"}


def refused(url: str, token: str, **headers: str) -> int:
    """The HTTP status that an upgrade is refused with."""
    said = {"Authorization": f"Bearer {token}"} | headers
    with pytest.raises(InvalidStatus) as caught:
        connect(url, additional_headers=said, open_timeout=FUSE_SECONDS)
    return caught.value.response.status_code


def closed(url: str, token: str, origin: str) -> tuple[int, str]:
    """The code and the reason that a page is refused with."""
    said = {"Authorization": f"Bearer {token}", "Origin": origin}
    with connect(url, additional_headers=said, open_timeout=FUSE_SECONDS) as socket:
        with pytest.raises(ConnectionClosed) as caught:
            socket.recv(FUSE_SECONDS)
        received = caught.value.rcvd
    assert received is not None
    told = received.reason
    return received.code, json.loads(told)["reason"] if told[:1] == "{" else told


def page_of(gateway: Gateway | InsideGateway) -> str:
    return f"http://127.0.0.1:{gateway.port}"


def link_of(gateway: Gateway | InsideGateway, *options: str) -> str:
    """A link to the page, as the path that is asked for."""
    return gateway.link("", *options).partition(str(gateway.port))[2]


def cookie_of(answer: ApiAnswer) -> str:
    """The cookie that an answer sets, as a browser sends it."""
    return answer.headers["set-cookie"].partition(";")[0]


def test_a_refused_client_gets_a_status_and_a_refused_page_a_close_code(
    healthy: InsideGateway,
) -> None:
    token, page = healthy.token(), page_of(healthy)
    unknown = f"ws://127.0.0.1:{healthy.port}/v1/sessions/never-was/ws"
    assert refused(unknown, token) == 404
    assert closed(unknown, token, page) == (4404, "session_unknown")
    assert refused(unknown, healthy.token(session="mine")) == 403
    assert refused(healthy.url, "wrong") == 401
    assert refused(healthy.url, healthy.token(expires=int(time.time()) - 1)) == 401
    assert closed(healthy.url, "wrong", page)[0] == 4401
    assert closed(healthy.url, token, "http://elsewhere.example")[0] == 4403


def test_an_unknown_path_is_not_found_with_or_without_a_token(healthy: InsideGateway) -> None:
    for path in ("/", "/nothing", "/acp/", "/v1/sessions", "/v1/sessions//ws"):
        url = f"ws://127.0.0.1:{healthy.port}{path}"
        assert refused(url, healthy.token()) == 404, path
        assert refused(url, "wrong") == (401 if path.endswith("/ws") else 404)
    url = f"ws://127.0.0.1:{healthy.port}/nothing"
    assert closed(url, healthy.token(), page_of(healthy)) == (4404, "not_found")
    for path in ("/nothing", "/acp/", "/v1/stats/", "/answer/", "/page/"):
        assert ApiClient(healthy, "").refusal(path, Host="evil.example") == (404, "not_found")


def test_a_page_can_log_in_with_a_token_as_a_subprotocol(healthy: InsideGateway) -> None:
    with connect(
        healthy.url,
        subprotocols=["acp.lastword.v1", f"bearer.{healthy.token()}"],  # type: ignore[list-item]
        origin=page_of(healthy),  # type: ignore[arg-type]
        open_timeout=FUSE_SECONDS,
    ) as socket:
        assert socket.subprotocol == "acp.lastword.v1"


def test_wrong_tokens_from_an_address_do_not_lock_out_a_valid_token_link_or_cookie(
    serve: Serve,
) -> None:
    gateway = serve("healthy")
    nobody = ApiClient(gateway, "")
    link = link_of(gateway)
    expired = "=".join(gateway.cookie(expires=1))
    for _ in range(12):  # neither another site's page nor an expired cookie guesses
        assert nobody.ask("/?code=guess", **IMAGE).status == 403
        assert nobody.ask("/", Cookie=expired).status == 401
    for _ in range(10):
        assert nobody.ask("/?code=guess").status == 401
    waits = nobody.ask("/?code=guess")
    assert (waits.status, int(waits.headers["retry-after"]) > 0) == (429, True)
    assert refused(gateway.url, "wrong") == 429
    assert closed(gateway.url, "wrong", page_of(gateway))[0] == 4429
    with ViewerClient(gateway) as viewer:
        assert viewer.new(gateway.root)
    assert ApiClient(gateway).ask("/v1/sessions").status == 200
    followed = nobody.ask(link, **VISIT)  # on another site's page
    assert followed.status == 303
    assert nobody.ask("/", Cookie=cookie_of(followed)).status == 200


def test_a_page_of_another_site_gets_no_answer(healthy: Gateway) -> None:
    how = IMAGE | {"Sec_Fetch_Site": "same-site"}
    api = ApiClient(healthy)
    paths = ("/", "/v1/sessions", "/v1/stats", "/v1/openapi.json", "/metrics")
    for path in (*paths, "/page/settings.json", "/readyz", "/healthz"):
        assert api.ask(path, **how).status == 403, path
        assert api.ask(path, **how | {"Sec_Fetch_Site": "same-origin"}).status == 200, path


def test_every_response_forbids_other_sites_to_load_it(healthy: Gateway) -> None:
    api, nobody = ApiClient(healthy), ApiClient(healthy, "")
    answers = [
        *(api.ask(path) for path in ("/", "/page/main.js", "/v1/sessions", "/v1/openapi.json")),
        *(nobody.ask(path) for path in ("/metrics", "/healthz", "/readyz", "/", "/v1/sessions")),
        *(nobody.ask(path) for path in ("/?code=guess", "/nothing", "/acp", "/page/none.js")),
        api.ask("/v1/sessions", method="PUT"),
        api.ask("/v1/sessions?content=2"),
        api.ask("/acp", method="POST", body=b"{", Content_Type="application/json"),
        api.ask("/acp", method="POST", body=b"{}", Content_Type="text/plain"),
        api.ask("/v1/sessions", Host="evil.example"),
    ]
    assert {200, 400, 401, 403, 404, 405, 415} <= {answer.status for answer in answers}
    for answer in answers:
        assert answer.headers | GUARDS == answer.headers, answer
    with socket.create_connection(("127.0.0.1", healthy.port), FUSE_SECONDS) as raw:
        raw.sendall(b"this is not HTTP\r\n\r\n")
        said = b"".join(iter(lambda: raw.recv(4096), b"")).decode()
    assert said.startswith("HTTP/1.1 400 ")
    assert all(f"{name}: {value}" in said for name, value in GUARDS.items())


# --- the page -------------------------------------------------------------------------------------


def test_a_link_gives_a_cookie_once_and_leaves_no_code_in_the_address(healthy: Gateway) -> None:
    link, nobody = link_of(healthy), ApiClient(healthy, "")
    assert nobody.ask(link, method="HEAD").status == 204  # looking is not following
    answer = nobody.ask(link)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    (told,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert (told["httponly"], told["samesite"], told["path"]) == (True, "strict", "/")
    assert 11 * 3600 < int(told["max-age"]) <= 12 * 3600
    page = nobody.ask("/", Cookie=cookie_of(answer))
    assert (page.status, page.headers["cache-control"]) == (200, "no-store")
    again = nobody.ask(link)
    assert again.status == 401
    assert b"The link has been used" in again.body
    command = f"<code>lastword gateway token --link {page_of(healthy)}/</code>"
    assert command in again.body.decode()
    # Where no address can be opened, as on a phone's home screen, it is pasted.
    pasted = quote(f" {healthy.link()} ", safe="")
    answer = nobody.ask(f"/?code={pasted}")
    assert (answer.status, answer.headers["location"]) == (303, "/")


def test_the_cookie_opens_no_more_of_the_page_and_the_events_than_its_link(
    healthy: Gateway,
) -> None:
    nobody = ApiClient(healthy, "")
    cookie = cookie_of(nobody.ask(link_of(healthy, "--role", Role.OBSERVER.value)))
    settings = nobody.ask("/page/settings.json", Cookie=cookie).json
    assert (settings["role"], settings["root"]) == ("observer", "")
    assert nobody.ask("/v1/sessions", Cookie=cookie).status == 200
    assert nobody.ask("/v1/sessions?content=1", Cookie=cookie).status == 403
    assert nobody.refusal("/page/settings.json") == (401, "unauthorized")
    settings = ApiClient(healthy).json("/page/settings.json")
    assert (settings["role"], settings["path"]) == ("controller", "/acp")
    assert settings["root"] == str(healthy.root)
    # Nor may a page of another origin use it.
    body = b'{"source":"page","word":"script_error"}'
    how = {"method": "POST", "body": body, "Content_Type": "application/json", "Cookie": cookie}
    for origin, status in (("http://evil.example", 403), (page_of(healthy), 202)):
        assert nobody.ask("/v1/client-events", Origin=origin, **how).status == status


def test_every_response_of_the_page_has_its_security_headers(healthy: Gateway) -> None:
    for path in ("/", "/page/main.js", "/page/none.js"):
        answer = ApiClient(healthy).ask(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy, path
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["referrer-policy"] == "no-referrer"
    other = ApiClient(healthy, "").ask("/", Host="evil.example")
    assert (other.status, b"--allow-host" in other.body) == (403, True)
    assert "content-security-policy" in other.headers


def test_the_pages_files_need_no_token_and_an_unchanged_one_is_not_sent_again(
    healthy: Gateway,
) -> None:
    nobody = ApiClient(healthy, "")  # the files hold nothing of anybody
    first = nobody.ask("/page/main.js", Accept_Encoding="gzip")
    assert (first.status, first.headers["content-encoding"]) == (200, "gzip")
    assert nobody.ask("/page/main.js").body.startswith(b"const module_")
    again = nobody.ask("/page/main.js", If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert nobody.ask("/page/index.html").status == 404
    # With these it can be put on a home screen.
    answer = nobody.ask("/page/manifest.webmanifest")
    assert answer.headers["content-type"] == "application/manifest+json"
    assert (answer.json["display"], answer.json["start_url"]) == ("standalone", "/")
    [icon] = answer.json["icons"]
    picture = nobody.ask(icon["src"])
    assert (picture.status, picture.headers["content-type"]) == (200, icon["type"])
    size = "x".join(str(int.from_bytes(picture.body[at : at + 4])) for at in (16, 20))
    assert size == icon["sizes"]


# --- the end of a token ---------------------------------------------------------------------------


class DayClock:
    """The time of day by which tokens expire, which a test moves on."""

    def __init__(self) -> None:
        self.ahead = 0

    def __call__(self) -> float:
        return time.time() + self.ahead

    def soon(self) -> int:
        """When a token expires that is valid still, until the clock is ahead by an hour."""
        return int(self()) + HOUR_SECONDS


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> DayClock:
    clock = DayClock()
    monkeypatch.setitem(doorkeeper.Doorkeeper.__init__.__kwdefaults__, "clock", clock)
    monkeypatch.setattr(app, "LOOK_SECONDS", 0.05)
    return clock


def test_a_socket_is_closed_when_its_token_expires_and_its_session_continues(
    clock: DayClock, serve: Serve
) -> None:
    gateway = serve("permission")
    with opened(gateway) as (_, session):
        token = gateway.token(expires=clock.soon())
        with attached(gateway, session, token=token, replay=True) as viewer:
            prompt = viewer.prompt(session)
            viewer.question()
            clock.ahead = HOUR_SECONDS
            assert viewer.closed() == (4401, "unauthorized")
        with pytest.raises(InvalidStatus):
            ViewerClient(gateway, token=token)
        with attached(gateway, session, replay=True, known=viewer.known) as fresh:
            fresh.allow(fresh.question())
            fresh.prompt(session, id_=prompt)
            assert has_ended_well(fresh.answer(prompt))


def test_streams_end_with_their_token_and_a_fresh_one_of_the_same_role_keeps_an_http_connection(
    clock: DayClock, serve: Serve
) -> None:
    gateway = serve("healthy")
    ends = clock.soon()
    with contextlib.ExitStack() as stack:

        def caller(token: str) -> Caller:
            return stack.enter_context(contextlib.closing(Caller(gateway, token)))

        old = caller(gateway.token(expires=ends))
        fresh = caller(gateway.token(expires=ends + HOUR_SECONDS))
        owner = stack.enter_context(ViewerClient(gateway))
        session = owner.new(gateway.root)
        watcher = ApiClient(gateway, gateway.token(role=Role.OBSERVER, expires=ends))
        events = stack.enter_context(watcher.stream(session))
        events.until(lambda _, data: data.get("kind") == "viewer_came")
        name = old.connect()
        first = old.stream(name)
        ping = {"jsonrpc": "2.0", "id": 1, "method": "_lastword/ping", "params": {}}
        assert fresh.post(ping, name).status == 202
        assert next_message(first)["id"] == 1

        clock.ahead = HOUR_SECONDS
        owner.turn(session)
        assert [kind for kind, _ in events.parts() if kind != ":"] == []
        assert old.post(ping, name).status == 401
        assert fresh.post(ping | {"id": 2}, name).status == 202
        while line := first.readline():  # it ends, and tells nothing more
            assert not line.startswith(b"data: ")
        assert next_message(fresh.stream(name))["id"] == 2
        for grant in (
            {"role": Role.OBSERVER},
            {"session": "mine"},
            {"role": Role.OBSERVER, "session": "mine"},
        ):
            stranger = caller(gateway.token(**grant))  # type: ignore[arg-type]
            assert stranger.post(ping, name).status == 404
            assert stranger.ask("DELETE", headers={"Acp-Connection-Id": name}).status == 404
