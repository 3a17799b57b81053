"""The two entry points of an agent, for a client in the same process: no descriptor, no socket.

Owns how a message gets from one side to the other. Both use the code behind `lastword.run_agent`
and `lastword.serve`, from their transport on.
"""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio

import lastword
from lastword.core.protocol import jsonrpc
from lastword.errors import MisuseError
from lastword.inprocess.serve.server import serve_over

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from lastword.core.link.options import Options
    from lastword.inprocess.serve.waker import Waker
    from lastword.inprocess.transports import Block

Json = dict[str, Any]


class AgentDoor:
    """An agent, as a client in its process reaches it."""

    def __init__(self) -> None:
        self._waiting: deque[Json | None] = deque()
        self._came = anyio.Event()

    async def run(self, deliver: Callable[[Json], None], options: Options) -> None:
        """Run the agent until the client has left; `deliver` gets each of its messages."""
        raise NotImplementedError

    def send(self, message: Json) -> None:
        """Send the agent a message."""
        self._put(message)

    def leave(self) -> None:
        """Leave: the agent gets no more messages."""
        self._put(None)

    def _put(self, message: Json | None) -> None:
        self._waiting.append(message)
        self._came.set()

    async def _next(self) -> Json | None:
        """Return the next message for the agent, or `None` if the client has left."""
        while not self._waiting:
            self._came = anyio.Event()
            await self._came.wait()
        return self._waiting.popleft()


def door_of(agent: object) -> AgentDoor:
    """Return the entry point for an agent: the official SDK's, or a mapping of methods.

    Raises:
        MisuseError: It is not an agent, or one of the official SDK on trio.
    """
    if isinstance(agent, Mapping):
        return _MethodsDoor(agent)
    if not callable(agent) and not callable(getattr(agent, "prompt", None)):
        raise MisuseError(
            "an agent is an object with the official SDK's methods (it has no `prompt`), a "
            "function that makes one, or the methods that lastword.serve takes; not "
            f"{type(agent).__name__}"
        )
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise MisuseError(
            "an agent of the official SDK runs on asyncio alone: run this test there, or give the "
            "methods that lastword.serve takes"
        ) from None
    return _SdkDoor(agent)


class _SdkDoor(AgentDoor):
    """An agent of the official SDK."""

    def __init__(self, agent: object) -> None:
        super().__init__()
        self._agent = agent

    async def run(self, deliver: Callable[[Json], None], options: Options) -> None:
        transport = _SdkTransport(self._next, deliver)
        await lastword.run_agent(self._agent, transport, options=options)


class _SdkTransport:
    """The agent's end, in the SDK's three methods."""

    def __init__(
        self, receive: Callable[[], Awaitable[Json | None]], deliver: Callable[[Json], None]
    ) -> None:
        self._receive = receive
        self._deliver = deliver

    async def send(self, message: Json) -> None:
        # Neither side may see what the other changes later.
        self._deliver(_copied(message))

    async def receive(self) -> Json | None:
        return await self._receive()

    async def close(self) -> None:
        """Do nothing: nothing is open."""


class _MethodsDoor(AgentDoor):
    """Methods named after ACP's, as `lastword.serve` takes them."""

    def __init__(self, methods: Mapping[str, Any]) -> None:
        super().__init__()
        self._methods = methods

    async def run(self, deliver: Callable[[Json], None], options: Options) -> None:
        def transport(waker: Waker) -> _MethodsTransport:
            return _MethodsTransport(self._next, deliver, waker)

        await serve_over(self._methods, transport, options=options)


class _MethodsTransport:
    """The agent's end, as `serve` has it."""

    broken = False

    def __init__(
        self,
        receive: Callable[[], Awaitable[Json | None]],
        deliver: Callable[[Json], None],
        waker: Waker,
    ) -> None:
        self._receive = receive
        self._deliver = deliver
        self._waker = waker

    async def blocks(self) -> AsyncIterator[Block]:
        while (message := await self._receive()) is not None:
            yield None, [jsonrpc.dumps(message)]

    def read_ready(self) -> Block:
        return None, []

    def write(self, frame: bytes) -> None:
        message = jsonrpc.loads(frame)
        if self._waker.is_here:
            self._deliver(message)
        else:  # a handler's own thread, or the one that watches a blocked loop
            self._waker.call_soon(functools.partial(self._deliver, message))

    def go_on(self) -> None:
        """Do nothing: nothing waits."""

    async def drain(self) -> None:
        await anyio.lowlevel.checkpoint()

    async def write_on(self) -> None:
        await anyio.sleep_forever()

    async def last_frames(self) -> None:
        """Do nothing: all of them are written."""


def _copied(message: Json) -> Json:
    copied: Json = jsonrpc.loads(jsonrpc.dumps(message))
    return copied
