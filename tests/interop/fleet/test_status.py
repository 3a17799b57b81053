"""What `lastword gateway status --fleet` reports, read from real servers."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from lastword.gateway.api.shapes import SessionState, ViewerCount
from lastword.gateway.fleet.buckets import Bucket
from lastword.gateway.fleet.records import (
    NODES,
    SESSIONS,
    NodeRecord,
    Records,
    SessionRecord,
)
from lastword.gateway.fleet.status import NAME, store_settings
from lastword.gateway.front.folders import run_folder_of
from lastword.gateway.settings.values import FleetSettings
from tests.kit.fleet.connected import KEY, KEY_BYTES, connected, node
from tests.kit.fleet.in_memory import owned, owner
from tests.kit.fleet.servers import PASSWORD
from tests.kit.gateway.serving import Place, until
from tests.kit.json_glossary import problems_in
from tests.kit.programs import run_program

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.kit.fleet.servers import Cluster

PORT = 7790
HELD = owner(
    "one",
    state=SessionState.WAITING_FOR_ANSWER,
    viewers=ViewerCount(controllers=1, observers=1),
    questions=1,
)


async def fill(urls: list[str]) -> None:
    """Make a fleet of a node, the sessions of two, and one that nobody has."""
    async with connected(urls, replicas=3) as broker:
        records = Records(KEY)
        nodes = Bucket(broker, NODES, NodeRecord, records)
        await nodes.put("one", replace(node("one", 1), host="box", instance="of one"))
        sessions = Bucket(broker, SESSIONS, SessionRecord, records)
        owner = replace(HELD, not_replicated=1)
        await sessions.put("a", replace(owned("one", 3), session="held", owner=owner))
        left = replace(HELD, node="two", instance="of two")
        await sessions.put("b", replace(owned("two", 3), session="left", owner=left))
        alone = SessionRecord(session="alone", node="two", term=2, cwd="/srv", workspace="")
        await sessions.put("c", alone)
        await sessions.put("d", replace(alone, session="over", ended=HELD.view))


def joined(place: Place, cluster: Cluster, monkeypatch: Any) -> str:
    """Leave what a node leaves in its run folder; return the path of its settings."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place.runtime))
    run_folder = run_folder_of(str(place.state), PORT)
    os.makedirs(run_folder)
    key = place.folder / "fleet.key"
    key.touch(0o600)
    key.write_bytes(KEY_BYTES)
    store_settings(run_folder, FleetSettings(urls=cluster.urls, key_file=str(key), node="one"))
    return os.path.join(run_folder, NAME)


def test_nodes_owners_and_streams_are_reported_and_servers_that_are_away_named(
    cluster: Cluster, tmp_path: Path, monkeypatch: Any
) -> None:
    place = Place(tmp_path)

    def status(*options: str) -> subprocess.CompletedProcess[str]:
        words = ("gateway", "status", "--port", str(PORT), "--fleet", *options)
        command = [sys.executable, "-m", "lastword", *words]
        return run_program(command, check=False, env=place.environment)

    alone = status()
    assert (alone.returncode, alone.stdout.split(" on ")[0]) == (2, "gateway: not running")
    assert "no gateway of a fleet is running" in alone.stderr
    path = joined(place, cluster, monkeypatch)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    asyncio.run(fill(cluster.urls))

    def told_with(text: str, times: int = 1) -> subprocess.CompletedProcess[str]:
        def asked() -> subprocess.CompletedProcess[str] | None:
            told = status()
            return told if told.stdout.count(text) == times else None

        found: subprocess.CompletedProcess[str] = until(text, asked)
        return found

    told = told_with("22 of 22 are whole")
    assert (told.returncode, told.stderr) == (1, "")  # no front is running here
    first, *lines = told.stdout.splitlines()
    assert first.startswith("gateway: not running")
    assert lines[0].startswith("fleet: 1 node, 1 session, by the NATS server 127.0.0.1:")
    assert lines[1:6] == [
        "node one: on box, 1 of 4 agents, lastword 0",
        "  held: waiting for answer, term 3, 2 viewers, 1 entry not replicated",
        "  alone: without an owner, term 2; the last was two",
        "  left: without an owner, term 3; the last was two",
        "streams: 22 of 22 are whole, 3 copies of each",
    ]
    document = json.loads(status("--json").stdout)
    assert problems_in(document, "status") == []
    fleet = document["fleet"]
    assert [each["node"] for each in fleet["nodes"]] == ["one"]
    assert {each["session_id"]: (each["node"], each["term"]) for each in fleet["sessions"]} == {
        "held": ("one", 3),
        "left": (None, 3),
        "alone": (None, 2),
    }
    assert fleet["ended_sessions"] == 1
    assert {each["replicas"] for each in fleet["streams"]} == {3}
    away, *others = cluster.servers
    away.kill()
    told = told_with(f"; behind: {away.name}", 22)
    assert "  LW0: 2 of 3 copies, led by " in told.stdout
    assert "streams: 0 of 22 are whole" in told.stdout
    for server in others:
        server.kill()
    none = status()
    assert (none.returncode, none.stdout.split(" on ")[0]) == (2, "gateway: not running")
    assert "no NATS server of the fleet answers" in none.stderr
    for said in (told.stdout, none.stderr):
        assert PASSWORD not in said
