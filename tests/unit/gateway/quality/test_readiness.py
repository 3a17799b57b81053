"""When a gateway is ready, and the word that it gives where it is not."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from lastword.gateway.quality.readiness import FAILED_SECONDS, NotReady, Readiness

if TYPE_CHECKING:
    from pathlib import Path

CRASHED = {"code": -32603, "data": {"agent_error": {"type": "agent_crash"}}}
REFUSED = {"code": -32000, "data": {"agent_error": {"type": "auth"}}}


def test_each_thing_that_is_missing_has_its_word(tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert Readiness(sys.executable, str(state)).reason() is None
    assert Readiness("/nowhere/agent", str(state)).reason() is NotReady.AGENT_MISSING
    (tmp_path / "file").write_bytes(b"")
    in_a_file = os.path.join(tmp_path, "file", "state")
    assert Readiness(sys.executable, in_a_file).reason() is NotReady.STATE_NOT_WRITABLE
    ends = Readiness(sys.executable, str(state))
    ends.shut_down()
    assert ends.reason() is NotReady.SHUTTING_DOWN
    assert list(state.iterdir()) == []


def test_a_start_that_failed_counts_until_one_succeeds_or_for_a_while(tmp_path: Path) -> None:
    now = 0.0
    readiness = Readiness(sys.executable, str(tmp_path), clock=lambda: now)
    readiness.failed()
    assert readiness.reason() is NotReady.AGENT_NOT_STARTED
    readiness.greeted(None)
    assert readiness.reason() is None
    readiness.greeted(CRASHED)
    assert readiness.reason() is NotReady.AGENT_NOT_STARTED
    now = FAILED_SECONDS
    assert readiness.reason() is None


def test_an_agents_refusal_of_a_client_does_not_make_the_gateway_unready(tmp_path: Path) -> None:
    readiness = Readiness(sys.executable, str(tmp_path))
    readiness.greeted(REFUSED)
    assert readiness.reason() is None
    readiness.failed()
    readiness.greeted(REFUSED)
    assert readiness.reason() is NotReady.AGENT_NOT_STARTED
