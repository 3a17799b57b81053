"""The page's door in Chromium: pages of other sites, and two gateways on one host."""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import agent, two_with_one_key
from tests.process.gateway.test_doors import refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

    from tests.interop.page.browser import Browser, Serve

GUESSES = 12
ROLE = "async () => (await (await fetch('/page/settings.json')).json()).role"


@contextlib.contextmanager
def hostile_page(port: int) -> Iterator[int]:
    """A page of another site, whose pictures are wrong links of a gateway; gives its port."""
    links = [f'<img src="http://127.0.0.1:{port}/?code=guess{n}">' for n in range(GUESSES)]
    body = f"<!doctype html><title>hostile</title>{''.join(links)}".encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_of_another_site_does_not_lock_the_owner_out(
    browser: Browser, serve: Serve, tmp_path: Path
) -> None:
    gateway = serve(tmp_path, agent("healthy"))
    hostile, owner = browser.tab(), browser.tab()
    with hostile_page(gateway.port) as port:
        for host in ("gateway.test", "127.0.0.1"):
            hostile.do("goto", f"http://{host}:{port}/")
            asked = "() => [...document.images].filter((each) => each.complete).length"
            hostile.do("until", f"() => ({asked})() === {GUESSES}")
    assert refused(gateway.url, "wrong") == 401  # none of them counted
    assert ApiClient(gateway).ask("/v1/sessions").status == 200
    owner.log_in(gateway)
    assert owner.do("evaluate", ROLE) == Role.CONTROLLER.value
    owner.see("Sessions")
    assert owner.do("errors") == []


def test_a_browser_can_be_logged_in_to_two_gateways_of_one_host(
    browser: Browser, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    gateways = two_with_one_key(tmp_path)
    request.addfinalizer(lambda: [gateway.close() for gateway in gateways])
    first = browser.tab()
    second = browser.tab(like=first.number)  # with the same cookies
    first.log_in(gateways[0])
    second.log_in(gateways[1], role=Role.OBSERVER.value)
    assert len(first.do("cookies")) == 2
    for tab, role in ((first, Role.CONTROLLER), (second, Role.OBSERVER)):
        assert tab.do("reload") == 200
        assert tab.do("evaluate", ROLE) == role.value
