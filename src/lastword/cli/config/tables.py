"""The tables of a configuration file, and the options that each of them takes.

Owns the values that an option takes in TOML. Which options a project's file may set is in their own
declarations (`core.link.option_table`); none of the gateway's or of `lastword connect`'s is safe.
"""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr
from typing import TYPE_CHECKING

from lastword.core.link.option_table import FILE_KEYS, OPTIONS, Option

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from lastword.cli.parser import CommandParser

RECORD = (
    Option("state-dir", "folder", "the folder of the record and of what the gateway keeps", ""),
    Option("record-days", "days", "how many days the record is kept; 0 means for ever", "30"),
    Option("record-mib", "count", "how large the record may become, in MiB; 0 without limit", 256),
)
"""The options of `[record]`, which the commands that use the record take from the environment."""

TABLES = ("run", "record", "gateway", "connect")
ROWS = {"classify": "rule", "journal": ""}
"""The tables of rows, with the name of the array within them."""

_OPEN = {
    "run": {option.name: option for option in OPTIONS if option.key not in FILE_KEYS},
    "record": {option.name: option for option in RECORD},
}


def options_of(table: str) -> dict[str, Option]:
    """Return the options of a table by name."""
    if table in _OPEN:
        return _OPEN[table]
    actions = _parser(table)().shown_actions
    made = [_option(action) for action in actions if action.dest not in {"help", *FILE_KEYS}]
    return {option.name: option for option in made}


def _parser(table: str) -> Callable[[], CommandParser]:
    # argparse and both commands, which a start of `lastword run` does not wait for.
    from lastword.cli.connect_parser import parser as connect  # noqa: PLC0415
    from lastword.cli.gateway.parsers import parser as gateway  # noqa: PLC0415

    return gateway if table == "gateway" else connect


def _option(action: argparse.Action) -> Option:
    name = (action.option_strings or [action.dest])[-1].removeprefix("--")
    kind = {"DIR": "folder", "FILE": "file"}.get(str(action.metavar), "text")
    if action.nargs == 0:
        return Option(name, "flag", action.help or "")
    if isinstance(action.default, list):
        return Option(name, "list", action.help or "", "")
    if kind == "text" and action.type is not None:
        kind = "typed"
    default = action.default if isinstance(action.default, (int, float, str)) else ""
    return Option(name, kind, action.help or "", default)


def texts_of(table: str, option: Option, value: object, folder: str) -> list[str]:
    """Return a value as the command line would have it; several texts for a list.

    Args:
        table: The option's table.
        option: The option.
        value: What the file holds.
        folder: The file's folder, from which paths are meant.

    Raises:
        ValueError: It cannot be used; the text says why.
    """
    texts = _texts(option, value, folder)
    if texts is None:
        raise ValueError(f"{option.name} takes {_expected(option)}")
    if table in _OPEN:
        if _read(option, texts[0]) is None:
            shown = "" if option.kind == "url" else f" {texts[0]!r}"
            raise ValueError(
                f"{option.name} cannot be{shown or ' this'}: it takes {_expected(option)}"
            )
    else:
        _parse(table, words_of(option, texts))
    return texts


def words_of(option: Option, texts: list[str]) -> list[str]:
    """Return the words of a command line that say the same."""
    if option.kind == "flag":
        return [f"--{option.name}"] if texts == ["1"] else []
    return [f"--{option.name}={text}" for text in texts]


_NUMBERS = {"seconds", "bytes", "count", "days", "typed"}


def _texts(option: Option, value: object, folder: str) -> list[str] | None:
    """Return the texts of a value of the right type; `None` for any other."""
    if option.kind == "flag":
        return [str(int(value))] if isinstance(value, bool) else None
    if option.kind == "list" and isinstance(value, list):
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


def _read(option: Option, text: str) -> object:
    if option.kind == "days":
        # The record's own reader, which knows 12h and 4w.
        from lastword.record.paths import days_limit  # noqa: PLC0415

        return days_limit(text)
    return option.read(text)


def _expected(option: Option) -> str:
    if option.kind == "flag":
        return "true or false"
    kinds = {"list": "a list of texts", "text": "a text", "typed": "a text or a number"}
    return kinds.get(option.kind) or (
        "a number of days, or 12h or 4w" if option.kind == "days" else option.expects
    )


def _parse(table: str, words: list[str]) -> None:
    """Try words on the parser of a command.

    Raises:
        ValueError: It refuses them.
    """
    if table == "connect" and words and words[0].startswith("--url="):
        words = [words[0].removeprefix("--url=")]
    output = io.StringIO()
    try:
        with redirect_stderr(output):
            _parser(table)().parse_args(words)
    except SystemExit:
        reason = output.getvalue().strip().removeprefix(f"lastword {table}: ").removeprefix("--")
        raise ValueError(reason) from None
