"""`--json`: one envelope, one glossary and one form of a moment, in every command that has it."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.timeline.entry import Kind
from lastword.outbox.sender import send_due, send_once
from lastword.outbox.store import Outbox
from tests.kit.collector import Collector, answer
from tests.kit.desk import SCRIPTED
from tests.kit.json_glossary import problems_in
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import DAY_MS, HOUR_MS, Book, a_run, lastword, now_ms, write
from tests.kit.reports_made import a_report, a_target
from tests.kit.sources import FILES, ROOT

if TYPE_CHECKING:
    from pathlib import Path

INCIDENT = "01M7X4Q9WSKR12H4A9DNDD1JMH-1"
CHECKED = ("--only", "initialize", "--", *SCRIPTED, "healthy")

COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "the list": ("log.py", ("log", "--json")),
    "a session": ("log.py", ("log", "1", "--json")),
    "failures": ("log.py", ("log", "--errors", "--json")),
    "stats": ("stats.py", ("stats", "--json")),
    "explain": ("explain.py", ("explain", "--json", "--status", "429", "--body", "{}")),
    "scenarios": ("agent.py", ("agent", "--list", "--json")),
    "rungs": ("agent.py", ("agent", "--rungs", "--json")),
    "checks": ("check.py", ("check", "--list", "--json")),
    "check": ("check.py", ("check", "--json", *CHECKED)),
    "doctor": ("doctor.py", ("doctor", "--json", "--", "/nonexistent-agent")),
    "outbox": ("outbox.py", ("outbox", "--json")),
    "editors": ("setup/command.py", ("setup", "--list", "--json")),
    "config": ("config/command.py", ("config", "--json")),
    "gateway": ("gateway/options.py", ("gateway", "status", "--json")),
}
"""Each with the file of its option; an export is below, and a gateway that serves has its own."""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record with every kind of thing in it, and an outbox with a report that was refused."""
    folder = tmp_path_factory.mktemp("state")
    old = Book(now_ms() - 10 * DAY_MS)
    old.failed("s0", 1, "network")
    write(folder, old, a_run("01OLD", at_ms=old.began_ms))
    book = Book(now_ms() - HOUR_MS)
    book.note(Kind.CLIENT_ATTACHED, name="an-editor", version="1")
    book.created("s1")
    book.ok("s1", 1)
    book.note(Kind.PROMPT, "s1", 2)
    book.note(Kind.RETRY, "s1", 2, attempt=2, wait_seconds=30, type="rate_limit")
    book.note(Kind.SILENCE, "s1", 2, silent_seconds=45)
    book.note(Kind.ERROR, "s1", 2, type="budget", reset_at_epoch_ms=5, incident_id=INCIDENT)
    book.note(Kind.ERROR, type="auth", method="session/new")
    write(folder, book, a_run("01NEW", at_ms=book.began_ms))
    with Collector(answer(401)) as collector:
        target = a_target(collector.url)
        box = Outbox(str(folder))
        box.add([a_report()], target)
        send_due(box, target, lambda: FUSE_SECONDS, send_once)
    return folder


def told(state: Path, *words: str) -> Any:
    return json.loads(lastword(*words, state=state).stdout)


def test_a_command_s_json_is_one_object_in_the_names_of_the_glossary(state: Path) -> None:
    for name, (_, words) in COMMANDS.items():
        document = told(state, *words)
        assert problems_in(document, name) == []
        assert len(document) > 1, name


def test_every_command_with_the_json_option_is_checked() -> None:
    cli = ROOT / "cli"
    having = {
        path.relative_to(cli).as_posix()
        for path in FILES
        if path.is_relative_to(cli) and "--json  " in path.read_text(encoding="utf-8")
    }
    assert having == {file for file, _ in COMMANDS.values()} | {"export.py"}


def test_an_export_and_its_members_have_the_same_names(state: Path, tmp_path: Path) -> None:
    target = tmp_path / "export.zip"
    document = told(state, "export", "1", "--json", "-o", str(target))
    assert problems_in(document, "export") == []
    with zipfile.ZipFile(target) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        lines = [json.loads(line) for line in archive.read("timeline.jsonl").splitlines()]
    assert manifest == document["manifest"]
    entries = told(state, "log", "1", "--json")["runs"][0]["entries"]
    for line, entry in zip(lines, entries, strict=True):
        same = set(line) & set(entry)
        assert same >= {"at", "at_seconds", "kind", "level", "session_id", "turn", "request_id"}
        assert {name: line[name] for name in same} == {name: entry[name] for name in same}
        assert (line["session"], line["seconds"]) == (line["session_id"], line["at_seconds"])


def test_facts_keep_the_shape_of_the_protocol(state: Path) -> None:
    (failed,) = [
        entry
        for entry in told(state, "log", "1", "--json")["runs"][0]["entries"]
        if entry["kind"] == "error" and entry["turn"]
    ]
    assert failed["facts"] == {"type": "budget", "reset_at_epoch_ms": 5, "incident_id": INCIDENT}


def test_an_undecodable_argument_is_printed_with_an_escape(state: Path) -> None:
    document = told(state, "doctor", "--json", "--", "\udcff-agent")
    assert document["command"] == ["\udcff-agent"]


def test_an_unknown_name_and_an_inconsistent_moment_are_found() -> None:
    document = {"version": 1, "runs": [{"startedAt": 1, "last_epoch_ms": 5, "at": "today"}]}
    assert problems_in(document, "x") == [
        "x.runs.startedAt is not in the glossary",
        "x.runs.last_epoch_ms has no last_at beside it",
        "x.runs.at is 'today', and no moment in ISO 8601, UTC",
    ]
    assert problems_in([document], "x") == ["x: version does not come first"]
    assert problems_in({"sessions": [], "version": 1}, "x") == ["x: version does not come first"]
    assert problems_in({"version": 2}, "x") == ["x: its version is not 1"]
    renamed = {"version": 1, "checks": [{"mend": "a", "advice": "b"}]}
    assert problems_in(renamed, "x") == ["x.checks.mend is not what advice is"]
