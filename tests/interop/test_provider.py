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
from tests.kit.patience import FUSE_SECONDS, patient

HERE = Path(__file__).resolve().parent
PATHS = {
    ProviderDialect.OPENAI: "/v1/chat/completions",
    ProviderDialect.RESPONSES: "/v1/responses",
    ProviderDialect.ANTHROPIC: "/v1/messages?beta=true",
}
SHELL = {
    ProviderDialect.OPENAI: {"type": "function", "function": {"name": "bash"}},
    ProviderDialect.RESPONSES: {"type": "function", "name": "shell"},
    ProviderDialect.ANTHROPIC: {"name": "Bash"},
}
STATUS = {"unauthorized": 401, "rate_limited": 429, "bad_gateway": 502, "context_overflow": 400}
KEY = "sk-provider-test-0123456789"


def call(
    provider: Provider, dialect: ProviderDialect, *, stream: bool, **more: object
) -> tuple[int, bytes, str | None]:
    connection = http.client.HTTPConnection(
        provider.url.removeprefix("http://"), timeout=FUSE_SECONDS
    )
    try:
        body = json.dumps({"model": "m", "stream": stream, "messages": [], **more})
        connection.request("POST", PATHS[dialect], body, {"x-api-key": KEY})
        response = connection.getresponse()
        return response.status, response.read(), response.headers["Retry-After"]
    finally:
        connection.close()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", ProviderDialect)
def test_a_healthy_answer_holds_the_text(dialect: ProviderDialect, stream: bool) -> None:
    with Provider() as provider:
        status, body, _ = call(provider, dialect, stream=stream)
        assert [made.stream for made in provider.calls] == [stream]
    assert status == 200
    assert TEXT[-1].encode() in body


@pytest.mark.parametrize("scenario", STATUS)
@pytest.mark.parametrize("dialect", ProviderDialect)
def test_a_refusal_has_the_status_and_shape_of_its_provider(
    dialect: ProviderDialect, scenario: str
) -> None:
    with Provider(scenario, retry_after_seconds=2) as provider:
        status, body, retry_after = call(provider, dialect, stream=True)
    assert status == STATUS[scenario]
    assert retry_after == ("2" if status in {429, 502} else None)
    if status == 502:
        assert body.startswith(b"<html>")
        return
    error = json.loads(body)["error"]
    assert error["message"]
    assert ("code" in error) is (dialect is not ProviderDialect.ANTHROPIC)
    assert KEY.encode() not in body


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", ProviderDialect)
def test_a_cut_answer_ends_in_a_reset(dialect: ProviderDialect, stream: bool) -> None:
    with Provider(ProviderScenario.CUT) as provider, pytest.raises(ConnectionResetError):
        call(provider, dialect, stream=stream)


@pytest.mark.parametrize("dialect", ProviderDialect)
def test_an_empty_answer_is_one_without_a_word(dialect: ProviderDialect) -> None:
    with Provider(ProviderScenario.EMPTY) as provider:
        assert call(provider, dialect, stream=True)[:2] == (200, b"")
        assert call(provider, dialect, stream=False)[:2] == (200, b"")


@pytest.mark.parametrize("dialect", ProviderDialect)
def test_a_tool_call_is_whole_or_cut_in_its_middle(dialect: ProviderDialect) -> None:
    with Provider(ProviderScenario.HEALTHY_TOOL) as provider:
        _, body, _ = call(provider, dialect, stream=True, tools=[SHELL[dialect]])
        assert TOOL_COMMAND.encode() in body
        provider.scenario = ProviderScenario.CUT_IN_TOOL
        with pytest.raises(ConnectionResetError):
            call(provider, dialect, stream=True, tools=[SHELL[dialect]])
        assert provider.wait_until_asked(2, 0)


def test_it_is_gone_at_once_while_calls_hang() -> None:
    with Provider(ProviderScenario.HANG) as provider:
        hanging = [threading.Thread(target=_ignore_failure, args=(provider,)) for _ in range(3)]
        for thread in hanging:
            thread.start()
        deadline = time.monotonic() + FUSE_SECONDS
        while len(provider.calls) < len(hanging) and time.monotonic() < deadline:
            time.sleep(0.01)
        started = time.monotonic()
    assert time.monotonic() - started < patient(1)
    for thread in hanging:
        thread.join(timeout=FUSE_SECONDS)
        assert not thread.is_alive()


def _ignore_failure(provider: Provider) -> None:
    try:
        call(provider, ProviderDialect.OPENAI, stream=True)
    except (OSError, http.client.HTTPException):
        return


@pytest.mark.parametrize("name", ["package-lock.json", "kimi-requirements.txt"])
def test_a_lock_names_every_hash_and_no_place_to_get_it(name: str) -> None:
    text = (HERE / name).read_text()
    assert "resolved" not in text
    assert not re.search(r"(?m)^ *-[if]\b|^--|https?://\S*(\.tgz|\.whl|/simple)", text)
    assert text.count("sha512-" if name.endswith("json") else "--hash=sha256:") > 50
