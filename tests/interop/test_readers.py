"""The readers of `agent_error` in other languages are of one mind with Python's."""

from __future__ import annotations

import json
import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from lastword.client import read_error
from lastword.core.failure import ladder, sentences
from lastword.core.failure.ladder import Ending, Rung
from lastword.core.failure.taxonomy import (
    DEFAULTS,
    Action,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
)
from lastword.core.link.handshake import ClientProfile
from lastword.core.protocol import acp
from tests.contract.test_client_rungs import full
from tests.interop.test_native_clients import read_in_rust
from tests.interop.typescript.test_client_typescript import compile_reader, read_in_typescript
from tests.kit.odd_payloads import ODD_PAYLOADS, ODD_UPDATES
from tests.kit.places import PROTOCOL, SAMPLES
from tests.kit.reading_vectors import document, expect_error

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module", params=["rust", "typescript"])
def read(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., list[Any]]:
    if request.param == "rust":
        return read_in_rust
    return partial(read_in_typescript, compile_reader(tmp_path_factory.mktemp("typescript")))


@cache
def frames() -> list[dict[str, Any]]:
    """Every rung for every type of failure, in both versions, with and without consent."""
    found = []
    for error_type in ErrorType:
        error = replace(full(error_type), extra={"region": {"name": "eu"}, "constructor": 1})
        ending = Ending(error=error, session_id="s1", prompts=(b"2",))
        for rung in Rung:
            for dialect in (acp.V1, acp.V2):
                for accepts in (False, True):
                    client = ClientProfile(dialect=dialect, typed=True, stop_reason=accepts)
                    out = ladder.frames_for(ending, rung=rung, client=client, dialect=dialect)
                    found += [json.loads(outgoing.frame) for outgoing in out]
    return found


def as_told(value: Any) -> dict[str, Any] | None:
    error = read_error(value)
    return error and error.payload()


def examples() -> list[Any]:
    """Every frame that the contract shows."""
    text = (PROTOCOL / "README.md").read_text()
    return [json.loads(line) for line in re.findall(r"^[→←] (.*)$", text, re.MULTILINE)]


def sent_by_agents() -> list[Any]:
    """Every frame that an agent of the vectors sends, but for single agents' own conventions."""
    vectors = [v for f in (PROTOCOL / "vectors").glob("*.json") for v in json.loads(f.read_text())]
    sent = [step["agent"] for vector in vectors for step in vector["steps"] if "agent" in step]
    # The small readers leave those alone.
    return [frame for frame in sent if not re.search("jetbrains|codex", str(frame))]


OURS_ALONE = {name for name in ODD_PAYLOADS if name.endswith("-surrogate")} | {
    *("detail-wide", "detail-large-text", "detail-large-wide", "detail-large-other"),
    "vendor-huge",
}
"""Left out for the small readers: they cut no detail, and a number is what their JSON makes it."""

ODD: list[Any] = [
    {"sessionUpdate": "agent_error", "message": "It broke.", "raw": {"status": 500}},
    {"sessionUpdate": "agent_error", "type": "error", "text": "It broke."},
    {"sessionUpdate": "agent_error", "error": {}},
    {"sessionUpdate": "agent_error"},
    *(
        {"sessionUpdate": "agent_error", "error": error}
        for error in (
            *({"type": error_type.value} for error_type in ErrorType),
            {"type": "quota", "message": " ", "phase": "later", "reason": None, "x": [1]},
            {"type": "rate_limit", "retry_after_seconds": 1.2, "attempts": -1},
            {"type": "rate_limit", "retry_after_seconds": "7", "retryable": "yes"},
            {"type": "auth", "message": "x" * 600, "retryable": None, "toString": 1},
            {"type": {"auth": None}, "message": ["x"], "origin": ["agent"], "phase": {"a": 1}},
            *(payload for name, payload in ODD_PAYLOADS.items() if name not in OURS_ALONE),
        )
    ),
    *({"sessionUpdate": "agent_error", **members} for members in ODD_UPDATES.values()),
]


def told_of_odd() -> list[Any]:
    """What the small readers make of them: where words are missing they have one sentence."""
    told = [as_told(value) for value in ODD]
    for payload in told:
        usual = DEFAULTS[ErrorType(payload["type"])].action
        action = Action(payload.get("action", usual))
        if payload["message"] == sentences.own_sentence(ErrorType(payload["type"]), action):
            payload["message"] = "The agent reported a failure without saying which."
    return told


NOTHING: list[Any] = [
    None, 7, "text", [], {}, {"error": None}, {"result": None}, {"result": {}},
    {"method": "session/update"}, {"stopReason": "end_turn"}, {"stopReason": "refusal"},
    {"stopReason": "cancelled", "_meta": {"agent_error": {"type": "auth"}}},
    {"_meta": {"agent_error": {"version": 1}}}, {"sessionUpdate": "agent_retry", "error": {}},
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "error"}},
    {"sessionUpdate": "notice", "title": "x"}, {"type": "text", "text": "hello"},
    {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"},
]  # fmt: skip


def test_every_rung_and_the_contracts_examples_are_read_alike(
    read: Callable[..., list[Any]],
) -> None:
    values = [*frames(), *examples()]
    told = read(values)
    assert told == [as_told(value) for value in values]
    assert sum(one is not None for one in told) > 300


def test_what_the_agents_of_the_vectors_send_is_read_alike(read: Callable[..., list[Any]]) -> None:
    sent = sent_by_agents()
    for frame, told in zip(sent, read(sent), strict=True):
        error = read_error(frame)
        assert (told is None) is (error is None), frame
        if error is not None and "'agent_error'" in str(frame):
            assert told == error.payload()


def test_a_reader_comes_to_what_the_vectors_have(read: Callable[..., list[Any]]) -> None:
    vectors = document()["read"]
    for vector, told in zip(vectors, read([one["given"] for one in vectors]), strict=True):
        expect_error(vector, told)


def test_what_others_got_wrong_is_taken_alike(read: Callable[..., list[Any]]) -> None:
    assert read(ODD) == told_of_odd()
    assert read(NOTHING) == [as_told(value) for value in NOTHING] == [None] * len(NOTHING)


def test_errors_are_read_as_an_sdk_hands_them_out(read: Callable[..., list[Any]]) -> None:
    errors = [frame["error"] for frame in frames() if "error" in frame]
    assert read(errors, thrown=True) == [as_told(error) for error in errors]


def test_a_bare_agents_error_is_a_failure_without_automatic_retry(
    read: Callable[..., list[Any]],
) -> None:
    bodies = [json.loads(line).get("body") for line in SAMPLES.read_text().splitlines()]
    answers = [body for body in bodies if isinstance(body, dict) and "jsonrpc" in body]
    assert len(answers) > 5
    for told in read(answers):
        assert told["type"] in set(ErrorType)
        assert told["message"]
        assert told["retry_safety"] == ("ask" if told["retryable"] else "never")
    [forbidden] = read([{"code": -31050, "message": "x", "data": {"errorKind": "timeout"}}])
    told = (forbidden["type"], forbidden["retryable"], forbidden["retry_safety"])
    assert told == ("timeout", False, "never")


def test_every_word_of_the_closed_sets_is_known(read: Callable[..., list[Any]]) -> None:
    sets = {"origin": Origin, "phase": Phase, "retry_safety": RetrySafety, "action": Action}
    payloads = [
        {"type": "auth", "message": "x", "retryable": False, key: word.value}
        for key, words in sets.items()
        for word in words
    ]
    assert read(payloads) == payloads
