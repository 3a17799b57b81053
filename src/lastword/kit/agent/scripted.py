"""The scripted agent: a complete ACP agent on stdin and stdout that plays a script.

Owns the assignment of turns, and the process's restarts; `kit.agent.plain` does what every agent
does. It has no model, no key and no network, and nothing of lastword guards it: its faults reach
its reader. It uses threads, not an event loop, since a turn may block for ever while the rest
continues, or the other way round.
"""

from __future__ import annotations

import os
import re
import threading
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.protocol import acp
from lastword.kit.agent.plain import STDOUT, PlainAgent, session_of, text_of
from lastword.kit.agent.player import Answers, PlayedTurn
from lastword.kit.agent.scenarios import SCENARIOS, unknown
from lastword.kit.agent.script import Fail, Script, Step
from lastword.kit.agent.wire import Wire
from lastword.platform.files import read_at

if TYPE_CHECKING:
    from collections.abc import Iterable

LIST = "session/list"

_SCENARIO_REQUEST = re.compile(r"(?:^|\s)/scenario[ \t]+(\S+)")

LIFE, TURN = b"L", b"T"


class Lives:
    """The numbers of starts and turns, which outlive the process.

    A byte for each is in a file that the next start gets again; without one, each start is the
    first.
    """

    def __init__(self, path: str | None) -> None:
        self._fd = None if path is None else os.open(path, os.O_RDWR | os.O_APPEND)
        past = b"" if self._fd is None else read_at(self._fd, 1 << 20, 0)
        self.number: int = past.count(LIFE) + 1
        self._turns = past.count(TURN)
        self._note(LIFE)

    def next_turn(self) -> int:
        """Return the number of the turn that begins, from 0."""
        self._note(TURN)
        self._turns += 1
        return self._turns - 1

    def _note(self, what: bytes) -> None:
        if self._fd is not None:
            os.write(self._fd, what)


class ScriptedAgent(PlainAgent):
    """An agent that plays a script, and for a prompt that asks for it another."""

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
        """Play the start, and read the client's lines until there are no more."""
        PlayedTurn(self.wire, self._answers).play(self._script.start(self._lives.number))
        super().run()

    def handle_answer(self, message: dict[str, Any]) -> None:
        """Wake the turn that waits for it."""
        if isinstance(number := message.get("id"), int):
            self._answers.put(number, message.get("result"))

    def handle_request(self, request_id: object, method: str, params: dict[str, Any]) -> None:
        """Answer a request, or say what is wrong with it."""
        if problem := self._problem_with(method, params):
            error = {"code": acp.INVALID_PARAMS, "message": problem}
            self.wire.frame(id=request_id, error=error)
            return
        super().handle_request(request_id, method, params)

    def initialize(self, request_id: object, params: dict[str, Any]) -> None:
        """Greet the client in its own dialect."""
        self.wire.dialect = acp.dialect(params.get("protocolVersion"))
        greeting = self.wire.greeting(self._script, typed=_speaks_typed(self._script))
        ways = {"load": {acp.LOAD}, "resume": {acp.RESUME}, "lost": acp.BRINGS_BACK}
        if self.wire.dialect is acp.V2:  # there these come with sessions
            self.requests.update(
                {
                    LIST: self._list,
                    acp.CLOSE: self._close,
                    acp.RESUME: self._bring_back,
                }
            )
        else:
            back = ways.get(self._script.sessions, set())
            self.requests.update(dict.fromkeys(back, self._bring_back))
        self.wire.frame(id=request_id, result=greeting)

    def name_session(self, number: int) -> str:
        """Return a name that no other life gives."""
        return f"scripted-{self._lives.number}-{number}"

    def new_session(self, request_id: object, params: dict[str, Any]) -> None:
        """Open a session, and remember where."""
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
        if script.accepts_prompt(number):
            self.wire.accept(request_id, turn.session_id, f"user-{self._prompts}")
        threading.Thread(target=self._play, args=(turn, script, number), daemon=True).start()

    def cancel(self, params: dict[str, Any]) -> None:
        """Cancel a session's turns, which their scripts may heed or not."""
        for turn in list(self._open):
            if turn.session_id == params.get("sessionId"):
                turn.cancel()

    def _problem_with(self, method: str, params: dict[str, Any]) -> str:
        """Return what is wrong with the params of a request; empty where they can be used."""
        if method == "session/new" and not isinstance(params.get("cwd"), str):
            return "A session needs a cwd, which is a text."
        if method == acp.PROMPT and not isinstance(params.get("prompt"), list):
            return "A prompt is a list of blocks."
        if method == acp.PROMPT and session_of(params) not in self._opened:
            return "There is no session by that id: open one by session/new."
        return ""

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
        """Do with the choice of a model what the script says."""
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
    """Return the script that a prompt asks for, else one whose turn says what is wrong with it."""
    scenario = SCENARIOS.get(name)
    if scenario is None:
        problem = f"In the scripted agent {unknown(name)}. `lastword agent --list` names them all."
    elif not scenario.per_turn:
        problem = f"{name} concerns the whole process: start `lastword agent {name}`."
    else:
        return scenario.script
    # Typed: the name of a scenario in the message could be read as the type of failure.
    payload = {"type": "invalid_request", "message": problem, "retryable": False}
    data = {"details": problem, "agent_error": payload}
    error = {"code": acp.INTERNAL_ERROR, "message": problem, "data": data}
    return Script(turns=((Step(fail=Fail(error=error)),),))


def _speaks_typed(script: Script) -> bool:
    """Return whether a step fails with a payload of the `agent_error` extension."""
    steps = msgspec.to_builtins([script.turns, script.on_cancel])
    return "'agent_error'" in repr(steps)
