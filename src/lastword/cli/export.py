"""`lastword export`: one session in one file, for a bug report.

Owns the command line, the exit status (0; 1 if the record or the disk does not allow it; 2 for
invalid arguments), the guarantee that no file is left half written or overwritten, and the form of
the self-contained web page: what it shows without scripts, the data for the script's timeline, and
the policy that blocks everything else. `Bundle` owns the content, and the absence of secrets.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
import stat
import sys
import tempfile
from collections import deque
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from lastword.cli import envelope
from lastword.cli.page import Page, Progress
from lastword.cli.parser import CommandParser, add_arguments
from lastword.cli.record_access import (
    UnusableError,
    add_record_option,
    add_session,
    answer,
    chosen_session,
    path_of,
)
from lastword.core.failure.payload import read_payload
from lastword.core.failure.phrases import counted, duration
from lastword.core.failure.sentences import TITLES
from lastword.core.redact.printable import one_line
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.summary import fault_of
from lastword.errors import StoreError
from lastword.record import reader
from lastword.record.present.bundle import Bundle, by_rule, encoded, removal_words, scrubber_here
from lastword.record.present.documents import page_event, sentences_of, words
from lastword.record.present.moments import moment
from lastword.record.reader import in_time
from lastword.web.files import record_files, record_script

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from lastword.record.reader import RecordedEntry


MAX_ENTRIES = 20_000
"""At most this many, the latest: a browser has to hold them all. The zip file has every entry."""

MAX_FAILURES = 10
"""How many failures are listed above the timeline, the latest."""

_ENDS = (Kind.ERROR, Kind.ANSWER)
_Numbered = tuple[int, "RecordedEntry"]


def write_page(bundle: Bundle, file: IO[bytes]) -> dict[str, Any]:
    """Write the page; return its manifest."""
    summary = bundle.summary()
    latest: deque[_Numbered] = deque(maxlen=MAX_ENTRIES)
    began = 0
    for each in bundle.entries():
        began = min(began or each[1].at_epoch_ms, each[1].at_epoch_ms)
        latest.append(each)
    manifest = bundle.manifest()
    ordered = sorted(latest, key=lambda each: in_time(each[1]))
    for part in _parts(bundle.session_id, summary, ordered, manifest, began):
        file.write(part.encode(errors="replace"))
    return manifest


def _parts(
    session_id: str,
    summary: str,
    entries: Sequence[_Numbered],
    manifest: dict[str, Any],
    began_epoch_ms: int,
) -> Iterator[str]:
    script = record_script("record_file.js")
    style = record_files()["style.css"].body.decode()
    events = [page_event(recorded, number) for number, recorded in entries]
    name = session_id or "no session"
    yield _HEAD.format(
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'",
        title=_plain(name[:80]),
        style=style,
    )
    failures = [recorded for _, recorded in entries if recorded.entry.kind is Kind.ERROR]
    if failures:
        yield "<h2>Failures</h2>\n<ul>\n"
        yield from map(_failure, failures[-MAX_FAILURES:])
        yield "</ul>\n"
        if more := max(0, len(failures) - MAX_FAILURES):
            yield f'<p class="quiet">{counted(more, "earlier failure")} below.</p>\n'
    yield from _about(manifest, entries, began_epoch_ms)
    yield '<div id="timeline">\n'
    for (run, turn), group in groupby(entries, lambda each: (each[0], each[1].entry.turn)):
        in_turn = [recorded for _, recorded in group]
        yield f'<section class="turn-log">\n<h2>{_heading(run, turn, in_turn)}</h2>\n<ol>\n'
        for recorded in in_turn:
            incident = _incident(recorded.entry.facts)
            anchor = f' id="{_anchor(incident)}"' if incident else ""
            at = moment(recorded.at_epoch_ms)
            clock = at[11:19] if at.endswith("Z") else at
            line = _plain(words(recorded.entry))
            yield f"<li{anchor}><time>{clock}</time> <bdi>{line}</bdi></li>\n"
        yield "</ol>\n</section>\n"
    yield "</div>\n"
    text = msgspec.json.format(encoded(manifest)).decode()
    yield _MANIFEST.format(manifest=html.escape(text))
    data = encoded({"summary": summary, "events": events}).decode()
    # Nothing in it ends the script or begins a comment.
    data = data.replace("<", "\\u003c").replace(">", "\\u003e")
    yield _DATA.format(data=data, script=script)


def _about(
    manifest: dict[str, Any], entries: Sequence[_Numbered], began_epoch_ms: int
) -> Iterator[str]:
    run = manifest["runs"][-1]
    sides = [run["agent"] or run["program"], run["agent_version"]]
    sides += ["in", run["client"], run["client_version"]] if run["client"] else []
    recorded_by = f"lastword {run['lastword_version']}, Python {run['python_version']}"
    recorded_by += f", {run['platform']}"
    counts = manifest["counts"]
    turns = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts["turns"].items())
    count = sum(counts["entries"].values())
    left_out = "" if count == len(entries) else f", of which the latest {len(entries)} are here"
    rows = [
        ("Agent", " ".join(filter(None, sides))),
        ("From", moment(began_epoch_ms) if entries else manifest["runs"][0]["started_at"]),
        ("To", moment(entries[-1][1].at_epoch_ms) if entries else run["last_at"]),
        ("Turns", turns),
        ("Entries", f"{count}{left_out}"),
        ("Taken out when recorded", by_rule(manifest["redactions"]["when_recorded"]) or "nothing"),
        ("Taken out when exported", by_rule(manifest["redactions"]["when_exported"]) or "nothing"),
        ("Recorded by", recorded_by),
        ("Made by", manifest["made_by"]),
    ]
    yield '<dl class="facts">\n'
    for name, value in rows:
        if value:
            yield f"<div><dt>{name}</dt><dd><bdi>{_plain(value)}</bdi></dd></div>\n"
    yield '</dl>\n<p class="buttons" id="copies"></p>\n'


def _failure(recorded: RecordedEntry) -> str:
    entry = recorded.entry
    title = TITLES[read_payload(entry.facts).type]
    where = f"Turn {entry.turn}: " if entry.turn is not None else ""
    sentence = f"<strong>{title}</strong>. {html.escape(sentences_of(entry.facts).text)}"
    fault = fault_of(entry.facts)
    if fault:
        sentence += f" {html.escape(fault)}"
    incident = _incident(entry.facts)
    if incident:
        sentence += f' <a href="#{_anchor(incident)}">Incident <bdi>{_plain(incident)}</bdi></a>'
    return f"<li>{where}{sentence}</li>\n"


def _heading(run: int, turn: int | None, events: Sequence[RecordedEntry]) -> str:
    began = f" <small>{moment(events[0].at_epoch_ms)}</small>"
    if turn is None:
        return f"Run {run}, outside of turns{began}"
    ended = next((each for each in events if each.entry.kind in _ENDS), None)
    if events[0].entry.kind is not Kind.PROMPT:
        return f"Turn {turn}, continued{began}"
    if ended is None:
        return f"Turn {turn}{began}"
    how = "failed" if ended.entry.kind is Kind.ERROR else "ended"
    took = duration(ended.entry.at_seconds - events[0].entry.at_seconds)
    return f"Turn {turn} {how} after {took}{began}"


def _incident(facts: dict[str, Any]) -> str:
    incident = facts.get("incident_id")
    return incident if isinstance(incident, str) else ""


def _anchor(incident: str) -> str:
    return html.escape(f"incident={quote(incident, safe='')}")


def _plain(text: str) -> str:
    return html.escape(one_line(text))


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · lastword</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><span class="brand"><span aria-hidden="true">“</span>lastword</span></header>
<main id="main" tabindex="-1">
<div>
<h1><bdi>{title}</bdi></h1>
"""

_MANIFEST = """<details class="bar">
<summary>Versions, counts, and what was removed</summary>
<div class="code"><div class="text">{manifest}</div></div>
</details>
</div>
</main>
"""

_DATA = """<script type="application/json" id="record">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""

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


_OPTIONS = """\
-o, --output FILE
    write to this file or folder; - prints the summary only (default: a name from the session and
    the date, in this folder)
--html  write one web page instead of a zip file
--force  overwrite an existing file
--json  print the file's path and manifest as JSON
"""


def parser() -> CommandParser:
    made = CommandParser("export", usage="[options] SESSION | --last", about=_ABOUT, ends=_EPILOG)
    add_session(made)
    add_arguments(made, _OPTIONS)
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
    if options.json:
        envelope.write({"file": os.path.abspath(target), "manifest": manifest})
        return 0
    sys.stdout.write(f"{target}\n")
    turns = counted(sum(manifest["counts"]["turns"].values()), "turn")
    entries = counted(sum(manifest["counts"]["entries"].values()), "entry")
    if options.html:
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
        if force:
            os.replace(draft, target)
        else:
            try:
                os.link(draft, target)  # unlike a rename, it never takes another's place
            except FileExistsError:
                raise
            except OSError:
                # A file system without links. The target was free a moment ago.
                _check_target(target, force=False)
                os.replace(draft, target)
    except FileExistsError:
        raise UnusableError(f"{target} exists now; use --force to overwrite it") from None
    except OSError as error:
        raise StoreError(f"cannot write {target}: {_why(error)}") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)
    return manifest


def _why(error: OSError) -> str:
    return (error.strerror or "failed").lower()
