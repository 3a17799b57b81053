"""What a handler in this process says of its turn, taken in by the core: words, facts, frames."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core import classify
from lastword.core.failure.retry_policy import FailedAttempt
from lastword.core.link.agent_side import HandlerFailure, HandlerReport, Note
from lastword.core.link.connection import Side
from lastword.core.link.effects import Drop
from lastword.core.link.evidence import Retrying
from tests.kit.wire import (
    INITIALIZE,
    Wire,
    cancel,
    failure,
    prompt,
    prompted,
    reply,
    request,
    result,
    second_version,
)

LIMITED = classify.classify({"error": {"message": "slow down"}, "status": 429})


def said(wire: Wire, word: HandlerReport, request_id: bytes = b"1") -> list[Any]:
    """Let the handler of a request say something."""
    effects = wire.core.receive_report(request_id, word, wire.now)
    wire.carry_out(effects)
    return effects


def in_turn(**extension: Any) -> Wire:
    """A link with a prompt under way, for a client that negotiated this much."""
    capabilities = {"_meta": {"agent_error": {"version": 1, **extension}}} if extension else {}
    return prompted(capabilities, wall_clock=None)


def test_an_exception_ends_its_turn_once_and_typed() -> None:
    wire = in_turn()
    said(wire, HandlerFailure(verdict=LIMITED))
    error = failure(wire)
    assert (error["type"], error["retryable"], error["phase"]) == (
        "rate_limit",
        True,
        "before_output",
    )
    assert error["retry_safety"] == "auto"
    wire.agent(result())
    assert Drop("answer_to_nobody") in said(wire, HandlerFailure(verdict=LIMITED))
    assert len(wire.answers()) == 1


def test_an_exception_after_our_own_stop_has_the_reason_of_the_stop() -> None:
    wire = in_turn().time(901)
    said(wire, HandlerFailure(verdict=LIMITED))
    assert failure(wire)["type"] == "agent_stalled"


def test_an_exception_of_another_request_answers_that_request() -> None:
    wire = in_turn().client(request(7, "session/new"))
    said(wire, HandlerFailure(verdict=LIMITED), b"7")
    assert (failure(wire, 7)["type"], wire.answers(1)) == ("rate_limit", [])


@pytest.mark.parametrize(
    ("notes", "phase", "safety"),
    [
        ([], "before_output", "auto"),
        ([Note.PROGRESS], "before_output", "auto"),
        ([Note.OUTPUT], "mid_output", "offer_continue"),
        ([Note.SAFE_TOOL], "tool_running", "ask"),
        ([Note.SAFE_TOOL, Note.TOOL_FINISHED], "after_tool", "ask"),
        ([Note.UNSAFE_TOOL, Note.TOOL_FINISHED], "after_tool", "ask"),
        ([Note.SAFE_TOOL, Note.SAFE_TOOL, Note.TOOL_FINISHED], "tool_running", "ask"),
    ],
)
def test_the_handlers_notes_decide_phase_and_safety(
    notes: list[Note], phase: str, safety: str
) -> None:
    wire = in_turn()
    for note in notes:
        said(wire, note)
    said(wire, HandlerFailure(verdict=LIMITED))
    assert (failure(wire)["phase"], failure(wire)["retry_safety"]) == (phase, safety)


def test_reported_progress_restarts_the_clock_of_silence() -> None:
    wire = in_turn().time(800)
    said(wire, Note.PROGRESS)
    wire.time(1600)
    assert wire.to_agent[-1] != json.dumps(cancel()).encode()
    assert "cancel" not in wire.kinds
    wire.time(1701)
    assert "cancel" in wire.kinds


def test_a_reported_tool_has_the_limit_of_tools() -> None:
    wire = in_turn()
    said(wire, Note.UNSAFE_TOOL)
    wire.time(7199)
    assert "cancel" not in wire.kinds
    said(wire, Note.TOOL_FINISHED)
    wire.time(7199 + 901)
    assert "cancel" in wire.kinds


def test_a_note_about_a_request_that_is_not_a_prompt_is_ignored() -> None:
    wire = in_turn()
    assert said(wire, Note.OUTPUT, b"99") == []
    assert said(wire, Retrying(verdict=LIMITED, attempt=2), b"99") == []


def test_a_client_that_asked_for_retries_gets_them() -> None:
    wire = in_turn(retry=True)
    said(wire, Retrying(verdict=LIMITED, attempt=2, max_attempts=6, wait_seconds=3.2))
    (update,) = wire.updates()
    assert update["sessionUpdate"] == "agent_retry"
    assert (update["attempt"], update["max_attempts"], update["wait_seconds"]) == (2, 6, 4)
    assert update["error"]["type"] == "rate_limit"


def test_a_client_that_shows_notices_gets_a_retry_as_one() -> None:
    wire = prompted({"session": {"notices": {}}})
    said(wire, Retrying(verdict=LIMITED, attempt=3, max_attempts=6, wait_seconds=4))
    (update,) = wire.updates()
    assert update["sessionUpdate"] == "notice"
    assert update["title"].endswith("Trying again in 4 seconds (attempt 3 of 6).")


def test_the_clocks_stop_during_the_handlers_announced_wait() -> None:
    wire = in_turn()
    said(wire, Retrying(verdict=LIMITED, attempt=2, wait_seconds=300))
    wire.time(1199)
    assert "cancel" not in wire.kinds
    wire.time(1201)
    assert "cancel" in wire.kinds


def test_failed_attempts_are_counted_and_listed() -> None:
    wire = in_turn()
    tried = (FailedAttempt(LIMITED, 3, 2.5), FailedAttempt(LIMITED))
    said(wire, HandlerFailure(verdict=LIMITED, tried=tried))
    error = failure(wire)
    assert error["attempts"] == 4
    assert "It was tried 4 times." in error["message"]
    assert error["detail"]["attempts"] == [
        {"type": "rate_limit", "http_status": 429, "tries": 3, "waited_seconds": 2.5},
        {"type": "rate_limit", "http_status": 429},
    ]


def test_an_exception_after_the_acceptance_answers_nothing_in_version_2() -> None:
    wire = second_version()
    assert Drop("answer_to_nobody") in said(wire, HandlerFailure(verdict=LIMITED))
    wire.eof(Side.AGENT)
    assert [update["state"] for update in wire.updates() if "state" in update] == [
        "running",
        "idle",
    ]


def test_an_exception_before_the_acceptance_refuses_the_prompt_in_version_2() -> None:
    wire = Wire().client(INITIALIZE | {"params": {"protocolVersion": 2}})
    wire.agent(reply(0, protocolVersion=2)).client(prompt())
    said(wire, HandlerFailure(verdict=LIMITED))
    (answer,) = wire.answers()
    assert answer["error"]["data"]["agent_error"]["type"] == "rate_limit"
    assert [update["state"] for update in wire.updates() if "state" in update] == ["idle"]
