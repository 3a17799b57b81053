"""An entry in words, for a line of a timeline.

Owns how a line of `core/timeline/data/events.txt` is filled in, and the forms that it may name. A
fact that the line does not name is shown as it is.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from lastword.core.failure import sentences
from lastword.core.failure.option_values import money
from lastword.core.failure.phrases import counted, duration, plain
from lastword.core.protocol.acp import number_of, object_of
from lastword.core.timeline.session_events import PHRASES, SESSION_EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.timeline.entry import Entry

MAX_TEXT_CHARS = 300
_MAX_VALUE_CHARS = 80
_VIEWER_CHARS = 6
_MIB = 1024 * 1024

LEFT_TO_JSON = frozenset(
    {
        *("rule", "redactions", "detail", "reset_at_epoch_ms", "traceparent", "message"),
        *("origin", "retryable", "retry_after_seconds", "until_epoch_ms"),
    }
)
"""Facts for machines and maintainers, and those that a line has in other words."""

_TABLES = PHRASES | {
    "types": sentences.TYPES,
    "phases": sentences.PHASES,
    "cancelled by": sentences.CANCELLED_BY,
    "actions": {word: sentences.as_phrase(text) for word, text in sentences.ADVICE.items()},
}
"""What facts are called, by the form that a line names."""

Facts = dict[str, Any]
Form: TypeAlias = "Callable[[Any, Facts], str]"

_PART = re.compile(r" ?\((?:\[[^]]*\])+\)|\[[^]]*\]")
"""Parentheses with optional parts alone, or one such part."""

_FACT = re.compile(r"\{(\w+)(?::([\w ]*))?(?:\|([^}]*))?\}")


def words(entry: Entry) -> str:
    """Return what happened, as one short sentence without a full stop."""
    name = entry.kind.value.replace("_", " ")
    return _filled(SESSION_EVENTS[entry.kind].line or name, entry.facts)


def _filled(line: str, facts: Facts) -> str:
    """Return a line with its facts; those that it does not name follow, or stand at `{rest}`."""
    before, after, named = _split(line)
    phrase = _with_parts(before, facts)
    others = [f"{plain(name)} {_value(facts[name])}" for name in facts if name not in named]
    mark = "," if ": " in phrase else ":"
    rest = f"{mark} {', '.join(others)}" if others else ""
    return f"{phrase}{rest}{_with_parts(after, facts)}"


@cache
def _split(line: str) -> tuple[str, str, frozenset[str]]:
    """Return what is before `{rest}`, what is after it, and the facts that do not stand there."""
    before, _, after = line.partition("{rest}")
    named = {match[1] for match in _FACT.finditer(line)}
    return before, after, LEFT_TO_JSON | _IN_OTHER_FORMS | named


def _with_parts(text: str, facts: Facts) -> str:
    """Return a text without the optional parts whose facts are missing."""
    made = ""
    for before, is_list, parts in _parts(text):
        made += _with_facts(before, facts)
        shown = "".join([_with_facts(part, facts, optional=True) for part in parts])
        # In parentheses, the first goes without the mark before it.
        made += f" ({shown.lstrip(',; ')})" if is_list and shown else shown
    return made


@cache
def _parts(text: str) -> list[tuple[str, bool, list[str]]]:
    """Return optional parts, each with the text before it, and whether it is a list of them."""
    parts, at = [], 0
    for match in _PART.finditer(text):
        inner = [part.partition("]")[0] for part in match[0].split("[")[1:]]
        parts.append((text[at : match.start()], match[0][0] != "[", inner))
        at = match.end()
    return [*parts, (text[at:], False, [])]


def _with_facts(text: str, facts: Facts, *, optional: bool = False) -> str:
    """Return a text with its facts; nothing if it is optional and one of them is missing."""
    made, pieces = _pieces(text)
    for name, in_words, otherwise, then in pieces:
        phrase = in_words(facts.get(name), facts) or otherwise
        if optional and not phrase and in_words is not _nothing:
            return ""
        made += phrase + then
    return made


@cache
def _pieces(text: str) -> tuple[str, list[tuple[str, Form, str, str]]]:
    """Return the beginning of a text, and its facts: name, form, otherwise, and what follows."""
    first, *rest = _FACT.split(text)
    facts = zip(rest[::4], rest[1::4], rest[2::4], rest[3::4], strict=True)
    return first, [(name, _form(form), other or "", then) for name, form, other, then in facts]


@cache
def _form(form: str | None) -> Form:
    """Return what puts a fact into a form's words, which are empty for a fact that is missing."""
    if form is None:
        return lambda value, _: "" if value is None else _value(value)
    if form in _FORMS:
        return _FORMS[form]
    noun = form.removeprefix("count ")
    if noun != form:
        return lambda count, _: counted(count, noun) if count and isinstance(count, int) else ""
    table = _TABLES[form]

    def phrase_for(value: Any, facts: Facts) -> str:
        if value is None:
            return ""
        if isinstance(value, list):
            return " and ".join(plain(each, table) for each in value)
        phrase = table.get(str(value)) or table.get("*") or plain(_value(value))
        return "" if phrase == "-" else _with_facts(phrase, facts)

    return phrase_for


def _nothing(_: Any, _facts: Facts) -> str:
    return ""


def _value(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))[:_MAX_VALUE_CHARS] or "none"
    return str(value)[:_MAX_VALUE_CHARS]


def _duration(value: Any, _: Facts) -> str:
    return duration(value) if isinstance(value, int | float) else ""


def _exits(reason: Any, facts: Facts) -> str:
    """Return why an agent exited, unless a signal says it."""
    return plain(reason, PHRASES["exit reasons"]) if reason and not facts.get("exit_signal") else ""


def _models(before: Any, facts: Facts) -> str:
    names = (before, facts.get("to_model"))
    return " → ".join(_value(name) for name in names if name is not None)


def _silence(cause: Any, facts: Facts) -> str:
    """Return the cause of a silence (`core.link.facts.Cause`)."""
    tool, seconds = facts.get("tool"), facts.get("cause_seconds")
    program = facts.get("program") or (f"a tool ({plain(tool)})" if tool else "a program")
    return (
        PHRASES["silences"]
        .get(str(cause), "")
        .format(
            program=_value(program),
            tries=_value(facts.get("tries") or "several"),
            span=_duration(seconds, facts) or "a while",
        )
    )


def _missed(first: Any, facts: Facts) -> str:
    last = facts.get("last")
    if not isinstance(first, int) or not isinstance(last, int):
        return ""
    return f"{counted(last - first + 1, 'entry')} ({first} to {last}),"


def _next(_: Any, facts: Facts) -> str:
    """Return whether a prompt may be sent again after a failure, or else how long to wait."""
    retry, wait = sentences.retry_words(facts), facts.get("retry_after_seconds")
    if retry:
        return f"retry: {retry}"
    return f"wait {duration(wait)}" if isinstance(wait, int | float) else ""


def _original(message: Any, facts: Facts) -> str:
    """Return the failing party's own words, or else those that the user was shown."""
    text = object_of(facts.get("detail")).get("text")
    original = text if isinstance(text, str) and text.strip() else message
    return " ".join(original.split())[:MAX_TEXT_CHARS] if isinstance(original, str) else ""


def _kinds(kinds: Any, _: Facts) -> str:
    return ", ".join(f"{number} {plain(kind)}" for kind, number in object_of(kinds).items())


_FORMS: dict[str, Form] = {
    "": _nothing,
    "duration": _duration,
    "end": lambda text, _: str(text or "")[-MAX_TEXT_CHARS:],
    "exit": lambda _, facts: sentences.exit_words(facts),
    "exits": _exits,
    "kinds": _kinds,
    "mebibytes": lambda size, _: f"{size / _MIB:.1f} MiB" if isinstance(size, int) else "",
    "missed": _missed,
    "models": _models,
    "money": lambda amount, facts: money(number_of(amount), str(facts.get("currency", ""))),
    "next": _next,
    "original": _original,
    "plain": lambda word, _: plain(_value(word)) if word is not None else "",
    "silence": _silence,
    "viewer": lambda viewer, _: f"viewer {str(viewer)[:_VIEWER_CHARS]}" if viewer else "",
}
"""Forms that are more than a table of phrases."""

_IN_OTHER_FORMS = frozenset({"exit_signal", "currency"})
