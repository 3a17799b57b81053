"""Lines for the user while a turn goes on: something is slow, or is being tried again.

Owns the choice of what this client can show: a `notice`, or JetBrains AIR's warning. Neither
carries the failure of a turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure import air, ladder, signs
from lastword.core.link import failures

if TYPE_CHECKING:
    from lastword.core.failure.taxonomy import ErrorType
    from lastword.core.link.effects import Effect
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link


def can_show(link: Link) -> bool:
    """Return whether this client can show such lines at all."""
    client = link.client
    return client.notices or not link.dialect.notice_needs_capability or has_air_report(link)


def has_air_report(link: Link) -> bool:
    """Return whether failures reach this client as JetBrains AIR's `sessionFailure`."""
    if not link.client.air and link.options.fallback != ladder.Rung.AIR:
        return False
    rung = ladder.rung_for(link.options.fallback, link.client, link.dialect)
    return rung is ladder.Rung.AIR


def reads(link: Link, line: bytes) -> bool:
    """Return whether the client itself reads this frame of the agent's, in AIR's convention."""
    return has_air_report(link) and signs.has_air_report(line)


def warn_of_silence(link: Link, session: Session, title: str) -> list[Effect]:
    """Report a delay."""
    if not _warns_by_air(link):
        return _notice(session, title)
    meta = air.warning_meta(None, title=title, failure_id=link.next_incident(), revision=1)
    return _air_warning(session, meta)


def warn_of_retry(link: Link, turn: Turn, error_type: ErrorType, title: str) -> list[Effect]:
    """Report a retry, and what made it necessary."""
    if not _warns_by_air(link):
        return _notice(turn.session, title)
    # One id for all the records of a turn: its end supersedes the retries before it.
    revision = turn.add_record(turn.failure_id or link.next_incident())
    meta = air.warning_meta(error_type, title=title, failure_id=turn.failure_id, revision=revision)
    return _air_warning(turn.session, meta)


def _warns_by_air(link: Link) -> bool:
    """Return whether warnings go by AIR; a client that shows notices gets those instead."""
    return has_air_report(link) and not link.client.notices


def _notice(session: Session, title: str) -> list[Effect]:
    frame = ladder.notice(session.session_id, severity="warning", title=title)
    return failures.to_client(frame)


def _air_warning(session: Session, meta: dict[str, object]) -> list[Effect]:
    update = {"sessionUpdate": "session_info_update", "_meta": meta}
    return failures.to_client(ladder.session_update(session.session_id, update))
