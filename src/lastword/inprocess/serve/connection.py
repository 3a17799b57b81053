"""One client and an author's handlers, with the core between them, until the client leaves.

Owns checking the handlers, the order in which they are started, when one is cancelled, their
requests to the client until these are answered or given up, and the task that calls the core when
something is due. `inprocess.handling` decides what a handler's end means.
"""

from __future__ import annotations

import difflib
import inspect
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import anyio
from msgspec import Raw

from lastword.core.protocol import acp, jsonrpc
from lastword.errors import ClientError, MisuseError, TurnFailedError
from lastword.inprocess import handling
from lastword.inprocess.handling import LoopWatchdog
from lastword.inprocess.journal import Journal
from lastword.inprocess.link import LAST_ANSWERS_SECONDS, OWN_CANCEL_SECONDS, HandlerLink
from lastword.inprocess.request import CURRENT, Request, asyncio_task, process_ending
from lastword.inprocess.settings import logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

    from anyio.abc import TaskGroup, TaskStatus

    from lastword.core.link.options import LinkOptions
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.inprocess.serve.transport import Waker
    from lastword.inprocess.transports import Block


class _OpenRequest:
    """A request that waits for its answer."""

    __slots__ = ("answer", "answered")

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.answer: Frame | None = None


class Client:
    """The client at the other end; every handler gets it as its first argument.

    Attributes:
        capabilities: The client's capabilities, as sent in `initialize`.
        info: The client's name and version, as sent in `initialize`.
    """

    def __init__(
        self, send: Callable[[bytes, Request | None], None], drain: Callable[[], Awaitable[None]]
    ) -> None:
        """Create a client; handlers are passed one and need not do this.

        Args:
            send: Receives a frame, with the request whose handler sends it.
            drain: Waits until the client has room for more.
        """
        self._send = send
        self._drain = drain
        self._open: dict[bytes, _OpenRequest] = {}
        self._count = 0
        self.capabilities: dict[str, Any] = {}
        self.info: dict[str, Any] = {}

    async def update(
        self, session_id: str, update: Mapping[str, Any] | None = None, /, **members: Any
    ) -> None:
        """Send a `session/update`.

        ```python
        await client.update(session_id, session_update="tool_call", tool_call_id="1", title="Read")
        await client.update(session_id, {"sessionUpdate": "plan", "entries": []})
        ```

        Args:
            session_id: Its session.
            update: The update as it is sent.
            members: Its members by name, in snake_case like handlers' arguments.

        Raises:
            MisuseError: The update has no kind.
            TypeError: It contains something that is not JSON.
        """
        whole = dict(update or {}) | {camel_case(name): value for name, value in members.items()}
        if not whole.get("sessionUpdate"):
            raise MisuseError(
                'an update says what it is: session_update="agent_message_chunk", or one of the '
                "protocol's other kinds"
            )
        await self.notify(acp.UPDATE, {"sessionId": session_id, "update": whole})

    async def say(self, session_id: str, text: str) -> None:
        """Send a piece of the agent's text, an `agent_message_chunk`."""
        content = {"type": "text", "text": text}
        await self.update(session_id, session_update="agent_message_chunk", content=content)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification.

        Raises:
            TypeError: `params` contain something that is not JSON.
        """
        self._send(jsonrpc.notification(method, dict(params or {})), CURRENT.get())
        await self._drain()

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Send the client a request, such as `session/request_permission`, and await the result.

        If it is cancelled, the request is withdrawn, and a late answer is ignored.

        Returns:
            The result.

        Raises:
            ClientError: The client answered with an error.
            TypeError: `params` contain something that is not JSON.
        """
        self._count += 1
        request_id = str(self._count).encode()
        line = jsonrpc.request(request_id, method, dict(params or {}))
        request = self._open[request_id] = _OpenRequest()
        current = CURRENT.get()
        try:
            self._send(line, current)
            await request.answered.wait()
        finally:
            del self._open[request_id]
            if request.answer is None and (current is None or not current.over):
                cancelled = {"requestId": int(request_id)}
                self._send(jsonrpc.notification(acp.CANCEL_REQUEST, cancelled), current)
        if request.answer is None:  # impossible: the wait ends with an answer
            raise AssertionError("no answer")
        error = jsonrpc.loads(request.answer.message.error)
        if error is None:
            return jsonrpc.loads(request.answer.message.result)
        fields = error if isinstance(error, dict) else {}
        code, message = fields.get("code"), fields.get("message")
        raise ClientError(
            code if isinstance(code, int) else acp.INTERNAL_ERROR,
            message if isinstance(message, str) else "it gave no reason",
            fields.get("data"),
        )

    def answered(self, frame: Frame) -> None:
        """Receive an answer from the client; lastword calls this."""
        request = self._open.get(frame.message.request_id or jsonrpc.NULL_ID)
        if request is not None and request.answer is None:
            request.answer = frame
            request.answered.set()

    def introduced(self, frame: Frame) -> None:
        """Receive the client's `initialize`; lastword calls this."""
        params = jsonrpc.params_of(frame)
        dialect = acp.dialect(params.get("protocolVersion"))
        capabilities = params.get(dialect.client_capabilities)
        info = params.get(dialect.client_info)
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        self.info = info if isinstance(info, dict) else {}


Handler: TypeAlias = Callable[..., Awaitable[Any]]

REQUIRED = ("session/new", acp.PROMPT)

_CUTOFF = 0.85
"""How similar a misspelled name is; `session/load` is not a misspelled `session/new`."""

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEAM = re.compile(r"(?<=[A-Za-z0-9])_([a-z0-9])")
_BY_NAME = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY})
_BY_PLACE = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY})


class Method:
    """A handler, and the params that it takes.

    Attributes:
        handler: The author's function.
        needed: The params without which it cannot be called, in snake_case.
    """

    __slots__ = ("_accepts_all", "_first", "_names", "handler", "needed")

    def __init__(self, name: str, handler: Handler) -> None:
        """Raise TypeError, naming the method, if this cannot be called as a handler."""
        is_async = inspect.iscoroutinefunction(handler) or (
            callable(handler) and inspect.iscoroutinefunction(type(handler).__call__)
        )
        if not is_async:
            what = "an asynchronous generator" if inspect.isasyncgenfunction(handler) else handler
            raise TypeError(f'the handler of "{name}" is an `async def` function, not {what!r}')
        first, *rest = inspect.signature(handler).parameters.values() or (None,)
        by_place = _BY_PLACE | {inspect.Parameter.VAR_POSITIONAL}
        unfit = [p.name for p in rest if p.kind is p.POSITIONAL_ONLY and p.default is p.empty]
        if first is None or first.kind not in by_place or unfit:
            raise TypeError(
                f'the handler of "{name}" takes the client as its first argument, and the '
                "message's params by name: async def handler(client, session_id)"
            )
        self.handler: Handler = handler
        self._first = first.name if first.kind is first.POSITIONAL_OR_KEYWORD else ""
        self._names = frozenset(p.name for p in rest if p.kind in _BY_NAME)
        self._accepts_all = any(p.kind is p.VAR_KEYWORD for p in rest)
        self.needed: tuple[str, ...] = tuple(
            p.name for p in rest if p.kind in _BY_NAME and p.default is p.empty
        )

    def arguments(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the params of a message that the handler takes."""
        named = {snake_case(key): value for key, value in params.items()}
        # A param named like the first argument would be passed twice.
        named.pop(self._first, None)
        if self._accepts_all:
            return named
        return {name: value for name, value in named.items() if name in self._names}


def read(methods: Mapping[str, Handler]) -> dict[str, Method]:
    """Check what an author passed to `serve`.

    Raises:
        TypeError: It is not a mapping of names to asynchronous functions.
        ValueError: A method is missing without which no turn is possible.
    """
    if not isinstance(methods, Mapping):
        raise TypeError(
            "serve takes a mapping of ACP method names to `async def` functions, not "
            f"{type(methods).__name__}"
        )
    for name in methods:
        if not isinstance(name, str):
            raise TypeError(f"the name of a method is a str, not {name!r}")
    missing = [name for name in REQUIRED if name not in methods]
    if missing:
        words = " and ".join(f'"{name}"' for name in missing)
        near = (difflib.get_close_matches(name, methods, 1, _CUTOFF) for name in missing)
        meant = "".join(f'; is "{name}" misspelled?' for names in near for name in names)
        raise ValueError(
            f"serve needs a handler for {words}: without one it cannot take a turn{meant}"
        )
    own = {name: Method(name, handler) for name, handler in methods.items()}
    return {acp.INITIALIZE: Method(acp.INITIALIZE, initialize)} | own


async def initialize(_: object) -> dict[str, Any]:
    """Answer for an agent without an `initialize` of its own."""
    return {"protocolVersion": acp.V1.version, acp.V1.agent_capabilities: {}}


def snake_case(key: str) -> str:
    """Return a name in the form of handlers' arguments: `sessionId` becomes `session_id`."""
    return _WORD.sub("_", key).lower()


def camel_case(name: str) -> str:
    """Return a name in its wire form: `session_id` becomes `sessionId`. A leading `_` stays."""
    return _SEAM.sub(lambda letter: letter[1].upper(), name)


class Clock:
    """Calls the link when it is due."""

    def __init__(self, waker: Waker) -> None:
        self._waker = waker
        self._earlier = anyio.Event()
        self._rings_at: float | None = None

    async def keep(self, link: HandlerLink) -> None:
        """Wait and call the link, until cancelled."""
        while True:
            due = self._rings_at = link.next_timeout()
            self._earlier = anyio.Event()
            with anyio.move_on_after(None if due is None else max(0.0, due - time.monotonic())):
                await self._earlier.wait()
                continue
            if due is not None:
                link.ring(due)

    def rearm(self, link: HandlerLink) -> None:
        """Note that the link may be due earlier now; call it from any thread."""
        if not self._waker.is_here:
            # The task that wakes calls this again.
            self._waker.ring()
            return
        due = link.next_timeout()
        if due is not None and (self._rings_at is None or due < self._rings_at):
            self._earlier.set()


class Router(Protocol):
    """Finds the handler for a message."""

    def route(self, frame: Frame, client: Client) -> Callable[[], Awaitable[Any]] | dict[str, Any]:
        """Return what to run, or a JSON-RPC error object if there is nothing to run."""
        ...

    def sent_error(self, error: BaseException) -> dict[str, Any] | None:
        """Return the JSON-RPC error object that an author meant by an exception, if any."""
        ...


class ServedTransport(Protocol):
    """Lines in, frames out; see `DescriptorTransport` for each method."""

    @property
    def broken(self) -> bool: ...
    def blocks(self) -> AsyncIterator[Block]: ...
    def read_ready(self) -> Block: ...
    def write(self, frame: bytes) -> None: ...
    def go_on(self) -> None: ...
    async def drain(self) -> None: ...
    async def write_on(self) -> None: ...
    async def last_frames(self) -> None: ...


class ServedConnection:
    """A client that `serve` serves."""

    def __init__(
        self, transport: ServedTransport, waker: Waker, router: Router, options: LinkOptions
    ) -> None:
        self._transport = transport
        self._waker = waker
        self._router = router
        self._inbox: deque[tuple[Frame, Request | None] | list[Request]] = deque()
        self._lines: deque[bytes] = deque()
        """Lines that have been read, and not yet handled."""
        self._delivering = anyio.Lock()
        self._reading = anyio.CancelScope()
        self._clock = Clock(waker)
        self._at_work = 0
        self._all_done = anyio.Event()
        self._own_cancel: anyio.Event | None = None
        self._exit: BaseException | None = None
        self._tasks: TaskGroup
        self._journal = Journal(options, door="serve")
        self._link = HandlerLink(
            options,
            to_client=transport.write,
            to_handler=lambda frame, request: self._post((frame, request)),
            # Through the inbox, since the handler's own message may be the cause.
            on_cancel=self._post,
            rearm=lambda: self._clock.rearm(self._link),
            read_ready=self._read_ready,
            note=self._journal.note,
        )
        self._watch = LoopWatchdog(self._link, waker.call_soon)
        self._client = Client(self._link.from_handler, transport.drain)

    async def run(self) -> None:
        """Serve until the client leaves.

        Raises:
            SystemExit: A handler raised it; every open request has been answered.
            KeyboardInterrupt: The same.
        """
        self._link.door = asyncio_task()
        try:
            async with anyio.create_task_group() as self._tasks:
                for work in (self._waker.listen, self._attend, self._transport.write_on):
                    self._tasks.start_soon(work)
                self._tasks.start_soon(self._clock.keep, self._link)
                with self._reading:
                    await self._read()
                # The client has left: prompts are cancelled, other handlers get a moment.
                self._link.client_left()
                for request in self._link.open_requests:
                    if request.method == acp.PROMPT:
                        request.request_cancel()
                        request.cancel()
                with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                    while self._at_work:
                        await self._all_done.wait()
                self._tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            self._exit = self._exit or process_ending(group)
            if self._exit is None:
                raise
        finally:
            self._watch.close()
            self._link.handler_left()
            self._journal.close()
            await self._transport.last_frames()
        if self._exit is not None:
            raise self._exit

    async def _read(self) -> None:
        async for oversized, lines in self._transport.blocks():
            if oversized is not None:
                self._link.oversized(oversized)
            self._lines.extend(lines)
            while self._lines:
                self._link.from_client(self._lines.popleft())
                await self._deliver()

    def _read_ready(self) -> None:
        """Receive everything that has arrived; its handlers start when the loop runs again."""
        while self._lines:
            self._link.from_client(self._lines.popleft())
        oversized, lines = self._transport.read_ready()
        if oversized is not None:
            self._link.oversized(oversized)
        for line in lines:
            self._link.from_client(line)

    def _post(self, item: tuple[Frame, Request | None] | list[Request]) -> None:
        self._inbox.append(item)
        self._waker.ring()

    async def _attend(self) -> None:
        """Handle events other than the client's lines: from a timer, a handler or a thread."""
        while True:
            await self._waker.wait()
            await self._deliver()
            self._clock.rearm(self._link)
            self._transport.go_on()
            if self._transport.broken:
                self._reading.cancel()

    async def _deliver(self) -> None:
        """Start the handlers of incoming messages, one after the other."""
        async with self._delivering:
            while self._inbox:
                item = self._inbox.popleft()
                if isinstance(item, list):
                    self._cancel(item)
                else:
                    await self._start(*item)

    async def _start(self, frame: Frame, request: Request | None) -> None:
        method = frame.message.method
        if method is None:
            self._client.answered(frame)
            return
        if method == acp.PROMPT:
            self._watch.look()
        if method == acp.INITIALIZE:
            self._client.introduced(frame)
        routed = self._router.route(frame, self._client)
        done = anyio.Event()
        if method == acp.CANCEL and request is None:
            self._own_cancel = None if isinstance(routed, dict) else done
        if not isinstance(routed, dict):
            await self._tasks.start(self._handle, request, routed, done)
        elif request is not None:
            self._link.from_handler(jsonrpc.error(request.request_id, routed), request)
        else:
            logger.debug("The notification %s is ignored: %s", method, routed["message"])

    async def _handle(
        self,
        request: Request | None,
        work: Callable[[], Awaitable[Any]],
        done: anyio.Event,
        *,
        task_status: TaskStatus[None],
    ) -> None:
        self._at_work += 1
        try:
            async with anyio.create_task_group() as own:
                own.start_soon(self._run_handler, request, work, task_status)
        except Exception:  # noqa: BLE001 - it is logged
            # The handler's task ended with an open scope or group, as happens if a generator has
            # one. The event loop may raise for that, but only in this task.
            logger.exception("A handler left a cancel scope or a task group open.")
        finally:
            done.set()
            self._at_work -= 1
            self._all_done.set()
            self._all_done = anyio.Event()

    async def _run_handler(
        self,
        request: Request | None,
        work: Callable[[], Awaitable[Any]],
        task_status: TaskStatus[None],
    ) -> None:
        # The handler runs to its first wait before the next message is handled.
        task_status.started()
        CURRENT.set(request)
        try:
            if request is None:
                await handling.run_notification(self._link, work)
            else:
                result = await handling.run(request, work, self._router.sent_error)
                if result is None and request.method != acp.PROMPT:
                    result = {}
                response = {"jsonrpc": "2.0", "id": Raw(request.request_id), "result": result}
                handling.answer(request, response)
        except (SystemExit, KeyboardInterrupt) as ending:
            self._exit = ending
            self._tasks.cancel_scope.cancel()
        except handling.HandlerFailedError:
            pass  # it has been logged
        except Exception as error:  # noqa: BLE001 - whatever the author's code raises
            if request is None or isinstance(error, TurnFailedError):
                return
            if self._router.sent_error(error) is not None:
                return  # the author's own words
            # The author gets the exception itself, with the traceback from their own code on.
            logger.error(
                "The handler of %s raised %s.",
                request.method,
                type(error).__name__,
                exc_info=(type(error), error, _own_frames(error)),
            )

    def _cancel(self, requests: list[Request]) -> None:
        own, self._own_cancel = self._own_cancel, None
        for request in requests:
            if own is None or request.waiting or request.method != acp.PROMPT:
                request.cancel()
            else:
                self._tasks.start_soon(_cancel_after, request, own)


def _own_frames(error: BaseException) -> TracebackType | None:
    # Not inline: a frame that is in a traceback should not refer to it.
    frames = error.__traceback__
    while frames and str(frames.tb_frame.f_globals.get("__name__")).startswith("lastword."):
        frames = frames.tb_next
    return frames or error.__traceback__


async def _cancel_after(request: Request, own: anyio.Event) -> None:
    with anyio.move_on_after(OWN_CANCEL_SECONDS):
        await own.wait()
    request.cancel()
