"""A viewer that takes nothing: what it lags is in the log, and in nobody's memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.kit.gateway import counting_agent
from tests.kit.gateway.viewing import ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

pytestmark = pytest.mark.processes

CHUNKS = 8000
TURN_BYTES = CHUNKS * 4000
ROOM_BYTES = TURN_BYTES // 2
"""For what 32 MB passing through leave behind, and far from what is kept where one viewer lags."""


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    [line] = [each for each in status.splitlines() if each.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024


def test_what_a_viewer_has_not_taken_is_kept_in_the_log_alone(
    serve: Callable[..., Gateway], tmp_path: Path
) -> None:
    command = [sys.executable, counting_agent.__file__, str(tmp_path / "prompts")]
    gateway = serve("", command=command)
    with ViewerClient(gateway) as reading, ViewerClient(gateway) as silent:
        session = reading.new(gateway.root)
        silent.load(session, gateway.root)
        reading.answer(reading.prompt(session, "100 0 pad=4000"))
        status = msgspec.json.decode(gateway.tell("status", "--json").stdout)
        [holder] = [each["pid"] for each in status["holders"] if each["sessions"]]
        before = {pid: resident_bytes(pid) for pid in (status["front_pid"], holder)}
        reading.answer(reading.prompt(session, f"{CHUNKS} 0 pad=4000"))
        for pid, size in before.items():
            assert resident_bytes(pid) - size < ROOM_BYTES
        assert silent.find(lambda frame: f"2.{CHUNKS - 1} " in str(frame))
