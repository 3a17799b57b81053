"""The scripted agent: a complete ACP agent on stdin and stdout that plays a script.

Owns its frames, in the client's protocol version; the effect of each step on the wire and the
process; how a cancel ends a turn; the assignment of turns, and the process's restarts.
`kit.agent.plain` has what every agent does. It has no model, no key and no network, and lastword
does not guard it: a script's faults are sent unchanged. It uses threads rather than an event loop,
since a turn may block forever while the rest continues, or the other way round.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import threading
from typing import TYPE_CHECKING, Any

import msgspec

from lastword._version import __version__
from lastword.core.classify.gather import signal_number
from lastword.core.protocol import acp
from lastword.kit.agent.plain import (
    FOR_EVER_SECONDS,
    STDERR,
    STDIN,
    STDOUT,
    Output,
    PlainAgent,
    die,
    hang,
    session_of,
    start_child,
    text_of,
    write_all,
)
from lastword.kit.agent.scenarios import SCENARIOS, Fail, Script, Step, unknown
from lastword.platform.files import read_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lastword.kit.agent.scenarios import RetryStep, Steps, Tool


INFO = {"name": "lastword-agent", "version": __version__}
LOGIN = {"id": "login", "name": "Log in", "description": "Any login will do."}
PERMISSION_OPTIONS = (
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
)
FAILED = "Internal error"
"""The message of most agents, which have the cause only in `data`, where no client shows it."""


class Wire(Output):
    """stdout, in the client's dialect."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.dialect: acp.Dialect = acp.V1

    def chunk(self, session_id: str, kind: str, text: str, message_id: str) -> None:
        """Write a piece of text or of reasoning."""
        update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        # Version 2 requires the id of the message.
        own = {"messageId": message_id} if self.dialect.turn_ends_by_state else {}
        self.update(session_id, update | own)

    def tool(self, session_id: str, tool: Tool) -> None:
        """Write a tool call; version 2 has one kind of update for both of its ends."""
        is_new = bool(tool.title)
        first = is_new and not self.dialect.turn_ends_by_state
        update = {
            "sessionUpdate": "tool_call" if first else "tool_call_update",
            "toolCallId": tool.id,
            "status": tool.status,
        }
        data = {"title": tool.title, "kind": tool.kind} if is_new else {}
        self.update(session_id, update | data)

    def permission(self, session_id: str, title: str, call_id: str = "asked_1") -> int:
        """Request a permission; return the request's id."""
        call = {"toolCallId": call_id, "title": title, "kind": "execute", "status": "pending"}
        options = list(PERMISSION_OPTIONS)
        if self.dialect.turn_ends_by_state:
            params: dict[str, Any] = {"title": title, "options": options}
        else:
            params = {"toolCall": call, "options": options}
        return self.request(session_id, acp.PERMISSION, params)

    def retry(self, session_id: str, retry: RetryStep) -> None:
        """Announce that the model call is retried, as opencode does."""
        data = {"attempt": retry.attempt, "message": retry.message, "statusCode": retry.http}
        if retry.wait:
            data |= {"responseHeaders": {"retry-after": str(round(retry.wait))}}
        meta = {"opencode/retry": data}
        self.update(session_id, {"sessionUpdate": "session_info_update", "_meta": meta})

    def end(self, prompt: object, session_id: str, result: dict[str, Any]) -> None:
        """End a turn with a result."""
        if self.dialect.turn_ends_by_state:
            idle = {"sessionUpdate": acp.STATE_UPDATE, "state": acp.IDLE}
            self.update(session_id, idle | result)
        else:
            self.frame(id=prompt, result=result)

    def fail(self, prompt: object, session_id: str, fail: Fail) -> None:
        """End a turn with the error that an agent without lastword would send."""
        error: Any = fail.error
        data: dict[str, Any]
        if fail.agent_error is not None:
            payload = fail.agent_error
            message = payload["message"]
            own = payload | {"stopReason": acp.STOP_ERROR}
            data = {"details": message, "errorKind": payload["type"], "agent_error": own}
            error = {"code": acp.INTERNAL_ERROR, "message": message, "data": data}
            kind = self.dialect.error_kind
            typed = {"sessionUpdate": kind, "stopReason": acp.STOP_ERROR, "error": payload}
            self.update(session_id, typed)
        elif fail.exception is not None:
            data = {"details": fail.exception}
            error = {"code": acp.INTERNAL_ERROR, "message": FAILED, "data": data}
        elif fail.http is not None:
            body = {"message": fail.message, **({"code": fail.code} if fail.code else {})}
            data = {"statusCode": fail.http, "error": body}
            if fail.headers:
                data["responseHeaders"] = dict(fail.headers)
            error = {"code": acp.INTERNAL_ERROR, "message": FAILED, "data": data}
        if self.dialect.turn_ends_by_state and not fail.refused:
            self.end(prompt, session_id, {"stopReason": acp.STOP_ERROR, "error": error})
        else:
            self.frame(id=prompt, error=error)


class Cancelled(Exception):  # noqa: N818  (the user's choice, not an error)
    """The user cancelled the turn."""


class Answers:
    """The client's answers to the agent's requests, by the number of the request."""

    def __init__(self) -> None:
        self._came: dict[object, Any] = {}
        self._changed = threading.Condition()

    def put(self, number: object, result: object) -> None:
        with self._changed:
            self._came.setdefault(number, result)
            self._changed.notify_all()

    def wait(self, number: int, is_over: Callable[[], bool]) -> None:
        """Wait for an answer, or until the turn is over."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._came or is_over())

    def outcome_of(self, number: int) -> str:
        """Return how the user answered a permission dialog: the option's id, or a word."""
        with self._changed:
            result = self._came.get(number)
        outcome = result.get("outcome") if isinstance(result, dict) else None
        members = outcome if isinstance(outcome, dict) else {}
        return str(members.get("optionId") or members.get("outcome") or "unknown")

    def wake(self) -> None:
        """Have waiting turns check again whether they are over."""
        with self._changed:
            self._changed.notify_all()


class PlayedTurn:
    """A prompt, or a start of the process, while its steps are carried out.

    Attributes:
        wire: stdout.
        answers: The client's answers.
        session_id: The prompt's session.
        prompt: The prompt's id.
        message_id: The id of the agent's message, in version 2.
        cancelled: Set once the user cancelled it, unless it ignores that.
    """

    def __init__(
        self,
        wire: Wire,
        answers: Answers,
        *,
        session_id: str = "",
        prompt: object = None,
        message_id: str = "",
    ) -> None:
        self.wire = wire
        self.answers = answers
        self.session_id = session_id
        self.prompt = prompt
        self.message_id = message_id
        self.cancelled: threading.Event = threading.Event()

    def cancel(self) -> None:
        self.cancelled.set()
        self.answers.wake()

    def pause(self, seconds: float) -> None:
        """Wait.

        Raises:
            Cancelled: The user cancelled the turn meanwhile.
        """
        if self.cancelled.wait(seconds):
            raise Cancelled

    def play(self, steps: Steps, on_cancel: Steps | None = None) -> None:
        """Carry out the steps; after a cancel, those of `on_cancel`, or confirm it."""
        try:
            _all(self, steps)
        except Cancelled:
            self.cancelled.clear()
            if on_cancel is None:
                self.wire.end(self.prompt, self.session_id, {"stopReason": acp.CANCELLED})
            else:
                self.play(on_cancel)


def _all(turn: PlayedTurn, steps: Steps) -> None:
    for step in steps:
        turn.pause(0)
        _do(turn, *step.action)


def _do(turn: PlayedTurn, step: str, value: Any) -> None:  # noqa: C901, PLR0912 - one case a step
    wire, session = turn.wire, turn.session_id
    match step:
        case "say":
            wire.chunk(session, "agent_message_chunk", value, turn.message_id)
        case "think":
            wire.chunk(session, "agent_thought_chunk", value, f"{turn.message_id}-thought")
        case "tool":
            wire.tool(session, value)
        case "update":
            wire.update(session, value)
        case "ask":
            number = wire.request(session, value.method, value.params)
            if value.wait:
                turn.answers.wait(number, turn.cancelled.is_set)
        case "ask_permission":
            turn.answers.wait(wire.permission(session, value), turn.cancelled.is_set)
        case "ask_permissions":
            _request_permissions(turn, value)
        case "wait":
            turn.pause(value)
        case "silence":
            turn.pause(FOR_EVER_SECONDS)
        case "retry":
            wire.retry(session, value)
            turn.pause(value.wait)
        case "repeat":
            for _ in range(value.times) if value.times else itertools.repeat(None):
                _all(turn, value.steps)
        case "fail":
            wire.fail(turn.prompt, session, value)
        case "result":
            whole = {"stopReason": value} if isinstance(value, str) else value
            wire.end(turn.prompt, session, whole)
        case "raw":
            _write_raw(turn, value)
        case "bytes":
            wire.write(bytes.fromhex(value))
        case "fill":
            wire.chunk(session, "agent_message_chunk", "x" * value, turn.message_id)
        case "stderr":
            write_all(STDERR, value.encode("utf-8", "surrogatepass") + b"\n")
        case "exit":
            os._exit(value)
        case "kill":
            own = signal.Signals.__members__.get(value)  # Windows has few of them
            die(own if own is not None else signal_number(value) or 0)
        case "hang":
            wire.freeze()
            hang()
        case "child":
            start_child(value, apart=True)  # like a real agent's, it outlives the agent's group
        case "close":
            os.close(STDIN if value == "stdin" else STDOUT)


def _request_permissions(turn: PlayedTurn, titles: tuple[str, ...]) -> None:
    numbers = [
        turn.wire.permission(turn.session_id, title, f"asked_{at}")
        for at, title in enumerate(titles, 1)
    ]
    for number in numbers:
        turn.answers.wait(number, turn.cancelled.is_set)
    turn.pause(0)
    for title, number in zip(titles, numbers, strict=True):
        _do(turn, "say", f"{title}: {turn.answers.outcome_of(number)}. ")


def _write_raw(turn: PlayedTurn, line: object) -> None:
    own = json.dumps(turn.prompt)
    # In JSON, the placeholder's quotes are replaced too.
    text = (
        line.replace("$id", own)
        if isinstance(line, str)
        else json.dumps(line).replace('"$id"', own)
    )
    text = text.replace("$session", turn.session_id)
    turn.wire.write(text.encode("utf-8", "surrogatepass") + b"\n")


LIST = "session/list"

_SCENARIO_REQUEST = re.compile(r"(?:^|\s)/scenario[ \t]+(\S+)")

LIFE, TURN = b"L", b"T"


class Lives:
    """The numbers of starts and turns, across restarts of the process.

    The file has a byte for each of them; without a file, each start is the first.
    """

    def __init__(self, path: str | None) -> None:
        self._fd = None if path is None else os.open(path, os.O_RDWR | os.O_APPEND)
        past = b"" if self._fd is None else read_at(self._fd, 1 << 20, 0)
        self.number: int = past.count(LIFE) + 1
        self._turns = past.count(TURN)
        self._note(LIFE)

    def next_turn(self) -> int:
        """Count a turn, and return its number; the first is 0."""
        self._note(TURN)
        self._turns += 1
        return self._turns - 1

    def _note(self, what: bytes) -> None:
        if self._fd is not None:
            os.write(self._fd, what)


class ScriptedAgent(PlainAgent):
    """An agent that plays a script, or the scenario that a prompt names."""

    wire: Wire

    def __init__(self, script: Script, lives: Lives, lines: Iterable[bytes]) -> None:
        super().__init__(lines, Wire(STDOUT))
        self._script = script
        self._lives = lives
        self._answers = Answers()
        self._open: list[PlayedTurn] = []
        self._opened: dict[str, str] = {}
        self._models: dict[str, str] = {}
        self._prompts = 0
        self.requests.update(dict.fromkeys(acp.LOGIN | acp.SETTINGS, self._agree))
        if script.models:
            self.requests[acp.SET_OPTION] = self._choose

    def run(self) -> None:
        """Play the start, and serve until the end of input."""
        PlayedTurn(self.wire, self._answers).play(self._script.start(self._lives.number))
        super().run()

    def handle_answer(self, message: dict[str, Any]) -> None:
        """Wake the turn that waits for it."""
        if isinstance(number := message.get("id"), int):
            self._answers.put(number, message.get("result"))

    def handle_request(self, request_id: object, method: str, params: dict[str, Any]) -> None:
        """Answer a request, or refuse it if its params cannot be used."""
        problem = ""
        if method == "session/new" and not isinstance(params.get("cwd"), str):
            problem = "A session needs a cwd, which is a text."
        elif method == acp.PROMPT and not isinstance(params.get("prompt"), list):
            problem = "A prompt is a list of blocks."
        elif method == acp.PROMPT and session_of(params) not in self._opened:
            problem = "There is no session by that id: open one by session/new."
        if problem:
            error = {"code": acp.INVALID_PARAMS, "message": problem}
            self.wire.frame(id=request_id, error=error)
            return
        super().handle_request(request_id, method, params)

    def initialize(self, request_id: object, params: dict[str, Any]) -> None:
        """Answer in the client's dialect, and offer the methods that the script has."""
        script = self._script
        dialect = self.wire.dialect = acp.dialect(params.get("protocolVersion"))
        # It speaks the extension if a step fails with one of its payloads.
        speaks = "'agent_error'" in repr(msgspec.to_builtins([script.turns, script.on_cancel]))
        meta = {"_meta": {"agent_error": {"version": 1, "types": []}}} if speaks else {}
        if dialect is acp.V2:
            # In version 2 these methods come with sessions.
            own: dict[str, Any] = {"session": {}, **meta}
            back = {LIST: self._list, acp.CLOSE: self._close, acp.RESUME: self._bring_back}
            self.requests.update(back)
        else:
            resumes: dict[str, Any] = {}
            if script.sessions == "resume":
                resumes = {"sessionCapabilities": {"resume": {}}}
            own = {"loadSession": script.sessions == "load", **resumes, **meta}
            ways = {"load": {acp.LOAD}, "resume": {acp.RESUME}, "lost": acp.BRINGS_BACK}
            self.requests.update(dict.fromkeys(ways[script.sessions], self._bring_back))
        result = {
            "protocolVersion": dialect.version,
            dialect.agent_capabilities: own,
            dialect.agent_info: INFO,
            **({"authMethods": [LOGIN]} if script.login else {}),
        }
        self.wire.frame(id=request_id, result=result)

    def name_session(self, number: int) -> str:
        """Return a name that is unique across restarts."""
        return f"scripted-{self._lives.number}-{number}"

    def new_session(self, request_id: object, params: dict[str, Any]) -> None:
        """Open a session."""
        self._sessions += 1
        name = self.name_session(self._sessions)
        self._opened[name] = str(params.get("cwd"))
        self.wire.frame(id=request_id, result={"sessionId": name, **self._offer(name)})

    def prompt(self, request_id: object, params: dict[str, Any]) -> None:
        """Run a turn in its own thread."""
        self._prompts += 1
        number = self._lives.next_turn()
        turn = PlayedTurn(
            self.wire,
            self._answers,
            session_id=session_of(params),
            prompt=request_id,
            message_id=f"message-{self._prompts}",
        )
        match = _SCENARIO_REQUEST.search(text_of(params))
        script = self._script
        if match is not None:
            script, number = _named(match[1]), 0
        if script.on_cancel != "ignore":
            self._open.append(turn)
        if self.wire.dialect.turn_ends_by_state and script.accepts_prompt(number):
            # Version 2 answers a prompt at once, and announces that work has begun.
            self.wire.frame(id=request_id, result={"messageId": f"user-{self._prompts}"})
            running = {"sessionUpdate": acp.STATE_UPDATE, "state": "running"}
            self.wire.update(turn.session_id, running)
        threading.Thread(target=self._play, args=(turn, script, number), daemon=True).start()

    def cancel(self, params: dict[str, Any]) -> None:
        """Cancel a session's turns, except those whose scripts ignore it."""
        for turn in list(self._open):
            if turn.session_id == params.get("sessionId"):
                turn.cancel()

    def _bring_back(self, request_id: object, params: dict[str, Any]) -> None:
        if self._script.sessions == "lost":
            error = {"code": acp.INVALID_PARAMS, "message": "unknown session"}
            self.wire.frame(id=request_id, error=error)
            return
        if self.wire.dialect.turn_ends_by_state:
            idle = {"sessionUpdate": acp.STATE_UPDATE, "state": acp.IDLE}
            self.wire.update(session_of(params), idle)
        self._opened[session_of(params)] = str(params.get("cwd"))
        self.wire.frame(id=request_id, result=self._offer(session_of(params)))

    def _list(self, request_id: object, _params: dict[str, Any]) -> None:
        listed = [{"sessionId": name, "cwd": cwd} for name, cwd in self._opened.items()]
        self.wire.frame(id=request_id, result={"sessions": listed})

    def _close(self, request_id: object, params: dict[str, Any]) -> None:
        self.cancel(params)
        self.wire.frame(id=request_id, result={})

    def _offer(self, session_id: str) -> dict[str, Any]:
        """Return the members of an answer that list a session's models."""
        models = list(self._script.models)
        if not models or self.wire.dialect.turn_ends_by_state:
            return {}
        option = {
            "id": "model",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": self._models.get(session_id, models[0]),
            "options": [{"value": model, "name": model} for model in models],
        }
        return {"configOptions": [option]}

    def _choose(self, request_id: object, params: dict[str, Any]) -> None:
        model = str(params.get("value"))
        what = self._script.models.get(model, "refuse")
        if what == "crash":
            os._exit(1)
        if what == "switch":
            self._models[session_of(params)] = model
            self.wire.frame(id=request_id, result=self._offer(session_of(params)))
        elif what == "refuse":
            error = {"code": acp.INVALID_PARAMS, "message": f"There is no model {model}."}
            self.wire.frame(id=request_id, error=error)

    def _agree(self, request_id: object, _params: dict[str, Any]) -> None:
        self.wire.frame(id=request_id, result={})

    def _play(self, turn: PlayedTurn, script: Script, number: int) -> None:
        own = None if isinstance(script.on_cancel, str) else script.on_cancel
        try:
            turn.play(script.turn(number), own)
        except OSError:  # the client is gone, or the script closed a stream
            return
        finally:
            if turn in self._open:
                self._open.remove(turn)


def _named(name: str) -> Script:
    """Return the scenario that a prompt names, or a script that fails with what is wrong."""
    scenario = SCENARIOS.get(name)
    if scenario is None:
        problem = f"In the scripted agent {unknown(name)}. `lastword agent --list` names them all."
    elif not scenario.per_turn:
        problem = f"{name} concerns the whole process: start `lastword agent {name}`."
    else:
        return scenario.script
    # Typed, since the message names a scenario, which could be read as the type of failure.
    payload = {"type": "invalid_request", "message": problem, "retryable": False}
    data = {"details": problem, "agent_error": payload}
    error = {"code": acp.INTERNAL_ERROR, "message": problem, "data": data}
    return Script(turns=((Step(fail=Fail(error=error)),),))
