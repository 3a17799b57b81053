"""Lines for the user while a turn goes on: something is slow, or is being tried again.

Owns the choice of what this client can show: a `notice`, or JetBrains AIR's warning. Neither
carries the failure of a turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure import air, ladder, signs
from lastword.core.link import failures
from lastword.core.protocol import jsonrpc
from lastword.core.protocol.tolerant import object_of

if TYPE_CHECKING:
    from lastword.core.failure.taxonomy import ErrorType
    from lastword.core.link.effects import Effect
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Frame


WENT_ON = "The agent went on."
WAS_CANCELLED = "The turn was cancelled."
FAILED = "The turn failed."
"""What a warning says once the turn has ended: nothing is being tried again."""


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


def by_thought(link: Link) -> bool:
    """Return whether a thought is the only form in which this client would show such a line."""
    by_default = link.options.show_retries == "auto" and not link.dialect.turn_ends_by_state
    return by_default and not can_show(link)


def thought(session: Session, text: str) -> list[Effect]:
    """Show a line in the conversation; it is not output of the turn."""
    content = {"type": "text", "text": f"{text}\n\n"}
    update = {"sessionUpdate": "agent_thought_chunk", "content": content}
    return failures.to_client(ladder.session_update(session.session_id, update))


def show_activity(session: Session, word: str) -> list[Effect]:
    """Say whether the agent works on without a turn."""
    meta = {"lastword": {"session": word}}
    update = {"sessionUpdate": "session_info_update", "_meta": meta}
    return failures.to_client(ladder.session_update(session.session_id, update))


def reads(link: Link, line: bytes) -> bool:
    """Return whether the client itself reads this frame of the agent's, in AIR's convention."""
    return has_air_report(link) and signs.has_air_report(line)


def remark(link: Link, session: Session, title: str) -> list[Effect]:
    """Report a delay, or what else the user should know while work goes on."""
    if not _warns_by_air(link):
        return _notice(session, title)
    return _air_warning(link, session.turns[-1], None, title)


def warn(link: Link, session: Session, title: str) -> list[Effect]:
    """Show a line about a session, if the client can show one outside a turn."""
    return _notice(session, title) if can_show(link) and not _warns_by_air(link) else []


def inform(link: Link, session: Session, text: str) -> list[Effect]:
    """Report what the user should know in this client's own way, or else as a thought."""
    if can_show(link):
        return remark(link, session, text)
    return thought(session, text) if link.options.show_retries == "auto" else []


def warn_of_retry(link: Link, turn: Turn, error_type: ErrorType, title: str) -> list[Effect]:
    """Report a retry, and what made it necessary."""
    if not _warns_by_air(link):
        return _notice(turn.session, title)
    return _air_warning(link, turn, error_type, title)


def close_warning(link: Link, turn: Turn, title: str, *, of_agent: bool = False) -> list[Effect]:
    """Replace the warning that AIR has of the turn, which ends without a record of a failure.

    A warning of the agent's own is the agent's to close, unless `of_agent`: it ended nothing.
    """
    is_open = turn.failure_revision and (of_agent or turn.warned_by_us)
    return _air_warning(link, turn, None, title) if is_open else []


def note_agents_record(turn: Turn, frame: Frame) -> None:
    """Note the record that AIR gets from the agent itself: the turn's end supersedes a warning."""
    update = object_of(jsonrpc.params_of(frame).get("update"))
    record = air.extension_in(object_of(update.get("_meta"))).get(air.SESSION_FAILURE)
    members = object_of(record)
    name, revision = members.get("id"), members.get("revision")
    if isinstance(name, str) and isinstance(revision, int) and not turn.warned_by_us:
        is_open = members.get("severity") == "warning"
        turn.follow_record(name if is_open else "", revision if is_open else 0)


def _warns_by_air(link: Link) -> bool:
    """Return whether warnings go by AIR; a client that shows notices gets those instead."""
    return has_air_report(link) and not link.client.notices


def _notice(session: Session, title: str) -> list[Effect]:
    frame = ladder.notice(session.session_id, severity="warning", title=title)
    return failures.to_client(frame)


def _air_warning(link: Link, turn: Turn, error_type: ErrorType | None, title: str) -> list[Effect]:
    # One id for all the records of a turn: its end supersedes the warnings before it.
    revision = turn.add_record(turn.failure_id or link.next_incident())
    meta = air.warning_meta(error_type, title=title, failure_id=turn.failure_id, revision=revision)
    update = {"sessionUpdate": "session_info_update", "_meta": meta}
    return failures.to_client(ladder.session_update(turn.session.session_id, update))
