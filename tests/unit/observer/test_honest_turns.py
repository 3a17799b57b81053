"""Turns that went well, with requests beside them that failed: none of them ends as a failure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lastword.core.link.evidence import TurnId
from lastword.observer.requests import ModelRequests
from tests.kit.rows import every
from tests.kit.wire import cancel, chunk, error, failure, result, update
from tests.unit.link.test_hints import TOOL, begun

if TYPE_CHECKING:
    from tests.kit.wire import Wire

TURN = TurnId(1, 0)
MODEL, OTHER = "/v1/chat/completions", "/v1beta/models/small:generateContent"

Step = tuple[Any, ...]
ASK: tuple[Step, ...] = (("sent", 1, 5000), ("answered", 1), ("tool",))
"""The model asks for a tool, which runs."""

RUNS = ("tool", ("toolCallId", "u"), ("status", "in_progress"))
CLOSED = ("tool", ("toolCallId", "u"), ("sessionUpdate", "tool_call_update"), ("status", "failed"))

TITLE: tuple[Step, ...] = (("sent", 9, 400), ("answered", 9))


def play(steps: tuple[Step, ...]) -> Wire:
    """Let an agent take these steps in a turn, each half a second after the one before."""
    wire, requests = begun(), ModelRequests()
    for word, *details in steps:
        wire.now += details[0] if word == "wait" else 0.5
        if word == "text":
            wire.agent(chunk("Here is the answer."))
        elif word == "tool":
            wire.agent(update(**TOOL | dict(details)))
        elif word == "throws":
            return wire.agent(error(message="Request failed")).time(wire.now + 1)
        elif word not in {"wait", "end"}:
            for report in _reports(word, *details):
                line = json.dumps({"pid": 7, "id": details[0], **report}).encode()
                for hint in requests.receive(line, wire.now, TURN):
                    wire.carry_out(wire.core.receive_hint(hint, wire.now))
        wire.time(wire.now)
    return wire.agent(result()).time(wire.now + 1)


def _reports(word: str, number: int, *details: Any) -> list[dict[str, Any]]:
    if word == "sent":
        size, path, host = (*details, *(MODEL, "h")[len(details) - 1 :])
        return [{"event": "request", "host": host, "path": path, "bytes": size, "model": True}]
    if word == "refused":
        return [{"event": "status", "status": details[0]}, {"event": "end"}]
    if word == "cut":
        ends: dict[str, Any] = {"event": "error", "name": "AbortError"}
    else:
        ends = {"event": "end", "empty": True} if word == "empty" else {"event": "end"}
    return [{"event": "status", "status": 200}, ends]


def refused(number: int, size: int, status: int, path: str = MODEL) -> tuple[Step, ...]:
    return ("sent", number, size, path), ("refused", number, status)


@every(
    "steps",
    [
        # A title, on a model that is not there: before, beside and after the answer.
        (*refused(9, 400, 404), ("sent", 1, 5000), ("answered", 1), ("text",)),
        (("sent", 1, 5000), *refused(9, 400, 404), ("wait", 5), ("answered", 1), ("text",)),
        (("sent", 1, 5000), ("answered", 1), ("text",), *refused(9, 400, 404)),
        (*ASK, ("sent", 2, 6000), ("answered", 2), ("text",), *refused(9, 400, 429)),
        # The same where the model has nothing to add to its tool.
        (*ASK, ("sent", 2, 6000), ("answered", 2), *refused(9, 400, 401)),
        (*ASK, ("sent", 2, 6000), *refused(9, 400, 401), ("wait", 5), ("answered", 2)),
        (*ASK, ("sent", 9, 400), ("empty", 9), ("sent", 2, 6000), ("answered", 2)),
        # A further look at the whole conversation, which nobody waits for.
        (*ASK, ("sent", 2, 6000), ("answered", 2), *refused(3, 6300, 404, OTHER)),
        (*ASK, ("sent", 2, 6000), ("answered", 2), ("text",), *refused(3, 6300, 401)),
        # A failure that was got over, by the same model or another, with nothing to add.
        (*ASK, *refused(2, 6000, 429), ("wait", 3), ("sent", 3, 6000), ("answered", 3)),
        (*ASK, *refused(2, 6000, 404), ("sent", 3, 5980, OTHER), ("answered", 3)),
        (*ASK, *refused(2, 6000, 429), *TITLE, ("sent", 3, 6000), ("answered", 3)),
        (*ASK, *refused(2, 6000, 429), ("sent", 3, 6000), ("cut", 3)),
        (*ASK, *refused(2, 6000, 401), ("sent", 3, 6000, MODEL, "elsewhere"), ("answered", 3)),
        (*ASK, ("sent", 2, 6000), ("empty", 2), ("sent", 3, 6000), ("answered", 3)),
        (*refused(1, 5000, 503), ("sent", 2, 5000), ("answered", 2), ("text",)),
        # A failure of a sub-agent, which is a tool.
        (*ASK, RUNS, *refused(2, 9000, 429), CLOSED, ("sent", 3, 6000), ("answered", 3)),
    ],
)
def test_a_successful_turn_passes_unchanged(steps: tuple[Step, ...]) -> None:
    assert play(steps).answers() == [result()]


@every(
    ("steps", "type_"),
    [
        ((*ASK, *refused(2, 6000, 401)), "auth"),
        ((*ASK, RUNS, *refused(2, 6000, 401), CLOSED, ("throws",)), "auth"),
        ((*ASK, *refused(2, 6000, 429), *refused(3, 6000, 429)), "rate_limit"),
        ((("text",), *ASK, *refused(2, 6000, 429)), "rate_limit"),
        ((*ASK, ("sent", 2, 6000), ("empty", 2)), "network"),
        ((*refused(1, 5000, 401), ("sent", 9, 400), ("answered", 9)), "auth"),
        ((("sent", 9, 400), *refused(1, 5000, 401), ("answered", 9)), "auth"),
    ],
)
def test_a_turn_whose_last_own_request_failed_is_a_failure(
    steps: tuple[Step, ...], type_: str
) -> None:
    assert failure(play(steps))["type"] == type_


def test_a_turn_that_the_user_cancels_is_cancelled_whatever_happens_to_its_requests() -> None:
    wire, requests = begun(), ModelRequests()
    for report in _reports("sent", 1, 5000):
        requests.note({"pid": 7, "id": 1, **report}, wire.now, TURN)
    wire.now += 60
    wire.client(cancel())
    ended = {"pid": 7, "id": 1, "event": "error", "name": "AbortError", "code": None}
    for hint in requests.note(ended, wire.now, None):
        wire.carry_out(wire.core.receive_hint(hint, wire.now))
    wire.agent(result(stop_reason="cancelled"))
    assert wire.answers() == [result(stop_reason="cancelled")]
