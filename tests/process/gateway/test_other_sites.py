"""Pages of other sites: they cannot lock the owner out, load an answer, or use another's cookie."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import two_with_one_key
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.patience import FUSE_SECONDS
from tests.process.gateway.test_doors import closed, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

IMAGE = {
    "Sec_Fetch_Site": "cross-site",
    "Sec_Fetch_Mode": "no-cors",
    "Sec_Fetch_Dest": "image",
}
VISIT = {
    "Sec_Fetch_Site": "cross-site",
    "Sec_Fetch_Mode": "navigate",
    "Sec_Fetch_Dest": "document",
}
GUARDS = {"x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin"}


def test_wrong_links_from_other_sites_are_not_counted(healthy: Gateway) -> None:
    nobody = ApiClient(healthy, "")
    for _ in range(30):
        assert nobody.ask("/?code=guess", **IMAGE).status == 403
    assert nobody.ask("/?code=guess").status == 401


def test_wrong_tokens_from_an_address_do_not_lock_out_a_valid_token_link_or_cookie(
    serve: Serve,
) -> None:
    gateway = serve("healthy")
    nobody = ApiClient(gateway, "")
    link = gateway.link().partition(str(gateway.port))[2]
    for _ in range(30):  # as of a browser that says nothing of sites
        nobody.ask("/?code=guess")
    assert nobody.ask("/?code=guess").status == 429
    assert refused(gateway.url, "wrong") == 429
    page = f"http://127.0.0.1:{gateway.port}"
    assert closed(gateway.url, "wrong", page)[0] == 4429
    with ViewerClient(gateway) as viewer:
        assert viewer.new(gateway.root)
    assert ApiClient(gateway).ask("/v1/sessions").status == 200
    followed = nobody.ask(link)
    assert followed.status == 303
    cookie = followed.headers["set-cookie"].partition(";")[0]
    assert nobody.ask("/", Cookie=cookie).status == 200


def test_a_link_that_is_followed_on_another_site_leads_to_the_page(healthy: Gateway) -> None:
    gateway = healthy
    link = gateway.link().partition(str(gateway.port))[2]
    assert ApiClient(gateway, "").ask(link, **VISIT).status == 303


def test_a_page_of_another_site_gets_no_answer(healthy: Gateway) -> None:
    gateway = healthy
    how = IMAGE | {"Sec_Fetch_Site": "same-site"}
    api = ApiClient(gateway)
    paths = (
        "/",
        "/v1/sessions",
        "/v1/stats",
        "/v1/openapi.json",
        "/metrics",
        "/page/settings.json",
    )
    for path in (*paths, "/readyz", "/healthz"):
        assert api.ask(path, **how).status == 403, path
        assert api.ask(path, **how | {"Sec_Fetch_Site": "same-origin"}).status == 200, path


def test_every_response_forbids_other_sites_to_load_it(healthy: Gateway) -> None:
    gateway = healthy
    api, nobody = ApiClient(gateway), ApiClient(gateway, "")
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
    with socket.create_connection(("127.0.0.1", gateway.port), FUSE_SECONDS) as raw:
        raw.sendall(b"this is not HTTP\r\n\r\n")
        said = b"".join(iter(lambda: raw.recv(4096), b"")).decode()
    assert said.startswith("HTTP/1.1 400 ")
    assert all(f"{name}: {value}" in said for name, value in GUARDS.items())


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Gateway, Gateway]]:
    """Two gateways on two ports of one host, whose tokens have one key."""
    one, other = two_with_one_key(tmp_path)
    yield one, other
    one.close()
    other.close()


def test_the_cookies_of_two_gateways_coexist_and_each_works_only_at_its_own(
    two: tuple[Gateway, Gateway],
) -> None:
    jar: dict[str, str] = {}
    for gateway, role in zip(two, (Role.CONTROLLER, Role.OBSERVER), strict=True):
        link = gateway.link("", "--role", role.value).partition(str(gateway.port))[2]
        answer = ApiClient(gateway, "").ask(link)
        name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
        jar[name] = value
    assert len(jar) == 2
    both = "; ".join(f"{name}={value}" for name, value in jar.items())
    one, other = (ApiClient(gateway, "") for gateway in two)
    assert one.ask("/page/settings.json", Cookie=both).json["role"] == "controller"
    assert other.ask("/page/settings.json", Cookie=both).json["role"] == "observer"
    (first, value), (second, _) = jar.items()
    assert other.ask("/page/settings.json", Cookie=f"{first}={value}").status == 401
    assert other.ask("/page/settings.json", Cookie=f"{second}={value}").status == 401
    as_token = {"Authorization": f"Bearer {value}"}
    assert one.ask("/page/settings.json", **as_token).status == 401
    assert one.ask("/page/settings.json", Cookie=f"{first}={two[0].token()}").status == 401
