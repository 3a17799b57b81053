"""Warnings to JetBrains AIR: whatever ends the turn replaces the one that is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.link.connection import Side
from tests.kit.wire import Wire, cancel, chunk, error, prompt, result, update

if TYPE_CHECKING:
    from collections.abc import Callable

AIR = {"_meta": {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}}
RETRYING = {
    "jsonrpc": "2.0",
    "method": "_session/retrying",
    "params": {"sessionId": "s", "category": "unauthorized", "detail": "401 Unauthorized"},
}
LOGIN = error(code=-32000, message="Authentication required")


def linked(**options: Any) -> Wire:
    """A turn of a client that reads AIR's records, with an agent that offers a login."""
    wire = Wire(**options)
    params = {"protocolVersion": 1, "clientCapabilities": AIR}
    wire.client({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    login = {"protocolVersion": 1, "authMethods": [{"id": "k", "name": "Key"}]}
    wire.agent({"jsonrpc": "2.0", "id": 0, "result": login}).client(prompt())
    return wire


def own_record(severity: str, revision: Any = 1) -> dict[str, Any]:
    """A record that the agent itself sends."""
    record = {"id": "own", "revision": revision, "category": "access", "severity": severity}
    record |= {"title": "Retrying Claude, attempt 1 of 10.", "actions": []}
    meta = {"jetbrains": {"air": {"version": 1, "sessionFailure": record}}}
    return update(sessionUpdate="session_info_update", _meta=meta)


def records(wire: Wire) -> list[dict[str, Any]]:
    """Every record that the client got, in order, the answer's included."""
    holders = [*wire.updates(), *(answer.get("result", {}) for answer in wire.answers())]
    metas = [holder.get("_meta", {}).get("jetbrains", {}).get("air", {}) for holder in holders]
    return [meta["sessionFailure"] for meta in metas if "sessionFailure" in meta]


def expect_one_row(wire: Wire, severity: str) -> dict[str, Any]:
    """The client has one row, and its last record is this."""
    rows = records(wire)
    assert len({row["id"] for row in rows}) == 1
    assert [row["revision"] for row in rows] == list(range(1, len(rows) + 1))
    assert rows[-1]["severity"] == severity
    assert "again" not in rows[-1]["title"] or severity == "error"
    assert len(wire.answers()) == 1
    return rows[-1]


ENDS: dict[str, tuple[Callable[[Wire], object], str]] = {
    "a login": (lambda wire: wire.agent(LOGIN), "error"),
    "another failure": (lambda wire: wire.agent(error(message="boom")), "error"),
    "a death": (lambda wire: wire.eof(Side.AGENT), "error"),
    "a success": (lambda wire: [wire.agent(chunk()), wire.agent(result())], "warning"),
    "a cancel": (
        lambda wire: [wire.client(cancel()), wire.agent(result(stop_reason="cancelled"))],
        "warning",
    ),
    "a cancel that fails": (lambda wire: [wire.client(cancel()), wire.agent(error())], "warning"),
    "a cancel without an answer": (lambda wire: [wire.client(cancel()), wire.time(99)], "warning"),
    "a cancel and a success": (
        lambda wire: [wire.client(cancel()), wire.agent(result())],
        "warning",
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_warning_of_ours_is_replaced_by_the_end_of_the_turn(end: str) -> None:
    wire = linked().agent(RETRYING)
    carry_out, severity = ENDS[end]
    carry_out(wire)
    last = expect_one_row(wire, severity)
    assert last["revision"] == 2


def test_a_withheld_success_replaces_it_too() -> None:
    wire = linked(silent_success="pass").agent(RETRYING, result()).time(99)
    assert (len(wire.answers()), records(wire)[-1]["revision"]) == (1, 2)


def test_a_login_that_the_agent_warned_of_itself_comes_under_its_own_id() -> None:
    wire = linked().agent(own_record("warning"), LOGIN)
    last = expect_one_row(wire, "error")
    assert (last["id"], last["actions"]) == ("own", ["login"])
    assert wire.answers()[0]["error"]["code"] == -32000


@pytest.mark.parametrize("frames", [[], [own_record("warning"), own_record("error", 2)]])
def test_a_login_without_an_open_warning_is_the_error_alone(frames: list[dict[str, Any]]) -> None:
    wire = linked()
    for frame in frames:
        wire.agent(frame)
    wire.agent(LOGIN)
    assert len(records(wire)) == len(frames)


def test_a_record_that_cannot_be_counted_on_is_left_as_it_is() -> None:
    wire = linked().agent(own_record("warning", "first"), LOGIN)
    assert len(records(wire)) == 1


def test_a_warning_of_the_agents_own_is_the_agents_to_close() -> None:
    wire = linked().agent(own_record("warning"), chunk(), result())
    assert len(records(wire)) == 1


def test_a_cancel_that_the_agent_does_not_confirm_closes_a_warning_of_its_own() -> None:
    wire = linked().agent(own_record("warning")).client(cancel()).time(99)
    assert expect_one_row(wire, "warning")["revision"] == 2


def test_a_failure_in_a_record_of_the_agents_own_ends_a_warning_of_ours() -> None:
    wire = linked().agent(RETRYING)
    failed = own_record("error")["params"]["update"]["_meta"]
    wire.agent({"id": 1, "result": {"stopReason": "end_turn", "_meta": failed}})
    ours = [row for row in records(wire) if row["id"] != "own"]
    assert [row["title"] for row in ours][-1] == "The turn failed."
