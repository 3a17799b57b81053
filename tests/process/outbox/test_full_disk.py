"""A disk that is full, played by a limit on how large a file may grow."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CODE = """
import resource, signal, sys
from lastword.outbox.sender import send_due, send_once
from lastword.outbox.store import Outbox
from tests.kit.collector import Collector
from tests.kit.reports_made import a_report, a_target

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
box = Outbox(sys.argv[1])
with Collector() as collector:
    target = a_target(collector.url)
    assert box.add([a_report(1)], target)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    assert not box.add([a_report(2)], target)
    try:
        send_due(box, target, lambda: 10.0, send_once)
    except Exception as error:
        print(type(error).__name__)
    assert not collector.came, "sent what could not be marked"
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert box.add([], target)
    send_due(box, target, lambda: 10.0, send_once)
    assert collector.ids() == [f"{1:032x}", f"{2:032x}"]
print(box.status().counts["sent"])
"""


def test_reports_wait_while_the_disk_is_full_and_are_then_all_sent(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "state")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["StoreError", "2"]
