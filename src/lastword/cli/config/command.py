"""`lastword config`: every option with its value and its source, and the check of a file.

Owns the command line, what it prints, and the exit status: 0; 1 if `check` found something wrong; 2
for invalid arguments, or if the user's file cannot be used.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.cli import envelope
from lastword.cli.config.discovery import (
    PROJECT_NAME,
    ConfigError,
    Places,
    Problem,
    find,
    user_path,
)
from lastword.cli.config.settings import (
    LISTS,
    PROJECT,
    TABLES,
    USER,
    FileSetting,
    FileSettings,
    load,
    options_of,
    read,
)
from lastword.cli.page import Page
from lastword.cli.parser import CommandParser, add_arguments
from lastword.cli.run.options import UsageError, parse
from lastword.cli.words import redacted, refuse
from lastword.core.link.option_table import MIB, Option
from lastword.record import paths

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_ABOUT = """\
Shows every option that a configuration file can set, with its current value
and where the value comes from: the environment, the project's .lastword.toml,
your own config.toml, or the default. The command line overrides all of them.
"""

_ENDS = """\
Your own file is ~/.config/lastword/config.toml (in $XDG_CONFIG_HOME), or the one
that LASTWORD_CONFIG names; LASTWORD_NO_CONFIG=1 disables all files. A project's
file is the nearest .lastword.toml from the working directory up to the root of
its repository; it may set only options that are safe even if a stranger wrote it.

examples:
  lastword config
  $EDITOR "$(lastword config path)"
  lastword config check
  lastword config check .lastword.toml

exit status: 0, 1 if check finds a problem, 2 for invalid arguments or a file that
cannot be used.
"""

_SOURCES = {USER: "your file", PROJECT: "project's file"}
_NAME_COLUMNS, _VALUE_COLUMNS = 22, 26


def main(arguments: Sequence[str]) -> int:
    """Show or check the configuration; return the exit status."""
    made = parser()
    # argparse considers FILE missing if an option precedes it.
    options = made.read(sorted(arguments, key=lambda word: not word.startswith("-")))
    if options.file and options.word != "check":
        made.error("FILE can only be used with check")
    if options.word == "path":
        path = find((), os.environ, project=False).user or user_path(os.environ)
        if not path:
            return refuse("config", "no home folder was found; set LASTWORD_CONFIG")
        if options.json:
            envelope.write({"user_file": path, "exists": os.path.lexists(path)})
        else:
            sys.stdout.write(f"{path}\n")
        return 0
    if options.word == "check":
        return _check(options)
    try:
        return _show(find((), os.environ), as_json=options.json)
    except ConfigError as error:
        return refuse("config", error)


_ARGUMENTS = """\
word WORD  path prints the path of your own file; check reports problems in the files
file FILE  the file to check (default: those in effect here)
--json  print the same as JSON
"""


def parser() -> CommandParser:
    made = CommandParser(
        "config",
        usage="[options]\npath [options]\ncheck [options] [FILE]",
        about=_ABOUT,
        ends=_ENDS,
    )
    add_arguments(
        made,
        _ARGUMENTS,
        word={"nargs": "?", "choices": ("path", "check")},
        file={"nargs": "?"},
    )
    return made


# --- the values


class _Line(NamedTuple):
    """One option, its value as it was written (`None` for the default), and its source."""

    table: str
    option: Option
    texts: list[str] | None
    source: str
    setting: FileSetting | None = None

    @property
    def origin(self) -> str:
        if self.setting is not None:
            return f"{_SOURCES[self.source]}, line {self.setting.line}"
        return self.option.variable if self.source == "environment" else self.source

    @property
    def shown(self) -> str:
        """Return the value as the page shows it, without a secret."""
        option, texts = self.option, self.texts
        if option.kind == "flag":
            return "on" if texts is not None and option.read(texts[0]) else "off"
        if texts is not None:
            return ", ".join(_without_secret(option, text) for text in texts) or "none"
        if option.kind == "seconds" and option.default:
            return f"{option.default:g}s"
        if option.kind in {"seconds", "spending"} or option.timed_words:
            return "off"
        if option.kind == "bytes":
            return f"{int(option.default) // MIB}MiB"
        if option.key in {"record", "state_dir"}:
            return "~/.local/state/lastword"
        return str(option.default) if option.default != "" else "none"

    def as_json(self) -> dict[str, Any]:
        option, texts = self.option, self.texts
        value: Any = option.default
        if texts is not None and option.kind in {"flag", "seconds", "bytes", "count"}:
            value = option.read(texts[0])
        elif texts is not None:
            safe = [_without_secret(option, text) for text in texts]
            value = safe if option.kind in LISTS else safe[0]
        shown = {"table": self.table, "option": option.name, "value": value, "set_by": self.source}
        if self.setting is not None:
            shown |= {"file": self.setting.document.path, "line": self.setting.line}
        return shown | ({"variable": option.variable} if self.source == "environment" else {})


def _line(table: str, option: Option, files: FileSettings) -> _Line:
    text = os.environ.get(option.variable, "") if option.variable else ""
    setting = files.values.get((table, option.name))
    if text:
        return _Line(table, option, [text], "environment")
    if setting is not None:
        return _Line(table, option, setting.texts, setting.source, setting)
    return _Line(table, option, None, "default")


def complaint(variable: str, value: str) -> str | None:
    """Return the problem with the value of one of lastword's variables, if there is one."""
    if variable in paths.VARIABLES:
        return paths.complaint(variable, value)
    try:
        parse(["--", "agent"], {variable: value})
    except UsageError as error:
        return str(error)
    return None


def _without_secret(option: Option, text: str) -> str:
    """Return a value without secrets: knowing a topic or a webhook's path is enough to use it."""
    if option.name == "token":
        return "(set)"
    if option.name not in {"notify", "report-to"}:
        return redacted(text)
    scheme, has_host, rest = text.partition("://")
    host = rest.replace("?", "/").replace("#", "/").partition("/")[0]
    where = f"{scheme}://{host.rpartition('@')[2]}"
    return redacted(text) if has_host and rest.rstrip("/") == host else f"{where}/(set)"


def _show(places: Places, *, as_json: bool) -> int:
    files = load(places)
    rows = files.rows()
    for warning in files.warnings:
        sys.stderr.write(f"lastword config: {warning}\n")
    lines = {
        table: [_line(table, option, files) for option in options_of(table).values()]
        for table in TABLES
    }
    for line in (line for own in lines.values() for line in own if line.source == "environment"):
        if wrong := complaint(line.option.variable, os.environ[line.option.variable]):
            sys.stderr.write(f"lastword config: {wrong}\n")
    named = {source: document.path for source, document in files.documents.items()}
    rules = [{"name": row.name, "type": row.type.value} for row in rows.rules]
    journals = [
        {"name": row.name.removeprefix("config:"), "agent": row.agent} for row in rows.journals
    ]
    if as_json:
        envelope.write(
            {
                "user_file": named.get(USER),
                "project_file": named.get(PROJECT),
                "options": [line.as_json() for own in lines.values() for line in own],
                "rules": rules,
                "journals": journals,
            }
        )
        return 0
    page = Page(keeps_words=True)
    missing = f"none; it would be {places.user}" if places.user else "none"
    page.row("your file           ", named.get(USER, missing))
    page.row("the project's file  ", named.get(PROJECT, "none"))
    for table, own in lines.items():
        page.line()
        page.line(f"[{table}]")
        for line in own:
            lead, shown = f"  {line.option.name:<{_NAME_COLUMNS}}", line.shown
            if len(shown) > _VALUE_COLUMNS:
                page.row(lead, shown)
                lead, shown = " " * len(lead), ""
            page.row(lead, f"{shown:<{_VALUE_COLUMNS}} {line.origin}")
    if rules or journals:
        page.line()
        page.line("your own rows")
        for row in rules:
            page.row("  [[classify.rule]]  ", f"{row['name']}: {row['type']}")
        for row in journals:
            page.row("  [[journal]]        ", f"{row['name']}: of {row['agent']}")
    sys.stdout.write(page.drain())
    return 0


# --- the files


def _check(options: argparse.Namespace) -> int:
    file = options.file
    if file and not os.path.lexists(file):
        return refuse("config", f"there is no file {file!r}")
    if file:
        chosen = [(file, PROJECT if os.path.basename(file) == PROJECT_NAME else USER)]
    else:
        places = find((), os.environ)
        has_own = places.is_named or os.path.lexists(places.user)
        chosen = [(places.user, USER)] if has_own else []
        chosen += [(places.project, PROJECT)] if places.project else []
    results = [(path, problems_of(path, source)) for path, source in chosen]
    if options.json:
        shown = [
            (path, [{"line": each.line, "sentence": each.sentence} for each in problems])
            for path, problems in results
        ]
        envelope.write({"files": [{"file": path, "problems": each} for path, each in shown]})
    else:
        lines: list[str] = []
        for path, problems in results:
            lines += map(str, problems) if problems else [f"{path}: no problems found"]
        lines = lines or ["there is no configuration file here; see `lastword config path`"]
        sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if any(problems for _, problems in results) else 0


def problems_of(path: str, source: str) -> list[Problem]:
    """Return all problems of a file, by line."""
    files = FileSettings()
    problems = read(files, path, source, TABLES)
    try:
        files.rows()
    except ConfigError as error:
        problems += error.problems
    return sorted(problems, key=lambda each: each.line)
