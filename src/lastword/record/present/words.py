"""An entry in words, for a line of a timeline.

Owns the words. What an entry holds is `core.timeline.entry`'s; a fact that is not known here is
shown as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.failure.durations import counted, duration
from lastword.core.protocol.tolerant import object_of
from lastword.core.timeline.entry import Kind
from lastword.record.present import gateway_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.timeline.entry import Entry

MAX_TEXT_CHARS = 300
_MAX_VALUE_CHARS = 80

_SAFE = {
    "auto": "a retry is safe",
    "offer_continue": "a retry repeats what was shown",
    "ask": "a retry may repeat what tools did",
    "never": "a retry does not help",
}
_SAID = frozenset(
    {
        *("type", "reason", "phase", "origin", "retryable", "retry_safety", "retry_after_seconds"),
        *("action", "http_status", "provider_code", "exit_code", "exit_signal", "request_id"),
        *("incident_id", "message"),
    }
)
_LEFT_TO_JSON = frozenset({"rule", "redactions", "detail", "reset_at_epoch_ms", "traceparent"})
"""What only a machine, or a maintainer, wants to know."""


def words(entry: Entry) -> str:
    """What happened, as one short sentence without a full stop."""
    facts = dict(entry.facts)
    teller = _TELLERS.get(entry.kind)
    if teller is not None:
        return teller(facts)
    return _plain(entry.kind.value.replace("_", " "), facts)


def _plain(name: str, facts: dict[str, Any]) -> str:
    shown = [
        f"{key.replace('_', ' ')} {_value(value)}"
        for key, value in facts.items()
        if key not in _LEFT_TO_JSON
    ]
    return f"{name}: {', '.join(shown)}" if shown else name


def _value(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))[:_MAX_VALUE_CHARS] or "none"
    return str(value)[:_MAX_VALUE_CHARS]


def _error(facts: dict[str, Any]) -> str:
    what = str(facts.get("type", "error"))
    about = [str(facts[key]).replace("_", " ") for key in ("reason", "phase") if facts.get(key)]
    about += _told_by(facts)
    wait = facts.get("retry_after_seconds")
    if isinstance(wait, int | float):
        about.append(f"wait {duration(wait)}")
    about += filter(None, [_SAFE.get(str(facts.get("retry_safety")))])
    if facts.get("action"):
        about.append(f"to do: {str(facts['action']).replace('_', ' ')}")
    if facts.get("incident_id"):
        about.append(f"incident {facts['incident_id']}")
    told = f"{what}: {', '.join(about)}" if about else what
    said = _said(facts)
    rest = {key: value for key, value in facts.items() if key not in _SAID}
    told = _plain(told, rest).replace(f"{told}:", f"{told},", 1)
    return f'{told}; "{said[:MAX_TEXT_CHARS]}"' if said else told


def _said(facts: dict[str, Any]) -> str:
    """The words of whoever failed, else those that the user was shown."""
    text = object_of(facts.get("detail")).get("text")
    said = text if isinstance(text, str) and text.strip() else facts.get("message")
    return " ".join(said.split()) if isinstance(said, str) else ""


def _told_by(facts: dict[str, Any]) -> list[str]:
    told = []
    if facts.get("http_status"):
        told.append(f"HTTP {facts['http_status']}")
    if facts.get("provider_code"):
        told.append(str(facts["provider_code"])[:_MAX_VALUE_CHARS])
    if facts.get("exit_signal"):
        told.append(str(facts["exit_signal"]))
    elif facts.get("exit_code") is not None:
        told.append(f"exit status {facts['exit_code']}")
    if facts.get("request_id"):
        told.append(f"request {facts['request_id']}"[:_MAX_VALUE_CHARS])
    return told


def _retry(facts: dict[str, Any]) -> str:
    attempt, most = facts.pop("attempt", None), facts.pop("max_attempts", None)
    wait = facts.pop("wait_seconds", None)
    what = str(facts.pop("type", "")) or "a failure"
    tries = f", attempt {attempt}" if attempt else ""
    tries += f" of {most}" if attempt and most else ""
    waits = f", waits {duration(wait)}" if isinstance(wait, int | float) else ""
    seen = _SEEN.get(str(facts.pop("source", "")), "")
    return _plain(f"retry after {what}{tries}{waits}{seen}", facts)


_SEEN = {
    "wire": ", as the agent tells it",
    "stderr": ", as its stderr tells it",
    "events": ", as its events tell it",
    "log": ", as its log tells it",
    "journal": ", as its journal tells it",
}
"""Where a retry was seen that no handler announced."""


def _tool(name: str) -> Callable[[dict[str, Any]], str]:
    def told(facts: dict[str, Any]) -> str:
        call = facts.pop("call", None)
        what = facts.pop("tool", None) or facts.pop("status", None) or "other"
        return _plain(f"{name} ({_value(what)})" + (f" {_value(call)}" if call else ""), facts)

    return told


def _silence(facts: dict[str, Any]) -> str:
    silent = facts.pop("silent_seconds", None)
    known = f" for {duration(silent)}" if isinstance(silent, int | float) else ""
    return _plain(f"silent{known}", facts)


def _stderr(facts: dict[str, Any]) -> str:
    count, tail = facts.pop("bytes", 0), facts.pop("tail", None)
    known = counted(count, "byte") if isinstance(count, int) else "something"
    told = _plain(f"stderr: {known}", facts)
    return f'{told}; "{str(tail)[-MAX_TEXT_CHARS:]}"' if tail else told


def _answer(facts: dict[str, Any]) -> str:
    stop_reason = facts.pop("stop_reason", None)
    by = facts.pop("by", "agent")
    told = f"answer: {_value(stop_reason)}" if stop_reason else "answer"
    if facts.pop("cancelled", False):
        told += " after a cancel"
    return _plain(told if by == "agent" else f"{told}, given by {_value(by)}", facts)


def _cancel(facts: dict[str, Any]) -> str:
    by = str(facts.pop("by", "somebody"))
    known = {"user": "the user", "client_gone": "the client's leaving"}.get(by, by)
    return _plain(f"cancel by {known}", facts)


def _omitted(facts: dict[str, Any]) -> str:
    count, kinds = facts.pop("count", None), facts.pop("kinds", None)
    told = f"{counted(count, 'entry')} left out" if isinstance(count, int) else "entries left out"
    if isinstance(kinds, dict):
        told += f" ({', '.join(f'{number} {kind}' for kind, number in kinds.items())})"
    return _plain(told, facts)


def _exited(facts: dict[str, Any]) -> str:
    how = facts.pop("exit_signal", None)
    code = facts.pop("exit_code", None)
    known = _value(how) if how else f"exit status {code}" if code is not None else "gone"
    if how:
        facts.pop("reason", None)  # a signal says it
    turns = facts.pop("open_turns", None)
    during = f", during {counted(turns, 'turn')}" if isinstance(turns, int) else ""
    return _plain(f"agent exited: {known}{during}", facts)


_TELLERS: dict[Kind, Callable[[dict[str, Any]], str]] = {
    Kind.ERROR: _error,
    Kind.RETRY: _retry,
    Kind.TOOL_STARTED: _tool("tool starts"),
    Kind.TOOL_ENDED: _tool("tool ends"),
    Kind.SILENCE: _silence,
    Kind.STDERR: _stderr,
    Kind.ANSWER: _answer,
    Kind.CANCEL: _cancel,
    Kind.OMITTED: _omitted,
    Kind.AGENT_EXITED: _exited,
    **gateway_words.TELLERS,
}
