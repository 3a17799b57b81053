"""Odd payloads through every door: the client, the core and the guard read each of them alike.

Where an intermediary tells on what it read, it is a speaker too, and keeps a speaker's bounds:
those differences are named here, each with its rule.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lastword.client import read_error, read_retry
from lastword.client.model import AgentErrorPayload, AgentErrorUpdate, AgentRetryUpdate
from lastword.core.failure.payload import read_payload
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link.connection import LinkOptions, Side
from lastword.core.link.effects import Record
from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Entry, Kind
from lastword.inprocess.exceptions import report_for
from lastword.inprocess.link import HandlerLink
from tests.kit.odd_payloads import (
    COUNTS,
    HUGE,
    INTEGERS,
    ODD_PAYLOADS,
    ODD_RETRIES,
    ODD_UPDATES,
    PAYLOAD,
    TEXTS,
    VALUES,
)
from tests.kit.rows import every
from tests.kit.wire import INITIALIZE, INITIALIZED, chunk, prompt, prompted, result, update

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]
END = result()

BOUNDS_OF_A_SPEAKER = {
    "vendor-wide": "TERM-11: a member that the contract does not name is told on within 4 KiB",
    "vendor-large": "TERM-11: the same",
    "misread-phrase": "TERM-12: some client reads a meaning into it",
}


class RaisedError(Exception):
    """What an SDK's handler raises with a JSON-RPC error object."""


def frame(value: Json) -> bytes:
    return json.dumps(value).encode()


def told(payload: Json | None) -> Json | None:
    return payload and {name: value for name, value in payload.items() if name != "stopReason"}


def by_client(message: Json) -> Json | None:
    """What a client reads that stands at the agent itself."""
    error = read_error(message)
    return error and error.payload()


def by_core(*frames: Json) -> Json | None:
    """What a client is told that negotiated nothing, by the sidecar in front of the agent."""
    wire = prompted()
    for one in frames:
        wire.agent(frame(one))
    return payload_in(wire.answers())


def by_guard(*frames: Json, raised: Json | None = None) -> Json | None:
    """What such a client is told by the guard around a handler in this process."""
    out: list[bytes] = []
    calls: list[Any] = []
    link = HandlerLink(
        LinkOptions(in_process=True),
        to_client=out.append,
        to_handler=lambda _, call: calls.append(call),
        on_cancel=lambda _: None,
        rearm=lambda: None,
        note=lambda _: None,
    )
    link.from_client(frame(INITIALIZE))
    link.from_handler(frame(INITIALIZED), calls[-1])
    link.from_client(frame(prompt()))
    for one in frames:
        link.from_handler(frame(one), calls[-1])
    if raised is not None:
        assert link.failed(calls[-1], report_for(calls[-1], RaisedError(), raised))
    return payload_in([one for one in map(json.loads, out) if one.get("id") == 1])


def payload_in(answers: list[Json]) -> Json | None:
    [answer] = answers
    return told(answer["error"]["data"]["agent_error"]) if "error" in answer else None


def typed(payload: Json) -> Json:
    return update(sessionUpdate="agent_error", stopReason="error", error=payload)


def in_error(payload: Json) -> Json:
    error = {"code": -32603, "message": "x", "data": {"agent_error": payload}}
    return {"jsonrpc": "2.0", "id": 1, "error": error}


CARRIERS: dict[str, Callable[[Json], list[Json]]] = {
    "error": lambda payload: [in_error(payload)],
    "result": lambda payload: [result(1, "error", _meta={"agent_error": payload})],
    "success": lambda payload: [result(_meta={"agent_error": payload})],
    "information": lambda payload: [
        update(sessionUpdate="session_info_update", _meta={"agent_error": payload}),
        result(),
    ],
}

WALKED = [name for name in ODD_PAYLOADS if name not in BOUNDS_OF_A_SPEAKER]
CARRIED = [name for name in WALKED if name.partition("-")[0] in {"message", "exit_code", "stop"}]
"""Enough of them to see that no carrier has a reader of its own."""


@pytest.mark.no_cover
@every("name", WALKED)
def test_every_door_reads_an_odd_payload_the_same_way(name: str) -> None:
    message = typed(ODD_PAYLOADS[name])
    error = read_payload(ODD_PAYLOADS[name])
    read = error.payload()
    assert (by_client(message), by_core(message, END)) == (read, read)
    assert by_guard(message, END) == read
    model = AgentErrorPayload.model_validate(ODD_PAYLOADS[name])
    assert (model.to_error(), told(model.to_wire())) == (error, read)


@pytest.mark.no_cover
@every("carrier", CARRIERS)
@every("name", CARRIED)
def test_every_carrier_of_an_odd_payload_reads_the_same(name: str, carrier: str) -> None:
    frames = CARRIERS[carrier](ODD_PAYLOADS[name])
    read = read_payload(ODD_PAYLOADS[name]).payload()
    assert (by_client(frames[0]), by_core(*frames)) == (read, read)
    assert by_guard(*frames) == read
    if carrier == "error":
        assert by_guard(raised=frames[0]["error"]) == read


def read_of(member: str, value: Any) -> Any:
    return getattr(read_payload(PAYLOAD | {member: value}), member)


@pytest.mark.parametrize("member", TEXTS)
def test_only_text_and_whole_numbers_are_read_as_text(member: str) -> None:
    assert read_of(member, "x" * 600) == "x" * 500
    assert [read_of(member, value) for value in ("", "a b", 429, -9, 429.0)] == [
        *("", "a b", "429", "-9", "429")
    ]
    for value in (None, True, 1.5, HUGE, 10**5000, float("nan"), float("inf"), ["x"], {"a": "x"}):
        assert read_of(member, value) is None


@pytest.mark.parametrize("member", [*INTEGERS, *COUNTS])
def test_a_value_of_the_wrong_type_counts_as_absent(member: str) -> None:
    assert (read_of(member, 7), read_of(member, 7.0)) == (7, 7)
    assert read_of(member, 2**53) == 2**53
    assert read_of(member, -9) == (-9 if member in INTEGERS else None)
    assert read_of(member, 1.2) == (None if member in INTEGERS else 2)
    for value in (None, True, HUGE, 10**5000, float("nan"), float("inf"), "7", [7], {"a": 7}):
        assert read_of(member, value) is None


def test_a_detail_is_a_bounded_object() -> None:
    assert read_of("detail", {"text": "x", "nothing": None}) == {"text": "x", "nothing": None}
    assert read_of("detail", "said") == {"text": "said"}
    assert read_of("detail", 429) == {"text": "429"}
    for value in (None, "", True, 1.5, HUGE, ["said"], {"body": "word" * 3000}, {"a": 10**5000}):
        assert read_of("detail", value) is None
    for value in ("\u6f22" * 9000, {"text": "\u6f22" * 9000, "code": 7}):
        [(name, cut)] = read_of("detail", value).items()
        assert (name, cut[-6:]) == ("text", " (cut)")
        assert 4000 < len(jsonrpc.dumps({name: cut})) <= 4096


@pytest.mark.parametrize(
    ("sent", "plain"),
    [
        ("see <b>`this`</b> [link](x) *now*", "see b this /b (link)(x) now"),
        ("one\ntwo\x00\x1b[31m", "one two (31m"),
        ("half \ud83d of \u202eit\u2028", "half of it"),
        ("  a   b  ", "a b"),
        ("x" * 501, "x" * 499 + "\u2026"),
    ],
)
def test_a_message_is_one_plain_line(sent: str, plain: str) -> None:
    assert (read_of("message", sent), read_of("message", plain)) == (plain, plain)


@every(
    ("facts", "advice"),
    [
        ({"type": "rate_limit"}, "Try again in a moment."),
        ({"type": "timeout", "retry_safety": "ask"}, "Check what has already been done"),
        ({"type": "auth", "action": "switch_model"}, "Choose another model."),
        ({}, "Check the details"),
    ],
)
def test_the_message_of_a_failure_without_words_ends_with_advice(
    facts: dict[str, Any], advice: str
) -> None:
    what, _, said = read_payload(facts).message.partition(". ")
    assert len(what) > 10
    assert advice in said


def test_a_lone_surrogate_is_replaced() -> None:
    odd = {"source": "a\ud83d", "detail": {"text": "b\ud83d"}, "vendor": {"c\udc00": ["\ud83d"]}}
    read = read_payload(PAYLOAD | odd)
    assert (read.source, read.detail) == ("a\ufffd", {"text": "b\ufffd"})
    assert read.extra == {"vendor": {"c\ufffd": ["\ufffd"]}}
    assert json.dumps(read.payload(), ensure_ascii=False).encode()


def test_a_value_that_is_not_json_is_dropped_alone() -> None:
    deep: Json = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for odd in (deep, object(), 10**5000, {"a": [object()]}):
        read = read_error(typed(PAYLOAD | {"detail": {"text": "x", "odd": odd}, "vendor": odd}))
        assert read is not None
        assert (read.type, read.message) == (ErrorType.RATE_LIMIT, "Slow down. Wait.")
        assert read.detail == {"text": "x"}


@pytest.mark.parametrize("name", BOUNDS_OF_A_SPEAKER)
def test_the_core_and_the_guard_forward_bounded_payloads(name: str) -> None:
    payload = ODD_PAYLOADS[name]
    read = read_payload(payload).payload()
    on = by_core(typed(payload), END)
    assert on != read
    assert (by_guard(typed(payload), END), by_client(typed(payload))) == (on, read)
    assert on is not None
    assert len(jsonrpc.dumps(on)) < 5000
    assert "session not found" not in on["message"].lower()


KEY = "sk-ant-api03-" + "a1B2" * 8


def test_a_secret_in_a_payload_is_not_forwarded() -> None:
    texts = dict.fromkeys((*TEXTS, "message", "vendor"), f"x {KEY} y")
    payload = PAYLOAD | texts | {"detail": {"text": KEY}, "api_key": "hunter22", KEY: {"a": [KEY]}}
    many = {f"vendor-{number}": f"{number} {KEY}" for number in range(1000)}
    for one in (payload, payload | many):
        for on in (by_core(typed(one), END), by_guard(raised=in_error(one)["error"])):
            assert on is not None
            assert on["message"] == "x (redacted) y"
            assert KEY not in str(on)
            assert "hunter22" not in str(on)
            assert len(on) < 100


def test_an_advertisement_beside_an_answer_is_not_a_failure() -> None:
    answer = result(_meta={"agent_error": {"version": 1}})
    shown = chunk("Hi")
    assert by_client(answer) is None
    assert by_core(shown, answer) is None
    assert by_guard(shown, answer) is None


AIR = {"id": "f", "revision": 1, "category": "limit", "severity": "error", "actions": []}
ODD_RECORDS: dict[str, Json] = {
    f"{member}-{name}": AIR | {"title": "429 Too Many Requests"} | {member: value}
    for member in ("category", "severity", "title", "details", "reason", "actions", "id")
    for name, value in VALUES.items()
}


@pytest.mark.no_cover
@every("name", ODD_RECORDS)
def test_every_door_reads_an_odd_air_record_as_the_same_failure(name: str) -> None:
    meta = {"jetbrains": {"air": {"version": 1, "sessionFailure": ODD_RECORDS[name]}}}
    answer = result(_meta=meta)
    read = by_client(answer)
    assert read is not None
    for on in (by_core(answer), by_guard(answer)):
        assert on is not None
        for member in ("type", "http_status", "provider_code", "source"):
            assert on.get(member) == read.get(member)


@every("name", ODD_UPDATES)
def test_every_door_reads_an_odd_update_the_same_way(name: str) -> None:
    members = ODD_UPDATES[name]
    message = update(sessionUpdate="agent_error", **members)
    read = by_client(message)
    assert read is not None
    assert (by_core(message, END), by_guard(message, END)) == (read, read)
    model = AgentErrorUpdate.model_validate({"sessionUpdate": "agent_error", **members})
    assert model.error.to_error().payload() == read
    if "error" not in name or name == "error-text":
        assert (read["type"], read["retryable"]) == (ErrorType.UNKNOWN, False)
    said = "It broke." if "It broke." in str(members) and name != "error-list" else None
    assert said is None or read["message"] == said


@every("name", ODD_RETRIES)
def test_every_door_reads_an_odd_retry_the_same_way(name: str) -> None:
    members = ODD_RETRIES[name]
    message = update(sessionUpdate="agent_retry", **members)
    read = read_retry(message)
    assert read is not None
    assert read_error(message) is None
    model = AgentRetryUpdate.model_validate({"sessionUpdate": "agent_retry", **members})
    counts = {"attempt": read.attempt, "max_attempts": read.max_attempts}
    counts |= {"wait_seconds": read.wait_seconds}
    assert {count: getattr(model, count) for count in counts} == counts
    assert (model.error and model.error.to_error()) == read.error
    [entry] = retries_recorded(message)
    known = {count: number for count, number in counts.items() if number is not None}
    error_type = read.error.type if read.error else ErrorType.UNKNOWN
    assert entry.facts == known | {"type": error_type.value}


def retries_recorded(message: Json) -> list[Entry]:
    """What the core writes down of an agent's own retry."""
    wire = prompted()
    effects = wire.core.receive(Side.AGENT, jsonrpc.decode(frame(message)), 0.0)
    return [e.entry for e in effects if isinstance(e, Record) and e.entry.kind is Kind.RETRY]
