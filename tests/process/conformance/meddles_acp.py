"""Modes that break what is required of every agent: one requirement each."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

from tests.process.conformance.meddling import (
    IN,
    OUT,
    coming,
    ends,
    on_end,
    out,
    text_frame,
    update_frame,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.process.conformance.meddling import Frame, Meddler

# --- the greeting, methods, ids


def _on_welcome(mode: str, change: Callable[[Meddler, Frame], None]) -> None:
    def meddle(meddler: Meddler, frame: Frame) -> list[Frame | bytes]:
        if "protocolVersion" in (frame.get("result") or {}):
            change(meddler, frame["result"])
        return [frame]

    OUT[mode] = meddle


_on_welcome("version-as-text", lambda _, result: result.update(protocolVersion="1"))
_on_welcome("parrots-version", lambda _, result: result.update(protocolVersion=99))
_on_welcome(
    "no-types", lambda _, result: result["agentCapabilities"]["_meta"]["agent_error"].pop("types")
)


@coming("dies-of-hurry")
def _dies_of_hurry(meddler: Meddler, frame: Frame) -> bool:
    meddler.greeted = meddler.greeted or frame.get("method") == "initialize"
    if not meddler.greeted:
        os._exit(1)
    return True


IN["swallows-bad-prompts"] = lambda _, frame: "no-such" not in json.dumps(frame)


@coming("answers-notifications")
def _answers_notifications(meddler: Meddler, frame: Frame) -> bool:
    if "id" not in frame and frame.get("method") != "session/cancel":
        meddler.say({"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "what?"}})
    return True


@out("ids-as-text")
def _ids_as_text(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    is_answer = "method" not in frame and frame["id"] not in (None, 0)
    return [frame | {"id": str(frame["id"])}] if is_answer else [frame]


def _on_error(mode: str, change: Callable[[Frame], None]) -> None:
    def meddle(_: Meddler, frame: Frame) -> list[Frame | bytes]:
        if "error" in frame:
            change(frame["error"])
        return [frame]

    OUT[mode] = meddle


_on_error("internal-for-unknown", lambda error: error.update(code=-32603))
_on_error("data-null", lambda error: error.update(data=None))
_on_error("no-message", lambda error: error.update(message=""))
_on_error("code-as-text", lambda error: error.update(code="EFAIL"))
_on_error("data-as-text", lambda error: error.update(data="it failed"))
_on_error("no-kind", lambda error: error.get("data", {}).pop("errorKind", None))
_on_error("login-for-all", lambda error: error.update(code=-32000))
_on_error("taken-code", lambda error: error.update(code=-32800))
_on_error(
    "codes-swapped",
    lambda error: error.update(code=-32603 if error["code"] == -31050 else -31050),
)


# --- lines, processes


@out("prints")
def _prints(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    return [b"DEBUG: sending", frame]


@out("leaks")
def _leaks(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    return [frame | {"_meta": {"key": os.environ["FOO_KEY"]}}]


@coming("leaks-on-stderr")
def _leaks_on_stderr(_: Meddler, frame: Frame) -> bool:
    os.write(2, os.environ["FOO_KEY"].encode() + b"\n")
    return True


@out("leaves-child")
def _leaves_child(meddler: Meddler, frame: Frame) -> list[Frame | bytes]:
    if not meddler.broken:
        meddler.broken = True
        null = subprocess.DEVNULL
        subprocess.Popen(
            ["sleep", "30"], stdin=null, stdout=null, stderr=null, start_new_session=True
        )
    return [frame]


@out("floods-stderr")
def _floods_stderr(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    if frame.get("method") == "session/update":
        for _piece in range(32):
            os.write(2, b"DEBUG a chunk came\n" * 2000)
    return [frame]


# --- turns


def _failure(frame: Frame) -> bool:
    return "error" in frame


on_end("stop-exploded", lambda _, frame: [ends(frame, "exploded")])
on_end("twice", lambda _, frame: [frame, frame])
on_end("never-ends", lambda _meddler, _frame: [])
on_end("late-text", lambda m, frame: [frame, text_frame(m.last, "And one more thing.")])
on_end(
    "cancelled-as-done",
    lambda _, f: [ends(f, "end_turn") if f.get("result") == {"stopReason": "cancelled"} else f],
)
on_end("failures-hang", lambda _, frame: [] if _failure(frame) else [frame])
on_end("refuses", lambda _, frame: [ends(frame, "refusal")] if _failure(frame) else [frame])
on_end(
    "prose",
    lambda m, f: [text_frame(m.last, "Error: 401"), ends(f, "end_turn")] if _failure(f) else [f],
)
on_end(
    "open-tool",
    lambda m, frame: [
        update_frame(
            m.last, sessionUpdate="tool_call", toolCallId="t", title="x", status="in_progress"
        ),
        frame,
    ],
)
on_end(
    "retries-unasked",
    lambda m, frame: [update_frame(m.last, sessionUpdate="agent_retry", attempt=2), frame],
)


@out("silent")
def _silent(meddler: Meddler, frame: Frame) -> list[Frame | bytes]:
    if frame.get("method") == "session/update":
        return []
    return [ends(frame, "end_turn")] if meddler.asked_by(frame) == "session/prompt" else [frame]


@out("lists-everywhere")
def _lists_everywhere(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    """No member has the type that it should have."""
    update = (frame.get("params") or {}).get("update")
    if update:
        call = {**update, "sessionUpdate": "tool_call", "toolCallId": [1], "status": [2]}
        strange = {**update, "sessionUpdate": ["x"], "error": [3], "_meta": [4]}
        return [update_frame(frame["params"]["sessionId"], **call), update_frame(["s"], **strange)]
    if "stopReason" in (frame.get("result") or {}):
        frame["result"] = {"stopReason": ["end_turn"], "_meta": [5]}
    if "error" in frame:
        payload = {"type": ["t"], "message": ["m"], "origin": [1], "phase": {}, "detail": [6]}
        data = {"details": [7], "errorKind": [8], "agent_error": payload}
        frame["error"] = {"code": [9], "message": [10], "data": data}
    return [frame]


@out("opens-none")
def _opens_none(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    if "sessionId" in (frame.get("result") or {}):
        error = {"code": -32603, "message": "There is no room."}
        return [{"jsonrpc": "2.0", "id": frame["id"], "error": error}]
    return [frame]


@out("one-session")
def _one_session(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    if "sessionId" in (frame.get("result") or {}):
        frame["result"]["sessionId"] = "the-session"
    return [frame]


@out("wrong-session")
def _wrong_session(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    if frame.get("method") == "session/update":
        frame["params"]["sessionId"] = "another"
    return [frame]


@out("mixes-up-answers")
def _notes_requests(meddler: Meddler, frame: Frame) -> list[Frame | bytes]:
    if frame.get("method") == "session/request_permission":
        meddler.requests.append(frame["id"])
    return [frame]


@coming("mixes-up-answers")
def _mixes_up_answers(meddler: Meddler, frame: Frame) -> bool:
    """Each answer is for the request that has been open for the longest."""
    if "method" in frame:
        return True
    meddler.send(frame | {"id": meddler.requests.pop(0)})
    return False


@out("loses-second-request")
def _loses_second_request(meddler: Meddler, frame: Frame) -> list[Frame | bytes]:
    if frame.get("method") != "session/request_permission":
        return [frame]
    meddler.requests.append(frame["id"])
    return [frame] if len(meddler.requests) == 1 else []


@out("one-id-for-all-requests")
def _one_id_for_all_requests(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    is_request = frame.get("method") == "session/request_permission"
    return [frame | {"id": "permission"}] if is_request else [frame]


@coming("deaf-after-idle-cancel")
def _deaf_after_idle_cancel(meddler: Meddler, frame: Frame) -> bool:
    meddler.cancelled = meddler.cancelled or frame.get("method") == "session/cancel"
    return not (meddler.cancelled and frame.get("method") == "session/prompt")


IN["deaf-after-cancel"] = _deaf_after_idle_cancel


@coming("forgets-after-failure")
def _forgets_after_failure(meddler: Meddler, frame: Frame) -> bool:
    if frame.get("method") != "session/prompt":
        return True
    if meddler.broken:
        error = {"code": -32603, "message": "The conversation is in no state to go on."}
        meddler.say({"jsonrpc": "2.0", "id": frame["id"], "error": error})
        return False
    meddler.broken = True
    return True
