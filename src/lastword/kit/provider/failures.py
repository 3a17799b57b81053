"""The refusals of the two providers.

Owns: whole HTTP error responses in the shapes that OpenAI and Anthropic (and a gateway in front of
either) themselves send. Does not own: failing below HTTP (`provider`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
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
    """What an error body depends on.

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
    text = (
        f"Incorrect API key provided: {shown}. You can find your API key in your account settings."
    )
    error = {"message": text, "type": "invalid_request_error", "code": "invalid_api_key"}
    return _openai_error(401, error, {})


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
    text = (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "130145 tokens. Please reduce the length of the messages."
    )
    error = {"type": "invalid_request_error", "code": "context_length_exceeded"}
    return _openai_error(400, {**error, "message": text, "param": "messages"}, {})


FAILURES: dict[str, Callable[[ProviderDialect, Circumstances], ProviderFailure]] = {
    "unauthorized": _unauthorized,
    "rate_limited": _rate_limited,
    "bad_gateway": _bad_gateway,
    "context_overflow": _context_overflow,
}


def _openai_error(status: int, error: dict[str, str], headers: dict[str, str]) -> ProviderFailure:
    whole = {"message": "", "type": "", "param": None, "code": None, **error}
    head = {"x-request-id": "req_fake_1", **headers}
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


_MASKED_CHARACTERS = 16


def _masked(key: str) -> str:
    return f"{key[:8]}{'*' * 12}{key[-4:]}" if len(key) > _MASKED_CHARACTERS else "*" * 12
