"""The mutable state of one link: its sessions, its open requests, and both ends' profiles.

Owns the data on which `core.link.client_side`, `core.link.agent_side`, `core.link.ending` and
`core.link.clocks` work, the queries over it, and the methods that change it. Decides nothing.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.retry_policy import RetryBucket
from lastword.core.failure.taxonomy import LIMITS, AgentError
from lastword.core.link import late
from lastword.core.link.effects import Kill
from lastword.core.link.evidence import WITHHELD_SECONDS, StderrRecord, TurnEvidence
from lastword.core.link.facts import Activity
from lastword.core.link.handshake import AgentProfile, ClientProfile
from lastword.core.link.session import Session, Turn
from lastword.core.link.turn import State
from lastword.core.protocol import jsonrpc

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.costs import Bill, Costs, Spending
    from lastword.core.link.decision import Decision, TurnSnapshot
    from lastword.core.link.evidence import Hint, Retrying
    from lastword.core.link.options import LinkOptions
    from lastword.core.link.waits import Question
    from lastword.core.protocol import acp
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.core.redact.redactor import Redactor

MAX_WITHDRAWN = 1000
"""Requests of dead agents that are remembered, to recognise late answers to them."""

MAX_LATE_MODELS = 16
"""Requests for another model that were given up and may still be answered."""

MAX_ANSWERED = 256
"""Ids of answered requests that are remembered, to tell a repeated answer from one whose id has the
wrong type."""


class OpenRequest(msgspec.Struct):
    """A request that waits for its answer.

    Attributes:
        method: its method.
        session_id: the session it names.
        due: when we answer it in the agent's place; `None` is never.
        turn: the turn it started, for a prompt.
        sequence: the count of messages sent to that side when it was sent.
        params: what to remember of its params, for a request that a new agent may need again.
        plain: the line as the client sent it, if the agent got a longer one.
        requests_events: whether the client itself asks for events that we might ask for.
        question: the clock of the agent's question to the user, which may go unanswered.
        expired: whether it was answered in the user's place.
        agents_id: the agent's own id for its request, if the client knows it by another.
        stderr_mark: for a request from the client, how much was on stderr before it.
    """

    method: str
    session_id: str | None = None
    due: float | None = None
    turn: Turn | None = None
    sequence: int = 0
    params: dict[str, Any] | None = None
    plain: bytes | None = None
    requests_events: bool = False
    question: Question | None = None
    expired: bool = False
    agents_id: bytes | None = None
    stderr_mark: int = 0

    def extend(self, until: float) -> None:
        """Give the agent until this moment to answer."""
        self.due = until

    @property
    def waits_for_resend(self) -> bool:
        """Whether the agent has answered it with a failure, so that it waits to be sent again."""
        return self.turn is not None and self.turn.waits


class WithheldError(msgspec.Struct, frozen=True):
    """An error held back: an empty one, or one without an id that may be the only request's."""

    frame: Frame
    request_id: bytes
    until: float


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Our own request that switches a session's model.

    Attributes:
        session_id: the session.
        model: the model that it asks for.
        before: the model that was in force.
        turn: the turn that waits for it; `None` if it restores the former model.
        due: when it is given up; `None` once it has been.
    """

    session_id: str
    model: str
    before: str | None
    turn: Turn | None
    due: float | None


class Presence(Enum):
    """Whether anybody is attached on the client's side."""

    ATTACHED = auto()
    DETACHED = auto()
    """Nobody now: turns and questions stay open for the next client."""
    LEFT = auto()
    """Gone for good: turns are cancelled, and no agent is started any more."""


class Link(msgspec.Struct, eq=False):
    """Everything known about one client, one agent, and what is between them."""

    options: LinkOptions
    now: float = 0.0
    client: ClientProfile = ClientProfile()
    agent: AgentProfile = AgentProfile()
    initialized: bool = False
    counts_output: bool = False
    """Whether the agent has reported output tokens in any turn."""
    presence: Presence = Presence.ATTACHED
    agent_gone: Verdict | None = None
    """Why there is no agent, while there is none."""
    ends_agent: bool = False
    """Is its process being ended because it did not stop a turn?"""
    sessions: dict[str, Session] = {}
    activities: dict[str, Activity] = {}
    """What the agent does beside a session's turns, for a client that wants to know."""
    from_client: dict[bytes, OpenRequest] = {}
    """The client's open requests to the agent, by the JSON text of their id."""
    from_agent: dict[bytes, OpenRequest] = {}
    """The agent's open requests to the client."""
    answered_by_agent: dict[bytes, None] = {}
    """The ids of the client's requests that were answered last, the latest last."""
    answered_by_client: dict[bytes, None] = {}
    """The same of the agent's."""
    withdrawn: dict[bytes, OpenRequest] = {}
    """Requests of a dead agent's that the client may still answer."""
    terminals: dict[str, str | None] = {}
    """Terminals that the agent has at the client, with their sessions."""
    own_requests: int = 0
    model_requests: dict[bytes, ModelRequest] = {}
    """Our own requests to the agent for another model, by their ids."""
    incidents: int = 0
    turns: int = 0
    """How many turns there have been."""
    turn_ended_at: float = 0.0
    """When the last of them ended."""
    wakes_soon: bool = False
    """Has a passing frame set a deadline nearer than the limits?"""
    withheld_error: WithheldError | None = None
    resent: dict[bytes, Turn] = {}
    """Turns whose prompts are being sent to the agent again, by the prompts' ids."""
    sent_to_agent: int = 0
    """How many messages the client has sent, which shows whether one followed another."""
    retry_bucket: RetryBucket = msgspec.field(default_factory=RetryBucket)
    costs: dict[str, Costs] = {}
    """What sessions have cost, once a cost was stated or is limited."""
    spending: Spending | None = None
    """The user's spending limit, since it first mattered."""
    stderr: StderrRecord = msgspec.field(default_factory=StderrRecord)
    redactions: dict[str, int] = {}
    expects_hints: bool = False
    """Are there sources besides the pipes that may give a failure's cause?"""
    client_requested_events: bool = False
    """Did the client itself ask for events that we might ask for?"""
    events_refused: bool = False
    """Did the agent refuse a request of the client's because of what we added to it?"""
    greeting: bytes | None = None
    """The client's `initialize`, for an agent that is started again."""
    started_at: float = 0.0
    """When the client sent it."""

    def __post_init__(self) -> None:
        """Use the process's bound on retries, if there is one."""
        self.retry_bucket = self.options.retry_bucket or self.retry_bucket

    @property
    def redactor(self) -> Redactor:
        """What removes secrets from a text of this link's, and counts them."""
        return late.redactor.Redactor(self.options.secrets, counts=self.redactions)

    @property
    def client_left(self) -> bool:
        return self.presence is Presence.LEFT

    @property
    def restarts(self) -> bool:
        """Whether another agent will follow this one."""
        on_crash = self.options.restart == "on-crash" and not self.options.in_process
        return on_crash and not self.client_left

    def note_presence(self, presence: Presence) -> bool:
        """Note that the client came or went; return `False` if that was already known."""
        if presence is self.presence or self.client_left:
            return False
        self.presence = presence
        return True

    def at(self, now: float) -> Link:
        self.now = now
        return self

    def expect_hints(self, *, present: bool) -> None:
        """Note whether there are sources besides the pipes."""
        self.expects_hints = present

    def send_plainly(self, request_id: bytes, request: OpenRequest) -> None:
        """Note that the agent refused a request that we extended: from now on nothing is added.

        The client's own request goes to the agent instead.
        """
        self.events_refused = True
        self.add_client_request(request_id, msgspec.structs.replace(request, plain=None))

    def greeted_by(self, client: ClientProfile, greeting: bytes) -> None:
        """Note the client's profile and its `initialize`, for agents that are started later."""
        self.client = client
        self.started_at = self.now
        self.greeting = greeting

    def initialize_answered(self, agent: AgentProfile) -> None:
        """Note that the agent has answered the client's `initialize`."""
        self.agent = agent
        self.initialized = True

    def lose_agent(self, verdict: Verdict) -> None:
        """Note why there is no agent: requests are refused, and no late answer is expected."""
        self.agent_gone = verdict
        self.model_requests.clear()
        for session in self.sessions.values():
            session.resolve_all()

    def end_agent(self, unsent: tuple[Frame, ...] = ()) -> Kill:
        """Return the order to end the agent, since it did not stop a turn."""
        self.ends_agent = True
        return Kill(unsent)

    def regain_agent(self, agent: AgentProfile | None) -> None:
        """Note that there is an agent again, with its profile if we greeted it."""
        self.agent = agent or self.agent
        self.agent_gone, self.ends_agent = None, False

    @property
    def dialect(self) -> acp.Dialect:
        """The protocol version in force: the agent's or, before its answer, the client's."""
        return self.agent.dialect or self.client.dialect

    def session(self, session_id: str) -> Session:
        """Return the session with this id, creating it when it is first named."""
        session = self.sessions.get(session_id)
        if session is None:
            session = self.sessions[session_id] = Session(session_id)
        return session

    def forget_session(self, session_id: str) -> None:
        del self.sessions[session_id]
        self.activities.pop(session_id, None)
        self.costs.pop(session_id, None)

    def client_sent(self) -> None:
        self.sent_to_agent += 1

    def add_client_request(self, request_id: bytes, request: OpenRequest) -> None:
        """Note a request from the client that waits for its answer."""
        self.from_client[request_id] = request
        self.client_requested_events = self.client_requested_events or request.requests_events

    def client_has_answer(self, request_id: bytes) -> None:
        if self.from_client.pop(request_id, None) is not None:
            _remember(self.answered_by_agent, request_id)

    def client_request_meant(self, request_id: bytes) -> bytes | None:
        """Return the client's open request that an answer with an unknown id must mean."""
        if request_id in self.answered_by_agent:
            return None
        return jsonrpc.only_same(request_id, self.from_client)

    def agent_request_meant(self, request_id: bytes) -> bytes | None:
        """Return the agent's open request that an answer with an unknown id must mean."""
        if request_id in self.answered_by_client or request_id in self.withdrawn:
            return None
        return jsonrpc.only_same(request_id, self.from_agent)

    def add_agent_request(self, request_id: bytes, request: OpenRequest) -> bytes:
        """Note a request from the agent, and return the id that it gets for the client.

        It is not the agent's id if the client may still answer an earlier request with that id:
        the answer would pass for one to this request.
        """
        if request_id in self.withdrawn:
            self.own_requests += 1
            name = f"lastword:{self.options.incident_prefix}request:{self.own_requests}"
            request_id, request.agents_id = jsonrpc.dumps(name), request_id
        self.from_agent[request_id] = request
        return request_id

    def agent_has_answer(self, request_id: bytes) -> OpenRequest | None:
        """Return the agent's request that is being answered, if it waited."""
        request = self.from_agent.pop(request_id, None)
        if request is not None:
            _remember(self.answered_by_client, request_id)
        return request

    def forget_question(self, request_id: bytes) -> None:
        """Note that the agent withdrew a question, which the client may still answer."""
        request = self.from_agent.get(request_id)
        if request is not None:
            request.question = None

    def withdraw(self, request_id: bytes, *, expired: bool = False) -> None:
        """Note that the agent withdrew a request, though the client may still answer it.

        An `expired` one was answered in the user's place. A client that never answers must not make
        us remember it forever.
        """
        if len(self.withdrawn) >= MAX_WITHDRAWN:
            del self.withdrawn[next(iter(self.withdrawn))]
        request = self.withdrawn[request_id] = self.from_agent.pop(request_id)
        request.expired = expired

    def pop_withdrawn(self, request_id: bytes) -> OpenRequest | None:
        """Return the withdrawn request that the client answers all the same, and forget it."""
        return self.withdrawn.pop(request_id, None)

    def terminal_created(self, terminal_id: str, session_id: str | None) -> None:
        """Note that the agent has a terminal at the client."""
        self.terminals[terminal_id] = session_id

    def terminal_released(self, terminal_id: str) -> None:
        self.terminals.pop(terminal_id, None)

    def pop_terminals(self) -> dict[str, str | None]:
        """Return the agent's terminals, and forget them."""
        terminals, self.terminals = self.terminals, {}
        return terminals

    def withhold_error(self, frame: Frame, until: float) -> bool:
        """Hold back an error without an id if it can only be for one open request.

        Returns whether it is held back.
        """
        at_agent = [
            (request_id, r) for request_id, r in self.from_client.items() if not r.waits_for_resend
        ]
        if len(at_agent) != 1 or at_agent[0][1].sequence != self.sent_to_agent:
            return False
        self.withheld_error = WithheldError(frame, at_agent[0][0], until)
        return True

    def withhold_empty_error(self, frame: Frame, request_id: bytes, until: float) -> bool:
        """Hold back an error that says nothing, unless one is held back; return whether it is."""
        if self.withheld_error is not None or not self.expects_hints:
            return False
        self.withheld_error = WithheldError(frame, request_id, until)
        return True

    def pop_withheld_error(self) -> WithheldError | None:
        """Return the error that was held back, if any, and forget it."""
        error, self.withheld_error = self.withheld_error, None
        return error

    def pop_redactions(self) -> dict[str, int] | None:
        """Return the matches of each redaction rule since the last call."""
        counts = dict(self.redactions)
        self.redactions.clear()
        return counts or None

    def open_turns(self) -> list[Turn]:
        """Return every turn that has no answer yet."""
        return [turn for session in self.sessions.values() for turn in session.turns if turn.open]

    def new_model_request(self, request: ModelRequest) -> bytes:
        """Note our own request to the agent, and return its id as JSON text.

        The run's id keeps it apart from those of another lastword in front of this one.
        """
        self.own_requests += 1
        # It is sent like one of the client's.
        self.client_sent()
        name = f"lastword:{self.options.incident_prefix}model:{self.own_requests}"
        request_id = jsonrpc.dumps(name)
        self.model_requests[request_id] = request
        return request_id

    def pop_model_request(self, request_id: bytes) -> ModelRequest | None:
        """Return the request of our own that the agent answers, if it is one, and forget it."""
        return self.model_requests.pop(request_id, None)

    def pop_late_model_requests(self) -> list[ModelRequest]:
        """Return our own requests that are due, and give them up.

        They are remembered, since a late answer may still change the model.
        """
        late = [
            (request_id, request)
            for request_id, request in self.model_requests.items()
            if request.due is not None and request.due <= self.now
        ]
        for request_id, request in late:
            self.model_requests[request_id] = msgspec.structs.replace(request, due=None)
        given_up = [each for each, request in self.model_requests.items() if request.due is None]
        for request_id in given_up[:-MAX_LATE_MODELS]:
            del self.model_requests[request_id]
        return [request for _, request in late]

    def switches_model(self, session_id: str) -> bool:
        """Return whether the session waits for another model, or for the former one."""
        return any(
            request.session_id == session_id
            and request.due is not None
            and (request.turn is None or request.turn.waits_for_model)
            for request in self.model_requests.values()
        )

    def stand_still(self, seconds: float) -> None:
        """Shift every clock by the time that it stood still."""
        for request_id, own in self.model_requests.items():
            if own.due is not None:
                later = msgspec.structs.replace(own, due=own.due + seconds)
                self.model_requests[request_id] = later
        for session in self.sessions.values():
            session.shift(seconds)
        for activity in self.activities.values():
            activity.shift(seconds)
        self.turn_ended_at += seconds
        if self.spending is not None:
            self.spending.shift(seconds)
        for request in (*self.from_client.values(), *self.from_agent.values()):
            if request.due is not None:
                request.due += seconds
            if request.question is not None:
                request.question.shift(seconds)

    def requeue(self, turn: Turn) -> None:
        """Note that a prompt is being sent again."""
        (request_id,) = turn.prompts
        request = self.from_client.get(request_id)
        if request is not None and request.turn is turn:
            # A client may have used the id again.
            del self.from_client[request_id]
        self.resent[request_id] = turn

    def turn_of(self, session: Session, request_id: bytes) -> Turn:
        """Return the turn of a prompt that is being sent: a new one, unless it is sent again."""
        turn = self.resent.pop(request_id, None)
        if turn is None:
            return self.new_turn(session)
        turn.renew(self.now, self.stderr.total)
        return turn

    def count_turns(self, turns: int) -> None:
        """Note how many turns there have been, in this process or before it."""
        self.turns = max(self.turns, turns)

    def new_turn(self, session: Session) -> Turn:
        self.turns += 1
        evidence = TurnEvidence(self.stderr.total)
        return Turn(number=self.turns, session=session, started_at=self.now, evidence=evidence)

    def forget(self, turn: Turn) -> None:
        """Forget a turn that has been answered: nothing waits for it any more."""
        session = turn.session
        for prompt in turn.prompts:
            self.client_has_answer(prompt)
        ended_well = turn.state is State.ENDED and not turn.cancelled
        spending = self.spend_limit() if self.options.spend_limit and ended_well else None
        if (
            spending is not None
            and not turn.slash
            and turn.facts.output
            and not any(self.bill_of(session).costs.spent.values())
        ):
            # It should have a cost, which may still be stated.
            spending.expect_cost(session.session_id, self.now + late.costs.LATE_SECONDS)
            self.wakes_soon = True
        session.end(turn)
        activity = self.activities.get(session.session_id)
        if activity is not None and not session.turns:
            activity.end_turn()
        self.turn_ended_at = self.now

    def decide(self, turn: Turn) -> Decision:
        decided = turn.decide(self.snapshot(turn))
        if isinstance(decided.cause, AgentError) or decided.cause.type not in LIMITS:
            return decided
        # This depends on the time of day, which is not part of the snapshot.
        limit, now = turn.session.account_limit, self.options.local_time()
        verdict = late.limits.settle(decided.cause, limit, now, self.options.zone_of)
        return msgspec.structs.replace(decided, cause=verdict)

    def note_output_tokens(self, count: int | None) -> None:
        """Note how many output tokens the agent has stated for a turn."""
        self.counts_output = self.counts_output or bool(count)

    def snapshot(self, turn: Turn) -> TurnSnapshot:
        return turn.snapshot(self.agent.name, self.stderr, self.now)

    def withhold_retry(self, turn: Turn, hint: Hint, seconds: float = WITHHELD_SECONDS) -> None:
        """Withhold a retry for a moment: the wait sets a near deadline."""
        turn.reported.withhold(hint, self.now, seconds)
        self.wakes_soon = True

    def may_send_retry(self, turn: Turn, retry: Retrying, what_next: str) -> bool:
        """Return whether a retry may be reported now; otherwise it is due soon."""
        may_send = turn.reported.may_send(retry, what_next, self.now)
        self.wakes_soon = self.wakes_soon or not may_send
        return may_send

    def spend_limit(self) -> Spending | None:
        """Return the sums for the user's spending limit; `None` without one."""
        if self.spending is None and self.options.spend_limit:
            self.spending = late.costs.spending_of(self.options.spend_limit)
        now = self.options.local_time() if self.spending is not None else None
        if self.spending is not None and now is not None:
            # A turn may continue beyond midnight, before the shell looks for a new day.
            self.spending.begin_day(now.date().isoformat())
        return self.spending

    def bill_of(self, session: Session) -> Bill:
        """Return what a session has cost, including earlier costs that the shell has reported."""
        costs = self.costs.get(session.session_id)
        if costs is None:
            spending = self.spend_limit()
            shared = spending.shared.sessions if spending is not None else {}
            # A new session has cost nothing, whatever another with its id had.
            earlier = {} if session.is_new else shared.get(session.session_id, {})
            costs = self.costs[session.session_id] = late.costs.Costs(session.session_id, earlier)
        return late.costs.Bill(session.session_id, session.last_turn, costs)

    def note_spent_out(self, spending: Spending, bill: Bill) -> None:
        """Note a cost at the limit, after which the agent may soon be ended."""
        spending.note_reached(bill, self.now, self.options.cancel_grace_seconds)
        self.wakes_soon = True

    def note_activity(self, session: Session, kind: str) -> str:
        """Receive an update, which may set a near deadline; return the word if it changes."""
        activity = self.activities.get(session.session_id)
        if activity is None:
            return ""
        self.wakes_soon = True
        return activity.word if activity.note(kind, self.now) else ""

    def begin_activity(self, session: Session) -> None:
        """Note that a turn begins, for a client that wants to know what happens outside turns."""
        activity = self.activities.get(session.session_id)
        if activity is None:
            activity = self.activities[session.session_id] = Activity()
        activity.begin_turn()

    def pop_wake(self) -> bool:
        """Return whether a frame that passes has set a near deadline, and forget it."""
        woken, self.wakes_soon = self.wakes_soon, False
        return woken

    def next_incident(self) -> str:
        """Return an id for a failure, unique within the record."""
        self.incidents += 1
        return f"{self.options.incident_prefix}{self.incidents}"

    def next_request_id(self) -> bytes:
        """Return an id for our own request to the client, as JSON text."""
        self.own_requests += 1
        return f'"lastword:0:{self.own_requests}"'.encode()


def _remember(answered: dict[bytes, None], request_id: bytes) -> None:
    """Note the id of the latest answered request, forgetting the oldest if there are too many."""
    answered.pop(request_id, None)
    answered[request_id] = None
    if len(answered) > MAX_ANSWERED:
        del answered[next(iter(answered))]
