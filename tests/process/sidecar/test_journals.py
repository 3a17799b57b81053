"""The journals and logs that agents keep, as `lastword run` tells of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.failure.taxonomy import Attribution
from lastword.quirks.journals import JournalRow
from lastword.sidecar import own_patterns
from lastword.sidecar.journal_files import Attributions
from lastword.sidecar.journals import Journals
from tests.kit import journal_samples
from tests.kit.canaries import CANARIES, NAMED_CANARIES, PLAIN
from tests.kit.client import RETRY, is_retry
from tests.kit.journal_samples import SESSION
from tests.process.sidecar.stored_files import all_stored_text
from tests.unit.sidecar.test_journals import NAMES, Desk, at_once
from tests.unit.sidecar.test_own_logs import Home, home, warning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.process.sidecar.conftest import Start


__all__ = ["at_once", "home"]

AGENT = r"""
import os, sys, time
from lastword.kit.agent.plain import Output, PlainAgent

class Journalling(PlainAgent):
    info = {"name": os.environ["AGENT_NAME"], "version": "1"}

    def name_session(self, _):
        return os.environ.get("SESSION", "4f0e-a1")

    def go(self, _):
        for prompt, _ in self.unanswered:
            self.end_turn(prompt)

    def serve(self, prompt):
        path, *lines = sys.argv[1:]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        time.sleep(0.01)
        if "TEXT" in os.environ:
            self.say(os.environ["TEXT"])
        self.journal = open(path, "a")  # and stays so
        for line in lines:
            # Ahead of what a slow machine reads late of the agent's other output.
            ahead = time.time() + 5
            now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ahead)) + ".999Z"
            local = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ahead)) + ".999"
            line = line.replace("@AT@", now).replace("@LOCAL@", local)
            print(line.replace("@PID@", str(os.getpid())), file=self.journal, flush=True)
        if "AT_ONCE" in os.environ:
            self.end_turn(prompt)

agent = Journalling(sys.stdin.buffer, Output())
agent.notifications |= {"_agent/go": agent.go, "session/cancel": agent.go}
agent.run()
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


def test_a_retry_in_the_journal_alone_is_reported_without_the_journals_secrets(
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
def test_an_immediate_silent_end_gets_the_journals_type_unless_reading_it_is_disabled(
    journalling: Journalling, options: list[str], type_: str
) -> None:
    line = journal_samples.claude(ANY)
    client = journalling(line, environment={"AT_ONCE": "1"}, options=options)
    error = client.answer(client.prompt())["error"]["data"]["agent_error"]
    assert (error["type"], error["reason"]) == (type_, "silent_success")


def placed(sample: str) -> list[str]:
    """A sample's lines, with places for what the agent fills in."""
    local = ANY.astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return [
        line.replace(local, "@LOCAL@")
        .replace(ANY.isoformat(), "@AT@")
        .replace(str(os.getpid()), "@PID@")
        for line in getattr(journal_samples, sample)(ANY).split("\n")
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_an_answer_that_breaks_off_gets_the_type_of_the_logs_last_failure(
    journalling: Journalling,
) -> None:
    client = journalling(
        *placed("kimi"), sample="kimi", environment={"AT_ONCE": "1", "TEXT": "The answer is"}
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
    idle = journalling(sample=sample, environment={"SESSION": "ses_2"})
    idle_prompt = idle.prompt()
    idle.read_until_true((journalling.folder / NAMES[sample][2]).exists, "its open journal")
    failing = journalling(*placed(sample), sample=sample, environment={"SESSION": "ses_1"})
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


def test_a_users_journal_pattern_explains_a_silent_turn(journalling: Journalling) -> None:
    file = journalling.folder / NAMES["claude"][2]
    pattern = r"(?P<at>\S++) ERR (?>.*? status=)(?P<status>\d{3}) (?P<message>.*)"
    config = journalling.folder / "config.toml"
    config.write_text(
        f"[[journal]]\nname = 'acme'\nagent = 'acme-agent'\ndefault = '{file.parent}'\n"
        f"path = '{{session}}{file.suffix}'\nmarker = ' ERR '\npattern = '{pattern}'\n"
    )
    own = {"AGENT_NAME": "acme-agent", "LASTWORD_CONFIG": str(config), "LASTWORD_NO_CONFIG": ""}
    line = "@AT@ ERR call=3 status=401 the key was refused"
    client = journalling(line, environment={"AT_ONCE": "1", **own})
    error = client.answer(client.prompt())["error"]["data"]["agent_error"]
    assert (error["type"], error["http_status"]) == ("auth", 401)


def test_a_slow_pattern_of_the_users_is_reported_and_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(own_patterns, "LIMIT_SECONDS", 0.1)
    desk = Desk(tmp_path)
    desk.path = tmp_path / f"{SESSION}.log"
    row = JournalRow(
        name="config:acme", agent="acme", variables=(), default=str(tmp_path),
        path="{session}.log", marker=b" ERR ", evidence="", version="",
        pattern=r"(?P<at>\S+) ERR (?P<message>(?:x+)+)y",
    )  # fmt: skip
    desk.journals = Journals("acme", {}, Attributions(os.getpgrp), own=(row,))
    desk.write("began")
    desk.prompt()
    for _ in range(2):
        desk.write(f"{datetime.now(UTC).isoformat()} ERR {'x' * 1000}")
        assert desk.look() == []
    said = "your journal 'acme' is not read any more: its pattern takes more than 0.1 s"
    assert capfd.readouterr().err == f"lastword: {said}\n"


HOLDER = """
import os, sys, time
file = open(sys.argv[1], "a")
if os.fork():
    os._exit(0)
os.setsid()
print(os.getpid(), flush=True)
os.close(1)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_log_shared_with_another_process_is_not_evidence(home: Home) -> None:
    path = home.write("logs/agent.log", "x")
    # Held open by a process that does not descend from this one.
    command = [sys.executable, "-c", HOLDER, str(path)]
    pid = int(subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60).stdout)
    try:
        home.write("logs/agent.log", warning())
        assert home.look() == []
        home.write("logs/agent.log", warning(f"pid={os.getpid()}"))
        (hint,) = home.look()
        assert hint.attribution is Attribution.STRONG
        home.write("logs/agent.log", warning("pid=1"))
        assert home.look() == []
    finally:
        os.kill(pid, signal.SIGKILL)
