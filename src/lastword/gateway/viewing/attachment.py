"""Viewers: the clients of a session, what each may do, and what it understands.

Owns the value for a viewer, and the state of each of its attachments. A viewer is a logical
client: its sockets come and go, and the newest one wins.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from lastword.core.link.handshake import ClientProfile
from lastword.core.protocol import acp

if TYPE_CHECKING:
    from lastword.gateway.log.entries import Numbered
    from lastword.gateway.viewing.reader import Reader


class Role(StrEnum):
    """What a viewer may do."""

    CONTROLLER = "controller"
    """It prompts, decides and answers."""
    OBSERVER = "observer"
    """It sees."""


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """One viewer.

    Attributes:
        id: identifies it, over all its sockets.
        role: what it may do.
        session: the only session that it may use; empty for all.
        profile: what its `initialize` said.
        replay: it negotiated cursors, so its frames carry their sequence numbers.
        is_new: it came without a secret, so it sent no requests over an earlier link.
    """

    id: str
    role: Role = Role.CONTROLLER
    session: str = ""
    profile: ClientProfile = ClientProfile()
    replay: bool = False
    is_new: bool = False

    @property
    def controls(self) -> bool:
        """Return whether it may prompt, decide and answer."""
        return self.role is Role.CONTROLLER


class Attachment:
    """One socket of a viewer at one session: its position, and what it has received.

    Attributes:
        viewer: the viewer.
        reader: its position in the log.
        live_from: the log's head when it attached; entries up to there are the past.
        from_cursor: it came with a cursor, so it knows what it said itself.
        open_at_start: the numbers of the questions that were open when it attached; only those
            of the past are asked again.
        questions: the numbers of the questions that it has open.
        answered: the numbers of its own requests whose answers it has received.
        repeated: the numbers of requests that it repeated, whose answers are ahead of its position.
        owed: its own answers that are in a gap, to be sent after the gap.
        compact: the pieces of a past message are joined.
        again_until: it has gone back; entries up to here are sent for a second time.
        parts: the number of an entry of several frames, and how many of them it has received.
    """

    __slots__ = (
        "again_until",
        "answered",
        "compact",
        "from_cursor",
        "live_from",
        "open_at_start",
        "owed",
        "parts",
        "questions",
        "reader",
        "repeated",
        "viewer",
    )

    def __init__(  # noqa: PLR0913 - what it begins with
        self,
        viewer: Viewer,
        reader: Reader,
        *,
        head: int,
        from_cursor: bool,
        open_at_start: frozenset[int] = frozenset(),
        compact: bool = False,
    ) -> None:
        self.viewer: Viewer = viewer
        self.reader: Reader = reader
        self.live_from: int = head
        self.from_cursor: bool = from_cursor
        self.open_at_start: frozenset[int] = open_at_start
        self.questions: set[int] = set()
        self.answered: set[int] = set()
        self.repeated: set[int] = set()
        self.owed: list[Numbered] = []
        self.compact: bool = compact
        self.again_until: int = 0
        self.parts: tuple[int, int] = (0, 0)

    def go_back(self, after: int, parts: int = 0) -> None:
        """Continue after an entry that it has applied, and the first frames of the next one."""
        self.again_until = max(self.again_until, self.reader.pos)
        self.reader.go_to(after)
        self.owed = []
        self.parts = (after + 1, parts)

    def waits_for(self, end: Numbered) -> bool:
        """Return whether it still needs this answer to a request of its own.

        It has received the answers of the past, except those for which it repeats its request.
        """
        about = end.entry.about
        number = about.number
        if number in self.answered:
            # A fork's came on the connection's own stream, which has no places to go back to.
            return end.seq <= self.again_until and about.method != acp.FORK
        is_past = end.seq <= self.live_from
        return not is_past or number in self.repeated

    def pop_owed(self) -> list[Numbered]:
        """Remove and return the owed answers, which are sent now."""
        owed, self.owed = self.owed, []
        return owed
