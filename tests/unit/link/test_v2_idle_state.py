"""Version 2: an idle state by which the agent itself reports a failure."""

from __future__ import annotations

import pytest

from tests.kit.wire import second_version, update


@pytest.mark.parametrize("rest", ["", "y" * 70_000])
def test_what_the_agent_said_beside_its_error_is_redacted_and_bounded(rest: str) -> None:
    wire = second_version()
    meta = {"debug": "Authorization: Bearer sk-ant-api03-AAAABBBBCCCCDDDD1234"}
    meta |= {str(number): rest for number in range(20)}
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "error"}
    wire.agent(update(**idle, error={"code": -32603, "message": "overloaded"}, _meta=meta))
    assert wire.updates()[-1]["stopReason"] == "error"
    assert b"sk-ant" not in b"".join(wire.to_client)
    assert len(wire.to_client[-1]) < 60 * 1024
