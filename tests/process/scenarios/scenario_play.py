"""One scenario played through the real process by a raw client, and what came, in short words.

Owns the client for both protocol versions, also for an agent whose stdout holds anything. What
should come is the tests'. `python -m tests.process.scenarios.scenario_play` writes `expected.json`
anew, to be read before it is kept.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastword.core.failure.taxonomy import ErrorType
from lastword.kit.agent.scenarios import GROUPS, SCENARIOS
from tests.kit import children
from tests.kit.client import Client, clean_environment, update_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

EXPECTED = Path(__file__).resolve().parent / "expected.json"
AGENT = [sys.executable, "-m", "lastword", "agent"]

Frame = dict[str, Any]

TYPED = {"_meta": {"agent_error": {"version": 1, "retry": True}}, "session": {"notices": {}}}
CANCELLED = {"cancelled", "cancel_ignored"}
"""Scenarios in which the user cancels."""

QUESTIONS = {"permission": 1, "two_questions": 2}
"""How many permissions a scenario asks for."""

ENDS_ITS_AGENT = {ErrorType.AGENT_CRASH, ErrorType.AGENT_STALLED, ErrorType.STDERR_OVERFLOW}
"""Failures of which the agent is gone: a few in a row would be a crash loop."""

OF_THE_HANDSHAKE = {"typed_agent"}
"""What a prompt can ask for, and yet is another thing then."""

BARE = [s.name for s in GROUPS["what an agent without lastword does to a client"]]
SILENT_WHEN_BARE = {"id_null": "error", "id_wrong": "result"}
"""What is the last thing that comes of these."""


@dataclass(slots=True)
class Played:
    """What came of one turn: short words in order, and the answer's error where there is one."""

    words: list[str] = field(default_factory=list)
    error: Frame | None = None
    answer: Frame | None = None
    frames: list[Any] = field(default_factory=list)


class AnyClient(Client):
    """A client that survives whatever stands on stdout: what is no frame becomes `{"noise": …}`."""

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(command, environment=clean_environment(**dict(environment or {})))
        self.peer.takes_noise = True

    def hello(self, version: int, capabilities: Frame) -> Frame:
        """`initialize` in either version."""
        own, info = (
            ("capabilities", "info") if version > 1 else ("clientCapabilities", "clientInfo")
        )
        members = {own: capabilities, info: {"name": "raw", "version": "1"}}
        return self.answer(self.request("initialize", protocolVersion=version, **members))

    def open_session(self) -> None:
        """`session/new`."""
        answer = self.answer(self.request("session/new", cwd="/", mcpServers=[]))
        self.session = answer["result"]["sessionId"]


AT_ONCE = 4


class Stage:
    """Plays each scenario in a session of its own, many of them in one process.

    Those that need a process of their own are begun ahead: most of what they take is waiting. In
    version 2 they are left out, unless all are asked for, and some of the others stand for the
    rest: the vectors have the same failures.
    """

    def __init__(self, version: int, *, all_names: bool = True) -> None:
        self.version = version
        expected = json.loads(EXPECTED.read_text())
        names = [name for name in SCENARIOS if f"v{version}" in expected.get(name, {"v1": []})]
        self.names = [name for name in names if all_names or version == 1 or shares(name)]
        self._shared: dict[bool, AnyClient] = {}
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._begun: dict[str, Future[Played]] = {}

    def play(self, name: str, *, bare: bool = False) -> Played:
        """Play a scenario's first turn."""
        if not bare and not self._begun and not all(map(shares, self.names)):
            alone = [each for each in self.names if not shares(each)]
            self._begun = {each: self._pool.submit(self._play_alone, each) for each in alone}
        if shares(name):
            if bare not in self._shared:
                self._shared[bare] = AnyClient([*AGENT, *(["--bare"] if bare else []), "healthy"])
                self._shared[bare].hello(self.version, TYPED)
            client = self._shared[bare]
            client.open_session()
            return _play(client, name, f"Please.\n/scenario {name}", self.version, bare)
        return self._play_alone(name, bare=True) if bare else self._begun[name].result()

    def _play_alone(self, name: str, *, bare: bool = False) -> Played:
        client = AnyClient([*AGENT, *(["--bare"] if bare else []), name])
        try:
            hello = client.hello(self.version, TYPED)
            if "error" in hello:
                return _seen([hello], hello)
            client.open_session()
            return _play(client, name, "Why does the parser fail?", self.version, bare)
        finally:
            client.kill()

    def close(self) -> None:
        """Leave."""
        self._pool.shutdown(cancel_futures=True)
        for client in self._shared.values():
            client.kill()


def shares(name: str) -> bool:
    """Whether a scenario is played in the process of others."""
    scenario = SCENARIOS[name]
    gone = scenario.error_type in ENDS_ITS_AGENT
    return scenario.per_turn and not gone and name not in OF_THE_HANDSHAKE


def _play(client: AnyClient, name: str, text: str, version: int, bare: bool) -> Played:
    since = len(client.frames)
    prompt = client.prompt(text)
    if name in CANCELLED:
        client.expect(lambda frame: "content" in update_of(frame), since=since)
        client.cancel()
    asked_until = since
    for _ in range(QUESTIONS.get(name, 0)):
        asked = client.expect_method("session/request_permission", since=asked_until)
        asked_until = client.frames.index(asked) + 1
        client.send(
            id=asked["id"], result={"outcome": {"outcome": "selected", "optionId": "allow"}}
        )
    if bare and name in SILENT_WHEN_BARE:
        client.expect(
            lambda f: SILENT_WHEN_BARE[name] in f and f.get("id") in {None, 987654}, since=since
        )
        client.cancel()
    if bare and name == "stdout_held":
        # Of the agent's death nothing comes on its stdout, which is another's now.
        client.expect(lambda frame: "content" in update_of(frame))
        status = client.wait()
        assert status < 0
        assert not any(frame.get("end") for frame in client.frames)
        return _seen([*client.frames[since:], {"exit": status}], {})
    last = _last(client, prompt, since, version, bare)
    if version > 1 and "error" in last:
        # A refused prompt's answer; that nothing is at work is told after it.
        client.expect(lambda frame: update_of(frame).get("state") == "idle", since=since)
    if name == "answered_twice":
        client.expect(lambda f: client.frames.count(f) > 1 or (not bare and f is last))
    if name == "works_on":
        client.expect_text("The build has passed.")
    if name == "talks_afterwards":
        client.expect(
            lambda frame: update_of(frame).get("sessionUpdate") == "usage_update", since=since
        )
    own = [f for f in client.frames[since:] if _session_of(f) in (None, client.session)]
    return _seen(own, last)


def _last(client: AnyClient, prompt: int, since: int, version: int, bare: bool) -> Frame:
    """The frame that ends the turn, or the end of stdout."""

    def ends(frame: Frame) -> bool:
        if frame.get("end"):
            return True
        if version == 1 or bare:
            return "method" not in frame and frame.get("id") in {prompt, str(prompt)}
        refused = frame.get("id") == prompt and "error" in frame
        return refused or update_of(frame).get("state") == "idle"

    return client.expect(ends, since=since)


def _session_of(frame: Frame) -> Any:
    return (frame.get("params") or {}).get("sessionId")


def _seen(frames: list[Frame], last: Frame) -> Played:
    ending = update_of(last) or last
    error = ending.get("error")
    data = error.get("data") if isinstance(error, dict) else None
    payload = data.get("agent_error") if isinstance(data, dict) else None
    words: list[str] = []
    for frame in frames:
        word = _word(frame)
        if not words or words[-1].removesuffix(" …") != word:
            words.append(word)
        elif not words[-1].endswith(" …"):
            words[-1] += " …"
    return Played(words, payload, last, frames)


def _word(frame: Frame) -> str:
    """A frame in short: what the user or the client would tell it by."""
    if "noise" in frame:
        return f"noise {frame['noise']}"
    update = update_of(frame)
    if update:
        known = ("status", "state", "stopReason", "attempt", "wait_seconds", "severity")
        told = [str(update[key]) for key in known if key in update]
        payload = update.get("error", {})
        told += [payload["type"]] if "type" in payload else []
        return " ".join([update["sessionUpdate"], *told])
    if "method" in frame:
        return str(frame["method"])
    if "end" in frame or "exit" in frame:
        return "end of stdout" if "end" in frame else f"exit {frame['exit']}"
    if "result" in frame:
        result = frame["result"] or {"stopReason": result_null(frame)}
        return f"answer {type(frame['id']).__name__} {result.get('stopReason', 'accepted')}"
    return _error_word(frame)


def result_null(frame: Frame) -> str:
    return "null" if frame["result"] is None else "empty"


def _error_word(frame: Frame) -> str:
    error = frame.get("error")
    if not isinstance(error, dict):
        return f"error {error!r}"
    data = error.get("data")
    payload = data.get("agent_error") if isinstance(data, dict) else None
    if payload is None:
        own = {key: error[key] for key in ("code", "message", "data") if key in error}
        return f"error id={type(frame.get('id')).__name__} {json.dumps(own)}"
    facts = ("type", "reason", "phase", "retry_safety", "action", "retry_after_seconds")
    told = [str(payload[key]) for key in facts if key in payload]
    return " ".join(["error", str(error["code"]), *told])


def main() -> None:
    """Write what comes of every scenario today, or of those that are named."""
    names = sys.argv[1:] or list(SCENARIOS)
    told: dict[str, dict[str, list[str]]] = {}
    if sys.argv[1:]:
        told = json.loads(EXPECTED.read_text())
    stages = [Stage(version) for version in (1, 2)]
    for name in names:
        playing = [stage for stage in stages if name in stage.names]
        told[name] = {f"v{stage.version}": stage.play(name).words for stage in playing}
        if name in BARE:
            told[name]["bare"] = stages[0].play(name, bare=True).words
        sys.stderr.write(f"{name}\n")
    for stage in stages:
        stage.close()
    write(told)


def write(told: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    """Write what is expected, a line for each turn."""
    scenarios = []
    for name, turns in told.items():
        lines = [f"  {json.dumps(how)}: {json.dumps(words)}" for how, words in turns.items()]
        scenarios.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    EXPECTED.write_text("{\n" + ",\n".join(scenarios) + "\n}\n")


if __name__ == "__main__":
    children.prepare()
    main()
