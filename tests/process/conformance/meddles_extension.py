"""Modes that break the extension in an agent that speaks it: one requirement each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.process.conformance.meddling import OUT, on_end, out, update_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.process.conformance.meddling import Frame, Meddler

# --- the extension


def _carrier(frame: Frame) -> Frame | None:
    """The object that holds a payload, under `error` or `agent_error`."""
    update = (frame.get("params") or {}).get("update") or {}
    if update.get("sessionUpdate") == "agent_error":
        return update
    for holder in (
        update.get("_meta"),
        (frame.get("error") or {}).get("data"),
        (frame.get("result") or {}).get("_meta"),
    ):
        if isinstance(holder, dict) and "agent_error" in holder:
            return holder
    return None


def _payload(frame: Frame) -> Frame | None:
    holder = _carrier(frame)
    return holder and holder.get("agent_error", holder.get("error"))


def _on_payload(mode: str, change: Callable[[Frame], object]) -> None:
    def meddle(_: Meddler, frame: Frame) -> list[Frame | bytes]:
        payload = _payload(frame)
        if payload is not None:
            change(payload)
        return [frame]

    OUT[mode] = meddle


_on_payload("no-retryable", lambda payload: payload.pop("retryable"))
_on_payload("null-member", lambda payload: payload.update(source=None))
_on_payload("bracket", lambda payload: payload.update(message="[red]It failed.[/red]"))
_on_payload("long-message", lambda payload: payload.update(message="It failed. " * 60))
_on_payload("detail-as-text", lambda payload: payload.update(detail="it failed"))
_on_payload("half-seconds", lambda payload: payload.update(retry_after_seconds=1.5))
_on_payload("no-stop-reason", lambda payload: payload.pop("stopReason", None))
_on_payload("strange-type", lambda payload: payload.update(type="oops"))
_on_payload("wrong-type", lambda payload: payload.update(type="internal"))
_on_payload("strange-origin", lambda payload: payload.update(origin="moon"))
_on_payload("unreadable", lambda payload: payload.update(request_id={"id": 1}))
_on_payload("taken-words", lambda payload: payload.update(message="Session not found."))
_on_payload("large", lambda payload: payload.update(detail={"text": "x" * 70_000}))


def _is_typed(frame: Frame) -> bool:
    update = (frame.get("params") or {}).get("update") or {}
    return update.get("sessionUpdate") == "agent_error"


@out("typed-twice")
def _typed_twice(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    return [frame, frame] if _is_typed(frame) else [frame]


@out("update-differs")
def _update_differs(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    if _is_typed(frame):
        frame["params"]["update"]["error"]["message"] = "Something else failed."
    return [frame]


@out("no-payload")
def _no_payload(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    if _payload(frame) is None:
        return [frame]
    if "method" in frame:
        return []
    _carrier(frame).pop("agent_error")
    return [frame]


@out("told-again")
def _told_again(meddler: Meddler, frame: Frame) -> list[Frame | bytes]:
    if _is_typed(frame):
        meddler.kept = frame
    again = "error" in frame and hasattr(meddler, "kept")
    return [frame, meddler.kept] if again else [frame]


@out("always-typed")
def _always_typed(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    payload = _payload(frame)
    if payload is not None and "method" in frame:
        update = {"sessionUpdate": "agent_error", "stopReason": "error", "error": payload}
        frame["params"]["update"] = update
    return [frame]


@out("titled-carrier")
def _titled_carrier(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    if _payload(frame) is not None and "method" in frame and not _is_typed(frame):
        frame["params"]["update"]["title"] = "It failed"
    return [frame]


@out("root-member")
def _root_member(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    update = (frame.get("params") or {}).get("update") or {}
    if _payload(frame) is not None and update and not _is_typed(frame):
        update["stopReason"] = "error"
    return [frame]


@out("result-unasked")
def _result_unasked(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    payload = _payload(frame)
    if "error" not in frame or payload is None:
        return [frame]
    result = {"stopReason": "error", "_meta": {"agent_error": payload}}
    return [{"jsonrpc": "2.0", "id": frame["id"], "result": result}]


@out("consent-ignored")
def _consent_ignored(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    payload = _payload(frame)
    if "result" not in frame or payload is None:
        return [frame]
    error = {"code": -32603, "message": "It failed.", "data": {"agent_error": payload}}
    return [{"jsonrpc": "2.0", "id": frame["id"], "error": error}]


def _cancel_as_failure(meddler: Meddler, frame: Frame) -> list[Frame | bytes]:
    if frame.get("result") != {"stopReason": "cancelled"}:
        return [frame]
    error = {"type": "cancelled", "message": "You stopped it.", "retryable": False}
    update = {"sessionUpdate": "agent_error", "stopReason": "error", "error": error}
    return [update_frame(meddler.last, **update), frame]


on_end("cancel-as-failure", _cancel_as_failure)
