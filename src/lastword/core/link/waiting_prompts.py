"""Prompts that wait: for an agent that is busy with an ended turn, or for a new one.

Owns how much may wait. A module of its own, since the link and its restarts both need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.protocol import acp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.core.protocol.jsonrpc import Frame


class WaitingPrompt(msgspec.Struct, frozen=True):
    """A prompt held back while its session is in quarantine."""

    frame: Frame
    due: float


def may_wait(waiting: Sequence[Frame], frame: Frame) -> bool:
    """Return whether there is room for this frame behind those waiting; the first always fits."""
    if not waiting:
        return True
    size = len(frame.line) + sum(len(other.line) for other in waiting)
    return len(waiting) < acp.MAX_WAITING and size <= acp.MAX_WAITING_BYTES
