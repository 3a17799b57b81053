"""Numbers that no machine holds."""

from __future__ import annotations

import pytest

from tests.kit.wire import error, prompted, update


@pytest.mark.parametrize("number", [10**400, 10**30, 1e300])
def test_a_huge_number_is_left_out_and_blows_no_fuse(number: float) -> None:
    wire = prompted()
    told = {"type": "rate_limit", "message": "Wait.", "retry_after_seconds": number}
    wire.agent(update(sessionUpdate="agent_error", error=told), error())
    assert "retry_after_seconds" not in wire.answers()[0]["error"]["data"]["agent_error"]
