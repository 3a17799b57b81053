"""The layer around a connection that lets a link outlive its agent.

Owns `Connection`'s interface for a series of agents, and the path of every message once there has
been a crash: what waits for the next agent, and how that one is greeted. The cached handshake is
replayed to the new process (`authenticate` never: it may open a browser), the ids of its requests
are kept apart from those of its predecessors, and requests made in the meantime reach it in order.
The link inside sees all of them as one agent. Imported at the first crash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link import ending, entries, failures, late
from lastword.core.link.effects import Answer, Drop, Effect, Kill, Restart, Send, Side, forwarded_as
from lastword.core.link.handshake import read_agent, read_client
from lastword.core.link.waits import may_wait
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.restart import sessions
from lastword.core.restart.state import Purpose, RestartState, Stage, with_id
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.connection import Connection
    from lastword.core.link.costs import Spent
    from lastword.core.link.evidence import Hint, SilentTurn
    from lastword.core.link.handshake import AgentProfile
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Envelope, Frame


# --- the paths of messages

OPENS_ANEW = frozenset({acp.INITIALIZE, *acp.OPENS_SESSION, *acp.ENDS_SESSION})
"""Requests for which a session of an earlier agent need not be restored."""

CANCELS = frozenset({acp.CANCEL, acp.CANCEL_REQUEST, acp.CLOSE})
"""The ways in which a user cancels a prompt."""

NOT_BY_ITS_NAME = frozenset({acp.CANCEL, acp.FORK, *acp.ENDS_SESSION})
"""What must not reach another session with the id of one that is not restored."""


def _refuse_unqueued(connection: Connection, frames: list[Frame]) -> list[Effect]:
    """Refuse the requests that the queue has no room for."""
    return _refuse_all(connection, frames, _no_room()) if frames else []


def _refuse_all(connection: Connection, waiting: list[Frame], verdict: Verdict) -> list[Effect]:
    return [
        effect for frame in waiting for effect in sessions.refuse(connection.link, frame, verdict)
    ]


def _start(connection: Connection, state: RestartState) -> list[Effect]:
    link = connection.link
    if link.client_left or not state.start(link.now):
        return []
    return [entries.record(link, Kind.AGENT_RESTARTED, attempt=state.generation + 1), Restart()]


def _serve(
    connection: Connection, state: RestartState, greeted: AgentProfile | None = None
) -> list[Effect]:
    """Send the new agent what waits for it; `greeted` is its profile if we greeted it."""
    state.serves()
    connection.link.regain_agent(greeted)
    effects: list[Effect] = [] if greeted is None else [entries.agent_ready(connection.link)]
    for frame in state.pop_queue():
        passed = from_the_client(connection, state, frame)
        effects += forwarded_as(passed, Send(Side.AGENT, frame.line))
    return effects


def _give_up(connection: Connection, state: RestartState, verdict: Verdict) -> list[Effect]:
    """Give up a new process that does not work, and refuse what waits for it."""
    connection.link.lose_agent(verdict)
    return [*_refuse_all(connection, state.pop_queue(), verdict), Kill()]


def from_the_client(connection: Connection, state: RestartState, frame: Frame) -> list[Effect]:
    message = frame.message
    if state.stage is not Stage.UP:
        return _while_down(connection, state, frame)
    link = connection.link
    session_id = message.session_id
    if session_id is not None and message.method not in {None, acp.CANCEL, *OPENS_ANEW}:
        returning = state.returning.get(session_id)
        if returning is not None:
            if not may_wait(returning.waiting, frame):
                return sessions.refuse(link, frame, _no_room())
            returning.let_wait(frame)
            return []
        if message.id is not UNSET and session_id in state.stale:
            return sessions.begin(link, state, session_id, frame)
        if session_id in state.lost:
            return sessions.refuse(link, frame, sessions.lost_verdict())
    elif session_id in state.names.ours and message.method in NOT_BY_ITS_NAME:
        # The agent knows another session by this id.
        ended = _cancel_here(connection, state, message)
        return [*ended, *sessions.refuse(link, frame, sessions.lost_verdict())]
    elif session_id is not None and message.method in acp.BRINGS_BACK:
        state.reopens(session_id)
    elif session_id is not None and sessions.has_only_name(link, state, message):
        return [*_cancel_here(connection, state, message), *sessions.closed(link, state, frame)]
    elif session_id is not None and message.method in acp.ENDS_SESSION:
        # A lost session stays lost: the agent may give its id to a session that is opened now.
        state.ends(session_id)
    cancelled: list[Effect] = []
    if message.method in CANCELS:
        cancelled = _cancel_waiting(connection, state, message)
    return [*cancelled, *connection.receive(Side.CLIENT, frame, link.now)]


def _no_room() -> Verdict:
    return failures.own_failure(ErrorType.AGENT_STALLED, "queue_full")


def _while_down(connection: Connection, state: RestartState, frame: Frame) -> list[Effect]:
    link = connection.link
    message = frame.message
    if message.method is None:
        return connection.receive(Side.CLIENT, frame, link.now)
    if message.id is UNSET:
        return [*_cancel_here(connection, state, message), Drop("agent_gone")]
    if state.refuses(link.now) and link.agent_gone is not None:
        return sessions.refuse(link, frame, link.agent_gone)
    if message.method == acp.INITIALIZE:
        link.greeted_by(read_client(frame.readable), frame.line)
    # A session that is closed no longer needs any of its prompts.
    cancelled = _cancel_here(connection, state, message)
    if not state.enqueue(frame):
        cancelled += sessions.refuse(link, frame, _no_room())
    return [*cancelled, *_start(connection, state)]


def _cancel_here(connection: Connection, state: RestartState, cancel: Envelope) -> list[Effect]:
    """Cancel what waits in the queue or the link, for a cancel that does not reach the agent."""
    if cancel.method not in CANCELS:
        return []
    waiting = _cancel_waiting(connection, state, cancel)
    return [*waiting, *ending.cancelled_by(connection.link, cancel)]


def _cancel_waiting(connection: Connection, state: RestartState, cancel: Envelope) -> list[Effect]:
    """Cancel prompts that still wait for the agent: they never reach it."""
    link, params = connection.link, cancel.params
    is_session = cancel.method in {acp.CANCEL, acp.CLOSE}
    request_id = None
    if not is_session and params is not UNSET and params.request_id is not UNSET:
        request_id = jsonrpc.same_id(bytes(params.request_id))

    def is_cancelled(frame: Frame) -> bool:
        waiting = frame.message
        if waiting.method != acp.PROMPT:
            return False
        if is_session:
            return waiting.session_id == cancel.session_id
        return request_id is not None and waiting.request_id == request_id

    effects: list[Effect] = []
    for frame in state.remove(is_cancelled):
        session = link.session(frame.message.session_id or "")
        effects += ending.cancel_unsent(link, session, frame)
    return effects


def from_the_agent(connection: Connection, state: RestartState, frame: Frame) -> list[Effect]:
    message = frame.message
    now = connection.link.now
    if message.method is None:
        own = state.answered(message.request_id or jsonrpc.NULL_ID)
        if own is None:
            given_up = state.confirmed_late(message.request_id or jsonrpc.NULL_ID)
            effects = connection.receive(Side.AGENT, frame, now)
            if given_up is not None:
                return effects + sessions.confirmed_late(connection.link, state, given_up, frame)
            return effects + sessions.note_opened(connection, state, effects, frame)
        if own.purpose is not Purpose.GREET:
            return sessions.answered(connection, state, own, frame)
        if message.error is not UNSET:
            error = late.classify.classify_rpc_error(jsonrpc.loads(message.error))
            return _give_up(connection, state, error)
        return _serve(connection, state, read_agent(jsonrpc.loads(message.result)))
    if sessions.is_replay(state, frame):
        # It may report its mode and options while it is restored.
        session_id = message.session_id or ""
        update = object_of(jsonrpc.params_of(frame).get("update"))
        state.returning[session_id].reported(session_id, update)
        return [Drop("replay")]
    if sessions.requests_too_early(state, message):
        link = connection.link
        session = link.session(message.session_id or "")
        refused = failures.refuse_request(message.request_id or jsonrpc.NULL_ID, message.method)
        entry = entries.record(link, Kind.FRAME_DROPPED, session, side="agent", reason="replay")
        return [Drop("replay"), entry, refused]
    renamed = _renamed(state, frame)
    if renamed is None:
        return connection.receive(Side.AGENT, frame, now)
    effects = connection.receive(Side.AGENT, renamed, now)
    return forwarded_as(effects, Send(Side.CLIENT, renamed.line))


def _answer_is_lost(
    connection: Connection, state: RestartState, request_id: bytes | None, reason: str
) -> list[Effect]:
    """Treat an answer that cannot be read as a failure."""
    own = None if request_id is None else state.answered(request_id)
    if own is None:
        return []
    if own.purpose is Purpose.GREET:
        broken = failures.own_failure(ErrorType.PROTOCOL_ERROR, reason)
        return _give_up(connection, state, broken)
    error = msgspec.Raw(jsonrpc.dumps({"code": acp.INTERNAL_ERROR, "message": reason}))
    failed = jsonrpc.Frame(b"", jsonrpc.Envelope(error=error))
    return sessions.answered(connection, state, own, failed)


def _renamed(state: RestartState, frame: Frame) -> Frame | None:
    """Return the frame with the id by which the client knows, or will know, its request."""
    message = frame.message
    if state.generation == 0 or message.method in acp.TO_AGENT_ONLY:
        # An echo is recognised by its id, which is the client's.
        return None
    if message.id is not UNSET:
        line = jsonrpc.with_id(frame, state.rename(message.request_id or jsonrpc.NULL_ID))
    elif message.method == acp.CANCEL_REQUEST:
        params = message.params
        named = None if params is UNSET or params.request_id is UNSET else params.request_id
        origin = jsonrpc.same_id(bytes(named)) if named is not None else jsonrpc.NULL_ID
        new = state.renamed.get(origin)
        if new is None:
            return None
        withdrawal = jsonrpc.params_of(frame) | {"requestId": msgspec.Raw(new)}
        line = jsonrpc.notification(acp.CANCEL_REQUEST, withdrawal)
    else:
        return None
    decoded = jsonrpc.decode(line)
    return decoded if isinstance(decoded, jsonrpc.Frame) else None


def translate(state: RestartState, effects: list[Effect], frame: Frame | None) -> list[Effect]:
    """Give answers to requests that the client knows by another id the agent's own id."""
    if not state.origin_of:
        return effects
    if frame is not None and frame.message.method is None:
        answered = state.origin(frame.message.request_id or b"")
        if answered is not None:
            effects = forwarded_as(effects, Send(Side.AGENT, jsonrpc.with_id(frame, answered)))
    translated = list(effects)
    for index, effect in enumerate(effects):
        if isinstance(effect, Answer) and effect.to is Side.AGENT:
            origin = state.origin(effect.request_id)
            translated[index] = (
                Answer(Side.AGENT, origin, with_id(effect.frame, origin)) if origin else effect
            )
    return translated


# --- the layer


class RestartLayer:
    """A connection whose agent is restarted when it is gone and needed.

    Must be in place before the connection learns of the crash. Its methods are those of
    `Connection` whose effects depend on restarts.
    """

    __slots__ = ("_connection", "state")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.state: RestartState = RestartState(connection.link.started_at)

    @property
    def link(self) -> Link:
        return self._connection.link

    def receive(
        self, side: Side, message: jsonrpc.Frame | jsonrpc.Malformed, now: float
    ) -> list[Effect]:
        connection, state = self._connection, self.state
        if isinstance(message, jsonrpc.Malformed):
            effects = connection.receive(side, message, now)
            if side is Side.CLIENT:
                return self._to_the_client(effects)
            if message.reason == jsonrpc.MALFORMED_JSON:
                answered = late.peek.of_broken(message.line).answered
                effects += _answer_is_lost(connection, state, answered, "broken_answer")
            return self._for_agent(effects)
        link = connection.at(now)
        if side is Side.AGENT:
            named, effects = sessions.as_the_client_knows(connection, state, message)
            effects += from_the_agent(connection, state, named)
            if named is not message:
                effects = forwarded_as(effects, Send(Side.CLIENT, named.line))
            return self._for_agent(translate(state, effects, None))
        effects = []
        session = link.sessions.get(message.message.session_id or "")
        if message.message.method == acp.PROMPT and session is not None:
            # It ends the wait for a failed prompt, even if it has to wait itself.
            effects = ending.give_up_for_prompt(link, session)
        effects += from_the_client(connection, state, message)
        return state.names.for_agent(translate(state, effects, message), message)

    def _for_agent(self, effects: list[Effect]) -> list[Effect]:
        """Return the effects of anything but a frame from the client, under the agent's names."""
        return self.state.names.for_agent(effects, None)

    def observe(self, messages: list[jsonrpc.Envelope], start: int, now: float) -> int:
        """As `Connection.observe`; a session with two names needs a closer look."""
        return 0 if self.state.names.ours else self._connection.observe(messages, start, now)

    def receive_oversized(self, side: Side, ends: bytes, now: float) -> list[Effect]:
        connection, state, reason = self._connection, self.state, "line_too_long"
        if side is Side.CLIENT:
            return self._to_the_client(connection.receive_oversized(side, ends, now))
        link = connection.at(now)
        answered = late.peek.of_skipped(ends).answered
        if answered not in state.own:
            return self._for_agent(connection.receive_oversized(side, ends, now))
        dropped = entries.record(link, Kind.FRAME_DROPPED, side="agent", reason=reason)
        lost = _answer_is_lost(connection, state, answered, reason)
        return self._for_agent([dropped, *lost])

    def _to_the_client(self, effects: list[Effect]) -> list[Effect]:
        """Return the effects of a line from the client that could not be received."""
        # Its answer may not have the id of a request that waits. What goes to the agent about it
        # has the id that the agent knows.
        effects = [
            Answer(Side.CLIENT, jsonrpc.NULL_ID, with_id(effect.frame, jsonrpc.NULL_ID))
            if isinstance(effect, Answer) and self.state.waits_with(effect.request_id)
            else effect
            for effect in effects
        ]
        return self._for_agent(translate(self.state, effects, None))

    def receive_stderr(self, data: bytes, now: float) -> list[Effect]:
        return self._for_agent(self._connection.receive_stderr(data, now))

    def receive_hint(self, hint: Hint, now: float) -> list[Effect]:
        """As `Connection.receive_hint`; the hint names its session as the agent does."""
        ours = self.state.names.ours.get(hint.session_id or "")
        if ours is not None:
            hint = msgspec.structs.replace(hint, session_id=ours)
        return self._for_agent(self._connection.receive_hint(hint, now))

    def receive_spending(self, spent: Spent, now: float) -> list[Effect]:
        return self._for_agent(self._connection.receive_spending(spent, now))

    def silent_turns(self, now: float, seconds: float) -> list[SilentTurn]:
        theirs = self.state.names.theirs
        return [
            msgspec.structs.replace(turn, session_id=theirs.get(turn.session_id, turn.session_id))
            for turn in self._connection.silent_turns(now, seconds)
        ]

    def looked(self, now: float) -> list[Effect]:
        effects = self.replaced(self._connection.looked(now))
        return self._for_agent(translate(self.state, effects, None))

    def receive_eof(self, side: Side, cause: Verdict | None, now: float) -> list[Effect]:
        """As `Connection.receive_eof`; what waits is kept for the next agent."""
        connection, state = self._connection, self.state
        if side is Side.CLIENT:
            effects = connection.receive_eof(side, cause, now)
            # It may still read the answers to what waits.
            gone = connection.link.agent_gone
            verdict = gone or failures.own_failure(ErrorType.AGENT_STALLED, "no_answer")
            return self._for_agent(effects + _refuse_all(connection, state.pop_all(), verdict))
        verdict = cause or failures.hung_up(connection.link)
        effects = connection.receive_eof(side, verdict, now)
        link = connection.link
        link.lose_agent(verdict)
        waiting = state.sessions_lost(s.session_id for s in link.sessions.values() if s.opened)
        effects += _refuse_unqueued(connection, state.enqueue_all(waiting))
        if verdict.reason == failures.SPAWN_FAILED:
            state.not_started(link.now)
            return effects + _refuse_all(connection, state.pop_queue(), verdict)
        state.crashed(link.now)
        if state.looping:
            # The answer to every request while the agent does nothing but crash.
            loop = failures.own_failure(ErrorType.AGENT_CRASH, "crash_loop", detail=verdict.detail)
            loop = msgspec.structs.replace(
                loop, exit_code=verdict.exit_code, exit_signal=verdict.exit_signal
            )
            link.lose_agent(loop)
            return effects + _refuse_all(connection, state.pop_queue(), loop)
        return effects + (_start(connection, state) if state.queue else [])

    def agent_started(self, now: float) -> list[Effect]:
        """Note that a `Restart` was carried out, and greet the new process as the client would."""
        link, state = self._connection.at(now), self.state
        state.started(link.now)
        first = state.queue[0].message.method if state.queue else None
        if link.greeting is None or first == acp.INITIALIZE:
            return _serve(self._connection, state)
        request_id = state.new_request(Purpose.GREET, link.now + acp.INITIALIZE_LIMIT_SECONDS)
        return [Send(Side.AGENT, with_id(link.greeting, request_id))]

    def withheld_frames(self) -> list[Effect]:
        return self._connection.withheld_frames()

    def next_timeout(self) -> float | None:
        dues = list(self.state.dues())
        inner = self._connection.next_timeout()
        if inner is not None:
            dues.append(inner)
        return min(dues, default=None)

    def handle_timeout(self, now: float) -> list[Effect]:
        connection, state = self._connection, self.state
        effects: list[Effect] = []
        # Prompts that have waited for another try are sent as if they came from the client now.
        for prompt in ending.due_prompts(connection.at(now)):
            passed = from_the_client(connection, state, prompt)
            effects += forwarded_as(passed, Send(Side.AGENT, prompt.line))
        effects += self.replaced(connection.handle_timeout(now))
        effects += sessions.note_opened(connection, state, effects)
        for own in state.pop_due(connection.link.now):
            if own.purpose is Purpose.GREET:
                stalled = failures.own_failure(ErrorType.AGENT_STALLED, "request_timeout")
                effects += _give_up(connection, state, stalled)
            else:
                effects += sessions.given_up(connection, state, own)
        if state.queue:
            effects += _start(connection, state)
        return self._for_agent(translate(state, effects, None))

    def replaced(self, effects: list[Effect]) -> list[Effect]:
        """Keep what waited for an agent that the link has killed, for the next one."""
        left: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Kill):
                unqueued = self.state.replace_agent(effect.unsent)
                left += [Kill(), *_refuse_unqueued(self._connection, unqueued)]
            else:
                left.append(effect)
        return left

    def stand_still(self, seconds: float) -> None:
        """As `Connection.stand_still`."""
        self._connection.stand_still(seconds)
        self.state.stand_still(seconds)

    @property
    def idle(self) -> bool:
        return not self.state.awaited() and self._connection.idle
