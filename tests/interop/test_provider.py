"""The fake provider keeps its own promises, and the locks name no registry."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from pathlib import Path

import pytest

from lastword.kit.provider.dialects import TEXT, TOOL_COMMAND, ProviderDialect
from lastword.kit.provider.server import Provider, ProviderScenario
from tests.kit.patience import FUSE_SECONDS
from tests.kit.rows import every

HERE = Path(__file__).resolve().parent
PATHS = {
    ProviderDialect.OPENAI: "/v1/chat/completions",
    ProviderDialect.RESPONSES: "/v1/responses",
    ProviderDialect.ANTHROPIC: "/v1/messages?beta=true",
    ProviderDialect.GEMINI: "/v1beta/models/m:streamGenerateContent?alt=sse",
}
SHELL = {
    ProviderDialect.OPENAI: {"type": "function", "function": {"name": "bash"}},
    ProviderDialect.RESPONSES: {"type": "function", "name": "shell"},
    ProviderDialect.ANTHROPIC: {"name": "Bash"},
    ProviderDialect.GEMINI: {"functionDeclarations": [{"name": "run_shell_command"}]},
}
RESULT: dict[ProviderDialect, dict[str, object]] = {
    ProviderDialect.OPENAI: {"messages": [{"role": "tool", "content": "done"}]},
    ProviderDialect.RESPONSES: {"input": [{"type": "function_call_output", "output": "done"}]},
    ProviderDialect.ANTHROPIC: {"messages": [{"content": [{"type": "tool_result"}]}]},
    ProviderDialect.GEMINI: {"contents": [{"parts": [{"functionResponse": {}}]}]},
}
STATUS = {
    "unauthorized": 401,
    "rate_limited": 429,
    "rate_limited_untimed": 429,
    "quota": 429,
    "bad_gateway": 502,
    "context_overflow": 400,
    "overloaded": 503,
}
TIMED = {"rate_limited", "bad_gateway"}
KEY = "sk-provider-test-0123456789"


@pytest.fixture(params=ProviderDialect)
def dialect(request: pytest.FixtureRequest) -> ProviderDialect:
    found: ProviderDialect = request.param
    return found


def call(
    provider: Provider, dialect: ProviderDialect, *, stream: bool, **more: object
) -> tuple[int, bytes, str | None]:
    connection = http.client.HTTPConnection(
        provider.url.removeprefix("http://"), timeout=FUSE_SECONDS
    )
    try:
        body = json.dumps({"model": "m", "stream": stream, "messages": [], **more})
        path = PATHS[dialect]
        if not stream:
            path = path.replace("streamGenerateContent?alt=sse", "generateContent")
        connection.request("POST", path, body, {"x-api-key": KEY})
        response = connection.getresponse()
        return response.status, response.read(), response.headers["Retry-After"]
    finally:
        connection.close()


@every("stream", [True, False])
def test_a_healthy_answer_contains_the_text(dialect: ProviderDialect, stream: bool) -> None:
    with Provider() as provider:
        status, body, _ = call(provider, dialect, stream=stream)
        assert [made.stream for made in provider.calls] == [stream]
    assert status == 200
    assert TEXT[-1].encode() in body


@every("scenario", STATUS)
def test_a_refusal_has_the_status_and_shape_of_its_provider(
    dialect: ProviderDialect, scenario: str
) -> None:
    with Provider(scenario, retry_after_seconds=2) as provider:
        status, body, retry_after = call(provider, dialect, stream=True)
    assert status == STATUS[scenario] or (status, dialect) == (529, ProviderDialect.ANTHROPIC)
    assert retry_after == ("2" if scenario in TIMED else None)
    if status == 502:
        assert body.startswith(b"<html>")
        return
    error = json.loads(body)["error"]
    assert error["message"]
    assert ("code" in error) is (dialect is not ProviderDialect.ANTHROPIC)
    assert ("status" in error) is (dialect is ProviderDialect.GEMINI)
    assert KEY.encode() not in body
    assert scenario != "overloaded" or b"overloaded" in body.lower()


@every("scenario", [ProviderScenario.CUT, ProviderScenario.CUT_BEFORE_TEXT])
@every("stream", [True, False])
def test_a_cut_answer_ends_in_a_reset(
    dialect: ProviderDialect, scenario: ProviderScenario, stream: bool
) -> None:
    with Provider(scenario) as provider, pytest.raises(ConnectionResetError):
        call(provider, dialect, stream=stream)


def test_the_provider_requests_a_tool_whole_or_cut_and_fails_at_its_result(
    dialect: ProviderDialect,
) -> None:
    tools = [SHELL[dialect]]
    with Provider(ProviderScenario.FAILS_AFTER_TOOL) as provider:
        status, body, _ = call(provider, dialect, stream=True, tools=tools)
        assert (status, TOOL_COMMAND.encode() in body) == (200, True)
        assert provider.failed_at is None
        assert call(provider, dialect, stream=True, tools=tools, **RESULT[dialect])[0] == 429
        assert provider.failed_at is not None
        provider.scenario = ProviderScenario.HEALTHY_TOOL
        _, body, _ = call(provider, dialect, stream=True, tools=tools)
        assert TOOL_COMMAND.encode() in body
        provider.scenario = ProviderScenario.CUT_IN_TOOL
        with pytest.raises(ConnectionResetError):
            call(provider, dialect, stream=True, tools=tools)


def test_the_provider_recovers_after_failing_two_calls_with_tools(dialect: ProviderDialect) -> None:
    tools = [SHELL[dialect]]
    with Provider(ProviderScenario.RECOVERS) as provider:
        assert call(provider, dialect, stream=True)[0] == 200
        statuses = [call(provider, dialect, stream=True, tools=tools)[0] for _ in range(3)]
    assert statuses == [429, 429, 200]


def test_a_marked_call_gets_the_marks_scenario(
    dialect: ProviderDialect,
) -> None:
    marked = {"SHALL FAIL": ProviderScenario.RATE_LIMITED}
    with Provider(ProviderScenario.SLOW, marked=marked) as provider:
        provider.slow_seconds = 0.01
        status, body, _ = call(provider, dialect, stream=True, system="Hello")
        assert (status, TEXT[-1].encode() in body) == (200, True)
        assert call(provider, dialect, stream=True, system="This SHALL FAIL.")[0] == 429
        assert [made.scenario for made in provider.calls] == ["slow", "rate_limited"]


def test_the_first_failure_is_that_of_a_call_with_tools_if_one_has_failed() -> None:
    dialect = ProviderDialect.OPENAI
    with Provider(ProviderScenario.UNAUTHORIZED) as provider:
        began = time.monotonic()
        call(provider, dialect, stream=True)
        of_a_title = provider.failed_at
        call(provider, dialect, stream=True, tools=[SHELL[dialect]])
        of_a_turn = provider.failed_at
        call(provider, dialect, stream=True, tools=[SHELL[dialect]])
        assert of_a_title is not None
        assert of_a_turn is not None
        assert began <= of_a_title <= of_a_turn == provider.failed_at


def test_an_empty_answer_has_no_text(dialect: ProviderDialect) -> None:
    with Provider(ProviderScenario.EMPTY) as provider:
        assert call(provider, dialect, stream=True)[:2] == (200, b"")
        assert call(provider, dialect, stream=False)[:2] == (200, b"")


def test_the_provider_stops_at_once_while_calls_hang() -> None:
    with Provider(ProviderScenario.HANG) as provider:
        hanging = [threading.Thread(target=_ignore_failure, args=(provider,)) for _ in range(3)]
        for thread in hanging:
            thread.start()
        assert provider.wait_for_calls(len(hanging), FUSE_SECONDS)
        started = time.monotonic()
    assert time.monotonic() - started < FUSE_SECONDS  # they would hang for minutes
    for thread in hanging:
        thread.join(timeout=FUSE_SECONDS)
        assert not thread.is_alive()


def _ignore_failure(provider: Provider) -> None:
    try:
        call(provider, ProviderDialect.OPENAI, stream=True)
    except (OSError, http.client.HTTPException):
        return


@every(
    "name",
    [
        *("package-lock.json", "agents/package-lock.json"),
        *("kimi-requirements.txt", "vibe-requirements.txt"),
    ],
)
def test_a_lock_has_every_hash_and_no_registry(name: str) -> None:
    text = (HERE / name).read_text()
    assert "resolved" not in text
    assert not re.search(r"(?m)^ *-[if]\b|^--|https?://\S*(\.tgz|\.whl|/simple)", text)
    assert text.count("sha512-" if name.endswith("json") else "--hash=sha256:") > 50
