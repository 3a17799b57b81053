"""A session as one self-contained web page in one file.

Owns the file's form: what is shown without scripts, the data from which the script builds a
timeline, and the policy that blocks everything else. Its content, and the absence of secrets, are
the responsibility of `Bundle`.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections import deque
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from lastword.client.display import TITLES
from lastword.core.failure.payload import read_payload
from lastword.core.failure.phrases import counted, duration
from lastword.core.redact.printable import one_line
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.summary import fault_of
from lastword.record.present.bundle import encoded
from lastword.record.present.events import event
from lastword.record.present.moments import moment
from lastword.record.present.scrub import by_rule
from lastword.record.present.stories import sentences_of
from lastword.record.present.words import words
from lastword.record.reader import in_time
from lastword.web.files import record_files, record_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lastword.record.present.bundle import Bundle
    from lastword.record.reader import RecordedEntry

MAX_ENTRIES = 20_000
"""The latest; a browser has to hold them all. The zip file has every one."""

MAX_FAILURES = 10
"""That are named above the timeline, the latest of them."""

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
    events = [event(recorded, number) for number, recorded in entries]
    name = session_id or "no session"
    yield _HEAD.format(
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'",
        title=_plain(name[:80]),
        style=style,
    )
    yield from _failures(entries)
    yield from _about(manifest, entries, began_epoch_ms)
    yield '<div id="timeline">\n'
    yield from _timeline(entries)
    yield "</div>\n"
    text = msgspec.json.format(encoded(manifest)).decode()
    yield _MANIFEST.format(manifest=html.escape(text))
    yield _DATA.format(data=_within_script({"summary": summary, "events": events}), script=script)


def _about(
    manifest: dict[str, Any], entries: Sequence[_Numbered], began_epoch_ms: int
) -> Iterator[str]:
    run = manifest["runs"][-1]
    sides = [run["agent"] or run["program"], run["agent_version"]]
    sides += ["in", run["client"], run["client_version"]] if run["client"] else []
    rows = [
        ("Agent", " ".join(filter(None, sides))),
        ("From", moment(began_epoch_ms) if entries else manifest["runs"][0]["started_at"]),
        ("To", moment(entries[-1][1].at_epoch_ms) if entries else run["last_at"]),
        ("Turns", _counts(manifest["counts"]["turns"])),
        ("Entries", _entries(sum(manifest["counts"]["entries"].values()), len(entries))),
        ("Taken out when recorded", by_rule(manifest["redactions"]["when_recorded"]) or "nothing"),
        ("Taken out when exported", by_rule(manifest["redactions"]["when_exported"]) or "nothing"),
        ("Recorded by", _recorded_by(run)),
        ("Made by", manifest["made_by"]),
    ]
    yield '<dl class="facts">\n'
    for name, value in rows:
        if value:
            yield f"<div><dt>{name}</dt><dd><bdi>{_plain(value)}</bdi></dd></div>\n"
    yield '</dl>\n<p class="buttons" id="copies"></p>\n'


def _recorded_by(run: dict[str, Any]) -> str:
    return f"lastword {run['lastword_version']}, Python {run['python_version']}, {run['platform']}"


def _failures(entries: Sequence[_Numbered]) -> Iterator[str]:
    failures = [recorded for _, recorded in entries if recorded.entry.kind is Kind.ERROR]
    if failures:
        yield "<h2>Failures</h2>\n<ul>\n"
        yield from map(_failure, failures[-MAX_FAILURES:])
        yield "</ul>\n"
        more = len(failures) - MAX_FAILURES
        if more > 0:
            yield f'<p class="quiet">{counted(more, "earlier failure")} below.</p>\n'


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


def _timeline(entries: Iterable[_Numbered]) -> Iterator[str]:
    for (run, turn), group in groupby(entries, lambda each: (each[0], each[1].entry.turn)):
        events = [recorded for _, recorded in group]
        yield f'<section class="turn-log">\n<h2>{_heading(run, turn, events)}</h2>\n<ol>\n'
        for recorded in events:
            incident = _incident(recorded.entry.facts)
            anchor = f' id="{_anchor(incident)}"' if incident else ""
            at = moment(recorded.at_epoch_ms)
            clock = at[11:19] if at.endswith("Z") else at
            line = _plain(words(recorded.entry))
            yield f"<li{anchor}><time>{clock}</time> <bdi>{line}</bdi></li>\n"
        yield "</ol>\n</section>\n"


def _heading(run: int, turn: int | None, events: Sequence[RecordedEntry]) -> str:
    began = f" <small>{moment(events[0].at_epoch_ms)}</small>"
    if turn is None:
        return f"Run {run}, outside of turns{began}"
    ended = next((each for each in events if each.entry.kind in _ENDS), None)
    if events[0].entry.kind is not Kind.PROMPT:
        return f"Turn {turn} goes on{began}"
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


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())


def _entries(count: int, shown: int) -> str:
    return str(count) if count == shown else f"{count}, of which the latest {shown} are here"


def _plain(text: str) -> str:
    return html.escape(one_line(text))


def _within_script(value: object) -> str:
    """Return JSON in which nothing ends a script or begins a comment."""
    return encoded(value).decode().replace("<", "\\u003c").replace(">", "\\u003e")


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
<summary>Versions, counts, and what was taken out</summary>
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
