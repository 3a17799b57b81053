"""A conversation with a new agent process that has its own provider and home directory.

Owns the agent's process during one act, its sessions, turns and waits, the transcript, and the
detection of the agent's SDK. Raises `UnreachedError` if the situation to check cannot be produced.
Bytes and processes belong to `kit.peer`, the acts to `probes`.
"""

from __future__ import annotations

import json
import math
import mmap
import re
import tempfile
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from lastword.core.protocol import acp
from lastword.kit.peer import StrictClient, leftovers, processes
from lastword.kit.provider.server import API_KEY, Provider, ProviderScenario, Target
from lastword.quirks import setup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.kit.check.hooks import Hooks
    from lastword.kit.peer import Frame, PeerEvent


_GO = re.compile(rb"dep\tgithub\.com/coder/acp-go-sdk\tv([\w.+-]+)")
_RUST = re.compile(rb"/agent-client-protocol-(\d[\w.+-]*)/src/")
_JAR = re.compile(r"\bacp(?:-jvm)?-(\d[\w.+-]*)\.jar")
_IMPORT = re.compile(r"^\s*(?:from acp[ .]|import acp\b)", re.MULTILINE)
_ENTRY = re.compile(r"^from (\w+)[\w.]* import ", re.MULTILINE)
_MANY_FILES = 300


class Sdk(NamedTuple):
    """An SDK, by its name in `quirks.setup`."""

    name: str
    version: str


def built_on(mark: str) -> Sdk | None:
    """Return the SDK of the first process of a run that shows one."""
    for pid, _ in processes(mark):
        with suppress(OSError, ValueError):
            words = (Path("/proc") / str(pid) / "cmdline").read_bytes().decode().split("\0")
            program = str((Path("/proc") / str(pid) / "exe").resolve())
            folder = str((Path("/proc") / str(pid) / "cwd").resolve())
            match = _shown_by(program, tuple(words), folder)
            if match is not None:
                return match
    return None


def blame(check: str, sdk: Sdk) -> str:
    """Return which fault of the SDK explains a finding, empty if none is known."""
    for row in setup.SDK_FAULTS:
        if row.sdk == sdk.name and check in row.checks:
            where = "" if row.version == sdk.version else f", seen in {row.version}"
            return f"the SDK, {sdk.name} {sdk.version}: it {row.does}{where}"
    return ""


@lru_cache(maxsize=32)
def _shown_by(program: str, words: tuple[str, ...], folder: str) -> Sdk | None:
    kind = Path(program).name
    files = [Path(folder, word) for word in words[1:] if word and not word.startswith("-")]
    files = [path.resolve() for path in files[:8] if path.is_file()]
    if kind.startswith("node"):
        # The package that the script's imports would resolve to.
        for parent in (parent for path in files for parent in path.parents):
            package = parent / "node_modules" / setup.TYPESCRIPT / "package.json"
            if package.is_file():
                return Sdk(setup.TYPESCRIPT, str(json.loads(package.read_text())["version"]))
        return None
    if kind.startswith("python"):
        return next((match for path in files if (match := _of_python(path, words[0]))), None)
    if kind == "java":
        jar = _JAR.search(" ".join(words))
        return Sdk(setup.KOTLIN, jar[1]) if jar else None
    # A compiled program contains a list of its dependencies, or the paths of its sources.
    with (
        Path(program).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        for name, pattern in ((setup.GO, _GO), (setup.RUST, _RUST)):
            dependency = pattern.search(data)
            if dependency:
                return Sdk(name, dependency[1].decode())
    return None


def _of_python(script: Path, python: str) -> Sdk | None:
    """Return the SDK that a script imports, or that the package does whose command it is."""
    text = script.read_text("utf-8", "replace")
    homes = sorted(Path(python).parent.parent.glob("lib/python3*/site-packages"))
    if not _IMPORT.search(text):
        entry = _ENTRY.search(text) if script.parent.name == "bin" else None
        if entry is None or entry[1] == "lastword":  # lastword imports the SDK without using it
            return None
        packages = [sorted((home / entry[1]).rglob("*.py"))[:_MANY_FILES] for home in homes]
        sources = (path.read_text("utf-8", "replace") for paths in packages for path in paths)
        if not any(map(_IMPORT.search, sources)):
            return None
    for home in homes:
        for info in home.glob("agent_client_protocol-*.dist-info"):
            return Sdk(setup.PYTHON, info.name.split("-")[1].removesuffix(".dist"))
    return None


MOMENT_SECONDS = 0.2
"""How long after the answer an agent may still log the failure."""

_STOP_SECONDS = 5.0
"""How long an agent may take to exit after its stdin was closed."""


class UnreachedError(Exception):
    """The situation to check could not be produced; the text says why."""


class NotApplicableError(Exception):
    """The agent does not claim to support what the act checks; the text says what."""


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """Timeouts.

    Attributes:
        answer_seconds: For an answer that needs no model, and for a healthy turn.
        turn_seconds: For the end of a failing turn.
        exit_seconds: For the agent's exit after its stdin was closed.
    """

    answer_seconds: float = 30.0
    turn_seconds: float = 100.0
    exit_seconds: float = _STOP_SECONDS


@dataclass(slots=True)
class ObservedTurn:
    """One prompt and its result.

    Attributes:
        scenario: How the provider should answer its model call.
        session: The session's id.
        request_id: The prompt's id.
        begin: The index of its request among the events.
        answer: The first answer to it, or in version 2 the session's idle state.
        seconds: From the request to the answer, or the whole wait if there was none.
        called: Whether the agent called the provider.
        cancelled: Whether the user cancelled it.
    """

    scenario: ProviderScenario
    session: str
    request_id: object
    begin: int
    answer: PeerEvent | None = None
    seconds: float = 0.0
    called: bool = True
    cancelled: bool = False

    @property
    def failed(self) -> bool:
        """Whether it ended with an error, in either version."""
        if self.answer is None:
            return False
        ended_badly = self.answer.update.get("stopReason") == acp.STOP_ERROR
        return ended_badly or "error" in (self.answer.frame or {})


@dataclass(slots=True)
class Transcript:
    """The record of an act.

    Attributes:
        name: The act's name.
        events: The lines in both directions.
        turns: The prompts, in order.
        notes: What the act observed, by name.
    """

    name: str
    events: list[PeerEvent] = field(default_factory=list)
    turns: list[ObservedTurn] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    stderr_bytes: int = 0
    stderr_tail: bytes = b""
    stderr_times: list[tuple[float, int]] = field(default_factory=list)
    sdk: Sdk | None = None
    exit_code: int | None = None
    exit_seconds: float | None = None
    leftovers: list[str] = field(default_factory=list)

    @property
    def welcome(self) -> Frame:
        """The result of `initialize`, empty if there was none."""
        result = self.notes.get("initialize")
        return result if isinstance(result, dict) else {}

    @property
    def speaks(self) -> bool:
        return "agent_error" in advertised(self.welcome)

    def cancelled_turn(self) -> ObservedTurn:
        """Return the turn that the user cancelled; the act must have one."""
        return next(turn for turn in self.turns if turn.cancelled)

    def answers(self, request_id: object) -> list[PeerEvent]:
        """Return every answer with this id, of the same type."""
        return [event for event in self.events if event.answers(request_id)]

    def is_answered_before(self, request: PeerEvent, event: PeerEvent) -> bool:
        """Return whether an agent's request was answered before a later event."""
        earlier = self.events[self.events.index(request) : self.events.index(event)]
        return any(
            e.sent and "method" not in (e.frame or {}) and _id(e) == _id(request) for e in earlier
        )

    def of(self, turn: ObservedTurn) -> list[PeerEvent]:
        """Return the agent's lines in a turn's session, from the prompt to the answer."""
        events = self.events[turn.begin : self._end(turn)]
        return [e for e in events if not e.sent and e.session == turn.session]

    def after(self, turn: ObservedTurn) -> list[PeerEvent]:
        """Return the agent's lines in a turn's session, from the answer to the next prompt.

        They also end where a session is brought back, or the agent is started again.
        """
        end = self._end(turn) + 1
        later = [other.begin for other in self.turns if other.begin > turn.begin]
        restarts = {acp.INITIALIZE, *acp.BRINGS_BACK}
        later += [
            number
            for number, event in enumerate(self.events[end:], end)
            if event.sent and (event.frame or {}).get("method") in restarts
        ]
        events = self.events[end : min(later, default=None)]
        return [e for e in events if not e.sent and e.session == turn.session]

    def stderr_beside(self, first: PeerEvent, last: PeerEvent) -> bytes:
        """Return what the agent wrote to stderr around the time of some lines.

        That is from our last line before `first` until shortly after our next line after `last`.
        """
        sent = [other.at for other in self.events if other.sent]
        since = max((at for at in sent if at <= first.at), default=0.0)
        until = min((at for at in sent if at > last.at), default=math.inf) + MOMENT_SECONDS
        start = self.stderr_bytes - len(self.stderr_tail)
        before = max((count for at, count in self.stderr_times if at < since), default=0)
        upto = max((count for at, count in self.stderr_times if at <= until), default=0)
        return self.stderr_tail[max(0, before - start) : max(0, upto - start)]

    def unanswered(self) -> PeerEvent | None:
        """Return the first of our requests that was never answered."""
        answered = {_id(event) for event in self.events if event.is_answer}
        for event in self.events:
            is_request = event.sent and event.frame is not None and "method" in event.frame
            if is_request and "id" in (event.frame or {}) and _id(event) not in answered:
                return event
        return None

    def _end(self, turn: ObservedTurn) -> int:
        return len(self.events) if turn.answer is None else self.events.index(turn.answer)


def _id(event: PeerEvent) -> str:
    return repr((event.frame or {}).get("id"))


def capabilities(welcome: Frame) -> Frame:
    """Return the agent's capabilities, empty if it sent none."""
    dialect = acp.dialect(welcome.get("protocolVersion"))
    members = welcome.get(dialect.agent_capabilities)
    return members if isinstance(members, dict) else {}


def advertised(welcome: Frame) -> Frame:
    """Return the `_meta` of the agent's capabilities, empty if there is none."""
    meta = capabilities(welcome).get("_meta")
    return meta if isinstance(meta, dict) else {}


INFO = {"name": "lastword-check", "version": "1"}
FUTURE_VERSION = 99
"""A protocol version that no agent speaks."""

ECHOED = "the agent repeats any requested protocol version; it speaks version 1"
OTHER_VERSION = {
    1: "the agent only speaks protocol version 2; check it with --protocol 2",
    2: "the agent speaks protocol version 1; check it without --protocol 2",
}
"""The reason why an agent is not checked, by the version that was requested."""

QUIET_SECONDS = 0.3
"""How long to wait for lines that follow an answer."""


class Conversation:
    """One act with one agent; a context manager that leaves nothing behind.

    `started` is called with the agent's peer whenever the agent is started. The act `deaf` does
    not read the agent's stderr.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        hooks: Hooks,
        limits: WaitLimits,
        started: Callable[[StrictClient], None],
    ) -> None:
        self.transcript: Transcript = Transcript(name)
        self.limits = limits
        self.hooks = hooks
        self.provider: Provider = Provider(echo_key=True)
        self._command = command
        self._started = started
        self._folder = tempfile.TemporaryDirectory(
            prefix="lastword-check-", ignore_cleanup_errors=True
        )

    def __enter__(self) -> Self:
        """Start the provider and the agent.

        Raises:
            UnreachedError: The agent cannot be started.
        """
        self.provider.__enter__()
        root = Path(self._folder.name)
        home = root / "home"
        self.cwd: Path = root / "work"
        home.mkdir()
        self.cwd.mkdir()
        target = Target(self.provider.url, self.provider.openai_url, API_KEY)
        self._environment = self.hooks.environment(target, home, uuid.uuid4().hex)
        try:
            self.peer: StrictClient = self._start()
        except UnreachedError:
            self.provider.__exit__()
            self._folder.cleanup()
            raise
        self._started(self.peer)
        return self

    def _start(self) -> StrictClient:
        try:
            peer = StrictClient(self._command, self._environment)
        except OSError as error:
            msg = f"the agent cannot be started: {(error.strerror or 'failed').lower()}"
            raise UnreachedError(msg) from error
        peer.stderr.reading = self.transcript.name != "deaf"
        return peer

    def __exit__(self, *_: object) -> None:
        peer, transcript = self.peer, self.transcript
        if transcript.exit_code is None:
            transcript.exit_code = peer.exit_code  # before we kill it
        peer.close()
        transcript.events = list(peer.events)
        transcript.stderr_bytes, transcript.stderr_tail = peer.stderr.count, bytes(peer.stderr.data)
        transcript.stderr_times = list(peer.stderr_times)
        self.provider.__exit__()
        self._folder.cleanup()

    def restart(self) -> None:
        """Close the agent's stdin, wait for its exit, and start it again in the same home.

        Raises:
            UnreachedError: It cannot be started again.
        """
        before = self.peer
        before.close_stdin()
        before.wait_for_exit(self.limits.exit_seconds)
        before.close()
        peer = self._start()
        peer.go_on_from(before)
        self.peer = peer
        self._started(peer)

    # --- waiting

    def answer_to(self, request_id: object, seconds: float | None = None) -> PeerEvent | None:
        """Return the answer with this id, `None` when none comes in time."""
        limit = self.limits.answer_seconds if seconds is None else seconds
        return self.peer.answer_to(request_id, limit)

    def wait(self, seconds: float, done: Callable[[], bool] = lambda: False) -> bool:
        """Wait until `done` is true, the agent's output ends, or the time has passed."""
        return self.peer.wait(done, seconds)

    def was_called(self, seconds: float) -> bool:
        """Return whether the agent calls the provider within a time."""
        return self.wait(seconds, lambda: bool(self.provider.calls))

    def why(self) -> str:
        """Return the agent's exit status as the end of a sentence, empty while it runs."""
        self.peer.wait_for_exit(QUIET_SECONDS)
        code = self.peer.exit_code
        return "" if code is None else f"; it exited with status {code}"

    # --- requests and turns

    @property
    def dialect(self) -> acp.Dialect:
        """The names of the protocol version that is checked."""
        return acp.dialect(self.hooks.protocol)

    def initialize(self, capabilities: Frame | None = None, version: int | None = None) -> Frame:
        """Initialize the agent; return its result.

        Args:
            capabilities: The client's.
            version: The protocol version to request instead of the one that is checked.

        Raises:
            UnreachedError: It gives no result.
            NotApplicableError: It does not speak the version that is checked.
        """
        requested = self.hooks.protocol if version is None else version
        request_id = self.peer.initialize(
            capabilities, version=requested, info=INFO, dialect=self.dialect
        )
        answer = self.answer_to(request_id)
        self.transcript.notes |= {"requested_version": requested, "initialized": answer}
        result = _result_of(answer)
        if result is None:
            if answer is not None and self.dialect is acp.V1:
                # An agent that only speaks version 2 may refuse version 1 with an error.
                self.restart()
                answer = self.answer_to(self.peer.initialize(version=acp.V2.version, info=INFO))
                result = _result_of(answer) or {}
                if result.get("protocolVersion") == acp.V2.version and _has_version_2(result):
                    raise NotApplicableError(OTHER_VERSION[self.hooks.protocol])
            raise UnreachedError(f"initialize got no usable answer{self.why()}")
        self.transcript.notes["initialize"] = result
        self.transcript.sdk = built_on(self.peer.mark)
        if version is not None:
            return result
        other = acp.V2 if self.dialect is acp.V1 else acp.V1
        if result.get("protocolVersion") == other.version:
            raise NotApplicableError(OTHER_VERSION[self.hooks.protocol])
        if self.dialect is acp.V2 and not _has_version_2(result):
            # It may repeat any requested version without speaking it.
            self.restart()
            future = self.peer.initialize(version=FUTURE_VERSION, info=INFO, dialect=self.dialect)
            echo = _result_of(self.answer_to(future)) or {}
            if echo.get("protocolVersion") == FUTURE_VERSION:
                raise NotApplicableError(ECHOED)
            self.restart()
            self.answer_to(self.peer.initialize(version=self.hooks.protocol, info=INFO))
        return result

    def new_session(self) -> str:
        """Open a session; return its id.

        Raises:
            UnreachedError: The agent opens none.
        """
        answer = self.answer_to(self.request_session())
        self.transcript.notes["session_answer"] = answer
        frame = (answer.frame or {}) if answer else {}
        result = frame.get("result")
        if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
            return str(result["sessionId"])
        error = frame.get("error")
        if isinstance(error, dict) and error.get("code") == acp.AUTH_REQUIRED:
            raise UnreachedError(
                "the agent requires a login before it opens a session; provide one by --preset, "
                "--provider-env or --keep-home"
            )
        raise UnreachedError(f"the agent opened no session{self.why()}")

    def request_session(self) -> object:
        """Send `session/new`, and return the request's id."""
        return self.peer.new_session(str(self.cwd))

    def prompt(
        self, session: str, scenario: ProviderScenario, text: str | None = None
    ) -> ObservedTurn:
        """Begin a turn with the scenario's prompt, or with `text`."""
        self.provider.scenario = scenario
        begin = len(self.peer.events)
        request_id = self.peer.prompt(session, text or self.hooks.prompt_for(scenario))
        turn = ObservedTurn(scenario, session, request_id, begin)
        self.transcript.turns.append(turn)
        return turn

    def cancel(self, turn: ObservedTurn) -> None:
        """Cancel a turn.

        Raises:
            UnreachedError: It has ended by itself.
        """
        self.peer.pump(0.0)
        if self.has_ended(turn):
            raise UnreachedError("the turn ended by itself before it could be cancelled")
        turn.cancelled = True
        self.peer.cancel(turn.session)

    def finish(self, turn: ObservedTurn, seconds: float | None = None) -> PeerEvent | None:
        """Wait for a turn's answer, and for lines that follow it at once."""
        since = self.peer.now
        limit = self.limits.answer_seconds if seconds is None else seconds
        turn.answer = self.peer.find(self._ends(turn), limit, since=turn.begin)
        turn.seconds = (turn.answer.at if turn.answer else self.peer.now) - since
        if turn.answer is not None:
            # A faulty agent may send updates too late, or a second answer.
            self.wait(QUIET_SECONDS)
        calls = self.provider.calls
        turn.called = not self.hooks.calls_provider or any(
            c.scenario is turn.scenario for c in calls
        )
        return turn.answer

    def healthy_turn(self, session: str) -> ObservedTurn:
        """Run a healthy turn.

        Raises:
            UnreachedError: It failed, and the agent was given no model to call.
        """
        turn = self.prompt(session, ProviderScenario.HEALTHY)
        self.finish(turn)
        if turn.failed and not self.hooks.can_play(turn.scenario):
            raise UnreachedError(
                "the agent's turn failed, as one without a model does; point it to the kit's "
                "provider (--preset, --provider-env)"
            )
        return turn

    def wait_for_update(self, turn: ObservedTurn, seconds: float) -> bool:
        """Return whether the turn shows something while it is open."""
        ends = self._ends(turn)
        event = self.peer.find(
            lambda e: (e.session == turn.session and e.kind in acp.SHOWN_KINDS) or ends(e),
            seconds,
            since=turn.begin,
        )
        return event is not None and event.kind in acp.SHOWN_KINDS

    def wait_for_question(self, turn: ObservedTurn, seconds: float) -> bool:
        """Return whether the agent asks for a permission while the turn is open."""
        ends = self._ends(turn)
        event = self.peer.find(
            lambda e: e.requests_permission_in(turn.session) or ends(e), seconds, since=turn.begin
        )
        return event is not None and event.requests_permission_in(turn.session)

    def has_ended(self, turn: ObservedTurn) -> bool:
        return any(map(self._ends(turn), self.peer.events[turn.begin :]))

    def _ends(self, turn: ObservedTurn) -> Callable[[PeerEvent], bool]:
        """Return a predicate for a turn's end, to be called with the turn's events in order."""
        if not self.dialect.turn_ends_by_state:
            return lambda event: event.answers(turn.request_id)
        state = {"accepted": False, "running": False}

        def ends(event: PeerEvent) -> bool:
            if event.answers(turn.request_id):
                state["accepted"] = True
                return "error" in (event.frame or {})
            if event.kind != acp.STATE_UPDATE or event.session != turn.session:
                return False
            if event.update.get("state") != acp.IDLE:
                state["running"] = True
                return False
            # An idle state that belongs to no turn may come at any time.
            return state["running"] or (state["accepted"] and "stopReason" in event.update)

        return ends

    def leave(self) -> None:
        """Close the agent's stdin, and note how it exits."""
        since = self.peer.now
        self.transcript.notes["left"] = True
        self.peer.close_stdin()
        if self.peer.wait_for_exit(self.limits.exit_seconds):
            self.transcript.exit_seconds = self.peer.now - since
            self.transcript.exit_code = self.peer.exit_code
            self.transcript.leftovers = list(leftovers(self.peer.mark).values())


def _result_of(answer: PeerEvent | None) -> Frame | None:
    result = (answer.frame or {}).get("result") if answer else None
    return result if isinstance(result, dict) else None


def _has_version_2(welcome: Frame) -> bool:
    """Return whether the answer to `initialize` has the member that only version 2 requires."""
    return isinstance(welcome.get(acp.V2.agent_info), dict)
