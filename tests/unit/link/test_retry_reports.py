"""`agent_retry`: its error says what is being done, whatever its type means for one that lasts."""

from __future__ import annotations

from itertools import product
from typing import Any

from lastword.core import classify
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.failure.wording import WHAT_BY_REASON
from lastword.core.link import reporting
from lastword.core.link.evidence import Retrying
from tests.kit.rows import every
from tests.kit.wire import INITIALIZED, Wire, chunk, prompt

CAPABILITIES = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
WAITS: list[dict[str, Any]] = [
    {},
    {"retry_after_seconds": 20},
    {"retry_after_seconds": 7200},
    {"reset_at_epoch_ms": 1_790_000_000_000},
]


def announced(verdict: classify.Verdict, *before: dict[str, Any]) -> dict[str, Any]:
    """The update about a retry of this failure, in a turn that has shown this before."""
    wire = Wire()
    params = {"protocolVersion": 1, "clientCapabilities": CAPABILITIES}
    wire.client({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    wire.agent(INITIALIZED).client(prompt())
    for frame in before:
        wire.agent(frame)
    link = wire.core.connection.link
    (turn,) = link.open_turns()
    retry = Retrying(verdict=verdict, attempt=2, max_attempts=3, wait_seconds=4.0)
    wire.carry_out(reporting.announce(link, turn, retry))
    told: dict[str, Any] = wire.updates()[-1]
    return told


@every("error_type", ErrorType)
def test_it_never_contradicts_its_error(error_type: ErrorType) -> None:
    reasons = [None, *WHAT_BY_REASON.get(error_type, {})]
    refusals = [{"retryable": False}, {"retryable": True}, {"retryable": False, "refused": True}]
    for reason, refusal, wait in product(reasons, refusals, WAITS):
        verdict = classify.Verdict(type=error_type, rule="test", reason=reason, **refusal, **wait)
        for before in ((), (chunk(),)):
            told = announced(verdict, *before)
            error = told["error"]
            assert told["sessionUpdate"] == "agent_retry"
            assert (error["retryable"], error["retry_safety"]) == (True, "auto")
            assert error["action"] == "wait"
            assert error["message"].endswith("Trying again in 4 seconds (attempt 2 of 3).")
