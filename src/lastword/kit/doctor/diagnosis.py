"""The diagnosis: what a conversation shows about an agent, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.classify import classify_exit, classify_rpc_error, classify_spawn_failure
from lastword.core.failure import wording
from lastword.core.failure.taxonomy import Phase, RetrySafety
from lastword.core.link.handshake import AgentProfile, read_agent
from lastword.core.protocol import acp
from lastword.core.redact.redactor import redact_text
from lastword.kit.doctor.conversation import LEAVE_SECONDS
from lastword.kit.doctor.findings import Observation, note, ok, problem

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.kit.doctor.conversation import Seen

MAX_TAIL_CHARS = 600
NO_AGENT = "Start it as an ACP agent: many programs need a subcommand acp, or an option --acp"
SLOW_SECONDS = 10.0
SESSION_ACTION = "Read its log, or start its own program in a terminal, where it may say more"
SLOW_ACTION = (
    "An editor shows nothing until then. A first start may download the agent: run this again; "
    "if it stays slow, see what it does at its start"
)
STDOUT_ACTION = "Send its banner and its log to stderr: stdout belongs to the protocol"


def not_started(program: str, error: OSError) -> Observation:
    """Tell that the system refused to start it."""
    verdict = classify_spawn_failure(error.errno or 0, program)
    reason = (error.strerror or "it cannot be started").lower()
    says = f"{program} could not be started ({reason})."
    return problem("start", says, "See the command above", reason=verdict.reason)


def diagnose(seen: Seen, *, timeout_seconds: float) -> list[Observation]:
    """Return the findings of a conversation in protocol version 1."""
    found = [*_started(seen, timeout_seconds)]
    if seen.hello is not None and "result" in seen.hello:
        found += _greeted(seen, read_agent(seen.hello["result"]))
        found += _session(seen, timeout_seconds)
    found += [*_noise(seen), *_left(seen)]
    return found


def _started(seen: Seen, timeout_seconds: float) -> list[Observation]:
    if seen.echoes:
        says = "It writes back what it reads: this is not an ACP agent."
        return [problem("initialize", says, NO_AGENT)]
    if seen.hello is None:
        if seen.exit is not None and seen.exited_early:
            return [_died(seen)]
        says = f"It started, but did not answer initialize within {timeout_seconds:g} s."
        return [problem("initialize", says, NO_AGENT, **_tail(seen))]
    if "error" in seen.hello:
        verdict = classify_rpc_error(seen.hello["error"], stderr_tail=_text(seen.stderr))
        says = f"It answers initialize with an error. {_sentence(verdict)}"
        do = "Run the command by hand and read what it says"
        return [problem("initialize", says, do, type=verdict.type.value)]
    return []


def _died(seen: Seen) -> Observation:
    code = seen.exit.code if seen.exit else None
    number = seen.exit.signal if seen.exit else None
    tail = _text(seen.stderr)
    verdict = classify_exit(exit_code=code, exit_signal=number, stderr_tail=tail, in_turn=False)
    how = f"by signal {number}" if number is not None else f"with status {code}"
    says = f"It ended {how} before it answered initialize. {_sentence(verdict)}"
    do = "Run the command by hand and read what it says"
    return problem("start", says, do, reason=verdict.reason, **_tail(seen))


def _sentence(verdict: Verdict) -> str:
    """Return what happened, in the words that a client would show."""
    composed = wording.compose(verdict, phase=Phase.STARTUP, retry_safety=RetrySafety.NEVER)
    return composed.message


def _greeted(seen: Seen, agent: AgentProfile) -> list[Observation]:
    members = _object(seen.hello or {}, "result")
    version = members.get("protocolVersion")
    dialect = acp.dialect(version)
    if type(version) is not int:
        says = "Its answer to initialize has no protocolVersion that is a whole number."
        do = "Every client needs it: answer with the version that the agent speaks"
        return [problem("initialize", says, do)]
    info = _object(members, dialect.agent_info)
    seconds = round(seen.hello_seconds, 2)
    name = " ".join(str(info[key]).strip() for key in ("name", "version") if info.get(key))
    name = name or "An agent that gives no name"
    says = f"{name} answered after {seconds:g} s, in version {version} of the protocol."
    facts = {"seconds": seconds, "protocol_version": version, "agent": info}
    slow = seconds > SLOW_SECONDS
    first = (
        note("initialize", says, SLOW_ACTION, **facts) if slow else ok("initialize", says, **facts)
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
    says = ", ".join(listed) + "."
    if agent.can_load or agent.can_resume:
        return ok("capabilities", says, **facts)
    says += " After a crash its sessions cannot be brought back."
    return note("capabilities", says, **facts)


def _login(members: dict[str, Any]) -> Observation:
    methods = members.get("authMethods")
    offered = [m for m in methods if isinstance(m, dict)] if isinstance(methods, list) else []
    names = [str(method.get("name") or method.get("id")) for method in offered]
    says = f"It offers these logins: {', '.join(names)}." if names else "It offers no login."
    return ok("login", says, methods=names)


def _typed(agent: AgentProfile) -> Observation:
    if agent.speaks_typed:
        says = "It sends typed errors itself. lastword passes them on to clients that read them."
    else:
        says = "It sends no typed errors itself. lastword adds them."
    return ok("agent_error", says, speaks=agent.speaks_typed)


def _session(seen: Seen, timeout_seconds: float) -> list[Observation]:
    answer = seen.session
    if answer is None:
        if seen.exited_early:
            return [_died_in_session(seen)]
        says = f"session/new was not answered within {timeout_seconds:g} s."
        return [problem("session", says, "Look at its log: does it need a login, or the network?")]
    if "error" not in answer:
        return [_opened(answer)]
    error = answer["error"]
    if isinstance(error, dict) and error.get("code") == acp.AUTH_REQUIRED:
        says = "session/new asks for a login."
        return [note("session", says, "Log in, in the client or by hand")]
    verdict = classify_rpc_error(error, stderr_tail=_text(seen.stderr))
    says, tail = f"session/new fails. {_sentence(verdict)}", _tail(seen)
    if tail:
        says += f' Its stderr ends with "{wording.quotable(tail["stderr"].splitlines()[-1])}".'
    return [problem("session", says, SESSION_ACTION, type=verdict.type.value, **tail)]


def _opened(answer: dict[str, Any]) -> Observation:
    if isinstance(_object(answer, "result").get("sessionId"), str):
        return ok("session", "It opens a session.")
    says = "The answer to session/new has no sessionId that is a string."
    return problem("session", says, "No client can prompt without one: answer with an id")


def _died_in_session(seen: Seen) -> Observation:
    died = _died(seen)
    says = died.says.replace("before it answered initialize", "at session/new")
    return problem("session", says, died.action, **died.facts)


def _noise(seen: Seen) -> list[Observation]:
    if not seen.noise_lines:
        return []
    lines = "1 line" if seen.noise_lines == 1 else f"{seen.noise_lines} lines"
    is_not = "is not a message" if seen.noise_lines == 1 else "are not messages"
    says = f'It wrote {lines} to stdout that {is_not}, such as "{seen.noise[0]}".'
    says += " lastword keeps them from the client."
    return [note("stdout", says, STDOUT_ACTION, lines=seen.noise)]


def _left(seen: Seen) -> list[Observation]:
    if seen.exited_early:
        return []
    if seen.leave_seconds is None:
        says = f"It was still running {LEAVE_SECONDS:g} s after its input was closed."
        says += " lastword ends such an agent."
        return [note("exit", says, "An agent should exit when its input is closed")]
    seconds = round(seen.leave_seconds, 2)
    return [ok("exit", f"It exited {seconds:g} s after its input was closed.", seconds=seconds)]


def _tail(seen: Seen) -> dict[str, Any]:
    """Return the end of stderr, without secrets."""
    text = redact_text(_text(seen.stderr).strip())[-MAX_TAIL_CHARS:]
    return {"stderr": text} if text else {}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _object(members: dict[str, Any], key: str) -> dict[str, Any]:
    value = members.get(key)
    return value if isinstance(value, dict) else {}
