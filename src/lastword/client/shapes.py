"""Plain objects of what a client was given: decoded JSON, models of the SDK, frames around them.

Owns how deep to look for the update or the payload in it. Does not own what they mean
(`client.reading`, `client.retries`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from lastword.core.failure import signs
from lastword.core.protocol import acp

if TYPE_CHECKING:
    from pydantic import BaseModel

Members = dict[str, Any]


def object_of(value: object) -> Members:
    """The members of a JSON object or of a model; none for anything else."""
    if isinstance(value, dict):
        return value
    if _is_model(value):
        return _dumped(value)
    return dict(value) if isinstance(value, Mapping) else {}


def _is_model(value: object) -> TypeGuard[BaseModel]:
    """Is it a model of pydantic's? Who has one has loaded pydantic, which takes 50 ms."""
    known = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return known is not None and isinstance(value, known)


def _dumped(model: BaseModel) -> Members:
    # The mode "json" makes enums plain, and refuses what an author put into a model that is no
    # JSON.
    try:
        return model.model_dump(mode="json", by_alias=True, exclude_none=True)
    except Exception:  # noqa: BLE001 - a foreign model's serialisers may raise anything
        return model.model_dump(by_alias=True, exclude_none=True)


def update_in(members: Members) -> Members:
    """The `update` in a `session/update`: the whole notification, its params, or itself."""
    if "sessionUpdate" in members:
        return members
    if members.get("method") == acp.UPDATE:
        members = object_of(members.get("params"))
    return object_of(members.get("update"))


def payload_in(carrier: object) -> Members | None:
    """The payload under `agent_error`, in a `_meta` or a `data`; not an advertisement there."""
    members = object_of(carrier)
    payload = members.get("agent_error")
    if payload is not None and not isinstance(payload, dict):
        members = members | {"agent_error": object_of(payload) or None}
    return signs.payload_in(members)


def kind_of(update: Members) -> str:
    """The kind of an update; empty without one."""
    kind = update.get("sessionUpdate")
    return kind if isinstance(kind, str) else ""
