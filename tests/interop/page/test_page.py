"""The gateway's page in Chromium: what a user sees of a session, whatever befalls it."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.viewing.reader import Role
from tests.interop.page.script import SCRIPT
from tests.kit.fleet.partition import Partition
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import Gateway, agent, until
from tests.kit.gateway.viewing import TYPED, ViewerClient

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.page.browser import Browser, Serve, Tab

COUNTING = [sys.executable, "-m", "tests.kit.gateway.agents", "counting"]
TALKATIVE = [sys.executable, "-m", "tests.kit.gateway.agents", "talkative"]
NO_SCROLL = "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"


def new_session(gateway: Gateway) -> str:
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        return viewer.new(gateway.root)


@pytest.fixture
def session(gateway: Gateway) -> str:
    return new_session(gateway)


def holds_for_all(tab: Tab, name: str) -> None:
    """Axe finds nothing, in light and in dark; nothing is wider than a narrow screen."""
    for dark in (False, True):
        tab.do("media", dark)
        assert tab.do("axe") == [], (name, dark)
        tab.shot(f"{name}-{'dark' if dark else 'light'}")
    tab.do("media", False)
    tab.do("size", 320, 640)
    assert tab.do("evaluate", NO_SCROLL), name
    tab.shot(f"{name}-320px")
    tab.do("size", 1000, 760)


def test_a_failing_turn_is_shown_explained_and_retried(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    (*before, fails), *turns = SCRIPT["turns"]
    script = {"turns": [[*before, {"ask_permission": "Wait for the model"}, fails], *turns]}
    (tmp_path / "script.json").write_text(json.dumps(script), encoding="utf-8")
    gateway = serve(tmp_path, agent(str(tmp_path / "script.json")))
    session = new_session(gateway)
    tab = browser.tab()
    with tab.without_errors():
        tab.log_in(gateway)
        assert "code=" not in tab.do("evaluate", "() => location.href")
        [cookie] = tab.do("cookies")
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        tab.see("Sessions", "Ready")
        holds_for_all(tab, "sessions")
        tab.do("click", session, "link")
        tab.say("Mend the parser")
        tab.see("The agent asks for permission", "The agent is waiting for your answer.")
        holds_for_all(tab, "question")
        tab.listen("body")
        tab.do("click", "Allow")
        tab.hear("The model provider is limiting requests.", "The agent tries again in")
        tab.do("click", "Allow")
        tab.see("The model provider is overloaded.", "Read src/parser.py", "Edit src/parser.py")
        assert re.search(r"unavailable at \d\d:\d\d", tab.do("text", ".card.failure"))
        over = r"/before you try again \(2 s after \d\d:\d\d\)\./"
        tab.do("until", f"() => {over}.test(document.querySelector('.card.failure').innerText)")
        tab.see("Answered on the page: Allow (Edit src/parser.py).")
        holds_for_all(tab, "failed")
        tab.do("click", "Try again")
        tab.see("The agent may already have done part of it")
        tab.do("click", "Send it again")
        tab.see("The parser works again.")
        tab.do("click", "Log", "link")
        tab.see("Turn 1", "failed after", "Turn 2", "ended well")
        holds_for_all(tab, "log")
        tab.do("select", "Show", "Failures")
        tab.see("Model provider unavailable. ")
        tab.do("until", "() => !document.querySelector('.log').innerText.includes('Prompt')")
        tab.do("evaluate", "() => document.querySelector('.row.error summary').click()")
        tab.see("Copy the details", "Entry")
        tab.do("click", "Show the frame")
        tab.see('"Overloaded"')
        tab.do("evaluate", "() => document.querySelector('details.bar summary').click()")
        name, text = tab.do("download", "As JSON Lines")
        assert name.endswith(".jsonl")
        kinds = [json.loads(line)["kind"] for line in text.splitlines()]
        assert kinds.count("prompt") == 2
        assert "Mend the parser" not in text
        tab.do("click", "Health", "link")
        tab.see("1 of 2 turns failed (50 %)", "Model provider unavailable", "Closed connections")
        tab.see("The gateway answers in")
        holds_for_all(tab, "health")


def test_the_keyboard_alone_is_enough(browser: Browser, gateway: Gateway, session: str) -> None:
    tab = browser.tab(still=True)
    with tab.without_errors():
        tab.log_in(gateway)
        tab.see("Ready")
        href = f"#/session/{session}"
        for _ in range(40):
            tab.do("press", "Tab")
            if tab.do("evaluate", "() => document.activeElement.getAttribute('href')") == href:
                break
        tab.do("press", "Enter")
        tab.do("wait", "button[type=submit]:enabled")
        while tab.do("evaluate", "() => document.activeElement.id") != "prompt":
            tab.do("press", "Tab")
        tab.do("type", "Mend it")
        tab.do("press", "Enter")
        tab.see("The agent asks for permission")
        while "Reject" not in tab.do("evaluate", "() => document.activeElement.textContent"):
            tab.do("press", "Shift+Tab")
        tab.do("press", "Enter")
        tab.do("gone", ".card.ask")
        assert tab.do("evaluate", "() => document.activeElement.id") == "prompt"
        tab.see("The turn failed: Model provider unavailable.")


def test_a_question_answered_in_one_window_closes_in_the_other(
    browser: Browser, gateway: Gateway, session: str
) -> None:
    one, two, watcher = browser.tab(), browser.tab(), browser.tab()
    one.session(gateway, session)
    two.session(gateway, session)
    watcher.session(gateway, session, role=Role.OBSERVER.value)
    watcher.see("You watch this session.")
    one.say("Mend the parser")
    for tab in (one, two):
        tab.see("The agent asks for permission")
    watcher.see("Mend the parser")
    assert watcher.do("count", "button:visible") == 0
    two.do("click", "Allow")
    one.do("gone", ".card.ask")
    one.see("Answered on the page: Allow (Edit src/parser.py).")
    for tab in (one, two, watcher):
        tab.see("The model provider is overloaded.")
        assert tab.do("errors") == []
        assert tab.do("count", ".card.failure") == 1
    two.do("reload")  # what was there is there again, the failure and what to do about it included
    two.see("Mend the parser", "The model provider is overloaded.", "Try again…")


def test_a_link_is_cut_offline_hidden_and_killed_and_nothing_is_lost(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    gateway = serve(tmp_path, [*COUNTING, str(tmp_path / "told")], "--allow-host", "gateway.test")
    tab = browser.tab()
    session = new_session(gateway)
    with Partition(gateway.port) as link, tab.without_errors():
        tab.do("clock")
        url = f"http://gateway.test:{link.port}"
        tab.do("goto", gateway.link(url) + f"#/session/{session}")
        tab.say("400 20")
        tab.see("1.3 ")
        link.reset()
        tab.see("1.30 ")
        pings = "() => { const send = WebSocket.prototype.send; window.probes = 0;"
        pings += " WebSocket.prototype.send = function (text) {"
        pings += " if (text.includes('_lastword/ping')) window.probes += 1;"
        pings += " return send.call(this, text); }; }"
        tab.do("evaluate", pings)
        for state, minutes in (("hidden", 1), ("visible", 0)):
            look = "(state) => { Object.defineProperty(document, 'visibilityState', {value:"
            look += " state, configurable: true});"
            look += " document.dispatchEvent(new Event('visibilitychange')); }"
            tab.do("evaluate", look, state)
            tab.do("forward", 25_000 * minutes)
            tab.do("forward", 20_000 * minutes)
        tab.do("until", "() => window.probes >= 2")
        tab.do("offline", True)
        link.reset()
        said = "Offline. Waits for the network."
        # The cut comes by the machine's clock, and what is said of it by the page's.
        until(said, lambda: tab.do("forward", 500) or said in tab.do("text", "body"))
        tab.shot("offline")
        tab.do("offline", False)
        tab.do("forward", 2500)
        tab.see("1.399 ")
        told = tab.do("text", ".item.agent .text")
        assert told.split() == [f"1.{number}" for number in range(400)]
    until("the cut is reported", lambda: "closed_1006" in str(ApiClient(gateway).events(session)))
    trips = ApiClient(gateway).json("/v1/stats")["gateway"]["round_trips"]
    assert trips["viewer"]["count"] >= 1


def test_the_page_waits_for_a_killed_gateway_then_gives_up_with_advice(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
    gateway = serve(tmp_path, agent(str(tmp_path / "script.json")))
    tab = browser.tab()
    session = new_session(gateway)
    tab.do("clock")
    tab.session(gateway, session)
    tab.say("Mend the parser")
    tab.see("The agent asks for permission")
    gateway.kill()
    # What the page does next comes by its own clock, and what becomes of that by the machine's.
    shown = "() => document.querySelector('.link-status').innerText"
    lost, over = "Connection lost.", "Gave up"
    until(lost, lambda: tab.do("forward", 1300) or lost in tab.do("evaluate", shown))
    tab.shot("gateway-killed")
    until(over, lambda: tab.do("forward", 20_000) or over in tab.do("evaluate", shown))
    tab.see("Gave up after 6 tries. Check that the gateway is running.")
    assert tab.do("axe") == []
    gateway.start()
    tab.do("click", "Retry")
    tab.see("The turn failed: The agent crashed.")
    gateway.kill()
    name, value = gateway.cookie(expires=1)
    expired = {"name": name, "value": value, "path": "/"}
    tab.do("cookie", expired | {"domain": "127.0.0.1", "httpOnly": True, "sameSite": "Strict"})
    gateway.start()
    twice = "refused the token twice"
    until(twice, lambda: tab.do("forward", 12_000) or twice in tab.do("evaluate", shown))
    tab.see("The gateway refused the token twice. Log in again.", "lastword gateway token --link")
    tab.do("evaluate", "() => { location.hash = '#/session/another'; }")
    tab.see("You are logged out")
    assert tab.do("count", "#prompt") == 0
    assert tab.do("reload") == 401
    tab.see("This gateway does not let you in")
    assert tab.do("axe") == []
    tab.shot("not-logged-in")


def test_an_unknown_session_is_reported_as_such(browser: Browser, gateway: Gateway) -> None:
    tab = browser.tab()
    tab.session(gateway, "none-of-these")
    tab.see("This session no longer exists on the gateway. Start a new session.")
    tab.shot("unknown")
    tab.do("click", "All sessions", "link")
    tab.do("click", "New session")
    folder = tab.do("evaluate", "() => document.querySelector('#folder').value")
    assert folder == str(gateway.root)
    tab.do("click", "Start")
    tab.see("There are no messages yet.")
    assert tab.do("errors") == []


def test_the_same_viewer_elsewhere_takes_the_session_over_and_gives_it_back(
    browser: Browser, gateway: Gateway, session: str
) -> None:
    tab = browser.tab()
    tab.log_in(gateway)
    spy = (
        "() => { const listen = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');"
    )
    spy += " Object.defineProperty(WebSocket.prototype, 'onmessage', {set(call) {"
    spy += " listen.set.call(this, (event) => { const ours ="
    spy += " JSON.parse(event.data.split('\\n').at(-1)).result?._meta?.lastword;"
    spy += " if (ours?.secret) window.known = ours; call(event); }); }}); }"
    tab.do("evaluate", spy)
    tab.do("click", session, "link")
    tab.do("wait", "button[type=submit]:enabled")
    known = tab.do("evaluate", "() => ({viewer: window.known.viewer, secret: window.known.secret})")
    with ViewerClient(gateway, replay=True, known=known) as other:
        other.load(session, gateway.root)
        tab.see("This session is open in another window. Continue there.")
        tab.do("click", "Use it here")
        tab.do("wait", "button[type=submit]:enabled")
        assert other.closed()[0] == 4409


def test_messages_that_are_no_longer_stored_are_shown_as_a_gap(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    command = [*COUNTING, str(tmp_path / "told")]
    gateway = serve(tmp_path, command, "--log-limit", "64KiB")
    tab = browser.tab()
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        session = viewer.new(gateway.root)
        viewer.answer(viewer.prompt(session, "3000 0"))
    tab.session(gateway, session)
    tab.see("Part of this session is no longer kept.", "1.2999 ")
    tab.shot("gap")
    tab.do("click", "Log", "link")
    tab.see("are no longer kept.")
    assert tab.do("errors") == []


def test_an_agents_words_are_shown_as_bounded_plain_text(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    gateway = serve(tmp_path, TALKATIVE)
    tab = browser.tab()
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        session = viewer.new(gateway.root)
        viewer.answer(viewer.prompt(session, "10000 1000000 10000000"))
    with tab.without_errors():
        tab.session(gateway, session)
        tab.see("That was all.", "Show more (")
        nodes = "() => document.querySelectorAll('*').length"
        assert tab.do("evaluate", nodes) < 10_000
        assert tab.do("evaluate", "() => document.body.innerText.length") < 500_000
        assert tab.do("count", "main img, main script, main a[href^=javascript]") == 0
        assert "hacked" not in tab.do("evaluate", "() => document.title.slice(0, 20)")
        assert "<script>" in tab.do("text", "h1")
        tab.do("click", "Show more")
        tab.do("click", "Show earlier")
        tab.see("<script>")
        assert tab.do("evaluate", NO_SCROLL)
        tab.shot("hostile")
