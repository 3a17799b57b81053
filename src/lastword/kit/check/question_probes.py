"""Acts about questions to the user: one that is cancelled, and two that are open at once.

Owns these acts, which `probes` adds to its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.kit.check.stage import QUIET_SECONDS
from lastword.kit.check.transcript import UnreachedError
from lastword.kit.provider.server import ProviderScenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.kit.check.stage import Conversation
    from lastword.kit.check.transcript import ObservedTurn


def _begin(talk: Conversation, session: str) -> ObservedTurn:
    """Begin a turn in which the agent may ask for a permission."""
    return talk.prompt(session, ProviderScenario.HEALTHY_TOOL, talk.hooks.permission_prompt)


def _begin_question(talk: Conversation, session: str) -> ObservedTurn:
    """Begin a turn, and wait for its question.

    Raises:
        UnreachedError: It asks none.
    """
    turn = _begin(talk, session)
    if not talk.wait_for_question(turn, talk.limits.answer_seconds):
        raise UnreachedError(
            "the agent requested no permission; give it a prompt for which it does (--prompt)"
        )
    return turn


def _cancel_in_question(talk: Conversation) -> None:
    talk.initialize()
    talk.peer.ponders = True
    session = talk.new_session()
    turn = _begin_question(talk, session)
    talk.cancel(turn)
    talk.peer.leave_dialogs()
    if talk.finish(turn) is not None:
        talk.finish(talk.prompt(session, ProviderScenario.HEALTHY))


def _two_questions(talk: Conversation) -> None:
    talk.initialize()
    talk.peer.ponders = True
    one, other = talk.new_session(), talk.new_session()
    if one == other:
        raise UnreachedError("both sessions have the same id")
    first, second = _begin_question(talk, one), _begin(talk, other)
    at_once = talk.wait_for_question(second, talk.limits.answer_seconds)
    talk.transcript.notes["at_once"] = at_once
    talk.wait(QUIET_SECONDS)  # a turn may ask for more than one permission
    for turn in (second, first) if at_once else (first, second):
        talk.peer.allow_dialogs(turn.session)
        talk.finish(turn)


QUESTION_ACTS: dict[str, Callable[[Conversation], None]] = {
    "cancel_in_question": _cancel_in_question,
    "two_questions": _two_questions,
}
