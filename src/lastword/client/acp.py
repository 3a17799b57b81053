"""The official SDK's client with typed failures: `connect_to_agent`, `spawn_agent_process`.

Both replace the SDK's functions of the same name, with the same arguments. Owns what the SDK would
not do by itself: it drops updates that it does not know, and loses a prompt's result with
`stopReason: "error"`. Here both arrive in a shape that it accepts, through its public transport.
"""

from __future__ import annotations

import asyncio
import functools
from asyncio.subprocess import Process  # noqa: TC003 - of a public signature, as below
from collections.abc import AsyncIterator, Mapping  # noqa: TC003
from contextlib import asynccontextmanager
from pathlib import Path  # noqa: TC003
from typing import TYPE_CHECKING, Any

from lastword.client.acp_transport import AgentProcess, StreamTransport, TypedTransport
from lastword.client.reading import CLASS_FOR, raise_for_error, read_error, read_retry
from lastword.errors import AgentLostError, missing_extra

try:
    import acp
    from acp.client.connection import ClientSideConnection  # noqa: TC002 - of a public signature
    from acp.schema import ClientCapabilities
except ImportError as _missing:
    raise missing_extra("lastword.client.acp", "acp", _missing) from None

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["connect_to_agent", "spawn_agent_process"]

ADVERTISEMENT: dict[str, Any] = {"version": 1, "retry": True}
_CARRIER_FIELDS = {"session_update", "field_meta"}


def connect_to_agent(
    client: Any,
    input_stream: Any,
    output_stream: Any = None,
    *,
    use_unstable_protocol: bool = False,
    **connection_kwargs: Any,
) -> ClientSideConnection:
    """Connect a client to an agent as `acp.connect_to_agent` does, with typed failures.

    Two methods of the client are called if it has them, with these keywords, as the SDK calls its
    own: `agent_error(session_id, error)`, with an `AgentError`, for each update that says why a
    turn is about to fail, and `agent_retry(session_id, retry)`, with a `RetryNotice`, while the
    agent tries again. `prompt()` raises `lastword.errors.PromptFailedError`, whose cause is the
    SDK's exception.

    Args:
        client: The client, or a function that creates one for a connection, as for the SDK.
        input_stream: A `StreamWriter` to the agent, or a transport.
        output_stream: A `StreamReader` from the agent; `None` with a transport.
        use_unstable_protocol: As the SDK's.
        connection_kwargs: As the SDK's. Observers see what the SDK sees: an `agent_error` in the
            shape of a `session_info_update`.

    Returns:
        The SDK's own connection, whose `initialize` and `prompt` behave as described.
    """
    transport = input_stream
    if isinstance(input_stream, asyncio.StreamWriter):
        if not isinstance(output_stream, asyncio.StreamReader):
            raise TypeError("connect_to_agent needs a StreamWriter and a StreamReader")
        timeout = connection_kwargs.pop("receive_timeout", None)
        transport, output_stream = StreamTransport(input_stream, output_stream, timeout), None
    elif not all(hasattr(input_stream, name) for name in ("send", "receive", "close")):
        raise TypeError("connect_to_agent needs a StreamWriter and a StreamReader, or a transport")

    def listening(connection: Any) -> Any:
        # Before the author's client sees the connection, which it may use at once.
        connection.initialize = functools.partial(_initialize, connection.initialize)
        connection.prompt = functools.partial(_prompt, connection.prompt)
        return _Listening(client(connection) if callable(client) else client)

    return acp.connect_to_agent(
        listening,  # type: ignore[arg-type]
        TypedTransport(transport),
        output_stream,
        use_unstable_protocol=use_unstable_protocol,
        **connection_kwargs,
    )


@asynccontextmanager
async def spawn_agent_process(
    to_client: Any,
    command: str,
    *args: str,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    transport_kwargs: Mapping[str, Any] | None = None,
    **connection_kwargs: Any,
) -> AsyncIterator[tuple[ClientSideConnection, Process]]:
    """Start an agent and connect to it as `acp.spawn_agent_process` does, with typed failures.

    The agent's stderr is read, so the agent never blocks on it: if the process dies, the end of
    stderr is in the `detail` of the `PromptFailedError`, and `process.stderr` yields it to any
    reader. With the SDK's function, an agent stops forever once it has filled the pipe.

    Args:
        to_client: The client, as for `connect_to_agent`.
        command: The agent's executable.
        args: Its arguments.
        env: As the SDK's: few variables are inherited, and these are added.
        cwd: As the SDK's.
        transport_kwargs: As the SDK's. With `{"stderr": None}`, the agent inherits the client's
            stderr.
        connection_kwargs: As the SDK's.
    """
    settings = dict(transport_kwargs or {})
    async with (
        AgentProcess() as agent,
        acp.spawn_stdio_transport(command, *args, env=env, cwd=cwd, **settings) as spawned,
    ):
        reader, writer, process = spawned
        agent.started(process)
        connection = connect_to_agent(to_client, writer, reader, **connection_kwargs)
        connection.prompt = functools.partial(  # type: ignore[method-assign]
            _prompt_process, agent, connection.prompt
        )
        try:
            yield connection, process
        finally:
            await connection.close()


async def _initialize(
    initialize: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any
) -> Any:
    """Advertise the extension in `initialize`, unless the client's author did."""
    request = args[0] if args else kwargs.get("params")
    if isinstance(request, acp.InitializeRequest):  # the SDK's older calling convention
        capabilities = _negotiating(request.client_capabilities)
        return await initialize(request.model_copy(update={"client_capabilities": capabilities}))
    if len(args) > 1:
        args = (args[0], _negotiating(args[1]), *args[2:])
    else:
        kwargs["client_capabilities"] = _negotiating(kwargs.get("client_capabilities"))
    return await initialize(*args, **kwargs)


def _negotiating(capabilities: ClientCapabilities | None) -> ClientCapabilities:
    own = capabilities or ClientCapabilities()
    meta = dict(own.field_meta or {})
    meta.setdefault("agent_error", ADVERTISEMENT)
    return own.model_copy(update={"field_meta": meta})


async def _prompt(prompt: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any) -> Any:
    try:
        answer = await prompt(*args, **kwargs)
    except Exception as error:
        raise_for_error(error)
        raise
    return raise_for_error(answer)


async def _prompt_process(
    agent: AgentProcess, prompt: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any
) -> Any:
    """Prompt our own process; if it has died, the failure says how."""
    try:
        return await prompt(*args, **kwargs)
    except AgentLostError as lost:
        if not isinstance(lost.__cause__, ConnectionError):
            raise
        error = await agent.failure()
        raise CLASS_FOR[error.type](error) from lost.__cause__


class _Listening:
    """The author's client, with failures and retries removed from its updates."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._client, name)
        return functools.partial(self._older, value) if name == "sessionUpdate" else value

    @property
    def session_update(self) -> Callable[..., Awaitable[None]]:
        """The method that the SDK calls for every update; it tries an older name without it."""
        return functools.partial(self._update, self._client.session_update)

    async def _update(self, own: Any, session_id: str, update: Any, **meta: Any) -> None:
        if not await self._report(session_id, update):
            await own(session_id=session_id, update=update, **meta)

    async def _older(self, own: Any, notification: Any) -> None:
        if not await self._report(notification.session_id, notification.update):
            await own(notification)

    async def _report(self, session_id: str, update: Any) -> bool:
        """Report a failure or retry in an update; return whether the update has nothing else."""
        if getattr(update, "session_update", None) != "session_info_update":
            return False
        meta = update.field_meta or {}
        if "agent_error" in meta and (error := read_error(update)) is not None:
            await self._call("agent_error", session_id=session_id, error=error)
        elif "agent_retry" in meta and (retry := read_retry(meta["agent_retry"])) is not None:
            await self._call("agent_retry", session_id=session_id, retry=retry)
        else:
            return False
        return not update.model_fields_set - _CARRIER_FIELDS

    async def _call(self, name: str, **report: object) -> None:
        method = getattr(self._client, name, None)
        if method is not None:
            await method(**report)
