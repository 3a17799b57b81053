"""The record on Windows, which several processes write and some of them do not survive."""

from __future__ import annotations

import json
import sqlite3
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

from tests.kit.collector import OK, Collector, answer
from tests.windows.kit import Editor, agent, failure, lastword, run

if TYPE_CHECKING:
    from pathlib import Path


def listed(folder: Path) -> list[dict[str, Any]]:
    """Return the sessions that the record has."""
    ended = run(*lastword("log", "--record", str(folder), "--json"))
    assert ended.returncode == 0, ended.stderr.decode()
    sessions: list[dict[str, Any]] = json.loads(ended.stdout)["sessions"]
    return sessions


def test_three_that_are_killed_leave_a_record_that_can_be_read_and_written(tmp_path: Path) -> None:
    folder = tmp_path / "Aufzeichnungen für Müller"
    options = ("--record", str(folder))
    with ExitStack() as stack:
        editors = [stack.enter_context(Editor(*agent("silent"), options=options)) for _ in "abc"]
        sessions = [editor.session() for editor in editors]
        for _ in range(3):
            prompts = [each.ask(session) for each, session in zip(editors, sessions, strict=True)]
            for editor, prompt in zip(editors, prompts, strict=True):
                assert failure(editor.answer(prompt))["reason"] == "silent_success"
        for editor in editors:
            editor.process.kill()
    assert listed(folder)
    with closing(sqlite3.connect(folder / "record.db")) as record:
        assert record.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    before = len(listed(folder))
    with Editor(*agent("fine"), options=options) as editor:
        editor.prompt(editor.session())
        assert editor.leave() == 0
    assert len(listed(folder)) == before + 1


def test_a_failure_is_recorded_and_shown_while_the_session_continues(tmp_path: Path) -> None:
    with Editor(*agent("crash"), options=("--record", str(tmp_path / "r"))) as editor:
        failure(editor.prompt(editor.session()))
        editor.session()  # the agent is started again, which takes longer than to record
        (session,) = listed(tmp_path / "r")[-1:]
        assert "agent_crash" in json.dumps(session)
        editor.leave()


def waiting(folder: Path) -> int:
    """Return how many reports wait."""
    shown = run(*lastword("outbox", "--record", str(folder), "--json"))
    return int(json.loads(shown.stdout)["waiting"])


def test_a_report_that_was_refused_outlives_a_killed_lastword_and_arrives(tmp_path: Path) -> None:
    folder = tmp_path / "Müller"
    with Collector(answer(503)) as collector:
        options = ("--record", str(folder), "--report-to", collector.url)
        with Editor(*agent("silent"), options=options) as editor:
            failure(editor.prompt(editor.session()))
            collector.expect(1)
            editor.process.kill()
        assert waiting(folder) == 1
        collector.turn_to(OK)
        sent = run(*lastword("outbox", "--send", *options))
        assert sent.returncode == 0, sent.stderr.decode()
        assert "silent_success" in json.dumps(collector.accepted[0].facts)
    assert waiting(folder) == 0


def test_a_recorded_failure_is_counted_exported_and_explained(tmp_path: Path) -> None:
    folder = str(tmp_path / "r")
    with Editor(*agent("crash"), options=("--record", folder)) as editor:
        failure(editor.prompt(editor.session()))
        editor.leave()
    assert b"agent_crash" in run(*lastword("stats", "--record", folder, "--json")).stdout
    page = tmp_path / "Sitzung für Müller.html"
    made = run(*lastword("export", "--last", "--record", folder, "--html", "-o", str(page)))
    assert made.returncode == 0, made.stderr.decode()
    assert "0xC0000005" in page.read_text(encoding="utf-8")
    assert b"agent_crash" in run(*lastword("explain", "--exit-code", "0xC0000005")).stdout
