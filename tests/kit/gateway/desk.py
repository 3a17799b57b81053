"""Where viewers of the simulated gateway ask for new sessions, and what they are given.

Owns the agent that opens sessions, and the links over which an answer goes. To whom one goes, and
which request is one that was sent before, is the gateway's own `Openings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lastword.core.protocol import jsonrpc
from lastword.gateway.holder.openings import UNDER_WAY, Opening, Openings

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.holder.connection import ViewerConnection
    from lastword.gateway.viewing.reader import Viewer
    from tests.kit.gateway.referee import Referee

    Pick = Callable[[int], int]
    """Draws one of so many."""


class Door:
    """One link of a viewer's; what is sent over one that is shut is lost."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self.is_open = True

    def send(self, line: bytes) -> None:
        if self.is_open:
            self._send(line)


class Desk:
    """A holder's: it ends with it, and knows nothing of the one before."""

    def __init__(self, openings: Openings, numbers: Callable[[], int], referee: Referee) -> None:
        self._openings = openings
        self._numbers = numbers
        self._referee = referee
        self._asked: list[int] = []
        self._sessions: list[str] = []

    @property
    def has_open(self) -> bool:
        return bool(self._asked)

    def ask(self, door: Door, viewer: Viewer, frame: Frame) -> None:
        """A viewer asks for a new session, or does so again."""
        link, request_id = cast("ViewerConnection", door), frame.message.request_id or b"null"
        known = self._openings.again(link, viewer, request_id, self._sessions)
        if known is None:
            number = self._numbers()
            self._openings.add(number, Opening(link, viewer.id, request_id, {"cwd": "/"}))
            self._asked.append(number)
        elif known != UNDER_WAY:
            door.send(jsonrpc.result(request_id, {"sessionId": known}))

    def answer(self, pick: Pick, *, error: dict[str, object] | None = None) -> None:
        """The agent opens one of the sessions that it was asked for, or refuses to."""
        if not self._asked:
            return
        asked = self._openings.pop(self._asked.pop(pick(len(self._asked))))
        assert asked is not None
        if error is not None:
            asked.link.send(jsonrpc.error(asked.request_id, error))
            return
        session_id = f"n{self._numbers()}"
        self._sessions.append(session_id)
        self._openings.opened(asked.viewer, asked.request_id, session_id)
        self._referee.opened_session(asked.viewer, int(asked.request_id), session_id)
        asked.link.send(jsonrpc.result(asked.request_id, {"sessionId": session_id}))

    def close_one(self, pick: Pick) -> None:
        """A session ends; whoever has not heard of it may be given another."""
        if self._sessions:
            self._referee.closed_session(self._sessions.pop(pick(len(self._sessions))))
