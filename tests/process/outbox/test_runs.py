"""`--report-to`: what a real run reports, whoever is killed, and what it costs."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

from lastword.outbox.sender import OutboxSink
from lastword.outbox.store import Outbox
from lastword.record import store
from lastword.record.process import RecorderProcess
from tests.kit import doors
from tests.kit.canaries import fake
from tests.kit.collector import Collector, answer
from tests.kit.desk import Editor
from tests.kit.doors import DoorClient
from tests.kit.gateway.serving import until
from tests.kit.left_behind import recorders_of
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import FOR_EVER, Book, a_run, count, is_recorded, lastword
from tests.kit.reports_made import a_target
from tests.kit.sidecar import hurried

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest


FAILS = "429 Too Many Requests"
SCRIPT = {"turns": [[{"fail": {"error": {"code": -32603, "message": FAILS}}}]]}
QUIET = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


def an_agent(folder: Path, script: dict[str, Any] | None = None) -> tuple[str, ...]:
    """An agent that knows nothing of us, and whose every turn fails unless a script says else."""
    folder.mkdir(exist_ok=True)
    path = folder / "script.json"
    path.write_text(json.dumps(script or SCRIPT))
    return (sys.executable, "-m", "lastword", "agent", "--bare", str(path))


def an_editor(
    state: Path, collector: Collector, under: Sequence[str] = (), **variables: str
) -> Editor:
    words = ("--report-to", collector.url)
    environment = QUIET | variables
    return Editor(state, *words, agent=an_agent(state), under=under, environment=environment)


def fail(editor: Editor) -> dict[str, Any]:
    """A turn that fails; gives its answer."""
    return editor.answer(editor.prompt("SECRET-WORDS-OF-MINE"), fuse=FUSE_SECONDS)


def incident_of(failed: dict[str, Any]) -> str:
    found = failed["error"]["data"]["agent_error"]["incident_id"]
    assert isinstance(found, str)
    return found


def test_a_failed_turn_is_reported_with_its_incident_while_the_run_continues(
    tmp_path: Path,
) -> None:
    with Collector() as collector:
        editor = an_editor(tmp_path, collector)
        incident = incident_of(fail(editor))
        (came,) = collector.expect(1)
        assert came.facts["lastword.incident_id"] == incident
        assert came.facts["error.type"] == "rate_limit"
        assert came.facts["lastword.what"] == "turn"
        assert came.facts["lastword.client.name"] == "an-editor"
        sent = Outbox(str(tmp_path))
        until("it is written down", lambda: sent.status().counts["sent"] == 1)
        assert editor.leave() == 0


def test_an_agent_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    with Collector() as collector:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "lastword", "run", "--no-record"),
                *("--report-to", collector.url, "--", "lastword-no-such-agent"),
            ],
            input='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n',
            text=True,
            capture_output=True,
            timeout=FUSE_SECONDS,
            check=False,
            env=os.environ | QUIET | {"LASTWORD_STATE_DIR": str(tmp_path)},
        )
        assert done.returncode == 127
        (came,) = collector.expect(1)
    assert came.facts["lastword.what"] == "start"
    assert came.facts["lastword.reason"] == "spawn_failed"
    assert not is_recorded(tmp_path)


def test_a_run_without_reporting_creates_no_outbox(tmp_path: Path) -> None:
    editor = Editor(tmp_path, agent=an_agent(tmp_path))
    fail(editor)
    editor.leave()
    until("the record is there", lambda: is_recorded(tmp_path))
    assert not list(tmp_path.glob("outbox*"))


def test_the_outbox_is_not_loaded_before_the_agent_is_started() -> None:
    code = "import sys; import lastword.cli.run.command, lastword.cli.run.start; "
    code += "print(*[n for n in sys.modules if n.startswith('lastword.outbox') or n == 'ssl'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == ""


def test_the_outbox_and_the_wire_carry_no_word_and_no_secret(tmp_path: Path) -> None:
    key, token, secret = "sk-" + fake(48), "collectors-own-token", "webhooks-own-secret"
    said = f"Odd: {key} SECRET-WORDS-OF-MINE"
    fail = {"error": {"code": -32603, "message": said, "data": {"details": said, "k": key}}}
    script = {"turns": [[{"say": "SECRET-WORDS-OF-MINE"}, {"fail": fail}]]}
    with Collector(answer(503)) as collector:
        url = collector.url.replace("//", "//ada:address-own-password@")
        editor = Editor(
            tmp_path / "state",
            *("--report-to", url, "--record-text"),
            agent=an_agent(tmp_path / "agent", script),
            environment=QUIET
            | {
                "LASTWORD_REPORT_HEADERS": f"x-token={token}",
                "LASTWORD_REPORT_SECRET": secret,
            },
        )
        prompt = editor.prompt("SECRET-WORDS-OF-MINE")
        assert "error" in editor.answer(prompt, fuse=FUSE_SECONDS)
        (came,) = collector.expect(1)
        assert came.headers["x-token"] == token
        editor.leave()
    held = b"".join(path.read_bytes() for path in (tmp_path / "state").glob("outbox*"))
    assert b"run_id" in held
    for canary in (key, key[6:-2], "SECRET-WORDS", token, "address-own-password", secret):
        assert canary.encode() not in held
        assert canary.encode() not in came.body


def test_the_next_run_sends_what_one_run_could_not(tmp_path: Path) -> None:
    with Collector(answer(503)) as collector:
        editor = an_editor(tmp_path, collector)
        incident = incident_of(fail(editor))
        collector.expect(1)
        editor.leave()
        collector.turn_to(answer(200))
        outbox = Outbox(str(tmp_path))
        until("the wait is over", lambda: len(collector.came) >= 1)
        following = an_editor(tmp_path, collector)
        following.play("healthy")
        came = collector.expect(2)
        assert came[-1].facts["lastword.incident_id"] == incident
        until("it is written down", lambda: outbox.status().counts["sent"] == 1)
        following.leave()


def test_a_collector_that_never_answers_delays_no_turn_and_no_end(tmp_path: Path) -> None:
    with Collector() as collector:
        collector.turn_to(collector.never)
        # Longer than any fuse here.
        editor = an_editor(tmp_path, collector, hurried({"outbox.sender.POST_SECONDS": 600.0}))
        for _ in range(6):
            fail(editor)
        collector.expect(1)
        editor.end()  # its recorder goes on
        assert len(collector.came) == 1
        outbox = Outbox(str(tmp_path))
        until("all are in", lambda: outbox.status().counts["taken"] == 6)
        assert outbox.status().waiting == 6


def test_a_failure_is_reported_although_the_run_is_killed_right_after_it(tmp_path: Path) -> None:
    with Collector() as collector:
        editors = [an_editor(tmp_path, collector) for _ in range(2)]
        incidents = {incident_of(fail(editor)) for editor in editors * 2}
        for editor in editors:
            editor.kill()
        came = collector.expect(4)
        assert {each.facts["lastword.incident_id"] for each in came} == incidents
        sent = Outbox(str(tmp_path))
        until("they are written down", lambda: sent.status().counts["sent"] == 4)
        assert len(collector.came) == 4, "two runs on one outbox report each failure once"


def test_a_killed_recorder_is_replaced_at_once_also_at_the_end(tmp_path: Path) -> None:
    with Collector() as collector:
        editor = an_editor(tmp_path, collector)
        fail(editor)
        collector.expect(1)
        sent = Outbox(str(tmp_path))
        for number, ends in ((1, False), (2, True)):
            until("it is written down", lambda n=number: sent.status().counts["sent"] == n)
            (recorder,) = recorders_of(editor.peer.pid)
            # It has read nothing of the next failure when it dies.
            os.kill(recorder, signal.SIGSTOP)
            incident = incident_of(fail(editor))
            os.kill(recorder, signal.SIGKILL)
            if ends:
                editor.leave()
            # Nothing else happens otherwise: no further failure, and no end of the run.
            until("it is told", lambda word=incident: word in told_to(collector))
        assert len(collector.came) == 3


def told_to(collector: Collector) -> set[object]:
    return {each.facts.get("lastword.incident_id") for each in collector.came}


def test_an_unusable_target_is_reported_and_not_repeated(tmp_path: Path) -> None:
    with Collector() as collector:
        editor = an_editor(tmp_path, collector, LASTWORD_REPORT_HEADERS="no headers")
        assert "error" in fail(editor)
        editor.leave()
        said = editor.said
    assert "failures are not reported: LASTWORD_REPORT_HEADERS cannot be used" in said
    assert collector.came == []
    done = lastword("run", "--report-to", "htp://ada:hunter22@c", "--", "true", state=tmp_path)
    assert done.returncode == 2
    assert "--report-to is not an address that can be used" in done.stderr
    assert "hunter22" not in done.stderr


# Agents that run lastword in their own process report by the environment.


def test_a_raising_handler_is_reported_without_its_words_even_without_a_record(
    tmp_path: Path,
) -> None:
    variables = QUIET | {"LASTWORD_STATE_DIR": str(tmp_path), "LASTWORD_NO_RECORD": "1"}
    with Collector() as collector:
        variables["LASTWORD_REPORT_TO"] = collector.url
        agent = DoorClient(*doors.command("asyncio"), **variables).opened()
        assert "error" in agent.take("throttle SECRET-WORDS-OF-MINE")
        (came,) = collector.expect(1)
        assert agent.end() == 0
    assert came.facts["error.type"] == "rate_limit"
    assert b'"serve"' in came.body
    assert b"SECRET-WORDS" not in came.body
    assert not is_recorded(tmp_path)


# --- a recorder that is killed before its disk has taken what is to be reported


def test_a_failure_that_the_outbox_could_not_store_is_left_to_the_next_recorder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    outbox, target = Outbox(str(tmp_path)), a_target("http://127.0.0.1:9/")
    assert outbox.status().waiting == 0
    others = set(recorders_of(os.getpid()))
    one = RecorderProcess(
        str(tmp_path / "record.db"),
        a_run(),
        FOR_EVER,
        reports=lambda run: OutboxSink(outbox.folder, target, run),
    )
    (recorder,) = until("it runs", lambda: set(recorders_of(os.getpid())) - others)
    with closing(sqlite3.connect(outbox.path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        book = Book()
        book.failed("s1", 1, incident_id="01RUNA-1")
        one.send(book.rows)
        # The record comes after the outbox, which it was in vain to wait for.
        until("a record", lambda: is_recorded(tmp_path) and count(tmp_path / "record.db") > 0)
        os.kill(recorder, signal.SIGKILL)
        os.waitid(os.P_PID, recorder, os.WEXITED | os.WNOWAIT)
    monkeypatch.setattr(store, "BUSY_SECONDS", FUSE_SECONDS)
    one.send([])
    one.close()
    until("a report", lambda: outbox.status().waiting == 1)
    assert outbox.status().counts["taken"] == 1
