"""No input makes the classifier raise, hang or grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lastword.core.classify import (
    FAILED_RULE,
    Verdict,
    classify,
    classify_exit,
    classify_rpc_error,
    classify_text,
)
from lastword.core.failure.taxonomy import ErrorType
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

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.text()
        | st.sampled_from(
            ["error", "code", "message", "status", "type", "data", "details", "headers", "name",
             "retry_after", "resets_at", "retryDelay", "process", "exception_class", "jsonrpc",
             "cause_chain", "body", "http_status", "attrs", "errorKind", "codexErrorInfo"]
        ),
        inner,
        max_size=6,
    ),
    max_leaves=25,
)  # fmt: skip


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
@given(json_values)
def test_any_json_value_gives_a_verdict(value: object) -> None:
    check(classify(value))
    check(classify_rpc_error(value))


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_text_gives_a_verdict(text: str) -> None:
    check(classify_text(text, stderr_tail=text))
    check(classify(Exception(text)))


@settings(max_examples=200, deadline=None)
@given(
    code=st.none() | st.integers(),
    signal=st.none() | st.integers(),
    tail=st.text(),
    in_turn=st.booleans(),
)
def test_any_end_of_a_process_gives_a_verdict(
    code: int | None, signal: int | None, tail: str, *, in_turn: bool
) -> None:
    check(classify_exit(exit_code=code, exit_signal=signal, stderr_tail=tail, in_turn=in_turn))


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(), st.text() | st.binary() | st.none()))
def test_any_headers_give_a_verdict(headers: dict[str, object]) -> None:
    check(classify({"http_status": 429, "headers": headers, "body": None}))
