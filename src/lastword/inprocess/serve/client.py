"""The client as handlers see it.

Owns the requests that handlers make to the client, until each is answered or given up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from lastword.core.protocol import acp, jsonrpc
from lastword.errors import ClientError, MisuseError
from lastword.inprocess.request import CURRENT
from lastword.inprocess.serve.methods import camel_case

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.inprocess.request import Request


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
            send: Takes a frame in, with the request whose handler sends it.
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
            session_id: The session that it is for.
            update: The update as it is sent.
            members: Its members by name, in snake_case like handlers' arguments.

        Raises:
            MisuseError: The update has no kind.
            TypeError: It holds something that is not JSON.
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
            TypeError: `params` hold something that is not JSON.
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
            TypeError: `params` hold something that is not JSON.
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
        return _result_of(request.answer)

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


def _result_of(answer: Frame | None) -> Any:
    if answer is None:  # the wait ended without one, which it does not
        raise AssertionError("no answer")
    error = jsonrpc.loads(answer.message.error)
    if error is None:
        return jsonrpc.loads(answer.message.result)
    members = error if isinstance(error, dict) else {}
    code, message = members.get("code"), members.get("message")
    raise ClientError(
        code if isinstance(code, int) else acp.INTERNAL_ERROR,
        message if isinstance(message, str) else "it gave no reason",
        members.get("data"),
    )
