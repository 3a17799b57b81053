"""The two entry points of an agent, and the client of a test in the same process: no socket.

Owns how a message gets from one side to the other, and what the client answers. Both entry points
use the code behind `lastword.run_agent` and `lastword.serve`, from their transport on. Frames are
decoded JSON; `testing.timeline` interprets them.
"""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio

import lastword
from lastword.core.protocol import acp, jsonrpc
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


PERMISSIONS = {"allow": ("allow_once", "allow_always"), "reject": ("reject_once", "reject_always")}
"""The kinds of options that answer a question so, the preferred one first."""


class ClientOfTest:
    """One client, for one connection.

    Attributes:
        frames: What the agent sent, in order.
        failure: What a test author's own answer raised.
        on_update: Called with each update as it arrives; may be replaced.
    """

    def __init__(self, door: AgentDoor, answers: Mapping[str, Callable[[Json], Any]]) -> None:
        self._door = door
        self._answers = answers
        self._requests: dict[int, anyio.Event] = {}
        self._answered: dict[int, Json] = {}
        self._count = 0
        self.frames: list[Json] = []
        self.failure: Exception | None = None
        self.on_update: Callable[[Json], None] = _ignore

    async def request(self, method: str, params: Json) -> Json:
        """Send the agent a request; return its whole response, which may be an error."""
        self._count += 1
        number = self._count
        self._requests[number] = anyio.Event()
        self._door.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        await self._requests[number].wait()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        return self._answered.pop(number)

    def notify(self, method: str, params: Json) -> None:
        """Send the agent a notification."""
        self._door.send({"jsonrpc": "2.0", "method": method, "params": params})

    def receive(self, frame: Json) -> None:
        """Take in a message from the agent."""
        self.frames.append(frame)
        method, number = frame.get("method"), frame.get("id")
        if method is None:
            request_ended = self._requests.pop(number, None) if isinstance(number, int) else None
            if request_ended is not None and isinstance(number, int):
                self._answered[number] = frame
                request_ended.set()
        elif "id" in frame:
            self._door.send({"jsonrpc": "2.0", "id": number, **self._answer(method, frame)})
        elif method == acp.UPDATE:
            self._own(lambda: self.on_update(frame["params"]["update"]))

    def _answer(self, method: str, frame: Json) -> Json:
        answer = self._answers.get(method)
        if answer is None:
            text = f'The client of this test has no "{method}": give it to open_session(answers=…).'
            return {"error": {"code": acp.METHOD_NOT_FOUND, "message": text}}
        given: list[Any] = []
        if self._own(lambda: given.append(answer(frame.get("params") or {}))):
            return {"result": given[0]}
        return {"error": {"code": acp.INTERNAL_ERROR, "message": "The answer in the test failed."}}

    def _own(self, call: Callable[[], object]) -> bool:
        """Call the test author's code; an exception there is the test's, not the agent's."""
        try:
            call()
        except Exception as error:  # noqa: BLE001 - kept, and raised in the test
            self.failure = self.failure or error
            return False
        return True


def permission_answer(choice: str | Callable[[Json], str | None]) -> Callable[[Json], Json]:
    """Return a function that answers `session/request_permission`.

    Raises:
        MisuseError: There is no such word.
    """
    if not callable(choice) and choice not in {*PERMISSIONS, "cancel"}:
        raise MisuseError(
            'answer_permission takes "allow", "reject", "cancel" or a function that gives an '
            f"option's id, not {choice!r}"
        )

    def answer(params: Json) -> Json:
        option = choice(params) if callable(choice) else _option_of(params, choice)
        if option is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": option}}

    return answer


def _option_of(params: Json, choice: str) -> str | None:
    """Return the id of the option that a word means, or `None` if there is no such option."""
    options = params.get("options") or []
    for kind in PERMISSIONS.get(choice, ()):
        for option in options:
            if option.get("kind") == kind:
                return str(option["optionId"])
    return None


def _ignore(_: Json) -> None:
    """Ignore an update that nobody waits for."""
