"""Retries: the agent goes on, and a client may show for how long it waits."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.client import RetryNotice, raise_for_error, read_error, read_retry
from lastword.core.failure import sentences
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link.connection import Connection, Side
from lastword.core.protocol import acp
from lastword.core.protocol.jsonrpc import decode, dumps, loads
from tests.kit.rows import every

ERROR = {"type": "rate_limit", "message": "Limited.", "retryable": True}


def update(kind: str = "agent_retry", **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": kind, **members}


def sure(found: RetryNotice | None) -> RetryNotice:
    assert found is not None
    return found


@pytest.mark.parametrize("kind", ["agent_retry", "_agent_retry"])
def test_a_retry_is_read_from_every_shape_of_its_update(kind: str) -> None:
    told = update(kind, attempt=3, max_attempts=6, wait_seconds=4, error=ERROR)
    frame = {"method": "session/update", "params": {"sessionId": "s", "update": told}}
    for shape in (told, frame, frame["params"]):
        retry = sure(read_retry(shape))
        assert (retry.attempt, retry.max_attempts, retry.wait_seconds) == (3, 6, 4)
        assert retry.error is not None
        assert retry.error.type is ErrorType.RATE_LIMIT
        assert read_error(shape) is None
        assert raise_for_error(shape) is shape


def test_members_of_a_retry_may_be_missing_or_wrong() -> None:
    assert read_retry(update()) == RetryNotice()
    odd = update(attempt="2", max_attempts=-1, wait_seconds=1.5, error="x")
    assert read_retry(odd) == RetryNotice(wait_seconds=2)


@pytest.mark.parametrize(
    ("retry", "words"),
    [
        (RetryNotice(), "Trying again."),
        (RetryNotice(attempt=2), "Trying again (attempt 2)."),
        (RetryNotice(attempt=2, max_attempts=3), "Trying again (attempt 2 of 3)."),
        (RetryNotice(wait_seconds=90), "Trying again in 90 seconds."),
    ],
)
def test_a_retry_is_described_in_one_sentence(retry: RetryNotice, words: str) -> None:
    assert retry.message == words


def notices(*, retry: bool) -> list[dict[str, Any]]:
    """What the core tells a client of codex's own signal, as a retry or as a notice."""
    extension = {"agent_error": {"version": 1, "retry": True}} if retry else {}
    capabilities = {"session": {"notices": {}}, "_meta": extension}
    params = {"protocolVersion": 1, "clientCapabilities": capabilities}
    signal = {"message": "overloaded", "codexErrorInfo": "serverOverloaded", "willRetry": True}
    told = {"sessionUpdate": "session_info_update", "_meta": {"codex": {"error": signal}}}
    frames: list[tuple[Side, dict[str, Any]]] = [
        (Side.CLIENT, {"id": 0, "method": "initialize", "params": params}),
        (Side.AGENT, {"id": 0, "result": {"protocolVersion": 1}}),
        (Side.CLIENT, {"id": 1, "method": "session/prompt", "params": {"sessionId": "s"}}),
        (Side.AGENT, {"method": "session/update", "params": {"sessionId": "s", "update": told}}),
    ]
    core = Connection()
    out: list[dict[str, Any]] = []
    for side, frame in frames:
        decoded = decode(dumps({"jsonrpc": "2.0", **frame}))
        effects = core.receive(side, decoded, 0.0)  # type: ignore[arg-type]
        out += [loads(found) for effect in effects if (found := getattr(effect, "frame", None))]
    return [frame for frame in out if isinstance(frame, dict) and frame.get("method")]


@pytest.mark.parametrize("retry", [False, True])
def test_the_cores_report_of_a_retry_is_read(retry: bool) -> None:
    told = [found for frame in notices(retry=retry) if (found := read_retry(frame))]
    assert told
    for found in told:
        assert found.error is not None
        assert found.error.type is ErrorType.PROVIDER_UNAVAILABLE
        assert found.message.startswith("The model provider is overloaded. Trying again")


@every("error_type", ErrorType)
def test_a_notice_of_ours_is_read_back(error_type: ErrorType) -> None:
    told = RetryNotice(attempt=3, max_attempts=6, wait_seconds=120)
    title = f"{sentences.WHAT[error_type]} {told.message}"
    retry = sure(read_retry(update("notice", severity="warning", title=title)))
    assert (retry.attempt, retry.max_attempts, retry.wait_seconds) == (3, 6, 120)
    assert retry.error is not None
    assert retry.error.type is error_type


@pytest.mark.parametrize(
    "title",
    ["The agent has been silent for 45 seconds.", "", None, 7, "x" * 2000, "Trying again in vain."],
)
def test_any_other_notice_is_not_a_retry(title: object) -> None:
    assert read_retry(update("notice", title=title)) is None


def test_retries_in_agents_own_formats_are_read() -> None:
    vibe = {
        "method": "_session/retrying",
        "params": {"category": "rate_limited", "detail": "429, retry in 7s"},
    }
    retry = sure(read_retry(vibe))
    assert retry.wait_seconds == 7
    opencode = {"_meta": {"opencode/retry": {"attempt": 2, "message": "Overloaded"}}}
    assert sure(read_retry(update("session_info_update", **opencode))).attempt == 2


def test_any_other_update_or_value_is_not_a_retry() -> None:
    for kind in sorted(acp.SHOWN_KINDS | acp.AGENT_ERROR_KINDS):
        assert read_retry(update(kind, attempt=2, error=ERROR)) is None, kind
    for nothing in (None, 7, "agent_retry", [], {}, ConnectionError()):
        assert read_retry(nothing) is None
