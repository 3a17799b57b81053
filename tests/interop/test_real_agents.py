"""Real agents, failing, with lastword between them and both official SDKs.

The main proof: whatever a provider, a network or the kernel does to an unmodified agent, its client
is told what happened, once, in a shape that this client's SDK hands to user code.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop import selection, toolchain
from tests.interop.matrix import CASES, CELLS, IN_CI, Cell, Played, play
from tests.interop.real_agents import API_KEY
from tests.interop.runs import CLIENTS, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WORKERS = 3

SPECIAL_CODES = {-32002, -32602, -32700, -32800}
"""Codes with a meaning of their own in some client, never used for a failing turn."""


@pytest.fixture(scope="module")
def lived(request: pytest.FixtureRequest) -> Iterator[Callable[[Cell], Played]]:
    """What came of a cell: one of the two clients needs Node in every one."""
    yield from selection.lived(request, play_in, WORKERS, lambda _: toolchain.require_node())


def play_in(cell: Cell, folder: Path) -> Played:
    return play(cell, folder / str(cell))


@pytest.fixture
def played(lived: Callable[[Cell], Played], cell: Cell) -> Played:
    return lived(cell)


def each(cells: list[Cell]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("cell", selection.in_ci(cells, IN_CI.__contains__), ids=str)


def payload_of(run: Run) -> dict[str, Any]:
    payload: dict[str, Any] = run.one("error")["data"]["agent_error"]
    return payload


def clients(played: Played) -> Iterator[tuple[str, Run]]:
    for kind in CLIENTS:
        yield kind, played.runs[kind]


@each(CELLS)
def test_a_failing_turn_ends_once_with_an_error_that_user_code_receives(played: Played) -> None:
    for kind, run in clients(played):
        assert run.exit_code == 0, (kind, run.stderr[-2000:])
        (answer,) = run.answers_on_the_wire()
        (outcome,) = run.outcomes()
        assert outcome["event"] == "error", (kind, outcome)
        assert "result" not in answer
        assert type(outcome["code"]) is int
        assert outcome["code"] not in SPECIAL_CODES
        assert outcome["message"].strip()
        assert outcome["data"]["details"].strip()
        assert outcome["data"]["agent_error"]["message"].strip()
        assert outcome["data"] == answer["error"]["data"], kind


@each(CELLS)
def test_the_error_names_the_real_failure(played: Played, cell: Cell) -> None:
    case = CASES[cell.case]
    for kind, run in clients(played):
        payload = payload_of(run)
        assert payload["type"] == case.type, (kind, payload)
        assert payload["retryable"] is case.retryable, (kind, payload)


@each(CELLS)
def test_the_typed_update_precedes_the_answer_and_only_reaches_clients_that_asked(
    played: Played, cell: Cell
) -> None:
    for kind, run in clients(played):
        typed = run.updates_on_the_wire("agent_error")
        if kind == CASES[cell.case].negotiating:
            (update,) = typed
            assert update["stopReason"] == "error"
            assert update["error"]["type"] == payload_of(run)["type"]
            assert run.delivered("agent_error") == [], "this SDK is typed, and drops the kind"
        else:
            assert typed == [], kind
            (update,) = carriers(run)
            assert update["_meta"]["agent_error"]["type"] == payload_of(run)["type"]
            assert set(update) == {"sessionUpdate", "_meta"}
            assert run.named("log") == [], "the SDK complained about a frame"


def carriers(run: Run) -> list[dict[str, Any]]:
    """Updates of a known kind that carry the payload in their `_meta`."""
    updates = run.updates_on_the_wire("session_info_update")
    return [update for update in updates if "agent_error" in (update.get("_meta") or {})]


@each(CELLS)
def test_nothing_about_the_failure_follows_its_answer_on_the_wire(played: Played) -> None:
    for kind, run in clients(played):
        frames = run.received()
        (answer,) = run.answers_on_the_wire()
        late = frames[frames.index(answer) + 1 :]
        assert not [frame for frame in late if "agent_error" in json.dumps(frame)], kind


@each(CELLS)
def test_the_handshake_promises_that_no_turn_ends_in_silence(played: Played) -> None:
    for kind, run in clients(played):
        frames = [frame for frame in run.received() if "agentCapabilities" in str(frame)]
        extension = frames[0]["result"]["agentCapabilities"]["_meta"]["agent_error"]
        assert extension["version"] == 1, kind
        assert {case.type for case in CASES.values()} <= set(extension["types"])
        assert extension["implementation"].startswith("lastword/")


@each(CELLS)
def test_the_key_is_in_no_frame_and_in_no_record(played: Played) -> None:
    for kind, run in clients(played):
        assert API_KEY not in json.dumps(run.received()), kind
        assert API_KEY not in run.stderr, kind
    for path in played.state.rglob("*"):
        assert not path.is_file() or API_KEY.encode() not in path.read_bytes(), path.name


@each(CELLS)
def test_every_process_ends_with_its_client(played: Played) -> None:
    for kind, run in clients(played):
        assert run.leftovers == [], kind
