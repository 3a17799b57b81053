"""An agent that no row tells of: its own logs and session files, and what is left alone there."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from lastword.core.failure.taxonomy import Attribution
from lastword.core.link.evidence import HintSource, SilentTurn
from lastword.sidecar import journal_files, own_logs
from lastword.sidecar.journal_files import Attributions
from lastword.sidecar.own_logs import OwnLogs, folders_of, words_of
from tests.kit import journal_samples
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.core.link.evidence import Hint

SESSION = "4f0e-a1-99"
AGENT = "@someone/newcomer-acp"


def warning(more: str = "") -> str:
    """Return a line that names neither a session nor a process."""
    said = "WARN the model provider answered 429 Too Many Requests, retrying"
    return f"{datetime.now(UTC).isoformat()} {said} {more}"


class Home:
    """A home with an agent's folder in it, and the one turn that is open."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / ".newcomer"
        self.folder.mkdir()
        self.environment = {"HOME": str(home)}
        self.logs = OwnLogs(AGENT, self.environment, Attributions(os.getpgrp))
        self.prompt()

    def prompt(self, *sessions: str) -> None:
        """Prompts are sent."""
        self.now = time.monotonic()
        self.turns = [SilentTurn(each, self.now, self.now) for each in sessions or (SESSION,)]
        for turn in self.turns:
            self.logs.mark(turn)
        assert not [hint for hint in self.logs.look(self.turns, []) if hint is not None]

    def write(self, path: str, line: str | None = None) -> Path:
        """Append a line, one of a failed call where none is given."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        # It stays open, as a logger's file does.
        os.write(opened, (line or journal_samples.claude(datetime.now(UTC))).encode() + b"\n")
        return file

    def look(self) -> list[Hint]:
        """What is new."""
        steps = self.logs.look(self.turns, self.turns)
        return [hint for hint in steps if hint is not None]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(journal_files, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(journal_files, "BORN_SECONDS", 0.0)
    return Home(tmp_path)


@pytest.mark.parametrize(
    "path", [f"projects/-a/{SESSION}.jsonl", f"s/{SESSION}/logs/a.log", f"x/2026_{SESSION}.ndjson"]
)
def test_a_failed_call_is_found_in_the_sessions_own_file(home: Home, path: str) -> None:
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


def test_a_file_that_is_created_between_a_prompt_and_its_first_look_is_the_turns(
    home: Home,
) -> None:
    os.utime(home.folder, (1, 1))
    assert home.look() == []
    home.now = time.monotonic()
    home.turns = [SilentTurn(SESSION, home.now, home.now)]
    home.logs.mark(home.turns[0])
    home.write(f"s/{SESSION}/logs/a.log")
    assert len(home.look()) == 1


@pytest.mark.parametrize(("folders", "found"), [(64, 1), (0, 0)])
def test_new_files_are_searched_in_a_few_folders_at_a_turns_end(
    home: Home, monkeypatch: pytest.MonkeyPatch, folders: int, found: int
) -> None:
    monkeypatch.setattr(own_logs, "MAX_SEARCHED_AT_END", folders)
    home.turns = [SilentTurn(SESSION, home.now, home.now, answered=True)]
    home.write(f"{SESSION}/a.log")
    assert len(home.look()) == found


def test_a_failure_in_several_files_is_reported_once(home: Home) -> None:
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


def test_files_of_other_sessions_and_other_kinds_are_ignored(home: Home) -> None:
    for path in ("projects/-a/4f0e-b2-00.jsonl", f"{SESSION}.json", "history.jsonl"):
        home.write(path)
    for skipped in ("node_modules", "plugins"):
        home.write(f"{skipped}/{SESSION}.jsonl")
    assert home.look() == []
    # An id that is short or no plain name is not looked for in paths.
    home.prompt("s1")
    home.write("s1/s1.jsonl")
    assert home.look() == []
    home.prompt("../.newcomer/x")
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


@every(
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
def test_an_agents_name_yields_distinctive_words(name: str | None, words: set[str]) -> None:
    assert words_of(name) == words
    assert words or not OwnLogs(name, {"HOME": "/"}, Attributions(os.getpgrp))


FOLDERS = (
    *(".newcomer", ".newcomer-code", ".local/share/newcomer", "state/newcomer-cli"),
    *("Library/Logs/newcomer", "given"),
)


def test_folders_carry_the_agents_name(tmp_path: Path) -> None:
    for path in (*FOLDERS, "newcomer", ".other", ".config/other"):
        (tmp_path / path).mkdir(parents=True)
    for path in (".newcomerrc", ".newcomer_file"):
        (tmp_path / path).touch()
    home = str(tmp_path)
    environment = {"HOME": home, "XDG_STATE_HOME": f"{home}/state"}
    environment |= {"NEWCOMER_HOME": f"{home}/given", "NEWCOMER_CONFIG_DIR": "relative"}
    environment |= {"NEWCOMER_MODEL": "/", "NEWCOMER_DIR": "/", "NEWCOMER_CODE_HOME": home}
    environment |= {"NEWCOMER_PROJECT_DIR": f"{home}/.other", "OTHER_HOME": f"{home}/.other"}
    found = folders_of(words_of("newcomer-acp"), environment)
    assert sorted(os.path.relpath(path, tmp_path) for path in found) == sorted(FOLDERS)


def test_the_most_recently_written_of_many_files_are_watched(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_logs, "MAX_LOGS", 8)
    monkeypatch.setattr(own_logs, "MAX_CANDIDATES", 100)
    for number in range(32):
        os.utime(home.write(f"logs/{number}.log", "x"), (number, number))
    for number in range(4 * own_logs.MAX_FILES):
        home.write(f"{SESSION}/{number}.jsonl", "x")
    assert home.look() == []
    assert {os.path.basename(path) for path in home.logs._logs} == {
        f"{number}.log" for number in range(24, 32)
    }
    assert len(home.logs._of_sessions[SESSION]) == own_logs.MAX_FILES


def test_sessions_are_remembered_up_to_a_bound(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_logs, "MAX_SESSIONS", 8)
    for number in range(20):
        session = f"session-{number:04}"
        home.prompt(session)
        home.write(f"{session}.jsonl")
        assert len(home.look()) == 1
    assert len(home.logs._of_sessions) == len(home.logs._reported_at) == own_logs.MAX_SESSIONS
    monkeypatch.setattr(own_logs, "MAX_CANDIDATES", 4)
    home.write("session-more.jsonl")
    assert home.look() == []
    assert len(home.logs._candidates) <= 20


def test_lines_of_one_log_belong_to_the_session_that_they_name_or_to_the_only_open_turn(
    home: Home,
) -> None:
    home.write("logs/agent.log", journal_samples.vibe(datetime.now(UTC)))
    (hint,) = home.look()
    assert (hint.verdict.type, hint.session_id) == ("rate_limit", None)
    home.prompt("session-1", "session-2", "session-3")
    at = datetime.now(UTC)
    for session, message in (("session-1", "401 Unauthorized"), ("session-2", "429 Slow down")):
        line = journal_samples.vibe(at, f"Client error '{message}'")
        home.write("logs/agent.log", f"{line} session.id={session}")
    home.write("logs/agent.log", f"{journal_samples.vibe(at)} session.id=ses_of_another")
    home.write("logs/agent.log", journal_samples.vibe(at))
    types = {hint.session_id: hint.verdict.type for hint in home.look()}
    assert types == {"session-1": "auth", "session-2": "rate_limit"}


def test_lines_before_the_prompts_position_do_not_count_whatever_their_time(
    home: Home,
) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    for path in (f"{SESSION}.jsonl", "logs/agent.log"):
        home.write(path, journal_samples.claude(later))
        home.write(path, journal_samples.vibe(later))
    home.prompt()
    assert home.look() == []
    home.write(f"{SESSION}.jsonl", journal_samples.claude(datetime(2026, 1, 1, tzinfo=UTC)))
    assert home.look() == []
    home.write(f"{SESSION}.jsonl")
    (hint,) = home.look()
    assert hint.attribution is Attribution.PROVEN


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("held", [True, False])
def test_a_log_that_this_agents_process_alone_holds_open_is_strong_evidence(
    home: Home, *, held: bool
) -> None:
    if held:
        home.write("logs/agent.log", warning())
    else:
        (home.folder / "logs.log").write_text(f"{warning()}\n")
    (hint,) = home.look()
    assert hint.attribution is (Attribution.STRONG if held else Attribution.WEAK)
