"""A short conversation with an agent, and the diagnosis: what it shows, and each client's rung.

Owns the requests (hello, a session, goodbye) and what was observed; then the findings, step by
step: what each of the agent's sources beside its pipes tells about a failure, which the caller
knows who starts the agent; what this agent and this client can do for a session that is left alone;
and what typical clients say in `initialize`. `core.link.handshake` reads it and
`core.failure.ladder.rung_for` chooses the rung, as in a real session. The peer owns the process and
its pipes; nothing of them is left behind.
"""

from __future__ import annotations

import errno
import json
import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword._version import __version__
from lastword.core.classify import classify_exit, classify_rpc_error, classify_spawn_failure
from lastword.core.failure import wording
from lastword.core.failure.ladder import Rung, rung_for
from lastword.core.failure.option_values import RUNGS
from lastword.core.failure.phrases import counted
from lastword.core.failure.taxonomy import Phase, RetrySafety
from lastword.core.link.choices import Models
from lastword.core.link.handshake import AgentProfile, read_agent, read_client
from lastword.core.protocol import acp, glued, jsonrpc
from lastword.core.redact.redactor import redact_text
from lastword.kit.doctor import Observation, note, ok, problem
from lastword.kit.peer import Frame, StrictClient, refused
from lastword.platform.process import Exit, guardian_of
from lastword.quirks import clients

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lastword.core.classify import Verdict
    from lastword.kit.peer import Environment


# --- clients

TYPED: dict[str, Any] = {"_meta": {"agent_error": {"version": 1, "retry": True}}}


class ClientKind(msgspec.Struct, frozen=True):
    """A kind of client.

    Attributes:
        name: Its name for --client.
        about: What characterises it.
        params: The params of its `initialize`.
    """

    name: str
    about: str
    params: dict[str, Any]


class ClientRow(msgspec.Struct, frozen=True):
    """What one kind of client gets: the rung of a failure, and how it shows waits.

    Waits are shown as a `retry`, a `notice` or a `thought`.
    """

    client: str
    about: str
    rung: Rung
    forced: bool
    waits: str

    def as_json(self) -> dict[str, Any]:
        own: dict[str, Any] = msgspec.to_builtins(self)
        return own | {"means": RUNGS.get(self.rung.value, "")}


def _v1(name: str, capabilities: dict[str, Any]) -> dict[str, Any]:
    info = {"name": name, "version": "1"}
    return {"protocolVersion": 1, "clientInfo": info, "clientCapabilities": capabilities}


def _kinds() -> dict[str, ClientKind]:
    ruled = [
        ClientKind(name, "its current version, from lastword's table of clients", _v1(name, {}))
        for name in clients.RULES
    ]
    v2 = {"protocolVersion": 2, "info": {"name": "v2", "version": "1"}, "capabilities": {}}
    air = _v1("jetbrains", clients.JETBRAINS.capabilities)
    own = [
        ClientKind("jetbrains", "takes JetBrains' own failure records (sessionFailure)", air),
        ClientKind("typed", "negotiates agent_error", _v1("typed", TYPED)),
        ClientKind("older", "protocol version 1, negotiates nothing", _v1("older", {})),
        ClientKind("v2", "protocol version 2", v2),
    ]
    return {client.name: client for client in (*ruled, *own)}


CLIENTS = _kinds()


def table(name: str | None, *, option: str, speaks_v2: bool) -> list[ClientRow]:
    """Return the rows for one kind of client, or for all that are known.

    Args:
        name: A known kind, or any client's `clientInfo.name`.
        option: The user's choice of a rung (`LASTWORD_FALLBACK`), else `auto`.
        speaks_v2: Whether the agent speaks version 2 to a client that asks for it.
    """
    if name is None:
        chosen = list(CLIENTS.values())
    else:
        unknown = ClientKind(name, "unknown to lastword; negotiates nothing", _v1(name, {}))
        chosen = [CLIENTS.get(name.lower(), unknown)]
    return [_row(client, option, speaks_v2=speaks_v2) for client in chosen]


def _row(client: ClientKind, option: str, *, speaks_v2: bool) -> ClientRow:
    message = {"jsonrpc": "2.0", "id": 0, "method": acp.INITIALIZE, "params": client.params}
    profile = read_client(json.dumps(message).encode())
    # What the agent answers counts: a client that asks for more gets what the agent speaks.
    dialect = profile.dialect if speaks_v2 else acp.V1
    rung = rung_for(option, profile, dialect)
    about = client.about
    if profile.dialect is not dialect:
        about += "; this agent speaks only version 1"
    forced = rung_for("auto", profile, dialect) is not rung
    has_notices = profile.notices or not dialect.notice_needs_capability or rung is Rung.AIR
    waits = "retry" if profile.retry else "notice" if has_notices else "thought"
    return ClientRow(client.name, about, rung, forced, waits)


# --- the agent

MAX_TAIL_CHARS = 600
MAX_MODELS = 20
"""Some agents offer hundreds; `--json` has them all."""
NO_AGENT = "Start it as an ACP agent: many programs need a subcommand acp, or an option --acp"
SLOW_SECONDS = 10.0
SESSION_ACTION = "Read its log, or start its own program in a terminal, where it may say more"
SLOW_ACTION = (
    "An editor shows nothing until then. A first start may download the agent: run this again; "
    "if it stays slow, see what it does at its start"
)
STDOUT_ACTION = "Send its banner and its log to stderr: stdout belongs to the protocol"


def not_started(program: str, error: OSError) -> Observation:
    """Report that the system refused to start it."""
    verdict = classify_spawn_failure(error.errno or 0, program)
    reason = (error.strerror or "it cannot be started").lower()
    sentence = f"{program} could not be started ({reason})."
    return problem("start", sentence, "See the command above", reason=verdict.reason)


def diagnose(result: ConversationResult, *, timeout_seconds: float) -> list[Observation]:
    """Return the findings of a conversation in protocol version 1."""
    findings = [*_started(result, timeout_seconds)]
    if result.hello is not None and "result" in result.hello:
        findings += _greeted(result, read_agent(result.hello["result"]))
        findings += _session(result, timeout_seconds)
    findings += [*_noise(result), *_left(result)]
    return findings


def _started(result: ConversationResult, timeout_seconds: float) -> list[Observation]:
    if result.echoes:
        sentence = "It writes back what it reads: this is not an ACP agent."
        return [problem("initialize", sentence, NO_AGENT)]
    if result.hello is None:
        if result.exit is not None and result.exited_early:
            return [_died(result)]
        sentence = f"It started, but did not answer initialize within {timeout_seconds:g} s."
        return [problem("initialize", sentence, NO_AGENT, **_tail(result))]
    if "error" in result.hello:
        verdict = classify_rpc_error(result.hello["error"], stderr_tail=_text(result.stderr))
        sentence = f"It answers initialize with an error. {_sentence(verdict)}"
        do = "Run the command by hand and read its output"
        return [problem("initialize", sentence, do, type=verdict.type.value)]
    return []


def _died(result: ConversationResult) -> Observation:
    code = result.exit.code if result.exit else None
    number = result.exit.signal if result.exit else None
    tail = _text(result.stderr)
    verdict = classify_exit(exit_code=code, exit_signal=number, stderr_tail=tail, in_turn=False)
    how = f"by signal {number}" if number is not None else f"with status {code}"
    sentence = f"It ended {how} before it answered initialize. {_sentence(verdict)}"
    do = "Run the command by hand and read its output"
    shown = _sentence(verdict, restarts=True)
    return problem("start", sentence, do, reason=verdict.reason, message=shown, **_tail(result))


def not_found(program: str) -> str:
    """Return what a client would show of a program that is not there."""
    return _sentence(classify_spawn_failure(errno.ENOENT, program))


def _sentence(verdict: Verdict, *, restarts: bool = False) -> str:
    """Return what happened, in the words that a client would show."""
    return wording.compose(
        verdict, phase=Phase.STARTUP, retry_safety=RetrySafety.NEVER, restarts=restarts
    ).message


def _greeted(result: ConversationResult, agent: AgentProfile) -> list[Observation]:
    members = _object(result.hello or {}, "result")
    version = members.get("protocolVersion")
    dialect = acp.dialect(version)
    if type(version) is not int:
        sentence = "Its answer to initialize has no protocolVersion that is a whole number."
        do = "Every client needs it: answer with the version that the agent speaks"
        return [problem("initialize", sentence, do)]
    info = _object(members, dialect.agent_info)
    seconds = round(result.hello_seconds, 2)
    name = " ".join(str(info[key]).strip() for key in ("name", "version") if info.get(key))
    name = name or "An agent that gives no name"
    sentence = f"{name} answered after {seconds:g} s, in version {version} of the protocol."
    facts = {"seconds": seconds, "protocol_version": version, "agent": info}
    slow = seconds > SLOW_SECONDS
    first = (
        note("initialize", sentence, SLOW_ACTION, **facts)
        if slow
        else ok("initialize", sentence, **facts)
    )
    capabilities = _object(members, dialect.agent_capabilities)
    return [first, _capabilities(capabilities, agent), _login(members), _typed(agent)]


def _capabilities(own: dict[str, Any], agent: AgentProfile) -> Observation:
    prompt = [name for name, has in _object(own, "promptCapabilities").items() if has is True]
    mcp = [name for name, has in _object(own, "mcpCapabilities").items() if has is True]
    listed = [
        f"It can{'' if agent.can_load else 'not'} load earlier sessions (session/load)",
        f"it can {'' if agent.can_resume else 'not '}resume them (session/resume)",
        f"it takes prompts with {', '.join(['text', *prompt])}",
        f"and MCP servers by {', '.join(['stdio', *mcp])}",
    ]
    facts = {"load": agent.can_load, "resume": agent.can_resume, "prompt": prompt, "mcp": mcp}
    sentence = ", ".join(listed) + "."
    if agent.can_load or agent.can_resume:
        return ok("capabilities", sentence, **facts)
    sentence += " After a crash its sessions cannot be brought back."
    return note("capabilities", sentence, **facts)


def _login(members: dict[str, Any]) -> Observation:
    methods = members.get("authMethods")
    offered = [m for m in methods if isinstance(m, dict)] if isinstance(methods, list) else []
    names = [str(method.get("name") or method.get("id")) for method in offered]
    sentence = f"It offers these logins: {', '.join(names)}." if names else "It offers no login."
    return ok("login", sentence, methods=names)


def _typed(agent: AgentProfile) -> Observation:
    if agent.speaks_typed:
        sentence = (
            "It sends typed errors itself. lastword passes them on to clients that read them."
        )
    else:
        sentence = "It sends no typed errors itself. lastword adds them."
    return ok("agent_error", sentence, speaks=agent.speaks_typed)


def _session(result: ConversationResult, timeout_seconds: float) -> list[Observation]:
    answer = result.session
    if answer is None:
        if result.exited_early:
            return [_died_in_session(result)]
        sentence = f"session/new was not answered within {timeout_seconds:g} s."
        return [
            problem("session", sentence, "Look at its log: does it need a login, or the network?")
        ]
    if "error" not in answer:
        return [_opened(answer), *_models(answer)]
    error = answer["error"]
    if isinstance(error, dict) and error.get("code") == acp.AUTH_REQUIRED:
        sentence = "session/new asks for a login."
        return [note("session", sentence, "Log in, in the client or by hand")]
    verdict = classify_rpc_error(error, stderr_tail=_text(result.stderr))
    sentence, tail = f"session/new fails. {_sentence(verdict)}", _tail(result)
    if tail:
        sentence += f' Its stderr ends with "{wording.quotable(tail["stderr"].splitlines()[-1])}".'
    return [problem("session", sentence, SESSION_ACTION, type=verdict.type.value, **tail)]


def _opened(answer: dict[str, Any]) -> Observation:
    if isinstance(_object(answer, "result").get("sessionId"), str):
        return ok("session", "It opens a session.")
    sentence = "The answer to session/new has no sessionId that is a string."
    return problem("session", sentence, "No client can prompt without one: answer with an id")


def _models(answer: dict[str, Any]) -> list[Observation]:
    """Report the models that the session offers, by the ids that --fallback-model takes."""
    offered = list(Models(answer.get("result")).offered)
    if not offered:
        return []
    shown = ", ".join(offered[:MAX_MODELS]) + (" and more" if len(offered) > MAX_MODELS else "")
    sentence = f"It offers models, which --fallback-model takes by these ids: {shown}."
    return [ok("models", redact_text(sentence), models=offered)]


def _died_in_session(result: ConversationResult) -> Observation:
    died = _died(result)
    sentence = died.sentence.replace("before it answered initialize", "at session/new")
    return problem("session", sentence, died.action, **died.facts)


def _noise(result: ConversationResult) -> list[Observation]:
    if not result.noise_lines:
        return []
    lines = counted(result.noise_lines, "line")
    is_not = "is not a message" if result.noise_lines == 1 else "are not messages"
    sentence = f'It wrote {lines} to stdout that {is_not}, such as "{result.noise[0]}".'
    sentence += " lastword keeps them from the client."
    return [note("stdout", sentence, STDOUT_ACTION, lines=result.noise)]


def _left(result: ConversationResult) -> list[Observation]:
    if result.exited_early:
        return []
    if result.leave_seconds is None:
        sentence = f"It was still running {LEAVE_SECONDS:g} s after its input was closed."
        sentence += " lastword ends such an agent."
        return [note("exit", sentence, "An agent should exit when its input is closed")]
    seconds = round(result.leave_seconds, 2)
    return [ok("exit", f"It exited {seconds:g} s after its input was closed.", seconds=seconds)]


def _tail(result: ConversationResult) -> dict[str, Any]:
    text = redact_text(_text(result.stderr).strip())[-MAX_TAIL_CHARS:]
    return {"stderr": text} if text else {}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _object(members: dict[str, Any], key: str) -> dict[str, Any]:
    value = members.get(key)
    return value if isinstance(value, dict) else {}


# --- sources

SOURCES = "sources"
IN_TIME = "the user learns of a failed model call while the agent tries again"
AT_THE_END = "the user learns what failed once the agent has given up"


def agent_name(result: ConversationResult) -> str | None:
    """Return what the agent called itself, if it answered."""
    return read_agent((result.hello or {}).get("result")).name


def journal_source(place: str, *, in_time: bool) -> Observation:
    """Describe a file that the agent always writes."""
    shown = _from_home(place)
    when = IN_TIME if in_time else AT_THE_END
    if os.access(place, os.R_OK):
        return ok(SOURCES, f"Its journal {shown} can be read: {when}.", path=shown)
    if os.path.lexists(place):
        sentence = f"Its journal {shown} cannot be read."
        return note(
            SOURCES, sentence, "Let this user read it, to learn of retries early", path=shown
        )
    return note(
        SOURCES, f"Its journal {shown} does not exist yet. Once it does, {when}.", path=shown
    )


def events_source(*, has_port: bool) -> Observation:
    """Describe a stream of events that the agent serves."""
    if has_port:
        return ok(SOURCES, f"lastword gives it a port on this machine for its events: {IN_TIME}.")
    return note(
        SOURCES,
        "lastword does not give it a port for its events: this system cannot say who owns a port.",
    )


def runtime_source(runtimes: Iterable[str]) -> Observation:
    """Describe the agent's own runtime, which was asked to report its requests."""
    loaded = ", ".join(sorted(set(runtimes)))
    if loaded:
        sentence = f"Its runtime ({loaded}) reports its requests to the model provider: {IN_TIME}."
        return ok(SOURCES, sentence, runtime=loaded)
    return note(
        SOURCES,
        "Its runtime does not report its requests: it is not Node, Bun or Python, or it does "
        "not read NODE_OPTIONS, BUN_OPTIONS or PYTHONPATH.",
    )


def no_source() -> Observation:
    when = "in its messages, its stderr, and logs that carry its name."
    return ok(SOURCES, f"lastword knows no log of this agent. It looks for causes {when}")


def costs(limit: str) -> Observation:
    """Report what a spending limit depends on, which no conversation without a prompt shows."""
    return note(
        "spending",
        f"--spend-limit is {limit}. It acts on the costs that the agent states. If the first turn "
        "ends without one, the client is notified that the limit has no effect.",
        limit=limit,
    )


def silences(*, why_not: str | None) -> Observation:
    """Report whether the cause of a silence can be seen: the agent's own connections."""
    if why_not is None:
        return ok(SOURCES, "lastword sees the agent's own connections, and so why it is silent.")
    return note(SOURCES, f"The agent's connections cannot be seen here ({why_not}).")


def no_sources_read() -> Observation:
    sentence = "LASTWORD_EVIDENCE is set: lastword reads nothing but the agent's pipes."
    return note(SOURCES, sentence, "Unset it to learn of retries early")


def _from_home(place: str) -> str:
    home = os.path.expanduser("~")
    inside = place.startswith(home + os.sep)
    return "~" + place[len(home) :] if inside else place


OVERNIGHT = "overnight"
STATE_LIMITS = ("claude", "codex")
"""Agents that state when a limit of their plan ends (`core.link.limits`)."""


def overnight(result: ConversationResult, command: Sequence[str]) -> Observation:
    """Report which of the options of `lastword setup --overnight`, and of its own, can act."""
    members = (result.hello or {}).get("result")
    agent = read_agent(members)
    words = f"{agent.name or ''} {' '.join(command)}".lower()
    states_limits = any(name in words for name in STATE_LIMITS)
    answer = (result.session or {}).get("result")
    others = max(len(Models(answer).offered) - 1, 0)
    comes_back = agent.can_load or agent.can_resume
    limits = "its own notices and its errors" if states_limits else "its errors"
    sentences = [
        f"The end of a limit is read from {limits}.",
        f"{counted(others, 'other model')} can stand in (--fallback-model)."
        if others
        else "It offers no other model, so --fallback-model has no effect.",
        "Its sessions come back after a crash, so that a wait continues."
        if comes_back
        else "Its sessions do not come back after a crash, which ends a wait.",
        "--spend-limit acts if the first turn states a cost.",
    ]
    facts = {"states_limits": states_limits, "other_models": others, "comes_back": comes_back}
    report = ok if comes_back else note
    return report(OVERNIGHT, " ".join(sentences), **facts)


def shown_by(row: ClientRow) -> Observation:
    """Report how one client shows waits and reminders."""
    how = {
        "retry": "as its own retries",
        "notice": "as notices",
        "thought": "as the agent's thoughts, in the conversation",
    }[row.waits]
    return ok(OVERNIGHT, f"{row.client} shows waits and reminders {how}.", shows=row.waits)


MAX_NOISE = 5
NOISE_CHARS = 120
LEAVE_SECONDS = 5.0
"""How long an agent may take to exit once its input has ended."""
LAST_WORDS_SECONDS = 0.25
CAPABILITIES = {"_meta": {"agent_error": {"version": 1}}}
INFO = {"name": "lastword-doctor", "version": __version__}


class ConversationResult(msgspec.Struct, kw_only=True):
    """The result of a conversation.

    Attributes:
        hello: The answer to `initialize`, as it came.
        hello_seconds: How long that took, from the start of the process.
        session: The answer to `session/new`.
        echoes: It wrote our own request back.
        noise: The first lines on stdout that are not JSON-RPC objects; `noise_lines` counts all.
        stderr: The end of stderr.
        exit: How the process ended, if it did so by itself.
        exited_early: It ended before its input did.
        leave_seconds: How long it took to exit once its input had ended; `None` if it did not.
    """

    hello: dict[str, Any] | None = None
    hello_seconds: float = 0.0
    session: dict[str, Any] | None = None
    echoes: bool = False
    noise: list[str] = []
    noise_lines: int = 0
    stderr: bytes = b""
    exit: Exit | None = None
    exited_early: bool = False
    leave_seconds: float | None = None


def converse(
    command: Sequence[str],
    *,
    timeout_seconds: float,
    version: int = 1,
    environment: Environment | None = None,
    at: Callable[[str], None] = lambda _: None,
) -> ConversationResult:
    """Start the agent, talk to it, and end it.

    Args:
        command: Its command; the working directory is ours.
        timeout_seconds: How long each answer may take.
        version: The protocol version to ask for; in any but the first no session
            is opened, and the agent's leave is not waited for.
        environment: Its environment, if it is not ours.
        at: Called with each step as it begins.

    Raises:
        OSError: It could not be started.
    """
    with _Visitor(command, environment) as visitor:
        guardian = guardian_of(visitor.agent)
        try:
            at("Waiting for the agent's first answer")
            visitor.hold(timeout_seconds, version, at)
            if version == 1:
                at("Ending the agent")
                visitor.leave()
        finally:
            visitor.result.stderr = bytes(visitor.stderr.data)
            visitor.close()
            if guardian is not None:
                guardian.disarm()
    return visitor.result


class _Visitor(StrictClient):
    """The doctor's own client, which notes what is odd and allows nothing."""

    first_id = 1

    def __init__(self, command: Sequence[str], environment: Environment | None) -> None:
        self.result = ConversationResult()
        super().__init__(command, environment, apart=False)

    def hold(self, timeout_seconds: float, version: int, at: Callable[[str], None]) -> None:
        """Initialize the agent, and open a session."""
        hello = self.initialize(CAPABILITIES, version=version, info=INFO)
        self.result.hello = self._answer(hello, timeout_seconds)
        self.result.hello_seconds = self.now
        if self.result.hello is not None and "result" in self.result.hello and version == 1:
            at("Waiting for the agent to open a session")
            self.result.session = self._answer(self.new_session(os.getcwd()), timeout_seconds)

    def leave(self) -> None:
        """Close the agent's input, and see how long it stays."""
        result, agent = self.result, self.agent
        result.exited_early = agent.poll() is not None
        if result.exited_early:
            self.listen(LAST_WORDS_SECONDS)
            result.exit = agent.poll()
            return
        closed = time.monotonic()
        self.close_stdin()
        if self.wait_for_exit(LEAVE_SECONDS):
            result.leave_seconds = time.monotonic() - closed
            result.exit = agent.poll()

    def _answer(self, request_id: object, timeout_seconds: float) -> Frame | None:
        """Return the answer; `None` where none came, or the agent is gone."""
        deadline = time.monotonic() + timeout_seconds

        def answered() -> Frame | None:
            answers = (event.frame for event in self.events if event.answers(request_id))
            return next(answers, None)

        self.wait(lambda: bool(answered() or self.result.echoes), timeout_seconds)
        if not answered() and not self.result.echoes:
            # Its end may take longer than the end of its output, and its last words are on the way.
            self.wait_for_exit(deadline - time.monotonic())
            self.listen(LAST_WORDS_SECONDS)
        return answered()

    def _receive_line(self, line: bytes) -> None:
        if not line.strip():
            return
        # As the relay reads it, which is not so strict as this client.
        for part in glued.decode_parts(line, may_quote=True):
            if isinstance(part, jsonrpc.Malformed):
                self._noise(part.line)
            else:
                super()._receive_line(part.line)

    def _note(self, raw: bytes, frame: Frame | None, problem: str, *, sent: bool) -> None:
        method = "" if sent or frame is None else frame.get("method", "")
        if not isinstance(method, str):
            self._noise(raw)
        elif method in acp.TO_AGENT_ONLY:
            self.result.echoes = True
        else:
            super()._note(raw, frame, problem, sent=sent)

    def _hear(self, message: Frame) -> None:
        method = message.get("method")
        if isinstance(method, str) and method not in acp.TO_AGENT_ONLY:
            super()._hear(message)

    def _reply(self, request: Frame) -> Frame:
        return refused(request, "The doctor offers nothing.")

    def _noise(self, line: bytes) -> None:
        self.result.noise_lines += 1
        if len(self.result.noise) < MAX_NOISE:
            text = line.decode("utf-8", "replace")[:NOISE_CHARS]
            self.result.noise.append("".join(c if c.isprintable() else " " for c in text))
