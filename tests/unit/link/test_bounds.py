"""What agents say at length, in frames of ours."""

from __future__ import annotations

from tests.kit.wire import INITIALIZE, INITIALIZED, Wire, error, prompt, update

LONG = {str(number): "word " * 1600 for number in range(20)}


def test_a_translated_failure_keeps_its_detail_within_the_bound() -> None:
    wire = Wire()
    wire.client(INITIALIZE)
    wire.agent(INITIALIZED)
    wire.client(prompt())
    told = {"type": "rate_limit", "message": "Wait.", "retryable": True}
    wire.agent(update(sessionUpdate="agent_error", error=told | {"detail": LONG | {"text": "429"}}))
    wire.agent(error())
    assert max(map(len, wire.to_client)) < 60 * 1024
    assert wire.answers()[0]["error"]["data"]["agent_error"]["detail"] == {"text": "429"}


def test_a_mended_error_stays_within_the_bound() -> None:
    wire = Wire()
    wire.client({"jsonrpc": "2.0", "id": 3, "method": "session/new", "params": {}})
    wire.agent({"jsonrpc": "2.0", "id": 3, "error": {"code": "x", "message": "no", "data": LONG}})
    assert len(wire.to_client[-1]) < 60 * 1024
    assert wire.answers(3)[0]["error"]["message"] == "no"
