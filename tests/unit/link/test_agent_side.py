"""An error that says nothing, for a request other than a prompt: stderr may explain it."""

from __future__ import annotations

from typing import Any

from lastword.core.link.connection import Side
from tests.kit.rows import every
from tests.kit.wire import (
    Wire,
    error,
    greeted,
    prompt,
    prompted,
    request,
    update,
)


def _opening(**options: Any) -> Wire:
    """A link on which the client opens a session, after noise on stderr."""
    wire = greeted(**options).stderr(b"Error: of an earlier time\n")
    return wire.client(request(3, "session/new", cwd="/w", mcpServers=[]))


REASON = "Error: Cannot find module 'sqlite3'"


@every(
    "said",
    [
        {"code": -32603, "message": "Internal error"},
        {"code": -32603, "message": "Internal error", "data": {}},
        {"code": -32603, "message": "", "data": None},
        {"code": -32603},
        {},
    ],
)
@every("is_late", [False, True])
def test_an_empty_error_for_a_request_has_the_end_of_stderr(
    *, said: dict[str, Any], is_late: bool
) -> None:
    wire = _opening()
    wire.core.expects_hints(present=True)
    answer = {"jsonrpc": "2.0", "id": 3, "error": said}
    if is_late:
        wire.agent(answer, update(sessionUpdate="usage_update")).stderr(f"{REASON}\n".encode())
        assert wire.answers(3) == []
    else:
        wire.stderr(f"{REASON}\n".encode()).agent(answer)
    wire.time(1)
    (given,) = wire.answers(3)
    assert given["error"]["data"]["details"] == f"On stderr at that time: {REASON}"
    assert given["error"]["message"]
    assert "frame_repaired" not in wire.kinds


@every(
    ("said", "written"),
    [
        ({"code": -32603, "message": "Internal error"}, ""),
        ({"code": -32603, "message": "Internal error"}, "listening on port 3000"),
        ({"code": -32603, "message": "The folder is gone"}, REASON),
        ({"code": -32000, "message": "Authentication required"}, REASON),
        ({"code": -32603, "message": "Internal error", "data": {"details": "no disk"}}, REASON),
    ],
)
def test_an_error_with_its_own_words_or_without_an_explanation_passes_unchanged(
    said: dict[str, Any], written: str
) -> None:
    wire = _opening().stderr(f"{written}\n".encode() if written else b"")
    answer = {"jsonrpc": "2.0", "id": 3, "error": said}
    wire.core.expects_hints(present=True)
    wire.agent(answer).time(1)
    assert wire.answers(3) == [answer]


def test_stderr_is_not_attributed_to_a_request_beside_a_turn() -> None:
    wire = _opening().client(prompt()).stderr(f"{REASON}\n".encode())
    answer = {"jsonrpc": "2.0", "id": 3, "error": {"code": -32603, "message": "Internal error"}}
    assert wire.agent(answer).answers(3) == [answer]


def test_two_empty_errors_at_once_are_two_answers() -> None:
    wire = _opening()
    wire.core.expects_hints(present=True)
    wire.client(request(4, "session/list")).agent(error(3, message=""), error(4, message=""))
    assert [len(wire.time(1).answers(each)) for each in (3, 4)] == [1, 1]


def test_an_error_without_an_id_counts_although_the_agent_exits_at_once() -> None:
    wire = prompted().agent(error(None, -32000, "Invalid API key")).eof(Side.AGENT)
    assert [one["error"]["data"]["errorKind"] for one in wire.answers()] == ["auth"]


def test_an_empty_error_is_also_the_answer_if_the_agent_exits_at_once() -> None:
    wire = _opening()
    wire.core.expects_hints(present=True)
    wire.agent({"jsonrpc": "2.0", "id": 3, "error": {"code": -32603, "message": ""}})
    wire.stderr(f"{REASON}\n".encode()).eof(Side.AGENT)
    (given,) = wire.answers(3)
    assert given["error"]["data"]["details"] == f"On stderr at that time: {REASON}"
