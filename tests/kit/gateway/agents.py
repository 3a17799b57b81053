"""Agents behind a gateway: `python -m tests.kit.gateway.agents NAME WORD…` is one of them.

`choosing` has modes, commands and a context that fills: it tells its commands with each prompt, and
takes every mode but `locked`. A session in a folder `private` needs a login, and a first prompt
`limited` fails.

`counting FILE` writes each prompt that it is sent to the file. A prompt's text is `COUNT
MILLISECONDS [ask] [pad=BYTES] [as=NAME]`: so many chunks, so long apart and of so many bytes beside
their number, so that a lost or a doubled word is seen, and in their middle a question whose answer
is told as a chunk. A chunk's words begin with NAME, or with the number of the turn in this process.
`$/cancel_request` ends a turn.

`limited FILE SECONDS` appends each prompt to the file, a line of JSON. A session's first prompt,
over all processes, says something and fails of a limit that ends after SECONDS, and all others are
answered. A new process resumes a session and knows its past.

`noting FILE WORD…` appends each line that it reads, as text, to the file, a JSON string a line. Of
the words, `CAPABILITIES` are those that it has, `id=JSON` is how its first session is called, and
with `early` it speaks before it has answered for one. The prompt "wait" ends when it is cancelled
or its session is closed; "say FRAME" writes the frame, with SESSION as the session's id; every
other is answered at once.

`talkative` takes a prompt `TOOLS TITLE_CHARS TEXT_CHARS`: so many tool calls, one with a title so
long, and one line of text so long, and nothing that a page should take for anything but text.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastword.kit.agent.plain import Output, PlainAgent, session_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lastword.kit.agent.plain import Json


def noting(path: Path, *words: str) -> list[str]:
    """The command of the agent that notes what reaches it."""
    return [sys.executable, "-m", "tests.kit.gateway.agents", "noting", str(path), *words]


def limited(path: Path, seconds: int) -> list[str]:
    """The command of the agent the first prompt of whose sessions runs into a limit."""
    return [sys.executable, "-m", "tests.kit.gateway.agents", "limited", str(path), str(seconds)]


def noted(path: Path, method: str = "") -> list[dict[str, Any]]:
    """The messages that reached one; of a method, their params."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    messages = [json.loads(json.loads(line)) for line in lines]
    if not method:
        return messages
    return [each.get("params", {}) for each in messages if each.get("method") == method]


SIZE = 200_000
HOSTILE = (
    "<img src=x onerror='document.title=1'><script>document.title='hacked'</script>"
    "<a href='javascript:alert(1)'>a</a> \u202eevil\u202c "
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 &amp; {{7*7}} \x07\x1b[31m"
)
LAST = "That was all."
CAPABILITIES = ("additionalDirectories", "close", "fork", "resume")
END: Json = {"stopReason": "end_turn"}


class GatewayAgent(PlainAgent):
    """The kit's healthy agent, which succeeds at whatever it does not know."""

    def __init__(self, lines: Iterable[Any] | None = None) -> None:
        super().__init__(sys.stdin.buffer if lines is None else lines, Output())
        self.capabilities = {"loadSession": True}

    def handle_request(self, request_id: object, method: str, params: Json) -> None:
        self.requests.get(method, self.succeed)(request_id, params)

    def succeed(self, request_id: object, _params: Json) -> None:
        self.wire.frame(id=request_id, result={})

    def prompt(self, request_id: object, params: Json) -> None:
        self.session_id = session_of(params)
        self.turn(request_id, text_of(params))

    def turn(self, request_id: object, text: str) -> None:
        """Say something, and end the turn."""


class Choosing(GatewayAgent):
    modes = ("ask", "Ask first"), ("code", "Write code"), ("locked", "Locked"), ("long", "M" * 40)
    commands = ("plan", "Make a plan"), ("test", "Run the tests"), ("<b>", "Markup is text")

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = {}
        self.requests["session/set_mode"] = self.set_mode
        self.turns = 0

    def new_session(self, request_id: object, params: Json) -> None:
        if params["cwd"].endswith("private"):
            error = {"code": -32000, "message": "Authentication required"}
            self.wire.frame(id=request_id, error=error)
            return
        known = [{"id": name, "name": about} for name, about in self.modes]
        modes = {"currentModeId": "ask", "availableModes": known}
        self.wire.frame(id=request_id, result={"sessionId": "chooses-1", "modes": modes})

    def set_mode(self, request_id: object, params: Json) -> None:
        self.session_id = session_of(params)
        if params["modeId"] == "locked":
            self.wire.frame(id=request_id, error={"code": -32602, "message": "It is locked."})
        else:
            self.succeed(request_id, params)
            self.update("current_mode_update", currentModeId=params["modeId"])

    def prompt(self, request_id: object, params: Json) -> None:
        self.links = [block["uri"] for block in params["prompt"] if "uri" in block]
        super().prompt(request_id, params)

    def turn(self, request_id: object, text: str) -> None:
        self.turns += 1
        if text == "limited" and self.turns == 1:
            error = {"code": -32603, "message": "429: Rate limited"}
            self.wire.frame(id=request_id, error=error)
            return
        commands = [{"name": name, "description": about} for name, about in self.commands]
        self.update("available_commands_update", availableCommands=commands)
        cost = {"amount": 0.25 * self.turns, "currency": "USD"}
        self.update("usage_update", used=50_000 * self.turns, size=SIZE, cost=cost)
        if text == "code":
            self.update("current_mode_update", currentModeId="code")
        self.say(" ".join(["Heard", text, *self.links]))
        self.end_turn(request_id)


class Counting(GatewayAgent):
    """Its turns are threads."""

    def __init__(self, path: str) -> None:
        super().__init__(self._noted(path))
        self._answers: dict[object, object] = {}
        self._answered = threading.Condition()
        self._cancelled: set[object] = set()
        self._turns = 0
        self.notifications["$/cancel_request"] = lambda p: self._cancelled.add(p["requestId"])

    @staticmethod
    def _noted(path: str) -> Iterator[bytes]:
        for line in sys.stdin.buffer:
            if json.loads(line).get("method") == "session/prompt":
                with open(path, "ab") as file:
                    file.write(line)
            yield line

    def name_session(self, _number: int) -> str:
        return f"count-{time.time_ns()}"

    def handle_answer(self, message: Json) -> None:
        with self._answered:
            self._answers[message.get("id")] = message.get("result")
            self._answered.notify_all()

    def prompt(self, request_id: object, params: Json) -> None:
        self._turns += 1
        count = (request_id, session_of(params), text_of(params).split(), self._turns)
        threading.Thread(target=self._count, args=count, daemon=True).start()

    def _count(self, request_id: object, session: str, words: list[str], number: int) -> None:
        count, pause = int(words[0]), int(words[1]) / 1000
        turn = next((word[3:] for word in words if word.startswith("as=")), str(number))
        pad = next((int(word[4:]) for word in words if word.startswith("pad=")), 0) * "x"
        for at in range(count):
            self._chunk(session, f"{turn}.{at} {pad}")
            time.sleep(pause)
            if request_id in self._cancelled:
                self.wire.frame(id=request_id, error={"code": -32800, "message": "Cancelled."})
                return
            if "ask" in words and at == count // 2:
                self._chunk(session, f"{turn}.answer={'yes' in self._ask(session, 1000 + number)} ")
        self.wire.frame(id=request_id, result=END)

    def _chunk(self, session: str, text: str) -> None:
        content = {"type": "text", "text": text}
        self.wire.update(session, {"sessionUpdate": "agent_message_chunk", "content": content})

    def _ask(self, session: str, number: int) -> str:
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        call = {"toolCallId": f"t{number}", "title": "count"}
        params = {"sessionId": session, "toolCall": call, "options": options}
        self.wire.frame(id=number, method="session/request_permission", params=params)
        with self._answered:
            self._answered.wait_for(lambda: number in self._answers, timeout=120)
            return str(self._answers.get(number))


def prompts_in(path: Path) -> list[Json]:
    """Return the prompts that reached a `limited` agent: `session` and `text`, in order."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


class Limited(GatewayAgent):
    def __init__(self, path: str, seconds: str) -> None:
        super().__init__()
        self.capabilities = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
        self._path, self._seconds = Path(path), seconds

    def name_session(self, _number: int) -> str:
        return f"limited-{time.time_ns()}"

    def turn(self, request_id: object, text: str) -> None:
        is_first = self.session_id not in [each["session"] for each in prompts_in(self._path)]
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"session": self.session_id, "text": text}) + "\n")
        if not is_first:
            self.say("Done.")
            self.end_turn(request_id)
            return
        self.say("Half. ")
        error = {"code": -32603, "message": f"429: Rate limited: try again in {self._seconds}s"}
        self.wire.frame(id=request_id, error=error)


class Noting(GatewayAgent):
    def __init__(self, path: str, *words: str) -> None:
        super().__init__(self._noted(path))
        sessions: Json = {word: {} for word in CAPABILITIES if word in words}
        self.capabilities = {"loadSession": True, "sessionCapabilities": sessions}
        self._words = words
        self._open: dict[str, object] = {}
        self.requests |= {"session/fork": self.new_session, "session/close": self.close}
        self.notifications["session/cancel"] = self.cancel

    @staticmethod
    def _noted(path: str) -> Iterator[str]:
        for line in sys.stdin:
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            try:
                json.loads(line)
            except ValueError:
                continue
            yield line

    def name_session(self, number: int) -> str:
        named = [json.loads(word[3:]) for word in self._words if word.startswith("id=")]
        name: str = named[0] if named and number == 1 else f"noted-{os.getpid()}-{number}"
        if "early" in self._words:
            self.session_id = name
            self.say("early")
        return name

    def turn(self, request_id: object, text: str) -> None:
        if text == "wait":
            self._open[self.session_id] = request_id
            return
        if text.startswith("say "):
            self.wire.write(text[4:].replace("SESSION", self.session_id).encode() + b"\n")
            text = "say"
        self.say(f"Heard {text}")
        self.end_turn(request_id)

    def cancel(self, params: Json) -> None:
        if session_of(params) in self._open:
            self.end_turn(self._open.pop(session_of(params)), "cancelled")

    def close(self, request_id: object, params: Json) -> None:
        self.cancel(params)
        self.succeed(request_id, params)


class Talkative(GatewayAgent):
    def name_session(self, number: int) -> str:
        return f"talk-{number}"

    def turn(self, request_id: object, text: str) -> None:
        tools, title_chars, text_chars = map(int, text.split())
        call = {"status": "completed", "kind": "read"}
        for number in range(tools):
            read = {"toolCallId": f"c{number}", "rawInput": {"path": HOSTILE}}
            self.update("tool_call", **call, **read, title=f"Read {number} {HOSTILE}")
        self.say(HOSTILE)
        if title_chars:
            title = HOSTILE + "x" * title_chars
            self.update("session_info_update", title=title)
            self.update("tool_call", **call, toolCallId="long", title=title)
        self.say("l" * text_chars)
        self.update("agent_thought_chunk", content={"type": "text", "text": HOSTILE})
        self.say(LAST)
        self.end_turn(request_id)


if __name__ == "__main__":
    agents = {each.__name__.lower(): each for each in GatewayAgent.__subclasses__()}
    agents[sys.argv[1]](*sys.argv[2:]).run()
