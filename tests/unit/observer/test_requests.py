"""The requests that an agent's runtime reports: what failed, what is a retry, what is awaited."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lastword.core.failure.taxonomy import Attribution, ErrorType
from lastword.core.link.evidence import Hint, HintSource, SilentTurn, TurnId
from lastword.core.link.facts import Cause
from lastword.core.timeline.session_events import problems_of
from lastword.observer.requests import MAX_OPEN, ModelRequests
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Iterable

CHAT = "/v1/chat/completions"
TURN = 100.0
FIRST, SECOND = TurnId(1, 0), TurnId(2, 0)


class Runtime:
    """The reports of one process, and what was made of them."""

    def __init__(self) -> None:
        self.requests = ModelRequests()
        self.hints: list[Hint] = []
        self.now = TURN
        self.turn: TurnId | None = FIRST

    def report(self, event: str, number: int = 1, **members: Any) -> None:
        report = {"pid": 7, "event": event, "id": number, **members}
        self.line(json.dumps(report).encode())

    def line(self, line: bytes) -> None:
        self.hints += self.requests.receive(line, self.now, self.turn)

    def request(self, number: int = 1, path: str = CHAT, **members: Any) -> None:
        members = {
            "method": "POST",
            "host": "api.example.com",
            "path": path,
            "model": True,
        } | members
        self.report("request", number, **members)

    def refuse(self, number: int, status: int, body: str = "", **headers: str) -> None:
        self.request(number)
        self.report("status", number, status=status, headers=headers)
        self.report("body", number, text=body)

    def asked(self, number: int, status: int, *, seconds: float = 0, **members: Any) -> None:
        """A request, and its whole answer after so many seconds."""
        self.request(number, **members)
        self.report("status", number, status=status)
        self.now += seconds
        self.report("end", number)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.hints += self.requests.look(self.now, self.turn)

    @property
    def types(self) -> list[ErrorType]:
        return [hint.verdict.type for hint in self.hints]


@every(
    ("status", "body", "type_"),
    [
        (429, '{"error": {"type": "rate_limit_error", "message": "Slow down"}}', "rate_limit"),
        (429, '{"error": {"code": "insufficient_quota", "message": "no more"}}', "budget"),
        (502, "<html><h1>Bad gateway</h1></html>", "provider_unavailable"),
        (401, "", "auth"),
        (529, '{"error": {"type": "overloaded_error"', "provider_unavailable"),
    ],
)
def test_a_refusal_is_typed_by_its_status_its_body_and_its_headers(
    status: int, body: str, type_: str
) -> None:
    runtime = Runtime()
    runtime.refuse(1, status, body, **{"retry-after": "17"})
    (hint,) = runtime.hints
    assert (hint.verdict.type, hint.verdict.http_status) == (type_, status)
    assert hint.verdict.retry_after_seconds == 17
    assert (hint.source, hint.attribution) == (HintSource.OBSERVER, Attribution.PROVEN)
    assert (hint.attempt, hint.at_seconds, hint.session_id) == (2, TURN, None)


@every(
    ("name", "code", "type_"),
    [
        ("TypeError", "ECONNREFUSED", "network"),
        ("TypeError", "UND_ERR_HEADERS_TIMEOUT", "timeout"),
        ("ReadTimeout", None, "timeout"),
        ("SomethingElse", None, "network"),
    ],
)
def test_a_request_that_fails_without_an_answer_is_typed_by_its_error(
    name: str, code: str | None, type_: str
) -> None:
    runtime = Runtime()
    runtime.request()
    runtime.report("error", name=name, code=code)
    assert runtime.types == [type_]


def test_a_refusal_waits_a_moment_for_its_body() -> None:
    runtime = Runtime()
    runtime.request()
    runtime.report("status", status=503)
    runtime.wait(0.29)
    assert runtime.hints == []
    assert runtime.requests.due is not None
    runtime.wait(0.02)
    assert runtime.types == ["provider_unavailable"]
    assert runtime.hints[0].at_seconds == TURN
    assert runtime.requests.due is None
    runtime.report("body", text='{"error": {"code": "insufficient_quota"}}')
    assert len(runtime.hints) == 1


def test_a_refusal_without_a_body_is_reported_before_the_agent_says_anything_and_again_after() -> (
    None
):
    runtime = Runtime()
    runtime.request()
    runtime.report("status", status=429)
    (early,) = runtime.requests.look_early(FIRST)
    assert (early.verdict.type, early.is_early) == ("rate_limit", True)
    assert runtime.requests.look_early(FIRST) == []
    assert runtime.requests.look_early(SECOND) == []
    runtime.report("body", text='{"error": {"code": "insufficient_quota"}}')
    assert [(hint.verdict.type, hint.is_early) for hint in runtime.hints] == [("budget", False)]
    assert len(runtime.requests.entries([])) == 1


def test_tries_are_counted_in_a_turn_until_one_succeeds() -> None:
    runtime = Runtime()
    runtime.refuse(1, 503)
    runtime.refuse(2, 503)
    runtime.asked(3, 200)
    runtime.refuse(4, 503)
    runtime.turn = SECOND
    runtime.refuse(5, 503)
    # So does a prompt that is sent again, and a request to something else.
    runtime.turn = TurnId(2, 1)
    runtime.refuse(6, 503)
    runtime.asked(7, 404, path="/v1/responses")
    assert [(hint.attempt, hint.is_over) for hint in runtime.hints] == [
        (2, False),
        (3, False),
        (3, True),
        *[(2, False)] * 4,
    ]


@every(
    "report",
    [
        ("error", {"name": "TypeError", "code": "ECONNRESET"}),
        ("error", {"name": "AbortError"}),
        ("status", {"status": 429}),
        ("body", {"text": "{}"}),
    ],
)
@every("turns", [(FIRST, SECOND), (FIRST, None), (None, FIRST)])
def test_a_request_that_does_not_belong_to_the_only_turn_says_nothing_of_it(
    turns: tuple[TurnId | None, TurnId | None], report: tuple[str, dict[str, Any]]
) -> None:
    runtime = Runtime()
    runtime.turn = turns[0]
    runtime.request()
    if report[0] == "body":
        runtime.report("status", status=429)
    runtime.now, runtime.turn = TURN + 60, turns[1]
    runtime.report(report[0], **report[1])
    runtime.wait(60)
    assert runtime.hints == []
    (entry,) = runtime.requests.entries([SilentTurn("s", TURN, TURN, number=2)])
    assert (entry.session_id, entry.turn) == (None, None)
    assert ("type" in entry.facts) is (report[1].get("name") != "AbortError")


@every(
    ("statuses", "goes_on"),
    [
        ([503], [None]),
        # Nobody expects it to be tried again, until it is.
        ([401], [False]),
        ([401, 401], [False, None]),
    ],
)
def test_a_401_counts_as_final_until_the_agent_retries_it(
    statuses: list[int], goes_on: list[bool | None]
) -> None:
    runtime = Runtime()
    for number, status in enumerate(statuses):
        runtime.refuse(number, status)
    assert [hint.goes_on for hint in runtime.hints] == goes_on


def test_a_failure_during_an_ongoing_answer_does_not_concern_the_turn() -> None:
    runtime = Runtime()
    runtime.request(1)
    runtime.report("status", 1, status=200)
    runtime.refuse(2, 429)
    assert runtime.hints == []


@every(("size", "types"), [(900, []), (9000, ["auth"]), (None, ["auth"])])
def test_a_failure_during_a_longer_request_may_be_one_for_a_title(
    size: int | None, types: list[str]
) -> None:
    runtime = Runtime()
    runtime.request(1, bytes=5000)
    runtime.asked(2, 401, bytes=size)
    assert runtime.types == types


def test_a_request_that_the_agent_ends_has_not_failed_unless_it_had_waited_in_vain() -> None:
    runtime = Runtime()
    runtime.request(1)
    runtime.now += 9
    runtime.report("error", 1, name="AbortError")
    assert runtime.hints == []
    runtime.request(2)
    runtime.now += 60
    runtime.report("error", 2, name="AbortError")
    (hint,) = runtime.hints
    assert (hint.verdict.type, hint.verdict.reason) == ("timeout", "provider_silent")


def test_a_request_to_something_else_proves_nothing() -> None:
    runtime = Runtime()
    runtime.request(1, "/telemetry", model=None)
    runtime.report("status", 1, status=503)
    runtime.report("body", 1, text="down")
    runtime.wait(60)
    assert runtime.hints == []
    assert runtime.requests.silence(FIRST) is None


def test_an_open_request_or_an_answer_that_stops_is_why_the_agent_is_silent() -> None:
    runtime = Runtime()
    runtime.request()
    cause = runtime.requests.silence(FIRST)
    assert cause is not None
    assert (cause.cause, cause.since, cause.is_certain) == (Cause.PROVIDER, TURN, True)
    assert runtime.requests.silence(SECOND) is None, "it is of an earlier turn"
    runtime.report("status", status=200)
    runtime.now += 5
    runtime.report("progress")
    cause = runtime.requests.silence(FIRST)
    assert cause is not None
    assert (cause.cause, cause.since) == (Cause.STREAM, TURN + 5)


def test_an_answer_without_a_reported_end_hides_no_later_failure() -> None:
    runtime = Runtime()
    runtime.request(1)
    runtime.report("status", 1, status=200)
    runtime.now += 2
    runtime.asked(2, 200)
    assert runtime.requests.silence(FIRST) is None
    runtime.now += 30
    runtime.refuse(3, 401)
    assert runtime.types == ["auth"]
    runtime.turn = SECOND
    runtime.refuse(4, 401)
    assert runtime.types == ["auth"] * 2


def test_a_failure_is_reported_with_the_time_of_the_last_good_answer_in_its_turn() -> None:
    runtime = Runtime()
    runtime.refuse(1, 401)
    runtime.asked(2, 200, seconds=3)
    runtime.refuse(3, 401)
    runtime.turn = SECOND
    runtime.refuse(4, 401)
    failed = [hint for hint in runtime.hints if not hint.is_over]
    assert [hint.answered_at for hint in failed] == [None, TURN + 3, None]


@every(("size", "answered_at"), [(900, TURN + 3), (1100, TURN + 0.2), (None, TURN + 3)])
def test_a_request_as_large_as_the_last_good_one_continues_the_turn(
    size: int | None, answered_at: float
) -> None:
    runtime = Runtime()
    runtime.asked(1, 200, bytes=1001, seconds=3)
    runtime.asked(2, 401, bytes=size)
    assert [hint.answered_at for hint in runtime.hints] == [answered_at]


@every(("size", "is_over"), [(1000, True), (950, True), (300, False), (None, True)])
def test_a_successful_retry_is_reported_unless_it_is_shorter(
    size: int | None, is_over: bool
) -> None:
    runtime = Runtime()
    runtime.asked(1, 503, bytes=1000)
    runtime.asked(2, 200, path="/v1/responses", bytes=size)
    assert [hint.is_over for hint in runtime.hints] == [False, True][: 1 + is_over]


def test_each_request_that_is_over_has_an_entry() -> None:
    runtime = Runtime()
    turn = SilentTurn("s", TURN, TURN, number=1)
    runtime.refuse(1, 429)
    runtime.request(2, host="api.example.com\u202e")
    runtime.now += 2
    runtime.report("status", 2, status=200)
    runtime.now += 3
    runtime.report("end", 2)
    runtime.request(3)
    runtime.report("error", 3, name="TypeError", code="ECONNREFUSED")
    entries = runtime.requests.entries([turn])
    assert [(entry.session_id, entry.turn) for entry in entries] == [("s", 1)] * 3
    assert [problem for entry in entries for problem in problems_of(entry)] == []
    refused, answered, failed = (entry.facts for entry in entries)
    assert (refused["status"], refused["type"], refused["total_seconds"]) == (429, "rate_limit", 0)
    assert (answered["attempt"], answered["first_byte_seconds"]) == (2, 2)
    assert (answered["total_seconds"], "type" in answered) == (5, False)
    assert "\u202e" not in answered["host"]
    assert (failed["type"], "status" in failed) == ("network", False)
    assert runtime.requests.entries([turn]) == []
    # Of several open turns it belongs to none.
    runtime.refuse(4, 429)
    (entry,) = runtime.requests.entries([SilentTurn(name, TURN, TURN) for name in "st"])
    assert (entry.session_id, entry.turn) == (None, None)
    runtime.report("start", runtime="node", version="22.1.0", script="cli.js")
    assert runtime.requests.runtimes == {7: "node 22.1.0"}


def test_an_agent_without_requests_for_long_is_idle() -> None:
    runtime = Runtime()
    assert runtime.requests.idleness(FIRST, TURN + 60) is None
    runtime.request()
    assert runtime.requests.idleness(FIRST, TURN + 60) is None
    runtime.now += 5
    runtime.report("status", status=200)
    runtime.report("end")
    assert runtime.requests.idleness(FIRST, TURN + 24) is None
    cause = runtime.requests.idleness(FIRST, TURN + 25)
    assert cause is not None
    assert (cause.cause, cause.since) == (Cause.IDLE, TURN + 5)
    assert runtime.requests.idleness(SECOND, TURN + 60) is None


def garbage() -> Iterable[bytes]:
    whole: dict[str, Any] = {"pid": 7, "event": "status", "id": 1, "status": 503, "headers": {}}
    yield from (b"", b"{", b"[]", b"null", b"\xff", b"[" * 4000)
    for name in whole:
        for value in (None, [], {}, "x", 1e300, True):
            yield json.dumps(whole | {name: value}).encode()
        yield json.dumps({key: each for key, each in whole.items() if key != name}).encode()


def test_a_malformed_report_is_dropped() -> None:
    for line in garbage():
        runtime = Runtime()
        runtime.request()
        runtime.line(line)
        runtime.wait(1)
        assert len(runtime.hints) <= 1


def test_requests_that_never_end_are_bounded() -> None:
    runtime = Runtime()
    for number in range(MAX_OPEN + 50):
        runtime.request(number)
    runtime.report("error", 1, name="TypeError", code="ECONNRESET")
    assert runtime.hints == []
    runtime.report("error", MAX_OPEN, name="TypeError", code="ECONNRESET")
    assert len(runtime.hints) == 1


@every(
    ("members", "type_", "attribution"),
    [
        ({"empty": True}, "network", Attribution.PROVEN),
        ({"type": "text/html; charset=utf-8"}, "protocol_error", Attribution.STRONG),
        ({"type": "Text/HTML", "ends": False}, "protocol_error", Attribution.STRONG),
    ],
)
def test_an_answer_that_is_empty_or_a_page_is_a_failure(
    members: dict[str, Any], type_: str, attribution: Attribution
) -> None:
    runtime = Runtime()
    for number in (1, 2):
        runtime.request(number)
        runtime.report("status", number, status=200, **members)
        if "ends" not in members:  # a runtime that reports no end
            runtime.report("end", number, **members)
    assert runtime.types == [type_] * 2
    assert {hint.attribution for hint in runtime.hints} == {attribution}
    assert {hint.verdict.reason for hint in runtime.hints} <= {"truncated_stream", "not_http"}
    assert [hint.attempt for hint in runtime.hints] == [2, 3]
