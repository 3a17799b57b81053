"""One client, one handler, the core between them: frames and exceptions in, frames out.

Owns which request a frame belongs to, and the warnings about handlers that break the rules. Does no
I/O: its shell provides a way to send to either side, and calls it when it is due.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link.connection import Connection
from lastword.core.link.effects import AGENT, CLIENT, Effect, Ends, FrameSink, Record, Side
from lastword.core.link.evidence import SilentTurn
from lastword.core.link.failopen import FailOpen
from lastword.core.protocol import acp, glued, jsonrpc
from lastword.core.timeline.entry import Kind
from lastword.inprocess import settings, stdio, waits
from lastword.inprocess.request import Request, note_outside_of_turns
from lastword.inprocess.settings import logger

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from lastword.core.classify import Verdict
    from lastword.core.link.agent_side import HandlerReport
    from lastword.core.link.evidence import Hint
    from lastword.core.link.options import LinkOptions
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.core.timeline.entry import Entry
    from lastword.inprocess.observed import TurnObserver, TurnRequests
    from lastword.inprocess.waits import SkippedTime

OWN_CANCEL_SECONDS = 0.5
"""How long an author's own handler of `session/cancel` may take to end a prompt before the prompt's
handler is cancelled."""

LAST_ANSWERS_SECONDS = 0.25
"""How long handlers may continue once the client is gone."""

LATE_SECONDS = 0.25
"""If a timer is this late, its process stood still, had no processor, or had a blocked loop. What
became ready meanwhile is handled first, once, within the same time again. `handling.LoopWatchdog`
detects a process that stood still and a loop that stays blocked."""

MAX_REFUSALS = 16
"""The number of the client's errors that are remembered, the latest ones."""


class HandlerLink:
    """The core, and the requests that handlers are working on.

    Every entry point takes the lock: a handler may use its own thread, and our watchdog thread may
    have to act when a handler blocks the event loop.
    """

    def __init__(  # noqa: PLR0913 - six options is our own limit
        self,
        options: LinkOptions,
        *,
        to_client: Callable[[bytes], None],
        to_handler: Callable[[Frame, Request | None], None],
        on_cancel: Callable[[list[Request]], None],
        rearm: Callable[[], None],
        read_ready: Callable[[], None] = lambda: None,
        note: Callable[[Entry], None] = settings.note,
    ) -> None:
        """Connect a core.

        Args:
            options: The options.
            to_client: Sends a frame, without its line end, at once.
            to_handler: Delivers a message from the client, with the request that it begins.
            on_cancel: Called with the requests whose handlers should stop.
            rearm: Called when `next_timeout` may have changed.
            read_ready: Passes on what the client has sent by now, without waiting.
            note: Receives the core's entries; it never raises.
        """
        self._skipped = waits.SKIPPED.get()
        """The time that a test has skipped; `None` outside such tests."""
        self._active_at = time.monotonic()
        self._not_before = 0.0
        """The earliest time of the next timer, after one was late."""
        if self._skipped is not None:
            options = waits.limits_that_pass(options)
        self._core = FailOpen(Connection(options), _report)
        self._ends = Ends(
            client=_Client(to_client, self._answered),
            agent=_Handlers(self._deliver),
            record=note,
            order=lambda _: None,  # handlers have no process to end or start
        )
        self._note_entry = note
        self._observer: TurnObserver | None = None
        if options.evidence == "inside":
            # Loaded for this option.
            from lastword.inprocess.observed import TurnObserver  # noqa: PLC0415

            self._observer = TurnObserver(self._observe)
        self._secrets = options.secrets
        self._under_way: list[Effect] = []
        """The effects that are being carried out."""
        self._to_handler = to_handler
        self._on_cancel = on_cancel
        self._rearm = rearm
        self._read_ready = read_ready
        self._requests: dict[bytes, Request] = {}
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._initialized = False
        self.client_gone: bool = False
        self.closing: bool = False
        """Whether no handler will answer any more."""
        self.door: asyncio.Task[Any] | None = None
        """The task that delivers the client's messages."""
        self._refusals: deque[tuple[object, object]] = deque(maxlen=MAX_REFUSALS)

    def from_client(self, line: bytes) -> None:
        self._stay_in_process()
        for frame in glued.decode_parts(line, may_quote=False):
            if isinstance(frame, jsonrpc.Frame) and frame.shallow:
                # Handlers take values, and no parser can decode a line nested this deep.
                frame = jsonrpc.Malformed(frame.line, jsonrpc.MALFORMED_JSON)  # noqa: PLW2901
            with self._lock:
                effects = self._core.receive(CLIENT, frame, self._moved())
                self._carry_out(effects, CLIENT, frame)
        self._rearm()

    def oversized(self, ends: bytes) -> None:
        """Receive the beginning and end of a line from the client that is over the limit."""
        with self._lock:
            self._carry_out(self._core.receive_oversized(Side.CLIENT, ends, self._moved()))
        self._rearm()

    def from_handler(self, line: bytes, request: Request | None) -> None:
        """Receive one frame from a handler, with the request that the handler works on."""
        self._stay_in_process()
        frame = jsonrpc.decode(line)
        message = frame.message if isinstance(frame, jsonrpc.Frame) else None
        with self._lock:
            self._look_at_requests(early=True)
            if request is not None and message and self._comes_too_late(message, request):
                if request.warn_once():
                    method = message.method or ""
                    settings.after_its_answer(method, request.method, dropped=request.failed)
                if request.failed:
                    if message.id is not UNSET:
                        # No other answer will come to a request of a turn that is over.
                        error = {
                            "code": acp.REQUEST_CANCELLED,
                            "message": "The turn of this request is over.",
                        }
                        request_id = message.request_id or jsonrpc.NULL_ID
                        refusal = jsonrpc.decode(jsonrpc.error(request_id, error))
                        if isinstance(refusal, jsonrpc.Frame):
                            self._to_handler(refusal, None)
                    return
            if message and message.method is not None:
                for at_work in self._requests.values():
                    if message.session_id in {None, at_work.session_id}:
                        for attempt in at_work.attempts:
                            attempt.note(message)
                note_outside_of_turns(message)
            effects = self._core.receive(AGENT, frame, self._moved())
            self._carry_out(effects, AGENT, frame)
        self._rearm()

    def say(self, request: Request, report: HandlerReport) -> None:
        """Receive a handler's report about its turn."""
        self._stay_in_process()
        with self._lock:
            self._look_at_requests(early=True)
            effects = self._core.receive_report(request.request_id, report, self._moved())
            self._carry_out(effects)
        self._rearm()

    def failed(self, request: Request, report: HandlerReport) -> bool:
        """Note that a handler raised; return `False` if the core cannot answer its request."""
        with self._lock:
            if self._core.blown:
                return False
            self.say(request, report)
            return not self._core.blown

    def read_ready(self, request: Request) -> None:
        """Receive what the client has sent by now, before the end of a prompt's handler.

        The handler may have blocked the loop that reads, so that a cancel was sent before its end.
        """
        if request.method == acp.PROMPT and not request.over and not self.client_gone:
            self._read_ready()

    def client_left(self) -> None:
        self._stay_in_process()
        with self._lock:
            if not self.client_gone:
                self.client_gone = True
                self._carry_out(self._core.receive_eof(Side.CLIENT, None, self._now()))

    def handler_left(self) -> None:
        """Note that no handler will answer any more: the process or its connection ends."""
        if os.getpid() != self._pid:
            return  # the parent's handlers continue
        if self._observer is not None:
            self._observer.stop()
        with self._lock:
            self.closing = True
            if self._requests and not self.client_gone:
                effects = self._core.receive_eof(Side.AGENT, _process_ends, self._now())
                self._carry_out(effects)

    def refused_by_client(self, error: object) -> bool:
        """Return whether this error object is the client's answer to a handler's request.

        In the handler, an SDK raises it just like the author's own errors. But a client that
        refuses to read a file is not asking for a login.
        """
        members = error if isinstance(error, dict) else {}
        return (members.get("code"), members.get("message")) in self._refusals

    def redacted(self, value: dict[str, Any]) -> dict[str, Any]:
        """Remove the secrets from what goes to the client without passing through the core."""
        # Imported when a handler raises: a healthy turn does not need it.
        from lastword.core.redact.redactor import Redactor  # noqa: PLC0415

        redacted: dict[str, Any] = Redactor(self._secrets).json(value)
        return redacted

    def _observe(self, request: Request, turn: TurnRequests, report: dict[str, Any]) -> None:
        """Receive a report about a turn's own request to a model provider."""
        with self._lock:
            if request.request_id not in self._requests:
                return
            now = self._moved()
            # The wait until now is counted before its cause changes.
            self._core.receive_silence(turn.requests.silence(None), now)
            self._hear(turn, turn.requests.note(report, now))
            self._core.receive_silence(turn.requests.silence(None), now)
        self._rearm()

    def _look_at_requests(self, *, early: bool = False) -> None:
        for turn in list(self._observer.turns.values()) if self._observer is not None else ():
            requests = turn.requests
            self._hear(turn, requests.look_early() if early else requests.look(self._now()))

    def _hear(self, turn: TurnRequests, hints: list[Hint]) -> None:
        for hint in hints:
            named = msgspec.structs.replace(hint, session_id=turn.session_id)
            self._carry_out(self._core.receive_hint(named, self._now()))
        for entry in turn.requests.entries([SilentTurn(turn.session_id or "", 0.0, 0.0)]):
            self._note_entry(entry)

    def _stay_in_process(self) -> None:
        """End a process that a handler forked: its actions here would be done twice."""
        # Before the lock, which another thread may have held at the fork.
        if os.getpid() != self._pid:
            stdio.end_speaker()

    def next_timeout(self) -> float | None:
        """Return when `handle_timeout` is due, in monotonic seconds."""
        with self._lock:
            due = self._core.next_timeout()
            body = self._observer.due if self._observer is not None else None
            if body is not None:
                due = body if due is None else min(due, body)
            if self._skipped is not None:
                # Check also whether the time until the next due moment can be skipped.
                due = self._skipped.sooner(due)
                if due is not None:
                    due -= self._skipped.seconds
                    if self.in_turn:
                        due = min(due, self._active_at + waits.QUIET_SECONDS)
            return None if due is None else max(due, self._not_before)

    def handle_timeout(self) -> None:
        self._stay_in_process()
        with self._lock:
            self._look_at_requests()
            self._carry_out(self._core.handle_timeout(self._now()))
        self._rearm()

    def ring(self, due: float) -> None:
        """Do what has been due since this moment, unless something ready must come first."""
        now = time.monotonic()
        if now - due > LATE_SECONDS and self._not_before != due:
            self._not_before = now + LATE_SECONDS
            self._rearm()
            return
        self.handle_timeout()
        if self._skipped is not None and self._skip(self._skipped):
            self.handle_timeout()

    def stand_still(self, seconds: float) -> None:
        """Note that the process stood still this long."""
        with self._lock:
            self._core.stand_still(seconds)

    def _now(self) -> float:
        """Return the core's clock."""
        return time.monotonic() + (0.0 if self._skipped is None else self._skipped.seconds)

    def _moved(self) -> float:
        """Return the core's clock, and note that one of the two sides does something."""
        if self._skipped is not None:
            self._active_at = time.monotonic()
        return self._now()

    def _skip(self, skipped: SkippedTime) -> bool:
        """Skip time if a turn has been quiet for long enough; return whether it was skipped."""
        with self._lock:
            skipped.skip_to(skipped.now())  # carry out what is due by itself
            soonest, now = skipped.sooner(self._core.next_timeout()), time.monotonic()
            is_quiet = self.in_turn and now >= self._active_at + waits.QUIET_SECONDS
            if soonest is None or not is_quiet:
                return False
            self._active_at = now
            skipped.skip_to(soonest)
            return True

    @property
    def in_turn(self) -> bool:
        with self._lock:
            return any(request.method == acp.PROMPT for request in self._requests.values())

    @property
    def open_requests(self) -> list[Request]:
        """Return the requests whose handlers have not answered."""
        return list(self._requests.values())

    def _carry_out(
        self,
        effects: list[Effect],
        side: Side | None = None,
        frame: Frame | jsonrpc.Malformed | None = None,
    ) -> None:
        # Meanwhile a handler may be started, and send something.
        outer, self._under_way = self._under_way, effects
        try:
            self._ends.carry_out(effects, side, frame)
        finally:
            self._under_way = outer

    def _answered(self, request_id: bytes, *, own: bool) -> None:
        """Note that the client gets an answer: the handler's, or the core's `own`."""
        request = self._requests.pop(request_id, None)
        if self._observer is not None:
            self._observer.turns.pop(request_id, None)
        if request is not None:
            # The core's answer is a failure, or an unconfirmed cancel.
            failed = own and any(
                isinstance(effect, Record)
                and (effect.entry.kind is Kind.ERROR or effect.entry.facts.get("by") == "lastword")
                for effect in self._under_way
            )
            request.end(failed=failed)

    def _deliver(self, frame: Frame) -> None:
        message = frame.message
        request: Request | None = None
        if message.method is not None and message.id is not UNSET:
            if not self._initialized and message.method == acp.PROMPT:
                settings.before_initialize()
            self._initialized = True
            request = Request(self, frame)
            self._requests[request.request_id] = request
        elif message.method is None and message.error is not UNSET:
            refusal = jsonrpc.loads(message.error)
            if isinstance(refusal, dict):
                self._refusals.append((refusal.get("code"), refusal.get("message")))
        elif message.method in {acp.CANCEL, acp.CANCEL_REQUEST}:
            if message.method == acp.CANCEL:
                cancelled = [
                    each
                    for each in self._requests.values()
                    if each.method == acp.PROMPT and each.session_id == message.session_id
                ]
            else:
                params = message.params
                named = b"" if params is UNSET or params.request_id is UNSET else params.request_id
                one = self._requests.get(jsonrpc.same_id(bytes(named))) if named else None
                cancelled = [one] if one else []
            for each in cancelled:
                each.request_cancel()
            if message.method == acp.CANCEL:
                self._to_handler(frame, None)
            if cancelled:
                self._on_cancel(cancelled)
            return
        self._to_handler(frame, request)

    def _comes_too_late(self, message: jsonrpc.Envelope, request: Request) -> bool:
        """Return whether this was sent for a turn that is over.

        The context shows in which request a task was started, not which one it works for: in many
        agents a session has a task that outlives the turn, or the `session/new`, that started it.
        """
        if message.method is None or not request.over or request.method != acp.PROMPT:
            return False
        if request.link is not self or message.session_id not in {None, request.session_id}:
            return False
        update = message.update
        if update is not None and update.session_update in acp.SESSION_STATE_KINDS:
            return False
        return not any(
            other.method == acp.PROMPT and other.session_id == request.session_id
            for other in self._requests.values()
        )


class _Client(FrameSink):
    """The client; answers to it end its requests."""

    __slots__ = ("_answered",)

    def __init__(self, write: Callable[[bytes], None], answered: Callable[..., None]) -> None:
        super().__init__(write)
        self._answered = answered

    def forward(self, frame: Frame | jsonrpc.Malformed) -> None:
        if isinstance(frame, jsonrpc.Frame) and frame.message.method is None:
            self._answered(frame.message.request_id or jsonrpc.NULL_ID, own=False)
        self.write(frame.line)

    def answer(self, request_id: bytes, line: bytes) -> None:
        self._answered(request_id, own=True)
        self.write(line)


class _Handlers(FrameSink):
    """The author's handlers, which take whole messages."""

    __slots__ = ("_deliver",)

    def __init__(self, deliver: Callable[[Frame], None]) -> None:
        super().__init__(self._read)
        self._deliver = deliver

    def forward(self, frame: Frame | jsonrpc.Malformed) -> None:
        if isinstance(frame, jsonrpc.Frame):
            self._deliver(frame)

    def _read(self, line: bytes) -> None:
        self.forward(jsonrpc.decode(line))


def _process_ends() -> Verdict:
    # Imported when the process ends in mid-turn.
    from lastword.core.classify import own_failure  # noqa: PLC0415

    return own_failure(ErrorType.AGENT_CRASH, "premature_exit")


def _report(error: Exception) -> None:
    logger.error(
        "A bug in lastword (%s: %s); from now on frames only pass through. Please report it.",
        type(error).__name__,
        error,
    )
