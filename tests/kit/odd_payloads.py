"""Payloads as nobody should write them, by name: what every reader must make the same of.

Owns the samples. Does not own what is read from them (`contract/test_payload_walk.py`).
"""

from __future__ import annotations

from typing import Any

from lastword.core.failure.members import BY_NAME, MEMBERS, ValueForm

PAYLOAD: dict[str, Any] = {"type": "rate_limit", "message": "Slow down. Wait.", "retryable": True}

TEXTS, COUNTS, INTEGERS = (
    [member.name for member in MEMBERS if member.form is form]
    for form in (ValueForm.TEXT, ValueForm.COUNT, ValueForm.WHOLE)
)
HUGE = 10**30

VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "whole": 7,
    "negative": -9,
    "fraction": 1.2,
    "float": 429.0,
    "huge": HUGE,
    "huge-float": 1e300,
    "digits": "429",
    "text": "text",
    "empty": "",
    "blank": "  ",
    "markup": "see <b>`this`</b> [link](x) *now*",
    "lines": "one\ntwo\x00\x1b[31m",
    "surrogate": "half \ud83d of it",
    "long": "word " * 300,
    "wide": "\u6f22" * 3000,
    "list": ["text"],
    "object": {"text": "x"},
    "nested": {"a": [{"b": [None, {"c": 1.5}]}]},
}
"""A value of every kind, for every member in turn."""

NAMES = (*BY_NAME, "vendor")

ODD_PAYLOADS: dict[str, dict[str, Any]] = {
    f"{member}-{name}": PAYLOAD | {member: value}
    for member in NAMES
    for name, value in VALUES.items()
} | {
    "empty": {},
    "type-alone": {"type": "auth"},
    "message-alone": {"message": "It broke."},
    "retryable-alone": {"retryable": True},
    "version-alone-and-type": {"version": 1, "type": "auth"},
    "unknown-type": {"type": "quota", "message": "x", "retryable": True},
    "action-alone": {"action": "login"},
    "stop-reason": PAYLOAD | {"stopReason": "end_turn"},
    "detail-large-text": PAYLOAD | {"detail": {"text": "said " * 2000, "code": 7}},
    "detail-large-wide": PAYLOAD | {"detail": {"text": "\u6f22" * 3000}},
    "detail-large-other": PAYLOAD | {"detail": {"body": ["word"] * 3000}},
    "detail-null-inside": PAYLOAD | {"detail": {"text": "x", "nothing": None}},
    "vendor-large": PAYLOAD | {"vendor": ["word"] * 3000, "small": 1},
    "misread-phrase": PAYLOAD | {"message": "Session  not *found. Start a new one."},
}

ODD_UPDATES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "error-null": {"error": None},
    "error-text": {"error": "It broke."},
    "error-list": {"error": ["It broke."]},
    "error-number": {"error": 500},
    "error-empty": {"error": {}},
    "message": {"message": "It broke."},
    "message-typed": {"message": "It broke.", "type": "rate_limit", "retryable": True},
    "message-blank": {"message": " ", "text": "It broke."},
    "message-number": {"message": 7, "text": "It broke."},
    "text": {"type": "error", "text": "It broke."},
    "raw-object": {"message": "It broke.", "raw": {"status": 500}},
    "raw-text": {"message": "It broke.", "raw": "500 said the server"},
    "raw-number": {"message": "It broke.", "raw": 500},
    "raw-list": {"message": "It broke.", "raw": [500]},
    "raw-and-error-text": {"error": "It broke.", "raw": {"status": 500}},
    "beside-error": {"error": PAYLOAD, "message": "Not this.", "raw": {"status": 500}},
}
"""The members of an `agent_error` update beside its kind."""

ODD_RETRIES: dict[str, dict[str, Any]] = {
    f"{member}-{name}": {"attempt": 2, "max_attempts": 3, "wait_seconds": 4} | {member: value}
    for member in ("attempt", "max_attempts", "wait_seconds", "error")
    for name, value in VALUES.items()
} | {"nothing": {}, "error-payload": {"attempt": 2, "error": PAYLOAD | {"provider_code": 429}}}
"""The members of an `agent_retry` update beside its kind."""
