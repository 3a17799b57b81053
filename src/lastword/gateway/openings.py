"""Openings: requests towards an agent that belong to no session yet, and what came of them.

Owns to whom an answer goes. A viewer whose link was cut sends its `session/new` again: it is given
the session that it has opened, and none is opened twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Container

    from lastword.gateway.front_link import FrontLink
    from lastword.gateway.viewers import Viewer

UNDER_WAY = ""
"""What a request comes to that waits for the agent already."""


class Opening(msgspec.Struct):
    """One request that waits for the agent's answer.

    Attributes:
        link: over which it is answered.
        viewer: who asked.
        request_id: the viewer's own (JSON text).
        params: those that open a session; empty where the request opens none.
    """

    link: FrontLink
    viewer: str
    request_id: bytes
    params: dict[str, Any]


class Openings:
    """Those of one agent."""

    def __init__(self) -> None:
        self._waiting: dict[int, Opening] = {}
        self._opened: dict[tuple[str, bytes], str] = {}

    def add(self, number: int, opening: Opening) -> None:
        """A request goes to the agent under this number."""
        self._waiting[number] = opening

    def take(self, number: int) -> Opening | None:
        """The request that an answer is for; it waits no more."""
        return self._waiting.pop(number, None)

    def again(
        self, link: FrontLink, viewer: Viewer, request_id: bytes, sessions: Container[str]
    ) -> str | None:
        """What a `session/new` comes to that its viewer may have sent before.

        A viewer that came without a secret has sent its requests over no other link, so one whose
        id has been answered is another request.

        Args:
            link: Over which it came.
            viewer: Whose it is.
            request_id: The viewer's own (JSON text).
            sessions: Those that there are.

        Returns:
            The session that came of it; `UNDER_WAY`, and it is answered over this link; `None`
            where the agent is to be asked.
        """
        if self.is_under_way(link, viewer.id, request_id):
            return UNDER_WAY
        session_id = self.session_of(viewer.id, request_id)
        return session_id if session_id in sessions and not viewer.is_new else None

    def is_under_way(self, link: FrontLink, viewer: str, request_id: bytes) -> bool:
        """Does a viewer ask again what it waits for? Then it is answered over this link."""
        for opening in self._waiting.values():
            if (opening.viewer, opening.request_id) == (viewer, request_id):
                opening.link = link
                return True
        return False

    def opened(self, opening: Opening, session_id: str) -> None:
        """A session came of it."""
        self._opened[opening.viewer, opening.request_id] = session_id

    def session_of(self, viewer: str, request_id: bytes) -> str:
        """The session that came of a request; empty where none did."""
        return self._opened.get((viewer, request_id), "")

    def take_all(self) -> list[Opening]:
        """All that wait; none does any more."""
        waiting = list(self._waiting.values())
        self._waiting.clear()
        return waiting
