"""The tables of a configuration file, and the options that each of them takes.

Owns the values that an option takes in TOML. Which options a project's file may set is in their own
declarations (`core.link.option_table`); none of the gateway's or of `lastword connect`'s is safe.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.core.link.option_table import FILE_KEYS, OPTIONS, Option

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORD = (
    Option("state-dir", "folder", "the folder of the record and of what the gateway keeps", ""),
    Option("record-days", "days", "how many days the record is kept; 0 means for ever", "30"),
    Option("record-mib", "count", "how large the record may become, in MiB; 0 without limit", 256),
)
"""The options of `[record]`, which the commands that use the record take from the environment."""

TABLES = ("run", "record", "gateway", "connect")
_SECRETS = {"url", "url-or-topic", "nats-urls"}
ROWS = {"classify": "rule", "journal": ""}
"""The tables of rows, with the name of the array within them."""

_OPEN = {
    "run": {option.name: option for option in OPTIONS if option.key not in FILE_KEYS},
    "record": {option.name: option for option in RECORD},
}


def options_of(table: str) -> Mapping[str, Option]:
    """Return the options of a table by name."""
    if table == "gateway":
        # Of these two, a start of `lastword run` needs neither.
        from lastword.gateway.settings.gateway import OPTIONS as GATEWAY  # noqa: PLC0415

        return {option.name: option for option in GATEWAY.values()}
    if table == "connect":
        from lastword.cli.connect_parser import OPTIONS as CONNECT  # noqa: PLC0415

        return {option.name: option for option in CONNECT}
    return _OPEN[table]


def texts_of(option: Option, value: object, folder: str) -> list[str]:
    """Return a value as the command line would have it; several texts for a list.

    Args:
        option: The option.
        value: What the file holds.
        folder: The file's folder, from which paths are meant.

    Raises:
        ValueError: It cannot be used; the text says why.
    """
    texts = _texts(option, value, folder)
    if texts is None:
        raise ValueError(f"{option.name} takes {_expected(option)}")
    for text in texts:
        if _read(option, text) is None:
            shown = "" if option.kind in _SECRETS else f" {text!r}"
            raise ValueError(
                f"{option.name} cannot be{shown or ' this'}: it takes {_expected(option)}"
            )
    return texts


def words_of(option: Option, texts: list[str]) -> list[str]:
    """Return the words of a command line that say the same."""
    if option.kind == "flag":
        return [f"--{option.name}"] if texts == ["1"] else []
    return [f"--{option.name}={text}" for text in texts]


_NUMBERS = {"seconds", "bytes", "count", "days", "duration", "positive-duration", "size", "number"}
LISTS = {"names", "networks"}


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


def _read(option: Option, text: str) -> object:
    if option.kind == "days":
        # The record's own reader, which knows 12h and 4w.
        from lastword.record.paths import days_limit  # noqa: PLC0415

        return days_limit(text)
    return option.read(text)


def _expected(option: Option) -> str:
    if option.kind == "flag":
        return "true or false"
    return "a number of days, or 12h or 4w" if option.kind == "days" else option.expects
