"""Protocol version 2: a turn is a session's foreground work, and an idle state ends it.

Owns what `state_update` and the acceptance of a prompt do to a turn. In version 2, a prompt is
answered when the agent has taken it in, and several prompts may join one stretch of work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure import ladder
from lastword.core.link import ending, failures, prompts
from lastword.core.link.effects import FORWARD, Answer, Effect, Send, Side
from lastword.core.link.session import FOREGROUND
from lastword.core.link.state import OpenRequest
from lastword.core.link.turn import State
from lastword.core.protocol import acp, jsonrpc

if TYPE_CHECKING:
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Frame, Update


def prompt_answered(link: Link, frame: Frame, request_id: bytes, turn: Turn) -> list[Effect]:
    """Note that the agent accepted a prompt, or refused it."""
    error = jsonrpc.loads(frame.message.error)
    if error is None:
        turn = _apart(link, request_id, turn)
        link.client_has_answer(request_id)
        turn.accept(request_id)
        turn.session.progress(link.now)
        return [FORWARD]
    failing = refused(link, request_id, turn)
    if failing is None:
        return cancelled(link, request_id)
    return prompts.end_with_error(link, failing, error)


def _apart(link: Link, request_id: bytes, turn: Turn) -> Turn:
    """Separate a prompt that came after the user's cancel from what they cancelled.

    If that work is under way, the agent's idle state will say what it took in.
    """
    late = turn.state is State.CANCELLING and not turn.running
    if not late or request_id in turn.cancelled or turn not in turn.session.turns:
        return turn
    link.forget(turn)
    _carry_on(link, turn)
    return link.from_client[request_id].turn or turn


def refused(link: Link, request_id: bytes, turn: Turn) -> Turn | None:
    """Return the turn that this prompt's refusal ends, or `None` if the user had cancelled it."""
    turn = _apart(link, request_id, turn)
    if len(turn.prompts) == 1 and not turn.running:
        return turn
    # It would have joined work that goes on: only this prompt has failed.
    turn.drop_prompt(request_id)
    if turn.state is State.CANCELLING:
        for prompt in turn.prompts:
            _apart(link, prompt, turn)
        return None
    alone = link.new_turn(turn.session)
    alone.add_prompt(request_id)
    return alone


def cancelled(link: Link, request_id: bytes) -> list[Effect]:
    """Answer a prompt that the user cancelled before it became part of the work."""
    link.client_has_answer(request_id)
    return [Answer(Side.CLIENT, request_id, jsonrpc.error(request_id, ladder.CANCELLED_ERROR))]


def state_changed(link: Link, session: Session, frame: Frame, update: Update) -> list[Effect]:
    """Handle foreground work that begins, waits for the user, or ends."""
    if update.state != acp.IDLE:
        return _goes_on(link, session, update)
    session.answered(FOREGROUND, link.now)
    turn = next((turn for turn in session.turns if turn.running), None)
    if turn is None:
        return [FORWARD]
    for other in list(session.turns):
        if other is not turn and other.running and not other.prompts:
            # It began after a cancel, and became part of the work.
            turn.absorb(other)
            link.forget(other)
    cancels = update.stop_reason == acp.CANCELLED and prompts.cancels_itself(link, turn)
    if cancels or update.stop_reason == acp.STOP_ERROR or turn.evidence.announced is not None:
        return _ended_by_error(link, turn, frame)
    if update.stop_reason in prompts.MAY_HIDE and link.options.silent_success == "error":
        turn.evidence.read_success(
            link.now,
            refused=update.stop_reason == acp.REFUSAL,
            output_tokens=None,
            counts=False,
        )
        if prompts.hides_failure(link, turn, frame):
            return prompts.fail_as_silent(link, turn)
    if update.stop_reason == acp.END_TURN and prompts.is_silent(link, turn):
        prompts.hold(link, turn, frame)
        return []
    return _ended(link, turn, frame, update)


def _goes_on(link: Link, session: Session, update: Update) -> list[Effect]:
    if not session.turns and update.state in {"running", "requires_action"}:
        # Work that the agent began by itself: it too must come to an end.
        session.begin(link.new_turn(session), link.now)
    alone = len(session.turns) == 1
    for turn in session.turns:
        # A prompt cancelled before it was taken in is not part of another one's work.
        turn.show_progress(running=alone or turn.state is not State.CANCELLING)
    if update.state == "requires_action":
        session.open_foreground_question(link.now)
        for turn in session.turns:
            turn.facts.note_message(acp.PERMISSION)
    else:
        session.answered(FOREGROUND, link.now)
    return [FORWARD]


def _ended_by_error(link: Link, turn: Turn, frame: Frame) -> list[Effect]:
    """Report a failure that the agent states in the standard's own way, typed for this client."""
    state = jsonrpc.params_of(frame).get("update", {})
    error = state.get("error")
    # It goes into a frame of ours, which must not contain a secret.
    clean = failures.redactor(link).json(state)
    error = error if isinstance(error, dict) else {}
    effects = prompts.end_with_error(link, turn, error, state=clean)
    if FORWARD in effects:
        # The agent has reported it itself, but only for its own work.
        _carry_on(link, turn)
    return effects


def _ended(link: Link, turn: Turn, frame: Frame, update: Update) -> list[Effect]:
    if prompts.denies_cancel(turn, update.stop_reason):
        params = failures.redactor(link).json(jsonrpc.params_of(frame))
        params["update"]["stopReason"] = acp.CANCELLED
        idle = Send(Side.CLIENT, jsonrpc.notification(acp.UPDATE, params))
        effects = ending.finish_as_cancelled(link, turn, update.stop_reason, idle)
    else:
        effects = ending.finish(link, turn, update.stop_reason)
    if turn.state is State.ENDED:
        _carry_on(link, turn)
    return effects


def _carry_on(link: Link, turn: Turn) -> None:
    """Keep prompts that the ended work had not accepted for the next stretch of work."""
    cancelled = [prompt for prompt in turn.prompts if prompt in turn.cancelled]
    joining = [prompt for prompt in turn.prompts if prompt not in turn.cancelled]
    if cancelled:
        # The user's cancel holds for them too, and so does its grace.
        carried = _carried(link, turn.session, cancelled)
        carried.carry_cancel_of(turn)
    if joining:
        _carried(link, turn.session, joining)


def _carried(link: Link, session: Session, prompts: list[bytes]) -> Turn:
    turn = link.new_turn(session)
    session.carry(turn)
    for prompt in prompts:
        turn.add_prompt(prompt)
        request = OpenRequest(acp.PROMPT, session.session_id, turn=turn)
        link.add_client_request(prompt, request)
    return turn
