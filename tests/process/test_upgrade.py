"""An upgrade from 0.2.0: what it left is read, continued and sent by this version.

`tests/kit/upgrade` has its databases, as SQL that 0.2.0 wrote: a record of two sessions, a report
that waits, and the log of a gateway's session. Their times are moved to now, since old entries go.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

from tests.kit.collector import Collector
from tests.kit.desk import Editor
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import Gateway, agent
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.places import TESTS
from tests.kit.recording import lastword

if TYPE_CHECKING:
    from pathlib import Path

UPGRADE = TESTS / "kit" / "upgrade"
WRITTEN_MS = 1795766270000
SETTINGS = """{
  // mine
  "theme": "One Dark",
  "agent_servers": {
    "claude-lastword": {
      "type": "custom",
      "command": "lastword",
      "args": ["run", "--retry", "2", "--", "npx", "-y", "@agentclientprotocol/claude-agent-acp"]
    }
  }
}
"""
"""What `lastword setup zed claude --retry 2 --write` of 0.2.0 made of a file with a comment."""


def restore(name: str, path: Path) -> None:
    """Write a database as 0.2.0 left it a minute ago."""
    passed = int(time.time() * 1000) - 60_000 - WRITTEN_MS
    text = (UPGRADE / f"{name}.sql").read_text(encoding="utf-8")
    moved = re.sub(r"\b17957\d{8}\b", lambda match: str(int(match[0]) + passed), text)
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(moved)
    path.chmod(0o600)


def test_an_old_record_is_read_and_continued(tmp_path: Path) -> None:
    restore("record", tmp_path / "record.db")
    before = json.loads(lastword("log", "--json", state=tmp_path).stdout)["sessions"]
    turns = [turn for session in before for turn in session["turns"]]
    assert {turn["type"] for turn in turns if turn.get("type")} == {
        *("agent_crash", "network", "rate_limit"),
    }
    editor = Editor(tmp_path)
    editor.play("rate_limit")
    editor.leave()
    after = json.loads(lastword("log", "--json", state=tmp_path).stdout)["sessions"]
    assert len(after) == len(before) + 1
    stats = lastword("stats", "--json", state=tmp_path)
    assert stats.returncode == 0
    assert '"agent_crash"' in stats.stdout


def test_a_report_left_by_the_old_version_is_sent(tmp_path: Path) -> None:
    restore("outbox", tmp_path / "outbox.db")
    assert json.loads(lastword("outbox", "--json", state=tmp_path).stdout)["waiting"] == 1
    with Collector() as collector:
        to = ("--report-to", collector.url)
        moved = lastword("outbox", "--redirect", "all", *to, state=tmp_path)
        assert moved.returncode == 0, moved.stderr
        sent = lastword("outbox", "--send", *to, state=tmp_path)
        assert sent.returncode == 0, sent.stderr
        (report,) = collector.expect(1)
    assert "network" in json.dumps(report.facts)


def test_a_gateways_old_session_is_listed_with_what_it_showed(tmp_path: Path) -> None:
    sessions = tmp_path / "state" / "gateway" / "sessions"
    restore("session", sessions / "6845ad5ef79e7cdd0fc0bd05.db")
    with closing(Gateway(tmp_path, agent("healthy"))) as gateway:
        (session,) = ApiClient(gateway).json("/v1/sessions")["sessions"]
        events = ApiClient(gateway).events(session["id"])
        assert "rate_limit" in json.dumps(events)
        with ViewerClient(gateway) as viewer:
            assert "error" not in viewer.load(session["id"], gateway.root)


def test_an_old_entry_in_an_editors_settings_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(SETTINGS)
    done = lastword("setup", "zed", "claude", "--remove", "--file", str(file), state=tmp_path)
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    assert "lastword" not in text
    assert "// mine" in text
