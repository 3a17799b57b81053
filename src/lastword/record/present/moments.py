"""Moments in JSON: ISO 8601 in UTC, to the millisecond, such as `2026-11-20T18:50:03.125Z`.

Owns the format, and the names: each member `X_epoch_ms` is accompanied by `X_at`, and `at_epoch_ms`
by `at`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

_SUFFIX = "_epoch_ms"
FIXED_ELSEWHERE = frozenset(
    {
        *("facts", "frames", "script", "error", "error_in_version_2", "detail"),
        "view",  # of a gateway's session: as its API has it
    }
)
"""Members whose shape the protocol or a file format defines; nothing is added in them."""


def moment(epoch_ms: int) -> str:
    """Return a moment in UTC, to the millisecond; an invalid number is returned unchanged."""
    try:
        second = datetime.fromtimestamp(epoch_ms // 1000, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return str(epoch_ms)
    return f"{second:%Y-%m-%dT%H:%M:%S}.{epoch_ms % 1000:03}Z"


def with_moments(value: Any) -> Any:
    """Return a JSON value in which every moment in epoch milliseconds is also in ISO 8601."""
    if isinstance(value, list | tuple):
        return [with_moments(each) for each in value]
    if not isinstance(value, dict):
        return value
    members: dict[str, Any] = {}
    for name, each in value.items():
        if name.endswith(_SUFFIX) and isinstance(each, int) and not isinstance(each, bool):
            # `at` for `at_epoch_ms`, `reset_at` for `reset_at_epoch_ms`, `X_at` for `X_epoch_ms`
            plain = name.removesuffix(_SUFFIX)
            is_named = plain == "at" or plain.endswith("_at")
            members.setdefault(plain if is_named else f"{plain}_at", moment(each))
        members[name] = each if name in FIXED_ELSEWHERE else with_moments(each)
    return members
