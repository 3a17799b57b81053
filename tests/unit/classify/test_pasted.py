"""What somebody pasted, and other shapes that are seldom seen, hostile ones among them."""

from __future__ import annotations

import json

import pytest

from lastword.core import classify as package
from lastword.core.classify import (
    classify,
    classify_rpc_error,
    classify_text,
    gather,
)
from lastword.core.classify.pasted_error import parse_json, read_java_script, read_pasted
from lastword.core.classify.text import as_text
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
