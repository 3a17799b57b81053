"""Access to the record: its place, and the messages if it cannot be used.

Owns the options `--record` and `--since`, the exit status of a `StoreError`, and reading the file
of `lastword run --frames` in pieces.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.cli.parser import add_arguments
from lastword.cli.words import refuse
from lastword.core.failure.option_values import seconds_of
from lastword.core.failure.phrases import counted, moment_of
from lastword.core.protocol.acp_el import BEGINNING_CHARS, is_traffic, read_traffic
from lastword.core.protocol.traces import read_trace_line
from lastword.core.redact.printable import one_line
from lastword.errors import StoreError
from lastword.record import reader
from lastword.record.paths import named_folder, state_folder, store_path
from lastword.record.store import set_aside_before

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from lastword.record.reader import Part


_MAX_DIGITS = 10
_MAX_PORT = 65_535
MAX_CANDIDATES = 8
"""How many sessions are listed for an ambiguous name."""


STOPPED = {"export": "stopped; no file was written", "stats": "stopped"}
"""The message after Ctrl-C; `log --follow` ends that way, and prints nothing."""


class UnusableError(Exception):
    """The arguments cannot be used; the text says why."""


def add_record_option(parser: argparse.ArgumentParser, command: str = "run") -> None:
    """Add the option for the folder of the record, whose help names the command that wrote it."""
    add_arguments(
        parser,
        f"--record DIR  the record's folder, if `lastword {command} --record DIR` was given one "
        "(default: ~/.local/state/lastword)",
    )


def path_of(options: argparse.Namespace) -> str:
    folder = options.record or os.environ.get("LASTWORD_RECORD") or state_folder(os.environ)
    return store_path(named_folder(folder))


def moment(text: str) -> int:
    """Return a time given by the user, in milliseconds since 1970 UTC; a date is local time.

    Raises:
        argparse.ArgumentTypeError: It is not a time.
    """
    # Digits alone are a date, 20261120, not seconds.
    ago = seconds_of(text, unit="")
    try:
        if ago is not None:
            return max(0, int((time.time() - ago) * 1000))
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        expected = "it takes 30m, 2h, 3d, 1w, or a date such as 2026-11-20 or 2026-11-20T14:30"
        raise argparse.ArgumentTypeError(f"cannot be {text!r}: {expected}") from None


def whole_number(text: str) -> int:
    """Return a number of at least 1.

    Raises:
        argparse.ArgumentTypeError: It is not one.
    """
    digits = text.lstrip("0")
    if not text.isascii() or not text.isdigit() or not 0 < len(digits) < _MAX_DIGITS:
        raise argparse.ArgumentTypeError(f"it takes a whole number from 1 up, not {text!r}")
    return int(digits)


def port(text: str) -> int:
    """Return a port number.

    Raises:
        argparse.ArgumentTypeError: It is not one.
    """
    number = whole_number(text)
    if number > _MAX_PORT:
        raise argparse.ArgumentTypeError(f"a port is at most {_MAX_PORT}, not {text!r}")
    return number


def answer(command: str, path: str, work: Callable[[], int]) -> int:
    """Run a command on the record, and print a sentence if the record cannot be used.

    Returns:
        What `work` returns; 1 if the record cannot be used, 2 for invalid arguments, 130 if
        the user stopped it, as in a shell.
    """
    try:
        return work()
    except UnusableError as error:
        return refuse(command, error)
    except StoreError as error:
        return refuse(command, error, status=1)
    except KeyboardInterrupt:
        sys.stderr.write(f"lastword {command}: {STOPPED[command]}\n" if command in STOPPED else "")
        return 130
    finally:
        if aside := set_aside_before(path):
            older = f" and {len(aside) - 1} older" if len(aside) > 1 else ""
            sys.stderr.write(
                f"lastword {command}: a damaged record was set aside as {aside[-1]}{older}; "
                "delete it if you do not need it\n"
            )


_SESSION = """\
session SESSION
    the session's number in `lastword log` (1 is the latest), its id or the beginning of its id, or
    an incident
--last  the latest session, or the latest start that failed
"""


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a session: by name, or the latest."""
    add_arguments(parser, _SESSION, session={"nargs": "?"})


def chosen_session(record: sqlite3.Connection, options: argparse.Namespace) -> Part:
    """Return the session that the command line means.

    Raises:
        UnusableError: There is none, or there are several.
    """
    if not options.last:
        return _named(record, options.session)
    latest, _ = reader.latest_parts(record, 1)
    if not latest:
        raise UnusableError("nothing is recorded yet")
    return latest[0]


def _named(record: sqlite3.Connection, name: str) -> Part:
    # Unlike an id, an argument may contain bytes that are not text; a list cuts ids with "…".
    text = name.encode(errors="replace").decode().rstrip("…")
    whole = reader.find_whole(record, text) if text.strip() else None
    if whole is not None:
        # An id that has always opened a session still does.
        if _is_number(text):
            sys.stderr.write(f"lastword: {text} is a session's id here, not a number in the list\n")
        return whole
    numbered = reader.part_by_number(record, int(text)) if _is_number(text) else None
    matches = reader.find_by_beginning(record, text) if text.strip() else []
    if numbered is not None:
        # The list shows numbers; an id that begins with one can be given with one more character.
        shown = (numbered.run, numbered.session_id)
        if any((each.run, each.session_id) != shown for each in matches):
            sys.stderr.write(
                f"lastword: {text} is read as a number in the list; for an id that begins with "
                f"{text}, give more of it\n"
            )
        return numbered
    if not matches and _is_number(text):
        count = counted(reader.count_parts(record, 0), "session")
        raise UnusableError(
            f"no session begins with {name!r}, and there are {count}; `lastword log` lists them"
        )
    if not matches:
        raise UnusableError(f"no session begins with {name!r}; `lastword log` lists them")
    if len(matches) > 1:
        raise UnusableError(f"{name!r} is ambiguous; give more of it:\n{_candidates(matches)}")
    return matches[0]


def _is_number(text: str) -> bool:
    """Return whether it is a number in the list. `019` is the beginning of an id."""
    is_short = len(text) <= len(str(reader.MAX_NUMBER))
    return is_short and text.isascii() and text.isdigit() and text[0] != "0"


def _candidates(matches: list[Part]) -> str:
    same = len({part.session_id for part in matches}) < len(matches)
    lines = [
        f"  {one_line(part.name if same else part.session_id)}"
        f"  ({moment_of(part.last_epoch_ms):%Y-%m-%d %H:%M})"
        for part in matches[:MAX_CANDIDATES]
    ]
    if len(matches) > MAX_CANDIDATES:
        lines.append(f"  and {len(matches) - MAX_CANDIDATES} more")
    return "\n".join(lines)


READ_BYTES = 2 * 1024 * 1024
MAX_BYTES = 32 * 1024 * 1024
"""The beginning of a longer file is left out; `--frames` writes no such file."""


def has_frames(path: str) -> bool:
    """Return whether a file may be one of `--frames`, or another readable trace.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        first = file.readline(READ_BYTES)
    if is_traffic(first[:BEGINNING_CHARS].decode("utf-8", "replace")):
        return True
    try:
        value = msgspec.json.decode(first or b'{"at": 0}')
    except (msgspec.DecodeError, RecursionError):
        return False
    return read_trace_line(value) is not None


def frame_lines(path: str, after: int | None) -> dict[str, Any]:
    """Return whole lines that begin at or after a position in the file, and the next position.

    Other lines than a trace's are counted in `unreadable`. If the file was started over meanwhile,
    its lines are returned from the start, with `anew`; acp.el always starts over.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if after != size and is_traffic(file.read(BEGINNING_CHARS).decode("utf-8", "replace")):
            file.seek(0)
            frames = read_traffic(file.read(MAX_BYTES).decode("utf-8", "replace"))
            answer = {"frames": frames, "next": size, "anew": after is not None}
            return answer | {"more": False, "unreadable": 0}
        anew = after is not None and after > size
        start = max(size - MAX_BYTES, 0) if after is None or anew else after
        file.seek(start)
        block = file.read(READ_BYTES)
    whole = block[: block.rfind(b"\n") + 1] or (block if len(block) == READ_BYTES else b"")
    lines: list[Any] = []
    unreadable = 0
    for line in whole.splitlines():
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            value = None
        row = read_trace_line(value)
        if row is not None:
            lines.append(row)
        else:
            unreadable += 1
    following = start + len(whole)
    more = bool(whole) and following < size
    return {
        "frames": lines,
        "next": following,
        "more": more,
        "anew": anew,
        "unreadable": unreadable,
    }
