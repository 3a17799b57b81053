"""Traces: lines in which programs record the ACP messages that they pass.

Owns the forms: that of `lastword run --frames`, ACP Inspector's, that of the Rust SDK's conductor,
and messages alone. All are read as the first. Knows nothing of files. acp.el saves no lines, but a
list: `acp_el`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

_CONDUCTOR = ("request", "notification", "response")


def read_trace_line(value: object) -> dict[str, Any] | None:
    """Return a decoded line as `lastword run --frames` writes it, or `None` if it is none.

    `at` is in seconds, since 1970 or since the trace began. What the form does not say is left out.
    """
    if not isinstance(value, dict):
        return None
    if "at" in value:
        return value
    moment = value.get("ts")
    if isinstance(value.get("json"), str) and "direction" in value:
        # ACP Inspector: a message as text, with its direction and a date or milliseconds.
        sides = ["agent", "client"]
        if str(value["direction"]).lower() == "fromclient":
            sides.reverse()
        try:
            if isinstance(moment, int | float):
                at = moment / 1000
            else:
                at = datetime.fromisoformat(str(moment)).timestamp()
        except ValueError:
            at = None
        line = {"at": at, "from": sides[0], "to": sides[1]}
        try:
            return line | {"frame": msgspec.json.decode(value["json"])}
        except (msgspec.DecodeError, RecursionError):
            return line | {"text": value["json"]}
    if value.get("type") in _CONDUCTOR and "from" in value and "to" in value:
        # The Rust SDK's conductor: an event, with an answer in `payload`.
        frame: dict[str, Any] = {"jsonrpc": "2.0"}
        frame |= {name: value[name] for name in ("id", "method", "params") if name in value}
        if value["type"] == "response":
            frame["error" if value.get("is_error") else "result"] = value.get("payload")
        return {"at": moment, "from": value["from"], "to": value["to"], "frame": frame}
    if value.get("jsonrpc") == "2.0":
        return {"frame": value}
    return None
