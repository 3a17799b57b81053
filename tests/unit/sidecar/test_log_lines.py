"""Lines of logs whose format no row tells: what is read by their form, and what tells nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from lastword.sidecar.journal_files import News
from lastword.sidecar.journal_lines import MAX_LINE_BYTES, FailedCall, moment
from lastword.sidecar.log_lines import MAX_RECORDS, read_own_line, records
from tests.kit.honest_answers import equal_answers, honest_answers
from tests.kit.rows import every

AT = datetime(2026, 11, 22, 14, 18, 7, 220_000, UTC)
LIMITED = "429 Too Many Requests"


def read(line: str, *, of_session: bool = True) -> FailedCall | None:
    """What a line says."""
    return read_own_line(line.encode(), of_session=of_session)


def sure(found: FailedCall | None) -> FailedCall:
    assert found is not None
    return found


def obj(**members: Any) -> str:
    """A line that is an object, of this moment."""
    return json.dumps({"timestamp": AT.isoformat(), **members})


@every(
    ("line", "may_go_on"),
    [
        (f"{AT.isoformat()} ERROR LLM request failed: {LIMITED}", False),
        (f"{AT.isoformat()} ERROR LLM request failed after 3 retries: {LIMITED}", False),
        (f"{AT.isoformat()} WARN LLM request failed: {LIMITED}", True),
        (f"{AT.isoformat()} ERROR LLM request failed, will retry: {LIMITED}", True),
        (obj(level="error", model="m", error={"message": LIMITED}), False),
        (obj(level="warn", model="m", error={"message": LIMITED}), True),
        (obj(level="error", model="m", error={"message": f"{LIMITED}, retrying"}), True),
    ],
)
def test_a_warning_or_a_retried_call_may_be_overcome(line: str, may_go_on: bool) -> None:
    assert sure(read(line, of_session=False)).may_go_on is may_go_on
    # Outside of a session's own file, a line that names no model is not a model's.
    assert read(line.replace("LLM", "it").replace('"model"', '"x"'), of_session=False) is None


def test_an_exception_is_read_from_the_last_line_of_its_traceback() -> None:
    message = "kosong.chat_provider.APIStatusError: Error code: 429 - rate_limit_exceeded"
    begin = f"{AT.isoformat(' ')} | ERROR    | threading:run:9 -"
    assert read(f"{begin}     raise convert_error(e) from e") is None
    call = sure(read(f"{begin} {message}"))
    assert call.verdict.type == "rate_limit"
    assert call.verdict.detail is not None
    assert call.verdict.detail.startswith("threading")


def test_a_numbered_retry_is_counted_and_marked_as_continuing() -> None:
    call = sure(read(f"{AT.isoformat()} WARN model call failed, retrying (attempt 2/5): {LIMITED}"))
    assert (call.attempt, call.max_attempts, call.goes_on) == (3, 6, True)
    call = sure(read(obj(event="retry", attempt=2, maxRetries=5, error=LIMITED)))
    assert (call.attempt, call.max_attempts, call.goes_on) == (3, 6, True)
    call = sure(read(obj(level="error", error={"message": LIMITED, "code": "rate_limit_exceeded"})))
    assert call.goes_on is None


@every(
    "line",
    [
        # A line of text needs a moment, a level, a model and an error.
        f"ERROR model call failed: {LIMITED}",
        f"2026-13-22T14:18:07Z ERROR model call failed: {LIMITED}",
        f"{AT.isoformat()} INFO model call failed: {LIMITED}",
        f"{AT.isoformat()} ERROR upload failed: {LIMITED}",
        f"{AT.isoformat()} ERROR mcp server's model call failed: {LIMITED}",
        f"{AT.isoformat()} ERROR tool web_fetch of the model failed: {LIMITED}",
        f"{AT.isoformat()} ERROR model call failed",
        f"{AT.isoformat()} ERROR model call failed: KeyError: 'x'",
        f"{AT.isoformat()} WARN provider list may be rate limited soon",
        # An object needs a moment, an error and a word for its failure.
        '{"error": ',
        json.dumps({"level": "error", "error": LIMITED}),
        obj(level="error", message=LIMITED),
        obj(level="info", error=LIMITED),
        obj(level="error", error="it did not work"),
        obj(type="tool_error", error=LIMITED),
        obj(type="mcp", level="error", error=LIMITED),
        obj(level="error", message={"role": "user", "error": LIMITED, "errorMessage": LIMITED}),
        obj(level="error", message={"role": "tool", "error": LIMITED}),
        obj(level="error", content={"error": LIMITED}),
        obj(level="error", toolUseResult={"errorMessage": LIMITED, "status": 429}),
        obj(level="error", items=[{"error": LIMITED, "status": 429}]),
        obj(level="error", a={"b": {"c": {"d": {"e": {"f": {"g": {"error": LIMITED}}}}}}}),
        obj(level="error", attempt=True, error={"message": True}),
        obj(level="error", **{f"m{n}": {"x": n} for n in range(300)}, z={"error": LIMITED}),
        # A side chain decides nothing, and a line that is too long is not read.
        obj(level="error", error={"message": LIMITED}, isSidechain=True),
        obj(level="error", error=LIMITED, more="x" * MAX_LINE_BYTES),
    ],
)
def test_a_line_that_is_not_a_failed_model_call_is_ignored(line: str) -> None:
    assert read(line) is None


def test_an_errors_members_may_be_below_its_data() -> None:
    failure = {"message": "Too many requests", "statusCode": 429}
    for members in (
        {"type": "session.error", "data": failure},
        {"level": "error", "error": {"name": "APIError", "data": failure}},
        {"type": "session.error", "properties": {"error": {"data": failure}}},
    ):
        call = sure(read(obj(**members)))
        assert (call.verdict.type, call.verdict.http_status) == ("rate_limit", 429)
    assert read(obj(type="session.note", level="warn", data={"message": LIMITED})) is None


def texts(data: str) -> list[tuple[int, str]]:
    """The records of a file's news."""
    return [(at, record.decode()) for at, record in records(News(100, data.encode()))]


RETRIED = f"""[{AT.isoformat()}] INFO: turn
[{AT.isoformat()}] WARN: Retry attempt failed
Caused by:
Error: 503 Service Unavailable
    at Mcp.call (tools/plugin.js:1:2)
[{AT.isoformat()}] INFO: again
"""


def test_lines_without_a_time_belong_to_the_record_before_them() -> None:
    ((position, record),) = texts(RETRIED)
    assert position == 100 + RETRIED.index("[", 1)
    assert record.startswith(f"[{AT.isoformat()}] WARN")
    assert record.endswith("plugin.js:1:2)")
    call = sure(read(record))
    assert (call.verdict.type, call.goes_on) == ("provider_unavailable", True)
    assert call.at_epoch == AT.timestamp()


def test_a_retry_of_something_else_is_not_a_model_call() -> None:
    for text in (
        "Retry attempt of the mcp server failed",
        "an upload failed",
        "Retry of git failed",
        "Retrying download of ripgrep (attempt 1/3)",
        "will retry fetching the model list",
        "Retrying sync of settings",
    ):
        assert read(RETRIED.split("\n", 1)[1].replace("Retry attempt failed", text)) is None


def test_records_end_at_a_bound_and_the_last_are_read() -> None:
    line = f"{AT.isoformat()} WARN x\n"
    assert len(texts(line * 100)) == MAX_RECORDS
    ((_, record),) = texts(line + "more\n" * 100)
    assert record.count("\n") < 20
    assert texts("WARN without a time\n")[0] == (100, "WARN without a time")
    assert texts("more\n" * 50 + "WARN\n") == [(350, "WARN")]
    assert texts('{"level":"error"}\nmore\n') == [(100, '{"level":"error"}')]
    assert texts("\nWARN\n") == [(101, "WARN")]


def test_prompts_and_answers_in_a_session_file_are_not_failed_calls() -> None:
    said = {
        text
        for each in (*honest_answers(), *equal_answers())
        for text in (each.answer, each.prompt)
    }
    assert len(said) > 1500
    shapes: tuple[Any, ...] = (
        lambda text: {"type": "user", "message": {"role": "user", "content": text}},
        lambda text: {"type": "assistant", "message": {"role": "assistant", "content": text}},
        lambda text: {"type": "message", "message": {"content": [{"type": "text", "text": text}]}},
        lambda text: {"level": "warn", "event": "prompt", "prompt": text, "message": text},
        lambda text: {"type": "tool_result", "is_error": True, "error": text, "status": "failed"},
    )
    for text in said:
        assert [shape(text) for shape in shapes if read(obj(**shape(text)))] == []
        assert read(f"{AT.isoformat()} INFO the model said: {text}") is None


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        (AT.isoformat(), AT.timestamp()),
        (1795369317, 1795369317),
        (1795369317415, 1795369317.415),
        (12, None),
        (10**15, None),
        (True, None),
        (None, None),
        ("yesterday", None),
    ],
)
def test_a_moment_is_read_in_iso_8601_or_as_a_number(told: object, seconds: float | None) -> None:
    assert moment(told) == seconds
