"""An editor's settings file: JSON with comments, with one entry added, replaced or removed.

Owns the position of the change and the proof that the result has the old settings, the change, and
nothing else. Nothing is lost: the file is replaced in one step, with a copy of the old one beside
it; a link is followed and stays a link; mode and owner stay; and a file that was changed in the
meantime is not touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lastword.platform.files import lock, open_folder_lock
from lastword.platform.settings_files import copy_rights, replace

if TYPE_CHECKING:
    from collections.abc import Iterator

_STRING = r'"(?:[^"\\]|\\.)*+"?'
_COMMENT = re.compile(rf"{_STRING}|(?P<comment>//[^\r\n]*+|/\*.*?(?:(?P<end>\*/)|\Z))", re.DOTALL)
_TRAILING = re.compile(
    rf"{_STRING}|[\[{{:,][ \t\r\n]*+,|(?P<comma>,)(?=[ \t\r\n]*+[}}\]])", re.DOTALL
)
_CONSTANT = re.compile(rf"{_STRING}|(?P<word>-?(?:NaN|Infinity))", re.DOTALL)
_SPACES = " \t\r\n"
_SPACE = re.compile(rf"[{_SPACES}]*+")


def _as_written(number: str) -> tuple[str]:
    return (number,)


def _refuse(word: str) -> None:
    raise ValueError(f"{word!r} is not a value")


_DECODER = json.JSONDecoder(parse_int=_as_written, parse_float=_as_written, parse_constant=_refuse)


class JsoncError(Exception):
    """The text is not JSON, even with comments; the message says where."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment and its position."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A key of an object and its value."""

    key: str
    start: int
    value: Value
    comma: int | None


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its position.

    Attributes:
        document: the text that it is in.
        start: where it begins.
        end: where it ends.
        plain: what it means, with each number as a tuple of its text.
    """

    document: JsonText
    start: int
    end: int
    plain: Any

    @property
    def members(self) -> list[JsonMember] | None:
        """An object's members in order; `None` for any other value."""
        return self.document.members_at(self.start) if isinstance(self.plain, dict) else None

    def named(self, key: str) -> list[JsonMember]:
        """Return the members with this key; a text may repeat a key."""
        return [member for member in self.members or () if member.key == key]


class JsonText:
    """A text and its meaning.

    Attributes:
        text: the text.
        comments: its comments.
        root: its value; `None` if there is nothing but space and comments.
    """

    def __init__(self, text: str) -> None:
        """Read a text.

        Raises:
            JsoncError: it is not JSON, also with comments and trailing commas.
        """
        self.text: str = text
        self.comments: list[Comment] = []
        self.root: Value | None = None
        # Comments and trailing commas become spaces, so that the rest is JSON in its old place.
        self._bare = _COMMENT.sub(self._without_comment, text)
        self._json = _TRAILING.sub(lambda match: " " if match["comma"] else match[0], self._bare)
        start, end = self._skip(0), len(self._bare.rstrip(_SPACES))
        if start >= end:
            return
        try:
            self.root = Value(self, start, end, _DECODER.decode(self._json))
        except json.JSONDecodeError as error:
            reason = error.msg[:1].lower() + error.msg[1:]
            reason = reason.removesuffix(" at").removesuffix(" starting")
            raise JsoncError(f"line {error.lineno}, column {error.colno}: {reason}") from None
        except ValueError as error:
            words = (match for match in _CONSTANT.finditer(self._json) if match["word"])
            raise JsoncError(f"{place(text, next(words).start())}: {error}") from None
        except RecursionError:
            raise JsoncError("it is nested too deeply") from None

    def members_at(self, start: int) -> list[JsonMember]:
        """Return the members of the object that begins here."""
        members: list[JsonMember] = []
        at = self._skip(start + 1)
        while self._bare[at] != "}":
            key, end = _DECODER.raw_decode(self._json, at)
            begin = self._skip(self._skip(end) + 1)
            plain, end = _DECODER.raw_decode(self._json, begin)
            behind = self._skip(end)
            comma = behind if self._bare[behind] == "," else None
            members.append(JsonMember(key, at, Value(self, begin, end, plain), comma))
            at = behind if comma is None else self._skip(behind + 1)
        return members

    def end_before(self, place: int) -> int:
        """Return where the last value, mark or comment before a position ends, or 0."""
        return len(self.text[:place].rstrip(_SPACES))

    def _without_comment(self, match: re.Match[str]) -> str:
        comment = match["comment"]
        if not comment or (comment[:2] == "/*" and not match["end"]):
            return match[0]
        self.comments.append(Comment(comment, match.start()))
        return re.sub(r"[^\r\n]", " ", comment)

    def _skip(self, at: int) -> int:
        space = _SPACE.match(self._bare, at)
        return space.end() if space else at


def place(text: str, at: int) -> str:
    """Return a position in words: `line 3, column 5`."""
    before = text[:at]
    return f"line {before.count(chr(10)) + 1}, column {at - before.rfind(chr(10))}"


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
        document = JsonText(text)
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
    old, newline = settings.entry(name), _newline(text)
    if old is not None and old.plain == _as_read(entry):
        return text
    expected = _expected(settings)
    expected[settings.section] = expected.get(settings.section, {}) | {name: _as_read(entry)}
    if document.root is None:
        gap = newline if document.comments and not text.endswith(("\n", "\r")) else ""
        whole = render({settings.section: {name: entry}}, "", "  ", newline)
        return _proved(f"{text}{gap}{whole}{newline}", expected)
    if settings.agents is None:
        changed = _with_value(document, document.root, settings.section, {name: entry})
    else:
        changed = _with_value(document, settings.agents, name, entry)
    return _proved(changed, expected)


def remove_entry(settings: AgentSettings, name: str) -> str:
    """Return the text without an entry, and without the section if it would be empty."""
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
    """Return the text with another value of a key, or with one more member at the object's end."""
    text, newline, unit = document.text, _newline(document.text), _unit(document)
    if matches := entry.named(key):
        old = matches[-1].value
        shown = render(value, _line_indent(text, old.start), unit, newline)
        return text[: old.start] + shown + text[old.end :]
    members = entry.members or ()
    at = document.end_before(entry.end - 1)
    on_one_line = bool(members) and not {"\n", "\r"} & set(text[entry.start : entry.end])
    last = members[-1] if members else None
    if on_one_line and last:
        comma = "" if last.comma is not None else ","
        trailing = "," if last.comma is not None else ""
        return f"{text[:at]}{comma} {_quoted(key)}: {_quoted(value)}{trailing}{text[at:]}"
    outer = _line_indent(text, entry.start)
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
    return json.dumps(value, ensure_ascii=False)


def _expected(settings: AgentSettings) -> dict[str, Any]:
    root = settings.document.root
    plain: dict[str, Any] = dict(root.plain) if root else {}
    if settings.agents:
        plain[settings.section] = dict(settings.agents.plain)
    return plain


def _as_read(entry: Any) -> Any:
    root = JsonText(json.dumps(entry)).root
    return root.plain if root else None


def _proved(text: str, expected: dict[str, Any]) -> str:
    """Return the text if it has the intended meaning."""
    try:
        root = JsonText(text).root
    except JsoncError:
        root = None
    if root is None or root.plain != expected:
        raise SettingsError("it cannot be edited safely; change it by hand")
    return text


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
        # The last member had no comma, so the new last one has none.
        head = text[: before.comma] + text[before.comma + 1 : start]
    else:
        head = text[:start]
    return head + _glue(document, start, end) + text[end:]


def _glue(document: JsonText, start: int, end: int) -> str:
    """Return the replacement for a removed piece of text: a comment must end its line."""
    ends_line = any(
        each.start + len(each.text) == start and each.text.startswith("//")
        for each in document.comments
    )
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
    start = text.rfind("\n", 0, at) + 1
    match = _INDENT.match(text, start, at)
    return match[0] if match else ""


BIGGEST_BYTES = 8 * 1024 * 1024
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file as it was read.

    Attributes:
        path: its name for the user.
        target: the file itself, if `path` is a link.
        text: its text, without a byte order mark.
        mark: the byte order mark, if there is one.
        status: its `stat` result; `None` if it does not exist yet.
    """

    path: str
    target: str
    text: str
    mark: str
    status: os.stat_result | None


NESTED = "it is nested too deeply"


def load(path: str) -> SettingsFile:
    """Read a file; a missing one is empty.

    Raises:
        SettingsError: It cannot be read, or is not text.
    """
    target = os.path.realpath(path)
    try:
        status = os.stat(target)
        if not stat.S_ISREG(status.st_mode):
            raise SettingsError("it is not a regular file")
        if status.st_size > BIGGEST_BYTES:
            raise SettingsError("it is larger than 8 MiB")
        with open(target, "rb") as file:
            data = file.read()
        text = data.decode()
    except FileNotFoundError:
        return SettingsFile(path, target, "", "", None)
    except OSError as error:
        raise SettingsError(f"it cannot be read: {_reason(error)}") from None
    except UnicodeDecodeError:
        raise SettingsError("it is not UTF-8") from None
    mark = _BOM if text.startswith(_BOM) else ""
    return SettingsFile(path, target, text.removeprefix(_BOM), mark, status)


def check_writable(file: SettingsFile) -> None:
    """Check that the file is not read-only.

    Raises:
        SettingsError: It is.
    """
    if file.status and not os.access(file.target, os.W_OK):
        raise SettingsError(f"{_named(file)} is read-only")


def save(file: SettingsFile, text: str, *, may_create: bool = False) -> str:
    """Replace the file's text; return the path of the old one's copy, empty for a new file.

    Args:
        file: The file as it was read.
        text: Its new text.
        may_create: Whether to create the folder that it is in.

    Raises:
        SettingsError: It cannot be written, and is unchanged.
    """
    status = file.status
    if status and status.st_nlink > 1:
        raise SettingsError("it has a second name (a hard link), which a change would cut off")
    folder = os.path.dirname(file.target)
    new = os.path.join(folder, f".{os.path.basename(file.target)}.lastword-{os.getpid()}")
    leftovers = [new]
    try:
        if may_create:
            os.makedirs(folder, exist_ok=True)
        if not os.path.isdir(folder):
            raise SettingsError(
                f"there is no folder {folder} (is the editor installed?); --create makes it"
            )
        with _locked(folder):
            _check_unchanged(file)
            check_writable(file)
            _write(new, (file.mark + text).encode(), status)
            backup = _copied(file) if status else ""
            leftovers.append(backup)
            _check_unchanged(file)
            replace(new, file.target)
            leftovers = []
    except UnicodeEncodeError:
        raise SettingsError("the agent's command has bytes that JSON cannot represent") from None
    except OSError as error:
        raise SettingsError(f"{_named(file)} cannot be written: {_reason(error)}") from None
    finally:
        for path in leftovers:
            with contextlib.suppress(OSError):
                os.unlink(path)
    return backup


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Make another `lastword setup` wait, if the disk has locks."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            number = open_folder_lock(folder)
            stack.callback(os.close, number)
            lock(number)
        yield


def _copied(file: SettingsFile) -> str:
    """Write the old text beside the file, under an unused name; return its path."""
    base = f"{file.target}.lastword-backup-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in range(100):
        path = f"{base}-{number}" if number else base
        with contextlib.suppress(FileExistsError):
            _write(path, (file.mark + file.text).encode(), file.status)
            return path
    raise SettingsError("there are too many backups beside it")


def _write(path: str, data: bytes, like: os.stat_result | None) -> None:
    """Write a new file with another file's mode and owner, and sync it to the disk."""
    mode = 0o600 if like else 0o666
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(handle, "wb", closefd=False) as file:
            file.write(data)
        if like:
            copy_rights(handle, like)
        os.fsync(handle)
    except BaseException:
        os.close(handle)  # before: Windows deletes no open file
        os.unlink(path)
        raise
    os.close(handle)


def _check_unchanged(file: SettingsFile) -> None:
    then = file.status
    now = os.stat(file.target) if os.path.exists(file.target) else None
    marks = [
        (status.st_mtime_ns, status.st_size, status.st_ino) if status else ()
        for status in (now, then)
    ]
    if marks[0] != marks[1]:
        raise SettingsError("it was changed by another program just now; try again")


def _named(file: SettingsFile) -> str:
    """Return the subject of a sentence: the file, or the target of its link."""
    return (
        "it" if file.target == os.path.abspath(file.path) else f"it leads to {file.target}, which"
    )


def _reason(error: OSError) -> str:
    return (error.strerror or "it failed").lower()
