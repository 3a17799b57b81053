"""`lastword.serve`: an agent without an SDK, as functions named after ACP's methods.

Owns the entry point, and the library that dispatches: no other module knows `jsonrpcserver`, and
none of its texts about exceptions reaches the client. Imported only by `lastword.serve`, since that
library takes 51 ms to import.

Only the library's synchronous dispatch is used, to find a message's handler and to check that the
message's params match it. Handlers run on the author's own event loop.
"""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Mapping  # noqa: TC003 - of a public signature, as below
from typing import TYPE_CHECKING, Any

from lastword.core.link.options import Options  # noqa: TC001
from lastword.core.protocol import acp, jsonrpc
from lastword.inprocess import settings, stdio
from lastword.inprocess.serve import connection as handlers
from lastword.inprocess.serve.connection import (
    Handler,
    ServedConnection,
)
from lastword.inprocess.serve.transport import DescriptorTransport, Waker

with warnings.catch_warnings():
    # On Python 3.11 and 3.12 the library reads its own file by a deprecated function, so programs
    # that turn warnings into errors could not import this.
    warnings.simplefilter("ignore", DeprecationWarning)
    import jsonrpcserver

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.inprocess.serve.connection import Client, Method, ServedTransport


MAX_QUOTED_CHARS = 200

# If logging is not set up, Python itself would write the library's messages to stderr.
logging.getLogger("jsonrpcserver").addHandler(logging.NullHandler())


async def serve(methods: Mapping[str, Handler], *, options: Options | None = None) -> None:
    """Run an ACP agent on stdin and stdout until the client closes them.

    ```python
    async def new_session(client, cwd):
        return {"sessionId": str(uuid.uuid4())}


    async def prompt(client, session_id, prompt):
        await client.say(session_id, "Hello.")
        return {"stopReason": "end_turn"}


    asyncio.run(lastword.serve({"session/new": new_session, "session/prompt": prompt}))
    ```

    On trio: `trio.run(lastword.serve, {...})`.

    A handler's first argument is the client, through which it sends updates and requests
    (`lastword.inprocess.serve.connection.Client`). The others are the message's params by name,
    with top-level names in snake_case (`sessionId` is `session_id`); a handler gets those that it
    declares, or all of them with `**params`. It returns the result as sent; `None` is an empty
    result. An exception ends its turn with a failure of the matching type: let a provider's
    exception pass. For a JSON-RPC error of your own, raise `jsonrpcserver.JsonRpcError(code,
    message, data)`.

    A prompt's handler is cancelled when the client disconnects and by `session/cancel`, once your
    own handler for that, if any, has returned (at most 0.5 s).

    Your own cancellation, by a timer or the task's `cancel()`, fails only the handler that it
    reaches.

    While it runs, stdin and stdout are reserved for the client: descriptor 0 is empty, and anything
    that this process or its children print goes to stderr. The log says so at the first `print`.

    Args:
        methods: Handlers by the names of ACP's methods, including extensions. `session/new` and
            `session/prompt` are required; `initialize` has a default.
        options: Limits and choices; by default those of the environment (`LASTWORD_IDLE_TIMEOUT`
            and so on), or else the built-in ones.

    Raises:
        TypeError: A handler is not an `async def` function, or does not take the client first.
        ValueError: `session/new` or `session/prompt` is missing.
        MisuseError: An option cannot apply to an agent in this process, or another agent in it
            serves a client on stdin and stdout.
        SystemExit: A handler raised it.
    """
    router = Dispatch(handlers.read(methods))
    settings.check(options)
    with (
        stdio.reserved() as (source, sink),
        stdio.unblocked(source, sink) as reading,
        Waker() as waker,
    ):
        transport = DescriptorTransport(reading, sink, waker)
        await ServedConnection(transport, waker, router, settings.complete(options)).run()


async def serve_over(
    methods: Mapping[str, Handler],
    transport_of: Callable[[Waker], ServedTransport],
    *,
    options: Options | None = None,
) -> None:
    """Serve over a transport of one's own, as `serve` does on stdin and stdout."""
    router = Dispatch(handlers.read(methods))
    with Waker() as waker:
        transport = transport_of(waker)
        await ServedConnection(transport, waker, router, settings.complete(options)).run()


class Bound:
    """The library's `context`: the client and, as the result, the handler with its arguments."""

    __slots__ = ("client", "work")

    def __init__(self, client: Client) -> None:
        self.client: Client = client
        self.work: Callable[[], Awaitable[Any]] | None = None


class Dispatch:
    """Finds the handler for a message."""

    def __init__(self, methods: dict[str, Method]) -> None:
        self._methods = methods
        self._dispatched = {name: _binding(method) for name, method in methods.items()}

    def route(self, frame: Frame, client: Client) -> Callable[[], Awaitable[Any]] | dict[str, Any]:
        """Return the call to make, or a JSON-RPC error object if there is none."""
        name = frame.message.method or ""
        message = jsonrpc.loads(frame.line)
        params = message.get("params") if isinstance(message, dict) else None
        method = self._methods.get(name)
        if method is not None and not isinstance(params, dict | None):
            return _refusal(acp.INVALID_PARAMS, f"The params of {name} are an object, by name.")
        fitting = method.arguments(params or {}) if method else {}
        bound = Bound(client)
        # Every message is dispatched as a request: for notifications the library returns nothing.
        response = jsonrpcserver.dispatch_to_serializable(
            "",
            self._dispatched,
            context=bound,
            deserializer=lambda _: {"method": name, "params": fitting, "id": 0},
            validator=lambda request: request,
        )
        if bound.work is not None:
            return bound.work
        # The library's refusal, in words for the author of the client.
        error = response.get("error", {}) if isinstance(response, dict) else {}
        code, shown = error.get("code"), name[:MAX_QUOTED_CHARS]
        if code == acp.METHOD_NOT_FOUND:
            return _refusal(acp.METHOD_NOT_FOUND, f'This agent has no method "{shown}".')
        if code == acp.INVALID_PARAMS and method is not None:
            missing = [handlers.camel_case(key) for key in method.needed if key not in fitting]
            words = ", ".join(f'"{key}"' for key in missing) or "others"
            return _refusal(acp.INVALID_PARAMS, f"Invalid params: {name} needs {words}.")
        return _refusal(acp.INTERNAL_ERROR, f"{shown} could not be dispatched.")

    def sent_error(self, error: BaseException) -> dict[str, Any] | None:
        """Return the JSON-RPC error object that an author meant by an exception, if any."""
        if not isinstance(error, jsonrpcserver.JsonRpcError):
            return None
        sent: dict[str, Any] = {"code": error.code, "message": error.message}
        # The library marks missing data with its own value, which is not JSON.
        if isinstance(error.data, dict | list | str | int | float | None):
            sent["data"] = error.data
        return sent


def _binding(method: Method) -> Callable[..., Any]:
    """Return a method as the library calls it, with the handler's signature to check params."""

    @functools.wraps(method.handler)
    def bind(bound: Bound, /, **arguments: Any) -> Any:
        bound.work = functools.partial(method.handler, bound.client, **arguments)
        return jsonrpcserver.Success(None)

    return bind


def _refusal(code: int, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "data": {"details": message}}
