"""Requests of the agent's over the limit."""

from __future__ import annotations

from lastword.core.link.connection import Side
from lastword.core.link.effects import Answer
from tests.kit.wire import prompted


def test_an_agent_whose_request_was_too_long_is_answered() -> None:
    wire = prompted()
    line = b'{"jsonrpc":"2.0","id":7,"method":"fs/write_text_file","params":{"content":"xxx'
    effects = wire.core.receive_oversized(Side.AGENT, line, 0.0)
    answers = [effect for effect in effects if isinstance(effect, Answer)]
    assert [(one.to, one.request_id) for one in answers] == [(Side.AGENT, b"7")]
