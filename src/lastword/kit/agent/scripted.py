"""The scripted agent: a whole ACP agent on stdin and stdout that plays a script at each prompt.

Owns the session, whose turn is which, and the process's lives. It has no model, no key and no
network, and nothing of lastword in it: what it does wrong reaches whoever reads it. Threads, not
an event loop: a turn may block for ever while the rest goes on, or the other way round.
"""

from __future__ import annotations

import json
import os
import re
import threading
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.protocol import acp
from lastword.kit.agent.player import STDOUT, Answers, PlayedTurn
from lastword.kit.agent.scenarios import SCENARIOS, unknown
from lastword.kit.agent.script import Fail, Script, Step
from lastword.kit.agent.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterable

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

_ASKED_FOR = re.compile(r"(?:^|\s)/scenario[ \t]+(\S+)")

LIFE, TAKEN = b"L", b"T"


class Lives:
    """What outlives the process: how often it was started, and how many turns it took.

    One byte each, in a file that whoever starts it again keeps open; without one, every life is
    the first.
    """

    def __init__(self, fd: int | None) -> None:
        self._fd = fd
        past = b"" if fd is None else os.pread(fd, 1 << 20, 0)
        self.number = past.count(LIFE) + 1
        self._turns = past.count(TAKEN)
        self._note(LIFE)

    def next_turn(self) -> int:
        """Return the number of the turn that begins, from 0."""
        self._note(TAKEN)
        self._turns += 1
        return self._turns - 1

    def _note(self, what: bytes) -> None:
        if self._fd is not None:
            os.write(self._fd, what)


class ScriptedAgent:
    """An agent that plays a script, and for a prompt that asks for it another."""

    def __init__(self, script: Script, lives: Lives) -> None:
        self._script = script
        self._lives = lives
        self._wire = Wire(STDOUT)
        self._answers = Answers()
        self._open: list[PlayedTurn] = []
        self._sessions = 0
        self._opened: set[str] = set()
        self._prompts = 0

    def run(self, lines: Iterable[bytes]) -> None:
        """Live: read the client's lines until there are no more."""
        PlayedTurn(self._wire, self._answers).play(self._script.start(self._lives.number))
        for line in lines:
            self._wire.when_free()
            if line.strip():
                self._receive(line)
        self._wire.when_free()

    def _receive(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            error = {"code": acp.PARSE_ERROR, "message": "The line is no valid JSON."}
            self._wire.frame(id=None, error=error)
            return
        if not isinstance(message, dict):
            return
        params = message.get("params")
        members = params if isinstance(params, dict) else {}
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            if isinstance(number, int):
                self._answers.put(number)
        elif "id" in message:
            self._request(number, method, members)
        elif method == acp.CANCEL:
            self._cancel(members.get("sessionId"))

    def _request(self, request_id: object, method: str, params: dict[str, Any]) -> None:
        if method == acp.INITIALIZE:
            self._wire.dialect = acp.dialect(params.get("protocolVersion"))
            greeting = self._wire.greeting(self._script, typed=_speaks_typed(self._script))
            self._wire.frame(id=request_id, result=greeting)
        elif problem := self._problem_with(method, params):
            error = {"code": INVALID_PARAMS, "message": problem}
            self._wire.frame(id=request_id, error=error)
        elif method == "session/new":
            self._sessions += 1
            name = f"scripted-{self._lives.number}-{self._sessions}"
            self._opened.add(name)
            self._wire.frame(id=request_id, result={"sessionId": name})
        elif method == acp.PROMPT:
            self._take(request_id, params)
        elif method in {acp.RESUME, acp.LOAD}:
            self._bring_back(request_id, params)
        elif method in acp.LOGIN or method in acp.SETTINGS or method in acp.ENDS_SESSION:
            self._wire.frame(id=request_id, result={})
        else:
            error = {"code": METHOD_NOT_FOUND, "message": f'There is no method "{method[:200]}".'}
            self._wire.frame(id=request_id, error=error)

    def _problem_with(self, method: str, params: dict[str, Any]) -> str:
        """Return what is wrong with the params of a request; empty where they can be used."""
        if method == "session/new" and not isinstance(params.get("cwd"), str):
            return "A session needs a cwd, which is a text."
        if method == acp.PROMPT and not isinstance(params.get("prompt"), list):
            return "A prompt is a list of blocks."
        if method == acp.PROMPT and _session(params) not in self._opened:
            return "There is no session by that id: open one by session/new."
        return ""

    def _bring_back(self, request_id: object, params: dict[str, Any]) -> None:
        if self._script.sessions == "lost":
            error = {"code": INVALID_PARAMS, "message": "nothing is known of that session"}
            self._wire.frame(id=request_id, error=error)
            return
        if self._wire.dialect.turn_ends_by_state:
            idle = {"sessionUpdate": acp.STATE_UPDATE, "state": acp.IDLE}
            self._wire.update(_session(params), idle)
        self._opened.add(_session(params))
        self._wire.frame(id=request_id, result={})

    def _take(self, request_id: object, params: dict[str, Any]) -> None:
        self._prompts += 1
        number = self._lives.next_turn()
        turn = PlayedTurn(
            self._wire,
            self._answers,
            session_id=_session(params),
            prompt=request_id,
            message_id=f"message-{self._prompts}",
        )
        asked = _ASKED_FOR.search(_text(params.get("prompt")))
        script = self._script
        if asked is not None:
            script, number = _named(asked[1]), 0
        if script.on_cancel != "ignore":
            self._open.append(turn)
        if script.takes_in(number):
            self._wire.accept(request_id, turn.session_id, f"user-{self._prompts}")
        threading.Thread(target=self._play, args=(turn, script, number), daemon=True).start()

    def _play(self, turn: PlayedTurn, script: Script, number: int) -> None:
        own = None if isinstance(script.on_cancel, str) else script.on_cancel
        try:
            turn.play(script.turn(number), own)
        except OSError:  # the client is gone, or the script closed a stream
            return
        finally:
            if turn in self._open:
                self._open.remove(turn)

    def _cancel(self, session_id: object) -> None:
        for turn in list(self._open):
            if turn.session_id == session_id:
                turn.cancel()


def _named(name: str) -> Script:
    """Return the script that a prompt asks for, else one whose turn says what is wrong with it."""
    scenario = SCENARIOS.get(name)
    if scenario is None:
        problem = f"In the scripted agent {unknown(name)}. `lastword agent --list` names them all."
    elif not scenario.per_turn:
        problem = f"{name} befalls the whole process: start `lastword agent {name}`."
    else:
        return scenario.script
    # Said outright: the name of a scenario in it would be read as what failed.
    payload = {"type": "invalid_request", "message": problem, "retryable": False}
    data = {"details": problem, "agent_error": payload}
    error = {"code": acp.INTERNAL_ERROR, "message": problem, "data": data}
    return Script(turns=((Step(fail=Fail(error=error)),),))


def _speaks_typed(script: Script) -> bool:
    """Does a step tell of a failure in the words of the `agent_error` extension?"""
    told = msgspec.to_builtins([script.turns, script.on_cancel])
    return "'agent_error'" in repr(told)


def _session(params: dict[str, Any]) -> str:
    session_id = params.get("sessionId")
    return session_id if isinstance(session_id, str) else ""


def _text(prompt: object) -> str:
    blocks = prompt if isinstance(prompt, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
