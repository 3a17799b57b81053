"""Plain objects from what a client received: decoded JSON, SDK models, frames around them.

Owns how deep to look for the update or the payload. Does not own what they mean (`client.reading`,
`client.retries`).
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
    """Return the members of a JSON object or of a model; none for anything else."""
    if isinstance(value, dict):
        return value
    if _is_model(value):
        return _dumped(value)
    return dict(value) if isinstance(value, Mapping) else {}


def _is_model(value: object) -> TypeGuard[BaseModel]:
    """Return whether it is a pydantic model, without importing pydantic, which takes 50 ms."""
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return base is not None and isinstance(value, base)


def _dumped(model: BaseModel) -> Members:
    # The mode "json" makes enums plain, and rejects anything that an author put into a model that
    # is not JSON.
    try:
        return model.model_dump(mode="json", by_alias=True, exclude_none=True)
    except Exception:  # noqa: BLE001 - a foreign model's serialisers may raise anything
        return model.model_dump(by_alias=True, exclude_none=True)


def update_in(members: Members) -> Members:
    """Return the `update` of a `session/update`, given the notification, its params, or itself."""
    if "sessionUpdate" in members:
        return members
    if members.get("method") == acp.UPDATE:
        members = object_of(members.get("params"))
    return object_of(members.get("update"))


def payload_in(carrier: object) -> Members | None:
    """Return the payload under `agent_error` in a `_meta` or a `data`; not an advertisement."""
    members = object_of(carrier)
    payload = members.get("agent_error")
    if payload is not None and not isinstance(payload, dict):
        members = members | {"agent_error": object_of(payload) or None}
    return signs.payload_in(members)


def kind_of(update: Members) -> str:
    """Return the kind of an update; empty if it has none."""
    kind = update.get("sessionUpdate")
    return kind if isinstance(kind, str) else ""
