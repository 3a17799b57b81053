"""An agent that no row tells of: its own logs and session files, and what is left alone there."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from lastword.core.link.retries.hints import HintSource, SilentTurn
from lastword.sidecar import own_logs
from lastword.sidecar.own_logs import OwnLogs, folders_of, search, words_of
from tests.kit import journal_samples

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.core.link.retries.hints import Hint

SESSION = "4f0e-a1-99"
AGENT = "@someone/newcomer-acp"


class Home:
    """A home with an agent's folder in it, and the one turn that is open."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / ".newcomer"
        self.folder.mkdir()
        self.environment = {"HOME": str(home)}
        self.now = time.monotonic()
        self.turns = [SilentTurn(SESSION, self.now, self.now)]
        self.logs = OwnLogs(AGENT, self.environment)

    def write(self, path: str, line: str | None = None) -> Path:
        """Append a line, one of a failed call where none is given."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as opened:
            opened.write((line or journal_samples.claude(datetime.now(UTC))) + "\n")
        return file

    def look(self) -> list[Hint]:
        """What is new."""
        return self.logs.look(self.turns, time.monotonic())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize(
    "path", [f"projects/-a/{SESSION}.jsonl", f"s/{SESSION}/logs/a.log", f"x/2026_{SESSION}.ndjson"]
)
def test_a_failed_call_is_found_in_the_sessions_own_file(
    home: Home, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_logs, "SEARCH_SHARE", 0)
    assert home.look() == []
    home.write(path)
    (hint,) = home.look()
    assert (hint.verdict.type, hint.session_id, hint.source) == (
        "rate_limit",
        SESSION,
        HintSource.LOG,
    )
    assert (hint.attempt, hint.max_attempts, hint.wait_seconds) == (2, 11, 2.0)
    assert home.now <= hint.at_seconds <= time.monotonic()
    assert home.look() == []
    home.write(path, "another line")
    assert home.look() == []


def test_a_log_is_read_that_names_no_session(home: Home) -> None:
    home.write("logs/agent.log", journal_samples.vibe(datetime.now(UTC)))
    (hint,) = home.look()
    assert (hint.verdict.type, hint.session_id) == ("rate_limit", None)


def test_what_several_files_tell_of_one_failure_is_told_once(home: Home) -> None:
    at = datetime.now(UTC)
    home.write(f"{SESSION}/wire.jsonl", journal_samples.claude(at))
    home.write(f"{SESSION}/logs/agent.log", journal_samples.kimi_code(at))
    (hint,) = home.look()
    assert hint.attempt == 2
    home.write(f"{SESSION}/wire.jsonl", journal_samples.claude(at))
    assert home.look() == []


def test_a_servers_page_over_several_lines_is_read_with_the_line_that_it_is_in(home: Home) -> None:
    begin = f"{datetime.now(UTC).isoformat()} | ERROR | run:9 -"
    for text in ("llm.APIStatusError: <html>", "<head><title>502 Bad Gateway</title></head>"):
        home.write("logs/agent.log", f"{begin} {text}")
    (hint,) = home.look()
    assert hint.verdict.type == "provider_unavailable"


def test_a_line_of_another_session_is_left_alone(home: Home) -> None:
    line = journal_samples.vibe(datetime.now(UTC))
    home.write("logs/agent.log", f"{line} session.id=ses_of_another")
    assert home.look() == []
    home.write("logs/agent.log", f"{line} session.id={SESSION}")
    assert len(home.look()) == 1


def test_files_of_other_sessions_and_other_kinds_are_left_alone(home: Home) -> None:
    for path in ("projects/-a/4f0e-b2-00.jsonl", f"{SESSION}.json", "history.jsonl"):
        home.write(path)
    for skipped in ("node_modules", "plugins"):
        home.write(f"{skipped}/{SESSION}.jsonl")
    assert home.look() == []


def test_what_was_written_before_the_turn_is_no_hint(home: Home) -> None:
    home.write(f"{SESSION}.jsonl", journal_samples.claude(datetime(2026, 1, 1, tzinfo=UTC)))
    assert home.look() == []
    file = home.write(f"old/{SESSION}.log")
    os.utime(file, (1, 1))
    assert home.look() == []


def test_links_are_not_followed(home: Home, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    target = outside / f"{SESSION}.jsonl"
    target.write_text(journal_samples.claude(datetime.now(UTC)) + "\n")
    (home.folder / f"{SESSION}.jsonl").symlink_to(target)
    (home.folder / "sessions").symlink_to(outside)
    (home.folder / f"{SESSION}.log").mkdir()
    os.mkfifo(home.folder / f"{SESSION}-pipe.log")
    assert home.look() == []


def test_a_short_id_is_in_a_path_by_chance(home: Home) -> None:
    home.turns = [SilentTurn("s1", home.now, home.now)]
    home.write("s1/s1.jsonl")
    assert home.look() == []
    home.turns = [SilentTurn("../.newcomer/x", home.now, home.now)]
    assert home.look() == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("@someone/newcomer-acp", {"someone", "newcomer"}),
        ("Kimi Code CLI", {"kimi"}),
        ("OpenCode", {"opencode"}),
        ("agent", set()),
        ("my-agent-cli", set()),
        (None, set()),
    ],
)
def test_an_agents_name_has_words_that_tell_it_from_others(
    name: str | None, words: set[str]
) -> None:
    assert words_of(name) == words
    assert words or not OwnLogs(name, {"HOME": "/"})


def test_folders_carry_the_agents_name(tmp_path: Path) -> None:
    for path in (
        ".newcomer",
        ".newcomer-code",
        "newcomer",
        ".other",
        ".local/share/newcomer",
        ".config/other",
        "state/newcomer-cli",
        "Library/Logs/newcomer",
        "given",
    ):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / ".newcomerrc").touch()
    (tmp_path / ".newcomer_file").touch()
    environment = {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "NEWCOMER_HOME": str(tmp_path / "given"),
        "NEWCOMER_CONFIG_DIR": "relative",
        "NEWCOMER_MODEL": "/",
        "NEWCOMER_DIR": "/",
        "NEWCOMER_CODE_HOME": str(tmp_path),
        "NEWCOMER_PROJECT_DIR": str(tmp_path / ".other"),
        "OTHER_HOME": str(tmp_path / ".other"),
    }
    found = folders_of(words_of("newcomer-acp"), environment)
    assert [os.path.relpath(path, tmp_path) for path in found] == sorted(
        [
            "given",
            ".newcomer",
            ".newcomer-code",
            ".local/share/newcomer",
            "state/newcomer-cli",
            "Library/Logs/newcomer",
        ],
        key=[os.path.relpath(path, tmp_path) for path in found].index,
    )


def test_a_search_is_bounded_and_begins_where_something_changed_last(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4 * own_logs.MAX_FILES):
        home.write(f"logs/{number}.log", "x")
    assert len(search([str(home.folder)], SESSION)) == own_logs.MAX_FILES
    monkeypatch.setattr(own_logs, "MAX_ENTRIES", 40)
    home.write(f"new/{SESSION}.jsonl")
    found = search([str(home.folder / "logs"), str(home.folder / "new")], SESSION)
    assert os.path.basename(found[0]) == f"{SESSION}.jsonl"
    assert search([str(home.folder / "gone")], SESSION) == []


def test_a_search_that_took_long_is_not_made_again_at_each_look(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_logs, "SEARCH_SHARE", 1e9)
    assert home.look() == []
    home.write(f"{SESSION}.jsonl")
    assert home.look() == []
    monkeypatch.setattr(own_logs, "MAX_SEARCH_SECONDS", 0.0)
    home.turns = [SilentTurn("another-session", home.now, home.now)]
    assert home.look() == []
    home.write("another-session.jsonl")
    assert len(home.look()) == 1


def test_sessions_and_files_are_remembered_up_to_a_bound(home: Home) -> None:
    for number in range(2 * own_logs.MAX_STORED):
        session = f"session-{number:04}"
        home.write(f"{session}.jsonl")
        home.turns = [SilentTurn(session, home.now, home.now)]
        assert len(home.look()) == 1
    assert len(home.logs._files) == own_logs.MAX_STORED
    assert len(home.logs._paths) <= own_logs.MAX_STORED
