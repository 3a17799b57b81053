"""The kit's healthy agent, for modes to break one thing of.

Owns what tests need beside it: a prompt whose text is `fail` runs the mode's fault, `fail MODE
ARGUMENT...` that of another one, and every other one is served well, so that a test can see whether
the session lives on. A notification `_agent/go` from the client lets an agent go on that waits for
it: tests need no sleep for "later". With a `Memory` it supports `session/load`, and each process
knows how many there were before it. The modes are in `faults`.
"""

from __future__ import annotations

import os
import sys

from lastword.kit.agent.plain import Output, PlainAgent, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.kit.agent.plain import Json

SESSION = "s1"
FAIL = "fail"
CANCEL = "session/cancel"
GO = "_agent/go"
RECALL = "recall"
"""A prompt that says so is answered with how many prompts the session has seen."""

REPLAYED = "This was said before."


AT_START: dict[str, Callable[[Agent], None]] = {}
"""Run once, before the first message is read."""

AT_PROMPT: dict[str, Callable[[Agent, object], None]] = {}
"""Run at a prompt that says `fail`, with its id."""


def at_start(mode: Callable[[Agent], None]) -> Callable[[Agent], None]:
    """Register a mode that prepares the agent, or takes its place."""
    AT_START[_name(mode)] = mode
    return mode


def at_prompt(mode: Callable[[Agent, object], None]) -> Callable[[Agent, object], None]:
    """Register a mode whose fault is in the turn."""
    AT_PROMPT[_name(mode)] = mode
    return mode


def _name(mode: Callable[..., None]) -> str:
    return mode.__name__.replace("_", "-")


class Memory:
    """A folder with an agent's prompts and processes, which outlives each of them."""

    def __init__(self, folder: str) -> None:
        self._lives = os.path.join(folder, "lives")
        self._prompts = os.path.join(folder, "prompts")

    def begin(self) -> int:
        """Note that a process has begun; gives the how manieth it is."""
        _append(self._lives, str(os.getpid()))
        return len(self.pids())

    def pids(self) -> list[int]:
        """The processes that there have been, oldest first."""
        return [int(line) for line in _lines(self._lives)]

    def note(self, prompt: str) -> None:
        """Keep a prompt of the session."""
        _append(self._prompts, prompt)

    def prompts(self) -> list[str]:
        """The session's prompts, oldest first."""
        return _lines(self._prompts)

    def forget(self) -> None:
        if os.path.exists(self._prompts):
            os.remove(self._prompts)


def _append(path: str, line: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(line.replace("\n", " ") + "\n")


def _lines(path: str) -> list[str]:
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


class Agent(PlainAgent):
    """The healthy agent. Its `on_*` members, `requests` and `notifications` are a mode's to set."""

    def __init__(self, arguments: list[str], memory: Memory | None = None) -> None:
        super().__init__(sys.stdin.buffer, Output())
        self.info = {"name": "test-agent", "version": "1"}
        self.arguments = arguments
        self.memory = memory
        self.life = memory.begin() if memory else 1
        """The how manieth process of this agent this is."""
        self.on_fail: Callable[[Agent, object], None] = lambda agent, prompt: agent.serve(prompt)
        self.on_end: Callable[[Agent], None] = lambda _agent: None
        self.exit_status = 0
        self.session_id = SESSION
        if memory is not None:
            self.capabilities = {"loadSession": True}
            self.requests["session/load"] = self.load_session

    @property
    def argument(self) -> str:
        return self.arguments[0] if self.arguments else ""

    def ask(self, method: str, **params: object) -> int:
        """Send a request to the client, and give its id."""
        return self.wire.request(self.session_id, method, params)

    def read_until(self, wanted: Callable[[Json], bool]) -> Json:
        """The next message that is wanted, all others unheeded; leaves when the client has gone."""
        while (message := self.receive()) is not None:
            if wanted(message):
                return message
        sys.exit(self.exit_status)

    def wait_for_go(self) -> None:
        """Read on until the client says so."""
        self.read_until(lambda message: message.get("method") == GO)

    # --- the session

    def run(self) -> None:
        """Serve until the end of input, and do what there is to do then."""
        super().run()
        self.on_end(self)

    def name_session(self, _number: int) -> str:
        """Forget the session that was before: there is only one."""
        if self.memory is not None:
            self.memory.forget()
        return SESSION

    def load_session(self, request_id: object, _params: Json) -> None:
        """The past, and then that the session is there."""
        for prompt in self.memory.prompts():
            self.update("user_message_chunk", content={"type": "text", "text": prompt})
            self.say(REPLAYED)
        self.answer(request_id, result={})

    def prompt(self, request_id: object, params: Json) -> None:
        """A turn, as its text has it."""
        self.begin_turn(request_id, params)
        text = text_of(params)
        if self.memory is not None:
            self.memory.note(text)
            if text == RECALL:
                self.say(f"{len(self.memory.prompts())} prompts")
        word, _, rest = text.partition(" ")
        mode, *arguments = rest.split() or [""]
        if text == FAIL:
            self.on_fail(self, request_id)
        elif word == FAIL and mode in AT_PROMPT:
            self.arguments = arguments
            AT_PROMPT[mode](self, request_id)
        else:
            self.serve(request_id)


def ignore(*_: object) -> None:
    """Do nothing about a message."""
