"""Why an agent is silent, seen from its own processes and connections: that the looks arrive.

What they prove is decided in `tests/unit/sidecar/test_silence_cause.py`.
"""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import NOTICES, update_of
from tests.kit.left_behind import CAN_LOOK
from tests.process.sidecar.failing_turn import failure_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

pytestmark = pytest.mark.skipif(not CAN_LOOK, reason="looks into /proc")


@pytest.fixture
def provider() -> Iterator[socket.socket]:
    """A server on loopback that never answers; it is there until the agent has ended."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def remark(client: SidecarClient, before: str) -> None:
    """Expect a notice that says this, and how long it has been so."""
    notice = client.expect(lambda frame: update_of(frame).get("sessionUpdate") == "notice")
    title = str(update_of(notice)["title"])
    match = re.fullmatch(rf"{re.escape(before)} (\d+) s\.", title)
    assert match, title
    assert int(match[1]) >= 2


def test_a_silent_provider_is_named_and_makes_the_turn_time_out(
    provider: socket.socket, start: Start
) -> None:
    options = ["--warn-after", "5.5", "--first-update-timeout", "8", "--cancel-grace", "0.3"]
    client = start("waits-for-provider", provider.getsockname()[1], options=options)
    client.open(**NOTICES)
    since = len(client.frames)
    prompt = client.prompt()
    taken, _ = provider.accept()
    with taken:
        taken.recv(40_000, socket.MSG_WAITALL)
        remark(client, "The model provider has not answered for")
        payload = client.end_of(prompt, since).error
    assert (payload["type"], payload["reason"]) == ("timeout", "provider_silent")
    assert (payload["origin"], payload["retryable"]) == ("provider", True)


def test_a_silence_is_blamed_on_the_agent_with_the_wire_alone(
    provider: socket.socket, start: Start
) -> None:
    options = ["--first-update-timeout", "5", "--cancel-grace", "0.3", "--evidence", "wire"]
    client = start("waits-for-provider", provider.getsockname()[1], options=options)
    client.open()
    assert failure_of(client.turn())["type"] == "agent_stalled"


def test_a_program_that_runs_is_named_without_its_arguments(start: Start) -> None:
    client = start("runs-child", options=["--warn-after", "5.5"])
    client.open(**NOTICES)
    client.prompt()
    remark(client, '"sleep" has been running for')
