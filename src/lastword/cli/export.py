"""`lastword export`: one session in one file, for a bug report.

Owns the command line, the exit status (0; 1 if the record or the disk does not allow it; 2 for
invalid arguments), and the guarantee that no file is left half written or overwritten.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from contextlib import suppress
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from lastword.cli import envelope
from lastword.cli.page import Page
from lastword.cli.parser import CommandParser
from lastword.cli.progress import Progress
from lastword.cli.record_access import (
    UnusableError,
    add_record_option,
    add_session,
    answer,
    chosen_session,
    path_of,
)
from lastword.cli.web.document import write_page
from lastword.core.failure.phrases import counted
from lastword.errors import StoreError
from lastword.record import reader
from lastword.record.present.bundle import Bundle
from lastword.record.present.moments import moment
from lastword.record.present.scrub import removal_words, scrubber_here

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

_MAX_NAME_CHARS = 24

_ABOUT = """\
Writes the record of one session to one file that can be attached to a public
issue.
"""

_EPILOG = """\
The file is a zip with three members: summary.md for the issue's text,
timeline.jsonl with every entry, and manifest.json with versions, counts, and
the number of redactions by rule. With --html it is one self-contained page with
the same content: the timeline by turn, with a filter.
It contains no prompt, no answer and no content of tools; keys, tokens,
addresses, and the names of you and your machine are removed.

examples:
  lastword export 1                     the latest session, to this folder
  lastword export 3f2a                  the session whose id begins with 3f2a
  lastword export --last -o report.zip
  lastword export 3f2a -o -             the summary only, on stdout
  lastword export --last --html         a page, to open in a browser

exit status: 0, 1 if the record or the disk does not allow it, 2 for invalid
arguments.
"""


def main(arguments: Sequence[str]) -> int:
    """Export a session; return the exit status."""
    options = parser().read(arguments)
    path = path_of(options)
    return answer("export", path, lambda: _run(options, path))


def parser() -> CommandParser:
    """Return the parser."""
    made = CommandParser("export", usage="[options] SESSION | --last", about=_ABOUT, ends=_EPILOG)
    add_session(made)
    made.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to this file or folder; - prints the summary only (default: a name from the "
        "session and the date, in this folder)",
    )
    made.add_argument(
        "--html", action="store_true", help="write one web page instead of a zip file"
    )
    made.add_argument("--force", action="store_true", help="overwrite an existing file")
    made.add_argument(
        "--json", action="store_true", help="print the file's path and manifest as JSON"
    )
    add_record_option(made)
    return made


def _run(options: argparse.Namespace, path: str) -> int:
    if options.last == (options.session is not None):
        raise UnusableError("name one SESSION, or give --last; `lastword log` lists them")
    to_stdout = options.output == "-"
    if to_stdout and options.html:
        raise UnusableError("-o - prints the summary; leave --html out, or name a file")
    if to_stdout and options.json:
        raise UnusableError("-o - prints the summary; leave --json out, or name a file")
    if options.output and not to_stdout:
        _check_target(options.output, force=options.force)
    with Progress("Reading the session") as progress, reader.reading(path) as record:
        bundle = Bundle(record, chosen_session(record, options), scrubber_here())
        if to_stdout:
            sys.stdout.write(bundle.summary())
            return 0
        target = _target(options.output, bundle, ".html" if options.html else ".zip")
        _check_target(target, force=options.force)
        progress.say(f"Writing {target}")
        write = partial(write_page, bundle) if options.html else bundle.write
        manifest = _write(write, target, force=options.force)
    _report(target, manifest, as_json=options.json, as_page=options.html)
    return 0


def _target(output: str | None, bundle: Bundle, suffix: str) -> str:
    """Return the file to write: the given one, or one with a default name in the given folder."""
    if output and not os.path.isdir(output):
        return output
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", bundle.name)[:_MAX_NAME_CHARS].strip("-.")
    day = moment(bundle.started_epoch_ms)[:10]
    return os.path.join(output or "", f"lastword-{plain or 'session'}-{day}{suffix}")


def _check_target(target: str, *, force: bool) -> None:
    if os.path.isdir(target):
        return
    folder = os.path.dirname(target) or "."
    if not os.path.isdir(folder):
        raise UnusableError(f"there is no folder {folder}; create it first, or name another file")
    if not os.path.lexists(target):
        return
    if not force:
        raise UnusableError(
            f"{target} already exists; use --force to overwrite it, or name another file"
        )
    if not stat.S_ISREG(os.stat(target, follow_symlinks=False).st_mode):
        raise UnusableError(f"{target} is not an ordinary file; name another")


def _write(
    write: Callable[[IO[bytes]], dict[str, Any]], target: str, *, force: bool
) -> dict[str, Any]:
    """Write a temporary file beside the target, then rename it.

    Raises:
        StoreError: The disk does not allow it.
        UnusableError: The file has been created in the meantime.
    """
    folder = os.path.dirname(target) or "."
    try:
        number, draft = tempfile.mkstemp(prefix=".lastword-", suffix=".part", dir=folder)
    except OSError as error:
        raise StoreError(f"cannot write into {folder}: {_why(error)}") from error
    try:
        with os.fdopen(number, "wb") as file:
            manifest = write(file)
            file.flush()
            os.fsync(file.fileno())
        _name(draft, target, force=force)
    except FileExistsError:
        raise UnusableError(f"{target} exists now; use --force to overwrite it") from None
    except OSError as error:
        raise StoreError(f"cannot write {target}: {_why(error)}") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)
    return manifest


def _name(draft: str, target: str, *, force: bool) -> None:
    """Rename the finished file to its name.

    Raises:
        FileExistsError: The file exists, and must be kept.
        OSError: The disk does not allow it.
    """
    if not force:
        try:
            os.link(draft, target)  # unlike a rename, it never takes another's place
        except FileExistsError:
            raise
        except OSError:
            # A file system without links; it was looked at a moment ago.
            _check_target(target, force=False)
        else:
            return
    os.replace(draft, target)


def _why(error: OSError) -> str:
    return (error.strerror or "failed").lower()


def _report(target: str, manifest: dict[str, Any], *, as_json: bool, as_page: bool) -> None:
    if as_json:
        envelope.write({"file": os.path.abspath(target), "manifest": manifest})
        return
    sys.stdout.write(f"{target}\n")
    turns = counted(sum(manifest["counts"]["turns"].values()), "turn")
    entries = counted(sum(manifest["counts"]["entries"].values()), "entry")
    if as_page:
        content = f"Contents: one page with {turns} and {entries}, to open in a browser."
        read = "Read it before you attach it."
    else:
        content = (
            f"Contents: summary.md, to read; timeline.jsonl, with {entries} of {turns}; "
            "manifest.json, with versions and counts."
        )
        read = "Read summary.md before you attach the file."
    page = Page(colours=False, keeps_words=True)
    page.line(f"Written to {os.path.abspath(target)}")
    page.line(content)
    page.line(removal_words(manifest["redactions"]["when_exported"]))
    page.line(f"No prompt, no answer and no tool's content is in it. {read}")
    sys.stderr.write(page.drain())
