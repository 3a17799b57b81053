"""One client and one handler with the core between them, on any event loop and without I/O.

Does what each door does (`lastword.sdk` over the SDK's transport), in the fewest lines, and with a
clock that only a test moves: what a client gets here is the same in every run.
"""

from __future__ import annotations

import contextlib
import json
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import anyio

from lastword.core import jsonrpc
from lastword.core.connection import Options
from lastword.core.facts import Facts
from lastword.inprocess import link as link_module
from lastword.inprocess.calls import CURRENT, Call
from lastword.inprocess.failing import word_for
from lastword.inprocess.link import Link

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import pytest


FUSE_SECONDS = 10.0
PROMPT_ID = 2

Json = dict[str, Any]


def requests(capabilities: Json) -> list[Json]:
    """What a client with these capabilities sends until its prompt is under way."""
    text = [{"type": "text", "text": "hi"}]
    asked: list[tuple[str, Json]] = [
        ("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities}),
        ("session/new", {"cwd": "/", "mcpServers": []}),
        ("session/prompt", {"sessionId": "s1", "prompt": text}),
    ]
    return [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(asked)
    ]


CANCEL: Json = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}
ANSWERS: dict[str, Json] = {
    "initialize": {"protocolVersion": 1},
    "session/new": {"sessionId": "s1"},
}


class Shell:
    """A door in front of one handler; `turn` takes one turn through it.

    Attributes:
        now: The time, in seconds; it stands unless a test moves it.
        frames: What the client got for its prompt, in order.
        facts: What the core knows of the turn.
        cancelled: Cancellation reached the handler.
    """

    def __init__(
        self,
        handler: Callable[[Shell], Awaitable[None]],
        capabilities: Json,
        monkeypatch: pytest.MonkeyPatch,
        **options: Any,
    ) -> None:
        self.now = time.monotonic()
        monkeypatch.setattr(link_module, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.frames: list[Json] = []
        self.facts = Facts()
        self.cancelled = False
        self.at_work = anyio.Event()
        self.answered = anyio.Event()
        self._handler = handler
        self._capabilities = capabilities
        self._prompts: list[Call] = []
        self.link = Link(
            Options(incident_prefix="t-", in_process=True, **options),
            to_client=self._to_client,
            to_handler=lambda _frame, call: self._begin(call),
            on_cancel=_cancel,
            rearm=lambda: None,
        )

    @property
    def call(self) -> Call:
        """The prompt."""
        return self._prompts[0]

    def client(self, message: Json) -> None:
        """The client sends."""
        self.link.from_client(jsonrpc.dumps(message))

    def show(self, **update: Any) -> None:
        """The handler sends an update."""
        params = {"sessionId": "s1", "update": update}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        self.link.from_handler(jsonrpc.dumps(message), CURRENT.get())

    def say(self, text: str) -> None:
        """The handler sends a piece of its answer."""
        content = {"type": "text", "text": text}
        self.show(sessionUpdate="agent_message_chunk", content=content)

    def pass_time(self, seconds: float) -> None:
        """The clock moves, and what is due happens."""
        self.now += seconds
        self.link.handle_timeout()

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """The turn: entered when the handler says that it is `at_work`, left at its answer."""
        with anyio.fail_after(FUSE_SECONDS):
            async with anyio.create_task_group() as group:
                for request in requests(self._capabilities):
                    self.client(request)
                    for call in self._prompts:
                        group.start_soon(self._serve, call)
                core = self.link._core._connection._link
                self.facts = core.sessions["s1"].turns[0].facts
                if not self.at_work.is_set():
                    await self.at_work.wait()
                yield
                await self.answered.wait()

    async def whole_turn(self) -> list[Json]:
        """A turn without a word from outside; gives what the client got."""
        self.at_work.set()
        async with self.turn():
            pass
        return self.frames

    async def _serve(self, call: Call) -> None:
        CURRENT.set(call)
        try:
            result = await call.run(self._work)
        except Exception as error:  # noqa: BLE001 - as a door does
            call.failure = call.failure or error
            self.link.failed(call, word_for(call, error))
        else:
            if call.failure is not None:
                self.link.failed(call, word_for(call, call.failure))
            else:
                self.link.from_handler(jsonrpc.result(call.request_id, result), call)

    async def _work(self) -> Json:
        try:
            await self._handler(self)
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise
        return {"stopReason": "end_turn"}

    def _to_client(self, frame: bytes) -> None:
        message: Json = json.loads(frame)
        if message.get("id") not in (0, 1):
            self.frames.append(message)
        if message.get("id") == PROMPT_ID:
            self.answered.set()

    def _begin(self, call: Call | None) -> None:
        if call is None:
            return
        if call.method in ANSWERS:
            answer = jsonrpc.result(call.request_id, ANSWERS[call.method])
            self.link.from_handler(answer, call)
        else:
            self._prompts.append(call)


def _cancel(calls: list[Call]) -> None:
    for call in calls:
        call.cancel()
