"""A client that leaves with a request open is told why it has no answer: nobody was to blame."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.attacks.client import payload_of

if TYPE_CHECKING:
    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

LEAVES = {"session/new": [[]]}
STAYS = {**LEAVES, "end": [["hang"]]}
STUBBORN = {**STAYS, "start": [["ignore", "SIGTERM"]]}


def asked(client: AttackClient) -> Any:
    """A request that the agent reads, and does not answer."""
    client.open(sessions=0)
    request = client.request("session/new", cwd="/", mcpServers=[])
    client.until_taken()
    return request


@pytest.mark.parametrize("agent", [LEAVES, STAYS], ids=["leaves", "is told to go"])
def test_a_client_that_leaves_is_not_told_that_somebody_stopped_the_agent(
    attack: Attack, agent: dict[str, Any]
) -> None:
    with attack.run(agent) as client:
        request = asked(client)
        client.close_stdin()
        payload = payload_of(client.answer(request))
    assert (payload["reason"], payload["origin"]) == ("client_left", "client")
    assert payload["message"].startswith("The client closed its side before the agent had answered")
    assert payload["retryable"] is False


@pytest.mark.parametrize("agent", [LEAVES, STUBBORN], ids=["goes", "is killed"])
def test_a_client_of_a_lastword_that_was_told_to_stop_reads_that(
    attack: Attack, agent: dict[str, Any]
) -> None:
    with attack.run(agent) as client:
        request = asked(client)
        client.signal(signal.SIGTERM)
        payload = payload_of(client.answer(request))
    assert payload["reason"] == "told_to_stop"
    assert payload["message"].startswith("The agent was stopped, as lastword was told to stop.")
    assert "outside" not in payload["message"]


def test_an_agent_that_crashes_as_its_client_leaves_has_crashed(attack: Attack) -> None:
    with attack.run({**LEAVES, "end": [["exit", 3]]}) as client:
        request = asked(client)
        client.close_stdin()
        payload = payload_of(client.answer(request))
    assert (payload["reason"], payload["exit_code"]) == ("exit_status", 3)
