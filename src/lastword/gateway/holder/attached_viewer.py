"""An attached viewer, as its session knows it.

Owns the few functions by which a session reaches the connections of its viewers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lastword.gateway.viewing.attachment import Attachment


class AttachedViewer(Protocol):
    """What a session needs of a viewer that is attached to it."""

    @property
    def attachment(self) -> Attachment:
        """Its position, and what it has received."""
        ...

    def send(self, *frames: bytes) -> None:
        """Write what did not come from the log."""
        ...

    def wake(self) -> None:
        """Note that the log may have grown."""
        ...

    def finish(self, code: int, reason: str) -> None:
        """End once everything in the log has been sent: the session is over."""
        ...

    def shut(self, code: int, reason: str) -> None:
        """Close the viewer's socket."""
        ...

    def stop(self, code: int, cause: str) -> None:
        """Stop sending: the viewer has gone, or is to go elsewhere."""
        ...
