"""What providers' packages raise, as a plain agent passes it on, by the kind of failure."""

from __future__ import annotations

from typing import Any

TYPES = {"silent_success": "unknown", "crash_after_text": "agent_crash"}
"""The error type of the kinds that are not called by it."""


def _openai(message: str, error_type: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": error_type, "param": None, "code": code}}


def _anthropic(error_type: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": error_type, "message": message}}


def _answered(name: str, status: int, body: dict[str, Any]) -> tuple[str, int, str]:
    return name, status, f"Error code: {status} - {body}"


ERRORS: dict[str, tuple[str, int | None, str]] = {
    "rate_limit": _answered(
        "RateLimitError",
        429,
        _openai(
            (
                "Rate limit reached for gpt-5 in organization org-example on tokens per "
                "min (TPM): Limit 30000, Used 29200, Requested 3100."
            ),
            "tokens",
            "rate_limit_exceeded",
        ),
    ),
    "budget": _answered(
        "RateLimitError",
        429,
        _openai(
            ("You exceeded your current quota, please check your plan and billing details."),
            "insufficient_quota",
            "insufficient_quota",
        ),
    ),
    "provider_unavailable": _answered(
        "OverloadedError", 529, _anthropic("overloaded_error", "Overloaded")
    ),
    "context_overflow": _answered(
        "BadRequestError",
        400,
        _openai(
            (
                "This model's maximum context length is 128000 tokens. However, your "
                "messages resulted in 131072 tokens. Please reduce the length of the "
                "messages."
            ),
            "invalid_request_error",
            "context_length_exceeded",
        ),
    ),
    "auth": _answered(
        "AuthenticationError",
        401,
        _openai("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    ),
    "model_not_found": _answered(
        "NotFoundError", 404, _anthropic("not_found_error", "model: claude-example-1")
    ),
    "invalid_request": _answered(
        "BadRequestError",
        400,
        _openai(
            "Unsupported parameter: 'max_tokens'.", "invalid_request_error", "unsupported_parameter"
        ),
    ),
    "content_filter": _answered(
        "BadRequestError",
        400,
        _openai(
            ("The response was filtered due to the prompt triggering content management policy."),
            "invalid_request_error",
            "content_filter",
        ),
    ),
    "timeout": ("APITimeoutError", None, "Request timed out."),
    "network": ("APIConnectionError", None, "Connection error."),
    "unknown": ("GatewayError", None, "E-7731"),
    "internal": ("AttributeError", None, "'NoneType' object has no attribute 'complete'"),
}
"""The exception's class, the status of the provider's answer, and the exception's text."""
