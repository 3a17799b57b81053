"""Modules that are loaded beside the loop: from a process of its own, where none is there yet."""

from __future__ import annotations

import subprocess
import sys

from lastword.sidecar.late_modules import FAILURE, LateModules, load, load_here

_LOADS = """
import sys, threading, time
from lastword.sidecar.late_modules import FAILURE, LateModules, load
class Holds:  # whoever imports waits: so the thread is not done before it is looked at
    def find_spec(self, *_):
        go_on.wait()
go_on = threading.Event()
sys.meta_path.insert(0, Holds())
usual = sys.getswitchinterval()
modules = LateModules(FAILURE)
assert not modules.loaded() and LateModules.in_progress == 1
assert sys.getswitchinterval() < usual
go_on.set()
while not modules.loaded():
    time.sleep(0.001)
assert LateModules.in_progress == 0 and sys.getswitchinterval() == usual
assert all(name in sys.modules for name in FAILURE)
assert list(load(FAILURE)) == []
steps = load(("lastword.no_such_module",))
for _ in steps:
    time.sleep(0.001)
"""


def test_modules_are_loaded_by_a_thread_and_one_that_is_missing_ends_the_wait() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOADS], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_modules_that_are_already_loaded_need_no_thread() -> None:
    assert list(load_here(FAILURE)) == [None] * len(FAILURE)
    assert LateModules(FAILURE).loaded()
    assert list(load(FAILURE)) == []
