"""The list of `lastword log`: numbers, what is left out, what its marks mean, what is cut."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from lastword.core.timeline.entry import Kind
from tests.kit.recording import HOUR_MS, Book, a_run, lastword, now_ms, write

if TYPE_CHECKING:
    from pathlib import Path

LONG_ID = "019a1b2c-1111-2222-3333-444455556666"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Three sessions: a number's beginning, a long id, and one whose id is a number."""
    for hours, (run, session) in enumerate((("01A", "2"), ("01B", LONG_ID), ("01C", "1f-last"))):
        book = Book(now_ms() - (3 - hours) * HOUR_MS)
        book.created(session)
        book.note(Kind.PROMPT, session, 1)
        book.note(Kind.SILENCE, session, 1, silent_seconds=45)
        book.note(Kind.ANSWER, session, 1, stop_reason="end_turn", by="agent")
        book.failed(session, 2, retry_safety="ask", phase="after_tool", action="confirm_retry")
        write(tmp_path, book, a_run(run, at_ms=book.began_ms))
    return tmp_path


def opened(state: Path, name: str) -> tuple[str, str]:
    done = lastword("log", name, "--json", state=state)
    return str(json.loads(done.stdout)["session_id"]), done.stderr


def test_a_number_opens_the_session_that_the_list_has_there(state: Path) -> None:
    listed = json.loads(lastword("log", "--json", state=state).stdout)["sessions"]
    assert [(each["number"], each["session_id"]) for each in listed] == [
        (1, "1f-last"),
        (2, LONG_ID),
        (3, "2"),
    ]
    assert opened(state, "3") == ("2", "")
    done = lastword("export", "3", "-o", "-", state=state)
    assert done.stdout.startswith("# Session `2`")
    missing = lastword("log", "4", state=state)
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "no session begins with '4'" in missing.stderr


def test_a_number_wins_over_the_beginning_of_an_id_and_a_whole_id_over_a_number(
    state: Path,
) -> None:
    assert opened(state, "1") == ("1f-last", ""), "the same by its number and by its id"
    book = Book(now_ms() - 9 * HOUR_MS)
    book.created("1e-first")
    book.ok("1e-first", 1)
    write(state, book, a_run("01FIRST", at_ms=book.began_ms))
    session, said = opened(state, "1")
    assert session == "1f-last"
    assert "1 is read as a number in the list" in said
    assert opened(state, "1f") == ("1f-last", "")
    session, said = opened(state, "2")
    assert session == "2"
    assert "2 is a session's id here, not a number in the list" in said
    assert opened(state, "019") == (LONG_ID, ""), "no number begins with 0"


def test_a_cut_id_shows_that_it_was_cut_and_opens_its_session(state: Path) -> None:
    shown = lastword("log", state=state, COLUMNS="60").stdout
    assert LONG_ID not in shown
    (cut,) = [word for word in shown.split() if word.endswith("…")]
    assert opened(state, cut) == (LONG_ID, "")
    assert LONG_ID in lastword("log", state=state, COLUMNS="100").stdout
    plain = lastword("log", state=state, COLUMNS="60", PYTHONIOENCODING="ascii").stdout
    assert "019a1b2c-1111-2..." in plain


def test_the_list_explains_its_marks_and_marks_silent_turns(state: Path) -> None:
    shown = lastword("log", state=state, COLUMNS="100").stdout
    assert shown.count("    sx  2 turns\n") == 3
    assert shown.count("silent for 45 s or more\n") == 3
    assert "s ok after a long silence" in shown
    (first, *_) = json.loads(lastword("log", "--json", state=state).stdout)["sessions"]
    assert [turn["silent_seconds"] for turn in first["turns"]] == [45, None]


def test_the_list_says_how_many_sessions_it_left_out(state: Path) -> None:
    one = lastword("log", "--limit", "2", state=state, COLUMNS="100").stdout
    assert "1 older session is not shown; `lastword log --all` lists every one.\n" in one
    told = json.loads(lastword("log", "--limit", "1", "--json", state=state).stdout)
    assert (told["more"], told["left_out"], len(told["sessions"])) == (True, 2, 1)
    every = json.loads(lastword("log", "--all", "--json", state=state).stdout)
    assert (every["more"], every["left_out"], len(every["sessions"])) == (False, 0, 3)
    both = lastword("log", "--all", "--limit", "2", state=state)
    assert (both.returncode, both.stdout) == (2, "")


def test_a_session_opens_with_its_story_and_a_failure_with_advice(state: Path) -> None:
    shown = lastword("log", "1f", state=state, COLUMNS="100").stdout
    assert shown.startswith("Turn 2: The turn failed after 500 ms. The model provider is limiting")
    story = json.loads(lastword("log", "1f", "--json", state=state).stdout)["story"]
    assert (story["turn"], story["outcome"], story["confidence"]) == (2, "failed", "certain")
    assert " ".join(shown.split()).startswith(f"Turn 2: {story['text']} ")
    failures = lastword("log", "--errors", "--limit", "1", state=state, COLUMNS="100").stdout
    assert "It failed after a tool had run.\n" in failures
    assert "To do: Check what has already been done before you try again.\n" in failures
    assert "Retry: only if the user agrees, because a tool had run.\n" in failures


def test_a_session_shows_when_it_failed_and_whether_it_recovered_or_is_running(
    tmp_path: Path,
) -> None:
    hurt, well, mended = (Book(now_ms() - hours * HOUR_MS) for hours in (3, 2, 1))
    hurt.ok("hurt", 1)
    hurt.failed("hurt", 2, "auth", incident_id="01A-1")
    well.ok("well", 1)
    mended.failed("mended", 1)
    mended.ok("mended", 2)
    write(tmp_path, hurt, a_run("01A", at_ms=hurt.began_ms))
    write(tmp_path, well, a_run("01B", at_ms=well.began_ms))
    write(tmp_path, mended, a_run("01C", pid=os.getpid(), at_ms=now_ms()), ended=False)
    shown = lastword("log", state=tmp_path, TZ="UTC").stdout
    blocks = {block.split()[1]: block.splitlines()[-1] for block in shown.split("\n\n")[:3]}
    assert re.fullmatch(
        r" {4}The last turn failed: login refused at \d\d:\d\d:\d\d\. Ended\.", blocks["hurt"]
    )
    assert blocks["well"] == "    Ended."
    assert re.fullmatch(
        r" {4}Recovered after a failure: rate limit at \d\d:\d\d:\d\d\. Still open\.",
        blocks["mended"],
    )
    told = json.loads(lastword("log", "--json", state=tmp_path).stdout)["sessions"]
    failures = {each["session_id"]: each["last_failure"] for each in told}
    assert failures["well"] is None
    assert failures["hurt"]["incident_id"] == "01A-1"
    recovered = {name: found["recovered"] for name, found in failures.items() if found}
    assert recovered == {"hurt": False, "mended": True}
