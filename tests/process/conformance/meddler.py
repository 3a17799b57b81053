"""`meddler.py MODE -- CMD…`: an agent that is well, with one thing wrong on its way out or in.

`MODES` names them: each breaks one requirement of an agent, or of its `agent_error`, so that a
check which finds it finds that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    Frames: TypeAlias = "list[Frame | bytes]"

Frame = dict[str, Any]


class Meddler:
    """The relay that stands between, and what it remembers."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.asked: dict[object, Frame] = {}
        self.requests: list[object] = []
        self.greeted = False
        self.broken = False
        self.cancelled = False
        self.lock = threading.Lock()

    def run(self, command: list[str]) -> int:
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=self.listen, daemon=True).start()
        for line in self.child.stdout:
            frame = json.loads(line)
            for out in OUT.get(self.mode, _as_it_is)(self, frame):
                self.say(out)
        self.child.wait()
        return 3 if self.mode == "exit-3" else 0

    def say(self, out: Frame | bytes) -> None:
        data = out if isinstance(out, bytes) else json.dumps(out).encode()
        with self.lock:
            view = memoryview(data + b"\n")
            while view:
                view = view[os.write(1, view) :]

    def listen(self) -> None:
        lines = _first_lines() if self.mode == "reads-blocks" else sys.stdin.buffer
        for line in lines:
            self.hear(line)
        if self.mode == "stays" or (self.mode == "stays-in-turn" and self.open_turn()):
            threading.Event().wait(600)
        self.child.stdin.close()

    def hear(self, line: bytes) -> None:
        if self.mode.startswith("dies-of-"):
            _die_of(self.mode.removeprefix("dies-of-"), line)
        try:
            frame = json.loads(line)
        except ValueError:
            frame = None
        if isinstance(frame, dict):
            if "id" in frame and "method" in frame:
                self.asked[frame["id"]] = frame
            if not IN.get(self.mode, lambda *_: True)(self, frame):
                return
        self.child.stdin.write(line)
        self.child.stdin.flush()

    def send(self, frame: Frame) -> None:
        self.child.stdin.write(json.dumps(frame).encode() + b"\n")
        self.child.stdin.flush()

    def open_turn(self) -> bool:
        return any(frame["method"] == "session/prompt" for frame in self.asked.values())

    def asked_by(self, frame: Frame) -> str:
        """The method that a frame answers."""
        return str(self.asked.pop(frame.get("id"), {}).get("method"))


def _first_lines():
    while data := os.read(0, 1 << 16):
        yield data.split(b"\n")[0] + b"\n"


def _die_of(junk: str, line: bytes) -> None:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        if junk == "utf8":
            os._exit(1)
        return
    if not text.strip():
        if junk == "blank":
            os._exit(1)
        return
    try:
        value = json.loads(text)
    except ValueError:
        if junk == "text":
            os._exit(1)
        return
    if junk == "scalars" and not isinstance(value, dict):
        os._exit(1)


def _as_it_is(_meddler: Meddler, frame: Frame) -> list[Frame | bytes]:
    return [frame]


OUT: dict[str, Callable[[Meddler, Frame], list[Frame | bytes]]] = {}
IN: dict[str, Callable[[Meddler, Frame], bool]] = {}
WHOLE = (
    *("nothing", "reads-blocks", "stays", "stays-in-turn", "exit-3"),
    *("dies-of-text", "dies-of-scalars", "dies-of-blank", "dies-of-utf8"),
)
"""Modes of the process rather than of frames."""


def entered(table: dict[str, Any], *modes: str) -> Callable[[Any], Any]:
    """Enter a function: what becomes of the agent's frames, or which of the client's pass."""

    def enter(function: Any) -> Any:
        table.update(dict.fromkeys(modes, function))
        return function

    return enter


# --- what a frame holds


def _update(frame: Frame) -> Frame:
    return (frame.get("params") or {}).get("update") or {}


def _result(frame: Frame) -> Frame:
    return frame.get("result") or {}


def _welcome(frame: Frame) -> Frame | None:
    return _result(frame) if "protocolVersion" in _result(frame) else None


def _opened(frame: Frame) -> Frame | None:
    return _result(frame) if "sessionId" in _result(frame) else None


def _carrier(frame: Frame) -> Frame | None:
    """The object that holds a payload, under `error` or `agent_error`."""
    if _is_typed(frame):
        return _update(frame)
    data = (frame.get("error") or {}).get("data")
    for holder in (_update(frame).get("_meta"), data, _result(frame).get("_meta")):
        if isinstance(holder, dict) and "agent_error" in holder:
            return holder
    return None


def _payload(frame: Frame) -> Frame | None:
    holder = _carrier(frame)
    return holder and holder.get("agent_error", holder.get("error"))


def _standard_carrier(frame: Frame) -> Frame | None:
    """An update of a kind that ACP has, with a payload in its `_meta`."""
    return _update(frame) if _payload(frame) and not _is_typed(frame) else None


def _is_typed(frame: Frame) -> bool:
    return _update(frame).get("sessionUpdate") == "agent_error"


def _is_update(frame: Frame) -> bool:
    return frame.get("method") == "session/update"


def _is_question(frame: Frame) -> bool:
    return frame.get("method") == "session/request_permission"


def _is_cancelled(frame: Frame) -> bool:
    return frame.get("result") == {"stopReason": "cancelled"}


# --- what comes in its place


def _shows(session: str, **update: object) -> Frame:
    params = {"sessionId": session, "update": update}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def _says(session: str, text: str) -> Frame:
    content = {"type": "text", "text": text}
    return _shows(session, sessionUpdate="agent_message_chunk", content=content)


def _answers(frame: Frame, result: object) -> Frame:
    return {"jsonrpc": "2.0", "id": frame["id"], "result": result}


def _ends(frame: Frame, stop_reason: str) -> Frame:
    return _answers(frame, {"stopReason": stop_reason})


def _fails(frame: Frame, message: str, **members: object) -> Frame:
    error = {"code": -32603, "message": message, **members}
    return {"jsonrpc": "2.0", "id": frame["id"], "error": error}


# --- how a mode is told


def _changes(
    mode: str, part: Callable[[Frame], Frame | None], change: Callable[[Frame], object]
) -> None:
    """What becomes of a part of the agent's frames, where they have it."""

    def meddle(_: Meddler, frame: Frame) -> Frames:
        if found := part(frame):
            change(found)
        return [frame]

    OUT[mode] = meddle


def _replaces(
    mode: str, concerned: Callable[[Frame], object], sent: Callable[[Frame], Frames]
) -> None:
    """What is sent in place of the agent's frames that are concerned."""
    OUT[mode] = lambda _, frame: sent(frame) if concerned(frame) else [frame]


def _at_end(mode: str, change: Callable[[Meddler, Frame], Frames]) -> None:
    """What becomes of a prompt's answer."""

    def meddle(meddler: Meddler, frame: Frame) -> Frames:
        prompt = dict(meddler.asked.get(frame.get("id"), {})) if "method" not in frame else {}
        if prompt.get("method") != "session/prompt":
            return [frame]
        meddler.last = prompt["params"]["sessionId"]
        meddler.asked.pop(frame["id"])
        return change(meddler, frame)

    OUT[mode] = meddle


def _at_failure(mode: str, change: Callable[[Meddler, Frame], Frames]) -> None:
    """What becomes of a prompt's answer that is an error."""
    _at_end(mode, lambda m, frame: change(m, frame) if "error" in frame else [frame])


# --- the greeting, methods, ids

_changes("version-as-text", _welcome, lambda result: result.update(protocolVersion="1"))
_changes("parrots-version", _welcome, lambda result: result.update(protocolVersion=99))
_changes(
    "no-types", _welcome, lambda r: r["agentCapabilities"]["_meta"]["agent_error"].pop("types")
)
_changes("nameless", _result, lambda result: result.pop("agentInfo", None))
_changes("one-session", _opened, lambda result: result.update(sessionId="the-session"))
_changes(
    "ids-by-the-second",
    lambda frame: _result(frame) if str(frame.get("id")).startswith("burst") else None,
    lambda result: result.update(sessionId="session-20261122-060000"),
)
_replaces("opens-none", _opened, lambda frame: [_fails(frame, "There is no room.")])
_replaces(
    "ids-as-text",
    lambda frame: "method" not in frame and frame["id"] not in (None, 0),
    lambda frame: [frame | {"id": str(frame["id"])}],
)
_replaces(
    "ids-of-32-bits",
    lambda frame: isinstance(frame.get("id"), int),
    lambda frame: [frame | {"id": frame["id"] % 2**32}],
)
_replaces(
    "null-for-unknown-method",
    lambda frame: (frame.get("error") or {}).get("code") == -32601,
    lambda frame: [_answers(frame, None)],
)
IN["swallows-unknown-methods"] = lambda _, frame: frame.get("method") != "session/list"
IN["swallows-bad-prompts"] = lambda _, frame: "no-such" not in json.dumps(frame)


@entered(IN, "dies-of-hurry")
def _dies_of_hurry(meddler: Meddler, frame: Frame) -> bool:
    meddler.greeted = meddler.greeted or frame.get("method") == "initialize"
    if not meddler.greeted:
        os._exit(1)
    return True


@entered(IN, "answers-notifications")
def _answers_notifications(meddler: Meddler, frame: Frame) -> bool:
    if "id" not in frame and frame.get("method") != "session/cancel":
        meddler.say({"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "what?"}})
    return True


def _on_error(mode: str, change: Callable[[Frame], object]) -> None:
    _changes(mode, lambda frame: frame.get("error"), change)


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

_replaces("prints", lambda _: True, lambda frame: [b"DEBUG: sending", frame])
_replaces(
    "leaks", lambda _: True, lambda frame: [frame | {"_meta": {"key": os.environ["FOO_KEY"]}}]
)


@entered(IN, "leaks-on-stderr")
def _leaks_on_stderr(_: Meddler, frame: Frame) -> bool:
    os.write(2, os.environ["FOO_KEY"].encode() + b"\n")
    return True


@entered(OUT, "leaves-child")
def _leaves_child(meddler: Meddler, frame: Frame) -> Frames:
    if not meddler.broken:
        meddler.broken = True
        null = subprocess.DEVNULL
        subprocess.Popen(
            ["sleep", "30"], stdin=null, stdout=null, stderr=null, start_new_session=True
        )
    return [frame]


@entered(OUT, "floods-stderr")
def _floods_stderr(_: Meddler, frame: Frame) -> Frames:
    if _is_update(frame):
        for _piece in range(32):
            os.write(2, b"DEBUG a chunk came\n" * 2000)
    return [frame]


# --- turns

_at_end("stop-exploded", lambda _, frame: [_ends(frame, "exploded")])
_at_end("twice", lambda _, frame: [frame, frame])
_at_end("never-ends", lambda _meddler, _frame: [])
_at_end("late-text", lambda m, frame: [frame, _says(m.last, "And one more thing.")])
_at_end(
    "cancelled-as-done",
    lambda _, frame: [_ends(frame, "end_turn") if _is_cancelled(frame) else frame],
)
_at_failure("failures-hang", lambda _meddler, _frame: [])
_at_failure("refuses", lambda _, frame: [_ends(frame, "refusal")])
_at_failure("prose", lambda m, frame: [_says(m.last, "Error: 401"), _ends(frame, "end_turn")])

_OPEN_TOOL = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x"}
_at_end("open-tool", lambda m, frame: [_shows(m.last, **_OPEN_TOOL, status="in_progress"), frame])
_at_end(
    "retries-unasked",
    lambda m, frame: [_shows(m.last, sessionUpdate="agent_retry", attempt=2), frame],
)
_READ = {"jsonrpc": "2.0", "id": "read-1", "method": "fs/read_text_file"}
_at_end(
    "asks-for-files",
    lambda m, frame: [_READ | {"params": {"sessionId": m.last, "path": "/etc/hostname"}}, frame],
)
_changes(
    "wrong-session",
    lambda frame: frame["params"] if _is_update(frame) else None,
    lambda params: params.update(sessionId="another"),
)
_changes(
    "content-in-a-list",
    lambda frame: _update(frame) if "content" in _update(frame) else None,
    lambda update: update.update(content=[update["content"]]),
)


@entered(OUT, "silent")
def _silent(meddler: Meddler, frame: Frame) -> Frames:
    if _is_update(frame):
        return []
    return [_ends(frame, "end_turn")] if meddler.asked_by(frame) == "session/prompt" else [frame]


@entered(OUT, "lists-everywhere")
def _lists_everywhere(_: Meddler, frame: Frame) -> Frames:
    """No member has the type that it should have."""
    if update := _update(frame):
        call = {**update, "sessionUpdate": "tool_call", "toolCallId": [1], "status": [2]}
        strange = {**update, "sessionUpdate": ["x"], "error": [3], "_meta": [4]}
        return [_shows(frame["params"]["sessionId"], **call), _shows(["s"], **strange)]
    if "stopReason" in _result(frame):
        frame["result"] = {"stopReason": ["end_turn"], "_meta": [5]}
    if "error" in frame:
        payload = {"type": ["t"], "message": ["m"], "origin": [1], "phase": {}, "detail": [6]}
        data = {"details": [7], "errorKind": [8], "agent_error": payload}
        frame["error"] = {"code": [9], "message": [10], "data": data}
    return [frame]


@entered(OUT, "mixes-up-answers")
def _notes_requests(meddler: Meddler, frame: Frame) -> Frames:
    if _is_question(frame):
        meddler.requests.append(frame["id"])
    return [frame]


@entered(IN, "mixes-up-answers")
def _mixes_up_answers(meddler: Meddler, frame: Frame) -> bool:
    """Each answer is for the request that has been open for the longest."""
    if "method" in frame:
        return True
    meddler.send(frame | {"id": meddler.requests.pop(0)})
    return False


@entered(OUT, "loses-second-request")
def _loses_second_request(meddler: Meddler, frame: Frame) -> Frames:
    if not _is_question(frame):
        return [frame]
    meddler.requests.append(frame["id"])
    return [frame] if len(meddler.requests) == 1 else []


_replaces("one-id-for-all-requests", _is_question, lambda frame: [frame | {"id": "permission"}])


@entered(IN, "deaf-after-idle-cancel", "deaf-after-cancel")
def _deaf_after_cancel(meddler: Meddler, frame: Frame) -> bool:
    meddler.cancelled = meddler.cancelled or frame.get("method") == "session/cancel"
    return not (meddler.cancelled and frame.get("method") == "session/prompt")


@entered(IN, "forgets-after-failure")
def _forgets_after_failure(meddler: Meddler, frame: Frame) -> bool:
    if frame.get("method") != "session/prompt":
        return True
    if meddler.broken:
        meddler.say(_fails(frame, "The conversation is in no state to go on."))
        return False
    meddler.broken = True
    return True


# --- sessions


def _at_result(mode: str, method: str, *before: str, **members: object) -> None:
    """Text that comes before a method's result, and members that are put into it."""

    def meddle(meddler: Meddler, frame: Frame) -> Frames:
        asked = dict(meddler.asked.get(frame.get("id"), {})) if "method" not in frame else {}
        if asked.get("method") != method or "result" not in frame:
            return [frame]
        frame["result"].update(members)
        return [*(_says(asked["params"]["sessionId"], text) for text in before), frame]

    OUT[mode] = meddle


_at_result("lists-as-object", "session/list", sessions={})
_at_result("replays-on-resume", "session/resume", "Hello.")


@entered(OUT, "loads-without-replay")
def _loads_without_replay(meddler: Meddler, frame: Frame) -> Frames:
    asked = {each["method"] for each in meddler.asked.values()}
    is_replay = "session/load" in asked and "session/prompt" not in asked
    return [] if "method" in frame and is_replay else [frame]


@entered(IN, "forgets-on-close")
def _forgets_on_close(meddler: Meddler, frame: Frame) -> bool:
    if frame.get("method") != "session/close":
        return True
    meddler.say(_answers(frame, {}))
    return False


# --- the extension


def _on_payload(mode: str, change: Callable[[Frame], object]) -> None:
    _changes(mode, _payload, change)


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
_changes("titled-carrier", _standard_carrier, lambda update: update.update(title="It failed"))
_changes("root-member", _standard_carrier, lambda update: update.update(stopReason="error"))
_changes(
    "update-differs",
    lambda frame: _update(frame)["error"] if _is_typed(frame) else None,
    lambda error: error.update(message="Something else failed."),
)
_replaces("typed-twice", _is_typed, lambda frame: [frame, frame])


def _typed(frame: Frame) -> Frame:
    """The payload of a frame as a typed update."""
    session, error = frame["params"]["sessionId"], _payload(frame)
    return _shows(session, sessionUpdate="agent_error", stopReason="error", error=error)


_replaces(
    "always-typed",
    lambda frame: _payload(frame) and "method" in frame,
    lambda frame: [_typed(frame)],
)
_replaces(
    "result-unasked",
    lambda frame: _payload(frame) and "error" in frame,
    lambda frame: [
        _answers(frame, {"stopReason": "error", "_meta": {"agent_error": _payload(frame)}})
    ],
)
_replaces(
    "consent-ignored",
    lambda frame: _payload(frame) and "result" in frame,
    lambda frame: [_fails(frame, "It failed.", data={"agent_error": _payload(frame)})],
)


@entered(OUT, "no-payload")
def _no_payload(_: Meddler, frame: Frame) -> Frames:
    if _payload(frame) is None:
        return [frame]
    if "method" in frame:
        return []
    _carrier(frame).pop("agent_error")
    return [frame]


@entered(OUT, "told-again")
def _told_again(meddler: Meddler, frame: Frame) -> Frames:
    if _is_typed(frame):
        meddler.kept = frame
    again = "error" in frame and hasattr(meddler, "kept")
    return [frame, meddler.kept] if again else [frame]


_CANCELLED = {"type": "cancelled", "message": "You stopped it.", "retryable": False}
_SHOWN_AS_FAILURE = {"sessionUpdate": "agent_error", "stopReason": "error", "error": _CANCELLED}
_at_end(
    "cancel-as-failure",
    lambda m, frame: [
        *([_shows(m.last, **_SHOWN_AS_FAILURE)] if _is_cancelled(frame) else []),
        frame,
    ],
)


MODES = {*OUT, *IN, *WHOLE}

if __name__ == "__main__":
    at = sys.argv.index("--")
    sys.exit(Meddler(sys.argv[1]).run(sys.argv[at + 1 :]))
