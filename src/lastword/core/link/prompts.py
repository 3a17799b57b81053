"""Prompts: how a turn starts, and whether the agent's answer to it means what it says.

Owns the reading of answers to `session/prompt`, the time for which a success that shows nothing is
held back, and what protocol version 2 has in place of an answer. `core.link.decision` says why a
turn failed, and `core.link.ending` ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure import ladder, signs
from lastword.core.failure.ladder import SentError
from lastword.core.failure.taxonomy import ErrorType, Origin
from lastword.core.link import decision, ending, entries, failures, late, reporting, resend
from lastword.core.link.effects import FORWARD, Answer, Effect, Send, Side
from lastword.core.link.evidence import COARSE, SILENT, FailureSign
from lastword.core.link.session import FOREGROUND
from lastword.core.link.state import OpenRequest
from lastword.core.link.turn import AT_WORK, State
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.failure.taxonomy import AgentError
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.link.waits import StoredWait
    from lastword.core.protocol.jsonrpc import Frame, Update

HOLD_SECONDS = 0.25
"""How long an answer that shows nothing, or an error without an id, is held back: agents that send
output after the answer send it at once."""


class _Block(msgspec.Struct):
    type: Any = None
    text: Any = None


class _PromptParams(msgspec.Struct):
    prompt: list[_Block] = []


class _Prompt(msgspec.Struct):
    params: _PromptParams


def start(link: Link, session: Session, frame: Frame) -> list[Effect]:
    """Note a prompt that is sent to the agent now."""
    request_id = frame.message.request_id or jsonrpc.NULL_ID
    if not session.turns:
        # What is left from a replay, or from an earlier turn's late update, is not this turn's.
        session.tools.drain()
    joined = None
    if link.dialect.turn_ends_by_state:
        # A version 2 prompt joins the work that still runs and was not cancelled.
        running = (turn for turn in session.turns if turn.state is not State.CANCELLING)
        joined = next(running, session.turns[0] if session.turns else None)
    turn = joined or link.turn_of(session, request_id)
    try:
        blocks = msgspec.json.decode(frame.readable, type=_Prompt).params.prompt
    except (msgspec.MsgspecError, ValueError, RecursionError):
        blocks = []
    texts = [it.text for it in blocks if it.type == "text" and isinstance(it.text, str)]
    # A slash begins a command of the agent's own, which may well show nothing. The client's
    # attachments, such as files and pictures, may come before it.
    turn.add_prompt(request_id, slash=any(text.lstrip().startswith("/") for text in texts))
    session.add_prompt("\n".join(texts))
    if joined is None:
        again = frame if resend.may_resend(link, turn, frame) else None
        session.begin(turn, link.now, again=again)
        if link.client.activity:
            link.begin_activity(session)
    else:
        session.join(link.now)
    request = OpenRequest(acp.PROMPT, session.session_id, turn=turn, sequence=link.sent_to_agent)
    link.add_client_request(request_id, request)
    effects = entries.prompt(link, turn, frame)
    if turn.pop_continues():
        what = "same_prompt" if turn.earlier is None else "new_prompt"
        effects.append(entries.record(link, Kind.CONTINUED, session, turn, what=what))
    return effects


def resume_wait(link: Link, frame: Frame, stored: StoredWait) -> list[Effect]:
    """Continue a prompt whose turn has been waiting for a limit's end since another process."""
    session = link.session(frame.message.session_id or "")
    started = start(link, session, frame)
    return [*started, *ending.resume_wait(link, session.turns[-1], stored)]


def refusal(link: Link, session: Session) -> Verdict | None:
    """Return why a prompt does not go to the agent: the session's or day's limit is reached."""
    spending = link.spend_limit()
    if spending is None or spending.limit.scope == "turn":
        return None
    bill = link.bill_of(session)
    if not spending.is_reached(bill):
        return None
    return failures.limit_reached(spending.sentence(bill))


def release_waiting(link: Link, session: Session) -> list[Effect]:
    """Send the prompts that waited for the end of their session's quarantine."""
    if session.quarantined:
        return []
    return [entries.record(link, Kind.RELEASED, session), *send_waiting(link, session)]


def send_waiting(link: Link, session: Session) -> list[Effect]:
    """Send the prompts that waited for their session, if nothing else holds them back."""
    if session.quarantined or link.switches_model(session.session_id):
        return []
    effects: list[Effect] = []
    for prompt in session.pop_waiting():
        refused = refusal(link, session)
        if refused is not None:
            effects += ending.refuse_prompt(link, session, prompt.frame, refused)
            continue
        effects += start(link, session, prompt.frame)
        effects.append(Send(Side.AGENT, prompt.frame.line))
    return effects


def answered(link: Link, frame: Frame, turn: Turn, *, waited: bool = False) -> list[Effect]:
    """Handle the agent's answer to a version 1 prompt, which may have `waited` already."""
    error = jsonrpc.loads(frame.message.error)
    if error is not None:
        return end_with_error(link, turn, error, frame=None if waited else frame)
    stop_reason, tokens = _read_result(frame)
    if denies_cancel(turn, stop_reason):
        members = link.redactor.json(object_of(jsonrpc.loads(frame.message.result)))
        request_id = frame.message.request_id or jsonrpc.NULL_ID
        line = jsonrpc.result(request_id, members | {"stopReason": acp.CANCELLED})
        answer = Answer(Side.CLIENT, request_id, line)
        return ending.finish_as_cancelled(link, turn, stop_reason, answer)
    announced = turn.evidence.announced is not None
    if _has_spoken_for_itself(link, turn):
        return ending.finish(link, turn, stop_reason)
    if announced or stop_reason not in acp.STOP_REASONS:
        _note_failed_result(link, turn, jsonrpc.loads(frame.message.result))
        return ending.fail(link, turn)
    if stop_reason == acp.CANCELLED and cancels_itself(link, turn):
        _note_failed_result(link, turn, jsonrpc.loads(frame.message.result))
        return _fail(link, turn, None if waited else frame)
    if reporting.client_reads(link, frame.line):
        if turn.state in AT_WORK and _note_sign(turn, jsonrpc.loads(frame.message.result)):
            return ending.pass_failure(link, turn)
        return ending.finish(link, turn, stop_reason)
    if stop_reason in MAY_HIDE and link.options.silent_success == "error":
        turn.evidence.read_success(
            link.now,
            refused=stop_reason == acp.REFUSAL,
            output_tokens=tokens,
            counts=link.counts_output,
        )
        link.note_output_tokens(tokens)
        doubted = _doubted(link, turn, frame)
        if doubted is not None:
            return doubted
    return ending.finish(link, turn, stop_reason)


def _doubted(link: Link, turn: Turn, frame: Frame) -> list[Effect] | None:
    """Fail a success that hides a failure, or hold it if it may; return `None` if it passes."""
    if hides_failure(link, turn, frame):
        _claim_as_silent(turn)
        evidence = turn.evidence
        named = evidence.announced is not None or FailureSign.MARGIN in evidence.signs
        is_coarse = not named and evidence.hint is not None and evidence.hint.type in COARSE
        if not (link.expects_hints and turn.state in AT_WORK and is_coarse):
            return ending.fail(link, turn)
        # The call is known to have failed by its status alone, or by less. A source may soon have
        # the provider's words, which may say that a quota is used up.
        turn.hold(frame, link.now + HOLD_SECONDS, failure=True)
        return []
    at_work = turn.state in AT_WORK and not turn.overlapped
    if is_silent(link, turn):
        may_hide = link.expects_hints or not turn.evidence.refused
    else:
        # If it ended on a tool without text after it, or after a failed call, a source may say why,
        # or that the last call failed as well.
        wordless = decision.is_wordless(turn.evidence, turn.facts)
        may_be_cut_off = link.expects_hints and (wordless or turn.evidence.hinted)
        may_hide = at_work and (
            may_be_cut_off or (turn.facts.text and decision.may_be_error_text(link.snapshot(turn)))
        )
    if may_hide:
        turn.hold(frame, link.now + HOLD_SECONDS)
        return []
    # The agent may have written, since its last output, that a call has failed. One look shows it:
    # the answer waits for nothing else.
    may_break_off = at_work and not turn.slash
    if may_break_off and (link.expects_hints or reporting.has_unread_error(link, turn)):
        turn.hold(frame, link.now)
        return []
    return None


MAY_HIDE = frozenset({acp.END_TURN, acp.REFUSAL})
"""Stop reasons that agents have been seen to give a failed turn."""


class _Result(msgspec.Struct, rename="camel"):
    stop_reason: str | None = None
    usage: Any = None


def _read_result(frame: Frame) -> tuple[str | None, int | None]:
    """Return the stop reason, and how many tokens the model produced if the answer says so."""
    try:
        result = msgspec.json.decode(frame.message.result or b"{}", type=_Result)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        reason = object_of(jsonrpc.loads(frame.message.result)).get("stopReason")
        return (reason if isinstance(reason, str) else None), None
    count = object_of(result.usage).get("outputTokens")
    is_count = isinstance(count, int) and not isinstance(count, bool)
    return result.stop_reason, count if is_count else None


def denies_cancel(turn: Turn, stop_reason: str | None) -> bool:
    """Return whether the agent gives a cancelled turn another stop reason.

    It counts only if the turn was surely open when the user cancelled: otherwise the answer may
    have been sent before the cancel arrived.
    """
    cancelled = turn.state is State.CANCELLING and turn.was_open
    return cancelled and stop_reason in acp.STOP_REASONS and stop_reason != acp.CANCELLED


def cancels_itself(link: Link, turn: Turn) -> bool:
    """Return whether the agent calls a turn cancelled although nobody has cancelled it.

    The user may have done so by answering a question, by another prompt, or by a command.
    """
    may_fail = link.options.silent_success == "error" and turn.state in AT_WORK
    return may_fail and not (turn.facts.had_question or turn.overlapped or turn.slash)


def is_silent(link: Link, turn: Turn) -> bool:
    """Return whether this success shows the user nothing, and no act of theirs explains it."""
    return (
        link.options.silent_success == "error"
        and turn.state in AT_WORK
        and not turn.facts.shown
        and not turn.slash
        and not turn.overlapped
    )


def withheld_long_enough(link: Link, turn: Turn) -> list[Effect]:
    """Handle an answer that was held back: nothing followed it, so it is what it looked like."""
    if turn.withheld_failure:
        turn.pop_withheld()
        return ending.fail(link, turn)
    # A refusal may well have no words; only what a source reports makes it a failure.
    silent = is_silent(link, turn) and not turn.evidence.refused
    if silent or turn.contradicts_success(link.snapshot(turn)):
        _claim_as_silent(turn)
        effects = ending.fail(link, turn)
        # This comes last: if any of it fails, the agent's own answer must still be there to be
        # sent.
        turn.pop_withheld()
        return effects
    return ending.release(link, turn)


def note_hidden(link: Link, session: Session, frame: Frame) -> None:
    """Note a failure that an update reports and the turn's answer may not."""
    if session.turns and signs.may_report_failed_state(frame.line):
        update = jsonrpc.params_of(frame).get("update")
        for turn in session.turns:
            turn.evidence.read_state(update)
    if not session.turns or not signs.may_report_failure(frame.line):
        return
    reads = reporting.client_reads(link, frame.line)
    if reads and not link.options.tries_again:
        return
    sign = late.agents.read_update(jsonrpc.params_of(frame).get("update"), agent=link.agent.name)
    if sign is not None and not sign.will_retry:
        for turn in session.turns:
            if reads:
                turn.evidence.announce(None, passed=True)
            else:
                turn.evidence.note(FailureSign.MARGIN, sign.verdict)


def hides_failure(link: Link, turn: Turn, frame: Frame) -> bool:
    """Return whether the agent reported a failure elsewhere than in an answer claiming success.

    The answer is a result or, in version 2, an idle update.
    """
    if turn.state not in AT_WORK:
        return False
    has_sign, has_payload = signs.may_hold_error(frame.line), signs.may_hold_payload(frame.line)
    answer: object = None
    if has_sign or has_payload:
        is_result = frame.message.method is None
        answer = (
            jsonrpc.loads(frame.message.result)
            if is_result
            else jsonrpc.params_of(frame).get("update")
        )
    if has_sign:
        _note_sign(turn, answer)
    if has_payload:
        stated = _payload_in(link, answer, "_meta")
        passes = _speaks_for_itself(link, turn) and (
            stated is None or is_careful(link, turn, stated)
        )
        if not passes:
            turn.evidence.announce(stated)
    return turn.contradicts_success(link.snapshot(turn))


def _note_sign(turn: Turn, answer: object) -> bool:
    """Note a failure that the answer reports beside the protocol's members; return whether it does.

    In a turn with output, words that name no failure are a remark.
    """
    sign = late.agents.read_result(answer)
    if sign is None or sign.will_retry:
        return False
    if sign.verdict.type is ErrorType.UNKNOWN and sign.verdict.detail and turn.facts.output:
        return False
    turn.evidence.note(FailureSign.MARGIN, sign.verdict)
    return True


def _claim_as_silent(turn: Turn) -> None:
    silent = msgspec.structs.replace(decision.unexplained(), reason=SILENT)
    turn.evidence.note(FailureSign.CLAIM, silent)


def end_with_error(
    link: Link,
    turn: Turn,
    error: object,
    *,
    state: dict[str, Any] | None = None,
    frame: Frame | None = None,
) -> list[Effect]:
    """Handle a JSON-RPC error as the answer; in version 2 it may be in an idle `state`.

    Its `frame` is held back for a moment if nothing states the cause yet.
    """
    note_payload(link, turn, error, "data")
    if _has_spoken_for_itself(link, turn):
        return ending.pass_failure(link, turn)
    if state is not None and state.get("stopReason") == acp.CANCELLED:
        verdict = _own_cancel()
    else:
        verdict = late.classify.classify_rpc_error(error, agent=link.agent.name)
        members = object_of(error)
        words = (members.get("message"), object_of(members.get("data")).get("details"))
        quoted = "\n".join(each for each in words if isinstance(each, str))
        is_other = verdict.type in {*late.prose.MODEL_CALL_ERRORS, ErrorType.AGENT_CRASH}
        if is_other and late.writers.quotes_program(quoted):
            # The words of a failed command are not the provider's.
            verdict = late.classify.Verdict(
                type=ErrorType.INTERNAL,
                rule="command_failed",
                retryable=False,
                origin=Origin.AGENT,
                provider_code=verdict.provider_code,
                detail=verdict.detail,
            )
    sent = SentError(error, link.redactor)
    turn.evidence.add_answer(verdict, sent=sent, state=state)
    return _fail(link, turn, frame)


def _fail(link: Link, turn: Turn, frame: Frame | None) -> list[Effect]:
    """Fail a turn by its answer, which is held for a moment if it names no cause."""
    may_learn_more = link.expects_hints and turn.state in AT_WORK
    if frame is not None and may_learn_more and link.decide(turn).vague:
        turn.hold(frame, link.now + HOLD_SECONDS, failure=True)
        return []
    return ending.fail(link, turn)


def _speaks_for_itself(link: Link, turn: Turn) -> bool:
    """Return whether both ends negotiated `agent_error`, so that nothing needs translating.

    If the prompt may be sent again, the failure may not be final, and we report it ourselves.
    """
    ours = turn.resendable is not None or turn.translated
    return link.agent.speaks_typed and link.client.typed and not ours


def _has_spoken_for_itself(link: Link, turn: Turn) -> bool:
    """Return whether the agent announced its failure typed, and as carefully as we would."""
    error = turn.evidence.announced
    return error is not None and _speaks_for_itself(link, turn) and is_careful(link, turn, error)


def is_careful(link: Link, turn: Turn, error: AgentError) -> bool:
    """Return whether the agent's own failure can pass unchanged, given what has happened."""
    return failures.with_our_care(link, turn, error) is error


def note_payload(link: Link, turn: Turn, carrier: object, key: str) -> None:
    """Receive the payload that an agent with the extension may have put into its answer."""
    if turn.evidence.announced is None:
        turn.evidence.announce(_payload_in(link, carrier, key))


def _payload_in(link: Link, carrier: object, key: str) -> AgentError | None:
    carried = signs.payload_in(object_of(carrier).get(key))
    if carried is None:
        return None
    return late.payload.read_to_forward(carried, link.redactor)


def _own_cancel() -> Verdict:
    unexplained = decision.unexplained()
    return msgspec.structs.replace(unexplained, reason="agent_cancelled", origin=Origin.AGENT)


def _note_failed_result(link: Link, turn: Turn, result: object) -> None:
    """Read the failure from a result whose stop reason does not fit the turn."""
    note_payload(link, turn, result, "_meta")
    members = result if isinstance(result, dict) else {}
    verdict = late.classify.classify_rpc_error(
        {"message": members.get("message") or "", "data": members}, agent=link.agent.name
    )
    stop_reason = members.get("stopReason")
    if stop_reason == acp.CANCELLED and verdict.type in {ErrorType.UNKNOWN, ErrorType.CANCELLED}:
        verdict = _own_cancel()
    elif verdict.type is ErrorType.UNKNOWN:
        if stop_reason is None:
            claimed = failures.own_failure(ErrorType.PROTOCOL_ERROR, "no_stop_reason")
            turn.evidence.note(FailureSign.CLAIM, claimed)
            return
        if stop_reason != acp.STOP_ERROR:
            verdict = msgspec.structs.replace(verdict, reason="unknown_stop_reason")
    turn.evidence.add_answer(verdict)


# --- version 2: a turn is the session's foreground work, and an idle state ends it ----------------


def prompt_answered(link: Link, frame: Frame, request_id: bytes, turn: Turn) -> list[Effect]:
    """Note that the agent accepted a prompt, or refused it."""
    error = jsonrpc.loads(frame.message.error)
    if error is None:
        turn = _apart(link, request_id, turn)
        link.client_has_answer(request_id)
        turn.accept(request_id)
        turn.session.progress(link.now)
        return [FORWARD]
    failing = refused_turn(link, request_id, turn)
    if failing is None:
        return answer_cancelled(link, request_id)
    return end_with_error(link, failing, error)


def _apart(link: Link, request_id: bytes, turn: Turn) -> Turn:
    """Separate a prompt that came after the user's cancel from what they cancelled.

    If that work is under way, the agent's idle state will show which prompts it accepted.
    """
    late = turn.state is State.CANCELLING and not turn.running
    if not late or request_id in turn.cancelled or turn not in turn.session.turns:
        return turn
    link.forget(turn)
    _carry_on(link, turn)
    return link.from_client[request_id].turn or turn


def refused_turn(link: Link, request_id: bytes, turn: Turn) -> Turn | None:
    """Return the turn that this prompt's refusal ends, or `None` if the user had cancelled it."""
    turn = _apart(link, request_id, turn)
    if len(turn.prompts) == 1 and not turn.running:
        return turn
    # It would have joined work that continues, so only this prompt has failed.
    turn.drop_prompt(request_id)
    if turn.state is State.CANCELLING:
        for prompt in turn.prompts:
            _apart(link, prompt, turn)
        return None
    alone = link.new_turn(turn.session)
    alone.add_prompt(request_id)
    return alone


def answer_cancelled(link: Link, request_id: bytes) -> list[Effect]:
    """Answer a prompt that the user cancelled before it became part of the work."""
    link.client_has_answer(request_id)
    return [Answer(Side.CLIENT, request_id, jsonrpc.error(request_id, ladder.CANCELLED_ERROR))]


def state_changed(link: Link, session: Session, frame: Frame, update: Update) -> list[Effect]:
    """Handle foreground work that begins, waits for the user, or ends."""
    if update.state != acp.IDLE:
        return _work_continues(link, session, update)
    session.answered(FOREGROUND, link.now)
    turn = next((turn for turn in session.turns if turn.running), None)
    if turn is None:
        return [FORWARD]
    for other in list(session.turns):
        if other is not turn and other.running and not other.prompts:
            # It began after a cancel, and became part of the work.
            turn.absorb(other)
            link.forget(other)
    stop_reason = update.stop_reason
    cancels = stop_reason == acp.CANCELLED and cancels_itself(link, turn)
    if cancels or stop_reason == acp.STOP_ERROR or turn.evidence.announced is not None:
        state = jsonrpc.params_of(frame).get("update", {})
        error = state.get("error")
        # It goes into a frame of ours, which must not contain a secret.
        clean = link.redactor.json(state)
        error = error if isinstance(error, dict) else {}
        effects = end_with_error(link, turn, error, state=clean)
        if FORWARD in effects:
            # The agent has reported it itself, but only for its own work.
            _carry_on(link, turn)
        return effects
    if stop_reason in MAY_HIDE and link.options.silent_success == "error":
        turn.evidence.read_success(
            link.now, refused=stop_reason == acp.REFUSAL, output_tokens=None, counts=False
        )
        if hides_failure(link, turn, frame):
            _claim_as_silent(turn)
            return ending.fail(link, turn)
    if stop_reason == acp.END_TURN and is_silent(link, turn):
        turn.hold(frame, link.now + HOLD_SECONDS)
        return []
    if denies_cancel(turn, stop_reason):
        params = link.redactor.json(jsonrpc.params_of(frame))
        params["update"]["stopReason"] = acp.CANCELLED
        idle = Send(Side.CLIENT, jsonrpc.notification(acp.UPDATE, params))
        effects = ending.finish_as_cancelled(link, turn, stop_reason, idle)
    else:
        effects = ending.finish(link, turn, stop_reason)
    if turn.state is State.ENDED:
        _carry_on(link, turn)
    return effects


def _work_continues(link: Link, session: Session, update: Update) -> list[Effect]:
    if not session.turns and update.state in {"running", "requires_action"}:
        # Work that the agent began by itself: it too must come to an end.
        session.begin(link.new_turn(session), link.now)
    alone = len(session.turns) == 1
    for turn in session.turns:
        # A prompt cancelled before it was accepted is not part of another one's work.
        turn.show_progress(running=alone or turn.state is not State.CANCELLING)
    if update.state == "requires_action":
        session.open_foreground_question(link.now)
        for turn in session.turns:
            turn.facts.note_message(acp.PERMISSION)
    else:
        session.answered(FOREGROUND, link.now)
    return [FORWARD]


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
