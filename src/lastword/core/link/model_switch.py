"""A turn's wait for another model, as a value. `core.link.model_fallback` has the rule of it."""

from __future__ import annotations

import msgspec


class ModelSwitch(msgspec.Struct, kw_only=True):
    """A turn's wait for another model, with which it goes on.

    Attributes:
        resends: nothing was shown or begun, so the user's own prompt is to be sent again.
        due: when the turn goes on, or the agent has not switched in time.
        accepted: the agent has switched.
    """

    resends: bool
    due: float
    accepted: bool = False

    def accept(self, now: float) -> None:
        """Note that the agent has switched: the turn goes on at once."""
        self.due, self.accepted = now, True
