"""A session with an agent in the process of a test, and its turns.

Owns what a test decides: what the client can do, what it answers, when it cancels, how long it
waits at most, and whether waits pass at once (`inprocess.waits` does the skipping).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import anyio
import msgspec

from lastword._version import __version__
from lastword.client.raise_for import raise_for_error
from lastword.core.link.options import Options
from lastword.core.protocol import acp
from lastword.core.timeline.entry import Entry, Kind
from lastword.inprocess import handling, journal, waits
from lastword.platform.identity import run_id
from lastword.testing.doors import ClientOfTest, door_of, permission_answer
from lastword.testing.timeline import TurnResult


@contextlib.contextmanager
def without_waits() -> Iterator[None]:
    """Let lastword's own waits pass at once for agents and calls started in this context.

    `take_turn` and `open_session` do this by themselves. Use it for connections of your own, and
    for functions under `lastword.retry` that are tested without a turn:

    ```python
    with without_waits():
        await ask_the_model()  # decorated with @lastword.retry: its waits are not slept
    ```

    - A wait before a retry is reported and recorded in full (20 s stay 20 s), counts against
      `Retry.budget_seconds`, and is not slept.
    - A limit on silence that the test sets, such as `Options(idle_timeout_seconds=60)`, passes once
      the agent has done nothing for a quarter of a second, and so does the time that a cancelled
      handler is given. Limits that nobody set never pass.
    - What the agent itself sleeps, and the retries of a provider's package, take their time.

    It applies to this task, and to tasks started from it, until the context is left.
    """
    with waits.skipped():
        yield


Json: TypeAlias = dict[str, Any]
Permission: TypeAlias = Literal["allow", "reject", "cancel"] | Callable[[Json], str | None]
CancelAfter: TypeAlias = float | Callable[[Json], bool] | None

TYPED: Json = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
"""What a client that takes typed errors says of itself."""

FUSE_SECONDS = 30.0
"""How long a step of a test may take; far more than any that works."""

LEAVE_SECONDS = 5.0
"""How long the agent may take to end once its client has left; then its handlers are cancelled."""


class AgentSession:
    """A session opened by `open_session`.

    Attributes:
        session_id: Its id, as the agent gave it.
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
            The turn, even if it failed: a failure of the agent raises nothing here.

        Raises:
            TimeoutError: It did not end within the session's `fuse_seconds`, in real time.
            Exception: What one of the test's functions raised, passed here or to `open_session`.
        """
        first, number = len(self._client.frames), self._turns() + 1
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

    def _turns(self) -> int:
        return sum(entry.kind is Kind.PROMPT for entry in self._entries)

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
        real_waits: Whether waits take their time. By default they pass at once: see
            `without_waits`.
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
    door = door_of(agent)
    own = {acp.PERMISSION: permission_answer(answer_permission), **(answers or {})}
    client, collector = ClientOfTest(door, own), _Collector()
    chosen = msgspec.structs.replace(
        options or Options(), record=False, incident_prefix=f"{collector.link}-"
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(journal.collected_by(collector))
        stack.enter_context(handling.process_stays())
        if not real_waits:
            stack.enter_context(waits.skipped())
        async with _running(lambda: door.run(client.receive, chosen), door.leave):
            with _fuse(fuse_seconds, "The agent did not open a session"):
                opened = await _open(client, client_capabilities)
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
        The turn, even if it failed: look at `outcome` and `error`. A `SystemExit` of the agent's
        fails its turn as the end of a process does, and does not end the test.

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


async def _open(client: ClientOfTest, capabilities: Mapping[str, Any] | None) -> Json:
    """Introduce the client and open a session; return both answers as one."""
    initialized = await client.request(
        acp.INITIALIZE,
        {
            "protocolVersion": 1,
            "clientCapabilities": dict(TYPED if capabilities is None else capabilities),
            "clientInfo": {"name": "lastword.testing", "version": __version__},
        },
    )
    raise_for_error(initialized)
    opened = await client.request("session/new", {"cwd": os.getcwd(), "mcpServers": []})
    raise_for_error(opened)
    return {"initialized": initialized["result"], **opened["result"]}


class _Collector:
    """The entries of one link."""

    def __init__(self) -> None:
        self.link = run_id()
        self.entries: list[Entry] = []

    def take(self, link: str, entry: Entry) -> None:
        if link == self.link:
            self.entries.append(entry)


def _now() -> float:
    """Return simulated time, which includes what was skipped."""
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
