"""The failure in any message that a client receives, in whichever way it was reported.

Owns where to look, and in which order (`protocol/README.md`, section "Reading").
`core.failure.payload` reads a payload; `core.classify` interprets an error without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.client import classify
from lastword.client.exceptions import error_in
from lastword.client.shapes import kind_of, object_of, payload_in, update_in
from lastword.core.classify import agents
from lastword.core.failure.payload import payload_of, read_payload
from lastword.core.failure.taxonomy import AgentError
from lastword.core.protocol import acp

if TYPE_CHECKING:
    from lastword.client.shapes import Members

NO_FAILURE_KINDS = acp.AGENT_RETRY_KINDS | {"notice"}


def read_error(message: object) -> AgentError | None:
    """Return how a turn failed, if this message reports that one did.

    ```python
    error = client.read_error(message)  # whatever came from the agent
    if error is not None:
        show(client.describe(error))
    ```

    A failing turn may report its failure twice: in an update, and in the message that ends it. Both
    give the same value.

    Args:
        message: A `session/update` (the notification, its params or its `update`), a prompt's
            result, a JSON-RPC response or its error, as decoded JSON or as the official SDK's
            models; the exception that the SDK raised; or anything else.

    Returns:
        The failure, or `None` for a message without one, such as a healthy update or a retry.
        Members that the contract does not name are in its `extra`. An error from an agent without
        the extension is classified; its `retry_safety` is then never `auto`.
    """
    try:
        return _read(message)
    except Exception:  # noqa: BLE001 - the last net for hostile objects; no JSON falls into it
        return None


def _read(message: object) -> AgentError | None:
    if isinstance(message, AgentError):
        return message
    if isinstance(message, BaseException):
        error = error_in(message)
        return error if isinstance(error, AgentError) or error is None else _of_error(error)
    return _of_object(object_of(message))


def _of_object(members: Members) -> AgentError | None:
    if "method" in members or "sessionUpdate" in members or "update" in members:
        update = update_in(members)
        return _of_update(update) if update else None
    if _is_payload(members):
        return read_payload(members)
    if "stopReason" in members or "_meta" in members:
        return _of_result(members)
    if members.get("error") is not None:
        return _of_error(members["error"])
    if "result" in members:
        return _of_result(object_of(members["result"]))
    if isinstance(members.get("code"), int | str) and {"message", "data"} & members.keys():
        return _of_error(members)
    return None


def _is_payload(members: Members) -> bool:
    return isinstance(members.get("type"), str) and isinstance(members.get("retryable"), bool)


def _of_update(update: Members) -> AgentError | None:
    kind = kind_of(update)
    if kind in acp.AGENT_ERROR_KINDS:
        error = object_of(update.get("error"))
        return read_payload(payload_of(update | {"error": error} if error else update))
    if kind in NO_FAILURE_KINDS:
        return None
    if kind == acp.STATE_UPDATE:
        failed = update.get("state") == acp.IDLE and update.get("stopReason") == acp.STOP_ERROR
        return _of_error(update.get("error")) if failed else None
    payload = payload_in(update.get("_meta")) if kind == "session_info_update" else None
    if payload is not None:
        return read_payload(payload)
    return _of_sign(agents.read_update(update))


def _of_result(result: Members) -> AgentError | None:
    if result.get("stopReason") == acp.CANCELLED:
        return None
    payload = payload_in(result.get("_meta"))
    if payload is not None:
        return read_payload(payload)
    error = _of_sign(agents.read_result(result))
    if error is None and result.get("stopReason") == acp.STOP_ERROR:
        return _of_error(result.get("error"))
    return error


def _of_sign(sign: agents.Sign | None) -> AgentError | None:
    """Return a failure reported in an agent's own way; one that it will retry is none."""
    return None if sign is None or sign.will_retry else classify.compose(sign.verdict)


def _of_error(error: object) -> AgentError:
    """Return the failure in a JSON-RPC error object, or in what stands in its place."""
    members = object_of(error)
    payload = payload_in(members.get("data"))
    if payload is not None:
        return read_payload(payload)
    return classify.of_rpc_error(members or error)
