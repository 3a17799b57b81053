"""Clocks around a question to the user."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.link.options import LinkOptions
from lastword.core.link.state import MAX_WITHDRAWN, Link, OpenRequest
from tests.kit.wire import Wire, cancel, chunk, permission, prompt, prompted, reply, result


def asked(**options: float) -> Wire:
    """A turn whose agent asks the user at second 10."""
    return prompted(**options).agent(chunk()).time(10).agent(permission())


def test_a_dialog_that_was_open_for_long_does_not_lengthen_the_grace_of_a_cancel() -> None:
    wire = asked().time(1810).client(cancel(), reply(9, outcome={"outcome": "cancelled"}))
    wire.time(1821)
    assert wire.answers()[0]["result"] == {"stopReason": "cancelled"}


def test_questions_that_overlap_stop_the_turns_clock_for_their_whole_time() -> None:
    wire = asked(turn_timeout_seconds=100).time(200).agent(permission(8))
    for request_id in (8, 9):
        wire.client(reply(request_id))
    wire.time(280)
    assert not any(b"session/cancel" in frame for frame in wire.to_agent)
    wire.time(301)
    assert any(b"session/cancel" in frame for frame in wire.to_agent)


# --- Questions to the user that nobody answers


WITHDRAWN = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 9}}


@pytest.mark.parametrize("next_frames", [[result(), prompt(2)], [WITHDRAWN]])
def test_the_clocks_run_again_once_the_question_is_moot(next_frames: list[dict[str, Any]]) -> None:
    wire = prompted().agent(chunk(), permission(), next_frames[0])
    for frame in next_frames[1:]:
        wire.client(frame)
    wire.time(1000)
    assert any(b"session/cancel" in frame for frame in wire.to_agent)


# --- A session that is closed in the middle of a turn


def test_a_turn_of_a_closed_session_is_answered_although_the_agent_is_silent() -> None:
    wire = prompted().agent(chunk())
    close = {"method": "session/close", "params": {"sessionId": "s"}}
    wire.client({"jsonrpc": "2.0", "id": 2} | close).agent(reply(2)).time(11)
    assert wire.answers()[0]["result"] == {"stopReason": "cancelled"}


# --- Requests of dead agents that the client may still answer: remembered, and not for ever


def test_the_oldest_withdrawn_request_is_forgotten_beyond_the_bound() -> None:
    link = Link(LinkOptions())
    for number in range(MAX_WITHDRAWN + 1):
        request_id = str(number).encode()
        link.add_agent_request(request_id, OpenRequest("fs/read_text_file"))
        link.withdraw(request_id)
    assert len(link.withdrawn) == MAX_WITHDRAWN
    assert link.pop_withdrawn(b"0") is None
    assert link.pop_withdrawn(b"1") is not None
