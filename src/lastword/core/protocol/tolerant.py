"""Members of objects that a peer wrote, read as the expected type or as an empty value.

Owns tolerance alone. What a member means is known to the code that reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

if TYPE_CHECKING:
    from collections.abc import Mapping


def object_of(value: object) -> dict[str, Any]:
    """Return a decoded value if it is an object, or else an empty one."""
    return value if isinstance(value, dict) else {}


def raw_members(raw: Raw | None) -> dict[str, Raw]:
    """Return the members of an object, each as the bytes that arrived; empty if there are none.

    Raises:
        msgspec.MsgspecError: The value is not an object.
    """
    if raw is None or bytes(raw) == b"null":
        return {}
    members: dict[str, Raw] = msgspec.json.decode(raw, type=dict[str, Raw])
    return members


def number_of(value: object) -> float:
    """Return a value if it is a number, or else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value)


def has_version(extension: Mapping[str, Any]) -> bool:
    """Return whether an extension is advertised, with an integer `version` of at least 1."""
    version = extension.get("version")
    return isinstance(version, int) and not isinstance(version, bool) and version >= 1
