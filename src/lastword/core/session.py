"""The mutable state of one link: sessions, turns, open requests, and what both ends said they are.

Owns the data that the handlers of `core.from_client`, `core.from_agent`, `core.ending` and
`core.timers` work on, and the queries over it. Decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.facts import Facts, OpenTools
from lastword.core.handshake import AgentProfile, ClientProfile
from lastword.core.stderr import StderrRecord
from lastword.core.turn import FINAL, TABLE, Event, Move, State

if TYPE_CHECKING:
    from lastword.core import acp
    from lastword.core.classify import Verdict
    from lastword.core.jsonrpc import Frame
    from lastword.core.options import Options
    from lastword.core.revival import Revival
    from lastword.core.taxonomy import AgentError
    from lastword.core.tried import Tried


class Turn:
    """One prompt turn (version 2: one stretch of foreground work, with the prompts that joined)."""

    __slots__ = (
        "agent_error",
        "announced",
        "author_message",
        "cancelled",
        "facts",
        "failure_id",
        "failure_revision",
        "held",
        "held_until",
        "hidden",
        "idle_state",
        "number",
        "only_text",
        "overlapped",
        "prompts",
        "retries",
        "running_seen",
        "session",
        "slash",
        "started_at",
        "state",
        "stderr_mark",
        "stop_cause",
        "stop_due",
        "tried",
        "warned",
    )

    def __init__(self, link: Link, session: Session) -> None:
        link.turns += 1
        self.number = link.turns
        """Counted from 1 within the link."""
        self.session = session
        self.state = State.SENT
        self.prompts: list[bytes] = []
        """Ids of the prompts that have not been answered (version 1: always exactly one)."""
        self.started_at = link.now
        self.facts = Facts()
        self.slash = False
        self.overlapped = False
        self.running_seen = False
        self.warned = False
        self.stop_due: float | None = None
        """When the agent's grace after a cancel or stop runs out."""
        self.cancelled: tuple[bytes, ...] = ()
        """The prompts that the user's cancel was for; others may join the work after it."""
        self.stop_cause: Verdict | None = None
        """Why we stopped the turn."""
        self.held: Frame | None = None
        """An answer that says success with nothing shown, kept back for a moment."""
        self.held_until = 0.0
        self.idle_state: dict[str, Any] = {}
        """Version 2: the members of the idle update by which the agent itself ended the turn."""
        self.only_text: str | None = None
        """The turn's message, as long as it is a single chunk: it may be nothing but an error."""
        self.hidden: Verdict | None = None
        """A failure that the agent told of in the margin of an update."""
        self.retries = 0
        """How many retries of its model call the agent has told of."""
        self.failure_id = ""
        """What JetBrains AIR knows this turn's failure by, since a first record of it was sent."""
        self.failure_revision = 0
        """How many records it has had under that id."""
        self.agent_error: AgentError | None = None
        """The failure that the agent itself announced by an `agent_error` update."""
        self.announced = False
        """That update has reached the client as it came."""
        self.stderr_mark = link.stderr.total
        self.tried: tuple[Tried, ...] = ()
        """What the handler tried before it gave up, where it told."""
        self.author_message: str | None = None
        """The sentence that the handler's author wants the user to read."""

    @property
    def open(self) -> bool:
        """Has the turn not been answered yet?"""
        return self.state not in FINAL

    def step(self, event: Event) -> Move:
        """Take an event in: moves to the table's next state, and gives what is to be done."""
        self.state, move = TABLE[self.state, event]
        return move


class WaitingPrompt(msgspec.Struct, frozen=True):
    """A prompt held back while its session is in quarantine."""

    frame: Frame
    due: float


class Session:
    """What one session of the link has in progress."""

    __slots__ = (
        "asking",
        "last_content",
        "last_tool",
        "opened",
        "opening",
        "progress_at",
        "repeats",
        "session_id",
        "settings",
        "tool_before",
        "tool_repeats",
        "tools",
        "turns",
        "unresolved",
        "waiting",
    )

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.opened = False
        """Did the client open or name it? (Sub-agents' sessions it never saw.)"""
        self.opening: dict[str, Any] | None = None
        """With what the client opened it: working directory, MCP servers, further directories."""
        self.settings: dict[tuple[str, str], dict[str, Any]] = {}
        """The client's latest choices of mode, model and options: by method and option, the
        params."""
        self.turns: list[Turn] = []
        self.tools = OpenTools()
        self.asking: dict[bytes, float] = {}
        """The agent's open requests to the user, and since when: while one is open, no clock
        runs."""
        self.progress_at = 0.0
        self.unresolved: set[bytes] = set()
        """Prompts that we answered while the agent lives, and that it has not answered yet."""
        self.waiting: list[WaitingPrompt] = []
        self.last_content: object = None
        self.repeats = 0
        self.last_tool: tuple[str | None, object] = (None, None)
        self.tool_repeats = 0
        self.tool_before: tuple[object, int] = (None, 0)
        """What the call before the last asked for, and how often in a row that had been asked."""

    @property
    def quarantined(self) -> bool:
        """Is the agent still busy with a turn that the client was told is over?"""
        return bool(self.unresolved)

    def progress(self, now: float) -> None:
        """The agent showed life in this session."""
        self.progress_at = now
        for turn in self.turns:
            turn.warned = False

    def asked(self, request_id: bytes, now: float) -> None:
        """The agent asks the user something."""
        # Where questions overlap, the clocks stand from the first to the last answer.
        self.asking[request_id] = min(self.asking.values(), default=now)

    def answered(self, request_id: bytes, now: float) -> None:
        """The user answered: the clocks go on where they stood."""
        since = self.asking.pop(request_id, None)
        if since is not None and not self.asking:
            for turn in self.turns:
                # Only the turn's own clock stood: the grace after a cancel runs on.
                turn.started_at += now - max(since, turn.started_at)
            self.progress(now)

    def shift(self, seconds: float) -> None:
        """Let the clocks of this session's turns have stood for so long."""
        self.progress_at += seconds
        self.asking = {asked: since + seconds for asked, since in self.asking.items()}
        for turn in self.turns:
            turn.started_at += seconds
            turn.held_until += seconds
            if turn.stop_due is not None:
                turn.stop_due += seconds


class Request(msgspec.Struct):
    """A request that waits for its answer.

    Attributes:
        method: its method.
        session_id: the session it names.
        due: when we answer it in the agent's place; `None` is never.
        turn: the turn it started, for a prompt.
        sequence: the count of messages sent to that side when it was sent.
        params: what is remembered of its params, for a request that a new agent may need again.
    """

    method: str
    session_id: str | None = None
    due: float | None = None
    turn: Turn | None = None
    sequence: int = 0
    params: dict[str, Any] | None = None


class HeldError(msgspec.Struct, frozen=True):
    """An error without an id that may belong to the one open request."""

    frame: Frame
    request_id: bytes
    until: float


class Link:
    """Everything known about one client, one agent, and what is between them."""

    __slots__ = (
        "agent",
        "agent_gone",
        "client",
        "client_closed",
        "from_agent",
        "from_client",
        "greeting",
        "held_error",
        "incidents",
        "initialized",
        "now",
        "options",
        "own_requests",
        "redactions",
        "revival",
        "sent_to_agent",
        "sessions",
        "started_at",
        "stderr",
        "terminals",
        "turns",
        "withdrawn",
    )

    def __init__(self, options: Options) -> None:
        self.options = options
        self.now = 0.0
        self.client = ClientProfile()
        self.agent = AgentProfile()
        self.initialized = False
        self.client_closed = False
        self.agent_gone: Verdict | None = None
        self.sessions: dict[str, Session] = {}
        self.from_client: dict[bytes, Request] = {}
        """The client's open requests to the agent, by the JSON text of their id."""
        self.from_agent: dict[bytes, Request] = {}
        """The agent's open requests to the client."""
        self.withdrawn: dict[bytes, Request] = {}
        """Requests of a dead agent's that the client may still answer."""
        self.terminals: dict[str, str | None] = {}
        """Terminals that the agent has at the client, with their sessions."""
        self.own_requests = 0
        self.incidents = 0
        self.turns = 0
        """How many turns there have been."""
        self.held_error: HeldError | None = None
        self.sent_to_agent = 0
        """How many messages the client has sent; tells whether one was sent since another."""
        self.stderr = StderrRecord()
        self.redactions: dict[str, int] = {}
        self.greeting: bytes | None = None
        """The client's `initialize`, for an agent that is started again."""
        self.started_at = 0.0
        self.revival: Revival | None = None
        """Since the first crash: what is known of restarts."""

    @property
    def restarts(self) -> bool:
        """Will there be another agent after this one?"""
        return self.options.restart == "on-crash" and not self.client_closed

    @property
    def dialect(self) -> acp.Dialect:
        """The protocol version in force: the agent's answer, before it the client's wish."""
        return self.agent.dialect or self.client.dialect

    def session(self, session_id: str) -> Session:
        """The session of this id, made when it is first named."""
        session = self.sessions.get(session_id)
        if session is None:
            session = self.sessions[session_id] = Session(session_id)
        return session

    def open_turns(self) -> list[Turn]:
        """Every turn that has no answer yet."""
        return [turn for session in self.sessions.values() for turn in session.turns if turn.open]

    def next_incident(self) -> str:
        """An id for a failure, unique within the record."""
        self.incidents += 1
        return f"{self.options.incident_prefix}{self.incidents}"

    def next_request_id(self) -> bytes:
        """An id for a request of our own to the client, as JSON text."""
        self.own_requests += 1
        return f'"lastword:0:{self.own_requests}"'.encode()
