"""What a `session/update` of the agent's does: progress, facts, quarantine, the end of a v2 turn.

Owns the meaning of updates, and the sign of an agent that repeats itself for ever.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from lastword.core import acp, ending, entries, foreground, jsonrpc, retrying, turns
from lastword.core.effects import FORWARD, Drop, Effect
from lastword.core.taxonomy import ErrorType
from lastword.core.timeline import Kind
from lastword.core.turn import Event, State

if TYPE_CHECKING:
    from lastword.core.jsonrpc import Envelope, Frame, Update
    from lastword.core.session import Link, Session

RUNAWAY_REPEATS = 50
"""The same chunk, or one tool with the same input, so often in a row: an agent in a loop. One was
measured to send the same request 966 times in two minutes."""

RUNAWAY_MIN_CHARS = 20
"""Shorter chunks repeat in honest output (a table's cells, a ruler of dashes)."""

_OPEN_OR_SAME = acp.OPEN_TOOL | {None}
_NO_UPDATE = jsonrpc.Update()


def receive(link: Link, frame: Frame) -> list[Effect]:
    """Take in one `session/update`."""
    message = frame.message
    update = message.update or _NO_UPDATE
    session = progress_of(link, message.session_id)
    if session is None:
        return [FORWARD]
    if session.quarantined:
        return _quarantined(link, session, update)
    released = _release_held(link, session) if _follows_answer(update) else []
    if update.session_update in acp.AGENT_ERROR_KINDS:
        return released + _agent_error(link, session, frame)
    if update.session_update == "session_info_update" and _announces(link, session, frame):
        return [Drop("translated")]
    retry: list[Effect] = []
    if update.session_update in acp.AGENT_RETRY_KINDS:
        retry = retrying.announced(link, session, frame)
        if not link.client.retry:
            return [Drop("not_asked_for"), *retry]
    if update.session_update == acp.STATE_UPDATE and link.dialect.turn_ends_by_state:
        return released + foreground.state_changed(link, session, frame, update)
    tool_kind, told = "", []
    if update.session_update in acp.TOOL_KINDS:
        before = session.tools.knows(update)
        tool_kind = session.tools.note(update)
        if session.turns:
            told = _tool_entries(link, session, update, before=before)
    effects = [*_note(link, session, update, tool_kind), *told, *retry, *released, FORWARD]
    if update.session_update == "session_info_update":
        effects += retrying.told(link, session, frame)
        turns.note_hidden(link, session, frame)
    if session.turns and _runs_away(session, update):
        verdict = ending.own_failure(ErrorType.AGENT_STALLED, "runaway")
        effects += ending.stop_session(link, session, Event.STOP, verdict)
    return effects


def _note(link: Link, session: Session, update: Update, tool_kind: str) -> list[Effect]:
    """Every open turn of the session has made progress."""
    effects: list[Effect] = []
    # Read once: a client may have thousands of prompts open in one session.
    is_text, is_empty = update.session_update in acp.TEXT_KINDS, _is_empty_chunk(update)
    text = _text_of(update) if is_text else None
    for turn in session.turns:
        if turn.state is State.SENT:
            effects.append(entries.record(link, Kind.FIRST_PROGRESS, session, turn))
            turn.step(Event.UPDATE)
        if is_text:
            turn.only_text = None if turn.facts.text else text
        if not is_empty:
            had_output = turn.facts.output
            turn.facts.note(update, tool_kind)
            if turn.facts.output and not had_output:
                effects.append(entries.record(link, Kind.FIRST_OUTPUT, session, turn))
    return effects


def _tool_entries(link: Link, session: Session, update: Update, *, before: bool) -> list[Effect]:
    """A tool call that begins here, or ends, or both."""
    call = entries.short(update.tool_call_id or "")
    kind, status = update.kind, update.status
    # Version 2 has one kind of update for both.
    opens = update.session_update == "tool_call" or link.dialect.turn_ends_by_state
    begins = opens and not before
    ends = (before or begins) and status is not None and status not in acp.OPEN_TOOL
    told: list[Effect] = []
    if begins:
        known = kind if kind in acp.TOOL_KIND_NAMES else None
        told.append(entries.record(link, Kind.TOOL_STARTED, session, call=call, tool=known))
    if ends:
        word = status if status in acp.TOOL_ENDS else "other"
        told.append(entries.record(link, Kind.TOOL_ENDED, session, call=call, status=word))
    return told


def observe(link: Link, messages: list[Envelope], start: int) -> int:
    """The relay's usual case, in one loop: text and tool calls in a turn that is well under way.

    Takes in what it can from `start` on, all of one session, and gives how many messages that
    were; the one after them needs a closer look.
    """
    session = _plain_session(link, messages[start])
    if session is None:
        return 0
    session_id = session.session_id
    # What a chunk would say of its turn is said already; until then it goes the long way.
    text = all(turn.facts.text for turn in session.turns)
    thought = all(turn.facts.thought for turn in session.turns)
    last_content, repeats = session.last_content, session.repeats
    taken = 0
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
            if content != last_content:
                last_content, repeats = content, 0
            elif repeats < RUNAWAY_REPEATS - 2:
                repeats += 1
            else:
                break
        elif kind not in acp.TOOL_KINDS or not _observe_tool(session, update):
            break
        taken += 1
    if taken:
        for turn in session.turns:
            turn.only_text = None
        session.last_content, session.repeats = last_content, repeats
        session.progress(link.now)
        link.stderr.since_frame = 0
    return taken


def _plain_session(link: Link, message: Envelope) -> Session | None:
    """The message's session, if it has turns under way and nothing special about it."""
    session = link.sessions.get(message.session_id or "")
    if session is None or session.unresolved or not session.turns or link.held_error is not None:
        return None
    for turn in session.turns:
        if turn.held is not None or turn.state is State.SENT:
            return None
    return session


def _observe_tool(session: Session, update: Update) -> bool:
    # A call that begins or ends is written down, which only the long way does.
    if not session.tools.knows(update) or update.status not in _OPEN_OR_SAME:
        return False
    if max(session.tool_repeats, session.tool_before[1]) >= RUNAWAY_REPEATS - 2:
        return False
    tool_kind = session.tools.note(update)
    for turn in session.turns:
        turn.facts.note(update, tool_kind)
    _same_tool(session, update)
    return True


def progress_of(link: Link, session_id: str | None) -> Session | None:
    """Note life in a session; one that the client never opened counts for every open turn.

    Gives the session, if it is one that is known: an agent cannot make us remember new ones.
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
    """The client was told that this turn is over: only what is about the session passes."""
    if update.session_update == acp.STATE_UPDATE and update.state == acp.IDLE:
        session.unresolved.discard(ending.FOREGROUND)
        return [Drop("late_answer"), *turns.release_waiting(link, session)]
    if update.session_update in acp.SESSION_STATE_KINDS:
        return [FORWARD]
    entry = entries.record(link, Kind.FRAME_DROPPED, session, side="agent", reason="quarantine")
    return [Drop("quarantine"), entry]


def _follows_answer(update: Update) -> bool:
    """Does this show that an answer held back was honest: by output, or by work begun anew?"""
    works = update.session_update == acp.STATE_UPDATE and update.state != acp.IDLE
    return works or update.session_update in acp.SHOWN_KINDS


def _release_held(link: Link, session: Session) -> list[Effect]:
    """Output after an answer that showed nothing: the answer was honest after all."""
    effects: list[Effect] = []
    for turn in list(session.turns):
        if turn.held is not None:
            effects += turns.release_held(link, turn)
    return effects


def _agent_error(link: Link, session: Session, frame: Frame) -> list[Effect]:
    """The agent announces a failure itself, in our words or in an ad-hoc shape of its own."""
    from lastword.core.reading import read_update  # noqa: PLC0415  (loaded at the first failure)

    value = jsonrpc.loads(frame.line)
    error = read_update(value, ending.redactor(link))
    for turn in session.turns:
        turn.step(Event.UPDATE)
        turn.agent_error = turn.agent_error or error
    if link.client.typed and link.agent.speaks_typed:
        for turn in session.turns:
            turn.announced = True
        return [FORWARD]
    return [Drop("translated")]


_INFO_UPDATE_OF_OURS = {"sessionUpdate", "_meta"}


def _announces(link: Link, session: Session, frame: Frame) -> bool:
    """Is this the rung `stop_reason` of an agent that speaks for itself?

    The client is told anew, in the way that is meant for it.
    """
    if not session.turns or b'"agent_error"' not in frame.line:
        return False
    update = jsonrpc.params_of(frame).get("update")
    members = update if isinstance(update, dict) else {}
    meta = members.get("_meta")
    payload = meta.get("agent_error") if isinstance(meta, dict) else None
    if not isinstance(payload, dict) or payload.get("stopReason") != acp.STOP_ERROR:
        return False
    from lastword.core import reading  # noqa: PLC0415  (loaded at the first failure)

    error = reading.read_payload(payload, ending.redactor(link))
    for turn in session.turns:
        turn.agent_error = turn.agent_error or error
    return members.keys() == _INFO_UPDATE_OF_OURS and len(meta or {}) == 1


def _is_empty_chunk(update: Update) -> bool:
    """A chunk with an empty text shows nothing."""
    if update.session_update not in acp.TEXT_KINDS | acp.THOUGHT_KINDS:
        return False
    return _text_of(update) == ""


def _text_of(update: Update) -> str | None:
    content: Any = jsonrpc.loads(update.content)
    text = content.get("text") if isinstance(content, dict) else None
    return text if isinstance(text, str) else None


def _runs_away(session: Session, update: Update) -> bool:
    kind = update.session_update
    if kind in acp.TOOL_KINDS:
        return _same_tool(session, update)
    if update.content is UNSET:
        return False
    if update.content != session.last_content:
        session.last_content, session.repeats = update.content, 0
        return False
    session.repeats += 1
    if session.repeats < RUNAWAY_REPEATS - 1:
        return False
    return len(_text_of(update) or "") >= RUNAWAY_MIN_CHARS


def _same_tool(session: Session, update: Update) -> bool:
    """Does one call after another ask for the very same thing?"""
    if update.raw_input is UNSET:
        return False
    tool_call_id, asked_last = session.last_tool
    if update.tool_call_id != tool_call_id:
        session.tool_before = (asked_last, session.tool_repeats)
    # Agents open a call with an empty input and tell the real one later: the latest counts.
    asked = (update.title, bytes(update.raw_input))
    session.last_tool = (update.tool_call_id, asked)
    asked_before, repeats = session.tool_before
    session.tool_repeats = repeats + 1 if asked == asked_before else 0
    return session.tool_repeats >= RUNAWAY_REPEATS - 1
