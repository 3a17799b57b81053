"""A session with an agent in the process of a test, and its turns.

Owns a test's choices: the client's capabilities and answers, when it cancels, the timeout, and
whether waits are skipped (`inprocess.waits` does that). Also owns the two entry points of an agent,
which use the code behind `lastword.run_agent` and `lastword.serve` from their transport on, and the
test's client in the same process, without a socket. Frames are decoded JSON; `testing.timeline`
interprets them.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import anyio
import msgspec

import lastword
from lastword._version import __version__
from lastword.client.reading import raise_for_error
from lastword.core.link.options import Options
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import Entry, Kind
from lastword.errors import MisuseError
from lastword.inprocess import journal, settings, waits
from lastword.inprocess.serve.server import serve_over
from lastword.platform.identity import run_id
from lastword.testing.timeline import TurnResult, update_of

if TYPE_CHECKING:
    from lastword.inprocess.serve.transport import Waker
    from lastword.inprocess.transports import Block


# --- entry points

Json: TypeAlias = dict[str, Any]


class AgentDoor:
    """The entry point of an agent for a client in the same process."""

    def __init__(self, agent: object) -> None:
        """Prepare an agent of the official SDK, or a mapping of methods.

        Raises:
            MisuseError: It is not an agent, or one of the official SDK on trio.
        """
        self._agent = agent
        self._waiting: deque[Json | None] = deque()
        self._came = anyio.Event()
        if isinstance(agent, Mapping):
            return
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
                "an agent of the official SDK runs on asyncio alone: run this test there, or give "
                "the methods that lastword.serve takes"
            ) from None

    async def run(self, deliver: Callable[[Json], None], options: Options) -> None:
        """Run the agent until the client leaves; `deliver` receives the agent's messages."""
        if isinstance(self._agent, Mapping):
            transport = functools.partial(_MethodsTransport, self._next, deliver)
            await serve_over(self._agent, transport, options=options)
        else:
            sdk_transport = _SdkTransport(self._next, deliver)
            await lastword.run_agent(self._agent, sdk_transport, options=options)

    def send(self, message: Json) -> None:
        """Send the agent a message."""
        self._waiting.append(message)
        self._came.set()

    def leave(self) -> None:
        """Leave: the agent receives no more messages."""
        self._waiting.append(None)
        self._came.set()

    async def _next(self) -> Json | None:
        """Return the next message for the agent, or `None` if the client has left."""
        while not self._waiting:
            self._came = anyio.Event()
            await self._came.wait()
        return self._waiting.popleft()


class _SdkTransport:
    """The agent's end, with the SDK's three methods."""

    def __init__(
        self, receive: Callable[[], Awaitable[Json | None]], deliver: Callable[[Json], None]
    ) -> None:
        self._receive = receive
        self._deliver = deliver

    async def send(self, message: Json) -> None:
        # A copy, so that neither side sees the other's later changes.
        self._deliver(jsonrpc.loads(jsonrpc.dumps(message)))

    async def receive(self) -> Json | None:
        return await self._receive()

    async def close(self) -> None:
        """Do nothing: nothing is open."""


class _MethodsTransport:
    """The agent's end, with the methods that `serve` needs."""

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


# --- the client

PERMISSIONS = {"allow": ("allow_once", "allow_always"), "reject": ("reject_once", "reject_always")}
"""The kinds of options with this meaning, the preferred one first."""


class ClientOfTest:
    """One client, for one connection.

    Attributes:
        frames: The agent's messages, in order.
        failure: The exception of a test author's answer.
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
        self.on_update: Callable[[Json], None] = lambda _: None

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
        """Receive a message from the agent."""
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
            self._own(lambda: self.on_update(update_of(frame)))

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
        chosen: str | None = None
        if callable(choice):
            chosen = choice(params)
        else:
            options = params.get("options") or []
            kinds = PERMISSIONS.get(choice, ())
            matches = (each for kind in kinds for each in options if each.get("kind") == kind)
            chosen = next((str(each["optionId"]) for each in matches), None)
        if chosen is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    return answer


@contextlib.contextmanager
def without_waits() -> Iterator[None]:
    """Skip lastword's own waits for agents and calls started in this context.

    `take_turn` and `open_session` do this by themselves. Use it for your own connections, and for
    functions under `lastword.retry` that are tested without a turn:

    ```python
    with without_waits():
        await ask_the_model()  # decorated with @lastword.retry: its waits are not slept
    ```

    - A wait before a retry is reported and recorded in full (20 s stay 20 s), counts against
      `Retry.budget_seconds`, and is not slept.
    - A limit on silence that the test sets, such as `Options(idle_timeout_seconds=60)`, ends once
      the agent has done nothing for a quarter of a second, and so does the grace period of a
      cancelled handler. Limits that nobody set never end.
    - The agent's own sleeps, and the retries of a provider's package, take real time.

    It applies to this task, and to tasks started from it, until the context is left.
    """
    with waits.skipped():
        yield


# --- sessions and turns

Permission: TypeAlias = Literal["allow", "reject", "cancel"] | Callable[[Json], str | None]
CancelAfter: TypeAlias = float | Callable[[Json], bool] | None

TYPED: Json = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
"""The capabilities of a client that accepts typed errors."""

FUSE_SECONDS = 30.0
"""How long a step of a test may take, far longer than any that works."""

LEAVE_SECONDS = 5.0
"""How long the agent may take to end after its client has left; then its handlers are cancelled."""


class AgentSession:
    """A session opened by `open_session`.

    Attributes:
        session_id: The agent's id of it.
        initialized: The agent's answer to `initialize`, as decoded JSON.
    """

    def __init__(
        self, client: ClientOfTest, entries: list[Entry], fuse_seconds: float, opened: Json
    ) -> None:
        """Create a session; `open_session` does this for you."""
        self._client = client
        self._entries = entries
        self._fuse_seconds = fuse_seconds
        self.initialized: Json = opened["initialized"]
        self.session_id: str = opened["sessionId"]

    async def prompt(
        self, prompt: str | Sequence[Mapping[str, Any]] = "Hi", *, cancel_after: CancelAfter = None
    ) -> TurnResult:
        """Take one turn, and wait for its end.

        ```python
        turn = await session.prompt("Fix the parser", cancel_after=5)
        turn = await session.prompt(cancel_after=lambda update: "tool" in update["sessionUpdate"])
        ```

        Args:
            prompt: The text, or ACP's content blocks as decoded JSON.
            cancel_after: When the user cancels: this many seconds after the prompt (simulated ones:
                they pass at once while the agent waits or is quiet), or with the first `update`, as
                decoded JSON, for which the function returns true. With `None`, nobody cancels.

        Returns:
            The turn, even if it failed: the agent's failure raises nothing here.

        Raises:
            TimeoutError: It did not end within the session's `fuse_seconds`, in real time.
            Exception: One of the test's functions, passed here or to `open_session`, raised it.
        """
        first = len(self._client.frames)
        number = sum(entry.kind is Kind.PROMPT for entry in self._entries) + 1
        began = _now()
        blocks = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else list(prompt)
        async with self._cancelling(cancel_after, began):
            with _fuse(self._fuse_seconds, "The turn did not end"):
                params = {"sessionId": self.session_id, "prompt": blocks}
                await self._client.request(acp.PROMPT, params)
        return TurnResult(
            session_id=self.session_id,
            number=number,
            entries=tuple(e for e in self._entries if e.turn == number),
            frames=tuple(self._client.frames[first:]),
            duration_seconds=_now() - began,
        )

    def cancel(self) -> None:
        """Cancel the running turn as the user does; a prompt in another task ends."""
        self._client.notify(acp.CANCEL, {"sessionId": self.session_id})

    @contextlib.asynccontextmanager
    async def _cancelling(self, after: CancelAfter, began: float) -> AsyncIterator[None]:
        if callable(after):
            is_moment, cancelled = after, False

            def look(update: Json) -> None:
                nonlocal cancelled
                if not cancelled and is_moment(update):
                    cancelled = True
                    self.cancel()

            usual, self._client.on_update = self._client.on_update, look
            try:
                yield
            finally:
                self._client.on_update = usual
        elif after is None:
            yield
        elif (skipped := waits.SKIPPED.get()) is not None:
            withdraw = skipped.call_at(began + after, self.cancel)
            try:
                yield
            finally:
                withdraw()
        else:
            async with anyio.create_task_group() as group:
                group.start_soon(self._cancel_later, after)
                yield
                group.cancel_scope.cancel()

    async def _cancel_later(self, seconds: float) -> None:
        await anyio.sleep(seconds)
        self.cancel()


@contextlib.asynccontextmanager
async def open_session(  # noqa: PLR0913 - six options is our own limit
    agent: object,
    *,
    client_capabilities: Mapping[str, Any] | None = None,
    answer_permission: Permission = "allow",
    answers: Mapping[str, Callable[[Json], Any]] | None = None,
    options: Options | None = None,
    real_waits: bool = False,
    fuse_seconds: float = FUSE_SECONDS,
) -> AsyncIterator[AgentSession]:
    """Run an agent in the process of the test, and open a session with it.

    ```python
    async with open_session(MyAgent()) as session:
        first = await session.prompt("Read the parser")
        second = await session.prompt("Now fix it")
    assert [first.outcome, second.outcome] == ["ok", "ok"]
    ```

    Works on asyncio and, for methods without an SDK, on trio too. Nothing is written to the user's
    record, and `LASTWORD_*` variables in the environment have no effect.

    Args:
        agent: An agent of the official SDK (any object with its methods, or a function that creates
            one for a connection), or the methods that `lastword.serve` takes.
        client_capabilities: The client's capabilities for `initialize`. By default, it accepts
            typed errors and retries; with `{}`, it knows neither.
        answer_permission: What the user answers to `session/request_permission`: `allow`, `reject`,
            `cancel`, or a function that takes the request's params and returns an option's id, or
            `None` to dismiss the question.
        answers: What the client answers to other requests from the agent, by method: a function
            that takes the params and returns the result, as decoded JSON:
            `{"fs/read_text_file": lambda params: {"content": "x = 1"}}`.
        options: Limits and choices, as for `lastword.run_agent`.
        real_waits: Whether waits take real time. By default they are skipped: see `without_waits`.
        fuse_seconds: How long each step may take, in real time, before the test fails.

    Yields:
        The session.

    Raises:
        PromptFailedError: The agent refused `initialize` or `session/new`; the class says why
            (`lastword.errors`).
        TimeoutError: It did not answer them in time.
        MisuseError: An argument is not as described here.
        MissingExtraError: The official SDK is not installed.
        TypeError: The methods cannot be served.
    """
    door = AgentDoor(agent)
    own = {acp.PERMISSION: permission_answer(answer_permission), **(answers or {})}
    client, collector = ClientOfTest(door, own), _Collector()
    chosen = msgspec.structs.replace(
        options or Options(), record=False, incident_prefix=f"{collector.link}-"
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(journal.collected_by(collector))
        stack.enter_context(settings.in_test())
        if not real_waits:
            stack.enter_context(waits.skipped())
        async with _running(lambda: door.run(client.receive, chosen), door.leave):
            with _fuse(fuse_seconds, "The agent did not open a session"):
                capabilities = TYPED if client_capabilities is None else client_capabilities
                initialized = await client.request(
                    acp.INITIALIZE,
                    {
                        "protocolVersion": 1,
                        "clientCapabilities": dict(capabilities),
                        "clientInfo": {"name": "lastword.testing", "version": __version__},
                    },
                )
                raise_for_error(initialized)
                params = {"cwd": os.getcwd(), "mcpServers": []}
                answer = await client.request("session/new", params)
                raise_for_error(answer)
                if not isinstance(answer["result"], dict) or "sessionId" not in answer["result"]:
                    raise MisuseError("the agent's answer to session/new has no sessionId")
                opened = {"initialized": initialized["result"], **answer["result"]}
            yield AgentSession(client, collector.entries, fuse_seconds, opened)


async def take_turn(  # noqa: PLR0913 - six options is our own limit
    agent: object,
    prompt: str | Sequence[Mapping[str, Any]] = "Hi",
    *,
    client_capabilities: Mapping[str, Any] | None = None,
    answer_permission: Permission = "allow",
    cancel_after: CancelAfter = None,
    options: Options | None = None,
    real_waits: bool = False,
    fuse_seconds: float = FUSE_SECONDS,
) -> TurnResult:
    """Take one turn with an agent, in the process of the test: initialize, open a session, prompt.

    ```python
    def test_the_agent_greets():
        turn = asyncio.run(take_turn(MyAgent(), "Hi"))
        assert turn.outcome == "ok"
        assert turn.text == "Hello."
    ```

    With anyio's plugin for pytest, which is installed with lastword, a test can be asynchronous
    itself: `@pytest.mark.anyio`, and `await take_turn(…)`.

    Args:
        agent: As for `open_session`.
        prompt: The text, or ACP's content blocks as decoded JSON.
        client_capabilities: As for `open_session`.
        answer_permission: As for `open_session`.
        cancel_after: As for `AgentSession.prompt`.
        options: As for `open_session`.
        real_waits: As for `open_session`.
        fuse_seconds: As for `open_session`.

    Returns:
        The turn, even if it failed: look at `outcome` and `error`. A `SystemExit` in the agent
        fails its turn, as the end of a process would, and not the test.

    Raises:
        PromptFailedError: The agent refused `initialize` or `session/new`.
        TimeoutError: A step did not end within `fuse_seconds`.
        MisuseError: An argument is not as described.
        MissingExtraError: The official SDK is not installed.
        TypeError: The methods cannot be served.
    """
    async with open_session(
        agent,
        client_capabilities=client_capabilities,
        answer_permission=answer_permission,
        options=options,
        real_waits=real_waits,
        fuse_seconds=fuse_seconds,
    ) as session:
        return await session.prompt(prompt, cancel_after=cancel_after)


class _Collector:
    """The entries of one link."""

    def __init__(self) -> None:
        self.link = run_id()
        self.entries: list[Entry] = []

    def take(self, link: str, entry: Entry) -> None:
        if link == self.link:
            self.entries.append(entry)


def _now() -> float:
    """Return simulated time, which includes skipped waits."""
    skipped = waits.SKIPPED.get()
    return time.monotonic() if skipped is None else skipped.now()


@contextlib.contextmanager
def _fuse(seconds: float, message: str) -> Iterator[None]:
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        raise TimeoutError(f"{message} within {seconds:g} s (fuse_seconds).") from None


@contextlib.asynccontextmanager
async def _running(
    run: Callable[[], Awaitable[None]], leave: Callable[[], None]
) -> AsyncIterator[None]:
    """Run the agent in this context. An exception is raised unchanged, and not in a group."""
    ended = anyio.Event()

    async def serve() -> None:
        try:
            await run()
        finally:
            ended.set()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(serve)
            yield
            leave()
            with anyio.move_on_after(LEAVE_SECONDS):
                await ended.wait()
            group.cancel_scope.cancel()
    except BaseExceptionGroup as several:
        only, *others = several.exceptions
        if others:
            raise
        raise only from only.__cause__
