"""A client that leaves with a request open is told why it has no answer: nobody was to blame."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.attacks.client import payload_of

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack

LEAVES = {"session/new": [[]]}
STUBBORN = {**LEAVES, "end": [["hang"]], "start": [["ignore", "SIGTERM"]]}

ENDS: dict[str, tuple[dict[str, Any], int | None, dict[str, Any], str]] = {
    "the client leaves an agent that is told to go": (
        {**LEAVES, "end": [["hang"]]},
        None,
        {"reason": "client_left", "origin": "client", "retryable": False},
        "The client closed its side before the agent had answered",
    ),
    "lastword is told to stop": (
        STUBBORN,
        signal.SIGTERM,
        {"reason": "told_to_stop"},
        "The agent was stopped, as lastword was told to stop.",
    ),
    "the agent crashes as its client leaves": (
        {**LEAVES, "end": [["exit", 3]]},
        None,
        {"reason": "exit_status", "exit_code": 3},
        "",
    ),
}


@pytest.mark.parametrize(("agent", "number", "members", "words"), ENDS.values(), ids=ENDS)
def test_a_request_that_is_open_at_the_end_is_answered_with_the_reason(
    attack: Attack, agent: dict[str, Any], number: int | None, members: dict[str, Any], words: str
) -> None:
    with attack.run(agent) as client:
        client.open(sessions=0)
        request = client.request("session/new", cwd="/", mcpServers=[])
        client.until_taken()
        if number is None:
            client.close_stdin()
        else:
            client.signal(number)
        payload = payload_of(client.answer(request))
    assert members.items() <= payload.items()
    assert payload["message"].startswith(words)
    assert "outside" not in payload["message"]
