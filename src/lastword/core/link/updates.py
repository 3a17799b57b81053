"""Updates from the agent: their effect on progress, facts, costs, quarantine and the turn.

Owns the meaning of updates, and what a cost leads to: a notice near the user's limit, and the end
of the turn at it. `core.link.costs` has the sums and the rule.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec import UNSET

from lastword.core.failure import signs
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link import ending, entries, failures, late, prompts, reporting
from lastword.core.link.effects import FORWARD, Drop, Effect, Spend
from lastword.core.link.facts import NEAR_REPEATS, is_short, text_of
from lastword.core.link.session import FOREGROUND
from lastword.core.link.turn import AT_WORK, Event, State
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from lastword.core.link.costs import Spending, Spent
    from lastword.core.link.session import Session
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Envelope, Frame, Update

_OPEN_OR_SAME = acp.OPEN_TOOL | {None}
_NO_UPDATE = jsonrpc.Update()
_COST_KEY = b'"cost"'
_LIMIT_KEY = b"/rateLimit"
"""Part of what claude-agent-acp and codex-acp call the account's limits in an update
(`core.link.limits`)."""


def receive(link: Link, frame: Frame) -> list[Effect]:
    """Receive one `session/update`."""
    message = frame.message
    update = message.update or _NO_UPDATE
    session = progress_of(link, message.session_id)
    if session is None:
        return [_of_unknown(link, update), *_cost(link, None, frame, update)]
    spent = _note_state(link, session, frame, update)
    if session.quarantined:
        return [*_quarantined(link, session, update), *spent]
    released: list[Effect] = []
    works = update.session_update == acp.STATE_UPDATE and update.state != acp.IDLE
    if works or update.session_update in acp.SHOWN_KINDS:
        # Output or new work after an answer that showed nothing proves the answer honest.
        for turn in list(session.turns):
            if turn.withheld is not None:
                released += ending.release(link, turn)
    if update.session_update in acp.AGENT_ERROR_KINDS:
        return released + _agent_error(link, session, frame)
    if update.session_update == "session_info_update" and _announces(link, session, frame):
        return [Drop("translated")]
    retry: list[Effect] = []
    if update.session_update in acp.AGENT_RETRY_KINDS:
        retry = reporting.record_announced(link, session, frame)
        if not link.client.retry:
            return [Drop("not_asked_for"), *retry]
    if update.session_update == acp.STATE_UPDATE and link.dialect.turn_ends_by_state:
        return released + prompts.state_changed(link, session, frame, update)
    tool_kind, entered, stray = "", [], False
    if update.session_update in acp.TOOL_KINDS:
        before = session.tools.knows(update)
        stray = not (before or update.session_update == "tool_call")
        stray = stray and not link.dialect.turn_ends_by_state
        tool_kind = session.tools.note(update, link.now)
        if session.turns:
            entered = _tool_entries(link, session, update, before=before)
    noted = _note(link, session, update, tool_kind, stray=stray)
    effects = [*noted, *entered, *retry, *released, FORWARD, *spent]
    if update.session_update == "session_info_update":
        effects += reporting.read_frame(link, session, frame)
        prompts.note_hidden(link, session, frame)
    word = link.note_activity(session, update.session_update)
    if word:
        effects += reporting.show_activity(session, word)
    if session.turns and session.repetition.is_too_much(update):
        verdict = failures.own_failure(ErrorType.AGENT_STALLED, "runaway")
        effects += ending.stop_session(link, session, Event.STOP, verdict)
    return effects


def _note(
    link: Link, session: Session, update: Update, tool_kind: str, *, stray: bool
) -> list[Effect]:
    """Note progress in every open turn of the session.

    A `stray` update is about a tool call that was never announced: it shows nothing.
    """
    effects: list[Effect] = []
    # Read once: a client may have thousands of prompts open in one session.
    is_text = update.session_update in acp.TEXT_KINDS
    text = text_of(update) if is_text or update.session_update in acp.THOUGHT_KINDS else None
    # What the agent says about a retry or its upkeep is not output. What has only the form of a
    # retry may be an answer: it is output unless something else shows a failed call.
    words, agent, of_retry, by_form = text or "", link.agent.name, False, False
    if is_text:
        of_retry = words != "" and (
            signs.is_retry_report(words, agent) or signs.is_remark(words, agent)
        )
        begun = bool(session.turns) and session.turns[-1].evidence.hinted
        by_form = not of_retry and signs.is_retry_by_form(words, begun=begun)
    if of_retry or by_form:
        effects += reporting.read_text(link, session, words)
    for turn in session.turns:
        if turn.state is State.SENT:
            effects.append(entries.record(link, Kind.FIRST_PROGRESS, session, turn))
            turn.show_progress()
        # A chunk with an empty text, or about a retry, shows nothing. What the agent says after our
        # stop is about the stop.
        stopped = turn.state is State.STOPPING and update.session_update in acp.HARMLESS_KINDS
        if text == "" or of_retry or stopped:
            continue
        if stray:
            turn.facts.note_elsewhere(update)
            continue
        if by_form:
            turn.evidence.say(words, of_retry=True)
        else:
            turn.show(update, text if is_text else None, link.now)
        had_output = turn.facts.output
        turn.facts.note(update, tool_kind)
        if turn.facts.output and not had_output:
            effects.append(entries.record(link, Kind.FIRST_OUTPUT, session, turn))
    return effects


def _of_unknown(link: Link, update: Update) -> Effect:
    """Pass an update of an unknown session; a failure or a retry only if the client negotiated it.

    Output there, such as a sub-agent's, is work of the turns that are open.
    """
    for turn in link.open_turns():
        turn.facts.note_elsewhere(update)
    if update.session_update in acp.AGENT_ERROR_KINDS and not link.client.typed:
        return Drop("not_negotiated")
    if update.session_update in acp.AGENT_RETRY_KINDS and not link.client.retry:
        return Drop("not_asked_for")
    return FORWARD


def _note_state(link: Link, session: Session, frame: Frame, update: Update) -> list[Effect]:
    """Note the session's settings and costs, and which limit of the account is used up."""
    if update.session_update == "usage_update":
        for turn in session.turns:
            turn.note_usage()
        if _LIMIT_KEY in frame.line:
            session.read_account_limit(jsonrpc.params_of(frame).get("update"))
    if update.session_update in acp.CHOICE_KINDS:
        members = object_of(jsonrpc.params_of(frame).get("update"))
        session.choices.changed(session.session_id, members)
        if session.models is not None:
            session.models.read(members)
    return _cost(link, session, frame, update)


def _tool_entries(link: Link, session: Session, update: Update, *, before: bool) -> list[Effect]:
    """Return the entries of a tool call that begins here, or ends, or both."""
    call = entries.short(update.tool_call_id or "")
    kind, status = update.kind, update.status
    # Version 2 has one kind of update for both.
    opens = update.session_update == "tool_call" or link.dialect.turn_ends_by_state
    begins = opens and not before
    ends = (before or begins) and status is not None and status not in acp.OPEN_TOOL
    entered: list[Effect] = []
    if begins:
        tool = kind if kind in acp.TOOL_KIND_NAMES else None
        entered.append(entries.record(link, Kind.TOOL_STARTED, session, call=call, tool=tool))
    if ends:
        word = status if status in acp.TOOL_ENDS else "other"
        entered.append(entries.record(link, Kind.TOOL_ENDED, session, call=call, status=word))
    return entered


def observe(link: Link, messages: list[Envelope], start: int) -> int:
    """Handle the relay's usual case in one loop: text and tool calls in a turn well under way.

    Takes in as many messages from `start` on as it can, all for one session, and returns their
    number; the next one must go through `receive`.
    """
    session = _plain_session(link, messages[start])
    if session is None:
        return 0
    session_id = session.session_id
    # A further chunk says nothing new about its turn; the first ones go through `receive`.
    text = all(turn.evidence.speaks for turn in session.turns)
    thought = all(turn.facts.thought for turn in session.turns)
    repetition = session.repetition
    last_content, repeats = repetition.content, repetition.repeats
    count = 0
    for message in islice(messages, start, None):
        params = message.params
        if message.method != "session/update" or message.id is not UNSET or params is UNSET:
            break
        update = params.update
        if update is UNSET or params.session_id != session_id:
            break
        kind = update.session_update
        if (kind == "agent_message_chunk" and text) or (kind == "agent_thought_chunk" and thought):
            content = update.content
            if content != last_content or (
                repeats >= NEAR_REPEATS
                and (is_short(update) or not any(t.state in AT_WORK for t in session.turns))
            ):
                last_content, repeats = content, 0
            elif repeats < NEAR_REPEATS:
                repeats += 1
            else:
                # It may be one too many, for which the turn is stopped.
                break
        else:
            repetition.note_run(last_content, repeats)
            # A call that begins or ends is recorded, which only `receive` does.
            if (
                kind not in acp.TOOL_KINDS
                or not session.tools.knows(update)
                or update.status not in _OPEN_OR_SAME
                or repetition.tool_near
            ):
                break
            tool_kind = session.tools.note(update, link.now)
            for turn in session.turns:
                turn.facts.note(update, tool_kind)
            repetition.is_tool_too_much(update)
            last_content, repeats = repetition.content, repetition.repeats
        count += 1
    if count:
        _note_longer(session, messages[start : start + count])
        repetition.note_run(last_content, repeats)
        session.progress(link.now)
        for turn in session.turns:
            turn.recover(link.now)
        link.stderr.count_anew()
    return count


def _note_longer(session: Session, messages: list[Envelope]) -> None:
    """Note that a message of one chunk has become longer, if there is text among these."""
    for turn in session.turns:
        if turn.evidence.text is None:
            continue
        updates = (m.params.update for m in messages if m.params is not UNSET)
        if any(u.session_update in acp.TEXT_KINDS for u in updates if u is not UNSET):
            turn.evidence.say_more()


def _plain_session(link: Link, message: Envelope) -> Session | None:
    """Return the message's session, if its turns are under way and in no special state."""
    session = link.sessions.get(message.session_id or "")
    if (
        session is None
        or session.unresolved
        or session.session_id in link.activities
        or not session.turns
        or link.withheld_error is not None
    ):
        return None
    for turn in session.turns:
        if turn.withheld is not None or turn.state is State.SENT:
            return None
        if turn.evidence.hint is not None or turn.reported.waits:
            return None
    return session


def progress_of(link: Link, session_id: str | None) -> Session | None:
    """Note progress in a session; in one that the client never opened, it is every open turn's.

    Returns the session if it is known: an agent cannot make us remember new ones.
    """
    session = link.sessions.get(session_id) if session_id is not None else None
    if session is not None and session.opened:
        session.progress(link.now)
    else:
        for other in link.sessions.values():
            if other.turns:
                other.progress(link.now)
    return session


def _quarantined(link: Link, session: Session, update: Update) -> list[Effect]:
    """Pass only what is about the session itself: its turn is over for the client."""
    if update.session_update == acp.STATE_UPDATE and update.state == acp.IDLE:
        session.resolve(FOREGROUND)
        return [Drop("late_answer"), *prompts.release_waiting(link, session)]
    if update.session_update in acp.SESSION_STATE_KINDS:
        return [FORWARD]
    entry = entries.record(link, Kind.FRAME_DROPPED, session, side="agent", reason="quarantine")
    return [Drop("quarantine"), entry]


def _agent_error(link: Link, session: Session, frame: Frame) -> list[Effect]:
    """Receive a failure that the agent announces, in our words or in an ad-hoc shape."""
    update = object_of(jsonrpc.params_of(frame).get("update"))
    error = late.payload.read_to_forward(late.payload.payload_of(update), link.redactor)
    may_be_none = any(turn.resendable is not None for turn in session.turns)
    passes = link.client.typed and link.agent.speaks_typed and not may_be_none
    passes = passes and all(prompts.is_careful(link, turn, error) for turn in session.turns)
    for turn in session.turns:
        turn.announce(error, passed=passes)
    return [FORWARD] if passes else [Drop("translated")]


_INFO_UPDATE_OF_OURS = {"sessionUpdate", "_meta"}


def _announces(link: Link, session: Session, frame: Frame) -> bool:
    """Note a failure that the agent announces in `_meta`; return whether the update is only that.

    The client gets the failure again, in the form that suits it.
    """
    if not session.turns or not signs.may_hold_payload(frame.line):
        return False
    members = object_of(jsonrpc.params_of(frame).get("update"))
    meta = members.get("_meta")
    carried = signs.payload_in(meta)
    if carried is None:
        return False
    error = late.payload.read_to_forward(carried, link.redactor)
    for turn in session.turns:
        turn.evidence.announce(error)
    return members.keys() == _INFO_UPDATE_OF_OURS and len(meta or {}) == 1


# --- costs, and the user's limit ------------------------------------------------------------------


def _cost(link: Link, session: Session | None, frame: Frame, update: Update) -> list[Effect]:
    """Receive a cost, if one is stated; end the turn if that reaches the limit."""
    if update.session_update != "usage_update" or _COST_KEY not in frame.line:
        return []
    if session is None:
        # A session that the client never opened, such as a sub-agent's. It counts for the turn that
        # began last: an agent does not say which one has begun its sub-agents.
        turns = sorted(link.open_turns(), key=lambda turn: turn.started_at)
        begun = [turn.session for turn in turns]
        begun = begun or [other for other in link.sessions.values() if other.last_turn]
        if not begun:
            return []
        session = begun[-1]
    cost = late.costs.read(jsonrpc.params_of(frame).get("update"))
    if cost is None:
        return []
    amount, currency = cost
    bill, spending = link.bill_of(session), link.spend_limit()
    stated_for = frame.message.session_id or ""
    added = bill.costs.state(amount, currency, session.last_turn, stated_for)
    # While a turn is at work, the cost is recorded at its end.
    effects = [] if session.turns else entries.costs(link, session, session.last_turn)
    if spending is None or not amount:
        return effects
    spending.stop_expecting()
    if currency != spending.limit.currency:
        if bill.costs.report_other():
            text = (
                f"The agent states costs in {currency}, and --spend-limit is in "
                f"{spending.limit.currency}: the limit does not apply to them."
            )
            effects += reporting.inform(link, session, text)
            effects.append(entries.spend_limit(link, session, spending, "other_currency"))
        return effects
    if not added:
        return effects
    scope = spending.limit.scope
    if scope != "turn":
        spending.add_today(added)
        stated = bill.costs.stated(currency), bill.costs.spent[currency]
        effects.append(Spend(session.session_id, currency, added, stated))
    if spending.is_reached(bill):
        link.note_spent_out(spending, bill)
        counted = list(link.sessions.values()) if scope == "day" else [session]
        effects += _stop_at_limit(link, spending, counted)
    elif spending.is_near(bill):
        text = f"{spending.sentence(bill)} The agent is stopped when the limit is reached."
        effects += reporting.inform(link, session, text)
        effects.append(entries.spend_limit(link, session, spending, "near"))
    return effects


def receive_spending(link: Link, spent: Spent) -> list[Effect]:
    """Receive the totals; end the open turns if the day's limit is reached."""
    spending = link.spend_limit()
    if spending is None or not spending.update(spent):
        return []
    return _stop_at_limit(link, spending, list(link.sessions.values()))


def _stop_at_limit(link: Link, spending: Spending, sessions: list[Session]) -> list[Effect]:
    effects: list[Effect] = []
    for session in sessions:
        if any(turn.state in AT_WORK for turn in session.turns):
            effects.append(entries.spend_limit(link, session, spending, "reached"))
            verdict = failures.limit_reached(spending.sentence(link.bill_of(session)))
            effects += ending.stop_session(link, session, Event.STOP, verdict)
    return effects
