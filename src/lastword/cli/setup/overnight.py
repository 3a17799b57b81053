"""The options with which a session can be left alone, as one choice: `lastword setup --overnight`.

Owns the set. What only the user can know is not in it: which model may stand in, how much money may
be spent, and where to notify.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.link.option_table import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Collection

OVERNIGHT = {
    "retry": "2",
    "continue_at_reset": "12h",
    "ask_reminder": "5m",
    "ask_timeout": "30m=reject",
}
"""Two further tries where nothing had happened; twelve hours outlast a night and the five-hour
windows of plans; a question waits half an hour, and is then answered with no."""

USERS_OWN = {
    "fallback_model": "MODEL",
    "spend_limit": "20USD/day",
    "notify": "URL",
}
"""Options for the same that need a word of the user's, each with an example."""


def notes(given: Collection[str]) -> list[str]:
    """Return what the user can add, in sentences.

    Args:
        given: The keys of the options that the user gave.
    """
    rest = [f"--{BY_KEY[key].name} {word}" for key, word in USERS_OWN.items() if key not in given]
    if not rest:
        return []
    return [f"Only you can choose these, so they are not set: {', '.join(rest)}."]
