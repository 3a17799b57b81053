"""`lastword stats`: failures by type, agent and day, and whether every turn was answered."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from lastword.core.timeline.entry import Kind
from tests.kit.recording import DAY_MS, HOUR_MS, Book, a_run, lastword, now_ms, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Two agents: one of today, with failures; one of ten days ago."""
    old = Book(now_ms() - 10 * DAY_MS)
    old.note(Kind.AGENT_READY, name="old-agent", version="1")
    old.failed("s0", 1, "network")
    old.failed("s0", 2, "rate_limit")
    write(tmp_path, old, a_run("01OLD", at_ms=old.began_ms))
    new = Book(now_ms() - HOUR_MS)
    new.note(Kind.AGENT_READY, name="new-agent", version="1")
    for turn in range(1, 4):
        new.failed("s1", turn, "rate_limit")
    new.failed("s1", 4, "agent_crash")
    new.note(Kind.AGENT_RESTARTED, attempt=1)
    new.ok("s1", 5)
    new.note(Kind.PROMPT, "s1", 6)
    new.note(Kind.RETRY, "s1", 6, attempt=2, wait_seconds=30, type="rate_limit")
    new.note(Kind.ANSWER, "s1", 6, stop_reason="cancelled", by="agent")
    new.note(Kind.ERROR, type="auth", method="session/new")
    write(tmp_path, new, a_run("01NEW", at_ms=new.began_ms))
    return tmp_path


def test_the_last_days_are_compared_with_the_days_before(state: Path) -> None:
    told = json.loads(lastword("stats", "--json", state=state).stdout)
    now, before = told["now"], told["before"]
    assert (now["turns"], now["ok"], now["failed"], now["cancelled"]) == (6, 1, 4, 1)
    assert (now["failed_requests"], now["restarts"], now["retries"]) == (1, 1, 1)
    # Half a minute was announced, and the next entry came after half a second.
    assert (now["wait_seconds"], now["answered_percent"], now["ok_percent"]) == (0.5, 100.0, 20.0)
    assert now["by_type"] == {"rate_limit": 3, "agent_crash": 1}
    assert now["by_agent"] == {"new-agent": 4}
    assert sum(now["by_day"].values()) == 4
    assert now["requests_by_type"] == {"auth": 1}
    assert now["requests_by_agent"] == {"new-agent": 1}
    assert now["first_output"] == {"count": 1, "p50": 0.5, "p90": 0.5, "p99": 0.5}
    assert now["whole_turn"]["p50"] == 1.0
    assert before["by_type"] == {"network": 1, "rate_limit": 1}
    assert before["restarts"] == 0
    longer = json.loads(lastword("stats", "--json", "--days", "30", state=state).stdout)
    assert longer["now"]["by_type"]["rate_limit"] == 4
    assert longer["before"]["turns"] == 0


def test_the_text_output_shows_the_change(state: Path) -> None:
    done = lastword("stats", state=state, COLUMNS="60")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {" ".join(line.split()) for line in done.stdout.splitlines()}
    assert done.stdout.startswith("The last 7 days, compared with the 7 days")
    assert {"turns 6 4 more", "failed 4 2 more", "agents restarted 1 1 more"} <= rows
    assert "succeeded (without cancelled turns) 20.00 %" in rows
    assert "100 %" not in done.stdout
    assert {"rate limit 3 2 more", "network error 0 1 fewer", "new-agent 4 4 more"} <= rows
    assert "old-agent 0 2 fewer" in rows
    assert "to the first output 500 ms 500 ms 500 ms" in rows
    assert any(re.match(r"\d{4}-\d\d-\d\d 4 in 6 turns #+$", row) for row in rows)
    assert max(map(len, done.stdout.splitlines())) <= 60


def test_a_turn_without_an_end_counts_as_unanswered_unless_its_run_is_open(state: Path) -> None:
    book = Book(now_ms() - 1000)
    book.note(Kind.PROMPT, "s9", 1)
    write(state, book, a_run("01HERE", pid=os.getpid(), at_ms=now_ms()), ended=False)
    shown = lastword("stats", state=state).stdout
    assert "no end recorded" not in shown
    assert "running" in shown
    write(state, book, a_run("01GONE"), ended=False)
    told = json.loads(lastword("stats", "--json", state=state).stdout)["now"]
    assert (told["running"], told["no_end"]) == (1, 1)
    assert round(told["answered_percent"], 1) == 85.7
    assert "no end recorded" in lastword("stats", state=state).stdout


def test_a_period_without_successes_is_not_a_hundred_percent(tmp_path: Path) -> None:
    book = Book(now_ms() - HOUR_MS)
    for turn in range(1, 4):
        book.failed("s1", turn, "auth")
    write(tmp_path, book)
    rows = [
        " ".join(line.split()) for line in lastword("stats", state=tmp_path).stdout.splitlines()
    ]
    assert "succeeded (without cancelled turns) 0.00 %" in rows
    assert not any("100 %" in row for row in rows)


def test_the_time_that_a_user_takes_for_a_question_is_not_slow_first_output(tmp_path: Path) -> None:
    book = Book(now_ms() - HOUR_MS)
    book.note(Kind.PROMPT, "s1", 1)
    book.note(Kind.ASKED, "s1", 1, what="permission")
    book.seconds += 102
    book.note(Kind.USER_ANSWERED, "s1", 1)
    book.note(Kind.FIRST_OUTPUT, "s1", 1)
    book.note(Kind.ANSWER, "s1", 1, stop_reason="end_turn", by="agent")
    write(tmp_path, book)
    told = json.loads(lastword("stats", "--json", state=tmp_path).stdout)["now"]
    assert told["first_output"]["p50"] == 0.5
    summary = lastword("export", "--last", "-o", "-", state=tmp_path).stdout
    assert "| 500 ms |" in summary


def test_a_failure_counts_for_its_agent_although_its_run_began_a_moment_later(
    tmp_path: Path,
) -> None:
    book = Book(now_ms() - 8 * DAY_MS)
    book.note(Kind.AGENT_READY, name="an-agent", version="1")
    book.failed("s", 1)
    write(tmp_path, book, a_run(at_ms=now_ms()))
    told = json.loads(lastword("stats", "--json", state=tmp_path).stdout)
    assert told["before"]["by_agent"] == {"an-agent": 1}


def test_a_period_without_turns_says_so(tmp_path: Path) -> None:
    book = Book(now_ms() - 100 * DAY_MS)
    book.ok("s", 1)
    write(tmp_path, book, a_run(at_ms=book.began_ms))
    done = lastword("stats", state=tmp_path)
    assert done.returncode == 0
    assert "No turn was recorded in this time" in done.stdout
