"""A settings file's text with one entry added, replaced or removed, and the rest unchanged.

Owns the position in the text, the indentation, and the proof that the result has the old
settings, the change, and nothing else. Files are in `settings_file`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from lastword.cli.setup.jsonc import JsoncError, JsonMember, JsonText, Value, parse

_INDENT = re.compile(r"[ \t]*+")


class SettingsError(Exception):
    """The settings cannot be changed; the message says why and calls the file "it"."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The part of an editor's settings that lists agents.

    Attributes:
        document: the whole text.
        section: the key of the object that holds the agents.
        agents: that object, if it exists.
    """

    document: JsonText
    section: str
    agents: Value | None

    def entry(self, name: str) -> Value | None:
        """Return the entry with this name.

        Raises:
            SettingsError: The name occurs twice.
        """
        matches = self.agents.named(name) if self.agents else []
        if len(matches) > 1:
            raise SettingsError(f"it has {name!r} twice in {self.section!r}: remove one of them")
        return matches[0].value if matches else None


def read(text: str, section: str) -> AgentSettings:
    """Read a text.

    Raises:
        SettingsError: it is not JSON with comments, or has no room for agents.
    """
    try:
        document = parse(text)
    except JsoncError as error:
        raise SettingsError(f"it is not valid JSON ({error})") from None
    root = document.root
    if root is None:
        return AgentSettings(document, section, None)
    if root.members is None:
        raise SettingsError("it does not contain a JSON object")
    matches = root.named(section)
    if len(matches) > 1:
        raise SettingsError(f"it has the key {section!r} twice: merge them")
    if matches and matches[0].value.members is None:
        raise SettingsError(f"its {section!r} is not an object")
    return AgentSettings(document, section, matches[0].value if matches else None)


def put(settings: AgentSettings, name: str, entry: dict[str, Any]) -> str:
    """Return the text with an entry added, or replaced if the name exists."""
    document, text = settings.document, settings.document.text
    old, newline = settings.entry(name), _newline(settings.document.text)
    if old is not None and old.plain == _as_read(entry):
        return text
    expected = _expected(settings)
    expected.setdefault(settings.section, {})
    expected[settings.section] = expected[settings.section] | {name: _as_read(entry)}
    if document.root is None:
        gap = newline if document.tokens and not text.endswith(("\n", "\r")) else ""
        whole = render({settings.section: {name: entry}}, "", "  ", newline)
        return _proved(f"{text}{gap}{whole}{newline}", expected)
    unit = _unit(document)
    if old is not None:
        shown = render(entry, _line_indent(text, old.start), unit, newline)
        return _proved(text[: old.start] + shown + text[old.end :], expected)
    if settings.agents is None:
        return _proved(
            _inserted(document, document.root, settings.section, {name: entry}), expected
        )
    return _proved(_inserted(document, settings.agents, name, entry), expected)


def remove_entry(settings: AgentSettings, name: str) -> str:
    """Return the text without an entry, and without the section if that is then empty."""
    document, text = settings.document, settings.document.text
    expected = _expected(settings)
    if settings.agents is None or document.root is None or settings.entry(name) is None:
        return text
    del expected[settings.section][name]
    agents = settings.agents
    others = len(agents.members or ()) > 1
    noted = any(agents.start < comment.start < agents.end for comment in document.comments)
    if others or noted:
        return _proved(_removed(document, agents, name), expected)
    del expected[settings.section]
    return _proved(_removed(document, document.root, settings.section), expected)


def rewrite(settings: AgentSettings, name: str, changes: dict[str, Any]) -> str:
    """Return the text with other values in an entry, and the rest of the entry unchanged."""
    expected = _expected(settings)
    expected[settings.section][name] = expected[settings.section][name] | _as_read(changes)
    now = settings
    for key, value in changes.items():
        entry = now.entry(name)
        if entry is not None:
            now = read(_with_value(now.document, entry, key, value), settings.section)
    return _proved(now.document.text, expected)


def _with_value(document: JsonText, entry: Value, key: str, value: Any) -> str:
    matches, text = entry.named(key), document.text
    if not matches:
        return _inserted(document, entry, key, value)
    old = matches[-1].value
    indent = _line_indent(text, old.start)
    shown = render(value, indent, _unit(document), _newline(text))
    return text[: old.start] + shown + text[old.end :]


def render(value: Any, indent: str, unit: str, newline: str) -> str:
    """Return a value as JSON: an object on several lines, anything else on one."""
    if not isinstance(value, dict) or not value:
        return _quoted(value)
    inner = indent + unit
    lines = [
        f"{inner}{_quoted(key)}: {render(member, inner, unit, newline)}"
        for key, member in value.items()
    ]
    return "{" + newline + f",{newline}".join(lines) + newline + indent + "}"


def _quoted(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def _expected(settings: AgentSettings) -> dict[str, Any]:
    root = settings.document.root
    plain: dict[str, Any] = dict(root.plain) if root else {}
    if settings.agents:
        plain[settings.section] = dict(settings.agents.plain)
    return plain


def _as_read(entry: Any) -> Any:
    root = parse(json.dumps(entry)).root
    return root.plain if root else None


def _proved(text: str, expected: dict[str, Any]) -> str:
    """Return the text if it has the intended meaning.

    Raises:
        SettingsError: It does not; this should never happen.
    """
    try:
        root = parse(text).root
    except JsoncError:
        root = None
    if root is None or root.plain != expected:
        raise SettingsError("it cannot be edited safely; change it by hand")
    return text


def _inserted(document: JsonText, place: Value, key: str, value: Any) -> str:
    """Return the text with one more member at the end of an object."""
    text, newline, unit = document.text, _newline(document.text), _unit(document)
    members = place.members or ()
    at = document.end_before(place.end - 1)
    on_one_line = bool(members) and not {"\n", "\r"} & set(text[place.start : place.end])
    last = members[-1] if members else None
    if on_one_line and last:
        comma = "" if last.comma is not None else ","
        trailing = "," if last.comma is not None else ""
        return f"{text[:at]}{comma} {_quoted(key)}: {_quoted(value)}{trailing}{text[at:]}"
    outer = _line_indent(text, place.start)
    inner = _line_indent(text, last.start) if last else outer + unit
    member = f"{_quoted(key)}: {render(value, inner, unit, newline)}"
    rest = text[at:]
    if last is None:
        gap = rest[: rest.index("}")]
        close = "" if "\n" in gap else newline + outer
        return (
            f"{text[:at]}{newline}{inner}{member}{close}{rest.removeprefix(gap) if close else rest}"
        )
    if last.comma is not None:
        return f"{text[:at]}{newline}{inner}{member},{rest}"
    ends = last.value.end
    return f"{text[:ends]},{text[ends:at]}{newline}{inner}{member}{rest}"


def _removed(document: JsonText, place: Value, key: str) -> str:
    """Return the text without a member of an object, and without the comma that it needed."""
    text, members = document.text, list(place.members or ())
    index = next(i for i, member in enumerate(members) if member.key == key)
    member = members[index]
    start = document.end_before(member.start)
    end = member.value.end if member.comma is None else member.comma + 1
    if len(members) == 1:
        inner = (
            text[place.start + 1 : start] + _glue(document, start, end) + text[end : place.end - 1]
        )
        return text[: place.start + 1] + (inner if inner.strip() else "") + text[place.end - 1 :]
    before: JsonMember | None = members[index - 1] if index else None
    if index == len(members) - 1 and member.comma is None and before and before.comma is not None:
        # It was the last, and has no comma: neither has the one that is the last now.
        head = text[: before.comma] + text[before.comma + 1 : start]
    else:
        head = text[:start]
    return head + _glue(document, start, end) + text[end:]


def _glue(document: JsonText, start: int, end: int) -> str:
    """Return what must replace a removed stretch of text: a comment must end its line."""
    ends_line = any(token.end == start and token.text.startswith("//") for token in document.tokens)
    after = document.text[end:]
    gap = after[: len(after) - len(after.lstrip())]
    return _newline(document.text) if ends_line and "\n" not in gap else ""


def _newline(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _unit(document: JsonText) -> str:
    """Return the indentation of one level: that of the first key, or two spaces."""
    members = document.root.members if document.root else None
    if not members or document.root is None:
        return "  "
    first = members[0].start
    if "\n" not in document.text[document.root.start : first]:
        return "  "
    own = _line_indent(document.text, document.root.start)
    return _line_indent(document.text, first).removeprefix(own) or "  "


def _line_indent(text: str, at: int) -> str:
    """Return the space before the first character of a line."""
    start = text.rfind("\n", 0, at) + 1
    match = _INDENT.match(text, start, at)
    return match[0] if match else ""
