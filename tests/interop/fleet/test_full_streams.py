"""A fleet whose streams are full: what viewers are told, and what is there once there is room."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.fleet.test_failures import NOTICES, ask, counted, stream_of
from tests.kit.fleet.nodes import Fleet
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.patience import patient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kit.fleet.servers import Cluster


LOGS = tuple(f"LW{number}" for number in range(16))


@pytest.fixture
def fleet(cluster: Cluster, tmp_path: Path) -> Iterator[Fleet]:
    command = [
        sys.executable,
        "-m",
        "tests.kit.gateway.agents",
        "counting",
        str(tmp_path / "counted"),
    ]
    with Fleet(tmp_path, cluster, command) as fleet:
        yield fleet


def limit(cluster: Cluster, stream: str, max_bytes: int) -> None:
    """Limit the size of a stream, in bytes; -1 for no limit."""
    config: dict[str, Any] = ask(cluster, f"STREAM.INFO.{stream}")["config"]
    ask(cluster, f"STREAM.UPDATE.{stream}", **{**config, "max_bytes": max_bytes})


@pytest.mark.matrix
def test_a_turn_waits_while_its_stream_is_full_and_shows_all_once_there_is_room(
    fleet: Fleet, cluster: Cluster
) -> None:
    one = fleet.start("full")
    with ViewerClient(one, capabilities={**TYPED, **NOTICES}) as viewer:
        session = viewer.new(one.root)
        viewer.answer(viewer.prompt(session, "3 5"))
        size = ask(cluster, f"STREAM.INFO.{stream_of(session)}")["state"]["bytes"]
        limit(cluster, stream_of(session), size + 3000)
        prompt = viewer.prompt(session, "200 20")
        viewer.find(lambda frame: "maximum bytes" in json.dumps(frame))
        shown = len(counted(viewer.frames, 2))
        assert shown < 200
        limit(cluster, stream_of(session), -1)
        assert viewer.answer(prompt)["result"] == {"stopReason": "end_turn"}
        assert counted(viewer.frames, 2) == [*range(200)]


@pytest.mark.matrix
def test_a_session_that_no_stream_can_store_is_refused_in_time(
    fleet: Fleet, cluster: Cluster
) -> None:
    one = fleet.start("none")
    for stream in LOGS:
        limit(cluster, stream, 1)
    try:
        with ViewerClient(one, capabilities=TYPED) as viewer:
            began = time.monotonic()
            request = viewer.request("session/new", {"cwd": str(one.root), "mcpServers": []})
            failure = viewer.answer(request)["error"]["data"]["agent_error"]
            assert failure["retryable"] is True
            assert time.monotonic() - began < patient(15.0)
            for stream in LOGS:
                limit(cluster, stream, -1)
            session = viewer.new(one.root)
            assert (
                viewer.answer(viewer.prompt(session, "3 5"))["result"]["stopReason"] == "end_turn"
            )
    finally:
        for stream in LOGS:
            limit(cluster, stream, -1)
