"""An agent whose last word is an error without an id."""

from __future__ import annotations

from lastword.core.link.connection import Side
from tests.kit.wire import prompted


def test_an_error_without_an_id_is_heard_though_the_agent_exits_at_once() -> None:
    wire = prompted()
    said = {"code": -32000, "message": "Invalid API key"}
    wire.agent({"jsonrpc": "2.0", "id": None, "error": said}).eof(Side.AGENT)
    assert [one["error"]["data"]["errorKind"] for one in wire.answers()] == ["auth"]
