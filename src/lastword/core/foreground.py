"""Protocol version 2: a turn is a session's foreground work, and an idle state ends it.

Owns what `state_update` and the acceptance of a prompt do to a turn. In version 2 a prompt is
answered when the agent has taken it in, and several prompts may join one stretch of work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core import acp, ending, jsonrpc, turns
from lastword.core.effects import FORWARD, Answer, Effect, Side
from lastword.core.session import Request, Turn
from lastword.core.turn import Event, State

if TYPE_CHECKING:
    from lastword.core.jsonrpc import Frame, Update
    from lastword.core.session import Link, Session


def prompt_answered(link: Link, frame: Frame, request_id: bytes, turn: Turn) -> list[Effect]:
    """The agent took a prompt in, or refused it."""
    error = jsonrpc.loads(frame.message.error)
    if error is None:
        turn = _apart(link, request_id, turn)
        del link.from_client[request_id]
        turn.prompts.remove(request_id)
        turn.running_seen = True
        turn.session.progress(link.now)
        return [FORWARD]
    failing = refused(link, request_id, turn)
    if failing is None:
        return cancelled(link, request_id)
    return turns.end_with_error(link, failing, error)


def _apart(link: Link, request_id: bytes, turn: Turn) -> Turn:
    """A prompt that came after the user's cancel is no part of what they cancelled.

    Unless that is under way: then the agent says by its idle state what it took in.
    """
    late = turn.state is State.CANCELLING and not turn.running_seen
    if not late or request_id in turn.cancelled or turn not in turn.session.turns:
        return turn
    ending.forget(link, turn)
    _carry_on(link, turn)
    return link.from_client[request_id].turn or turn


def refused(link: Link, request_id: bytes, turn: Turn) -> Turn | None:
    """The turn that ends with the refusal of this prompt; `None` where the user had cancelled."""
    turn = _apart(link, request_id, turn)
    if len(turn.prompts) == 1 and not turn.running_seen:
        return turn
    # It would have joined work that goes on: only this prompt has failed.
    turn.prompts.remove(request_id)
    if turn.state is State.CANCELLING:
        for prompt in turn.prompts:
            _apart(link, prompt, turn)
        return None
    alone = Turn(link, turn.session)
    alone.prompts.append(request_id)
    return alone


def cancelled(link: Link, request_id: bytes) -> list[Effect]:
    """Answer a prompt that never became part of the work, and that the user cancelled."""
    del link.from_client[request_id]
    error = {"code": acp.REQUEST_CANCELLED, "message": "The prompt was cancelled."}
    return [Answer(Side.CLIENT, request_id, jsonrpc.error(request_id, error))]


def state_changed(link: Link, session: Session, frame: Frame, update: Update) -> list[Effect]:
    """The session's foreground work begins, waits for the user, or ends."""
    if update.state != acp.IDLE:
        return _goes_on(link, session, update)
    session.answered(ending.FOREGROUND, link.now)
    turn = next((turn for turn in session.turns if turn.running_seen), None)
    if turn is None:
        return [FORWARD]
    for other in list(session.turns):
        if other is not turn and other.running_seen and not other.prompts:
            # Begun after a cancel, and taken in: it is as idle as the rest.
            turn.overlapped = True
            other.step(Event.RESULT)
            ending.forget(link, other)
    if update.stop_reason == acp.STOP_ERROR or turn.agent_error is not None:
        return _ended_by_error(link, turn, frame)
    if update.stop_reason == acp.END_TURN and turns.is_silent(link, turn):
        turns.hold(link, turn, frame)
        return []
    return _ended(link, turn, update)


def _goes_on(link: Link, session: Session, update: Update) -> list[Effect]:
    if not session.turns and update.state in {"running", "requires_action"}:
        # Work that the agent began by itself: it too must come to an end.
        session.turns.append(Turn(link, session))
        session.opened = True
        session.progress(link.now)
    alone = len(session.turns) == 1
    for turn in session.turns:
        # A prompt that was cancelled before it was taken in is no part of another one's work.
        turn.running_seen |= alone or turn.state is not State.CANCELLING
        turn.step(Event.UPDATE)
    if update.state == "requires_action":
        session.asking.setdefault(ending.FOREGROUND, link.now)
    else:
        session.answered(ending.FOREGROUND, link.now)
    return [FORWARD]


def _ended_by_error(link: Link, turn: Turn, frame: Frame) -> list[Effect]:
    """The agent reports the failure in the standard's own way: type it, for this client."""
    state = jsonrpc.params_of(frame).get("update", {})
    error = state.get("error")
    # It goes into a frame of ours, which carries no secret.
    turn.idle_state = ending.redactor(link).json(state)
    effects = turns.end_with_error(link, turn, error if isinstance(error, dict) else {})
    if FORWARD in effects:
        # The agent has told it itself, but of its work alone.
        _carry_on(link, turn)
    return effects


def _ended(link: Link, turn: Turn, update: Update) -> list[Effect]:
    effects = turns.finish(link, turn, update.stop_reason)
    if turn.state is State.ENDED:
        _carry_on(link, turn)
    return effects


def _carry_on(link: Link, turn: Turn) -> None:
    """Prompts that the ended work had not taken in wait for the next stretch of it."""
    cancelled = [prompt for prompt in turn.prompts if prompt in turn.cancelled]
    joining = [prompt for prompt in turn.prompts if prompt not in turn.cancelled]
    if cancelled:
        # The user's cancel holds for them, and so does its grace.
        carried = _carried(link, turn.session, cancelled)
        carried.step(Event.CANCEL)
        carried.cancelled, carried.stop_due = turn.cancelled, turn.stop_due
    if joining:
        _carried(link, turn.session, joining)


def _carried(link: Link, session: Session, prompts: list[bytes]) -> Turn:
    turn = Turn(link, session)
    turn.prompts = prompts
    turn.overlapped = True
    session.turns.append(turn)
    for prompt in prompts:
        link.from_client[prompt] = Request(acp.PROMPT, session.session_id, turn=turn)
    return turn
