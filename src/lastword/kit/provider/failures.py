"""The providers' refusals.

Owns whole HTTP error responses in the shapes of OpenAI, Anthropic and Gemini, and of a gateway in
front of them. It does not own failures below HTTP (`server`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lastword.kit.provider.dialects import MODEL, ProviderDialect

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """A whole HTTP error response."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The circumstances that an error body depends on.

    Attributes:
        key: The key that the caller sent.
        echo_key: Whether a 401 repeats it whole, as some providers do.
        retry_after_seconds: The wait that a 429 and a 502 ask for.
    """

    key: str
    echo_key: bool
    retry_after_seconds: int


def _unauthorized(dialect: ProviderDialect, case: Circumstances) -> ProviderFailure:
    key = case.key
    shown = key if case.echo_key else _masked(key)
    if dialect is ProviderDialect.ANTHROPIC:
        text = f"invalid x-api-key: {shown}" if case.echo_key else None
        return _anthropic_error(401, "authentication_error", text or "invalid x-api-key")
    if dialect is ProviderDialect.GEMINI:
        text = "API key not valid. Please pass a valid API key."
        return _gemini_error(401, "UNAUTHENTICATED", text)
    text = (
        f"Incorrect API key provided: {shown}. You can find your API key in your account settings."
    )
    error = {"message": text, "type": "invalid_request_error", "code": "invalid_api_key"}
    return _openai_error(401, error)


def _rate_limited(dialect: ProviderDialect, case: Circumstances) -> ProviderFailure:
    seconds = case.retry_after_seconds
    headers = {"Retry-After": str(seconds)}
    if dialect is ProviderDialect.ANTHROPIC:
        text = (
            "This request would exceed your organization's rate limit of 50 requests per minute. "
            "Please reduce the number of requests or try again later."
        )
        headers["anthropic-ratelimit-requests-remaining"] = "0"
        return _anthropic_error(429, "rate_limit_error", text, headers)
    if dialect is ProviderDialect.GEMINI:
        retry: dict[str, object] = {
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": f"{seconds}s",
        }
        text = "Resource has been exhausted (e.g. check quota)."
        return _gemini_error(429, "RESOURCE_EXHAUSTED", text, [retry], headers)
    text = (
        f"Rate limit reached for {MODEL} in organization org-fake on requests per min (RPM): "
        f"Limit 3, Used 3, Requested 1. Please try again in {seconds}s."
    )
    headers |= {
        "x-ratelimit-limit-requests": "3",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": f"{seconds}s",
    }
    error = {"message": text, "type": "requests", "code": "rate_limit_exceeded"}
    return _openai_error(429, error, headers)


def _rate_limited_untimed(dialect: ProviderDialect, case: Circumstances) -> ProviderFailure:
    if dialect is ProviderDialect.GEMINI:
        text = "Resource has been exhausted (e.g. check quota)."
        return _gemini_error(429, "RESOURCE_EXHAUSTED", text)
    if dialect is ProviderDialect.ANTHROPIC:
        timed = _rate_limited(dialect, case)
        headers = {name: text for name, text in timed.headers.items() if name != "Retry-After"}
        return replace(timed, headers=headers)
    text = f"Rate limit reached for {MODEL} in organization org-fake on requests per min (RPM)."
    return _openai_error(429, {"message": text, "type": "requests", "code": "rate_limit_exceeded"})


def _quota(dialect: ProviderDialect, _case: Circumstances) -> ProviderFailure:
    if dialect is ProviderDialect.ANTHROPIC:
        text = (
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & "
            "Billing to upgrade or purchase credits."
        )
        return _anthropic_error(429, "rate_limit_error", text)
    text = "You exceeded your current quota, please check your plan and billing details."
    if dialect is ProviderDialect.GEMINI:
        violation = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel", "quotaValue": "250"}
        kind = "type.googleapis.com/google.rpc.QuotaFailure"
        details: list[dict[str, object]] = [{"@type": kind, "violations": [violation]}]
        return _gemini_error(429, "RESOURCE_EXHAUSTED", text, details)
    error = {"message": text, "type": "insufficient_quota", "code": "insufficient_quota"}
    return _openai_error(429, error)


def _overloaded(dialect: ProviderDialect, _case: Circumstances) -> ProviderFailure:
    if dialect is ProviderDialect.ANTHROPIC:
        return _anthropic_error(529, "overloaded_error", "Overloaded")
    if dialect is ProviderDialect.GEMINI:
        text = "The model is overloaded. Please try again later."
        return _gemini_error(503, "UNAVAILABLE", text)
    text = "The server is currently overloaded with other requests. Sorry about that!"
    return _openai_error(503, {"message": text, "type": "server_error"})


def _bad_gateway(_dialect: ProviderDialect, case: Circumstances) -> ProviderFailure:
    headers = {"Retry-After": str(case.retry_after_seconds)}
    body = (
        b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
        b"<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n"
        b"</body>\r\n</html>\r\n"
    )
    return ProviderFailure(502, body, "text/html", headers)


def _context_overflow(dialect: ProviderDialect, _case: Circumstances) -> ProviderFailure:
    if dialect is ProviderDialect.ANTHROPIC:
        text = "prompt is too long: 208310 tokens > 200000 maximum"
        return _anthropic_error(400, "invalid_request_error", text)
    if dialect is ProviderDialect.GEMINI:
        text = (
            "The input token count (1130145) exceeds the maximum number of tokens allowed "
            "(1048576)."
        )
        return _gemini_error(400, "INVALID_ARGUMENT", text)
    text = (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "130145 tokens. Please reduce the length of the messages."
    )
    error = {"type": "invalid_request_error", "code": "context_length_exceeded"}
    return _openai_error(400, {**error, "message": text, "param": "messages"})


FAILURES: dict[str, Callable[[ProviderDialect, Circumstances], ProviderFailure]] = {
    "unauthorized": _unauthorized,
    "rate_limited": _rate_limited,
    "rate_limited_untimed": _rate_limited_untimed,
    "quota": _quota,
    "overloaded": _overloaded,
    "bad_gateway": _bad_gateway,
    "context_overflow": _context_overflow,
}


def _openai_error(
    status: int, error: dict[str, str], headers: dict[str, str] | None = None
) -> ProviderFailure:
    whole = {"message": "", "type": "", "param": None, "code": None, **error}
    head = {"x-request-id": "req_fake_1", **(headers or {})}
    return ProviderFailure(status, json.dumps({"error": whole}).encode(), headers=head)


def _anthropic_error(
    status: int, kind: str, message: str, headers: dict[str, str] | None = None
) -> ProviderFailure:
    body = {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_fake_1",
    }
    head = {"request-id": "req_fake_1", **(headers or {})}
    return ProviderFailure(status, json.dumps(body).encode(), headers=head)


def _gemini_error(
    status: int,
    name: str,
    message: str,
    details: list[dict[str, object]] | None = None,
    headers: dict[str, str] | None = None,
) -> ProviderFailure:
    error = {"code": status, "message": message, "status": name, "details": details or []}
    return ProviderFailure(status, json.dumps({"error": error}).encode(), headers=headers or {})


_MASKED_CHARACTERS = 16


def _masked(key: str) -> str:
    return f"{key[:8]}{'*' * 12}{key[-4:]}" if len(key) > _MASKED_CHARACTERS else "*" * 12
