"""Clocks around a question to the user."""

from __future__ import annotations

from tests.kit.wire import Wire, cancel, chunk, permission, prompted


def asked(**options: float) -> Wire:
    """A turn whose agent asks the user at second 10."""
    return prompted(**options).agent(chunk()).time(10).agent(permission())


def test_a_dialog_that_was_open_for_long_does_not_lengthen_the_grace_of_a_cancel() -> None:
    wire = asked().time(1810).client(cancel())
    wire.client({"jsonrpc": "2.0", "id": 9, "result": {"outcome": {"outcome": "cancelled"}}})
    wire.time(1821)
    assert wire.answers()[0]["result"] == {"stopReason": "cancelled"}


def test_questions_that_overlap_stop_the_turns_clock_for_their_whole_time() -> None:
    wire = asked(turn_timeout_seconds=100).time(200).agent(permission(8))
    for request_id in (8, 9):
        wire.client({"jsonrpc": "2.0", "id": request_id, "result": {}})
    wire.time(280)
    assert not any(b"session/cancel" in frame for frame in wire.to_agent)
    wire.time(301)
    assert any(b"session/cancel" in frame for frame in wire.to_agent)
