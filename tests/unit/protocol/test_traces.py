"""Traces of other programs: each line is read as one of `lastword run --frames`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.core.classify.pasted_error import read_pasted
from lastword.core.protocol.traces import read_trace_line

PROMPT = {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {"sessionId": "s1"}}
NOTE = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}
ERROR = {"code": -32603, "message": "429 Too Many Requests"}
FAILED = {"jsonrpc": "2.0", "id": 2, "error": ERROR}
DONE = {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}}
TO_AGENT = {"from": "client", "to": "agent"}
TO_CLIENT = {"from": "agent", "to": "client"}


def inspector(direction: str, message: Any, moment: object) -> dict[str, Any]:
    text = message if isinstance(message, str) else json.dumps(message)
    return {"ts": moment, "direction": direction, "json": text}


def conductor(kind: str, sides: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"ts": 0.25, "type": kind, "protocol": "acp", **sides, **more}


REQUEST = conductor("request", TO_AGENT, session=None, **{**PROMPT, "jsonrpc": "x"})
ANSWER = conductor("response", TO_CLIENT, id=2, is_error=True, payload=ERROR)

LINES = {
    "lastword's own": ({"at": 5, "from": "agent"}, {"at": 5, "from": "agent"}),
    "a message": (PROMPT, {"frame": PROMPT}),
    "a date": (
        inspector("fromClient", PROMPT, "1970-01-01T00:00:02Z"),
        {"at": 2.0, "frame": PROMPT} | TO_AGENT,
    ),
    "milliseconds": (
        inspector("FromAgent", FAILED, 1500),
        {"at": 1.5, "frame": FAILED} | TO_CLIENT,
    ),
    "no date": (
        inspector("fromAgent", "{oops", "soon"),
        {"at": None, "text": "{oops"} | TO_CLIENT,
    ),
    "a request": (REQUEST, {"at": 0.25, "frame": PROMPT} | TO_AGENT),
    "a notification": (
        conductor("notification", TO_AGENT, method=NOTE["method"], params=NOTE["params"]),
        {"at": 0.25, "frame": NOTE} | TO_AGENT,
    ),
    "an error": (ANSWER, {"at": 0.25, "frame": FAILED} | TO_CLIENT),
    "a result": (
        conductor("response", TO_CLIENT, id=2, is_error=False, payload=DONE["result"]),
        {"at": 0.25, "frame": DONE} | TO_CLIENT,
    ),
    "a line of a log": ({"ts": 1, "type": "trace", "message": "x"}, None),
    "no object": ([1], None),
}


@pytest.mark.parametrize("name", LINES)
def test_a_foreign_traces_line_is_read_as_one_of_ours(name: str) -> None:
    line, expected = LINES[name]
    assert read_trace_line(line) == expected


@pytest.mark.parametrize(
    "lines",
    [
        (PROMPT, FAILED, NOTE),
        (inspector("fromClient", PROMPT, 1), inspector("fromAgent", FAILED, 2)),
        (REQUEST, ANSWER),
        ({"at": 1, "frame": PROMPT} | TO_AGENT, {"at": 2, "frame": FAILED} | TO_CLIENT),
    ],
)
def test_the_failure_in_a_trace_is_the_one_that_is_explained(lines: tuple[Any, ...]) -> None:
    reading = read_pasted("\n".join(map(json.dumps, lines)))
    assert (reading.form, reading.value) == ("JSON lines", FAILED)


def test_an_error_of_the_clients_is_not_the_failure_in_a_trace() -> None:
    refused = {"jsonrpc": "2.0", "id": 9, "error": {"code": -32602, "message": "no such file"}}
    lines = (inspector("fromAgent", FAILED, 1), inspector("fromClient", refused, 2))
    assert read_pasted("\n".join(map(json.dumps, lines))).value == FAILED
