"""How a prompt turn starts, and how the agent's answer ends it: does it mean what it says?

Owns the reading of answers to `session/prompt`, and the moment for which a success that shows
nothing is held back. Where the end is a failure, `core.ending` sends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core import acp, advice, ending, entries, jsonrpc, prose
from lastword.core.effects import FORWARD, Answer, Effect, Send, Side
from lastword.core.error_object import SentError
from lastword.core.session import Request, Turn
from lastword.core.taxonomy import ErrorType
from lastword.core.timeline import By, Kind
from lastword.core.turn import Event, Move, State

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.jsonrpc import Frame
    from lastword.core.session import Link, Session

SILENT = "silent_success"
"""The reason of a failure that the agent called a success."""

HOLD_SECONDS = 0.25
"""How long an answer that shows nothing, or an error without an id, is kept back: agents that send
their output after the answer do so at once."""


def start(link: Link, session: Session, frame: Frame) -> Effect:
    """Note a prompt that goes to the agent now."""
    request_id = frame.message.request_id or jsonrpc.NULL_ID
    if not session.turns:
        # What a replay or a late update of an earlier turn left open is none of this turn's.
        session.tools.drain()
    joined = _work_to_join(session) if link.dialect.turn_ends_by_state else None
    turn = joined or Turn(link, session)
    turn.prompts.append(request_id)
    turn.slash = turn.slash or _begins_with_slash(frame)
    if joined is None:
        session.turns.append(turn)
    if joined is not None or len(session.turns) > 1:
        # Those before the last two have been told when the third came.
        for overlapping in session.turns[-2:]:
            overlapping.overlapped = True
    session.opened = True
    session.progress(link.now)
    link.from_client[request_id] = Request(
        acp.PROMPT, session.session_id, turn=turn, sequence=link.sent_to_agent
    )
    return entries.prompt(link, turn, frame)


def _work_to_join(session: Session) -> Turn | None:
    """Version 2: a prompt joins what goes on, rather than what the user cancelled."""
    first = session.turns[0] if session.turns else None
    goes_on = (turn for turn in session.turns if turn.state is not State.CANCELLING)
    return next(goes_on, first)


class _Block(msgspec.Struct):
    text: str = ""


class _PromptParams(msgspec.Struct):
    prompt: list[_Block] = []


class _Prompt(msgspec.Struct):
    params: _PromptParams


def _begins_with_slash(frame: Frame) -> bool:
    """Is it a command of the agent's own, which may well show nothing?"""
    try:
        blocks = msgspec.json.decode(frame.line, type=_Prompt).params.prompt
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return bool(blocks) and blocks[0].text.lstrip().startswith("/")


def release_waiting(link: Link, session: Session) -> list[Effect]:
    """Send the prompts that waited for the end of their session's quarantine."""
    if session.quarantined:
        return []
    effects: list[Effect] = [entries.record(link, Kind.RELEASED, session)]
    waiting, session.waiting = session.waiting, []
    for prompt in waiting:
        effects.append(start(link, session, prompt.frame))
        effects.append(Send(Side.AGENT, prompt.frame.line))
    return effects


def answered(link: Link, frame: Frame, turn: Turn) -> list[Effect]:
    """Version 1: the agent answered the prompt."""
    error = jsonrpc.loads(frame.message.error)
    if error is not None:
        return end_with_error(link, turn, error)
    stop_reason = _stop_reason(frame)
    announced = turn.agent_error is not None
    if announced and _speaks_for_itself(link):
        return finish(link, turn, stop_reason)
    if announced or stop_reason not in acp.STOP_REASONS:
        result = jsonrpc.loads(frame.message.result)
        _note_payload(link, turn, result, "_meta")
        return end_failed(link, turn, _verdict_of_result(link, result, turn))
    may_hide = stop_reason == acp.END_TURN and not advice.reads(link, frame.line)
    if may_hide and link.options.silent_success == "error":
        hidden = _hidden_failure(link, turn, frame)
        if hidden is not None:
            return end_failed(link, turn, msgspec.structs.replace(hidden, reason=SILENT))
        if is_silent(link, turn):
            hold(link, turn, frame)
            return []
    return finish(link, turn, stop_reason)


class _Result(msgspec.Struct, rename="camel"):
    stop_reason: str | None = None


def _stop_reason(frame: Frame) -> str | None:
    try:
        return msgspec.json.decode(frame.message.result or b"{}", type=_Result).stop_reason
    except (msgspec.MsgspecError, ValueError, RecursionError):
        result = jsonrpc.loads(frame.message.result)
        reason = result.get("stopReason") if isinstance(result, dict) else None
        return reason if isinstance(reason, str) else None


def finish(link: Link, turn: Turn, stop_reason: str | None) -> list[Effect]:
    """The agent's own answer ends the turn, as it came, unless we had stopped it."""
    if turn.step(Event.RESULT) is Move.FAIL and turn.stop_cause is not None:
        return ending.fail_turn(link, turn, turn.stop_cause)
    ending.forget(link, turn)
    return [*_answer_entries(link, turn, stop_reason), FORWARD]


def is_silent(link: Link, turn: Turn) -> bool:
    """Would this success leave the user with nothing to see, for no reason of their own?"""
    return (
        link.options.silent_success == "error"
        and turn.state in {State.SENT, State.RUNNING}
        and not turn.facts.shown
        and not turn.slash
        and not turn.overlapped
    )


def hold(link: Link, turn: Turn, frame: Frame) -> None:
    """Keep an answer back for a moment: output may follow it."""
    turn.held = frame
    turn.held_until = link.now + HOLD_SECONDS


def release_held(link: Link, turn: Turn) -> list[Effect]:
    """Send the agent's answer that was held back, unchanged."""
    held, turn.held = turn.held, None
    if held is None or turn.step(Event.RESULT) is not Move.FINISH:
        return []
    ending.forget(link, turn)
    noted = _answer_entries(link, turn, acp.END_TURN)
    if held.message.method is not None:  # version 2: the idle update
        return [*noted, Send(Side.CLIENT, held.line)]
    request_id = held.message.request_id or jsonrpc.NULL_ID
    return [*noted, Answer(Side.CLIENT, request_id, held.line)]


def _answer_entries(link: Link, turn: Turn, stop_reason: str | None) -> list[Effect]:
    session = turn.session
    answer = entries.record(
        link, Kind.ANSWER, session, turn, stop_reason=stop_reason, by=By.AGENT.value
    )
    return [*entries.stderr_burst(link, session, turn), answer]


def note_hidden(link: Link, session: Session, frame: Frame) -> None:
    """An update may tell of a failure that the turn's answer will not."""
    if not session.turns or not prose.may_tell_of_failure(frame.line):
        return
    if advice.reads(link, frame.line):
        return
    from lastword.core.classify import agents  # noqa: PLC0415  (as in `end_silent`)

    sign = agents.read_update(jsonrpc.params_of(frame).get("update"), agent=link.agent.name)
    if sign is not None and not sign.will_retry:
        for turn in session.turns:
            turn.hidden = sign.verdict


def _hidden_failure(link: Link, turn: Turn, frame: Frame) -> Verdict | None:
    """The failure behind an answer that claims success, where the agent told it elsewhere."""
    if turn.state not in {State.SENT, State.RUNNING}:
        return None
    if turn.hidden is not None:
        return turn.hidden
    told = prose.may_tell_of_failure(frame.line)
    text = "" if turn.facts.tool_seen else turn.only_text or ""
    if not told and not prose.may_be_error(text):
        return None
    from lastword.core.classify import agents  # noqa: PLC0415  (as in `end_silent`)

    sign = agents.read_result(jsonrpc.loads(frame.message.result)) if told else None
    if sign is not None and not sign.will_retry:
        return sign.verdict
    return agents.read_prose(text, agent=link.agent.name)


def end_silent(link: Link, turn: Turn) -> list[Effect]:
    """Nothing came after an answer that showed nothing: it was a failure."""
    # Loaded at the first failure: the classifier's tables are no part of a healthy turn.
    from lastword.core import classify  # noqa: PLC0415

    verdict = classify.classify_text("", stderr_tail=link.stderr.tail(turn.stderr_mark))
    effects = end_failed(link, turn, msgspec.structs.replace(verdict, reason=SILENT))
    # Last of all: should any of this fail, the agent's own answer must still be there to be sent.
    turn.held = None
    return effects


def end_with_error(link: Link, turn: Turn, error: object) -> list[Effect]:
    """The agent answered with a JSON-RPC error."""
    _note_payload(link, turn, error, "data")
    if _speaks_for_itself(link) and turn.agent_error is not None:
        turn.step(Event.ERROR)
        ending.forget(link, turn)
        told = entries.failure(link, turn.agent_error)
        entry = entries.record(link, Kind.ERROR, turn.session, turn, by=By.AGENT.value, **told)
        return [*entries.stderr_burst(link, turn.session, turn), entry, FORWARD]
    # Loaded at the first failure, as in `end_silent`.
    from lastword.core import classify  # noqa: PLC0415

    verdict = classify.classify_rpc_error(
        error, agent=link.agent.name, stderr_tail=link.stderr.tail(turn.stderr_mark)
    )
    return end_failed(link, turn, verdict, SentError(error, ending.redactor(link)))


def end_failed(
    link: Link, turn: Turn, verdict: Verdict, sent: SentError | None = None
) -> list[Effect]:
    """What the agent answered is a failure, unless the user had cancelled."""
    if turn.step(Event.ERROR) is Move.CONFIRM:
        return ending.confirm_cancelled(link, turn)
    if turn.stop_cause is not None:
        return ending.fail_turn(link, turn, turn.stop_cause)
    return ending.fail_turn(link, turn, verdict, sent=sent)


def _speaks_for_itself(link: Link) -> bool:
    """Both ends negotiated `agent_error`: there is nothing to translate."""
    return link.agent.speaks_typed and link.client.typed


def _note_payload(link: Link, turn: Turn, carrier: object, key: str) -> None:
    """An agent that knows our payload may have put it into its answer."""
    holder = carrier.get(key) if isinstance(carrier, dict) else None
    payload = holder.get("agent_error") if isinstance(holder, dict) else None
    if isinstance(payload, dict) and turn.agent_error is None:
        from lastword.core import reading  # noqa: PLC0415  (loaded at the first failure)

        turn.agent_error = reading.read_payload(payload, ending.redactor(link))


def _verdict_of_result(link: Link, result: object, turn: Turn) -> Verdict:
    """A result whose stop reason is none of the protocol's: what does the rest of it say?"""
    from lastword.core import classify  # noqa: PLC0415  (loaded at the first failure)

    if not isinstance(result, dict):
        return ending.own_failure(ErrorType.PROTOCOL_ERROR, "no_stop_reason")
    verdict = classify.classify_rpc_error(
        {"message": result.get("message") or "", "data": result},
        agent=link.agent.name,
        stderr_tail=link.stderr.tail(turn.stderr_mark),
    )
    if verdict.type is not ErrorType.UNKNOWN:
        return verdict
    stop_reason = result.get("stopReason")
    if stop_reason is None:
        return ending.own_failure(ErrorType.PROTOCOL_ERROR, "no_stop_reason")
    if stop_reason != acp.STOP_ERROR:
        return msgspec.structs.replace(verdict, reason="unknown_stop_reason")
    return verdict
