"""The journals that agents keep: what `lastword run` finds in them, and what it leaves alone."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.link.evidence import SilentTurn
from lastword.quirks.journals import JournalRow
from lastword.sidecar import journal_files, journals, own_patterns
from lastword.sidecar.journal_files import MAX_NEWS_BYTES, Attributions, GrowingFile, is_plain
from lastword.sidecar.journals import Journals
from tests.kit import journal_samples
from tests.kit.canaries import CANARIES, NAMED_CANARIES, PLAIN
from tests.kit.client import RETRY, is_retry
from tests.kit.journal_samples import SESSION
from tests.kit.rows import every
from tests.process.sidecar.stored_files import all_stored_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lastword.core.link.evidence import Hint
    from tests.process.sidecar.conftest import Start

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
def test_what_an_agent_writes_down_of_an_open_turn_is_found_where_it_writes_it(
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


def test_of_several_tries_the_last_is_told(desk: Desk) -> None:
    for attempt in (1, 2, 3):
        desk.fail(attempt=attempt)
    (hint,) = desk.look()
    assert (hint.attempt, hint.max_attempts, hint.wait_seconds) == (4, 11, 2.0)
    assert hint.goes_on


def test_lines_of_several_kinds_in_one_file_are_told_in_their_order(tmp_path: Path) -> None:
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


def test_what_was_written_before_the_turn_is_none_and_a_line_is_read_when_it_is_whole(
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


def test_a_file_that_was_exchanged_or_cut_is_read_from_its_beginning(desk: Desk) -> None:
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


def test_of_the_same_session_in_two_projects_the_file_counts_that_was_written_last(
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
def test_an_id_that_is_no_plain_name_becomes_no_path(tmp_path: Path, session: str) -> None:
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
def test_what_is_no_plain_file_is_not_read(tmp_path: Path, make: Any) -> None:
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


def test_of_a_file_of_ten_gigabytes_the_end_is_read(desk: Desk) -> None:
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


def test_a_journal_that_goes_away_comes_back_or_never_was_is_no_trouble(desk: Desk) -> None:
    assert desk.look() == []
    desk.fail()
    assert len(desk.look()) == 1
    desk.path.unlink()
    assert desk.look() == []
    desk.fail()
    assert len(desk.look()) == 1
    desk.path.parent.rename(desk.path.parent.with_name("moved"))
    assert desk.look() == []


def test_two_that_write_into_one_file_spoil_no_line_but_their_own(desk: Desk) -> None:
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


def own_desk(tmp_path: Path, pattern: str) -> Desk:
    """A desk whose agent has a journal of the user's own alone, with this pattern."""
    desk = Desk(tmp_path)
    desk.path = tmp_path / f"{SESSION}.log"
    row = JournalRow(
        name="config:acme", agent="acme", variables=(), default=str(tmp_path),
        path="{session}.log", marker=b" ERR ", pattern=pattern, evidence="", version="",
    )  # fmt: skip
    desk.journals = Journals("acme", {}, Attributions(os.getpgrp), own=(row,))
    desk.write("began")
    desk.prompt()
    return desk


def test_a_pattern_of_the_users_reads_its_lines(tmp_path: Path) -> None:
    desk = own_desk(tmp_path, r"(?P<at>\S+) ERR (?P<status>\d+)? ?(?P<message>.*)")
    now = datetime.now(UTC).isoformat()
    desk.write(f"{now} ERR 401 the key", f"{now} no line", f" ERR {'x' * 20_000}")
    (hint,) = desk.look()
    assert (hint.verdict.type, hint.session_id) == ("auth", SESSION)


def test_a_slow_pattern_of_the_users_is_reported_and_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(own_patterns, "LIMIT_SECONDS", 0.1)
    desk = own_desk(tmp_path, r"(?P<at>\S+) ERR (?P<message>(?:x+)+)y")
    for _ in range(2):
        desk.write(f"{datetime.now(UTC).isoformat()} ERR {'x' * 1000}")
        assert desk.look() == []
    said = "your journal 'acme' is not read any more: its pattern takes more than 0.1 s"
    assert capfd.readouterr().err == f"lastword: {said}\n"


def test_an_agent_without_a_journal_has_none() -> None:
    for name in ("an agent that nobody knows", None, "gemini-cli"):
        assert not Journals(name, {}, Attributions(os.getpgrp))


AGENT = r"""
import json, os, sys, time
path, lines = sys.argv[1], sys.argv[2:]
def say(**members):
    print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)
def show(kind, **members):
    update = {"sessionUpdate": kind, **members}
    say(method="session/update", params={"sessionId": session, "update": update})
prompt = None
number = 0
for frame in sys.stdin:
    message = json.loads(frame)
    method = message.get("method")
    if method == "initialize":
        info = {"name": os.environ["AGENT_NAME"], "version": "1"}
        say(id=message["id"], result={"protocolVersion": 1, "agentInfo": info})
    elif method == "session/new":
        number += 1
        session = os.environ.get("SESSION", "4f0e-a1").replace("{number}", str(number))
        say(id=message["id"], result={"sessionId": session})
    elif method == "session/prompt":
        prompt = message["id"]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        time.sleep(0.01)
        if "TEXT" in os.environ:
            show("agent_message_chunk", content={"type": "text", "text": os.environ["TEXT"]})
        journal = open(path, "a")
        for line in lines:
            # Ahead of what a slow machine reads late of the agent's other output.
            ahead = time.time() + 5
            now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ahead)) + ".999Z"
            local = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ahead)) + ".999"
            line = line.replace("@AT@", now).replace("@LOCAL@", local)
            print(line.replace("@PID@", str(os.getpid())), file=journal, flush=True)
        if "AT_ONCE" in os.environ:
            say(id=prompt, result={"stopReason": "end_turn"})
    elif method in ("_agent/go", "session/cancel"):
        say(id=prompt, result={"stopReason": "end_turn"})
"""
"""Writes its journal at a prompt, and answers when it is told to."""

ANY = datetime(2026, 11, 22, 14, 0, 0, 0, UTC)
UTC_TEXT = "2026-11-22T14:00:00.000Z"


class Journalling:
    """Starts sidecars before agents that keep a journal in a folder."""

    def __init__(self, start: Start, folder: Path) -> None:
        self.start = start
        self.folder = folder

    def __call__(self, *lines: str, sample: str = "claude", **settings: Any) -> Any:
        name, variable, path = NAMES[sample]
        environment = {variable: str(self.folder), "AGENT_NAME": name}
        environment |= settings.pop("environment", {})
        words = [line.replace(UTC_TEXT, "@AT@") for line in lines]
        command = [sys.executable, "-c", AGENT, str(self.folder / path), *words]
        limits = {"sidecar.sources.SILENT_SECONDS": 0.1} | settings.pop("limits", {})
        client = self.start.command(command, limits=limits, environment=environment, **settings)
        client.initialize(**RETRY)
        client.session = client.answer(client.request("session/new"))["result"]["sessionId"]
        return client


@pytest.fixture
def journalling(start: Start, tmp_path: Path) -> Iterator[Journalling]:
    return Journalling(start, tmp_path)


def test_a_retry_that_only_the_journal_knows_is_told_and_no_secret_of_it_gets_out(
    journalling: Journalling,
) -> None:
    canaries = [*CANARIES.values(), *NAMED_CANARIES.values()]
    lines = [journal_samples.claude(ANY, f"No quota: {canary}") for canary in canaries]
    lines += [f'{{"type":"user","message":"{PLAIN} secret conversation"}}']
    state = journalling.folder / "state"
    client = journalling(
        *lines,
        options=["--verbose", "--record-text"],
        environment={"LASTWORD_STATE_DIR": str(state)},
    )
    for _ in range(2):
        since = len(client.frames)
        prompt = client.prompt()
        told = client.expect(is_retry, since=since)["params"]["update"]
        assert (told["attempt"], told["max_attempts"]) == (2, 11)
        assert told["error"]["type"] == "budget"
        client.go_on()
        assert client.answer(prompt)["error"]["data"]["agent_error"]["type"] == "budget"
    out = client.stdout.data.decode() + client.said + all_stored_text(client, state)
    assert not [canary for canary in CANARIES.values() if canary in out]
    assert PLAIN not in out
    assert "secret conversation" not in out


@pytest.mark.parametrize(
    ("options", "type_"), [([], "rate_limit"), (["--evidence", "wire"], "unknown")]
)
def test_a_turn_that_ends_at_once_in_silence_is_typed_by_the_journal_unless_it_is_not_to_be_read(
    journalling: Journalling, options: list[str], type_: str
) -> None:
    line = journal_samples.claude(ANY)
    client = journalling(line, environment={"AT_ONCE": "1"}, options=options)
    error = client.answer(client.prompt())["error"]["data"]["agent_error"]
    assert (error["type"], error["reason"]) == (type_, "silent_success")


def kimis_lines() -> list[str]:
    local = ANY.astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return [line.replace(local, "@LOCAL@") for line in journal_samples.kimi(ANY).split("\n")]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_an_answer_that_breaks_off_is_typed_by_what_the_log_says_before_its_end(
    journalling: Journalling,
) -> None:
    client = journalling(
        *kimis_lines(), sample="kimi", environment={"AT_ONCE": "1", "TEXT": "The answer is"}
    )
    for _ in range(2):
        error = client.answer(client.prompt())["error"]["data"]["agent_error"]
        assert (error["type"], error["phase"]) == ("rate_limit", "mid_output")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("sample", ["kimi", "vibe"])
def test_the_failure_of_one_run_does_not_fail_the_other_in_the_same_home(
    journalling: Journalling, sample: str
) -> None:
    """A line of vibe's names its process; one of kimi-cli's names neither that nor a session."""
    local = ANY.astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    lines = [
        line.replace(local, "@LOCAL@")
        .replace(ANY.isoformat(), "@AT@")
        .replace(str(os.getpid()), "@PID@")
        for line in getattr(journal_samples, sample)(ANY).split("\n")
    ]
    idle = journalling(sample=sample, environment={"SESSION": "ses_2"})
    idle_prompt = idle.prompt()
    idle.read_until_true((journalling.folder / NAMES[sample][2]).exists, "its open journal")
    failing = journalling(*lines, sample=sample, environment={"SESSION": "ses_1"})
    prompt = failing.prompt()
    if sample == "vibe":
        failing.expect(is_retry)
    failing.listen(0.5)
    idle.listen(0.5)
    assert not [frame for frame in idle.frames if is_retry(frame)]
    idle.go_on()
    assert idle.answer(idle_prompt)["error"]["data"]["agent_error"]["type"] == "unknown"
    failing.go_on()
    error = failing.answer(prompt)["error"]["data"]["agent_error"]
    assert error["type"] == ("unknown" if sample == "kimi" else "rate_limit")


def test_of_two_hundred_silent_sessions_the_one_that_fails_is_reported(
    journalling: Journalling,
) -> None:
    client = journalling(environment={"SESSION": "session-{number}"})
    for _ in range(200):
        session = client.answer(client.request("session/new"))["result"]["sessionId"]
        client.prompt(session=session)
    path = (journalling.folder / NAMES["claude"][2]).with_name("session-77.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(journal_samples.claude(datetime.now(UTC)) + "\n")
    retry = client.expect(is_retry)["params"]
    assert retry["sessionId"] == "session-77"
