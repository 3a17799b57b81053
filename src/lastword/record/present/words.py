"""An entry in words, for a line of a timeline.

Owns the words. `core.timeline.entry` defines what an entry holds; a fact that is not known here is
shown as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.failure.option_values import money
from lastword.core.failure.phrases import (
    CANCELLED_BY,
    PHASES,
    TYPES,
    counted,
    duration,
    exit_status_words,
    plain,
    retry_words,
)
from lastword.core.protocol.tolerant import number_of, object_of
from lastword.core.timeline.entry import Kind
from lastword.record.present import gateway_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lastword.core.timeline.entry import Entry

MAX_TEXT_CHARS = 300
_MAX_VALUE_CHARS = 80

_IN_WORDS = frozenset(
    {
        *("type", "reason", "phase", "origin", "retryable", "retry_safety", "retry_after_seconds"),
        *("action", "http_status", "provider_code", "exit_code", "exit_signal", "request_id"),
        *("incident_id", "message"),
    }
)
_LEFT_TO_JSON = frozenset({"rule", "redactions", "detail", "reset_at_epoch_ms", "traceparent"})
"""Facts for machines and maintainers."""


STOP_REASONS = {
    "end_turn": "ok",
    "max_tokens": "token limit reached",
    "max_turn_requests": "request limit reached",
    "refusal": "the agent refused",
    "cancelled": "cancelled",
}
"""The end of an answered turn, by ACP's stop reason."""

_READS = {
    "typed": "typed errors",
    "retry": "retry updates",
    "notices": "notices",
    "air": "AIR's session failures",
}
_HOW = {"new": "new session", "load": "session loaded", "resume": "session resumed"}
_QUESTIONS = {"permission": "for a permission", "form": "to fill in a form"}
_DELEGATED = {"file": "to write a file", "command": "to run a command"}
_NOT_BACK = {
    "agent_cannot": "the agent cannot do that",
    "refused": "the agent refused",
    "timeout": "the agent did not answer in time",
    "id_taken": "its id belongs to another session now",
}
_LIMITS = {
    "first_update_timeout": "nothing came within the limit",
    "idle_timeout": "silent for longer than the limit",
    "tool_timeout": "a tool took longer than the limit",
    "turn_timeout": "the turn took longer than the limit",
    "runaway": "it repeated the same step",
    "stderr_limit": "its error output was over the limit",
    "busy_with_ended_turn": "it did not finish a turn that had been ended",
    "spend_limit": "it spent on beyond the spending limit",
}
_EXITS = {
    "client_left": "the client left",
    "shutdown": "lastword was told to stop",
    "closed_stdout": "it closed its output",
    "ended_by_lastword": "lastword ended it",
}
_WITHHELD = {
    "answer_to_nobody": "it answers no request",
    "answer_without_id": "it is an answer without an id",
    "echo": "it only repeats what the client sent",
    "error_without_id": "it is an error without an id",
    "late_answer": "its turn had already been answered",
    "line_too_long": "it is too long",
    "quarantine": "it belongs to a turn that had been ended",
    "question_expired": "its question had already been answered",
    "replay": "lastword requested it to restore the session",
}
_ACTIONS = {
    "wait": "wait, then try again",
    "retry": "try again",
    "continue": "ask the agent to continue",
    "confirm_retry": "check what has been done, then try again",
    "login": "log in, or check the API key",
    "top_up": "add credits, wait for the reset, or switch models",
    "switch_model": "choose another model",
    "shorten": "shorten the conversation",
    "rephrase": "rephrase the prompt",
    "fix_configuration": "check the agent's configuration",
    "restart": "start the agent again, then try again",
    "report": "check the details, and report it if it happens again",
}


def words(entry: Entry) -> str:
    """Return what happened, as one short sentence without a full stop."""
    facts = dict(entry.facts)
    describe = _DESCRIBERS.get(entry.kind)
    if describe is not None:
        return describe(facts)
    return _plain(entry.kind.value.replace("_", " "), facts)


def _plain(name: str, facts: dict[str, Any]) -> str:
    shown = [
        f"{plain(key)} {_value(value)}" for key, value in facts.items() if key not in _LEFT_TO_JSON
    ]
    return f"{name}: {', '.join(shown)}" if shown else name


def _value(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))[:_MAX_VALUE_CHARS] or "none"
    return str(value)[:_MAX_VALUE_CHARS]


def _error(facts: dict[str, Any]) -> str:
    about = [plain(facts["reason"])] if facts.get("reason") else []
    about += [plain(facts["phase"], PHASES)] if facts.get("phase") else []
    about += _origin_facts(facts)
    what = f"failed: {plain(facts.get('type', 'error'), TYPES)}"
    what += f" ({', '.join(about)})" if about else ""
    sentence = "; ".join([what, *_next(facts)])
    original = _original_words(facts)
    rest = {key: value for key, value in facts.items() if key not in _IN_WORDS}
    sentence = _plain(sentence, rest).replace(f"{sentence}:", f"{sentence},", 1)
    return f'{sentence}; "{original[:MAX_TEXT_CHARS]}"' if original else sentence


def _next(facts: dict[str, Any]) -> list[str]:
    """Return what may be done after a failure, and the id by which to quote it."""
    parts = []
    retry = retry_words(facts)
    if retry:
        parts.append(f"retry: {retry}")
    elif isinstance(facts.get("retry_after_seconds"), int | float):
        parts.append(f"wait {duration(facts['retry_after_seconds'])}")
    if facts.get("action"):
        parts.append(f"to do: {plain(facts['action'], _ACTIONS)}")
    if facts.get("incident_id"):
        parts.append(f"incident {facts['incident_id']}")
    return parts


def _original_words(facts: dict[str, Any]) -> str:
    """Return the failing party's own words, or else those that the user was shown."""
    text = object_of(facts.get("detail")).get("text")
    original = text if isinstance(text, str) and text.strip() else facts.get("message")
    return " ".join(original.split()) if isinstance(original, str) else ""


def _status(code: Any) -> str:
    return exit_status_words(code) if isinstance(code, int) else f"exit status {_value(code)}"


def _origin_facts(facts: dict[str, Any]) -> list[str]:
    parts = []
    if facts.get("http_status"):
        parts.append(f"HTTP {facts['http_status']}")
    if facts.get("provider_code"):
        parts.append(str(facts["provider_code"])[:_MAX_VALUE_CHARS])
    if facts.get("exit_signal"):
        parts.append(str(facts["exit_signal"]))
    elif facts.get("exit_code") is not None:
        parts.append(_status(facts["exit_code"]))
    if facts.get("request_id"):
        parts.append(f"request {facts['request_id']}"[:_MAX_VALUE_CHARS])
    return parts


def _retry(facts: dict[str, Any]) -> str:
    attempt, most = facts.pop("attempt", None), facts.pop("max_attempts", None)
    wait, kind = facts.pop("wait_seconds", None), facts.pop("type", None)
    what = plain(kind, TYPES) if kind else "a failure"
    tries = f" (attempt {_value(attempt)}" if attempt else ""
    tries += f" of {_value(most)})" if attempt and most else ")" if attempt else ""
    waits = f" in {duration(wait)}" if isinstance(wait, int | float) else ""
    source = _SOURCES.get(str(facts.pop("source", "")), "")
    return _plain(f"the model call is tried again{waits}{tries}, after {what}{source}", facts)


def _limit_wait(facts: dict[str, Any]) -> str:
    wait, kind = facts.pop("wait_seconds", None), facts.pop("type", None)
    what = plain(kind, TYPES) if kind else "a limit"
    waits = f" {duration(wait)}" if isinstance(wait, int | float) else ""
    return _plain(f"the turn waits{waits} for the end of the limit, after {what}", facts)


def _continued(facts: dict[str, Any]) -> str:
    what = _GOES_ON_WITH.get(str(facts.pop("what", None)), "a new prompt")
    return _plain(f"the turn goes on with {what}", facts)


_GOES_ON_WITH = {"same_prompt": "the same prompt", "same_call": "the same call of the model"}


def _cost(facts: dict[str, Any]) -> str:
    amount, currency = number_of(facts.pop("amount", None)), str(facts.pop("currency", ""))
    model = facts.pop("model", None)
    return _plain(f"cost {money(amount, currency)}" + (f" ({model})" if model else ""), facts)


def _model_request(facts: dict[str, Any]) -> str:
    host, status, attempt = (facts.pop(each, None) for each in ("host", "status", "attempt"))
    first, whole = (facts.pop(each, None) for each in ("first_byte_seconds", "total_seconds"))
    type_ = facts.pop("type", None)
    words = [f"HTTP {_value(status)}" if status else "no answer"]
    words += [plain(_value(type_), TYPES)] if type_ else []
    words += [f"attempt {_value(attempt)}"] if number_of(attempt) > 1 else []
    words += [f"began after {duration(number_of(first))}"] if first is not None else []
    words += [f"over after {duration(number_of(whole))}"] if whole is not None else []
    return _plain(f"request to {_value(host)}: {', '.join(words)}", facts)


def _spend_limit(facts: dict[str, Any]) -> str:
    spent, limit = number_of(facts.pop("spent", None)), number_of(facts.pop("limit", None))
    currency, scope = str(facts.pop("currency", "")), str(facts.pop("scope", "session"))
    what = _SPEND_LIMITS.get(str(facts.pop("what", "")), "spending limit")
    of = f"{money(spent, currency)} of {money(limit, currency)} for the {scope}"
    return _plain(f"{what}: {of}", facts)


_SPEND_LIMITS = {
    "near": "the spending limit is near",
    "reached": "the spending limit is reached",
    "other_currency": "the agent's costs are in another currency than the spending limit",
    "no_cost": "the agent states no cost, so the spending limit has no effect",
}

_SWITCHES = {
    "switched": "another model after the failure",
    "refused": "the agent refuses another model",
    "restored": "the former model again",
    "not_restored": "the agent refuses to go back to the former model",
    "not_offered": "--fallback-model: the agent does not offer this model",
    "no_models": "--fallback-model: the agent offers no choice of models",
}


def _model_switch(facts: dict[str, Any]) -> str:
    before, after = facts.pop("from_model", None), facts.pop("to_model", None)
    what = plain(facts.pop("outcome", None), _SWITCHES)
    names = " → ".join(_value(name) for name in (before, after) if name is not None)
    return _plain(f"{what}: {names}" if names else what, facts)


_SOURCES = {
    "wire": ", as the agent says",
    "stderr": ", as its error output says",
    "events": ", as its events say",
    "log": ", as its log says",
    "journal": ", as its journal says",
}
"""The source of a retry that no handler announced."""


def _tool(name: str) -> Callable[[dict[str, Any]], str]:
    def describe(facts: dict[str, Any]) -> str:
        call = facts.pop("call", None)
        what = facts.pop("tool", None) or facts.pop("status", None) or "other"
        return _plain(f"{name} ({_value(what)})" + (f" {_value(call)}" if call else ""), facts)

    return describe


def _silence(facts: dict[str, Any]) -> str:
    silent = facts.pop("silent_seconds", None)
    length = f" for {duration(silent)}" if isinstance(silent, int | float) else ""
    cause, since = facts.pop("cause", None), facts.pop("cause_seconds", None)
    program, tries = facts.pop("program", None), facts.pop("tries", None)
    why = _CAUSES.get(str(cause), "")
    facts.pop("call", None)
    tool = facts.pop("tool", None)
    runs = program or (f"a tool ({plain(_value(tool))})" if tool else "a program")
    why = why.format(program=_value(runs), tries=_value(tries or "several"))
    lasting = f" for {duration(since)}" if why and isinstance(since, int | float) else ""
    return _plain(f"silent{length}" + (f": {why}{lasting}" if why else ""), facts)


_CAUSES = {
    "provider": "the model provider has not answered",
    "tries": "the request was sent {tries} times",
    "unreachable": "no connection to the model provider",
    "stream": "the model provider's answer has stopped",
    "idle": "the agent has not asked the model provider",
    "tool": "{program} has been running",
    "mcp_server": "a server on this machine has not answered",
    "busy": "the agent itself is busy",
    "stopped": "the agent's process is stopped",
    "disk": "the agent is waiting for a disk",
    "done": "the agent seems to be done, without its answer",
}
"""The causes of a silence (`core.link.facts.Cause`), in words."""


def _stderr(facts: dict[str, Any]) -> str:
    count, tail = facts.pop("bytes", 0), facts.pop("tail", None)
    size = counted(count, "byte") if isinstance(count, int) else "something"
    sentence = _plain(f"stderr: {size}", facts)
    return f'{sentence}; "{str(tail)[-MAX_TEXT_CHARS:]}"' if tail else sentence


def _answer(facts: dict[str, Any]) -> str:
    stop_reason = facts.pop("stop_reason", None)
    by = facts.pop("by", "agent")
    sentence = (
        f"turn ends: {plain(_value(stop_reason), STOP_REASONS)}" if stop_reason else "turn ends"
    )
    if facts.pop("cancelled", False):
        sentence += " after a cancel"
    return _plain(sentence if by == "agent" else f"{sentence}, answered by {_value(by)}", facts)


def _cancel(facts: dict[str, Any]) -> str:
    by = facts.pop("by", "somebody")
    kind, reason = facts.pop("type", None), facts.pop("reason", None)
    why = [plain(kind, TYPES)] if kind else []
    why += [plain(reason, _LIMITS)] if reason else []
    sentence = f"ended early by {plain(by, CANCELLED_BY)}"
    return _plain(f"{sentence} ({', '.join(why)})" if why else sentence, facts)


def _omitted(facts: dict[str, Any]) -> str:
    count, kinds = facts.pop("count", None), facts.pop("kinds", None)
    sentence = (
        f"{counted(count, 'entry')} left out" if isinstance(count, int) else "entries left out"
    )
    if isinstance(kinds, dict):
        sentence += f" ({', '.join(f'{number} {plain(kind)}' for kind, number in kinds.items())})"
    return _plain(sentence, facts)


def _exited(facts: dict[str, Any]) -> str:
    how = facts.pop("exit_signal", None)
    code = facts.pop("exit_code", None)
    ending = _value(how) if how else "gone" if code is None else _status(code)
    if how:
        facts.pop("reason", None)  # a signal says it
    turns, reason = facts.pop("open_turns", None), facts.pop("reason", None)
    during = f", during {counted(turns, 'turn')}" if isinstance(turns, int) else ""
    why = f", because {plain(reason, _EXITS)}" if reason else ""
    return _plain(f"agent exited: {ending}{during}{why}", facts)


def _peer(name: str) -> Callable[[dict[str, Any]], str]:
    def describe(facts: dict[str, Any]) -> str:
        identity = [_value(facts.pop(key)) for key in ("name", "version") if facts.get(key)]
        version, reads = facts.pop("protocol_version", None), facts.pop("reads", None)
        about = [f"protocol version {_value(version)}"] if version is not None else []
        if isinstance(reads, list) and reads:
            about.append(f"takes {' and '.join(plain(each, _READS) for each in reads)}")
        shown = f"{name}: {' '.join(identity)}" if identity else name
        return _plain(f"{shown} ({'; '.join(about)})" if about else shown, facts)

    return describe


def _one(name: str, fact: str, names: Mapping[str, str] | None = None) -> Callable[..., str]:
    """A kind with one fact, which is a word."""

    def describe(facts: dict[str, Any]) -> str:
        word = facts.pop(fact, None)
        return _plain(name if word is None else f"{name}: {plain(_value(word), names)}", facts)

    return describe


def _open_question(name: str) -> Callable[..., str]:
    """A question that waits for the user, or did for too long."""

    def describe(facts: dict[str, Any]) -> str:
        waited = facts.pop("waited_seconds", None)
        facts.pop("what", None)
        outcome = facts.pop("outcome", None)
        after = f" after {duration(waited)}" if isinstance(waited, int | float) else ""
        return _plain(f"{name}{after}" + (f": {plain(_value(outcome))}" if outcome else ""), facts)

    return describe


def _created(facts: dict[str, Any]) -> str:
    how = str(facts.pop("how", "new"))
    return _plain(_HOW.get(how) or f"session begins ({plain(how)})", facts)


def _withheld(facts: dict[str, Any]) -> str:
    side, reason = facts.pop("side", None), facts.pop("reason", None)
    whose = f" from the {plain(_value(side))}" if side else ""
    why = f": {plain(_value(reason), _WITHHELD)}" if reason else ""
    return _plain(f"message{whose} withheld{why}", facts)


def _context_lost(facts: dict[str, Any]) -> str:
    why, answer = facts.pop("why", None), facts.pop("said", None)
    sentence = "the session could not be restored after the restart"
    sentence = f"{sentence}: {plain(_value(why), _NOT_BACK)}" if why else sentence
    sentence = _plain(sentence, facts)
    return f'{sentence}; "{_value(answer)}"' if answer else sentence


def _again(facts: dict[str, Any]) -> str:
    life = facts.pop("attempt", None)
    number = f" (process {_value(life)} of this run)" if life else ""
    return _plain(f"agent restarted{number}", facts)


_DESCRIBERS: dict[Kind, Callable[[dict[str, Any]], str]] = {
    Kind.CLIENT_ATTACHED: _peer("client connected"),
    Kind.CLIENT_DETACHED: _one("client disconnected", "reason"),
    Kind.CLIENT_GONE: _one("client gone", "reason"),
    Kind.SHUTDOWN: _one("lastword was told to stop", "signal"),
    Kind.AGENT_STARTED: _one("agent started", "program"),
    Kind.AGENT_READY: _peer("agent ready"),
    Kind.AGENT_RESTARTED: _again,
    Kind.AGENT_EXITED: _exited,
    Kind.SESSION_CREATED: _created,
    Kind.SESSION_RESUMED: _one("session restored after the restart", "how"),
    Kind.CONTEXT_LOST: _context_lost,
    Kind.FIRST_PROGRESS: _one("first update from the agent", "what"),
    Kind.FIRST_OUTPUT: _one("first text or tool call", "what"),
    Kind.DELEGATED: _one("the agent asks the client to act", "what", _DELEGATED),
    Kind.ASKED: _one("the agent asks the user", "what", _QUESTIONS),
    Kind.USER_ANSWERED: _one("the user answers", "outcome"),
    Kind.QUESTION_REMINDED: _open_question("the question is still open"),
    Kind.QUESTION_EXPIRED: _open_question("lastword answers the question"),
    Kind.FRAME_DROPPED: _withheld,
    Kind.FRAME_REPAIRED: _one("message repaired", "reason", {"id": "its id had another type"}),
    Kind.QUARANTINED: _one(
        "session quarantined: the agent is still working on the ended turn", "reason"
    ),
    Kind.RELEASED: _one("session released: the agent has finished the ended turn", "reason"),
    Kind.ERROR: _error,
    Kind.RETRY: _retry,
    Kind.LIMIT_WAIT: _limit_wait,
    Kind.MODEL_SWITCH: _model_switch,
    Kind.CONTINUED: _continued,
    Kind.COST: _cost,
    Kind.MODEL_REQUEST: _model_request,
    Kind.SPEND_LIMIT: _spend_limit,
    Kind.TOOL_STARTED: _tool("tool starts"),
    Kind.TOOL_ENDED: _tool("tool ends"),
    Kind.SILENCE: _silence,
    Kind.STDERR: _stderr,
    Kind.ANSWER: _answer,
    Kind.CANCEL: _cancel,
    Kind.OMITTED: _omitted,
    **gateway_words.DESCRIPTIONS,
}
