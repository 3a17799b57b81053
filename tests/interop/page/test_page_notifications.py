"""Notifications and the page, in Chromium: subscribing, the worker, and a link that answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.interop.page.test_page import holds_for_all
from tests.kit.collector import Collector
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import Gateway, agent
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.push_service import PushBrowser, PushService

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.page.browser import Browser, Serve, Tab

SUBSCRIBES = """
  (request) => {
    let theirs = { unsubscribe: async () => (theirs = null) };
    PushManager.prototype.getSubscription = async () => theirs;
    PushManager.prototype.subscribe = async function (options) {
      if (theirs) throw new Error("a subscription with a different applicationServerKey exists");
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


def test_a_browser_subscribes_is_shown_what_is_sent_and_unsubscribes(
    browser: Browser, gateway: Gateway
) -> None:
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        session = viewer.new(gateway.root)
    message: dict[str, Any] = {
        "title": "opencode asks",
        "body": "The agent waits for your answer.",
        "event": "ask",
        "session": "s1",
        "actions": [["Allow", "/answer#code"], ["Reject", "/answer#other"]],
        "at_epoch_ms": 1,
    }
    tab = browser.tab(width=390, height=800)
    with PushService() as service, tab.without_errors():
        tab.log_in(gateway)
        tab.do("allow", "notifications")
        subscribed = PushBrowser(service, "one").request
        tab.do("evaluate", SUBSCRIBES, subscribed)
        tab.do("click", "Notify me")
        tab.see("Stop notifications")
        assert tab.do("evaluate", "() => window.asked") == {"visible": True, "key": 65}
        (row,) = ApiClient(gateway).json("/v1/push")["subscriptions"]
        assert (row["place"], row["session_id"]) == (service.place, "")
        assert row["expires"] > 0
        assert tab.do("axe") == []
        tab.shot("push-390px")
        tab.do("until", ACTIVE)  # a worker that still begins is given nothing
        tab.do("push", json.dumps(message))
        tab.do("until", f"async () => (await ({SHOWN})()).length")
        assert tab.do("evaluate", SHOWN) == [
            ["opencode asks", "The agent waits for your answer.", "ask s1", ["Allow", "Reject"]]
        ]
        tab.do("reload")
        tab.see("Stop notifications")
        tab.do("click", "Stop notifications")
        tab.see("This browser gets no more notifications.")
        assert ApiClient(gateway).json("/v1/push")["subscriptions"] == []
        tab.do("click", session, "link")
        tab.do("evaluate", SUBSCRIBES, subscribed)
        tab.do("click", "Notify me about this session")
        tab.see("Stop notifications")
        (row,) = ApiClient(gateway).json("/v1/push")["subscriptions"]
        assert row["session_id"] == session


def test_a_browser_that_shows_no_notifications_has_no_button(
    browser: Browser, gateway: Gateway
) -> None:
    tab = browser.tab()
    tab.log_in(gateway, host="gateway.test")  # not over TLS, and not of this machine
    tab.see("New session")
    assert tab.do("evaluate", "() => isSecureContext") is False
    assert tab.do("count", "text=Notify me") == 0


ASKS = {"turns": [[{"ask_permission": "Run the tests"}, {"result": "end_turn"}]]}
QUIET = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


def opened(tab: Tab, gateway: Gateway, code: str) -> None:
    """Open the page by the link of a button, on a phone."""
    tab.do("size", 390, 760)
    assert tab.do("goto", f"http://127.0.0.1:{gateway.port}/answer#{code}") == 200
    tab.see("Answer the agent")


def test_a_link_shows_its_answer_sends_it_on_a_click_and_refuses_a_second_one(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(ASKS), encoding="utf-8")
    first, second, empty = browser.tab(), browser.tab(), browser.tab()
    with Collector() as collector:
        options = ("--notify", f"{collector.url}/x", "--notify-question-after", "0")
        command = agent(str(script))
        gateway = serve(
            tmp_path, command, *options, "--public-url", "https://gw.example", variables=QUIET
        )
        with ViewerClient(gateway) as viewer:
            prompt = viewer.prompt(viewer.new(gateway.root))
            actions = json.loads(collector.expect(1)[0].body)["actions"]
            codes = {each["label"]: each["url"].partition("#")[2] for each in actions}
            opened(first, gateway, codes["Reject"])
            opened(second, gateway, codes["Allow once"])
            for tab, label in ((first, "Reject"), (second, "Allow once")):
                assert tab.do("text", "#answer") == f"Send the answer: {label}"
                assert "#" not in tab.do("evaluate", "() => location.href")
            holds_for_all(first, "answer")
            first.do("click", "Send the answer")
            first.see("The agent has your answer.")
            assert viewer.answer(prompt)["result"]["stopReason"] == "end_turn"
            second.do("click", "Send the answer")
            second.see("This question has already been answered or withdrawn.")
            for tab, name in ((first, "answered"), (second, "answer-refused")):
                tab.do("wait", "#answer:disabled")
                holds_for_all(tab, name)
            assert first.do("errors") == []
        opened(empty, gateway, "")
        empty.see("The code is missing. Open the link in the notification again.")
        empty.do("wait", "#answer:disabled")
