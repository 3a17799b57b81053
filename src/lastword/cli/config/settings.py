"""The settings of configuration files: what they set, checked, and which file sets it.

Owns the precedence of the two files, and what is wrong with either of them. A user's file that is
wrong is an error; a project's, which may come from a stranger, is ignored with a warning. Loaded
only if there is a file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.cli.config.document import ConfigDocument, DocumentError
from lastword.cli.config.errors import LISTING, ConfigError, Problem
from lastword.cli.config.tables import ROWS, TABLES, options_of, texts_of, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping

    from lastword.cli.config.discovery import Places
    from lastword.cli.config.rows import OwnRows
    from lastword.core.link.option_table import Option

USER, PROJECT = "user", "project"
FROM_FILE_VARIABLE = "LASTWORD_FROM_CONFIG"
"""Names the variables that a command has set from the user's file, for itself when it starts anew
(`lastword gateway reload`)."""


class FileSetting:
    """The value of an option in a file.

    Attributes:
        option: The option.
        texts: The value as the command line would have it; several texts for a list.
        source: Whose file it is.
        document: The file.
    """

    __slots__ = ("_table", "document", "option", "source", "texts")

    def __init__(
        self, table: str, option: Option, texts: list[str], source: str, document: ConfigDocument
    ) -> None:
        self._table = table
        self.option: Option = option
        self.texts: list[str] = texts
        self.source: str = source
        self.document: ConfigDocument = document

    @property
    def line(self) -> int:
        """Return the line that it is in."""
        return self.document.line_of((self._table, self.option.name))


class FileSettings:
    """The settings of all files.

    Attributes:
        values: The settings, by table and option.
        documents: The files that were read, by whose they are.
        warnings: What is wrong with a project's file, for stderr.
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
        """Return a table as words of a command line, without the options that are given there."""
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
        # The classifier, which a start of `lastword run` does not wait for.
        from lastword.cli.config.rows import NO_ROWS, rows_in  # noqa: PLC0415

        document = self.documents.get(USER)
        if document is None:
            return NO_ROWS
        rows, problems = rows_in(document.values)
        if problems:
            raise ConfigError(
                [
                    Problem(document.path, document.line_of(at), sentence)
                    for at, sentence in problems
                ]
            )
        return rows

    @property
    def has_rows(self) -> bool:
        """Return whether the user's file has rows of its own."""
        document = self.documents.get(USER)
        return document is not None and any(name in document.values for name in ROWS)

    def complete(self, environment: MutableMapping[str, str]) -> None:
        """Set the variables that are not set yet to the values in the user's file.

        Those that a project's file may set are left out: each agent's `lastword run` reads them
        where it works, and there the project's file comes first.
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
    """Read the files, and check these tables of them.

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
    """Add what a file says to the settings; return what is wrong with it."""
    try:
        document = ConfigDocument(path, of_project=source == PROJECT)
    except DocumentError as error:
        return [Problem(path, error.line, error.reason)]
    settings.documents[source] = document
    problems = []
    for name, table in [*document.values.items()]:
        sentence = _table_problem(name, table, source)
        if sentence:
            del document.values[name]
            problems.append(Problem(path, document.line_of((name,)), sentence))
        elif name in TABLES and name in tables:
            problems += _read_table(settings, document, name, source)
    return problems


def _table_problem(name: str, table: object, source: str) -> str:
    if name not in TABLES and name not in ROWS:
        return _no_such("table", name, (*TABLES, *ROWS))
    if name == "journal":
        if not isinstance(table, list):
            return "journals are written as [[journal]]"
    elif not isinstance(table, dict):
        return f"{name} is a table: [{name}]"
    if source == PROJECT and name != "run":
        return f"[{name}] belongs in your own file; a project's file can only have [run]"
    return ""


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
    # Loaded where something is wrong.
    from lastword.cli.words import no_such  # noqa: PLC0415

    return no_such(kind, word, words, LISTING)
