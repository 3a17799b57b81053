"""`lastword explain --jsonl`: a line in, a line out, whatever stands on it."""

from __future__ import annotations

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lastword.cli.explain_page import explain_lines
from lastword.core.failure.taxonomy import ErrorType, RetrySafety

KEYS = [
    "id", "type", "retryable", "retry_after_seconds", "reset_at_epoch_ms", "retry_safety",
    "reason", "rule",
]  # fmt: skip


def explained(*lines: str | bytes) -> tuple[int, list[dict[str, Any]]]:
    """The exit status, and the answers to these lines."""
    encoded = [line.encode() if isinstance(line, str) else line for line in lines]
    data = b"".join(line + b"\n" for line in encoded)
    out = io.StringIO()
    status = explain_lines(io.BytesIO(data), out)
    return status, [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_sample_with_everything_and_one_with_nothing_are_answered() -> None:
    status, (full, empty) = explained(
        json.dumps(
            {
                "id": "a-1",
                "http_status": 429,
                "headers": {"Retry-After": "20"},
                "body": {"error": {"code": "rate_limit_exceeded"}},
                "exception_class": "openai.RateLimitError",
                "message": "Rate limit reached",
                "code": None,
                "attrs": {},
                "cause_chain": [],
                "process": None,
                "phase": "headers",
                "in_stream": False,
            }
        ),
        "{}",
    )
    assert status == 0
    assert list(full) == list(empty) == KEYS
    assert full == {
        "id": "a-1",
        "type": "rate_limit",
        "retryable": True,
        "retry_after_seconds": 20,
        "reset_at_epoch_ms": None,
        "retry_safety": "auto",
        "reason": None,
        "rule": "token:ratelimitexceeded",
    }
    assert (empty["id"], empty["type"], empty["retry_safety"]) == (None, "unknown", "never")


def test_retry_safety_depends_on_the_phase_of_the_transport() -> None:
    samples = [
        ({"phase": "connect"}, "auto"),
        ({"phase": "before"}, "auto"),
        ({"phase": "headers"}, "auto"),
        ({"phase": "stream"}, "ask"),
        ({"phase": "headers", "in_stream": True}, "ask"),
        ({}, "ask"),
    ]
    _, answers = explained(*(json.dumps({"http_status": 503} | more) for more, _ in samples))
    assert [answer["retry_safety"] for answer in answers] == [safety for _, safety in samples]


def test_a_line_that_is_not_an_object_gets_an_error_with_its_number_and_the_rest_are_read() -> None:
    bad = ["nonsense", "[1]", "12", '"text"', "null", '{"id": "cut', b"\xff\xfe\x00"]
    status, answers = explained(*bad, "", '{"id": 7, "message": "401 unauthorized"}')
    assert status == 1
    assert [answer["line"] for answer in answers[:-1]] == list(range(1, 8))
    for answer in answers[:-1]:
        assert answer["id"] is None
        assert answer["error"].startswith(f"Line {answer['line']} ")
    assert (answers[-1]["id"], answers[-1]["type"]) == (7, "auth")


def test_hostile_samples_are_answered_under_their_id() -> None:
    deep = '{"id": "deep", "body": ' + '{"error":' * 10_000 + "1" + "}" * 10_000 + "}"
    status, answers = explained(
        deep,
        '{"id": "nan", "headers": {"retry-after": NaN}, "http_status": 429}',
        '{"id": "negative", "headers": {"retry-after": "-5"}, "http_status": 429}',
        '{"id": "huge", "http_status": ' + "9" * 400 + "}",
        '{"id": "zoneless", "http_status": 429, "body": {"resets_at": "2026-01-01T00:00:00"}}',
        '{"id": "wrong", "headers": 5, "body": [[]], "cause_chain": "x", "process": []}',
        '{"id": "long", "message": "' + "x " * 500_000 + '"}',
        b'{"id": "bytes", "message": "\xff\xfe 429 too many requests"}',
    )
    assert status == 0
    names = ["deep", "nan", "negative", "huge", "zoneless", "wrong", "long", "bytes"]
    assert [answer["id"] for answer in answers] == names
    assert not any(answer["retry_after_seconds"] for answer in answers)
    assert not any(answer["reset_at_epoch_ms"] for answer in answers)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
FIELDS = (
    *("id", "http_status", "headers", "body", "exception_class", "message", "code", "attrs"),
    *("cause_chain", "process", "phase", "in_stream"),
)
samples = st.fixed_dictionaries({}, optional={name: anything for name in FIELDS})  # noqa: C420


@given(st.lists(samples, max_size=4))
def test_any_samples_get_one_line_each(rows: list[dict[str, Any]]) -> None:
    status, answers = explained(*(json.dumps(row) for row in rows))
    assert (status, len(answers)) == (0, len(rows))
    for answer in answers:
        assert list(answer) == KEYS
        assert ErrorType(answer["type"])
        assert RetrySafety(answer["retry_safety"])
