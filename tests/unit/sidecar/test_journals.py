"""The journals that agents keep: what is found in them, and what is left alone."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.link.evidence import SilentTurn
from lastword.sidecar import journal_files, journals
from lastword.sidecar.journal_files import MAX_NEWS_BYTES, Attributions, GrowingFile, is_plain
from lastword.sidecar.journals import Journals
from tests.kit import journal_samples
from tests.kit.journal_samples import SESSION
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.core.link.evidence import Hint

LINE = b"a line\n"
NAMES = {
    "claude": ("claude-agent-acp", "CLAUDE_CONFIG_DIR", f"projects/-a/{SESSION}.jsonl"),
    "kimi_code": (
        "Kimi Code CLI", "KIMI_CODE_HOME", f"sessions/a/{SESSION}/logs/kimi-code.log",
    ),
    "kimi": ("Kimi Code CLI", "KIMI_SHARE_DIR", "logs/kimi.log"),
    "kimi_retries": ("Kimi Code CLI", "KIMI_SHARE_DIR", "logs/kimi.log"),
    "kimi_requests": ("Kimi Code CLI", "KIMI_SHARE_DIR", "logs/kimi.log"),
    "pi": ("pi-acp", "PI_CODING_AGENT_DIR", f"sessions/--a--/2026_{SESSION}.jsonl"),
    "qwen": ("qwen-code", "QWEN_HOME", f"projects/-a/chats/{SESSION}.jsonl"),
    "opencode": ("OpenCode", "XDG_DATA_HOME", "opencode/log/opencode.log"),
    "vibe": ("@mistralai/mistral-vibe", "VIBE_HOME", "logs/vibe.log"),
    "cline": ("cline", "CLINE_DATA_DIR", "logs/hooks.jsonl"),
}  # fmt: skip
"""By the name of its sample: what the agent calls itself, its folder's variable, the file in it."""


class Desk:
    """An agent's folder, and the one turn that is open."""

    def __init__(self, folder: Path, sample: str = "claude") -> None:
        agent, variable, path = NAMES[sample]
        self.sample = sample
        self.path = folder / path
        self.path.parent.mkdir(parents=True)
        attributions = Attributions(os.getpgrp)
        self.journals = Journals(agent, {variable: str(folder)}, attributions)
        self.now = time.monotonic()
        self.turns = [SilentTurn(SESSION, self.now, self.now)]
        # As the agents do whose logs name neither a session nor a process.
        if path.endswith("kimi.log"):
            os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.prompt()

    def prompt(self, session: str = SESSION) -> None:
        """A prompt is sent."""
        self.now = time.monotonic()
        self.turns = [SilentTurn(session, self.now, self.now)]
        for turn in self.turns:
            self.journals.mark(turn)
        assert not [hint for hint in self.journals.look(self.turns, []) if hint is not None]

    def write(self, *lines: str) -> None:
        """Append lines, as the agent does."""
        with self.path.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def fail(self, at: datetime | None = None, **facts: Any) -> None:
        """The agent writes down that a call failed."""
        self.write(getattr(journal_samples, self.sample)(at or datetime.now(UTC), **facts))

    def look(self) -> list[Hint]:
        """What is new."""
        steps = self.journals.look(self.turns, self.turns)
        return [hint for hint in steps if hint is not None]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is listed at each look, however soon it follows the last."""
    monkeypatch.setattr(journal_files, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(journal_files, "BORN_SECONDS", 0.0)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@every("sample", NAMES)
def test_a_failure_that_an_agent_writes_during_a_turn_is_found_in_its_journal(
    tmp_path: Path, sample: str
) -> None:
    desk = Desk(tmp_path, sample)
    assert desk.look() == []
    desk.fail()
    (hint,) = desk.look()
    assert hint.verdict.type in {"rate_limit", "network"}
    assert hint.session_id == (
        None if sample.startswith(("kimi", "vibe")) and sample != "kimi_code" else SESSION
    )
    assert desk.now <= hint.at_seconds <= time.monotonic()
    assert desk.look() == []


@every("sample", NAMES)
def test_a_file_that_is_created_between_a_prompt_and_its_first_look_is_the_turns(
    tmp_path: Path, sample: str
) -> None:
    desk = Desk(tmp_path, sample)
    for folder, _, _ in os.walk(tmp_path):
        os.utime(folder, (1, 1))
    assert desk.look() == []
    desk.now = time.monotonic()
    desk.turns = [SilentTurn(SESSION, desk.now, desk.now)]
    desk.journals.mark(desk.turns[0])
    # A busy machine: the agent fails before lastword has listed the folder.
    desk.fail()
    assert len(desk.look()) == 1


def test_only_the_last_of_several_attempts_is_reported(desk: Desk) -> None:
    for attempt in (1, 2, 3):
        desk.fail(attempt=attempt)
    (hint,) = desk.look()
    assert (hint.attempt, hint.max_attempts, hint.wait_seconds) == (4, 11, 2.0)
    assert hint.goes_on


def test_lines_of_several_kinds_in_one_file_are_reported_in_their_order(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "kimi")
    now = datetime.now(UTC)
    quota = "Error code: 429 - You exceeded your current quota, please check your plan and billing."
    desk.write(journal_samples.kimi_requests(now))
    desk.write(journal_samples.kimi(now + timedelta(milliseconds=20), quota))
    hints = desk.look()
    assert [(hint.verdict.type, hint.goes_on) for hint in hints] == [
        ("rate_limit", None),
        ("budget", False),
    ]
    assert desk.look() == []


def test_a_title_that_fails_hides_no_failure_of_the_turn(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "opencode")
    desk.fail()
    desk.fail(small=True)
    assert [hint.side for hint in desk.look()] == [False, True]


def test_earlier_lines_do_not_count_and_a_line_is_read_once_it_is_whole(
    desk: Desk,
) -> None:
    desk.fail(datetime(2026, 1, 1, tzinfo=UTC))
    assert desk.look() == []
    line = journal_samples.claude(datetime.now(UTC))
    with desk.path.open("a") as file:
        file.write(line[:50])
    assert desk.look() == []
    desk.write(line[50:])
    assert len(desk.look()) == 1


def test_a_file_that_was_exchanged_cut_or_removed_is_read_from_its_beginning(desk: Desk) -> None:
    desk.write("x" * 5000)
    assert desk.look() == []
    desk.path.rename(desk.path.with_suffix(".old"))
    desk.fail()
    assert len(desk.look()) == 1
    desk.write("x" * 5000)
    assert desk.look() == []
    desk.path.write_text("")
    desk.fail()
    assert len(desk.look()) == 1
    desk.path.unlink()
    assert desk.look() == []
    desk.fail()
    assert len(desk.look()) == 1
    desk.path.parent.rename(desk.path.parent.with_name("moved"))
    assert desk.look() == []


def test_the_latest_file_counts_where_two_projects_have_the_same_session(
    desk: Desk,
) -> None:
    desk.write("old")
    os.utime(desk.path, (1, 1))
    newer = desk.path.parent.with_name("-b") / desk.path.name
    newer.parent.mkdir()
    newer.write_text(journal_samples.claude(datetime.now(UTC)) + "\n")
    assert len(desk.look()) == 1


@every(
    "session",
    [
        *("", ".", "..", "../x", "a/b", "/etc/passwd", "*", "a*", "a?", "[a]", "~", "a b", "a\0"),
        *("\n", "é", "x" * 129, "{session}", ".hidden"),
    ],
)
def test_an_id_that_is_not_a_plain_name_never_becomes_a_path(tmp_path: Path, session: str) -> None:
    desk = Desk(tmp_path)
    assert not is_plain(session)
    desk.fail()
    desk.turns = [SilentTurn(session, desk.now, desk.now)]
    assert desk.look() == []


def _link(path: Path) -> None:
    other = path.with_name("real")
    other.write_text(journal_samples.claude(datetime.now(UTC)) + "\n")
    path.symlink_to(other)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@every("make", [_link, _device, os.mkfifo, os.mkdir, lambda _: None])
def test_a_special_file_is_not_read(tmp_path: Path, make: Any) -> None:
    desk = Desk(tmp_path)
    desk.write("x")
    assert desk.look() == []
    desk.path.unlink()
    make(desk.path)
    assert desk.look() == []
    assert GrowingFile(str(desk.path)).news().data == b""


def test_a_file_of_another_user_is_not_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.fail()
    somebody_else = os.geteuid() + 1
    monkeypatch.setattr(journal_files.os, "geteuid", lambda: somebody_else)
    assert desk.look() == []


def test_only_the_end_of_a_ten_gigabyte_file_is_read(desk: Desk) -> None:
    desk.write("x")
    assert desk.look() == []
    os.truncate(desk.path, 10 * 1024**3)
    desk.write("")
    desk.fail()
    file = GrowingFile(str(desk.path))
    assert len(file.news().data) <= MAX_NEWS_BYTES
    assert len(desk.look()) == 1
    os.truncate(desk.path, 20 * 1024**3)
    assert desk.look() == []


def test_a_line_without_an_end_is_not_read_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * (2 * MAX_NEWS_BYTES))
    file = GrowingFile(str(path))
    assert file.news().data == b""
    with path.open("ab") as log:
        log.write(b"end\n" + LINE)
    assert file.news().data.endswith(LINE)
    assert file.news().data == b""


def test_two_writers_of_one_file_spoil_only_their_own_line(desk: Desk) -> None:
    line = journal_samples.claude(datetime.now(UTC))
    desk.write(line[:90] + line, line)
    assert len(desk.look()) == 1


def test_files_are_remembered_up_to_a_bound(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "MAX_FILES", 16)
    for number in range(3 * journals.MAX_FILES):
        (desk.path.parent / f"s{number}.jsonl").write_text("x\n")
        desk.prompt(f"s{number}")
        desk.look()
    assert len(desk.journals._files) == journals.MAX_FILES
    assert not Journals("an agent that nobody knows", {}, Attributions(os.getpgrp))
