"""The diagnosis: what a conversation shows about an agent, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.classify import classify_exit, classify_rpc_error, classify_spawn_failure
from lastword.core.failure import wording
from lastword.core.failure.taxonomy import Phase, RetrySafety
from lastword.core.link.choices import Models
from lastword.core.link.handshake import AgentProfile, read_agent
from lastword.core.protocol import acp
from lastword.core.redact.redactor import redact_text
from lastword.kit.doctor.conversation import LEAVE_SECONDS
from lastword.kit.doctor.findings import Observation, note, ok, problem

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.kit.doctor.conversation import ConversationResult

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
    return problem("start", sentence, do, reason=verdict.reason, **_tail(result))


def _sentence(verdict: Verdict) -> str:
    """Return what happened, in the words that a client would show."""
    composed = wording.compose(verdict, phase=Phase.STARTUP, retry_safety=RetrySafety.NEVER)
    return composed.message


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
    lines = "1 line" if result.noise_lines == 1 else f"{result.noise_lines} lines"
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
    """Return the end of stderr, without secrets."""
    text = redact_text(_text(result.stderr).strip())[-MAX_TAIL_CHARS:]
    return {"stderr": text} if text else {}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _object(members: dict[str, Any], key: str) -> dict[str, Any]:
    value = members.get(key)
    return value if isinstance(value, dict) else {}
