"""`lastword explain`: every form of an error, three forms of output, and every wrong use."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from lastword.cli import main
from lastword.core.failure.taxonomy import ErrorType
from tests.kit.recording import a_book, write
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BODY = '{"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}'
PYTHON = """\
2026-03-01 10:00:00 INFO starting /srv/timeout.py
Traceback (most recent call last):
  File "/srv/app/rate_limit.py", line 10, in connect
    raise ConnectError("TimeoutError: no")
httpx.ConnectError: [Errno -2] Name or service not known

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/app/main.py", line 3, in <module>
    main()
openai.APIConnectionError: Connection error.
"""
GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/srv/app.py", line 9, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/app.py", line 5, in child
    |     raise OverloadedError
    | anthropic.OverloadedError: Error code: 529 - {'type': 'error', 'error': {'type': 'over'}}
    +------------------------------------
"""
NODE = """\
node:internal/process/promises:394
      triggerUncaughtException(err, true /* fromPromise */);
      ^

TypeError: fetch failed
    at node:internal/deps/undici/undici:13510:13
    at async main (/srv/timeout.mjs:3:3) {
  [cause]: Error: getaddrinfo ENOTFOUND api.example.invalid
      at GetAddrInfoReqWrap.onlookupall [as oncomplete] (node:dns:122:26) {
    errno: -3008,
    code: 'ENOTFOUND',
  }
}

Node.js v22.14.0
"""
JAVA = """\
Exception in thread "main" java.lang.RuntimeException: request failed
\tat com.example.Main.main(Main.java:12)
Caused by: java.net.SocketTimeoutException: Read timed out
\tat java.base/sun.nio.ch.NioSocketImpl.read(NioSocketImpl.java:278)
"""
CURL = """\
*   Trying 127.0.0.1:443...
> POST /v1/messages HTTP/2
> content-type: application/json
>
< HTTP/2 529
< retry-after: 5
< content-type: application/json
<
* Connection #0 to host left intact
{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
"""
STREAM = """\
event: message_start
data: {"type":"message_start","message":{"id":"m"}}

event: error
data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
"""
HAR = {
    "status": 429,
    "headers": [{"name": "Retry-After", "value": "12"}],
    "body": {"error": {"message": "slow"}},
}
LOG = "\n".join(
    [f"2026-03-01 10:00:{n:02} INFO timeout is 30 s, rate limit is 60" for n in range(20)]
    + ["2026-03-01 10:00:21 ERROR request failed: 402 Payment Required, insufficient credits"]
    + [f"2026-03-01 10:00:{n:02} INFO closing the session" for n in range(22, 40)]
)

FORMS: dict[str, tuple[str, str, bool, int | None]] = {
    "body": (BODY, "rate_limit", True, None),
    "har": (json.dumps(HAR), "rate_limit", True, 12),
    "frame": (
        '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Authentication required"}}',
        "auth",
        False,
        None,
    ),
    "rpc error": ('{"code":-32603,"message":"429 Too Many Requests"}', "rate_limit", True, None),
    "typed update": (
        (
            '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
            '{"sessionUpdate":"agent_error","error":{"type":"budget","message":"x"}}}}'
        ),
        "budget",
        False,
        None,
    ),
    "python": (PYTHON, "network", False, None),
    "group": (GROUP, "provider_unavailable", True, None),
    "bug": (
        "Traceback (most recent call last):\n  x\nKeyError: 'rate_limit'\n",
        "internal",
        False,
        None,
    ),
    "lone line": (
        "openai.RateLimitError: Error code: 429 - {'error': {}}",
        "rate_limit",
        True,
        None,
    ),
    "node": (NODE, "network", False, None),
    "java": (JAVA, "timeout", True, None),
    "curl -v": (CURL, "provider_unavailable", True, 5),
    "curl -i": (
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\n\r\n<html>",
        "provider_unavailable",
        True,
        7,
    ),
    "stream": (STREAM, "provider_unavailable", True, None),
    "log line": ("[12:00] ERROR 429 too many requests, retry after 7s", "rate_limit", True, 7),
    "coloured": ("\x1b[31mError: 529 Overloaded\x1b[0m", "provider_unavailable", True, None),
    "log": (LOG, "budget", False, None),
    "json lines": (f'{{"level":"info"}}\n{BODY}\n{{"level":"info"}}', "rate_limit", True, None),
    "json in json": (json.dumps(json.dumps({"error": "401 unauthorized"})), "auth", False, None),
    "bom": ("\ufeff" + BODY, "rate_limit", True, None),
    "nothing known": ("The cat sat on the mat", "unknown", False, None),
}


class Asked:
    """What one call of the command gave."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err

    @property
    def json(self) -> dict[str, Any]:
        """The output as one JSON object."""
        value: dict[str, Any] = json.loads(self.out)
        return value


Ask = "Callable[..., Asked]"


@pytest.fixture
def ask(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Asked]:
    """Run the command in this process, with that text on its standard input."""

    def run(*arguments: str, stdin: str | bytes | None = None) -> Asked:
        data = stdin.encode("utf-8", "surrogateescape") if isinstance(stdin, str) else stdin
        given = None if data is None else io.TextIOWrapper(io.BytesIO(data))
        monkeypatch.setattr("sys.stdin", given)
        try:
            status = main(["explain", *arguments])
        except SystemExit as stopped:  # argparse
            status = int(str(stopped.code))
        captured = capsys.readouterr()
        return Asked(status, captured.out, captured.err)

    return run


@every("form", FORMS)
def test_an_error_in_any_form_is_recognised(form: str, ask: Callable[..., Asked]) -> None:
    text, kind, retryable, wait = FORMS[form]
    asked = ask("--json", stdin=text)
    told = asked.json
    assert asked.status == 0
    assert told["type"] == kind, told
    assert (told["retryable"], told.get("retry_after_seconds")) == (retryable, wait), told


@every("form", FORMS)
def test_a_person_reads_everything_in_eighty_columns(
    form: str, ask: Callable[..., Asked], tmp_path: Path
) -> None:
    file = tmp_path / "error.txt"
    file.write_text(FORMS[form][0])
    asked = ask(str(file))
    lines = asked.out.splitlines()
    assert (asked.status, asked.err) == (0, "")
    assert lines[0] in {kind.value for kind in ErrorType}
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in asked.out
    for label in ("retry", "safe", "whose fault", "what to do", "why", "rule"):
        assert any(line.startswith(label) for line in lines), label


def test_what_is_not_known_of_a_turn_is_not_claimed(ask: Callable[..., Asked]) -> None:
    shown = ask("rate_limit").out
    assert "safe         not known: that depends on what the turn had done\n" in shown
    assert "whose fault  the model provider's\n" in shown
    assert "whose fault  the model provider's, or the request's\n" in ask("--status", "400").out
    shown = ask("--status", "429", "--header", "Retry-After: 5400").out
    assert "what to do   try again no sooner than 90 minutes after the failure\n" in shown
    assert "safe         not by itself, and not before the wait is over\n" in shown


def test_a_code_of_json_rpc_is_explained(ask: Callable[..., Asked]) -> None:
    assert ask("--json", "-32603").json["type"] == "internal"
    assert ask("--json", "-32601").json["reason"] == "method_not_found"


def test_an_argument_that_is_not_text_is_explained(
    ask: Callable[..., Asked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LASTWORD_RECORD", str(tmp_path))
    write(tmp_path, a_book(1))
    assert ask("--json", "429 caf\udce9").json["type"] == "rate_limit"


def test_the_deciding_field_is_named_with_its_value(ask: Callable[..., Asked]) -> None:
    told = ask("--json", "--status", "400", "--header", "Retry-After: 20", "--body", BODY).json
    assert told["rule"] == "token:ratelimitexceeded"
    assert told["evidence"] == [
        {"where": "body.error.code", "said": "rate_limit_exceeded", "means": "rate_limit"},
        {"where": "header retry-after", "said": "20", "means": "wait 20 s"},
    ]
    shown = ask("--status", "400", "--body", BODY).out
    assert "HTTP 400 alone would mean invalid_request" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("text", "of_others"),
    [
        ("[mcp:linear] 401 Unauthorized: please log in", True),
        ("web-1  | openai.RateLimitError: 429\nnpm error 429 Too Many Requests", True),
        ("openai.RateLimitError: 429\nnpm error 429 Too Many Requests", False),
        ("[mcp:linear] ready", False),
    ],
)
def test_a_line_of_another_program_is_not_laid_at_the_providers_door(
    text: str, of_others: bool, ask: Callable[..., Asked]
) -> None:
    assert ask("--json", stdin=text).json.get("another_program", False) is of_others
    assert ("whose fault  another program's" in ask(stdin=text).out) is of_others


@pytest.mark.parametrize(
    ("arguments", "where", "said"),
    [
        (("--status", "503"), "HTTP status", "503"),
        (("--status", "400", "--body", '{"detail": "input too long"}'), "body.detail", "input"),
        (("--exit-code", "137"), "exit code", "137"),
        (("--exit-signal", "SIGSEGV"), "signal", "11"),
        (("--header", "x-llm-error-type: budget"), "header x-llm-error-type", "budget"),
        (("--status", "400", "--body", '{"code": "token_quota_reached"}'), "body.code", "token_q"),
    ],
)  # fmt: skip
def test_the_deciding_evidence_is_named(
    arguments: tuple[str, ...], where: str, said: str, ask: Callable[..., Asked]
) -> None:
    proof = ask("--json", *arguments, stdin="").json["evidence"][0]
    assert proof["where"] == where
    assert proof["said"].startswith(said)


@pytest.mark.parametrize(
    ("arguments", "tail", "reason", "retryable"),
    [
        (("--exit-code", "137"), "", "killed", True),
        (("--exit-code", "-9"), "", "killed", True),
        (("--exit-signal", "KILL"), "", "killed", True),
        (("--exit-signal", "9"), "", "killed", True),
        (("--exit-code", "134"), "JavaScript heap out of memory", "oom", True),
        (("--exit-code", "127"), "env: node: No such file", "spawn_failed", False),
        (("--exit-code", "1"), PYTHON, "uncaught_exception", False),
        (("--exit-code", "101"), "thread 'main' panicked at x", "panic", False),
        (("--exit-code", "0"), "", "premature_exit", True),
    ],
)
def test_the_end_of_a_process_is_explained_by_its_last_words(
    arguments: tuple[str, ...], tail: str, reason: str, retryable: bool, ask: Callable[..., Asked]
) -> None:
    told = ask("--json", *arguments, stdin=tail).json
    assert (told["type"], told["reason"], told["retryable"]) == ("agent_crash", reason, retryable)


def test_the_body_of_a_response_is_read_from_a_file(
    ask: Callable[..., Asked], tmp_path: Path
) -> None:
    file = tmp_path / "body.json"
    file.write_text('{"error": {"code": "insufficient_quota"}}')
    assert ask("--json", "--status", "429", str(file)).json["type"] == "budget"


@every(
    ("arguments", "stdin", "says"),
    [
        ((), None, "give a FILE"),
        (("-",), None, "give a FILE"),
        ((), "", "the input is empty"),
        ((), " \n ", "the input is empty"),
        (("/nowhere/at/all",), None, "no such file"),
        (("/",), None, "is a directory"),
        (("--status", "abc"), None, "it takes a whole number"),
        (("--status", "9999"), None, "from 100 to 599"),
        (("--exit-code", "x"), "", "--exit-code cannot be 'x': it takes 0 to 255"),
        (("--exit-code", "256"), "", "--exit-code cannot be '256': it takes 0 to 255"),
        (("--header", "no colon"), None, "Name: value"),
        (("--exit-signal", "SIGNOTHING"), "", "no signal"),
        (("--exit-signal", "99"), "", "no signal"),
        (("--exit-code", "1", "--status", "429"), "", "not both"),
        (("--body", "x", "file"), None, "either as --body or as FILE"),
        (("--jsonl", "--status", "429"), "", "leave the other options out"),
        (("--no-such-option",), "", "there is no option --no-such-option"),
        (("--jsonl", "/nowhere/at/all"), None, "no such file"),
    ],
)
def test_a_wrong_use_is_answered_with_a_sentence_and_status_two(
    arguments: tuple[str, ...], stdin: str | None, says: str, ask: Callable[..., Asked]
) -> None:
    asked = ask(*arguments, stdin=stdin)
    assert (asked.status, asked.out) == (2, "")
    assert says in asked.err
    assert "Traceback" not in asked.err


def test_help_lists_the_options(ask: Callable[..., Asked]) -> None:
    asked = ask("--help")
    assert asked.status == 0
    assert "--exit-signal" in asked.out
