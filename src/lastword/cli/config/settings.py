"""The settings of configuration files: the checked values, and the file of each.

Owns the limits (a regular file of at most 64 KiB; for a project, one of at most 4 KiB that belongs
to the user and is not a symbolic link), the lines of keys, the tables, the precedence of the two
files, and their problems. A problem in the user's file is an error; a project's file with one is
ignored with a warning, since it may come from a stranger. The options that a project's file may set
are marked in their declarations (`core.link.option_table`); none of the gateway or of `lastword
connect` is. Loaded only if there is a file.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.cli.config.discovery import LISTING, ConfigError, Problem
from lastword.core.link.option_table import FILE_KEYS, OPTIONS, Option
from lastword.platform.settings_files import belongs_to_user, open_settings
from lastword.record.paths import days_limit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, MutableMapping

    from lastword.cli.config.discovery import Places
    from lastword.cli.config.rows import OwnRows


Path = tuple[str | int, ...]
"""The keys and indices that lead to a value."""

_AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")


def _places_of(text: str) -> dict[Path, int]:
    """Return the line of each key and header, with an index for each table of an array."""
    places: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    header: Path = ()
    statement, begin = "", 1
    for number, line in enumerate(text.split("\n"), 1):
        statement += f"{line}\n"
        try:
            parsed: Any = tomllib.loads(statement)
        except ValueError:  # it continues in the next line
            if len(statement) > MAX_PROJECT_BYTES:
                break  # the last known line is reported for the rest
            continue
        is_header = statement.lstrip().startswith("[")
        path: Path = () if is_header else header
        while isinstance(parsed, dict) and len(parsed) == 1:
            ((key, parsed),) = parsed.items()
            path = (*path, key)
            if is_header:
                if isinstance(parsed, list):
                    counts[path] = counts.get(path, -1) + 1
                    parsed = None
                if path in counts:
                    path = (*path, counts[path])
            places.setdefault(path, begin)  # a value's members are on that line, too
        header = path if is_header else header
        statement, begin = "", number + 1
    return places


MAX_BYTES = 64 * 1024
MAX_PROJECT_BYTES = 4 * 1024
"""A key of many parts takes `tomllib` quadratic time: 0.1 s for 4 KiB, 18 s for 64 KiB."""


class DocumentError(Exception):
    """The file cannot be read; the text says why. `line` is 0 for the whole file."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason: str = reason
        self.line: int = line


class ConfigDocument:
    """The content of a configuration file."""

    def __init__(self, path: str, *, of_project: bool = False) -> None:
        """Read a file.

        Raises:
            DocumentError: It cannot be read.
        """
        self.path: str = path
        text = _text(path, of_project=of_project)
        try:
            self.values: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            place = _AT_LINE.search(str(error))
            line = int(place[1]) if place and place[1] else len(text.splitlines())
            why = _AT_LINE.sub("", str(error))
            raise DocumentError(f"this is not TOML: {why[:1].lower()}{why[1:]}", line) from None
        except ValueError:  # a number of thousands of digits
            raise DocumentError("a number is too long") from None
        except RecursionError:
            raise DocumentError("its values are nested too deeply") from None
        self._text: str = text
        self._places: dict[Path, int] = {}

    def line_of(self, path: Path) -> int:
        """Return the line of a key, or of the nearest one above it; 0 if neither is found."""
        if not self._places:
            self._places = _places_of(self._text)
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path, 0)


def _text(path: str, *, of_project: bool) -> str:
    if path == os.devnull:
        return ""
    most = MAX_PROJECT_BYTES if of_project else MAX_BYTES
    fd = -1
    try:
        fd = open_settings(path, follows_link=not of_project)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise DocumentError("it is not a regular file")
        if of_project and not belongs_to_user(fd):
            raise DocumentError("it belongs to another user")
        with open(fd, "rb", closefd=False) as file:
            data = file.read(most + 1)
    except OSError as error:
        if fd < 0 and of_project and os.path.islink(path):
            raise DocumentError("it is a symbolic link, which a project's file cannot be") from None
        reason = (error.strerror or "failed").lower()
        raise DocumentError(f"it cannot be read ({reason})") from None
    finally:
        if fd >= 0:
            os.close(fd)
    if len(data) > most:
        raise DocumentError(f"it is larger than {most // 1024} KiB")
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DocumentError("it is not UTF-8", data.count(b"\n", 0, error.start) + 1) from None


RECORD = (
    Option("state-dir", "folder", "the folder of the record and of what the gateway keeps", ""),
    Option("record-days", "days", "how many days the record is kept; 0 means forever", "30"),
    Option("record-mib", "count", "how large the record may become, in MiB; 0 without limit", 256),
)
"""The options of `[record]`, which commands read from the environment."""

TABLES = ("run", "record", "gateway", "connect")
_SECRETS = {"url", "url-or-topic", "nats-urls"}
ROWS = {"classify": "rule", "journal": ""}
"""The tables of rows, with the name of the array within them."""

_OPEN = {
    "run": {option.name: option for option in OPTIONS if option.key not in FILE_KEYS},
    "record": {option.name: option for option in RECORD},
}


def options_of(table: str) -> Mapping[str, Option]:
    if table == "gateway":
        # A start of `lastword run` needs none of these two.
        from lastword.gateway.settings.values import OPTIONS as GATEWAY  # noqa: PLC0415

        return {option.name: option for option in GATEWAY.values()}
    if table == "connect":
        from lastword.cli.connect_parser import OPTIONS as CONNECT  # noqa: PLC0415

        return {option.name: option for option in CONNECT}
    return _OPEN[table]


def texts_of(option: Option, value: object, folder: str) -> list[str]:
    """Return a value as the command line would have it; several texts for a list.

    Args:
        option: The option.
        value: The value in the file.
        folder: The file's folder, to which paths are relative.

    Raises:
        ValueError: It cannot be used; the text says why.
    """
    expected = option.expects
    if option.kind in {"flag", "days"}:
        expected = "true or false" if option.kind == "flag" else "a number of days, or 12h or 4w"
    texts = _texts(option, value, folder)
    if texts is None:
        raise ValueError(f"{option.name} takes {expected}")
    # The record's own reader of days knows 12h and 4w.
    reader = days_limit if option.kind == "days" else option.read
    for text in texts:
        if reader(text) is None:
            shown = "this" if option.kind in _SECRETS else repr(text)
            raise ValueError(f"{option.name} cannot be {shown}: it takes {expected}")
    return texts


def words_of(option: Option, texts: list[str]) -> list[str]:
    """Return the same as words of a command line."""
    if option.kind == "flag":
        return [f"--{option.name}"] if texts == ["1"] else []
    return [f"--{option.name}={text}" for text in texts]


_NUMBERS = {"seconds", "bytes", "count", "days", "duration", "positive-duration", "size", "number"}
LISTS = {"hosts", "origins", "networks"}


def _texts(option: Option, value: object, folder: str) -> list[str] | None:
    """Return the texts of a value of the right type; `None` for any other."""
    if option.kind == "flag":
        return [str(int(value))] if isinstance(value, bool) else None
    if option.kind in LISTS and isinstance(value, list):
        return None if any(not _is_text(each) for each in value) else value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [repr(value)] if option.kind in _NUMBERS else None
    if not _is_text(value):
        return None
    if option.kind not in {"folder", "file"}:
        return [str(value)]
    path = os.path.expanduser(str(value))
    return [os.path.normpath(os.path.join(folder, path))] if path else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


USER, PROJECT = "user", "project"
FROM_FILE_VARIABLE = "LASTWORD_FROM_CONFIG"
"""The variable with the names of those that a command has set from the user's file, for itself
after a restart (`lastword gateway reload`)."""


class FileSetting(NamedTuple):
    """The value of an option in a file.

    Attributes:
        table: The table that it is in.
        option: The option.
        texts: The value as the command line would have it; several texts for a list.
        source: `USER` or `PROJECT`.
        document: The file.
    """

    table: str
    option: Option
    texts: list[str]
    source: str
    document: ConfigDocument

    @property
    def line(self) -> int:
        return self.document.line_of((self.table, self.option.name))


class FileSettings:
    """The settings of all files.

    Attributes:
        values: The settings, by table and option.
        documents: The files that were read, by their source.
        warnings: The problems of a project's file, for stderr.
    """

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], FileSetting] = {}
        self.documents: dict[str, ConfigDocument] = {}
        self.warnings: list[str] = []

    def texts(self, table: str) -> dict[str, str]:
        """Return the values of a table's options by their keys in code."""
        return {
            setting.option.key: setting.texts[0]
            for (name, _), setting in self.values.items()
            if name == table and setting.texts
        }

    def words(self, table: str, given: Iterable[str]) -> list[str]:
        """Return a table as words of a command line, without the options in `given`."""
        flags = {word.partition("=")[0] for word in given}
        return [
            word
            for (name, key), setting in self.values.items()
            if name == table and f"--{key}" not in flags
            for word in words_of(setting.option, setting.texts)
        ]

    def rows(self) -> OwnRows:
        """Return the rows of the user's file.

        Raises:
            ConfigError: One of them cannot be used.
        """
        # The classifier, which a start of `lastword run` must not load.
        from lastword.cli.config.rows import NO_ROWS, rows_in  # noqa: PLC0415

        document = self.documents.get(USER)
        if document is None:
            return NO_ROWS
        rows, problems = rows_in(document.values)
        if problems:
            path, line_of = document.path, document.line_of
            raise ConfigError([Problem(path, line_of(at), sentence) for at, sentence in problems])
        return rows

    @property
    def has_rows(self) -> bool:
        """Return whether the user's file has its own rows."""
        document = self.documents.get(USER)
        return document is not None and any(name in document.values for name in ROWS)

    def complete(self, environment: MutableMapping[str, str]) -> None:
        """Set the variables that are not set yet to the values in the user's file.

        Options that a project's file may set are left out: each agent's `lastword run` reads them
        in its own folder, where the project's file takes precedence.
        """
        for name in environment.pop(FROM_FILE_VARIABLE, "").split():
            if name.startswith("LASTWORD_"):
                environment.pop(name, None)
        made = []
        for (table, _), setting in self.values.items():
            option = setting.option
            if table not in {"run", "record"} or option.project_safe or setting.source != USER:
                continue
            if not environment.get(option.variable) and setting.texts:
                environment[option.variable] = setting.texts[0]
                made.append(option.variable)
        if made:
            environment[FROM_FILE_VARIABLE] = " ".join(made)


def load(places: Places, tables: Iterable[str] = TABLES) -> FileSettings:
    """Read the files, and check these tables.

    Raises:
        ConfigError: The user's file cannot be used.
    """
    settings = FileSettings()
    if places.user and (places.is_named or os.path.lexists(places.user)):
        problems = read(settings, places.user, USER, tables)
        if problems:
            raise ConfigError(problems)
    if places.project:
        own = FileSettings()
        problems = read(own, places.project, PROJECT, tables)
        if problems:
            settings.warnings = [
                f"the project's configuration file is ignored: {ConfigError(problems)}"
            ]
        else:
            settings.values |= own.values
            settings.documents |= own.documents
    return settings


def read(settings: FileSettings, path: str, source: str, tables: Iterable[str]) -> list[Problem]:
    """Add the settings of a file; return its problems."""
    try:
        document = ConfigDocument(path, of_project=source == PROJECT)
    except DocumentError as error:
        return [Problem(path, error.line, error.reason)]
    settings.documents[source] = document
    problems = []
    for name, table in [*document.values.items()]:
        sentence = ""
        if name not in TABLES and name not in ROWS:
            sentence = _no_such("table", name, (*TABLES, *ROWS))
        elif name == "journal" and not isinstance(table, list):
            sentence = "journals are written as [[journal]]"
        elif name != "journal" and not isinstance(table, dict):
            sentence = f"{name} is a table: [{name}]"
        elif source == PROJECT and name != "run":
            sentence = f"[{name}] belongs in your own file; a project's file can only have [run]"
        if sentence:
            del document.values[name]
            problems.append(Problem(path, document.line_of((name,)), sentence))
        elif name in TABLES and name in tables:
            problems += _read_table(settings, document, name, source)
    return problems


def _read_table(
    settings: FileSettings, document: ConfigDocument, name: str, source: str
) -> list[Problem]:
    options = options_of(name)
    folder = os.path.dirname(os.path.abspath(document.path))
    problems = []
    for key, value in document.values[name].items():
        option = options.get(key)
        if option is None:
            sentence = _no_such("option", key, options)
        elif source == PROJECT and not option.project_safe:
            sentence = f"a project's file cannot set {key}; your own file can"
        else:
            try:
                texts = texts_of(option, value, folder)
            except ValueError as error:
                sentence = str(error)
            else:
                settings.values[name, key] = FileSetting(name, option, texts, source, document)
                continue
        problems.append(Problem(document.path, document.line_of((name, key)), sentence))
    return problems


def _no_such(kind: str, word: str, words: Iterable[str]) -> str:
    # Loaded only for an error.
    from lastword.cli.words import no_such  # noqa: PLC0415

    return no_such(kind, word, words, LISTING)
