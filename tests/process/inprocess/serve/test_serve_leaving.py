"""A client that goes on to write and reads no more: `serve` ends before it has left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.process.inprocess.test_leaving import flooded

if TYPE_CHECKING:
    from tests.process.inprocess.conftest import Start


def test_an_agent_ends_when_its_client_stops_reading(start: Start) -> None:
    client = start(reads=False)
    client.request("session/new", cwd="/", mcpServers=[])
    client.close(client.stdout)
    for _ in range(3):
        if client.exit_status is None:
            try:
                client.request("_echo")
            except BrokenPipeError:
                break
    assert client.wait() == 0


def test_a_client_that_closes_stdout_in_a_flood_ends_the_agent(start: Start) -> None:
    client = flooded(start)
    client.close(client.stdout)
    assert client.wait() == 0
