"""Shapes of failure that are seldom seen, hostile ones among them."""

from __future__ import annotations

import asyncio
import enum
import json
import subprocess
from types import SimpleNamespace

import pytest

from lastword.core import classify as package
from lastword.core.classify import (
    classify,
    classify_exit,
    classify_rpc_error,
    classify_text,
    gather,
)
from lastword.core.classify.gather import MAX_WORDS, identifiers
from lastword.core.classify.pasted_error import parse_json, read_java_script, read_pasted
from lastword.core.classify.text import as_text, phrase_in
from lastword.core.classify.waits import parse_moment, wait_in_text
from lastword.core.failure.taxonomy import ErrorType, Origin
from tests.kit.rows import every


def test_a_bug_in_the_classifier_gives_an_unknown_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_evidence: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(package, "decide", broken)
    verdict = classify_rpc_error({"code": 429})
    assert (verdict.type, verdict.origin, verdict.retryable) == (
        ErrorType.UNKNOWN,
        Origin.LASTWORD,
        False,
    )


def test_prose_on_stderr_does_not_explain_an_empty_error() -> None:
    tail = "error: the cat is on the mat\nERROR the backend went down\n"
    assert classify_text("It did not work", stderr_tail=tail).type is ErrorType.UNKNOWN


def test_an_endless_list_is_read_up_to_the_bound() -> None:
    verdict = classify({"error": {"details": [[] for _ in range(20_000)], "code": "x"}})
    assert verdict.type is ErrorType.UNKNOWN


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (True, ""),
        (None, ""),
        (7, "7"),
        pytest.param(10**5000, "", id="long"),
        (0.5, "0.5"),
        ([], ""),
    ],
)
def test_a_scalar_has_a_text_and_nothing_else_has(value: object, text: str) -> None:
    assert as_text(value) == text


def test_a_failure_described_as_json_is_read_like_the_original() -> None:
    causes = ["no cause", {"class": "SomeError", "message": "refused"}]
    record = {"http_status": 429, "process": {"signal": "SIGKILL"}, "cause_chain": causes}
    evidence = gather.from_record(record)
    assert (evidence.status, evidence.text) == (429, "refused")
    assert evidence.process is not None
    assert evidence.process.exit_signal == 9
    assert gather.signal_number("SIGNONSENSE") is None


# --- exceptions


def test_an_endless_chain_is_followed_up_to_the_bound() -> None:
    first = error = RuntimeError("cause 0")
    for number in range(1, 20):
        cause = RuntimeError(f"cause {number}")
        error.__cause__, error = cause, cause
    detail = classify(first).detail
    assert detail is not None
    assert detail.splitlines() == [f"cause {number}" for number in range(8)]


def test_a_retry_wrapper_without_an_exception_is_skipped() -> None:
    error = RuntimeError("gave up")
    error.last_attempt = SimpleNamespace(_exception=None)  # type: ignore[attr-defined]
    error.__cause__ = ConnectionRefusedError(111, "Connection refused")
    assert classify(error).type is ErrorType.NETWORK


class MuteError(OSError):
    def __str__(self) -> str:
        return ""


def test_a_mute_system_error_is_recognised_by_its_text() -> None:
    assert classify(MuteError(104, "Connection reset by peer")).type is ErrorType.NETWORK


def test_the_wait_of_the_outermost_exception_counts_and_so_does_its_request() -> None:
    outer, inner = RuntimeError("429 Too Many Requests"), RuntimeError("slow down")
    outer.retry_after, inner.retry_after = 7, 70  # type: ignore[attr-defined]
    outer.request_id = "req_7"  # type: ignore[attr-defined]
    outer.__cause__ = inner
    verdict = classify(outer)
    assert (verdict.retry_after_seconds, verdict.request_id) == (7, "req_7")


class Code(enum.Enum):
    UNAVAILABLE = 14


def grpc_error(*, broken: bool) -> Exception:
    def code(_self: object) -> Code:
        if broken:
            raise RuntimeError("not received")
        return Code.UNAVAILABLE

    kind = type("AioRpcError", (Exception,), {"__module__": "grpc.aio", "code": code})
    error: Exception = kind("it failed")
    return error


def test_the_code_of_a_grpc_error_is_called_and_may_fail() -> None:
    assert classify(grpc_error(broken=False)).type is ErrorType.PROVIDER_UNAVAILABLE
    assert classify(grpc_error(broken=True)).type is ErrorType.UNKNOWN


def test_the_last_words_of_a_process_can_be_bytes() -> None:
    error = subprocess.CalledProcessError(1, "agent", stderr=b"Segmentation fault (core dumped)")
    verdict = classify(error)
    assert (verdict.type, verdict.reason) == (ErrorType.AGENT_CRASH, "native_crash")


def test_a_cancel_that_mentions_a_timeout_is_a_timeout() -> None:
    assert classify(asyncio.CancelledError()).type is ErrorType.CANCELLED
    assert classify(asyncio.CancelledError("request timed out")).type is ErrorType.TIMEOUT


def test_two_words_close_together_count_only_in_a_packages_own_exception() -> None:
    kind = type("Oops", (Exception,), {"__module__": "somesdk"})
    assert classify(kind("The backend went down")).type is ErrorType.PROVIDER_UNAVAILABLE
    assert classify(KeyError("The backend went down")).type is ErrorType.INTERNAL


# --- processes


@pytest.mark.parametrize(
    ("exit_code", "tail", "reason"),
    [
        (1, "Fatal Python error: Aborted", "native_crash"),
        (-1073741819, "", "native_crash"),
        (0xC000013A, "", "interrupted"),
    ],
)
def test_a_status_or_the_last_words_reveal_how_a_process_ended(
    exit_code: int, tail: str, reason: str
) -> None:
    assert classify_exit(exit_code=exit_code, stderr_tail=tail).reason == reason


# --- texts


def test_only_the_first_of_many_names_in_a_text_count() -> None:
    text = " ".join(f"some_name_{number}" for number in range(500))
    assert len(identifiers(text)) == MAX_WORDS


def test_the_search_for_both_halves_of_a_phrase_is_bounded() -> None:
    assert phrase_in("quota " * 80 + "x" * 200 + " exceeded", ("quota .. exceeded",)) is None
    assert phrase_in("quota was exceeded", ("quota .. exceeded",)) == "quota .. exceeded"
    assert phrase_in("quota", ("quota .. exceeded",)) is None
    assert phrase_in("exceeded only", ("quota .. exceeded",)) is None


def test_an_absurdly_long_wait_is_skipped_for_the_next() -> None:
    assert wait_in_text("try again in 999999999 days. try again in 20 seconds") == 20


@pytest.mark.parametrize("text", ["Fri, 31 Feb 2026 23:59:59 GMT", "2026-13-01T00:00:00Z"])
def test_a_date_that_does_not_exist_is_not_a_moment(text: str) -> None:
    assert parse_moment(text) is None


# --- what somebody pasted


@pytest.mark.parametrize(
    "text", ["    at f (a.js:1:2)", "just words\n    at f (a.js:1:2)", "words"]
)
def test_a_stack_without_a_title_is_not_an_exception(text: str) -> None:
    assert read_java_script(text) is None


def test_an_exception_of_node_has_its_code_and_its_causes() -> None:
    text = (
        "Error [ERR_X]: it failed\nfor a reason\n    at f (a.js:1:2)\n"
        "  [cause]: Error [ECONNREFUSED]: connect refused\n      at g (b.js:3:4)"
    )
    record = read_java_script(text)
    assert record is not None
    assert (record["exception_class"], record["code"]) == ("Error", "ERR_X")
    assert record["message"] == "it failed\nfor a reason"
    (cause,) = record["cause_chain"]
    assert (cause["code"], cause["message"]) == ("ECONNREFUSED", "connect refused")


PYTHON = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'
DIRECT = "\nThe above exception was the direct cause of the following exception:\n\n"
OTHER = "\nDuring handling of the above exception, another exception occurred:\n\n"
GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "a.py", line 1, in f
  | ExceptionGroup: several (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "a.py", line 2, in g
    | httpx.ConnectError: refused
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "a.py", line 3, in h
    | ValueError: odd
    +------------------------------------
"""


@every(
    ("text", "form", "found"),
    [
        ("[1]", "a JSON array", [1]),
        ('"a text in JSON"', "a line of text", "a text in JSON"),
        ("plain words", "a line of text", "plain words"),
        ("two\nlines", "a text", "two\nlines"),
        ('{"jsonrpc":"2.0","method":"m"}', "a JSON-RPC message", None),
        ('{"code":-32603,"message":"x"}', "a JSON-RPC error", None),
        ('{"status":429}', "an HTTP response as JSON", None),
        ('{"error":"x"}', "a JSON body", None),
        ('noise\n{"type":"ok"}\n{"error":"last"}', "JSON lines", {"error": "last"}),
        ('data: {"a":1}\n\ndata: {"error":{"m":1}}', "an event stream", {"error": {"m": 1}}),
        ("HTTP/ is a protocol", "a line of text", "HTTP/ is a protocol"),
        ("ok\n" * 9, "a text", None),
        ("ok\n" * 9 + "ERROR: 429 Too Many Requests", "the telling lines of a log", None),
        ("Error: x\n    at f (a.js:1:2)", "an exception with its stack", None),
    ],
)
def test_a_pasted_texts_form_is_detected(text: str, form: str, found: object) -> None:
    reading = read_pasted(text)
    assert reading.form == form
    assert found is None or reading.value == found


def test_a_response_may_end_with_its_headers_and_may_have_a_body() -> None:
    head = "HTTP/1.1 100 Continue\n\nHTTP/1.1 429 Too Many Requests\nRetry-After: 3"
    reading = read_pasted(head)
    assert reading.form == "an HTTP response"
    assert (reading.value["http_status"], reading.value["headers"]) == (429, {"retry-after": "3"})
    assert reading.value["message"] == "Too Many Requests"
    assert read_pasted(head + '\n\n{"error":1}').value["body"] == {"error": 1}


@pytest.mark.parametrize(
    ("text", "name", "causes"),
    [
        ("starting\n" + PYTHON + "KeyError: 'a'\n", "builtins.KeyError", []),
        (PYTHON + "a.E: x\n" + DIRECT + PYTHON + "b.F: y\nmore\n", "b.F", ["a.E"]),
        (PYTHON + "a.E: x\n" + OTHER + PYTHON + "b.F: y\n", "b.F", []),
        (GROUP, "httpx.ConnectError", []),
        ("openai.RateLimitError: Error code: 429", "openai.RateLimitError", []),
        ("ValueError: odd\nmore of it", "builtins.ValueError", []),
    ],
)
def test_a_python_exception_is_recognised_by_its_last_line_and_its_direct_causes(
    text: str, name: str, causes: list[str]
) -> None:
    reading = read_pasted(text)
    assert (reading.form, reading.value["exception_class"]) == ("a Python exception", name)
    assert [cause["class"] for cause in reading.value.get("cause_chain", [])] == causes


@pytest.mark.parametrize(
    "text",
    [
        "Error: it failed",
        "SomethingError: it failed",
        "note.this: no class",
        "Traceback (most recent call last)",
        PYTHON + "no class at all\n",
        PYTHON,
    ],
)
def test_a_text_that_only_resembles_a_python_exception_is_prose(text: str) -> None:
    assert read_pasted(text).form in {"a line of text", "a text"}


def test_json_that_only_a_lenient_reader_accepts_is_still_json() -> None:
    assert str(parse_json('{"a": NaN}')) == "{'a': nan}"
    assert parse_json("[" * 100_000) is None
    assert parse_json("{broken") is None
    assert parse_json(json.dumps({"a": 1})) == {"a": 1}
