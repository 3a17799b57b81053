"""`lastword export`: one file, the same each time, without secrets or names."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lastword.core.timeline.entry import Kind
from lastword.record.present.bundle import Scrubber, scrubber_here
from tests.kit.recording import Book, a_run, lastword, now_ms, write

SECRETS = (
    "sk-ant-api03-AbCdEf0123456789",
    "ghp_0123456789abcdefABCDEF",
    "eyJhbGciOi.eyJzdWIiOiIx.c2lnbmF0dXJl",
    "ada@example.org",
    "/home/ada",
    "hunter2hunter2",
    "horse-battery",
    "Ada.Lovelace",
)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A record whose every corner holds what must not leave."""
    folder = tmp_path / "state"
    book = Book(now_ms() - 60_000)
    key, token, jwt, mail, home, password, passphrase, _ = SECRETS
    book.note(Kind.CLIENT_ATTACHED, name=f"editor {mail}", version=key, reads=["typed"])
    book.note(Kind.AGENT_READY, name=f"agent of {home}/bin", version=token, protocol_version=1)
    book.created("session-1")
    book.note(Kind.PROMPT, "session-1", 1, traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01")
    book.note(Kind.STDERR, "session-1", 1, bytes=10, tail=f"Authorization: Bearer {jwt}")
    book.note(
        Kind.ERROR,
        "session-1",
        1,
        type="auth",
        reason="key_rejected",
        phase="before_output",
        retry_safety="never",
        message=f"{mail} | `{key}` <b>@someone</b> at {home}/project on ada-laptop by Ada.Lovelace",
        detail={"text": token, "password": password, "deep": {"apiKey": passphrase}},
        redactions={"api_key": 2},
        pid=4242,
    )
    write(folder, book)
    return folder


def exported(state: Path, *arguments: str, **environment: str) -> dict[str, str]:
    """The members of the file that one export wrote."""
    target = state.parent / "out.zip"
    done = lastword("export", *arguments, "-o", str(target), state=state, **environment)
    assert (done.returncode, done.stdout) == (0, f"{target}\n"), done.stderr
    with zipfile.ZipFile(target) as bundle:
        return {name: bundle.read(name).decode() for name in bundle.namelist()}


def test_an_export_contains_no_secret(state: Path) -> None:
    members = exported(state, "session", USER="Ada.Lovelace", MY_TOKEN="hunter2hunter2")
    assert list(members) == ["summary.md", "timeline.jsonl", "manifest.json"]
    for name, text in members.items():
        for secret in SECRETS:
            assert secret not in text, (name, secret)
        assert "4242" not in text
    manifest = json.loads(members["manifest.json"])
    taken = manifest["redactions"]
    assert taken["when_recorded"] == {"api_key": 2}
    assert {"api_key", "email", "home_directory", "user_name"} <= set(taken["when_exported"])
    assert str(os.getpid()) not in members["manifest.json"]


def test_the_manifest_lists_versions_capabilities_and_counts(state: Path) -> None:
    members = exported(state, "--last")
    manifest = json.loads(members["manifest.json"])
    (run,) = manifest["runs"]
    assert run["lastword_version"] == "0.1.0"
    assert run["capabilities"]["client"]["reads"] == ["typed"]
    assert run["capabilities"]["agent"]["protocol_version"] == 1
    assert "pid" not in run
    assert manifest["counts"]["turns"] == {"failed": 1}
    lines = [json.loads(line) for line in members["timeline.jsonl"].splitlines()]
    assert sum(manifest["counts"]["entries"].values()) == len(lines)
    assert [line["kind"] for line in lines][-1] == "error"
    assert lines[-1]["facts"]["type"] == "auth"
    assert lines[-1]["at"].endswith("Z")
    assert lines[3]["facts"]["traceparent"].startswith("00-aaaa")


def test_the_same_record_gives_the_same_bytes(state: Path) -> None:
    target = state.parent / "out.zip"
    whole = []
    for zone in ("UTC", "Asia/Tokyo"):
        exported(state, "session", "--force", TZ=zone, PYTHONHASHSEED=str(len(whole)))
        whole.append(target.read_bytes())
    assert whole[0] == whole[1]
    with zipfile.ZipFile(io.BytesIO(whole[0])) as bundle:
        assert {member.date_time for member in bundle.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_foreign_text_never_becomes_markdown(state: Path) -> None:
    book = Book()
    evil = "x`y|z\n# big <img src=a> @everyone [l](http://a)"
    book.note(Kind.AGENT_READY, name=evil, version="1")
    book.failed("s`|\n# evil", 1, "budget", reason=evil, incident_id=evil)
    write(state, book, a_run("01EVIL"))
    summary = lastword("export", "--last", "-o", "-", state=state).stdout
    for line in summary.splitlines():
        outside = "".join(line.split("`")[::2])
        assert "<" not in outside.replace("\\<", "")
        assert "@" not in outside
        assert "](" not in outside
        assert not line.startswith("# ") or line.startswith("# Session `")
    assert {line.count("|") for line in summary.splitlines() if line.startswith("|")} == {8}


REFUSED = (
    ([], "name one SESSION, or give --last"),
    (["session", "--last"], "name one SESSION, or give --last"),
    (["nonsense"], "no session begins with 'nonsense'"),
    (["nonsense", "--html"], "no session begins with 'nonsense'"),
    (["session", "-o", "there.txt"], "there.txt already exists; use --force"),
    (["session", "-o", "no/such/x.zip"], "there is no folder no/such; create it first"),
    (["session", "-o", "/dev/null", "--force"], "/dev/null is not an ordinary file"),
    (["session", "-o", "-", "--json"], "leave --json out"),
    (["--last", "--html", "-o", "-"], "leave --html out"),
)


def test_an_impossible_export_is_refused_in_a_sentence(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(state.parent)
    Path("there.txt").write_text("mine")
    for arguments, words in REFUSED:
        done = lastword("export", *arguments, state=state)
        assert done.returncode == 2
        assert bool(done.stdout) is ("--json" in arguments)
        assert words in done.stdout or not done.stdout
        assert words in done.stderr
    assert Path("there.txt").read_text() == "mine"
    assert sorted(os.listdir()) == ["state", "there.txt"]


def test_a_file_without_a_given_name_is_named_after_its_session(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = state.parent / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    told = json.loads(lastword("export", "--last", "--json", state=state).stdout)
    (name,) = os.listdir(folder)
    assert told["file"] == str(folder / name)
    assert told["manifest"]["session"] == "session-1"
    assert name.startswith("lastword-session-1-20")
    again = lastword("export", "--last", state=state)
    assert (again.returncode, again.stdout) == (2, "")
    (folder / "sub").mkdir()
    into = lastword("export", "--last", "-o", "sub", state=state)
    assert into.stdout == f"sub/{name}\n"
    page = lastword("export", "--last", "--html", state=state).stdout
    assert page == name.replace(".zip", ".html") + "\n"
    assert stat.S_IMODE(os.stat(folder / name).st_mode) == 0o600


def test_a_user_name_that_is_a_word_of_the_record_redacts_no_word_of_it() -> None:
    names = {"agent": "user_name", "rate": "user_name", "root": "user_name", "ab": "user_name"}
    facts: dict[str, Any] = {"by": "agent", "type": "rate_limit", "text": "root agent ab"}
    assert Scrubber((), names).facts(facts) == facts


def test_the_number_of_redactions_is_not_redacted() -> None:
    counts = {"redactions": {"api_key": 3, "home_directory": 1}}
    scrubber = Scrubber((), {})
    assert scrubber.facts(counts) == counts
    assert not scrubber.counts
    forged = scrubber.facts({"redactions": {"api_key": "hunter2-and-more"}})
    assert forged == {"redactions": {"api_key": "(redacted)"}}
    assert scrubber.facts({"redactions": {"password": 12345}}) == {
        "redactions": {"password": "(redacted)"}
    }


def test_a_name_is_redacted_as_a_whole_word_and_counted() -> None:
    scrubber = Scrubber((), {"Grace": "user_name", "grace-pc.local": "host_name"})
    assert scrubber.text("grace on grace-pc.local, disgraceful") == (
        "(redacted) on (redacted), disgraceful"
    )
    assert scrubber.counts == {"user_name": 1, "host_name": 1}
    scrubber.facts({"a": ["GRACE", {"Grace": 1}]})
    assert scrubber.counts["user_name"] == 3


def test_the_machines_and_the_users_names_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "grace-pc.example.org")
    monkeypatch.setenv("LOGNAME", "hopper")
    monkeypatch.setenv("HOME", "/srv/people/hopper")
    scrubber = scrubber_here()
    told = scrubber.text("hopper@grace-pc.example.org, grace-pc: /srv/people/hopper/x")
    assert "hopper" not in told
    assert "grace-pc" not in told
    assert set(scrubber.counts) >= {"host_name", "home_directory"}
