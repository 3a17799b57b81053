"""Members of objects that somebody else wrote: what they are, or what stands for nothing.

Owns tolerance alone. Which member means what is its readers' part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

if TYPE_CHECKING:
    from collections.abc import Mapping


def object_of(value: object) -> dict[str, Any]:
    """The object that a decoded value is; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def raw_members(raw: Raw | None) -> dict[str, Raw]:
    """The members of an object, each as the bytes that it came in; none where there is nothing.

    Raises:
        msgspec.MsgspecError: it is no object.
    """
    if raw is None or bytes(raw) == b"null":
        return {}
    members: dict[str, Raw] = msgspec.json.decode(raw, type=dict[str, Raw])
    return members


def number_of(value: object) -> float:
    """The number that a value is; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value)


def has_version(extension: Mapping[str, Any]) -> bool:
    """Is an extension advertised as one is: with a `version` that is an integer of at least 1?"""
    version = extension.get("version")
    return isinstance(version, int) and not isinstance(version, bool) and version >= 1
