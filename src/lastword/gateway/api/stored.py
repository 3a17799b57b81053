"""The view of a session without a holder, from its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.gateway.api.shapes import OtherGateway
from lastword.gateway.api.views import SessionDetails, view_of
from lastword.gateway.log.owner import owner_of
from lastword.gateway.log.stored import reading

if TYPE_CHECKING:
    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.log.owner import LogOwner
    from lastword.gateway.log.stored import StoredLog


def view_in(path: str) -> SessionView:
    """Return the session of a log that has no holder.

    Raises:
        FileNotFoundError: There is none.
        StoreError: It cannot be read.
    """
    owner = owner_of(path)
    return reading(path, lambda log: stored_view(log, owner))


def stored_view(log: StoredLog, owner: LogOwner | None = None) -> SessionView:
    """Return the session of a log, which a process of another gateway may have."""
    ended = _object(log.remembered("ended")).get("at_ms")
    is_over = isinstance(ended, int) or (log.facts.get("clean") == "1" and owner is None)
    cwd = _object(log.remembered("params")).get("cwd")
    return view_of(
        log,
        SessionDetails(
            id=log.remembered("id"),
            agent=_object(log.remembered("agent")),
            cwd=cwd if isinstance(cwd, str) else None,
            ended_ms=ended if isinstance(ended, int) else (log.last_ms if is_over else 0),
            lost_ms=0 if is_over or owner is not None else log.last_ms or 1,
            gateway=OtherGateway(owner.pid, owner.address) if owner and not is_over else None,
        ),
    )


def _object(text: str) -> dict[str, Any]:
    return object_of(jsonrpc.loads(text.encode()))
