"""The page that a link of a notification opens, in Chromium: it sends one answer, on a click."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.interop.page.test_page import NO_SCROLL
from tests.kit.collector import Collector
from tests.kit.gateway.serving import Gateway, agent
from tests.kit.gateway.viewing import ViewerClient

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.page.browser import Browser, Serve, Tab

ASKS = {"turns": [[{"ask_permission": "Run the tests"}, {"result": "end_turn"}]]}
QUIET = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


def opened(tab: Tab, gateway: Gateway, code: str) -> None:
    """Open the page by the link of a button, on a phone."""
    tab.do("size", 390, 760)
    assert tab.do("goto", f"http://127.0.0.1:{gateway.port}/answer#{code}") == 200
    tab.see("Answer the agent")


def holds_on_a_phone(tab: Tab, name: str) -> None:
    """Axe finds nothing, in light and in dark, and nothing is wider than the screen."""
    for dark in (False, True):
        tab.do("media", dark)
        assert tab.do("axe") == [], (name, dark)
    tab.do("media", False)
    assert tab.do("evaluate", NO_SCROLL), name
    tab.shot(name)


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
            holds_on_a_phone(first, "answer")
            first.do("click", "Send the answer")
            first.see("The agent has your answer.")
            assert viewer.answer(prompt)["result"]["stopReason"] == "end_turn"
            second.do("click", "Send the answer")
            second.see("This question has already been answered or withdrawn.")
            for tab, name in ((first, "answered"), (second, "answer-refused")):
                tab.do("wait", "#answer:disabled")
                holds_on_a_phone(tab, name)
            assert first.do("errors") == []
        opened(empty, gateway, "")
        empty.see("The code is missing. Open the link in the notification again.")
        empty.do("wait", "#answer:disabled")
