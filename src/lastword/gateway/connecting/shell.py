"""The connector's shell: stdin, stdout, one socket, one timer, the clock and random numbers.

Owns driving the reconnect policy, and flow control: it reads from the gateway no faster than the
editor does, and from the editor no faster than the gateway does.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import time
from typing import TYPE_CHECKING

from websockets.exceptions import ConnectionClosed

from lastword.client import reconnect
from lastword.client.reconnect import LinkPhase, Signal
from lastword.client.reconnect_model import progress_line
from lastword.gateway.connecting import dial, failures
from lastword.gateway.connecting.pipes import reader_of, writer_to
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
from lastword.gateway.connecting.reporting import ConnectReports

if TYPE_CHECKING:
    import threading

    from websockets.asyncio.client import ClientConnection

    from lastword.gateway.connecting.core import Connector
    from lastword.gateway.connecting.dial import TokenSource
    from lastword.gateway.connecting.elsewhere import Elsewhere
    from lastword.gateway.connecting.status_line import StatusLine

STDIN, STDOUT = 0, 1
LEAVE_SECONDS = 2.0
SEEK_SECONDS = 15 * 60.0
"""How long a machine behind `ssh` is sought while a turn is open: a ride without a network."""
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
            connector: What is decided.
            url: The gateway's WebSocket address.
            tokens: Where each attempt's token comes from.
            status: The line for people.
            elsewhere: The other machine, if the agent works on one.
        """
        self._connector = connector
        self._url = url
        self._host = elsewhere.host if elsewhere is not None else ""
        self._elsewhere = elsewhere
        self._sought_since: float | None = None
        """Since when a machine behind `ssh` has been sought without a pause."""
        self._tokens = tokens
        self._status = status
        self._reports = ConnectReports(url, tokens)
        self._failure: Exception | None = None
        """What the last attempt failed with."""
        self._attached_at: float | None = None
        """Since when the link has been of use; nothing while it is not."""
        self._state: reconnect.ReconnectState | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._teller: asyncio.TimerHandle | None = None
        self._attempt: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._socket: ClientConnection | None = None
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
        await self._leave()

    async def _leave(self) -> None:
        """Send what is still to be sent; the editor has gone."""
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
                line = self._for_agent(line.rstrip(b"\r\n"))
                self._carry_out(self._connector.from_editor(line, time.monotonic()))
                while self._connector.is_full or len(self._outgoing) > 1:
                    self._is_superseded.clear()
                    await self._is_superseded.wait()
        finally:
            self._over.set()

    def _for_agent(self, line: bytes) -> bytes:
        """Return the editor's message as the agent's machine needs it."""
        if self._elsewhere is None:
            return line
        line = self._elsewhere.changed(line)
        for name in self._elsewhere.left_out:
            self._status.say(f"MCP server {name} is a command of this machine, so it is left out")
        self._elsewhere.left_out.clear()
        return line

    async def _editor_takes(self) -> None:
        """Wait for the editor, so that its frames do not accumulate here."""
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
                case ToEditor():
                    self._write(effect.line)
                case ToGateway():
                    self._outgoing.append(effect.line)
                    self._has_outgoing.set()
                case Greeted():
                    self._attached_at = time.monotonic()
                    self._sought_since = None
                    if not self._host:  # else its address is another machine's
                        self._reports.send()
                    self._step(reconnect.Attached(effect.updates, probes=True))
                case NotGreeted():
                    self._step(reconnect.Refused(effect.status))
                case Dial():
                    self._dial()
                case HangUp():
                    self._step(Signal.CLOSE)
                case Say():
                    self._status.say(effect.line)
                case OwnError():
                    self._reports.note(effect.word, [effect.session_id])
        self._arm_teller()

    def _write(self, line: bytes) -> None:
        if self._editor is not None and not self._editor.is_closing():
            self._editor.write(line + b"\n")
        else:
            self._over.set()

    def _dial(self) -> None:
        if self._state is None:
            self._state = reconnect.initial(_now())
            self._step(Signal.TICK)
        elif self._state.phase in {LinkPhase.GAVE_UP, LinkPhase.ENDED}:
            self._step(Signal.RETRY)

    def _step(self, event: reconnect.Event) -> None:
        if self._state is None:
            return
        self._state, actions = reconnect.step(self._state, event, _now(), random.random())  # noqa: S311
        for action in actions:
            self._act(action)

    def _act(self, action: reconnect.ReconnectAction) -> None:
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
            case reconnect.GiveUp() if self._seeks_on(action):
                asyncio.get_running_loop().call_soon(self._step, Signal.RETRY)
            case reconnect.GiveUp():
                self._sought_since = None
                self._note_given_up()
                self._drop(1000, "")
                end = dial.end_of(action, self._failure)
                cause = f" ({end.cause})" if end.cause else ""
                self._status.show(failures.sentence_of(end) + cause)
                self._carry_out(self._connector.gave_up(end))
                self._is_superseded.set()
            case reconnect.WaitUntil():
                self._arm(action.until)

    def _seeks_on(self, end: reconnect.GiveUp) -> bool:
        """Return whether to continue: behind `ssh`, it is the network here that is down."""
        is_worth_it = self._host and self._connector.has_turns
        if not is_worth_it or end.why is not reconnect.Why.UNREACHABLE:
            return False
        now = time.monotonic()
        self._sought_since = self._sought_since or now
        return now - self._sought_since < SEEK_SECONDS

    def _arm(self, until: int | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if until is not None:
            wait = max(until - _now(), 0) / 1000
            self._timer = asyncio.get_running_loop().call_later(wait, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._editor_is_slow:  # then it is we who have not looked for an answer
            self._step(Signal.FRAME)
        self._step(Signal.TICK)
        if self._timer is None and self._state is not None:
            self._arm(reconnect.timer(self._state))  # the clock's grain: a little early

    def _arm_teller(self) -> None:
        due = self._connector.tells_at()
        if due is None or self._teller is not None:
            return
        wait = max(due - time.monotonic(), 0) + 0.001
        self._teller = asyncio.get_running_loop().call_later(wait, self._tells)

    def _tells(self) -> None:
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

    def _note_given_up(self) -> None:
        tries = self._state.tries if self._state is not None else 0
        self._reports.note("gave_up", self._connector.session_ids, tries=tries)

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
            await self._receive(socket)
        except ConnectionClosed as error:
            if self._socket is socket:
                end = dial.ended(error)
                self._note_lost(end.code, end.reason)
                self._socket = None
                self._lost()
                self._step(end)
        finally:
            sending.cancel()

    async def _receive(self, socket: ClientConnection) -> None:
        while self._socket is socket:
            line = await socket.recv(decode=False)
            if self._socket is not socket:
                return
            self._step(Signal.FRAME)
            self._carry_out(self._connector.from_gateway(line, time.monotonic()))
            await self._editor_takes()

    async def _send(self, socket: ClientConnection) -> None:
        """Send what is due; the receiving task notices the socket's end."""
        with contextlib.suppress(ConnectionClosed):
            while self._socket is socket:
                await self._has_outgoing.wait()
                self._has_outgoing.clear()
                while self._outgoing and self._socket is socket:
                    await socket.send(self._outgoing[0], text=True)
                    if self._socket is socket and self._outgoing:
                        del self._outgoing[0]
                    self._is_superseded.set()


async def _close(socket: ClientConnection, code: int, reason: str) -> None:
    """Close a socket that may be dead."""
    with contextlib.suppress(OSError, ConnectionClosed, TimeoutError):
        async with asyncio.timeout(LEAVE_SECONDS):
            await socket.close(code, reason)
    socket.transport.abort()


def _now() -> int:
    return time.monotonic_ns() // 1_000_000
