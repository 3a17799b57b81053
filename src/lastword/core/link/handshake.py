"""The handshake: what both ends state about themselves in `initialize`, and our part of the answer.

Owns reading both messages raw (SDK models drop unknown keys) and adding one key to the agent's
result without changing anything else.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from lastword.core.failure import ladder
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import has_version, object_of, raw_members

EXTENSION = "agent_error"
EXTENSION_VERSION = 1


class ClientProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What the client is and can accept, by its `initialize`.

    Attributes:
        dialect: that of the protocol version that it requested.
        name: its `clientInfo.name`, lower case.
        version: its `clientInfo.version`.
        typed: it negotiated `agent_error`.
        stop_reason: it accepts `stopReason: "error"` in a prompt result.
        retry: it wants `agent_retry` updates.
        notices: it advertised `session.notices`.
        air: it reads JetBrains AIR's own `sessionFailure`.
        activity: it wants to know whether the agent keeps working without a turn.
    """

    dialect: acp.Dialect = acp.V1
    name: str = ""
    version: str = ""
    typed: bool = False
    stop_reason: bool = False
    retry: bool = False
    notices: bool = False
    air: bool = False
    activity: bool = False


class AgentProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent is, by its answer to `initialize`.

    Attributes:
        dialect: that of the protocol version that it chose; `None` until then.
        name: its `agentInfo.name`.
        version: its `agentInfo.version`.
        speaks_typed: it sends `agent_error` itself.
        can_login: it offered a way to authenticate.
        can_resume: it can restore a session with `session/resume`.
        can_load: it can restore a session with `session/load`, which replays its history.
    """

    dialect: acp.Dialect | None = None
    name: str = ""
    version: str = ""
    speaks_typed: bool = False
    can_login: bool = False
    can_resume: bool = False
    can_load: bool = False


def read_client(line: bytes) -> ClientProfile:
    """Read an `initialize` request."""
    params = object_of(object_of(jsonrpc.loads(line)).get("params"))
    dialect = acp.dialect(params.get("protocolVersion"))
    capabilities = object_of(params.get(dialect.client_capabilities))
    extension = object_of(object_of(capabilities.get("_meta")).get(EXTENSION))
    typed = has_version(extension)
    return ClientProfile(
        dialect=dialect,
        name=_text(object_of(params.get(dialect.client_info)).get("name")).lower(),
        version=_text(object_of(params.get(dialect.client_info)).get("version")),
        typed=typed,
        stop_reason=typed and extension.get("stop_reason") is True,
        retry=typed and extension.get("retry") is True,
        activity=typed and extension.get("session") is True,
        notices=isinstance(object_of(capabilities.get("session")).get("notices"), dict)
        or object_of(capabilities.get("session")).get("notices") is True,
        air=ladder.negotiated(capabilities),
    )


def read_agent(result: object) -> AgentProfile:
    """Read the result of `initialize`."""
    members = object_of(result)
    dialect = acp.dialect(members.get("protocolVersion"))
    own = {dialect.agent_info, dialect.agent_capabilities}
    if own.isdisjoint(members) and {acp.V1.agent_info, acp.V1.agent_capabilities} & members.keys():
        # It repeats the client's version, and answers as in version 1.
        dialect = acp.V1
    capabilities = object_of(members.get(dialect.agent_capabilities))
    methods = members.get("authMethods")
    return AgentProfile(
        dialect=dialect,
        name=_text(object_of(members.get(dialect.agent_info)).get("name")),
        version=_text(object_of(members.get(dialect.agent_info)).get("version")),
        speaks_typed=has_version(object_of(object_of(capabilities.get("_meta")).get(EXTENSION))),
        can_login=isinstance(methods, list) and bool(methods),
        can_resume=dialect.always_resumes
        or isinstance(object_of(capabilities.get("sessionCapabilities")).get("resume"), dict),
        can_load=capabilities.get("loadSession") is True,
    )


def advertise(
    line: bytes, dialect: acp.Dialect, implementation: str | None, *, with_air: bool = False
) -> bytes:
    """Return the agent's answer to `initialize` with our advertisement in its capabilities.

    Without an implementation, the agent speaks for itself. `with_air` adds JetBrains AIR's
    advertisement, for a client that gets failures by its convention. Members that do not contain
    ours keep their bytes. If there is no place for it (`_meta` is not an object), the line is left
    unchanged.
    """
    extension = {
        "version": EXTENSION_VERSION,
        "types": [error_type.value for error_type in ErrorType],
        "implementation": implementation,
    }
    try:
        message = msgspec.json.decode(line, type=dict[str, Raw])
        result = msgspec.json.decode(message["result"], type=dict[str, Raw])
        capabilities = raw_members(result.get(dialect.agent_capabilities))
        meta = raw_members(capabilities.get("_meta"))
        if implementation is not None:
            meta[EXTENSION] = Raw(msgspec.json.encode(extension))
        if with_air:
            ladder.advertise(meta)
        capabilities["_meta"] = Raw(msgspec.json.encode(meta))
        result[dialect.agent_capabilities] = Raw(msgspec.json.encode(capabilities))
        message["result"] = Raw(msgspec.json.encode(result))
        return msgspec.json.encode(message)
    except (msgspec.MsgspecError, KeyError, ValueError, RecursionError):
        return line


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
