"""The guard: an agent written with the official Python SDK, with lastword around its handlers.

Owns where the SDK's messages and its handlers' exceptions meet the core: the order of messages to
the handlers and to the client, the core's timer on the SDK's event loop, and when a handler is
cancelled. The SDK still parses requests, calls handlers, and encodes what they return.

The connection's transport is replaced when the SDK passes the connection to the agent
(`on_connect`): from then on every message passes through the core, and the context in which the SDK
starts a handler names its request.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar, cast

import acp
from acp.agent.connection import AgentSideConnection
from acp.core import DEFAULT_STDIO_BUFFER_LIMIT_BYTES
from acp.stdio import stdio_streams

from lastword.core.link.options import Options  # noqa: TC001 - of a public signature
from lastword.core.protocol import acp as protocol
from lastword.core.protocol import jsonrpc
from lastword.inprocess import handling, settings, stdio
from lastword.inprocess.handling import LoopWatchdog
from lastword.inprocess.journal import Journal
from lastword.inprocess.link import LAST_ANSWERS_SECONDS, OWN_CANCEL_SECONDS, HandlerLink
from lastword.inprocess.request import CURRENT, Request
from lastword.inprocess.transports import (
    ByteTransport,
    FrameTransport,
    MessageTransport,
    PipeTransport,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lastword.core.link.options import LinkOptions
    from lastword.core.protocol.jsonrpc import Frame


# --- the transport


class GuardedTransport:
    """The SDK's transport, with the core between it and the client."""

    def __init__(self, inner: Any, options: LinkOptions, *, own_cancel_seconds: float) -> None:
        self._wire: FrameTransport = (
            inner if isinstance(inner, ByteTransport) else MessageTransport(inner)
        )
        self._stdout = contextlib.ExitStack()
        # The SDK has no public way to a transport's stream, and a later one may have none at all; a
        # test checks this.
        sender = getattr(inner, "_sender", inner)
        if stdio.is_stdout(getattr(sender, "_writer", None)):
            # The author's own streams stay in use; printed output is kept out of them.
            self._stdout.enter_context(stdio.claimed())
            self._stdout.enter_context(stdio.printing_to_stderr())
        self._own_cancel_seconds = own_cancel_seconds
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._timer: asyncio.TimerHandle | None = None
        self._inbox: asyncio.Queue[tuple[dict[str, Any], Request | None] | BaseException | None]
        self._inbox = asyncio.Queue()
        self._started = False
        self._journal = Journal(options, door="guard")
        self.link: HandlerLink = HandlerLink(
            options,
            to_client=self._to_client,
            to_handler=self._to_handler,
            on_cancel=self._cancel,
            rearm=self._rearm,
            read_ready=self._wire.read_ready,
            note=self._journal.note,
        )
        self._watch = LoopWatchdog(self.link, self._loop.call_soon_threadsafe)

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message for the agent; its handler finds its request in the context."""
        if not self._started:
            self._started = True
            self.link.door = asyncio.current_task()
            self._wire.start(self._receive_lines, self._end)
        item = await self._inbox.get()
        if item is None:
            return None
        if isinstance(item, BaseException):
            raise item
        message, request = item
        # The SDK starts the handler's task from here, with this in its context.
        CURRENT.set(request)
        return message

    async def send(self, message: dict[str, Any]) -> None:
        """Receive a message from the agent; the core decides what goes to the client."""
        request = CURRENT.get()
        if "method" in message:
            self.link.from_handler(jsonrpc.dumps(message), request)
            await self._wire.drain()
            # As under the SDK, whose writer is a separate task, let the loop run once. A handler
            # that reads a provider's blocking stream gives it no other chance: without this,
            # neither its own cancel nor any other session would be handled until it finishes.
            await asyncio.sleep(0)
            return
        if request is None:
            self.link.from_handler(jsonrpc.dumps(message), None)
        elif not request.settled:
            # An exception was answered when it was raised: the SDK's answer to it is dropped.
            handling.answer(request, message)
        # The client's departure ends handlers that still send, but must not end those that answer:
        # the SDK would raise that to whoever closes the connection, as a failure of the process.
        with contextlib.suppress(OSError):
            await self._wire.drain()

    async def close(self) -> None:
        """Close the link; every open request gets an answer."""
        if self.link.client_gone:
            until = time.monotonic() + LAST_ANSWERS_SECONDS
            while time.monotonic() < until and any(  # noqa: ASYNC110  (a poll of 250 ms at most)
                request.method != protocol.PROMPT for request in self.link.open_requests
            ):
                await asyncio.sleep(0.005)
        self.link.handler_left()
        self._journal.close()
        self._watch.close()
        if self._timer is not None:
            self._timer.cancel()
        self._stdout.close()
        await self._wire.aclose()

    def _receive_lines(self, oversized: bytes | None, lines: list[bytes]) -> None:
        if oversized is not None:
            self.link.oversized(oversized)
        for line in lines:
            self.link.from_client(line)

    def _end(self, error: Exception | None) -> None:
        if error is None:
            self.link.client_left()
        # A failure to read is raised in the SDK's own loop.
        self._inbox.put_nowait(error)

    def _to_client(self, frame: bytes) -> None:
        if self._in_loop():
            self._wire.write(frame)
        else:
            self._wire.write_for_blocked_loop(frame)

    def _to_handler(self, frame: Frame, request: Request | None) -> None:
        if not self._in_loop():
            self._loop.call_soon_threadsafe(self._to_handler, frame, request)
            return
        if request is not None and request.method == protocol.PROMPT:
            self._watch.look()
        self._inbox.put_nowait((jsonrpc.loads(frame.line), request))

    def _in_loop(self) -> bool:
        """Return whether this is the event loop's thread, rather than the watchdog's."""
        return threading.get_ident() == self._thread

    def _cancel(self, requests: list[Request]) -> None:
        if not self._in_loop():
            self._loop.call_soon_threadsafe(self._cancel, requests)
            return
        for request in requests:
            wait = 0.0 if request.waiting else self._own_cancel_seconds
            if request.method != protocol.PROMPT:
                wait = 0.0
            # From the event loop, since the handler's own message may be the cause.
            self._loop.call_later(wait, request.cancel)

    def _rearm(self) -> None:
        if not self._in_loop():
            self._loop.call_soon_threadsafe(self._rearm)
            return
        due = self.link.next_timeout()
        if due is None:
            return
        when = self._loop.time() + max(0.0, due - time.monotonic())
        if self._timer is None or when < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(when, self._ring, due)

    def _ring(self, due: float) -> None:
        self._timer = None
        self.link.ring(due)


# --- the guard

AgentT = TypeVar("AgentT")

HANDLERS = frozenset(
    {
        *("initialize", "authenticate", "prompt", "cancel"),
        *("new_session", "load_session", "list_sessions", "close_session", "fork_session"),
        *("resume_session", "set_session_mode", "set_config_option", "ext_method"),
        *("newSession", "loadSession", "listSessions", "closeSession", "forkSession"),
        *("resumeSession", "setSessionMode", "setConfigOption", "extMethod"),
    }
)
"""The agent's methods that the SDK calls; those in camel case are the older names."""


async def run_agent(  # noqa: PLR0913 - the SDK's own arguments
    agent: Any,
    input_stream: Any = None,
    output_stream: Any = None,
    *,
    use_unstable_protocol: bool = False,
    stdio_buffer_limit_bytes: int = DEFAULT_STDIO_BUFFER_LIMIT_BYTES,
    options: Options | None = None,
    **connection_kwargs: Any,
) -> None:
    """Run an agent as `acp.run_agent` does, so that none of its turns ends in silence.

    ```python
    asyncio.run(lastword.run_agent(MyAgent()))  # in place of acp.run_agent
    ```

    What a handler raises reaches the client as a typed failure; there is nothing to catch.

    Unless you pass streams, stdin and stdout are reserved for the client while it runs: descriptor
    0 is empty, and anything that this process or its children print goes to stderr. The log says so
    at the first `print`.

    Args:
        agent: The agent, as the SDK takes it: any object with the required methods.
        input_stream: A `StreamWriter` to the client, or a transport; stdout by default.
        output_stream: A `StreamReader` from the client; stdin by default.
        use_unstable_protocol: As the SDK's.
        stdio_buffer_limit_bytes: As the SDK's; a longer line is read in pieces.
        options: Limits and choices; by default those of the environment (`LASTWORD_IDLE_TIMEOUT`
            and so on), or else the built-in ones.
        connection_kwargs: As the SDK's.

    Raises:
        TypeError: Only one of the two streams was given.
        MisuseError: An option cannot apply to an agent in this process, or another agent in it
            serves a client on stdin and stdout.
        MissingExtraError: The official SDK is not installed; raised when `lastword.run_agent` is
            first used.
    """
    settings.check(options)
    if settings.passthrough(os.environ):
        await acp.run_agent(
            agent,
            input_stream,
            output_stream,
            use_unstable_protocol=use_unstable_protocol,
            stdio_buffer_limit_bytes=stdio_buffer_limit_bytes,
            **connection_kwargs,
        )
        return

    async def serve(input_stream: Any, output_stream: Any) -> None:
        connection = AgentSideConnection(
            guard(agent, options=options),
            input_stream,
            output_stream,
            listening=False,
            use_unstable_protocol=use_unstable_protocol,
            **connection_kwargs,
        )
        try:
            await connection.listen()
        finally:
            await asyncio.shield(connection.close())

    if input_stream is None and output_stream is None:
        if sys.platform != "win32":
            timeout = connection_kwargs.pop("receive_timeout", None)
            with stdio.reserved() as (source, sink), stdio.polled(source) as reading:
                pipes = await PipeTransport.open(reading, sink, receive_timeout=timeout)
                try:
                    await serve(pipes, None)
                finally:
                    await asyncio.shield(pipes.let_go())
            return
        output_stream, input_stream = await stdio_streams(limit=stdio_buffer_limit_bytes)
    if isinstance(input_stream, asyncio.StreamWriter):
        if not isinstance(output_stream, asyncio.StreamReader):
            raise TypeError("run_agent needs a StreamWriter and a StreamReader, or one transport")
        timeout = connection_kwargs.pop("receive_timeout", None)
        input_stream = ByteTransport(output_stream, input_stream, receive_timeout=timeout)
        output_stream = None
    await serve(input_stream, output_stream)


def guard(agent: AgentT, *, options: Options | None = None) -> AgentT:
    """Wrap an agent for a connection that you manage yourself.

    ```python
    connection = acp.AgentSideConnection(lastword.guard(MyAgent()), writer, reader)
    ```

    Args:
        agent: The agent, or a function that creates one for a connection, as for the SDK.
        options: As for `run_agent`.

    Returns:
        What to pass to the SDK instead; to a type checker it is the same type. All attributes
        except the handlers are the agent's own.

    Raises:
        MisuseError: An option cannot apply to an agent in this process.
    """
    settings.check(options)
    if settings.passthrough(os.environ) or isinstance(agent, _Guarded):
        return agent
    if isinstance(agent, type) or (callable(agent) and not hasattr(agent, "prompt")):
        make: Callable[[Any], object] = agent
        made: Any = lambda connection: guard(make(connection), options=options)  # noqa: E731
        return cast("AgentT", made)
    # The SDK names an agent's class in its warnings.
    named: type[_Guarded] = type(type(agent).__name__, (_Guarded,), {})
    return cast("AgentT", named(agent, options))


class _Guarded:
    """An agent whose handlers and connection go through the core."""

    _agent: Any
    _options: Options | None

    def __init__(self, agent: Any, options: Options | None) -> None:
        vars(self).update(_agent=agent, _options=options)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._agent, name, value)

    def __getattr__(self, name: str) -> Any:
        if "_agent" not in vars(self):  # a copy that is being made
            raise AttributeError(name)
        if name == "cancel" and not hasattr(self._agent, name):
            # The SDK would log a missing method, with a traceback, at every cancel.
            return _nothing_to_cancel
        value: Any = getattr(self._agent, name)
        is_handler = name in HANDLERS and callable(value)
        return _guarded_handler(value) if is_handler else value

    def on_connect(self, connection: Any) -> None:
        """Insert the core into the SDK's connection, then call the agent's own `on_connect`."""
        # The SDK has no public way to a connection's transport; a test checks this one.
        inner = connection._conn  # noqa: SLF001
        cancel = getattr(self._agent, "cancel", None)
        # The method of the SDK's own class is a stub that ends nothing.
        has_cancel = callable(cancel) and _function(cancel) is not _function(acp.Agent.cancel)
        inner._transport = GuardedTransport(  # noqa: SLF001
            inner._transport,  # noqa: SLF001
            settings.complete(self._options),
            own_cancel_seconds=OWN_CANCEL_SECONDS if has_cancel else 0.0,
        )
        own = getattr(self._agent, "on_connect", None)
        if own is not None:
            own(connection)


async def _nothing_to_cancel(session_id: str, **_: Any) -> None:
    """Do nothing: lastword cancels the prompt's handler."""


def _guarded_handler(handler: Any) -> Callable[..., Awaitable[Any]]:
    """Wrap a handler so that its request is answered if it raises; the SDK logs the exception."""

    @functools.wraps(handler)
    async def guarded(*args: Any, **kwargs: Any) -> Any:
        request = CURRENT.get()
        if request is None or request.started:
            return await handler(*args, **kwargs)
        return await handling.run(request, lambda: handler(*args, **kwargs), _sent_error)

    # The SDK recognises its older calling convention by a bound method's function.
    guarded.__func__ = _function(handler)  # type: ignore[attr-defined]
    return guarded


def _function(method: Any) -> Any:
    return getattr(method, "__func__", method)


def _sent_error(error: BaseException) -> dict[str, Any] | None:
    """Return the JSON-RPC error object that an author meant by an exception, if any."""
    return error.to_error_obj() if isinstance(error, acp.RequestError) else None
