"""Failures and retries that agents tell in ways of their own."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.classify import agents, classify, gather
from lastword.core.classify.decide import decide
from lastword.quirks.agents import agent_key
from tests.kit.rows import every


@every(
    ("name", "key"),
    [
        ("@zed-industries/claude-code-acp", "claude"),
        ("@agentclientprotocol/claude-agent-acp", "claude"),
        ("@zed-industries/codex-acp", "codex"),
        ("Kimi Code CLI", "kimi-code"),
        ("opencode", "opencode"),
        ("OpenCode", "opencode"),
        ("gemini-cli", "gemini"),
        ("@mistralai/mistral-vibe", "vibe"),
        ("", None),
        (None, None),
        ("somebody's agent", None),
    ],
)
def test_an_agent_is_recognised_by_any_of_its_names(name: str | None, key: str | None) -> None:
    assert agent_key(name) == key


def sure(found: agents.Sign | None) -> agents.Sign:
    assert found is not None
    return found


def air(**failure: object) -> dict[str, object]:
    return {"stopReason": "end_turn", "_meta": {"jetbrains": {"air": {"sessionFailure": failure}}}}


@pytest.mark.parametrize(
    ("category", "title", "type_"),
    [
        ("connection", "402 Payment Required", "budget"),
        ("access", "Something happened", "auth"),
    ],
)
def test_the_text_of_an_air_failure_counts_more_than_its_category(
    category: str, title: str, type_: str
) -> None:
    sign = sure(agents.read_result(air(category=category, severity="error", title=title)))
    assert (sign.verdict.type, sign.will_retry) == (type_, False)
    assert sign.verdict.rule.startswith("air:") is (type_ == "auth")


def test_an_air_warning_is_a_retry_and_no_end() -> None:
    meta = air(category="limit", severity="warning", title="Rate limited, retrying in 4 s")
    sign = sure(agents.read_update({"sessionUpdate": "session_info_update", **meta}))
    assert (sign.verdict.type, sign.will_retry) == ("rate_limit", True)


def test_codex_reports_retries_and_system_errors_in_meta() -> None:
    error = {"message": "overloaded", "codexErrorInfo": "serverOverloaded", "willRetry": True}
    retry = sure(agents.read_update({"_meta": {"codex": {"error": error}}}))
    assert (retry.verdict.type, retry.will_retry) == ("provider_unavailable", True)
    broken = sure(
        agents.read_update({"_meta": {"codex": {"threadStatus": {"type": "systemError"}}}})
    )
    assert not broken.will_retry


def test_vibe_announces_a_retry_by_its_own_method() -> None:
    sign = sure(
        agents.read_notification(
            "_session/retrying", {"category": "rate_limited", "detail": "429, retry in 7s"}
        )
    )
    assert (sign.verdict.type, sign.will_retry, sign.wait_seconds) == ("rate_limit", True, 7)
    assert agents.read_notification("_session/other", {}) is None
    assert agents.read_notification("_session/retrying", None) is None


@pytest.mark.parametrize(
    ("meta", "type_", "attempt", "most"),
    [
        (
            {"x": {"error": {"message": "429 Too Many Requests, 2/5", "willRetry": True}}},
            "rate_limit",
            3,
            6,
        ),
        ({"x/retry": {"attempt": 2, "message": "Overloaded"}}, "provider_unavailable", 3, None),
        ({"x": {"retrying": {"message": "HTTP 502"}}}, "provider_unavailable", None, None),
        ({"x": {"error": {"message": "429", "willRetry": False}}}, None, None, None),
        ({"mcpServer": {"error": {"message": "429", "willRetry": True}}}, None, None, None),
        ({"a": {"b": {"c": {"d": {"retry": {"message": "429"}}}}}}, None, None, None),
        ({f"m{n}": {} for n in range(99)} | {"retry": {"message": "429"}}, None, None, None),
    ],
)
def test_a_retry_in_meta_is_recognised_by_its_form(
    meta: dict[str, Any], type_: str | None, attempt: int | None, most: int | None
) -> None:
    sign = agents.read_update({"_meta": meta}, agent="nobody")
    assert (sign is None) == (type_ is None)
    if sign is not None:
        assert (sign.verdict.type, sign.will_retry) == (type_, True)
        assert (sign.attempt, sign.max_attempts) == (attempt, most)


def test_a_retry_notification_is_recognised_by_its_text() -> None:
    said = {"sessionId": "s", "status": 429, "message": "slow down", "attempt": 1}
    sign = sure(agents.read_notification("_x/model_retry", said))
    assert (sign.verdict.type, sign.attempt) == ("rate_limit", 2)
    sign = sure(agents.read_notification("_x/retry", {"error": {"message": "Overloaded"}}))
    assert sign.verdict.type == "provider_unavailable"
    assert agents.read_notification("_x/retry", {"sessionId": "s", "enabled": True}) is None
    assert agents.read_notification("_x/retry", ["429"]) is None


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("_x/tool_event", {"event": "retry"}),
        ("_x/mcpStatus", {"status": "retrying"}),
        ("_x/test_retry", {"error": {"message": "429 Too Many Requests"}}),
        ("_x/event", {"kind": "web_search_retry"}),
        ("_x/event", {"type": "retry", "toolName": "web_fetch"}),
        ("_x/event", {"update": {"type": "retry", "command": "npm ci"}}),
    ],
)
def test_a_notification_about_something_else_is_not_a_retry_of_the_model_call(
    method: str, said: dict[str, Any]
) -> None:
    assert agents.read_notification(method, {"attempt": 1, "reason": "429"} | said) is None


@pytest.mark.parametrize(
    ("meta", "failed"),
    [
        ({"x": {"threadStatus": {"type": "systemError"}}}, True),
        ({"x": {"turn": {"status": "failed"}}}, True),
        ({"state": "error"}, True),
        ({"x": {"threadStatus": {"type": "active"}}}, False),
        ({"x": {"threadStatus": {"flags": ["error"]}}}, False),
        ({"x": {"note": "error"}}, False),
        ({"mcpServers": {"x": {"status": "failed"}}}, False),
        ({"toolCall": {"status": "failed"}}, False),
        ({}, False),
    ],
)
def test_a_state_in_meta_may_say_that_something_failed(meta: dict[str, Any], failed: bool) -> None:
    assert agents.has_failed_state({"_meta": meta}) is failed
    assert not agents.has_failed_state(None)


def test_a_retry_in_prose_is_counted_by_its_form() -> None:
    text = "Retrying (attempt 1/3, waiting 2s)..."
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    for sign in (agents.read_retry_form(text), agents.read_update(chunk, agent="pi-acp")):
        assert sign is not None
        assert (sign.attempt, sign.max_attempts, sign.wait_seconds) == (2, 4, 2)
    assert agents.read_update(chunk, agent="opencode") is None
    sign = sure(agents.read_retry_form("Reconnecting... 2/5"))
    assert (sign.attempt, sign.max_attempts, sign.wait_seconds) == (3, 6, None)
    assert agents.read_retry_form("Retry finished, resuming.") is None


def test_prose_is_an_error_only_as_a_whole_and_only_from_certain_agents() -> None:
    text = "exceeded retry limit, last status: 429 Too Many Requests"
    verdict = sure(agents.read_prose(text, agent="@zed-industries/codex-acp"))
    assert verdict.type == "rate_limit"
    assert agents.read_prose(text, agent="gemini-cli") is None
    assert agents.read_prose(text, agent=None) is None
    assert agents.read_prose(f"The log says: {text}", agent="codex") is None
    assert agents.read_prose(text + " x" * 5000, agent="codex") is None
    assert agents.read_prose("", agent="codex") is None


@every(
    ("name", "text"),
    [
        ("claude", "Prompt is too long is an error that the API returns for a large input."),
        ("claude", "API Error: 529 is what you see while the service is overloaded."),
        ("claude", "Prompt is too long\n\nThe message above comes from the API."),
        ("claude", "Credit balance is too low, says the log."),
        ("codex", "Unexpected status codes are logged in `client.py`, and then raised."),
        ("codex", "Connection failed: the test prints it. I have mended it now."),
        ("goose", "Authentication error: what it means, and how to handle it."),
        ("qwen", "[API Error: …] is how the CLI marks failures."),
        ("qwen", "[API Error: that is how the CLI begins them."),
    ],
)
def test_an_answer_that_continues_after_an_error_is_not_one(name: str, text: str) -> None:
    assert agents.read_prose(text, agent=name) is None


@pytest.mark.parametrize(
    "update",
    [
        None, 3, [], {}, {"_meta": None}, {"_meta": {"jetbrains": []}}, {"_meta": {"codex": 1}},
        {"_meta": {"codex": {"threadStatus": {"type": "idle"}}}},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}},
    ],
)  # fmt: skip
def test_an_ordinary_update_or_result_is_not_a_sign(update: object) -> None:
    assert agents.read_update(update, agent="pi-acp") is None
    assert agents.read_result(update) is None


@pytest.mark.parametrize(
    ("agent", "error", "kind"),
    [
        ("claude-agent-acp", {"subtype": "api_retry", "error_status": None}, "network"),
        ("kimi-code", {"message": "APIEmptyResponseError: nothing"}, "protocol_error"),
        (
            "gemini-cli",
            {"message": "Error when talking to Gemini API x.json terminated"},
            "network",
        ),
        ("codex-acp", {"message": "The model produced an error."}, "provider_unavailable"),
        ("mistral-vibe", {"message": "IncompleteProviderStream: eof"}, "network"),
    ],
)
def test_one_agents_own_name_or_sentence_is_recognised(
    agent: str, error: dict[str, Any], kind: str
) -> None:
    assert (classify(error, agent=agent).type, classify(error).type) == (kind, kind)
    assert not decide(gather.from_any(error, "cline")).rule.startswith("agent:")
