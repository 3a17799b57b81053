"""Whose failure, whose wait, whose word: evidence that looks like more than it is."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.classify import (
    classify,
    classify_exit,
    classify_text,
    gather,
)
from lastword.core.classify.decide import decide
from lastword.core.classify.gather import MAX_FRAMES
from lastword.core.failure.taxonomy import ErrorType

# --- whose exception


def raised(text: str, *, module: str, kind: type[Exception] = ValueError) -> Exception:
    """The exception as it is caught, raised by code of this module."""
    scope: dict[str, Any] = {"__name__": module, "kind": kind}
    exec("def fail(text): raise kind(text)", scope)
    try:
        scope["fail"](text)
    except Exception as error:  # noqa: BLE001 - what was raised
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        return error
    raise AssertionError


@pytest.mark.parametrize(
    "text",
    ["invalid api key format in my config file", "type is one of rate_limit, budget, timeout"],
)
def test_an_exception_of_the_language_is_the_handlers_own(text: str) -> None:
    for kind in (ValueError, RuntimeError, KeyError):
        verdict = classify(raised(text, module="my_agent", kind=kind))
        assert (verdict.type, verdict.retryable) == (ErrorType.INTERNAL, False)


def test_an_exception_is_the_providers_if_its_package_raised_or_caused_it() -> None:
    for kind in (ValueError, TypeError):
        error = raised("Missing api key", module="anthropic._client", kind=kind)
        assert classify(error).type == "auth"
    outer = raised("Missing api key", module="my_agent")
    outer.__cause__ = type("APIError", (Exception,), {"__module__": "openai"})("Missing api key")
    assert classify(outer).type == "auth"


def test_a_transport_error_or_a_status_is_trusted_from_anyone() -> None:
    assert classify(raised("Connection reset by peer", module="my_agent")).type == "network"
    assert classify(raised("HTTP 429: slow down", module="my_agent")).type == "rate_limit"


def test_an_endless_traceback_is_read_up_to_a_bound() -> None:
    def deep(left: int) -> None:
        if left == 0:
            raise ValueError("invalid api key")
        deep(left - 1)

    with pytest.raises(ValueError, match="key") as caught:
        deep(MAX_FRAMES + 20)
    assert classify(caught.value).type is ErrorType.INTERNAL


# --- words of single agents


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


# --- programs that do not run


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (
            "/lib64/libc.so.6: version `GLIBC_2.34' not found (required by agent)",
            1,
            "missing_library",
        ),
        ("error while loading shared libraries: libssl.so.1.1", 127, "missing_library"),
        ("SyntaxError: '??='\n at Loader.moduleStrategy (x.js:1:1)", 1, "runtime_version"),
        ("npm WARN EBADENGINE Unsupported engine", 1, "runtime_version"),
        ("Error: Cannot find module '/opt/agent/index.js'", 1, "file_not_found"),
        ("sh: agent: not found: cannot find module", 127, "spawn_failed"),
    ],
)
def test_a_program_that_cannot_run_here_says_why(words: str, code: int, reason: str) -> None:
    verdict = classify_exit(exit_code=code, stderr_tail=words)
    assert (verdict.type, verdict.reason, verdict.retryable) == ("agent_crash", reason, False)
    if code == 1:
        assert classify_text(words).reason == reason
