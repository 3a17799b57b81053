"""What used to be silent, in Chromium: as a sentence of the moment, and in the conversation."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.viewing.reader import Role
from tests.interop.page.test_page import holds_for_all, new_session
from tests.kit.fleet.partition import Partition
from tests.kit.gateway.agents import SIZE
from tests.kit.gateway.serving import agent, until
from tests.kit.gateway.viewing import TYPED, ViewerClient

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.page.browser import Browser, Serve

CHOOSING = [sys.executable, "-m", "tests.kit.gateway.agents", "choosing"]
SLOW_BYTES = 2_000_000
"""A second that a slow link takes."""


def scripted(folder: Path, *steps: dict[str, Any], **more: Any) -> list[str]:
    """The command of an agent that does this in every turn."""
    file = folder / "script.json"
    file.write_text(json.dumps({"turns": [list(steps)]} | more), encoding="utf-8")
    return agent(str(file))


@pytest.mark.parametrize(
    ("sessions", "said"),
    [
        ("load", "The agent was restarted and remembers nothing of the conversation."),
        pytest.param("lost", "The agent could not resume this session.", marks=pytest.mark.matrix),
        pytest.param(
            *("resume", "The agent was restarted, and knows this conversation."),
            marks=pytest.mark.matrix,
        ),
    ],
)
def test_a_restored_session_says_so_and_what_it_was_restored_with(
    browser: Browser, tmp_path: Path, sessions: str, said: str, serve: Serve
) -> None:
    command = scripted(tmp_path, {"say": "One."}, {"result": "end_turn"}, sessions=sessions)
    gateway = serve(tmp_path, command)
    tab = browser.tab()
    session = new_session(gateway)
    tab.session(gateway, session)
    tab.say("Remember this")
    tab.see("One.")
    tab.do("wait", "button[type=submit]:enabled")  # the turn is over
    tab.listen("#toasts")
    gateway.crash()
    tab.hear(said)
    tab.do("until", f"() => document.querySelector('.transcript').innerText.includes({said!r})")
    if sessions == "load":
        tab.hear("Tell it what it needs to know")
        holds_for_all(tab, "restored-without-history")
    assert tab.do("errors") == []


def test_a_crash_is_news_to_a_window_that_did_not_prompt(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    command = scripted(tmp_path, {"say": "One."}, {"exit": 3})
    gateway = serve(tmp_path, command)
    one, watcher = browser.tab(), browser.tab()
    session = new_session(gateway)
    watcher.session(gateway, session, role=Role.OBSERVER.value)
    watcher.see("You watch this session.")
    watcher.listen("#toasts")
    one.session(gateway, session)
    one.say("Crash")
    watcher.see("The turn failed: The agent crashed.")
    news = "The agent crashed. The conversation says what to do."
    watcher.hear(news)
    assert watcher.do("evaluate", "() => window.heard").startswith(news)
    assert watcher.do("count", ".card.failure") == 1
    holds_for_all(watcher, "crashed")
    one.see("The turn failed: The agent crashed.")
    assert one.do("count", "#toasts .toast") == 0  # it has the card, and asked for it
    # It starts again with the next prompt.

    def agents() -> list[int]:
        return [each["agent_pid"] for each in gateway.holders() if each["sessions"]]

    until("its agent has ended", lambda: agents() == [0])
    assert (one.do("errors"), watcher.do("errors")) == ([], [])


def test_a_lagging_window_says_so_while_it_lags(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    flood = {"repeat": {"times": 600, "steps": [{"fill": 12_000}, {"fill": 12_001}]}}
    command = scripted(tmp_path, flood, {"result": "end_turn"})
    gateway = serve(tmp_path, command, "--log-limit", "8MiB")
    slow = browser.tab()
    session = new_session(gateway)
    with Partition(gateway.port, bytes_per_second=SLOW_BYTES) as link, slow.without_errors():
        slow.do("goto", gateway.link(f"http://127.0.0.1:{link.port}") + f"#/session/{session}")
        slow.do("wait", "button[type=submit]:enabled")
        slow.listen("#toasts")
        with ViewerClient(gateway, capabilities=TYPED) as viewer:
            viewer.load(session, gateway.root)
            viewer.answer(viewer.prompt(session, "Talk"))
        slow.hear("The connection is slow: ", "None is lost.")
        slow.shot("lagging")


def test_another_clients_prompt_is_tried_again_with_its_files(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    gateway = serve(tmp_path, CHOOSING)
    link = {"type": "resource_link", "name": "a.py", "uri": "file:///a.py"}
    with ViewerClient(gateway, capabilities=TYPED) as editor:
        session = editor.new(gateway.root)
        prompt = [{"type": "text", "text": "limited"}, link]
        editor.failure("session/prompt", {"sessionId": session, "prompt": prompt})
    tab = browser.tab()
    with tab.without_errors():
        tab.session(gateway, session)
        tab.see("Rate limited")
        tab.do("click", "Try again")
        tab.see("Heard limited file:///a.py")


def test_an_agent_that_asks_for_a_login_opens_no_session_and_the_page_says_where_to_log_in(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    gateway = serve(tmp_path, CHOOSING)
    (gateway.root / "private").mkdir()
    tab = browser.tab()
    with tab.without_errors():
        tab.log_in(gateway)
        tab.do("click", "New session")
        tab.do("fill", "Working folder", str(gateway.root / "private"))
        tab.do("press", "Enter")
        tab.see("The agent asks for a login (Authentication required).", "on the gateway's machine")


def test_mode_commands_and_context_are_shown_and_can_be_used(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    gateway = serve(tmp_path, CHOOSING)
    tab, watcher = browser.tab(), browser.tab()
    session = new_session(gateway)
    mode = "() => document.querySelector('#mode').selectedOptions[0].textContent"
    with tab.without_errors(), watcher.without_errors():
        watcher.session(gateway, session, role=Role.OBSERVER.value)
        tab.session(gateway, session)
        tab.do("wait", "button[type=submit]:enabled")
        assert tab.do("evaluate", mode) == "Ask first"
        assert watcher.do("evaluate", "() => document.querySelector('#mode').disabled")
        tab.do("select", "Mode", "Locked")
        tab.see("The agent keeps its mode: It is locked.")
        assert tab.do("evaluate", mode) == "Ask first"
        tab.say("code")
        tab.see(f"Context: 25 % of {SIZE:,} tokens used, 0.25 USD", "Heard code")
        watcher.see("Context: 25 %")
        for each in (tab, watcher):
            each.do("until", f"() => ({mode})() === 'Write code'")
        tab.do("select", "Mode", "Ask first")
        holds_for_all(tab, "in-force")
        tab.do("size", 320, 640)
        right = "() => [...document.querySelectorAll('#mode, #prompt')].map((each) =>"
        right += " each.getBoundingClientRect().right)"
        mode_ends, prompt_ends = tab.do("evaluate", right)
        assert mode_ends <= prompt_ends
        tab.do("size", 1000, 760)
        tab.do("evaluate", "() => document.querySelector('.composer summary').click()")
        tab.see("/plan", "Run the tests", "/<b>")
        holds_for_all(tab, "commands")
        tab.do("fill", "Prompt", "/te")
        left = "() => document.querySelectorAll('.composer li:not([hidden])').length"
        tab.do("until", f"() => ({left})() === 1")
        tab.do("fill", "Prompt", "")
        tab.do("wait", ".composer details:not([open])")
        tab.do("fill", "Prompt", "/tes")
        tab.do("press", "Enter")
        tab.see("Heard /tes")
        tab.do("wait", ".composer details:not([open])")
        tab.do("fill", "Prompt", "/te")
        tab.do("click", "Log", "link")
        tab.do("click", "Conversation", "link")  # what was typed is still there
        tab.do("wait", "button[type=submit]:enabled")
        assert tab.do("evaluate", "() => document.querySelector('#prompt').value") == "/te"
        tab.do("click", "/test")
        tab.do("type", "now")
        tab.do("press", "Enter")
        tab.see("Heard /test now", "Context: 75 %")
        tab.do("reload")
        tab.do("wait", "button[type=submit]:enabled")
        tab.see("Context: 75 %")
        assert tab.do("evaluate", mode) == "Ask first"
        tab.do("wait", ".composer details:not([hidden])")


def test_a_timed_out_question_and_background_work_are_shown_on_a_phone(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    steps = (
        {"ask_permission": "Run the tests"},
        {"say": "Then not."},
        {"result": "end_turn"},
        {"wait": 1},
        {"say": "The build has passed."},
    )
    gateway = serve(tmp_path, scripted(tmp_path, *steps), "--ask-timeout", "3s")
    tab = browser.tab()
    tab.do("size", 390, 844)
    tab.session(gateway, new_session(gateway))
    tab.do("wait", "button[type=submit]:enabled")
    tab.listen("body")
    tab.say("Hello")
    tab.hear("The agent is waiting for your answer.")
    tab.see("Nobody answered the agent's question in time, so lastword did.")
    tab.hear("The agent is working in the background.")
    holds_for_all(tab, "background-390")
    assert tab.do("errors") == []


HOLDS_STATE = """() => {
  const real = window.fetch;
  window.fetch = async (...given) => {
    const response = await real(...given);
    if (!String(given[0]).includes("v1/sessions/")) return response;
    const told = await response.json();
    told.session.state = "running";
    await new Promise((release) => { window.release = release; });
    setTimeout(() => { window.isReleased = true; }, 0);
    return new Response(JSON.stringify(told), { headers: response.headers });
  };
}"""
"""What the gateway says of a session comes once the test releases it, and is old by then."""


def test_a_turn_that_ended_during_the_pages_request_for_the_state_is_over(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    command = scripted(tmp_path, {"say": "One."}, {"result": "end_turn"})
    gateway = serve(tmp_path, command, "--allow-host", "gateway.test")
    tab = browser.tab()
    session = new_session(gateway)
    with Partition(gateway.port) as link:
        url = f"http://gateway.test:{link.port}"
        tab.do("goto", gateway.link(url) + f"#/session/{session}")
        tab.do("wait", "button[type=submit]:enabled")
        tab.do("evaluate", HOLDS_STATE)
        link.reset()
        tab.do("until", "() => Boolean(window.release)")
        tab.say("Say it")
        tab.see("One.")
        tab.do("wait", "button[type=submit]:enabled")  # the turn is over
        tab.do("evaluate", "() => window.release()")
        tab.do("until", "() => window.isReleased")
        assert tab.do("count", "button[type=submit]:enabled") == 1
