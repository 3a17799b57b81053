"""A conversation with a new agent process that has its own provider and home directory.

Owns the agent's life in one act, its sessions and turns, and the waits; what was observed in it;
and which SDK the agent is built on, as its process shows. A conversation that cannot reach its
point raises `UnreachedError`. It does not own bytes and processes (`kit.peer`), or what an act does
(`probes`).
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
    """An SDK.

    Attributes:
        name: As `quirks.setup` has it.
        version: Its version.
    """

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
    """Return whose fault a finding is, by what is known of the SDK; empty where nothing is."""
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
        return next((match for path in files if (match := _of_node(path))), None)
    if kind.startswith("python"):
        return next((match for path in files if (match := _of_python(path, words[0]))), None)
    if kind == "java":
        jar = _JAR.search(" ".join(words))
        return Sdk(setup.KOTLIN, jar[1]) if jar else None
    return _of_binary(Path(program))


def _of_node(script: Path) -> Sdk | None:
    """Return the package that a script's imports would find."""
    for folder in script.parents:
        package = folder / "node_modules" / setup.TYPESCRIPT / "package.json"
        if package.is_file():
            return Sdk(setup.TYPESCRIPT, str(json.loads(package.read_text())["version"]))
    return None


def _of_python(script: Path, python: str) -> Sdk | None:
    """Return the package, where the script, or what it is the entry of, imports it."""
    text = script.read_text("utf-8", "replace")
    homes = sorted(Path(python).parent.parent.glob("lib/python3*/site-packages"))
    if not _IMPORT.search(text):
        entry = _ENTRY.search(text) if script.parent.name == "bin" else None
        packages = [home / entry[1] for home in homes] if entry else []
        if not any(_imports(package) for package in packages):
            return None
    for home in homes:
        for info in home.glob("agent_client_protocol-*.dist-info"):
            return Sdk(setup.PYTHON, info.name.split("-")[1].removesuffix(".dist"))
    return None


def _imports(package: Path) -> bool:
    if package.name == "lastword":
        return False  # it knows the SDK, and is not built on it
    paths = sorted(package.rglob("*.py"))[:_MANY_FILES]
    return any(_IMPORT.search(path.read_text("utf-8", "replace")) for path in paths)


def _of_binary(path: Path) -> Sdk | None:
    """Return what stands in a compiled program: its dependencies, or where its sources were."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for name, pattern in ((setup.GO, _GO), (setup.RUST, _RUST)):
            match = pattern.search(data)
            if match:
                return Sdk(name, match[1].decode())
    return None


MOMENT_SECONDS = 0.2
"""How long after its answer a failure may still be written about."""

_STOP_SECONDS = 5.0
"""How long an agent may take to leave once its stdin has ended."""


class UnreachedError(Exception):
    """The situation that a check is about could not be produced; says why."""


class NotApplicableError(Exception):
    """The agent has not claimed what the act is about; says what."""


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """Time limits of waits.

    Attributes:
        answer_seconds: For an answer that needs no model, and for a healthy turn.
        turn_seconds: For the end of a failing turn.
        exit_seconds: For the agent to leave once its stdin has ended.
    """

    answer_seconds: float = 30.0
    turn_seconds: float = 100.0
    exit_seconds: float = _STOP_SECONDS


@dataclass(slots=True)
class ObservedTurn:
    """One prompt and what came of it.

    Attributes:
        scenario: What its model call should meet.
        session: The session it is in.
        request_id: Its id.
        begin: The index of its request among the events.
        answer: The end: the first answer to it, or in version 2 the session's idle state.
        seconds: From the request to the answer, or for how long it was waited for.
        called: Whether the agent called the provider meanwhile.
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
        name: The act's.
        events: What passed.
        turns: The prompts, in order.
        notes: What the act itself found out, by name.
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
        """The result of `initialize`, empty where there was none."""
        result = self.notes.get("initialize")
        return result if isinstance(result, dict) else {}

    @property
    def speaks(self) -> bool:
        return "agent_error" in advertised(self.welcome)

    def cancelled_turn(self) -> ObservedTurn:
        """Return the turn that the user cancelled, in an act that has one."""
        return next(turn for turn in self.turns if turn.cancelled)

    def answers(self, request_id: object) -> list[PeerEvent]:
        """Return every answer that carries this very id."""
        return [event for event in self.events if event.answers(request_id)]

    def is_answered_before(self, request: PeerEvent, event: PeerEvent) -> bool:
        """Return whether we had answered a request of the agent's before something passed."""
        earlier = self.events[self.events.index(request) : self.events.index(event)]
        return any(
            e.sent and "method" not in (e.frame or {}) and _id(e) == _id(request) for e in earlier
        )

    def of(self, turn: ObservedTurn) -> list[PeerEvent]:
        """Return what the agent sent in a turn's session from its prompt to its answer."""
        events = self.events[turn.begin : self._end(turn)]
        return [e for e in events if not e.sent and e.session == turn.session]

    def after(self, turn: ObservedTurn) -> list[PeerEvent]:
        """Return what the agent sent in that session from the turn's answer to the next prompt.

        A session that is brought back ends that, and so does a new process of the agent.
        """
        end = self._end(turn) + 1
        later = [other.begin for other in self.turns if other.begin > turn.begin]
        later += [n for n, e in enumerate(self.events) if n >= end and _starts_over(e)]
        events = self.events[end : min(later, default=None)]
        return [e for e in events if not e.sent and e.session == turn.session]

    def stderr_beside(self, first: PeerEvent, last: PeerEvent) -> bytes:
        """Return what the agent wrote to stderr about some lines, as far as the time tells.

        That is from the last line of ours up to the first to our next after the last, and a moment
        longer.
        """
        sent = [other.at for other in self.events if other.sent]
        since = max((at for at in sent if at <= first.at), default=0.0)
        until = min((at for at in sent if at > last.at), default=math.inf) + MOMENT_SECONDS
        start = self.stderr_bytes - len(self.stderr_tail)
        before = max((count for at, count in self.stderr_times if at < since), default=0)
        upto = max((count for at, count in self.stderr_times if at <= until), default=0)
        return self.stderr_tail[max(0, before - start) : max(0, upto - start)]

    def unanswered(self) -> PeerEvent | None:
        """Return the first request of ours that was never answered."""
        answered = {repr((e.frame or {}).get("id")) for e in self.events if e.is_answer}
        return next((e for e in self.events if _is_request(e) and _id(e) not in answered), None)

    def _end(self, turn: ObservedTurn) -> int:
        return len(self.events) if turn.answer is None else self.events.index(turn.answer)


def _starts_over(event: PeerEvent) -> bool:
    method = (event.frame or {}).get("method") if event.sent else None
    return method == acp.INITIALIZE or method in acp.BRINGS_BACK


def _is_request(event: PeerEvent) -> bool:
    return event.sent and event.frame is not None and {"id", "method"} <= event.frame.keys()


def _id(event: PeerEvent) -> str:
    return repr((event.frame or {}).get("id"))


def capabilities(welcome: Frame) -> Frame:
    """Return what the agent said that it can, empty where it said nothing."""
    dialect = acp.dialect(welcome.get("protocolVersion"))
    members = welcome.get(dialect.agent_capabilities)
    return members if isinstance(members, dict) else {}


def advertised(welcome: Frame) -> Frame:
    """Return the agent's capabilities' `_meta`, empty where there is none."""
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
"""What is said of an agent that does not speak the version that is checked."""

QUIET_SECONDS = 0.3
"""How long to wait for what follows an answer."""


class Conversation:
    """One agent's life in one act; a context manager that leaves nothing behind."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        hooks: Hooks,
        limits: WaitLimits,
        *,
        deaf: bool = False,
    ) -> None:
        self.transcript: Transcript = Transcript(name)
        self.limits = limits
        self.hooks = hooks
        self.provider: Provider = Provider(echo_key=True)
        self._command = command
        self._deaf = deaf
        self._watcher: Callable[[StrictClient], None] = lambda _peer: None
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
            self.peer: StrictClient = self._started()
        except UnreachedError:
            self.provider.__exit__()
            self._folder.cleanup()
            raise
        return self

    def _started(self) -> StrictClient:
        try:
            peer = StrictClient(self._command, self._environment)
        except OSError as error:
            msg = f"the agent cannot be started: {(error.strerror or 'failed').lower()}"
            raise UnreachedError(msg) from error
        peer.stderr.reading = not self._deaf
        return peer

    def __exit__(self, *_: object) -> None:
        peer, transcript = self.peer, self.transcript
        if transcript.exit_code is None:
            transcript.exit_code = peer.exit_code  # its own, before we end it
        peer.close()
        transcript.events = list(peer.events)
        transcript.stderr_bytes, transcript.stderr_tail = peer.stderr.count, bytes(peer.stderr.data)
        transcript.stderr_times = list(peer.stderr_times)
        self.provider.__exit__()
        self._folder.cleanup()

    def watch(self, started: Callable[[StrictClient], None]) -> None:
        """Have this called with the agent's peer, now and whenever the agent is started again."""
        self._watcher = started
        started(self.peer)

    def restart(self) -> None:
        """Close the agent's stdin, see it go, and start it again in the same home.

        Raises:
            UnreachedError: It cannot be started again.
        """
        before = self.peer
        before.close_stdin()
        before.wait_for_exit(self.limits.exit_seconds)
        before.close()
        peer = self._started()
        peer.go_on_from(before)
        self.peer = peer
        self._watcher(peer)

    # --- waiting

    def answer_to(self, request_id: object, seconds: float | None = None) -> PeerEvent | None:
        """Return the answer with this very id, `None` when none comes in time."""
        limit = self.limits.answer_seconds if seconds is None else seconds
        return self.peer.answer_to(request_id, limit)

    def wait(self, seconds: float, done: Callable[[], bool] = lambda: False) -> bool:
        """Wait until something holds, the agent's output ends, or the time has passed."""
        return self.peer.wait(done, seconds)

    def was_called(self, seconds: float) -> bool:
        """Return whether the agent calls the provider within a time."""
        return self.wait(seconds, lambda: bool(self.provider.calls))

    def why(self) -> str:
        """Return the exit of an agent that has exited, as the end of a sentence."""
        self.peer.wait_for_exit(QUIET_SECONDS)
        code = self.peer.exit_code
        return "" if code is None else f"; it exited with status {code}"

    # --- what a client says and hears

    @property
    def dialect(self) -> acp.Dialect:
        """The words of the protocol version that is checked."""
        return acp.dialect(self.hooks.protocol)

    def initialize(self, capabilities: Frame | None = None, version: int | None = None) -> Frame:
        """Greet the agent; return its result.

        Args:
            capabilities: The client's.
            version: The protocol version to ask for, where it is not the one that is checked.

        Raises:
            UnreachedError: It does not answer well.
            NotApplicableError: It does not speak the version that is checked.
        """
        requested = self.hooks.protocol if version is None else version
        request_id = self.peer.initialize(
            capabilities, version=requested, info=INFO, dialect=self.dialect
        )
        answer = self.answer_to(request_id)
        self.transcript.notes |= {"requested_version": requested, "initialized": answer}
        result = (answer.frame or {}).get("result") if answer else None
        if not isinstance(result, dict):
            if answer is not None and self._speaks_another():
                raise NotApplicableError(OTHER_VERSION[self.hooks.protocol])
            raise UnreachedError(f"initialize got no usable answer{self.why()}")
        self.transcript.notes["initialize"] = result
        self.transcript.sdk = built_on(self.peer.mark)
        if version is None and result.get("protocolVersion") == _other(self.hooks.protocol):
            raise NotApplicableError(OTHER_VERSION[self.hooks.protocol])
        if version is None and self.dialect is acp.V2 and not _has_version_2(result):
            self._refuse_echo()
        return result

    def _refuse_echo(self) -> None:
        """Refuse an agent that repeats any requested version.

        Raises:
            NotApplicableError: It is one.
        """
        self.restart()
        request_id = self.peer.initialize(version=FUTURE_VERSION, info=INFO, dialect=self.dialect)
        answer = self.answer_to(request_id)
        result = (answer.frame or {}).get("result") if answer else None
        if isinstance(result, dict) and result.get("protocolVersion") == FUTURE_VERSION:
            raise NotApplicableError(ECHOED)
        self.restart()
        self.answer_to(self.peer.initialize(version=self.hooks.protocol, info=INFO))

    def _speaks_another(self) -> bool:
        """Return whether the agent refuses version 1 because it only speaks version 2."""
        if self.dialect is not acp.V1:
            return False  # who speaks 1 alone answers 2 with 1
        self.restart()
        answer = self.answer_to(self.peer.initialize(version=acp.V2.version, info=INFO))
        result = (answer.frame or {}).get("result") if answer else None
        return (
            isinstance(result, dict)
            and result.get("protocolVersion") == acp.V2.version
            and _has_version_2(result)
        )

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
        """Ask for a session, and return the request's id."""
        return self.peer.new_session(str(self.cwd))

    def prompt(
        self, session: str, scenario: ProviderScenario, text: str | None = None
    ) -> ObservedTurn:
        """Begin a turn, by the scenario's prompt unless another `text` is given."""
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
        """Wait for a turn's answer, and for what follows it at once."""
        since = self.peer.now
        limit = self.limits.answer_seconds if seconds is None else seconds
        turn.answer = self.peer.find(self._ends(turn), limit, since=turn.begin)
        turn.seconds = (turn.answer.at if turn.answer else self.peer.now) - since
        if turn.answer is not None:
            # What a faulty agent sends too late, or again, is on its answer's heels.
            self.wait(QUIET_SECONDS)
        calls = self.provider.calls
        turn.called = not self.hooks.calls_provider or any(
            c.scenario is turn.scenario for c in calls
        )
        return turn.answer

    def healthy_turn(self, session: str) -> ObservedTurn:
        """Run a healthy turn.

        Raises:
            UnreachedError: It failed, and nothing was said of a model for the agent to call.
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
        """Return a predicate for a turn's end, to be called with its events in order."""
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
            # An idle state without its own turn may come at any time.
            return state["running"] or (state["accepted"] and "stopReason" in event.update)

        return ends

    def leave(self) -> None:
        """Close the agent's stdin, and see it go."""
        since = self.peer.now
        self.transcript.notes["left"] = True
        self.peer.close_stdin()
        if self.peer.wait_for_exit(self.limits.exit_seconds):
            self.transcript.exit_seconds = self.peer.now - since
            self.transcript.exit_code = self.peer.exit_code
            self.transcript.leftovers = list(leftovers(self.peer.mark).values())


def _has_version_2(welcome: Frame) -> bool:
    """Return whether the answer to `initialize` has what version 2 requires and version 1 lacks."""
    return isinstance(welcome.get(acp.V2.agent_info), dict)


def _other(version: int) -> int:
    return acp.V1.version if version == acp.V2.version else acp.V2.version
