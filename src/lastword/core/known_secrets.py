"""Which values of an environment are secrets, told by the names of their variables.

Takes the environment as an argument: the core reads none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
MIN_SECRET_CHARS = 8


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables that are named like secrets: no text of ours may carry one."""
    return tuple(
        value
        for name, value in environment.items()
        if len(value) >= MIN_SECRET_CHARS and any(word in name.upper() for word in SECRET_NAMES)
    )
