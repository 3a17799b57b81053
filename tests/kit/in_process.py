"""One client and one handler with the core between them, on any event loop and without I/O.

Does what each door does (`lastword.inprocess.sdk` over the SDK's transport), in the fewest lines,
and with a clock that only a test moves: what a client gets here is the same in every run.
"""

from __future__ import annotations

import contextlib
import json
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import anyio

from lastword.core.failure.retry_policy import RetryBucket
from lastword.core.link.connection import LinkOptions
from lastword.core.link.facts import Facts
from lastword.core.protocol import jsonrpc
from lastword.inprocess import handling, waits
from lastword.inprocess import link as link_module
from lastword.inprocess.link import HandlerLink
from lastword.inprocess.request import CURRENT, Request
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import pytest


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
        unread: What the client has sent, and a blocked loop has not read.
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
        # What other tests have tried again counts for none here.
        monkeypatch.setattr(waits, "_OF_PROCESS", RetryBucket())
        self.frames: list[Json] = []
        self.facts = Facts()
        self.cancelled = False
        self.unread: list[Json] = []
        self.at_work = anyio.Event()
        self.answered = anyio.Event()
        self._handler = handler
        self._capabilities = capabilities
        self._prompts: list[Request] = []
        self.link = HandlerLink(
            LinkOptions(incident_prefix="t-", in_process=True, **options),
            to_client=self._to_client,
            to_handler=lambda _frame, request: self._begin(request),
            on_cancel=_cancel,
            rearm=lambda: None,
            read_ready=self._read_ready,
        )

    @property
    def request(self) -> Request:
        return self._prompts[0]

    def client(self, message: Json) -> None:
        self.link.from_client(jsonrpc.dumps(message))

    def _read_ready(self) -> None:
        while self.unread:
            self.client(self.unread.pop(0))

    def show(self, **update: Any) -> None:
        params = {"sessionId": "s1", "update": update}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        self.link.from_handler(jsonrpc.dumps(message), CURRENT.get())

    def say(self, text: str) -> None:
        content = {"type": "text", "text": text}
        self.show(sessionUpdate="agent_message_chunk", content=content)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.link.handle_timeout()

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """The turn: entered when the handler says that it is `at_work`, left at its answer."""
        with anyio.fail_after(FUSE_SECONDS):
            async with anyio.create_task_group() as group:
                for message in requests(self._capabilities):
                    self.client(message)
                    for request in self._prompts:
                        group.start_soon(self._serve, request)
                core = self.link._core.connection.link
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

    async def _serve(self, request: Request) -> None:
        CURRENT.set(request)
        with contextlib.suppress(Exception):  # an author's log takes it
            result = await handling.run(request, self._work, lambda _: None)
            handling.answer(request, {"jsonrpc": "2.0", "id": PROMPT_ID, "result": result})

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

    def _begin(self, request: Request | None) -> None:
        if request is None:
            return
        if request.method in ANSWERS:
            answer = jsonrpc.result(request.request_id, ANSWERS[request.method])
            self.link.from_handler(answer, request)
        else:
            self._prompts.append(request)


def _cancel(requests: list[Request]) -> None:
    for request in requests:
        request.cancel()
