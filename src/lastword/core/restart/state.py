"""The state of a restart: what is remembered for the next agent, and when it may start.

Owns that state, the rules of its timing (backoff, crash loop, half-open attempts), and the two
names of a session, the client's and the agent's, with the renaming of frames. The names differ if a
restarted agent gives a new session the id of one that is not restored yet, as agents do that count
from 1 in every process: the new session then gets an id of ours. Everything inside this layer knows
only the client's names. `core.restart.layer` decides what is sent, and `core.restart.sessions`
handles the sessions.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from lastword.core.link.choices import Choices
from lastword.core.link.effects import FORWARD, Answer, Effect, PastRestarts, Send, Side
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from lastword.core.link.choices import Setting
    from lastword.core.protocol.jsonrpc import Frame


# --- the names of sessions

MAX_NAME_CHARS = 64
"""How much of the agent's id is part of ours, for people who read a log with both."""

GIVES_NAME = frozenset({"session/new", acp.FORK})
"""Requests whose answer names a new session."""


class Names:
    """The sessions that have two names.

    Attributes:
        ours: the client's name of each, by the agent's.
        theirs: the agent's name of each, by the client's.
    """

    __slots__ = ("_given", "ours", "theirs")

    def __init__(self) -> None:
        self.ours: dict[str, str] = {}
        self.theirs: dict[str, str] = {}
        self._given = 0

    def give(self, theirs: str, reserved: Container[str]) -> str:
        """Name a new session; an earlier session with the same agent's name loses its own."""
        self.release(theirs)
        ours = theirs
        while ours in reserved or ours == theirs:
            self._given += 1
            ours = f"{theirs[:MAX_NAME_CHARS]}-lastword-{self._given}"
        self.ours[theirs], self.theirs[ours] = ours, theirs
        return ours

    def release(self, theirs: str) -> str | None:
        """Forget the client's name for the agent's session, and return it."""
        ours = self.ours.pop(theirs, None)
        if ours is not None:
            del self.theirs[ours]
        return ours

    def for_agent(self, effects: list[Effect], frame: Frame | None) -> list[Effect]:
        """Rename what goes to the agent; `frame` is the client's that `Forward` passes.

        Without a session with two names, every effect is unchanged.
        """
        if not self.theirs:
            return effects
        renamed = list(effects)
        for index, effect in enumerate(effects):
            if effect is FORWARD and frame is not None:
                line = exchanged(frame.line, self.theirs)
                if line is not frame.line:
                    renamed[index] = Send(Side.AGENT, line)
            elif isinstance(effect, Send | Answer) and effect.to is Side.AGENT:
                line = exchanged(effect.frame, self.theirs)
                renamed[index] = msgspec.structs.replace(effect, frame=line)
        return renamed


def new_session(frame: Frame) -> str | None:
    """Return the session named by an answer to a request of `GIVES_NAME`."""
    given = object_of(jsonrpc.loads(frame.message.result)).get("sessionId")
    return given if isinstance(given, str) else None


def under(frame: Frame, names: Mapping[str, str]) -> Frame:
    """Return the frame with these sessions renamed, or the frame itself if it names none."""
    line = exchanged(frame.line, names)
    decoded = frame if line is frame.line else jsonrpc.decode(line)
    return decoded if isinstance(decoded, jsonrpc.Frame) else frame


def exchanged(line: bytes, names: Mapping[str, str]) -> bytes:
    """Return the line with these sessions renamed, or the line itself if it names none.

    A session is named by `sessionId` in the params or in the result, and in a result's list of
    sessions. Everything else is unchanged.
    """
    try:
        return _exchanged(line, names)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # A lone surrogate, which JSON allows and msgspec rejects.
        message = object_of(jsonrpc.loads(line))
    changed = False
    for key in ("params", "result"):
        members = object_of(message.get(key))
        listed = members.get("sessions")
        sessions = listed if isinstance(listed, list) else []
        for holder in (members, *map(object_of, sessions)):
            new = names.get(str(holder.get("sessionId")))
            if new is not None:
                holder["sessionId"], changed = new, True
    return jsonrpc.dumps(message) if changed else line


def _exchanged(line: bytes, names: Mapping[str, str]) -> bytes:
    message = msgspec.json.decode(line, type=dict[str, Raw])
    changed = False
    for key in ("params", "result"):
        raw = message.get(key)
        if raw is None or bytes(raw)[:1] != b"{":
            continue
        members = msgspec.json.decode(raw, type=dict[str, Raw])
        renamed = _with_name(members, names)
        listed = members.get("sessions")
        if listed is not None and bytes(listed)[:1] == b"[":
            sessions = msgspec.json.decode(listed, type=list[Raw])
            entries = [_entry(session, names) for session in sessions]
            if entries != sessions:
                members["sessions"], renamed = Raw(msgspec.json.encode(entries)), True
        if renamed:
            message[key], changed = Raw(msgspec.json.encode(members)), True
    return msgspec.json.encode(message) if changed else line


def _entry(session: Raw, names: Mapping[str, str]) -> Raw:
    if bytes(session)[:1] != b"{":
        return session
    members = msgspec.json.decode(session, type=dict[str, Raw])
    return Raw(msgspec.json.encode(members)) if _with_name(members, names) else session


def _with_name(members: dict[str, Raw], names: Mapping[str, str]) -> bool:
    """Rename the session of these members, if it is one of these."""
    named = jsonrpc.loads(members.get("sessionId", UNSET))
    new = names.get(named) if isinstance(named, str) else None
    if new is not None:
        members["sessionId"] = Raw(msgspec.json.encode(new))
    return new is not None


# --- the state

MAX_QUEUED = acp.MAX_WAITING
MAX_QUEUED_BYTES = acp.MAX_WAITING_BYTES
"""What may wait for an agent that is being started; more is refused, except that a single frame
always waits, whatever its size."""

FIRST_BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 30.0
HEALTHY_SECONDS = 300.0
"""An agent that lived this long starts with a clean record."""

MAX_CRASHES = 16
"""Crashes that are remembered: more than any rule counts."""

LOOP_WINDOW_SECONDS = 180.0
LOOP_CRASHES = 5
SHORT_LIFE_SECONDS = 5.0
LOOP_SHORT_LIVES = 3
MAX_GIVEN_UP = 64
"""Settings without an answer that are remembered; a session has a few."""

HALF_OPEN_SECONDS = 30.0
"""The shortest time between two starts in a crash loop, which are made when a request needs one."""


class Stage(Enum):
    """Where the restart stands."""

    DOWN = auto()
    """There is no agent; one is started when it is needed and may be."""
    STARTING = auto()
    """The shell was asked to start it."""
    GREETING = auto()
    """It runs, and has not answered the replayed `initialize`."""
    UP = auto()
    """It serves."""


class Purpose(Enum):
    """What a request of ours to the agent is for."""

    GREET = auto()
    BRING_BACK = auto()
    SET_AGAIN = auto()


class OwnRequest(msgspec.Struct, frozen=True):
    """A request of ours that the agent has not answered."""

    purpose: Purpose
    due: float
    session_id: str = ""


class GivenUp(msgspec.Struct, frozen=True):
    """A setting that the agent did not confirm in time, and may confirm later."""

    session_id: str
    setting: Setting


class ReturningSession(msgspec.Struct):
    """A session that is being restored.

    Attributes:
        waiting: the client's frames for it, in order.
        settings: requests that set its mode, model and options again.
        in_force: its current settings.
        listed: its options, as the agent last listed them.
        setting: the request of `settings` that was sent last.
        corrected: whether it was asked to switch to the mode that the client shows.
        ours: whether our own request to restore it is still open.
        reopening: whether the client has asked to open it itself and has no answer yet.
        reopened: whether the client has opened it itself, which counts if our request fails.
    """

    waiting: list[Frame]
    settings: list[Setting]
    in_force: Choices = msgspec.field(default_factory=Choices)
    listed: list[Any] | None = None
    setting: Setting | None = None
    corrected: bool = False
    ours: bool = True
    reopening: bool = False
    reopened: bool = False

    @property
    def silent(self) -> bool:
        """Whether the client has asked for nothing that the agent reports about it."""
        return not (self.reopening or self.reopened) and self.ours

    def reopen_answered(self, answer: object, *, opened: bool) -> None:
        """Note the result of the client's own requests, and whether one opened the session."""
        self.reopening, self.reopened = False, self.reopened or opened
        if opened:
            # Our own request was answered before, or counts for less: the client has this answer.
            self.in_force.read_answer(answer)
            self._note_list(answer)

    def fall_back(self) -> bool:
        """Leave it to the client's own request, if one is open, to restore the session."""
        if not self.reopening:
            return False
        self.ours = False
        return True

    def let_wait(self, frame: Frame) -> None:
        """Queue a frame from the client for the session."""
        self.waiting.append(frame)

    def next_setting(self) -> Setting:
        """Return the next request that restores a setting."""
        self.setting = self.settings.pop(0)
        return self.setting

    def answered(self, answer: object) -> None:
        """Note the agent's mode and options when it opens the session or sets them."""
        if self.setting is not None:
            self.in_force.chose(*self.setting, answer)
        else:
            self.in_force.read_answer(answer)
        self._note_list(answer)

    def reported(self, session_id: str, update: dict[str, Any]) -> None:
        """Note what the session reports of its mode and options in the meantime."""
        self.in_force.changed(session_id, update)
        self._note_list(update)

    def _note_list(self, answer: object) -> None:
        listed = object_of(answer).get("configOptions")
        if isinstance(listed, list):
            self.listed = listed

    def correct(self, session_id: str, shown: Choices) -> None:
        """If the client shows another mode, ask the session once to switch to it."""
        if self.setting is not None and shown.mode_set_by(self.setting) == shown.mode:
            # It was asked just now.
            self.corrected = True
        if self.settings or self.corrected or shown.mode is None:
            return
        if self.in_force.mode not in {None, shown.mode}:
            self.settings.append(shown.setting_of_mode(session_id, shown.mode))


class RestartState:
    """Everything about the restarts of one link's agent."""

    __slots__ = (
        "_crashes",
        "_short_lives",
        "generation",
        "given_up",
        "killed_by_us",
        "looping",
        "lost",
        "names",
        "not_before",
        "origin_of",
        "own",
        "queue",
        "queued_bytes",
        "renamed",
        "requests",
        "returning",
        "stage",
        "stale",
        "started_at",
    )

    def __init__(self, started_at: float) -> None:
        self.stage: Stage = Stage.UP
        self.generation: int = 0
        """How many agents there have been before this one."""
        self.started_at: float = started_at
        self.queue: list[Frame] = []
        self.queued_bytes: int = 0
        self.not_before: float = 0.0
        self.looping: bool = False
        self.killed_by_us: bool = False
        """We end the agent, so its end is not a crash."""
        self.own: dict[bytes, OwnRequest] = {}
        self.given_up: dict[bytes, GivenUp] = {}
        """Settings without which sessions were restored, by the ids of their requests."""
        self.requests: int = 0
        self.origin_of: dict[bytes, bytes] = {}
        """The agent's own id of each of its requests that the client knows by another."""
        self.renamed: dict[bytes, bytes] = {}
        self.stale: set[str] = set()
        """Sessions of an earlier agent that nobody has named yet."""
        self.returning: dict[str, ReturningSession] = {}
        """Those that the agent was asked to restore."""
        self.lost: set[str] = set()
        """Those that cannot be restored."""
        self.names: Names = Names()
        self._crashes: list[float] = []
        self._short_lives = 0

    @property
    def can_be_handed_over(self) -> bool:
        """Whether `past` is all that another process needs to continue with this agent."""
        pending = (self.names.ours, self.own, self.returning, self.queue)
        return self.stage is Stage.UP and not any(pending)

    @property
    def past(self) -> PastRestarts:
        """What a process that takes over the link must know."""
        return PastRestarts(
            self.generation,
            self.requests,
            list(self.origin_of.items()),
            list(self.stale),
            list(self.lost),
        )

    def restore(self, past: PastRestarts) -> None:
        """Restore the state of an earlier process."""
        self.generation, self.requests = past.generation, past.requests
        self.origin_of = dict(past.origins)
        self.renamed = {origin: new for new, origin in past.origins}
        self.stale, self.lost = set(past.stale), set(past.lost)

    def refuses(self, now: float) -> bool:
        """Return whether the agent keeps crashing, so that a request is not worth a start yet."""
        return self.stage is Stage.DOWN and self.looping and now < self.not_before

    def start(self, now: float) -> bool:
        """Return whether an agent may be started now: if it may, the shell is asked to."""
        if self.stage is not Stage.DOWN or now < self.not_before:
            return False
        self.stage = Stage.STARTING
        return True

    def started(self, now: float) -> None:
        """Note that a new process runs."""
        self.stage = Stage.GREETING
        self.generation += 1
        self.started_at = now

    def serves(self) -> None:
        """Note that the agent accepts requests."""
        self.stage = Stage.UP
        self.looping = False

    def replace_agent(self, unsent: Iterable[Frame]) -> list[Frame]:
        """Queue frames for the next agent while this one is ended; return those without room."""
        self.killed_by_us = True
        return self.enqueue_all(unsent)

    def crashed(self, now: float) -> None:
        """Note that the agent is gone, and compute when the next one may start."""
        # An agent that could not be started has not lived since its predecessor was started.
        lived = 0.0 if self.stage is Stage.STARTING else now - self.started_at
        self._down()
        if self.killed_by_us:
            self.killed_by_us = False
            self.not_before = now
            return
        if lived >= HEALTHY_SECONDS:
            self._crashes.clear()
        self._short_lives = self._short_lives + 1 if lived < SHORT_LIFE_SECONDS else 0
        self._crashes = [*self._crashes[1 - MAX_CRASHES :], now]
        recent = [at for at in self._crashes if now - at <= LOOP_WINDOW_SECONDS]
        self.looping = len(recent) >= LOOP_CRASHES or self._short_lives >= LOOP_SHORT_LIVES
        doubled = FIRST_BACKOFF_SECONDS * 2 ** min(len(self._crashes) - 1, 10)
        wait = HALF_OPEN_SECONDS if self.looping else min(doubled, MAX_BACKOFF_SECONDS)
        self.not_before = now + wait

    def _down(self) -> None:
        self.stage = Stage.DOWN
        self.own.clear()
        self.given_up.clear()
        self.origin_of.clear()
        self.renamed.clear()

    def not_started(self, now: float) -> None:
        """Note that a start failed; the next request tries again."""
        self._down()
        self.killed_by_us = False
        self.not_before = now + (HALF_OPEN_SECONDS if self.looping else FIRST_BACKOFF_SECONDS)

    def enqueue(self, frame: Frame) -> bool:
        """Queue a request for the agent; return `False` if there is no more room."""
        size = len(frame.line)
        full = len(self.queue) >= MAX_QUEUED or self.queued_bytes + size > MAX_QUEUED_BYTES
        if self.queue and full:
            return False
        self.queue.append(frame)
        self.queued_bytes += size
        return True

    def enqueue_all(self, frames: Iterable[Frame]) -> list[Frame]:
        """Queue frames for the agent; return those for which there is no more room."""
        return [frame for frame in frames if not self.enqueue(frame)]

    def remove(self, matches: Callable[[Frame], bool]) -> list[Frame]:
        """Remove and return the matching frames that wait for the agent or a session."""
        removed: list[Frame] = []
        for waiting in (self.queue, *(session.waiting for session in self.returning.values())):
            removed += [frame for frame in waiting if matches(frame)]
            waiting[:] = [frame for frame in waiting if not matches(frame)]
        self.queued_bytes = sum(len(frame.line) for frame in self.queue)
        return removed

    def waits_with(self, request_id: bytes) -> bool:
        """Return whether a request with this id waits for the agent or for a session."""
        sessions = self.returning.values()
        waiting = [self.queue, *(session.waiting for session in sessions)]
        return any(frame.message.request_id == request_id for each in waiting for frame in each)

    def pop_queue(self) -> list[Frame]:
        """Remove and return everything that waits for the agent."""
        queue, self.queue, self.queued_bytes = self.queue, [], 0
        return queue

    def pop_all(self) -> list[Frame]:
        """Remove and return everything that waits for the agent or for a session."""
        waiting = self.pop_queue()
        for session in self.returning.values():
            waiting += session.waiting
            session.waiting = []
        return waiting

    def sessions_lost(self, opened: Iterable[str]) -> list[Frame]:
        """Note that the agent's sessions are lost; return what waited for those being restored."""
        self.stale |= {session_id for session_id in opened if session_id not in self.lost}
        self.stale |= self.returning.keys() - self.lost
        waiting = [frame for session in self.returning.values() for frame in session.waiting]
        self.returning.clear()
        return waiting

    def begin_restoring(self, session_id: str, session: ReturningSession) -> None:
        """Note that the agent is asked to restore a session."""
        self.stale.discard(session_id)
        self.returning[session_id] = session

    def note_restored(self, session_id: str) -> None:
        """Note that a session is restored."""
        del self.returning[session_id]

    def loses(self, session_id: str) -> None:
        """Note that a session cannot be restored."""
        self.stale.discard(session_id)
        self.returning.pop(session_id, None)
        self.lost.add(session_id)

    def reopens(self, session_id: str) -> None:
        """Note that the client itself opens a session; if it is absent, what follows waits."""
        if session_id in self.stale | self.lost and session_id not in self.returning:
            self.returning[session_id] = ReturningSession([], [], ours=False)
        returning = self.returning.get(session_id)
        if returning is not None:
            returning.reopening = True

    def is_missing(self, session_id: str) -> bool:
        """Return whether the client knows a session with this id that the agent does not have."""
        return session_id in self.stale or session_id in self.lost or session_id in self.returning

    def opened(self, session_id: str) -> None:
        """Note that the current agent has a session with this id: no other needs restoring."""
        self.stale.discard(session_id)
        self.lost.discard(session_id)

    def ends(self, session_id: str) -> None:
        """Note that the client closes or deletes a session, which needs no restoring."""
        self.stale.discard(session_id)

    def stand_still(self, seconds: float) -> None:
        """Shift the clocks of our own requests by the time that they stood still."""
        for request_id, own in self.own.items():
            self.own[request_id] = msgspec.structs.replace(own, due=own.due + seconds)

    def new_request(self, purpose: Purpose, due: float, session_id: str = "") -> bytes:
        """Note a request of ours that is about to be sent, and return its id."""
        request_id = self.next_own_id()
        self.own[request_id] = OwnRequest(purpose, due, session_id)
        return request_id

    def answered(self, request_id: bytes) -> OwnRequest | None:
        """Return the request of ours that the agent answered, if it was ours."""
        return self.own.pop(request_id, None)

    def pop_due(self, now: float) -> list[OwnRequest]:
        """Remove and return the requests of ours that were not answered in time."""
        due = {request_id: own for request_id, own in self.own.items() if own.due <= now}
        for request_id, own in due.items():
            del self.own[request_id]
            returning = self.returning.get(own.session_id)
            setting = returning.setting if returning is not None else None
            if own.purpose is Purpose.SET_AGAIN and setting is not None:
                # The session no longer waits for it.
                if len(self.given_up) >= MAX_GIVEN_UP:
                    del self.given_up[next(iter(self.given_up))]
                self.given_up[request_id] = GivenUp(own.session_id, setting)
        return list(due.values())

    def confirmed_late(self, request_id: bytes) -> GivenUp | None:
        """Return the setting that the agent answers now, after it was given up."""
        return self.given_up.pop(request_id, None)

    def next_own_id(self) -> bytes:
        """Return an id for a request of ours to the agent, as JSON text."""
        self.requests += 1
        return f'"lastword:{self.generation}:{self.requests}"'.encode()

    def rename(self, origin: bytes) -> bytes:
        """Return the id by which the client knows a request from this agent.

        Every SDK numbers its requests from 0 in each process: under its own id, a late answer to
        the dead agent's dialog would answer another one of this agent's.
        """
        new = self.next_own_id()
        self.origin_of[new], self.renamed[origin] = origin, new
        return new

    def origin(self, renamed: bytes) -> bytes | None:
        """Return the agent's own id of a request that is being answered."""
        origin = self.origin_of.pop(renamed, None)
        if origin is not None:
            self.renamed.pop(origin, None)
        return origin

    def dues(self) -> Iterator[float]:
        """Yield the moments at which `core.restart.layer` has something to do."""
        for own in self.own.values():
            yield own.due
        if self.queue and self.stage is Stage.DOWN:
            yield self.not_before

    def awaited(self) -> bool:
        """Whether a request from the client waits for the agent."""
        return bool(self.queue) or any(session.waiting for session in self.returning.values())


def with_id(line: bytes, request_id: bytes) -> bytes:
    frame = jsonrpc.decode(line)
    return jsonrpc.with_id(frame, request_id) if isinstance(frame, jsonrpc.Frame) else line
