"""One session as three documents: a summary to read, a timeline, and a manifest.

Owns their contents and order, so that the same record gives the same bytes. Everything passes the
scrubber; `cli.export` decides where the bytes go.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import msgspec

from lastword._version import __version__
from lastword.core.redact.printable import printable_json
from lastword.core.timeline.entry import Entry, Kind
from lastword.record import reader
from lastword.record.present.markdown import Document, summary
from lastword.record.present.moments import moment

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from lastword.record.present.scrub import Scrubber
    from lastword.record.reader import Part, RecordedEntry, RecordedRun

FORMAT = 1
_STAMP = (1980, 1, 1, 0, 0, 0)
"""The earliest moment that a zip file can have: when it was made stays private."""

_ABOUT_RUN = (
    *("run_id", "door", "program", "lastword_version", "python_version", "platform"),
    *("client", "client_version", "agent", "agent_version", "ended", "lost_entries"),
)
_CAPABILITIES = {Kind.CLIENT_ATTACHED: "client", Kind.AGENT_READY: "agent"}


class Bundle:
    """A session, ready to be written."""

    def __init__(self, record: sqlite3.Connection, part: Part, scrubber: Scrubber) -> None:
        self._record = record
        self._parts = reader.with_earlier_parts(record, part)
        self._scrub = scrubber
        self._kinds: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._redacted_before: Counter[str] = Counter()
        self._sides: dict[int, dict[str, Any]] = {}
        self.session_id: str = scrubber.text(part.session_id)
        self.name: str = self.session_id or part.run_id
        self.started_epoch_ms: int = self._runs()[0].started_epoch_ms

    def summary(self) -> str:
        """Return the document for a person."""
        document = Document(self.session_id, self._scrub)
        for part, run in zip(self._parts, self._runs(), strict=True):
            turns = reader.turns_of(self._record, part)
            self._outcomes.update(turn.outcome for turn in turns)
            document.add(run, turns, partial(reader.entries_of, self._record, part))
        return summary(document)

    def write(self, file: IO[bytes]) -> dict[str, Any]:
        """Write everything as a zip file, and return the manifest."""
        with zipfile.ZipFile(file, "w") as bundle:
            with bundle.open(_member("summary.md"), "w") as document:
                document.write(self.summary().encode(errors="replace"))
            with bundle.open(_member("timeline.jsonl"), "w", force_zip64=True) as document:
                for number, recorded in self.entries():
                    document.write(encoded(_line(number, recorded)) + b"\n")
            manifest = self.manifest()
            with bundle.open(_member("manifest.json"), "w") as document:
                document.write(msgspec.json.format(encoded(manifest)) + b"\n")
        return manifest

    def entries(self) -> Iterator[tuple[int, RecordedEntry]]:
        """Yield every entry, scrubbed, with its run's number from 1; count for the manifest."""
        for number, part in enumerate(self._parts, 1):
            for recorded in reader.entries_of(self._record, part):
                scrubbed = self._scrubbed(recorded)
                self._note(part, recorded.entry, scrubbed.entry)
                yield number, scrubbed

    def _scrubbed(self, recorded: RecordedEntry) -> RecordedEntry:
        entry = recorded.entry
        scrubbed_entry = msgspec.structs.replace(
            entry,
            session_id=None if entry.session_id is None else self.session_id,
            request_id=entry.request_id and self._scrub.text(entry.request_id),
            facts=self._scrub.facts(entry.facts),
        )
        return msgspec.structs.replace(recorded, entry=scrubbed_entry)

    def _note(self, part: Part, entry: Entry, scrubbed: Entry) -> None:
        self._kinds[entry.kind.value] += 1
        redactions = entry.facts.get("redactions")
        if isinstance(redactions, dict):
            self._redacted_before.update(
                {k: v for k, v in redactions.items() if isinstance(v, int)}
            )
        if entry.kind in _CAPABILITIES:
            side = _CAPABILITIES[entry.kind]
            self._sides.setdefault(part.run, {})[side] = scrubbed.facts

    def manifest(self) -> dict[str, Any]:
        """Return versions, counts, and what was removed from the summary and entries so far."""
        return {
            "version": FORMAT,
            "format": FORMAT,
            "made_by": f"lastword {__version__}",
            "session_id": self.session_id,
            "session": self.session_id,
            "runs": [self._about(run) for run in self._runs()],
            "counts": {
                "turns": dict(sorted(self._outcomes.items())),
                "entries": dict(sorted(self._kinds.items())),
            },
            "redactions": {
                "when_recorded": dict(sorted(self._redacted_before.items())),
                "when_exported": dict(sorted(self._scrub.counts.items())),
            },
        }

    def _about(self, run: RecordedRun) -> dict[str, Any]:
        about = {name: self._scrub.facts(getattr(run, name)) for name in _ABOUT_RUN}
        began, last = moment(run.started_epoch_ms), moment(run.last_epoch_ms)
        about |= {"started_at": began, "last_at": last, "started": began, "last": last}
        return about | {"capabilities": self._sides.get(run.id, {})}

    def _runs(self) -> list[RecordedRun]:
        return [reader.run_of(self._record, part.run) for part in self._parts]


def _line(number: int, recorded: RecordedEntry) -> dict[str, Any]:
    """Return an entry as in `lastword log --json`; `seconds` and `session` are older names."""
    entry = recorded.entry
    return {
        "run": number,
        "at": moment(recorded.at_epoch_ms),
        "at_seconds": round(entry.at_seconds, 6),
        "seconds": round(entry.at_seconds, 6),
        "kind": entry.kind.value,
        "level": recorded.level,
        "session_id": entry.session_id,
        "session": entry.session_id,
        "turn": entry.turn,
        "request_id": entry.request_id,
        "facts": entry.facts,
    }


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, date_time=_STAMP)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    member.create_system = 3  # as on any Unix, wherever it is made
    return member


def encoded(value: object) -> bytes:
    """Return JSON that can be looked at in a terminal."""
    return printable_json(msgspec.json.encode(value).decode()).encode()
