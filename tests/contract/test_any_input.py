"""No input makes the classifier, `explain` or a client's reader raise, hang or grow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lastword.cli.explain_page import case_of_exit, case_of_response, case_of_text, explain, shown
from lastword.cli.page import text_width
from lastword.client import read_error, reading
from lastword.core.classify import (
    FAILED_RULE,
    Verdict,
    classify,
    classify_exit,
    classify_rpc_error,
    classify_text,
)
from lastword.core.failure.taxonomy import AgentError, ErrorType
from tests.kit.growth import costs_its_length
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE = 1_000_000
UNITS = [
    "a", "{", "[{", "model ", '"code": ', "exceed ", "try again in ", "A_", "1 ", "\\", "error 4",
    "status: ", " ", "\n", "\u00e9", '{"a":', "reset after 1h", "\ud800", "A1", "Aa", "1m", ": = ",
    "_", "-", "a-", "\u0130", "429 ", "Traceback (most recent call last):\n", "retry after 1.1.1",
]  # fmt: skip

NAMES = [
    "jsonrpc", "id", "method", "params", "update", "sessionUpdate", "stopReason", "error", "result",
    "code", "message", "data", "agent_error", "_meta", "jetbrains", "air", "sessionFailure", "type",
    "severity", "category", "codex", "retryable", "detail", "state", "retry_after_seconds", "title",
    "opencode/retry", "raw", "text", "attempt", "version", "status", "details", "headers", "name",
    "retry_after", "resets_at", "retryDelay", "process", "exception_class", "cause_chain", "body",
    "http_status", "attrs", "errorKind", "codexErrorInfo",
]  # fmt: skip
WORDS = [
    "agent_error", "_agent_retry", "notice", "state_update", "idle", "error", "session/update",
    "session_info_update", "end_turn", "warning",
]  # fmt: skip


def nested(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    scalars |= st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    names = st.text(max_size=8) | st.sampled_from(NAMES)
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6),
        max_leaves=25,
    )


JSON = nested(st.sampled_from(WORDS))


def check(verdict: Verdict) -> None:
    assert isinstance(verdict.type, ErrorType)
    assert verdict.rule
    assert verdict.rule != FAILED_RULE
    assert verdict.retry_after_seconds is None or 0 <= verdict.retry_after_seconds < 10**9
    assert verdict.http_status is None or 400 <= verdict.http_status <= 599
    for text in (verdict.provider_code, verdict.source, verdict.request_id, verdict.reason):
        assert text is None or len(text) <= 128
    assert verdict.detail is None or len(verdict.detail) < 10_000


SHAPES: tuple[Callable[[str], object], ...] = (
    str,
    ValueError,
    lambda text: {"code": -32603, "message": text, "data": {"details": text}},
    lambda text: {
        "http_status": 429,
        "headers": {"retry-after": text},
        "body": text,
        "message": text,
    },
)


@pytest.mark.no_cover
@every("unit", UNITS)
@every("shape", SHAPES)
def test_a_megabyte_of_anything_costs_its_length_and_not_its_square(
    unit: str, shape: Callable[[str], object]
) -> None:
    text = unit * (MEGABYTE // len(unit))
    assert costs_its_length(lambda part: check(classify(shape(part))), text)


def test_deep_wide_and_cyclic_values_are_bounded() -> None:
    deep: Any = "end"
    for _ in range(10_000):
        deep = {"error": [deep]}
    cyclic: dict[str, Any] = {"code": -32603}
    cyclic["data"] = cyclic
    wide = {"error": {f"k{i}": {"message": f"m{i}"} for i in range(100_000)}}
    for value in (deep, cyclic, wide, {"headers": {str(i): "x" for i in range(100_000)}}):
        check(classify(value))
        check(classify_rpc_error(value))


def test_json_text_nested_ten_thousand_deep_causes_no_recursion_error() -> None:
    check(classify_text('{"error":' * 10_000 + "1" + "}" * 10_000))
    check(classify_text("[" * 50_000))


def test_endless_numbers_are_not_read_as_statuses_codes_or_waits() -> None:
    huge = "9" * 400
    check(classify_text(f'{{"code": {huge}, "status": {huge}, "retry_after": {huge}}}'))
    check(classify({"http_status": 10**400, "headers": {"retry-after": huge}, "body": None}))
    check(classify_rpc_error({"code": 10**5000, "message": "x"}))
    check(classify_exit(exit_code=10**400, exit_signal=10**400))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nested(st.binary()))
def test_any_value_gives_a_verdict(value: object) -> None:
    check(classify(value))
    check(classify_rpc_error(value))
    check(classify({"http_status": 429, "headers": value, "body": None}))


pieces = st.sampled_from(
    ["Traceback (most recent call last):\n", '  File "x", line 1\n', "HTTP/1.1 429 x\n", "data: {",
     "KeyError: x\n", "    at f (x.js:1:2)\n", "[cause]: ", "Caused by: ", '{"error":', "}", "\n",
     "  | ", "  +-+--- 1 ---\n", "ExceptionGroup: x\n", "retry-after: 5\n", "< ", "\x1b[31m", "NaN",
     "The above exception was the direct cause of the following exception:\n", "\ud800", "\x00"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(pieces | st.text(max_size=20), max_size=12).map("".join))
def test_any_text_gives_a_verdict_and_is_explained_in_eighty_columns(text: str) -> None:
    check(classify_text(text, stderr_tail=text))
    check(classify(Exception(text)))
    explained = explain(case_of_text(text))
    page = shown(explained)
    assert max(map(text_width, page.splitlines())) <= 80
    assert "\x1b" not in page
    json.dumps(explained.as_json())


@settings(max_examples=200, deadline=None)
@given(
    code=st.none() | st.integers(),
    signal=st.none() | st.integers(1, 64),
    odd_signal=st.none() | st.integers(),
    tail=st.text(),
    in_turn=st.booleans(),
)
def test_any_end_of_a_process_gives_a_verdict_and_is_explained(
    code: int | None, signal: int | None, odd_signal: int | None, tail: str, *, in_turn: bool
) -> None:
    check(classify_exit(exit_code=code, exit_signal=odd_signal, stderr_tail=tail, in_turn=in_turn))
    assert shown(explain(case_of_exit(code, signal, tail)))


@given(st.none() | st.integers(100, 599), st.dictionaries(st.text(), st.text()), st.text())
def test_any_response_is_explained(status: int | None, headers: dict[str, str], body: str) -> None:
    assert shown(explain(case_of_response(status, headers, body)))


# `_read` is without the last net, for hostile objects: no JSON may fall into it.


@given(JSON)
def test_any_json_value_can_be_read(value: Any) -> None:
    told = reading._read(value)
    assert told is None or isinstance(told, AgentError)
    assert told is None or (told.message and json.loads(json.dumps(told.payload())))
    assert told is None or read_error(told.payload()) is not None
    if isinstance(value, dict):
        reading._read_notice(value)
        reading._read_notice({**value, "sessionUpdate": "agent_retry"})


@given(JSON, st.integers() | st.text(max_size=5) | st.none())
def test_any_typed_update_and_any_error_answer_is_read_as_a_failure(value: Any, code: Any) -> None:
    answer = {"jsonrpc": "2.0", "id": 2, "error": {"code": code, "message": value, "data": value}}
    for kind in ("agent_error", "_agent_error"):
        told = reading._read({"sessionUpdate": kind, "error": value})
        assert told is not None
        assert told.message
    for message in (answer, {"error": value or 1}):
        assert reading._read(message) is not None
