"""Notifications of the browser: subscribing by the page's button, and what its worker shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.push_service import PushBrowser, PushService

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.page.browser import Browser, Tab
    from tests.kit.gateway.serving import Gateway

SUBSCRIBES = """
  (request) => {
    PushManager.prototype.subscribe = async function (options) {
      window.asked = { visible: options.userVisibleOnly, key: options.applicationServerKey.length };
      return { toJSON: () => request };
    };
  }
"""
ACTIVE = """
  async () => {
    const [worker] = await navigator.serviceWorker.getRegistrations();
    return worker?.active?.state === "activated";
  }
"""
SHOWN = """
  async () => {
    const [worker] = await navigator.serviceWorker.getRegistrations();
    const shown = await worker.getNotifications();
    const labels = (each) => each.actions.map((one) => one.title);
    return shown.map((each) => [each.title, each.body, each.tag, labels(each)]);
  }
"""


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as made:
        yield made


def ready(browser: Browser, gateway: Gateway, subscribed: PushBrowser, place: str = "") -> Tab:
    """A narrow tab that may show notifications, whose browser subscribes at the service."""
    tab = browser.tab(width=390, height=800)
    tab.log_in(gateway, place)
    tab.do("allow", "notifications")
    tab.do("evaluate", SUBSCRIBES, subscribed.request)
    return tab


def test_one_button_subscribes_and_unsubscribes_a_browser(
    browser: Browser, gateway: Gateway, service: PushService
) -> None:
    tab = ready(browser, gateway, PushBrowser(service, "one"))
    with tab.without_errors():
        tab.do("click", "Notify me")
        tab.see("Stop notifications")
        assert tab.do("evaluate", "() => window.asked") == {"visible": True, "key": 65}
        (row,) = ApiClient(gateway).json("/v1/push")["subscriptions"]
        assert (row["place"], row["session_id"]) == (service.place, "")
        assert row["expires"] > 0
        assert tab.do("axe") == []
        tab.shot("push-390px")
        tab.do("reload")
        tab.see("Stop notifications")
        tab.do("click", "Stop notifications")
        tab.see("This browser gets no more notifications.")
        assert ApiClient(gateway).json("/v1/push")["subscriptions"] == []


def test_a_single_session_can_be_subscribed_to(
    browser: Browser, gateway: Gateway, service: PushService
) -> None:
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        session = viewer.new(gateway.root)
    tab = ready(browser, gateway, PushBrowser(service, "one"), f"#/session/{session}")
    tab.do("click", "Notify me about this session")
    tab.see("Stop notifications")
    (row,) = ApiClient(gateway).json("/v1/push")["subscriptions"]
    assert row["session_id"] == session


def test_the_worker_shows_what_the_gateway_sends(
    browser: Browser, gateway: Gateway, service: PushService
) -> None:
    tab = ready(browser, gateway, PushBrowser(service, "one"))
    tab.do("click", "Notify me")
    tab.see("Stop notifications")
    message: dict[str, Any] = {
        "title": "opencode asks",
        "body": "The agent waits for your answer.",
        "event": "ask",
        "session": "s1",
        "actions": [["Allow", "/answer#code"], ["Reject", "/answer#other"]],
        "at_epoch_ms": 1,
    }
    tab.do("until", ACTIVE)  # a worker that still begins is given nothing
    tab.do("push", json.dumps(message))
    tab.do("until", f"async () => (await ({SHOWN})()).length")
    assert tab.do("evaluate", SHOWN) == [
        ["opencode asks", "The agent waits for your answer.", "ask s1", ["Allow", "Reject"]]
    ]


def test_a_browser_that_shows_no_notifications_has_no_button(
    browser: Browser, gateway: Gateway
) -> None:
    tab = browser.tab()
    tab.log_in(gateway, host="gateway.test")  # not over TLS, and not of this machine
    tab.see("New session")
    assert tab.do("evaluate", "() => isSecureContext") is False
    assert tab.do("count", "text=Notify me") == 0
