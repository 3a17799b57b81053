"""The connector's shell: stdin, stdout, one socket, one timer, the clock and random numbers.

Owns driving the reconnect policy, and flow control: it reads from the gateway no faster than the
editor does, and from the editor no faster than the gateway does. Stdin and stdout may be what event
loops cannot wait for (files, terminals, any pipe of Windows that was not made for it): a thread
stands between. A connector's own errors, as words and numbers, are reported to the gateway's
operator when the gateway answers again; those that still wait when the editor ends are lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
from websockets.exceptions import ConnectionClosed

from lastword.client import reconnect
from lastword.client.link_words import word_of_close
from lastword.client.reconnect import LinkPhase, Signal
from lastword.client.reconnect_model import progress_line
from lastword.gateway.connecting import dial, failures
from lastword.gateway.connecting.dial import AddressError
from lastword.gateway.connecting.positions import (
    ConnectEffect,
    Dial,
    Greeted,
    HangUp,
    NotGreeted,
    OwnError,
    Say,
    ToEditor,
    ToGateway,
)
from lastword.gateway.wire import is_loopback
from lastword.outbox.post import PostError, post
from lastword.platform.pipes import is_polled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastword.gateway.connecting.core import Connector
    from lastword.gateway.connecting.dial import GatewaySocket, TokenSource
    from lastword.gateway.connecting.ssh import Elsewhere
    from lastword.gateway.connecting.status_line import StatusLine


LINE_LIMIT_BYTES = 80 * 1024 * 1024
HIGH_WATER_BYTES = 256 * 1024
_PIECE_BYTES = 64 * 1024


async def reader_of(descriptor: int) -> asyncio.StreamReader:
    """Return a stream that reads from a descriptor."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT_BYTES, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    if not is_polled(descriptor):
        ours, theirs = socket.socketpair()
        threading.Thread(target=_pump_in, args=(descriptor, theirs), daemon=True).start()
        # Not `open_connection`, whose writer would close the socket once nobody refers to it.
        await loop.create_connection(lambda: protocol, sock=ours)
        return reader
    file = os.fdopen(descriptor, "rb", buffering=0, closefd=False)
    await loop.connect_read_pipe(lambda: protocol, file)
    return reader


async def writer_to(
    descriptor: int,
) -> tuple[asyncio.StreamWriter, threading.Thread | None]:
    """Return a stream that writes to a descriptor.

    Returns:
        The stream, and the thread between them if there is one: it ends, all written, after the
        stream was closed.
    """
    if not is_polled(descriptor):
        ours, theirs = socket.socketpair()
        pump = threading.Thread(target=_pump_out, args=(theirs, descriptor), daemon=True)
        pump.start()
        _, writer = await asyncio.open_connection(sock=ours)
        writer.transport.set_write_buffer_limits(HIGH_WATER_BYTES)
        return writer, pump
    loop = asyncio.get_running_loop()
    file = os.fdopen(descriptor, "wb", buffering=0, closefd=False)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop=loop), file
    )
    transport.set_write_buffer_limits(HIGH_WATER_BYTES)
    return asyncio.StreamWriter(transport, protocol, None, loop), None


def _pump_in(descriptor: int, into: socket.socket) -> None:
    with into, contextlib.suppress(OSError):  # the loop sees the end by itself
        while piece := os.read(descriptor, _PIECE_BYTES):
            into.sendall(piece)


def _pump_out(out_of: socket.socket, descriptor: int) -> None:
    with out_of, contextlib.suppress(OSError):
        while piece := out_of.recv(_PIECE_BYTES):
            while piece:
                piece = piece[os.write(descriptor, piece) :]


MAX_WAITING = 20
PER_MINUTE = 20
"""A third of what the gateway accepts from one address (`EVT-9`)."""

MAX_SESSIONS = 8
"""One error is reported for at most this many sessions."""

POST_SECONDS = 5.0
MIN_CODE, MAX_CODE = 1000, 4999
OK, REDIRECT, NOT_FOUND, TOO_MANY, SERVER_ERROR = 200, 300, 404, 429, 500
SERVICE_UNAVAILABLE = 503


def places_of(url: str) -> list[str]:
    """Return the URLs where this WebSocket's gateway may take reports, likeliest first.

    A proxy may serve it below a path that the gateway does not know: `/team/acp` is beside
    `/team/v1`. If the path is the gateway's own `--path`, `/v1` is at the root.
    """
    parts = urlsplit(url)
    scheme = "https" if parts.scheme == "wss" else "http"
    folders = parts.path.split("/")[1:-1]
    paths = (
        "/".join(["", *folders[:depth], "v1", "client-events"])
        for depth in range(len(folders), -1, -1)
    )
    return [urlunsplit((scheme, parts.netloc, path, parts.query, "")) for path in paths]


class ConnectReports:
    """Errors that have not been reported yet."""

    def __init__(self, url: str, tokens: TokenSource) -> None:
        """Report to the gateway of this WebSocket address."""
        self._urls = places_of(url)
        """Where reports may be accepted; once one has been, only that URL."""
        self._is_near = is_loopback(urlsplit(url).hostname or "")
        self._tokens = tokens
        self._waiting: deque[bytes] = deque()
        self._sent_at: deque[float] = deque(maxlen=PER_MINUTE)
        self._sending: threading.Thread | None = None

    def lost(self, sessions: Iterable[str], code: int, reason: str, lasted_seconds: float) -> None:
        """A link that served these sessions has ended."""
        known = word_of_close(code, reason)
        facts: dict[str, Any] = {"lasted_ms": max(0, round(lasted_seconds * 1000))}
        if MIN_CODE <= code <= MAX_CODE:
            facts["code"] = code
        self.note(known.word if known is not None else f"closed_{code}", sessions, **facts)

    def note(self, word: str, sessions: Iterable[str] = (), **facts: int) -> None:
        """Note an error that affected these sessions; errors over the limit are dropped."""
        for session_id in list(sessions)[:MAX_SESSIONS] or [""]:
            if len(self._waiting) < MAX_WAITING:
                about = {"session_id": session_id} if session_id else {}
                report = {"source": "connect", "word": word} | about | facts
                self._waiting.append(msgspec.json.encode(report))

    def send(self) -> None:
        """Send what is waiting, in the background: the gateway answers."""
        if self._waiting and (self._sending is None or not self._sending.is_alive()):
            self._sending = threading.Thread(target=self._send, name="reports", daemon=True)
            self._sending.start()

    def _send(self) -> None:
        while self._waiting:
            now = time.monotonic()
            if len(self._sent_at) == PER_MINUTE and now - self._sent_at[0] < 60.0:  # noqa: PLR2004
                return
            self._sent_at.append(now)
            report = self._waiting.popleft()
            try:
                headers = {
                    "authorization": f"Bearer {self._tokens.take()}",
                    "content-type": "application/json",
                }
                status = NOT_FOUND
                for url in self._urls:
                    answer = post(url, report, headers, POST_SECONDS, proxied=not self._is_near)
                    status = answer.status
                    if OK <= status < REDIRECT:
                        self._urls = [url]
                    if status != NOT_FOUND:
                        break
            except (AddressError, PostError):
                status = SERVER_ERROR  # no answer
            if status == TOO_MANY or status >= SERVER_ERROR:
                self._waiting.appendleft(report)
                return


STDIN, STDOUT = 0, 1
LEAVE_SECONDS = 2.0
SEEK_SECONDS = 15 * 60.0
"""How long a machine behind `ssh` is searched for during a turn: a ride without a network."""
NORMAL = 1000
TOO_LONG = b'"'
"""Stands for a line over the limit: no message."""


class ConnectShell:
    """One run of `lastword connect`."""

    def __init__(
        self,
        connector: Connector,
        url: str,
        tokens: TokenSource,
        status: StatusLine,
        *,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Prepare a run.

        Args:
            connector: Decides what is sent.
            url: The gateway's WebSocket address.
            tokens: Where each attempt's token comes from.
            status: The line for people.
            elsewhere: The other machine, if the agent works on one.
        """
        self._connector = connector
        self._url = url
        self._host = elsewhere.host if elsewhere is not None else ""
        self._elsewhere = elsewhere
        self._searching_since: float | None = None
        """Since when a machine behind `ssh` has been searched for without a pause."""
        self._tokens = tokens
        self._status = status
        self._reports = ConnectReports(url, tokens)
        self._failure: Exception | None = None
        """What the last attempt failed with."""
        self._attached_at: float | None = None
        """Since when the link has been usable; `None` while it is not."""
        self._state: reconnect.ReconnectState | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._teller: asyncio.TimerHandle | None = None
        self._attempt: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._socket: GatewaySocket | None = None
        self._outgoing: list[bytes] = []
        self._has_outgoing = asyncio.Event()
        self._is_superseded = asyncio.Event()
        self._editor_is_slow = False
        self._over = asyncio.Event()
        self._editor: asyncio.StreamWriter | None = None
        self._pump: threading.Thread | None = None

    async def run(self) -> None:
        """Serve the editor until it closes its end."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(number, self._over.set)
            except NotImplementedError:  # on Windows, where a handler has to wake the loop itself
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self._over.set))
        reader = await reader_of(STDIN)
        self._editor, self._pump = await writer_to(STDOUT)
        reading = asyncio.create_task(self._read_editor(reader))
        await self._over.wait()
        reading.cancel()
        # The editor has gone; what is still to be sent is sent, within a bound.
        for handle in (self._timer, self._teller):
            if handle is not None:
                handle.cancel()
        self._state = None  # what the socket's end means no longer matters
        socket, self._socket = self._socket, None
        if socket is not None:
            with contextlib.suppress(TimeoutError, ConnectionClosed, OSError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    for line in self._outgoing:
                        await socket.send(line, text=True)
                    await socket.close(1000, "the editor has closed")
        if self._attempt is not None:
            self._attempt.cancel()
        if self._editor is not None:
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await self._editor.drain()
                    if self._pump is not None:
                        self._editor.close()
                        await asyncio.to_thread(self._pump.join, LEAVE_SECONDS)

    # The editor.

    async def _read_editor(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                try:
                    line = await reader.readline()
                except ValueError:  # longer than any message may be
                    line = TOO_LONG + b"\n"
                if not line:
                    return
                line = line.rstrip(b"\r\n")
                if self._elsewhere is not None:
                    line = self._elsewhere.changed(line)
                    for name in self._elsewhere.left_out:
                        self._status.say(
                            f"MCP server {name} is a command of this machine, so it is left out"
                        )
                    self._elsewhere.left_out.clear()
                self._carry_out(self._connector.from_editor(line, time.monotonic()))
                while self._connector.is_full or len(self._outgoing) > 1:
                    self._is_superseded.clear()
                    await self._is_superseded.wait()
        finally:
            self._over.set()

    async def _wait_for_editor(self) -> None:
        """Wait until the editor reads, so that its frames do not accumulate here."""
        if self._editor is None:
            return
        self._editor_is_slow = True
        try:
            await self._editor.drain()
        except OSError:
            self._over.set()
        finally:
            self._editor_is_slow = False

    # Effects and events.

    def _carry_out(self, effects: list[ConnectEffect]) -> None:
        for effect in effects:
            match effect:
                case ToEditor() if self._editor is not None and not self._editor.is_closing():
                    self._editor.write(effect.line + b"\n")
                case ToEditor():
                    self._over.set()
                case ToGateway():
                    self._outgoing.append(effect.line)
                    self._has_outgoing.set()
                case Greeted():
                    self._attached_at = time.monotonic()
                    self._searching_since = None
                    if not self._host:  # else its address is another machine's
                        self._reports.send()
                    self._step(reconnect.Attached(effect.updates, probes=True))
                case NotGreeted():
                    self._step(reconnect.Refused(SERVICE_UNAVAILABLE))
                case Dial():
                    if self._state is None:
                        self._state = reconnect.initial(_now())
                        self._step(Signal.TICK)
                    elif self._state.phase in {LinkPhase.GAVE_UP, LinkPhase.ENDED}:
                        self._step(Signal.RETRY)
                case HangUp():
                    self._step(Signal.CLOSE)
                case Say():
                    self._status.say(effect.line)
                case OwnError():
                    self._reports.note(effect.word, [effect.session_id])
        self._arm_teller()

    def _step(self, event: reconnect.Event) -> None:
        if self._state is None:
            return
        self._state, actions = reconnect.step(self._state, event, _now(), random.random())  # noqa: S311
        for action in actions:
            match action:
                case reconnect.Connect():
                    self._drop(1000, "")
                    self._attempt = asyncio.create_task(self._connect())
                case reconnect.CloseSocket():
                    self._note_lost(action.code, action.reason)
                    self._drop(action.code, action.reason)
                case reconnect.Probe():
                    self._carry_out(self._connector.probe(time.monotonic()))
                case reconnect.Show():
                    self._status.show(action.line)
                    self._report(action.line)
                case reconnect.GiveUp() if self._keeps_trying(action):
                    asyncio.get_running_loop().call_soon(self._step, Signal.RETRY)
                case reconnect.GiveUp():
                    self._searching_since = None
                    sessions = self._connector.session_ids
                    self._reports.note("gave_up", sessions, tries=self._state.tries)
                    self._drop(1000, "")
                    end = dial.end_of(action, self._failure)
                    cause = f" ({end.cause})" if end.cause else ""
                    self._status.show(failures.sentence_of(end) + cause)
                    self._carry_out(self._connector.gave_up(end))
                    self._is_superseded.set()
                case reconnect.WaitUntil():
                    self._arm(action.until)

    def _keeps_trying(self, end: reconnect.GiveUp) -> bool:
        """Return whether to keep trying: behind `ssh`, it is the network here that is down."""
        is_worth_it = self._host and self._connector.has_turns
        if not is_worth_it or end.why is not reconnect.Why.UNREACHABLE:
            return False
        now = time.monotonic()
        self._searching_since = self._searching_since or now
        return now - self._searching_since < SEEK_SECONDS

    def _arm(self, until: int | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if until is not None:
            wait = max(until - _now(), 0) / 1000
            self._timer = asyncio.get_running_loop().call_later(wait, self._tick)

    def _tick(self) -> None:
        self._timer = None
        has_moved = self._socket is not None and self._socket.has_moved()
        # An answer may have come that was not read, or be behind a long frame on a slow link.
        if self._editor_is_slow or has_moved:
            self._step(Signal.FRAME)
        self._step(Signal.TICK)
        if self._timer is None and self._state is not None:
            self._arm(reconnect.timer(self._state))  # the clock's grain: a little early

    def _arm_teller(self) -> None:
        due = self._connector.tells_at()
        if due is None or self._teller is not None:
            return
        wait = max(due - time.monotonic(), 0) + 0.001
        self._teller = asyncio.get_running_loop().call_later(wait, self._tell)

    def _tell(self) -> None:
        self._teller = None
        if self._state is not None:
            self._report(self._state.line or progress_line(self._state, _now()))
        self._arm_teller()

    def _report(self, line: str) -> None:
        state = self._state
        if not line or state is None or state.phase is LinkPhase.ATTACHED:
            return
        waits = state.phase is LinkPhase.WAITING and state.due is not None
        wait = max((state.due or 0) - _now(), 0) / 1000 if waits else 0.0
        effects = self._connector.tell(
            time.monotonic(),
            line=line,
            attempt=state.tries + 1,
            max_attempts=state.budget + 1,
            wait_seconds=wait,
        )
        self._carry_out(effects)

    # The link.

    def _drop(self, code: int, reason: str) -> None:
        """Close the link, and ignore what still comes from it."""
        if self._attempt is not None and self._attempt is not asyncio.current_task():
            self._attempt.cancel()
        self._attempt = None
        socket, self._socket = self._socket, None
        if socket is not None:
            task = asyncio.create_task(_close(socket, code, reason))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        self._lost()

    def _note_lost(self, code: int, reason: str) -> None:
        """Report a link that was in use when it ended; an earlier end is part of the search."""
        since, sessions = self._attached_at, self._connector.session_ids
        if since is not None and code != NORMAL:
            self._reports.lost(sessions, code, reason, time.monotonic() - since)
        self._attached_at = None

    def _lost(self) -> None:
        self._attached_at = None
        self._outgoing.clear()
        self._connector.lost(time.monotonic())
        self._arm_teller()
        self._is_superseded.set()

    async def _connect(self) -> None:
        """Make one attempt, and serve the link if it succeeds."""
        me = asyncio.current_task()
        self._failure = None
        try:
            token = self._tokens.take()
        except dial.AddressError as error:
            self._step(reconnect.TokenFailed(str(error)))
            return
        try:
            socket = await dial.dial(self._url, token, self._host)
        except dial.FAILURES as error:
            if self._attempt is me:
                self._failure = error
                self._step(dial.failed(error))
            return
        if self._attempt is not me:
            await _close(socket, 1000, "")
            return
        self._socket = socket
        self._step(Signal.OPENED)
        self._carry_out(self._connector.opened())
        sending = asyncio.create_task(self._send(socket))
        try:
            while self._socket is socket:
                line = await socket.recv(decode=False)
                if self._socket is not socket:
                    return
                self._step(Signal.FRAME)
                self._carry_out(self._connector.from_gateway(line, time.monotonic()))
                await self._wait_for_editor()
        except ConnectionClosed as error:
            if self._socket is socket:
                end = dial.ended(error)
                self._note_lost(end.code, end.reason)
                self._socket = None
                self._lost()
                self._step(end)
        finally:
            sending.cancel()

    async def _send(self, socket: GatewaySocket) -> None:
        """Send what is due; the receiving task notices the socket's end."""
        with contextlib.suppress(ConnectionClosed):
            while self._socket is socket:
                await self._has_outgoing.wait()
                self._has_outgoing.clear()
                while self._outgoing and self._socket is socket:
                    line = self._outgoing.pop(0)  # `run` sends the others when the editor leaves
                    await socket.send(line, text=True)
                    self._is_superseded.set()


async def _close(socket: GatewaySocket, code: int, reason: str) -> None:
    """Close a socket that may be dead."""
    with contextlib.suppress(OSError, ConnectionClosed, TimeoutError):
        async with asyncio.timeout(LEAVE_SECONDS):
            await socket.close(code, reason)
    socket.transport.abort()


def _now() -> int:
    return time.monotonic_ns() // 1_000_000
