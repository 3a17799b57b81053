"""The record's page in Chromium: as one file, and live from `lastword log --web`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.core.timeline.entry import Kind
from tests.interop.page.test_page import NO_SCROLL, holds_for_all
from tests.kit.desk import Editor
from tests.kit.log_web import LogWeb, wait_until_recorded
from tests.kit.recording import Book, a_run, lastword, now_ms, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.page.browser import Browser

EVIL = "</script><!-- <img src=x onerror=alert(1)> \u202e]]> <b>bold</b> {{x}} ${x}"
INCIDENT = "01RUNA-2"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A session with a turn that went well and one that failed, and hostile words in both."""
    book = Book(now_ms() - 60_000)
    book.note(Kind.AGENT_READY, name=EVIL[:100], version="1")
    book.created("s1")
    book.ok("s1", 1)
    book.note(Kind.PROMPT, "s1", 2)
    book.note(Kind.RETRY, "s1", 2, type="rate_limit", attempt=2, wait_seconds=3.0, source="wire")
    book.note(Kind.TOOL_STARTED, "s1", 2, call=EVIL, tool="edit")
    book.note(
        Kind.ERROR,
        "s1",
        2,
        type="rate_limit",
        incident_id=INCIDENT,
        detail={"text": EVIL},
        retryable=True,
    )
    write(tmp_path / "state", book, a_run(at_ms=book.began_ms))
    return tmp_path / "state"


@pytest.fixture
def page(state: Path) -> str:
    target = state.parent / "session.html"
    done = lastword("export", "--last", "--html", "-o", str(target), state=state)
    assert done.returncode == 0, done.stderr
    return target.as_uri()


def test_a_session_in_one_file_is_read_filtered_opened_and_copied(
    browser: Browser, page: str
) -> None:
    tab = browser.tab()
    with tab.without_errors():
        tab.do("goto", page)
        tab.see("Failures", "Before the first turn", "Turn 1", "ended well", "failed after 1.5 s")
        tab.see("Try again in a moment.")
        assert tab.do("evaluate", "() => performance.getEntriesByType('resource').length") == 0
        assert tab.do("count", "main img, main b") == 0
        holds_for_all(tab, "file")
        tab.do("select", "Show", "Turns")
        tab.do("until", "() => !document.querySelector('.log').innerText.includes('Tool')")
        tab.do("select", "Show", "Tools and questions")
        tab.do("until", "() => !document.querySelector('.log').innerText.includes('Failure')")
        tab.do("click", f"Incident {INCIDENT}", "link")
        tab.see("Copy the details")
        assert tab.do("evaluate", "() => document.activeElement.textContent").count("Rate limited")
        tab.do("click", "Details")
        holds_for_all(tab, "file-incident")
        tab.do("click", "Copy the summary")
        tab.see("Copied")


def test_the_file_shows_the_summary_and_every_entry_without_scripts(
    browser: Browser, page: str
) -> None:
    tab = browser.tab(scripts=False)
    tab.do("goto", f"{page}#incident={INCIDENT}")
    tab.see("Rate limited", "Turn 2 failed after 1.5 s", "attempt 2", "tool starts (edit)")
    assert tab.do("count", "li[id='incident=01RUNA-2']") == 1
    assert tab.do("count", "main img, main b") == 0
    tab.do("size", 320, 640)
    assert tab.do("evaluate", NO_SCROLL)
    tab.shot("file-without-scripts")


def test_the_record_is_read_live_and_its_link_works_once(browser: Browser, tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    editor.play("rate_limit")
    wait_until_recorded(tmp_path, 1)
    with LogWeb(tmp_path) as served:
        tab = browser.tab()
        with tab.without_errors():
            tab.do("goto", served.link)
            assert "code=" not in tab.do("evaluate", "() => location.href")
            tab.see("Recorded sessions", "Rate limited")
            holds_for_all(tab, "record-sessions")
            tab.do("click", editor.session, "link")
            tab.see("Turn 1", "failed after")
            editor.play("crash_after_text")
            editor.leave()
            tab.see("Turn 2", "The agent crashed.")
            holds_for_all(tab, "record-session")
        other = browser.tab()
        assert other.do("goto", served.link) == 401
        other.see("This link has already been used")
        assert served.stop()[0] == 0
        tab.see("is no longer running")


def test_messages_show_how_lastword_changed_them(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "frames.jsonl"
    editor = Editor(tmp_path, "--frames", str(file))
    editor.play("rate_limit")
    with LogWeb(tmp_path, "--frames", str(file)) as served:
        tab = browser.tab()
        with tab.without_errors():
            tab.do("goto", served.link)
            tab.see("Messages", "client → agent", "session/prompt", "changed")
            tab.do("select", "Show", "What lastword changed, added or held back")
            tab.do(
                "until",
                "() => !document.querySelector('.frames').innerText.includes('session/new')",
            )
            tab.do("evaluate", "() => document.querySelector('.meddled details').open = true")
            tab.see("agent_error")
            holds_for_all(tab, "record-frames")
            tab.do("fill", "with the words", "no such words")
            tab.see("0 shown")
            tab.do("fill", "with the words", "")
            editor.play("crash_after_text")
            editor.leave()
            tab.see("lastword → client", "added")
