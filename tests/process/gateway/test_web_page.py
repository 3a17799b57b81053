"""The page's door: links, cookies, headers, and what a request without either is told."""

from __future__ import annotations

from http.cookies import SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.api import ApiAnswer, ApiClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway


def followed(gateway: Gateway, *options: str) -> ApiAnswer:
    link = gateway.link("", *options)
    return ApiClient(gateway, "").ask(link.partition(str(gateway.port))[2])


def cookie_of(answer: ApiAnswer) -> str:
    """The cookie that an answer sets, as a browser sends it."""
    return answer.headers["set-cookie"].partition(";")[0]


@pytest.fixture
def gateway(healthy: Gateway) -> Gateway:
    return healthy


def test_a_link_gives_a_cookie_once_and_leaves_no_code_in_the_address(gateway: Gateway) -> None:
    link = gateway.link().partition(str(gateway.port))[2]
    nobody = ApiClient(gateway, "")
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
    address = f"http://127.0.0.1:{gateway.port}/"
    assert f"<code>lastword gateway token --link {address}</code>" in again.body.decode()


def test_a_link_can_be_pasted_where_no_address_can_be_opened(gateway: Gateway) -> None:
    """As in a page on a phone's home screen, which has cookies of its own."""
    link = quote(f" {gateway.link()} ", safe="")
    answer = ApiClient(gateway, "").ask(f"/?code={link}")
    assert (answer.status, answer.headers["location"]) == (303, "/")


def test_the_page_can_be_put_on_a_home_screen(gateway: Gateway) -> None:
    nobody = ApiClient(gateway, "")
    answer = nobody.ask("/page/manifest.webmanifest")
    assert answer.headers["content-type"] == "application/manifest+json"
    manifest = answer.json
    assert (manifest["display"], manifest["start_url"]) == ("standalone", "/")
    [icon] = manifest["icons"]
    picture = nobody.ask(icon["src"])
    assert (picture.status, picture.headers["content-type"]) == (200, icon["type"])
    size = "x".join(str(int.from_bytes(picture.body[at : at + 4])) for at in (16, 20))
    assert size == icon["sizes"]


def test_the_cookie_opens_no_more_of_the_page_and_the_events_than_its_link(
    gateway: Gateway,
) -> None:
    cookie = cookie_of(followed(gateway, "--role", Role.OBSERVER.value))
    nobody = ApiClient(gateway, "")
    settings = nobody.ask("/page/settings.json", Cookie=cookie).json
    assert (settings["role"], settings["root"]) == ("observer", "")
    assert nobody.ask("/v1/sessions", Cookie=cookie).status == 200
    assert nobody.ask("/v1/sessions?content=1", Cookie=cookie).status == 403
    assert nobody.refusal("/page/settings.json") == (401, "unauthorized")
    settings = ApiClient(gateway).json("/page/settings.json")
    assert (settings["role"], settings["path"]) == ("controller", "/acp")
    assert settings["root"] == str(gateway.root)


def test_a_page_of_another_origin_cannot_use_the_cookie(gateway: Gateway) -> None:
    cookie = cookie_of(followed(gateway))
    nobody = ApiClient(gateway, "")
    body = b'{"source":"page","word":"script_error"}'
    how = {"method": "POST", "body": body, "Content_Type": "application/json", "Cookie": cookie}
    assert nobody.ask("/v1/client-events", Origin="http://evil.example", **how).status == 403
    own = f"http://127.0.0.1:{gateway.port}"
    assert nobody.ask("/v1/client-events", Origin=own, **how).status == 202


def test_every_response_of_the_page_has_its_security_headers(gateway: Gateway) -> None:
    token = ApiClient(gateway)
    for path in ("/", "/page/main.js", "/page/none.js"):
        answer = token.ask(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy, path
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    refused = ApiClient(gateway, "").ask("/", Host="evil.example")
    assert (refused.status, b"--allow-host" in refused.body) == (403, True)
    assert "content-security-policy" in refused.headers


def test_an_unchanged_file_is_not_sent_again(gateway: Gateway) -> None:
    nobody = ApiClient(gateway, "")  # the files hold nothing of anybody
    first = nobody.ask("/page/main.js", Accept_Encoding="gzip")
    assert (first.status, first.headers["content-encoding"]) == (200, "gzip")
    assert nobody.ask("/page/main.js").body.startswith(b"const module_")
    known = {"If_None_Match": first.headers["etag"]}
    again = nobody.ask("/page/main.js", **known)
    assert (again.status, again.body) == (304, b"")
    assert nobody.ask("/page/index.html").status == 404


def test_an_expired_cookie_does_not_count_as_a_guess(
    serve: Callable[..., Gateway],
) -> None:
    gateway = serve("healthy")
    old = "=".join(gateway.cookie(expires=1))
    nobody = ApiClient(gateway, "")
    for _ in range(12):
        assert nobody.ask("/", Cookie=old).status == 401
    for _ in range(10):
        assert nobody.ask("/?code=guessed").status == 401
    waits = nobody.ask("/?code=guessed")
    assert (waits.status, int(waits.headers["retry-after"]) > 0) == (429, True)
