"""A short conversation with an agent, and the diagnosis: what it shows, and each client's rung.

Owns the requests (`initialize`, `session/new`), and the findings: on the answers, on the agent's
sources besides its pipes, on sessions that run unattended, and on what typical clients advertise.
As in a real session, `core.link.handshake` reads `initialize` and `core.failure.ladder.rung_for`
chooses the rung. `kit.peer` owns the process and its pipes, and leaves nothing behind.
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
from lastword.core.link.handshake import read_agent, read_client
from lastword.core.protocol import acp, glued, jsonrpc
from lastword.core.redact.printable import one_line
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
        about: What distinguishes it.
        params: The params of its `initialize`.
    """

    name: str
    about: str
    params: dict[str, Any]


class ClientRow(msgspec.Struct, frozen=True):
    """A failure's rung for one kind of client, and how waits reach it.

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


CLIENTS = {
    client.name: client
    for client in (
        *(
            ClientKind(name, "its current version, from lastword's table of clients", _v1(name, {}))
            for name in clients.RULES
        ),
        ClientKind(
            "jetbrains",
            "takes JetBrains' own failure records (sessionFailure)",
            _v1("jetbrains", clients.JETBRAINS.capabilities),
        ),
        ClientKind("typed", "negotiates agent_error", _v1("typed", TYPED)),
        ClientKind("older", "protocol version 1, negotiates nothing", _v1("older", {})),
        ClientKind(
            "v2",
            "protocol version 2",
            {"protocolVersion": 2, "info": {"name": "v2", "version": "1"}, "capabilities": {}},
        ),
    )
}


def table(name: str | None, *, option: str, speaks_v2: bool) -> list[ClientRow]:
    """Return the rows for one kind of client, or for all known ones.

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
    rows = []
    for client in chosen:
        message = {"jsonrpc": "2.0", "id": 0, "method": acp.INITIALIZE, "params": client.params}
        profile = read_client(json.dumps(message).encode())
        # A client that requests version 2 gets the version that the agent answers with.
        dialect = profile.dialect if speaks_v2 else acp.V1
        rung = rung_for(option, profile, dialect)
        about = client.about
        if profile.dialect is not dialect:
            about += "; this agent speaks only version 1"
        forced = rung_for("auto", profile, dialect) is not rung
        has_notices = profile.notices or not dialect.notice_needs_capability or rung is Rung.AIR
        waits = "retry" if profile.retry else "notice" if has_notices else "thought"
        rows.append(ClientRow(client.name, about, rung, forced, waits))
    return rows


# --- the agent

MAX_TAIL_CHARS = 600
MAX_MODELS = 20
"""Some agents offer hundreds; `--json` lists them all."""
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
    verdict = classify_spawn_failure(error.errno or 0, error.filename or program)
    reason = (error.strerror or "it cannot be started").lower()
    sentence = f"{program} could not be started ({reason})."
    return problem("start", sentence, "See the command above", reason=verdict.reason)


def diagnose(result: ConversationResult, *, timeout_seconds: float) -> list[Observation]:
    """Return the findings of a conversation in protocol version 1."""
    findings = []
    hello = result.hello
    if result.echoes:
        sentence = "It writes back what it reads: this is not an ACP agent."
        findings.append(problem("initialize", sentence, NO_AGENT))
    elif hello is None and result.exit is not None and result.exited_early:
        findings.append(_died(result))
    elif hello is None:
        sentence = f"It started, but did not answer initialize within {timeout_seconds:g} s."
        findings.append(problem("initialize", sentence, NO_AGENT, **_tail(result)))
    elif "error" in hello:
        verdict = classify_rpc_error(hello["error"], stderr_tail=_text(result.stderr))
        sentence = f"It answers initialize with an error. {_sentence(verdict)}"
        do = "Run the command by hand and read its output"
        findings.append(problem("initialize", sentence, do, type=verdict.type.value))
    if hello is not None and "result" in hello:
        findings += _greeted(hello, round(result.hello_seconds, 2))
        findings += _session(result, timeout_seconds)
    if result.noise_lines:
        lines = counted(result.noise_lines, "line")
        is_not = "is not a message" if result.noise_lines == 1 else "are not messages"
        sentence = f'It wrote {lines} to stdout that {is_not}, such as "{result.noise[0]}".'
        sentence += " lastword keeps them from the client."
        findings.append(note("stdout", sentence, STDOUT_ACTION, lines=result.noise))
    if not result.exited_early and result.leave_seconds is None:
        sentence = f"It was still running {LEAVE_SECONDS:g} s after its input was closed."
        sentence += " lastword ends such an agent."
        findings.append(note("exit", sentence, "An agent should exit when its input is closed"))
    elif not result.exited_early and result.leave_seconds is not None:
        seconds = round(result.leave_seconds, 2)
        sentence = f"It exited {seconds:g} s after its input was closed."
        findings.append(ok("exit", sentence, seconds=seconds))
    return findings


def _died(result: ConversationResult) -> Observation:
    code = result.exit.code if result.exit else None
    number = result.exit.signal if result.exit else None
    tail = _text(result.stderr)
    verdict = classify_exit(exit_code=code, exit_signal=number, stderr_tail=tail)
    how = f"by signal {number}" if number is not None else f"with status {code}"
    sentence = f"It ended {how} before it answered initialize. {_sentence(verdict)}"
    do = "Run the command by hand and read its output"
    shown = _sentence(verdict, restarts=True)
    return problem("start", sentence, do, reason=verdict.reason, message=shown, **_tail(result))


def not_found(program: str) -> str:
    """Return what a client would show for a missing program."""
    return _sentence(classify_spawn_failure(errno.ENOENT, program))


def _sentence(verdict: Verdict, *, restarts: bool = False) -> str:
    return wording.compose(
        verdict, phase=Phase.STARTUP, retry_safety=RetrySafety.NEVER, restarts=restarts
    ).message


def _greeted(hello: dict[str, Any], seconds: float) -> list[Observation]:
    """Return the findings on the result of `initialize`."""
    agent = read_agent(hello["result"])
    members = _object(hello, "result")
    version = members.get("protocolVersion")
    dialect = acp.dialect(version)
    if type(version) is not int:
        sentence = "Its answer to initialize has no protocolVersion that is a whole number."
        do = "Every client needs it: answer with the version that the agent speaks"
        return [problem("initialize", sentence, do)]
    info = _object(members, dialect.agent_info)
    name = " ".join(str(info[key]).strip() for key in ("name", "version") if info.get(key))
    name = name or "An agent that gives no name"
    sentence = f"{name} answered after {seconds:g} s, in version {version} of the protocol."
    facts: dict[str, Any] = {"seconds": seconds, "protocol_version": version, "agent": info}
    findings = [
        note("initialize", sentence, SLOW_ACTION, **facts)
        if seconds > SLOW_SECONDS
        else ok("initialize", sentence, **facts)
    ]
    own = _object(members, dialect.agent_capabilities)
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
        findings.append(ok("capabilities", sentence, **facts))
    else:
        sentence += " After a crash its sessions cannot be brought back."
        findings.append(note("capabilities", sentence, **facts))
    methods = members.get("authMethods")
    offered = [m for m in methods if isinstance(m, dict)] if isinstance(methods, list) else []
    names = [str(method.get("name") or method.get("id")) for method in offered]
    sentence = f"It offers these logins: {', '.join(names)}." if names else "It offers no login."
    findings.append(ok("login", sentence, methods=names))
    if agent.speaks_typed:
        sentence = (
            "It sends typed errors itself. lastword passes them on to clients that read them."
        )
    else:
        sentence = "It sends no typed errors itself. lastword adds them."
    return [*findings, ok("agent_error", sentence, speaks=agent.speaks_typed)]


def _session(result: ConversationResult, timeout_seconds: float) -> list[Observation]:
    answer = result.session
    if answer is None and result.exited_early:
        died = _died(result)
        sentence = died.sentence.replace("before it answered initialize", "at session/new")
        return [problem("session", sentence, died.action, **died.facts)]
    if answer is None:
        sentence = f"session/new was not answered within {timeout_seconds:g} s."
        do = "Look at its log: does it need a login, or the network?"
        return [problem("session", sentence, do)]
    if "error" in answer:
        error = answer["error"]
        if isinstance(error, dict) and error.get("code") == acp.AUTH_REQUIRED:
            sentence = "session/new asks for a login."
            return [note("session", sentence, "Log in, in the client or by hand")]
        verdict = classify_rpc_error(error, stderr_tail=_text(result.stderr))
        sentence, tail = f"session/new fails. {_sentence(verdict)}", _tail(result)
        if tail:
            last = wording.quotable(tail["stderr"].splitlines()[-1])
            sentence += f' Its stderr ends with "{last}".'
        return [problem("session", sentence, SESSION_ACTION, type=verdict.type.value, **tail)]
    if isinstance(_object(answer, "result").get("sessionId"), str):
        findings = [ok("session", "It opens a session.")]
    else:
        sentence = "The answer to session/new has no sessionId that is a string."
        do = "No client can prompt without one: answer with an id"
        findings = [problem("session", sentence, do)]
    models = list(Models(answer.get("result")).offered)
    if models:
        shown = ", ".join(models[:MAX_MODELS]) + (" and more" if len(models) > MAX_MODELS else "")
        sentence = f"It offers models, which --fallback-model takes by these ids: {shown}."
        findings.append(ok("models", redact_text(sentence), models=models))
    return findings


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
    """Return the name in the agent's answer to `initialize`, if there is one."""
    return read_agent((result.hello or {}).get("result")).name


def journal_source(place: str, *, in_time: bool) -> Observation:
    """Describe a file that the agent always writes."""
    home = os.path.expanduser("~")
    shown = "~" + place[len(home) :] if place.startswith(home + os.sep) else place
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
    """Describe the agent's runtime, which was set up to report its requests."""
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
    """Report what a spending limit depends on; only a prompt would show whether it works."""
    return note(
        "spending",
        f"--spend-limit is {limit}. It acts on the costs that the agent states. If the first turn "
        "ends without one, the client is notified that the limit has no effect.",
        limit=limit,
    )


def silences(*, why_not: str | None) -> Observation:
    """Report whether the agent's connections, which show a silence's cause, can be observed."""
    if why_not is None:
        return ok(SOURCES, "lastword sees the agent's own connections, and so why it is silent.")
    return note(SOURCES, f"The agent's connections cannot be seen here ({why_not}).")


def no_sources_read() -> Observation:
    sentence = "LASTWORD_EVIDENCE is set: lastword reads nothing but the agent's pipes."
    return note(SOURCES, sentence, "Unset it to learn of retries early")


OVERNIGHT = "overnight"
STATE_LIMITS = ("claude", "codex")
"""Agents that state when a limit of their plan ends (`core.link.limits`)."""


def overnight(result: ConversationResult, command: Sequence[str]) -> Observation:
    """Report which options of `lastword setup --overnight` have an effect with this agent."""
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


def shown_by(row: ClientRow, title: str) -> Observation:
    """Report how one client, with this title, shows waits and reminders."""
    how = {
        "retry": "as its own retries",
        "notice": "as notices",
        "thought": "as the agent's thoughts, in the conversation",
    }[row.waits]
    sentence = f"{title} shows waits and reminders {how}."
    if row.client not in CLIENTS:
        sentence = f"lastword does not know {title}; such a client gets waits and reminders {how}."
        return note(OVERNIGHT, sentence, shows=row.waits)
    return ok(OVERNIGHT, sentence, shows=row.waits)


MAX_NOISE = 5
NOISE_CHARS = 120
LEAVE_SECONDS = 5.0
"""How long an agent may take to exit after its input was closed."""
LAST_WORDS_SECONDS = 0.25
CAPABILITIES = {"_meta": {"agent_error": {"version": 1}}}
INFO = {"name": "lastword-doctor", "version": __version__}


class ConversationResult(msgspec.Struct, kw_only=True):
    """The result of a conversation.

    Attributes:
        hello: The unchanged answer to `initialize`.
        hello_seconds: The time from the start of the process to that answer.
        session: The answer to `session/new`.
        echoes: Whether it wrote our own request back.
        noise: The first lines on stdout that are not JSON-RPC objects; `noise_lines` counts all.
        stderr: The end of stderr.
        exit: How the process ended, if it did so by itself.
        exited_early: Whether it exited before its input was closed.
        leave_seconds: The time from closing its input to its exit; `None` if it did not exit.
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
    """Start the agent, initialize it, open a session, and end it.

    Args:
        command: Its command; the working directory is ours.
        timeout_seconds: The timeout of each answer.
        version: The protocol version to request. Except for version 1, no session is opened, and
            the agent's exit is not waited for.
        environment: Its environment, if it is not ours.
        at: Called with each step as it begins.

    Raises:
        OSError: It could not be started.
    """
    with _Visitor(command, environment) as visitor:
        result, agent = visitor.result, visitor.agent
        guardian = guardian_of(agent)
        try:
            at("Waiting for the agent's first answer")
            request_id = visitor.initialize(CAPABILITIES, version=version, info=INFO)
            result.hello = visitor.wait_for_answer(request_id, timeout_seconds)
            result.hello_seconds = visitor.now
            if version == 1 and "result" in (result.hello or {}):
                at("Waiting for the agent to open a session")
                request_id = visitor.new_session(os.getcwd())
                result.session = visitor.wait_for_answer(request_id, timeout_seconds)
            if version == 1:
                at("Ending the agent")
                result.exited_early = agent.poll() is not None
                if result.exited_early:
                    visitor.listen(LAST_WORDS_SECONDS)
                    result.exit = agent.poll()
                else:
                    closed = time.monotonic()
                    visitor.close_stdin()
                    if visitor.wait_for_exit(LEAVE_SECONDS):
                        result.leave_seconds = time.monotonic() - closed
                        result.exit = agent.poll()
        finally:
            result.stderr = bytes(visitor.stderr.data)
            visitor.close()
            if guardian is not None:
                guardian.disarm()
    return result


class _Visitor(StrictClient):
    """The doctor's client, which notes irregular output and allows nothing."""

    first_id = 1

    def __init__(self, command: Sequence[str], environment: Environment | None) -> None:
        self.result = ConversationResult()
        super().__init__(command, environment, apart=False)

    def wait_for_answer(self, request_id: object, timeout_seconds: float) -> Frame | None:
        """Return the answer; `None` if none comes, the agent exits, or it echoes."""
        deadline = time.monotonic() + timeout_seconds

        def answered() -> Frame | None:
            answers = (event.frame for event in self.events if event.answers(request_id))
            return next(answers, None)

        self.wait(lambda: bool(answered() or self.result.echoes), timeout_seconds)
        if not answered() and not self.result.echoes:
            # The process may exit after its output ends, and stderr may still be on its way.
            self.wait_for_exit(deadline - time.monotonic())
            self.listen(LAST_WORDS_SECONDS)
        return answered()

    def _receive_line(self, line: bytes) -> None:
        if not line.strip():
            return
        # Read as the relay does, which is more lenient than this client.
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
            self.result.noise.append(one_line(text))
