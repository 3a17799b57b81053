"""`lastword run --frames`: what both sides sent, and what lastword made of it."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

from tests.kit.canaries import CANARIES
from tests.unit.sidecar.test_frames import file, lines_of, ways_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sidecar.conftest import Start

__all__ = ["file"]


def test_the_frames_file_has_what_passes_and_what_lastword_adds_or_changes_and_no_secret(
    start: Start, file: Path
) -> None:
    client = start("segfaults", options=["--frames", str(file)])
    client.open()
    client.turn(" ".join(CANARIES.values()))
    client.turn("fail error-after-text")
    (line,) = [line for line in lines_of(file) if "was" in line and "error" in line["frame"]]
    assert (line["from"], line["to"]) == ("agent", "client")
    assert "agent_error" not in json.dumps(line["was"])
    assert line["frame"]["error"]["data"]["agent_error"]["type"] == "network"
    assert "session/prompt" in file.read_text()
    assert not [canary for canary in CANARIES.values() if canary in file.read_text()]
    before = len(lines_of(file))
    client.turn()
    ways = ways_of(file)
    assert ways[:4] == [("client", "agent"), ("agent", "client")] * 2
    assert ways[4] == ("client", "agent")
    lines = lines_of(file)[before:]
    added = [line["frame"] for line in lines if line.get("from") == "lastword"]
    assert added[0]["params"]["update"]["_meta"]["agent_error"]["type"] == "agent_crash"
    assert added[1]["error"]["data"]["agent_error"]["type"] == "agent_crash"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_full_disk_ends_the_frames_file_and_not_the_session(start: Start, file: Path) -> None:
    small_disk = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh"]
    options = ["--no-record", "--frames", str(file)]
    client = start("healthy", options=options, under=small_disk)
    client.open()
    assert client.turn().answer["result"]["stopReason"] == "end_turn"
    client.end()
    assert "the file of frames ends here" in client.said
    assert ways_of(file)
