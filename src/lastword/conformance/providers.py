"""Exceptions as the packages of model providers raise them: status, body, headers, class, cause.

Owns likenesses of the shapes of OpenAI's, Anthropic's and httpx's packages, so that the scripted
agent needs none of them. Every request id and key in here is made up.
"""

from __future__ import annotations

import errno
import os
from typing import Any


class Response:
    """As httpx's, as far as exceptions carry it."""

    def __init__(self, status_code: int) -> None:
        self.status_code = status_code
        self.headers = {"x-request-id": "req_7f3a91c2"}


class APIError(Exception):
    """The root of a provider's own exceptions."""


class APIStatusError(APIError):
    """The provider answered with a status of 400 or more."""

    def __init__(self, message: str, *, response: Response, body: dict[str, Any]) -> None:
        super().__init__(f"Error code: {response.status_code} - {message}")
        self.response = response
        self.status_code = response.status_code
        self.body = body
        self.request_id = response.headers["x-request-id"]


class RateLimitError(APIStatusError):
    """429."""


class AuthenticationError(APIStatusError):
    """401."""


class BadRequestError(APIStatusError):
    """400."""


class NotFoundError(APIStatusError):
    """404."""


class OverloadedError(APIStatusError):
    """529."""


class APIConnectionError(APIError):
    """No answer came; the cause says why."""


class APITimeoutError(APIConnectionError):
    """The time for an answer ran out."""


class ReadTimeout(Exception):  # noqa: N818  (httpx's name)
    """As httpx's."""


class ConnectError(Exception):
    """As httpx's."""


class GatewayError(Exception):
    """Of a company's own gateway: nothing in it is known to anybody else."""


def openai(
    kind: type[APIStatusError],
    status: int,
    message: str,
    *,
    code: str,
    error_type: str,
) -> APIStatusError:
    """An error as OpenAI's package raises it: the body is what stood in `error`."""
    body = {"message": message, "type": error_type, "param": None, "code": code}
    return kind(str({"error": body}), response=Response(status), body=body)


def anthropic(
    kind: type[APIStatusError],
    status: int,
    message: str,
    *,
    error_type: str,
) -> APIStatusError:
    """An error as Anthropic's package raises it: the body is the whole answer."""
    body = {"type": "error", "error": {"type": error_type, "message": message}}
    return kind(str(body), response=Response(status), body=body)


def timed_out() -> APIError:
    """What the package raises when the provider does not answer in time."""
    error = APITimeoutError("Request timed out.")
    error.__cause__ = ReadTimeout("The read operation timed out")
    return error


def refused() -> APIError:
    """What the package raises when nobody listens at the provider's address."""
    error = APIConnectionError("Connection error.")
    error.__cause__ = ConnectError("All connection attempts failed")
    error.__cause__.__cause__ = ConnectionRefusedError(
        errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED)
    )
    return error


def throttled(retry_after_seconds: int) -> APIError:
    """429, with the wait in a header."""
    error = openai(
        RateLimitError,
        429,
        "Rate limit reached for gpt-5 in organization org-example on tokens per min (TPM): "
        "Limit 30000, Used 29200, Requested 3100.",
        code="rate_limit_exceeded",
        error_type="tokens",
    )
    error.response.headers["retry-after"] = str(retry_after_seconds)
    return error


def overloaded() -> APIError:
    """529."""
    return anthropic(OverloadedError, 529, "Overloaded", error_type="overloaded_error")
