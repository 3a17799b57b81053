"""A turn that is stopped while its answer is held back."""

from __future__ import annotations

from tests.kit.wire import prompt, prompted, result


def test_a_turn_that_the_agent_has_answered_leaves_no_quarantine_behind() -> None:
    wire = prompted(stderr_limit_bytes=10).agent(result()).stderr(b"x" * 11)
    assert wire.answers()[0]["error"]["data"]["errorKind"] == "stderr_overflow"
    wire.client(prompt(2))
    assert b'"id": 2' in wire.to_agent[-1]
