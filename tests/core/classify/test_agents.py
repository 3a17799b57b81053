"""Failures and retries that agents tell in ways of their own."""

from __future__ import annotations

import pytest

from lastword.core.classify import agents
from lastword.core.classify.agent_names import agent_key


@pytest.mark.parametrize(
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
def test_an_agent_is_known_by_any_of_its_names(name: str | None, key: str | None) -> None:
    assert agent_key(name) == key


def air(**failure: object) -> dict[str, object]:
    return {"stopReason": "end_turn", "_meta": {"jetbrains": {"air": {"sessionFailure": failure}}}}


def test_the_text_of_an_air_failure_counts_more_than_its_category() -> None:
    sign = agents.read_result(
        air(category="connection", severity="error", title="402 Payment Required")
    )
    assert sign is not None
    assert (sign.verdict.type, sign.will_retry) == ("budget", False)


def test_the_category_of_an_air_failure_counts_where_its_text_says_nothing() -> None:
    sign = agents.read_result(air(category="access", severity="error", title="Something happened"))
    assert sign is not None
    assert (sign.verdict.type, sign.verdict.rule) == ("auth", "air:access")


def test_an_air_warning_is_a_retry_and_no_end() -> None:
    meta = air(category="limit", severity="warning", title="Rate limited, retrying in 4 s")
    sign = agents.read_update({"sessionUpdate": "session_info_update", **meta})
    assert sign is not None
    assert (sign.verdict.type, sign.will_retry) == ("rate_limit", True)


def test_codex_tells_retries_and_system_errors_in_meta() -> None:
    error = {"message": "overloaded", "codexErrorInfo": "serverOverloaded", "willRetry": True}
    retry = agents.read_update({"_meta": {"codex": {"error": error}}})
    assert retry is not None
    assert (retry.verdict.type, retry.will_retry) == ("provider_unavailable", True)
    broken = agents.read_update({"_meta": {"codex": {"threadStatus": {"type": "systemError"}}}})
    assert broken is not None
    assert not broken.will_retry


def test_vibe_announces_a_retry_by_its_own_method() -> None:
    sign = agents.read_notification(
        "_session/retrying", {"category": "rate_limited", "detail": "429, retry in 7s"}
    )
    assert sign is not None
    assert (sign.verdict.type, sign.will_retry, sign.wait_seconds) == ("rate_limit", True, 7)
    assert agents.read_notification("_session/other", {}) is None
    assert agents.read_notification("_session/retrying", None) is None


def test_opencode_marks_a_retry_in_meta() -> None:
    sign = agents.read_update(
        {"_meta": {"opencode/retry": {"attempt": 2, "message": "Overloaded"}}}
    )
    assert sign is not None
    assert (sign.verdict.type, sign.attempt) == ("provider_unavailable", 2)


def test_pi_tells_a_retry_in_prose() -> None:
    update = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "Retrying (attempt 1/3, waiting 2s)..."},
    }
    sign = agents.read_update(update, agent="pi-acp")
    assert sign is not None
    assert (sign.attempt, sign.max_attempts, sign.wait_seconds) == (1, 3, 2)
    assert agents.read_update(update, agent="opencode") is None


def test_prose_is_an_error_only_as_a_whole_and_only_for_agents_known_to_do_so() -> None:
    text = "exceeded retry limit, last status: 429 Too Many Requests"
    verdict = agents.read_prose(text, agent="@zed-industries/codex-acp")
    assert verdict is not None
    assert verdict.type == "rate_limit"
    assert agents.read_prose(text, agent="gemini-cli") is None
    assert agents.read_prose(text, agent=None) is None
    assert agents.read_prose(f"The log says: {text}", agent="codex") is None
    assert agents.read_prose(text + " x" * 5000, agent="codex") is None
    assert agents.read_prose("", agent="codex") is None


@pytest.mark.parametrize(
    "update",
    [
        None, 3, [], {}, {"_meta": None}, {"_meta": {"jetbrains": []}}, {"_meta": {"codex": 1}},
        {"_meta": {"codex": {"threadStatus": {"type": "idle"}}}},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}},
    ],
)  # fmt: skip
def test_an_ordinary_update_or_result_is_no_sign(update: object) -> None:
    assert agents.read_update(update, agent="pi-acp") is None
    assert agents.read_result(update) is None
