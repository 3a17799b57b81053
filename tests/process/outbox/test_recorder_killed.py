"""A recorder that is killed before its disk has taken what is to be reported."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from lastword.outbox.sender import OutboxSink
from lastword.outbox.store import Outbox
from lastword.record import store
from lastword.record.process import RecorderProcess
from tests.kit.gateway.serving import until
from tests.kit.left_behind import recorders_of
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import FOR_EVER, Book, a_run, count, is_recorded
from tests.kit.reports_made import a_target

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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
