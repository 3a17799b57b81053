"""Questions of the agent that nobody answers: the reminder of one, and the answer in its place.

Owns `--ask-reminder` and `--ask-timeout` in a link: what the user reads, and when the agent is
answered, which is never a permission. Loaded when the first of them is due.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lastword.core.link import entries, failures, late, requests
from lastword.core.link.effects import Answer, Effect, Side
from lastword.core.link.open_question import (
    REJECT,
    WAITING,
    Question,
    answer_of_nobody,
    read_timeout,
)
from lastword.core.link.retries import notices
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from lastword.core.link.session import Session
    from lastword.core.link.state import Link, OpenRequest

MAX_TITLE_CHARS = 120
_MAX_READ_CHARS = 2000


def handle(link: Link) -> list[Effect]:
    """Do what is due."""
    effects: list[Effect] = []
    for request_id, request in list(link.from_agent.items()):
        question = request.question
        if question is None or question.due > link.now:
            continue
        if question.expires_at <= link.now and not question.is_answered_elsewhere:
            effects += _expire(link, request_id, request, question)
        else:
            effects += _remind(link, request_id, request, question)
    return effects


def _expire(
    link: Link, request_id: bytes, request: OpenRequest, question: Question
) -> list[Effect]:
    """Answer a question in the user's place, and withdraw it at the client."""
    session = _shown_in(link, request_id, request)
    timeout = read_timeout(link.options.ask_timeout)
    word = timeout.word if timeout is not None else REJECT
    result, outcome = answer_of_nobody(request.method, question.params, word)
    for asking in link.sessions.values():
        asking.answered(request_id, link.now)
    link.withdraw(request_id, expired=True)
    # Not how long it was: a moment more would be shown as a minute more.
    waited = late.durations.plain_duration(max(round(question.expires_at - question.since), 1))
    what = "answered no" if word == REJECT else "cancelled the question"
    line = f"Nobody answered the agent within {waited}, so lastword {what}"
    entry = entries.record(
        link,
        Kind.QUESTION_EXPIRED,
        link.sessions.get(request.session_id or ""),
        what=_what(request),
        outcome=outcome,
        waited_seconds=round(link.now - question.since),
    )
    agents_id = request.agents_id or request_id
    return [
        Answer(Side.AGENT, agents_id, jsonrpc.result(agents_id, result)),
        *requests.withdrawal(request_id),
        *_line(link, session, question, line),
        entries.of_question(entry, request_id),
    ]


def _remind(
    link: Link, request_id: bytes, request: OpenRequest, question: Question
) -> list[Effect]:
    question.remind(link.now, link.options.ask_reminder_seconds)
    session = _shown_in(link, request_id, request)
    entry = entries.record(
        link,
        Kind.QUESTION_REMINDED,
        link.sessions.get(request.session_id or ""),
        what=_what(request),
        waited_seconds=round(link.now - question.since),
    )
    if question.expires_at == math.inf:
        return [*_line(link, session, question, WAITING), entry]
    left = late.durations.plain_duration(math.ceil(question.expires_at - link.now))
    timeout = read_timeout(link.options.ask_timeout)
    what = "cancels the question" if timeout and timeout.word != REJECT else "answers no"
    end = f" Without one, lastword {what} in {left}."
    return [*_line(link, session, question, WAITING, end), entry]


def _shown_in(link: Link, request_id: bytes, request: OpenRequest) -> Session | None:
    """Return the session with an open turn in which the user reads of a question.

    A sub-agent's session, which the client never opened, is shown in one that waits for it.
    """
    own = link.sessions.get(request.session_id or "")
    if own is not None and own.opened:
        return own if own.turns else None
    asking = (each for each in link.sessions.values() if each.turns and request_id in each.asking)
    return next(asking, None)


def _line(
    link: Link, session: Session | None, question: Question, line: str, end: str = ""
) -> list[Effect]:
    """Return a line for the user, with the question's title."""
    if session is None:
        return []
    title = _title(link, session, question)
    return notices.inform(link, session, f"{line}: {title}{end}" if title else f"{line}.{end}")


def _title(link: Link, session: Session, question: Question) -> str:
    """Return what is asked, redacted and cut, with a mark at its end; empty if that is unknown."""
    call = object_of(question.params.get("toolCall"))
    shown = call.get("title") or session.tools.title_of(call.get("toolCallId"))
    title = shown or question.params.get("message")
    if not isinstance(title, str):
        return ""
    redacted = failures.redactor(link)(title[:_MAX_READ_CHARS])
    plain = late.wording.plain_text(redacted)
    if len(plain) > MAX_TITLE_CHARS:
        plain = f"{plain[:MAX_TITLE_CHARS].rstrip()}…"
    return plain if not plain or plain[-1] in ".?!…" else f"{plain}."


def _what(request: OpenRequest) -> str:
    return "permission" if request.method == acp.PERMISSION else "form"
