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
        del link.from_client[request_id]
        turn.prompts.remove(request_id)
        turn.running_seen = True
        turn.session.progress(link.now)
        return [FORWARD]
    failing = refused(link, request_id, turn)
    if failing is None:
        return cancelled(link, request_id)
    return turns.end_with_error(link, failing, error)


def refused(link: Link, request_id: bytes, turn: Turn) -> Turn | None:
    """The turn that ends with the refusal of this prompt; `None` where the user had cancelled."""
    if len(turn.prompts) == 1 and not turn.running_seen:
        return turn
    # It would have joined work that goes on: only this prompt has failed.
    turn.prompts.remove(request_id)
    if turn.state is State.CANCELLING:
        return None
    alone = Turn(turn.session, link.now, stderr_mark=turn.stderr_mark)
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
    if update.stop_reason == acp.STOP_ERROR or turn.agent_error is not None:
        return _ended_by_error(link, turn, frame)
    if update.stop_reason == acp.END_TURN and turns.is_silent(link, turn):
        turns.hold(link, turn, frame)
        return []
    return _ended(link, turn, update)


def _goes_on(link: Link, session: Session, update: Update) -> list[Effect]:
    if not session.turns and update.state in {"running", "requires_action"}:
        # Work that the agent began by itself: it too must come to an end.
        session.turns.append(Turn(session, link.now, stderr_mark=link.stderr.total))
        session.opened = True
        session.progress(link.now)
    for turn in session.turns:
        turn.running_seen = True
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
    return turns.end_with_error(link, turn, error if isinstance(error, dict) else {})


def _ended(link: Link, turn: Turn, update: Update) -> list[Effect]:
    joining = list(turn.prompts)
    effects = turns.finish(link, turn, update.stop_reason)
    if joining and turn.state is State.ENDED:
        _carry_on(link, turn.session, joining)
    return effects


def _carry_on(link: Link, session: Session, prompts: list[bytes]) -> None:
    """Prompts that the ended work had not taken in wait for the next stretch of it."""
    turn = Turn(session, link.now, stderr_mark=link.stderr.total)
    turn.prompts = prompts
    turn.overlapped = True
    session.turns.append(turn)
    for prompt in prompts:
        link.from_client[prompt] = Request(acp.PROMPT, session.session_id, turn=turn)
