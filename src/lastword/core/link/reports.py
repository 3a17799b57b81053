"""Reports of a handler in this process about its turn, besides the frames that it sends.

Owns what a shell passes in for it: the exception it raised, tools and output that are not on the
wire, a retry of its model call. A handler in another process has only its frames.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from lastword.core.failure.error_object import SentError
from lastword.core.link import agent_side, ending, entries, failures, prompts, v2
from lastword.core.link.retries import reporting
from lastword.core.link.retries.reported import Retrying
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.failure.attempts import FailedAttempt
    from lastword.core.link.effects import Effect
    from lastword.core.link.session import Turn
    from lastword.core.link.state import Link


class Note(Enum):
    """Something that happened in the turn without passing on the wire."""

    PROGRESS = auto()
    """The handler is at work; nothing more is known."""
    OUTPUT = auto()
    """The user saw something."""
    SAFE_TOOL = auto()
    """A tool was started that only reads."""
    UNSAFE_TOOL = auto()
    """A tool was started that may change something."""
    TOOL_FINISHED = auto()
    """One of those tools came to its end."""
    LIMIT_ENDED = auto()
    """The wait for the end of a limit is over, and the model is called again."""


class HandlerFailure(msgspec.Struct, frozen=True, kw_only=True):
    """The handler of a request raised an exception.

    Attributes:
        verdict: what the exception means.
        sent: the JSON-RPC error object that the handler wanted to send, if it was one.
        tried: the attempts that came before.
        message: the author's own sentence for the user.
    """

    verdict: Verdict
    sent: object = None
    tried: tuple[FailedAttempt, ...] = ()
    message: str | None = None


HandlerReport: TypeAlias = Note | HandlerFailure | Retrying


def receive(link: Link, request_id: bytes, report: HandlerReport) -> list[Effect]:
    """Take in a report from the handler of this request of the client's."""
    request = link.from_client.get(request_id)
    if isinstance(report, HandlerFailure):
        if request is None:
            return agent_side.answer_to_nobody(link, request_id)
        if request.turn is None:
            return agent_side.fail_open_request(link, request_id, request, report.verdict)
        return _failed(link, request_id, request.turn, report)
    if request is None or request.turn is None:
        return []
    if isinstance(report, Retrying):
        return reporting.announce(link, request.turn, report)
    return _note(link, request.turn, report)


def _failed(link: Link, request_id: bytes, turn: Turn, failure: HandlerFailure) -> list[Effect]:
    sent = None if failure.sent is None else SentError(failure.sent, failures.redactor(link))
    failing: Turn | None = turn
    if link.dialect.turn_ends_by_state:
        failing = v2.refused(link, request_id, turn)
    if failing is None:
        return v2.cancelled(link, request_id)
    prompts.note_payload(link, failing, failure.sent, "data")
    failing.evidence.add_answer(
        failure.verdict, sent=sent, tried=failure.tried, message=failure.message
    )
    return ending.fail(link, failing)


def _note(link: Link, turn: Turn, note: Note) -> list[Effect]:
    session = turn.session
    session.progress(link.now)
    if note is Note.PROGRESS:
        return []
    if note is Note.LIMIT_ENDED:
        return [entries.record(link, Kind.CONTINUED, session, turn, what="same_call")]
    turn.show_progress()
    had_output = turn.facts.output
    if note is Note.OUTPUT:
        turn.facts.note_output()
        noted = [] if had_output else [entries.record(link, Kind.FIRST_OUTPUT, session, turn)]
    elif note is Note.TOOL_FINISHED:
        turn.facts.note_tool_finished()
        noted = [entries.record(link, Kind.TOOL_ENDED, session, turn)]
    else:
        safe = note is Note.SAFE_TOOL
        turn.facts.note_tool(safe=safe)
        noted = [entries.record(link, Kind.TOOL_STARTED, session, turn, side_effects=not safe)]
    return list(noted)
