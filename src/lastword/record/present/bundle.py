"""One session as three documents, fit to be published: Markdown, a timeline, and a manifest.

Owns their contents, layout and order, so that the same record gives the same bytes; and the
scrubbing of everything in them: secrets once more (`core.redact.redactor` finds them), and the
names of this user and this machine. No text from another party can become Markdown. `cli.export`
decides where the bytes go, and `core.timeline.summary` has the sentences about a turn.
"""

from __future__ import annotations

import os
import re
import socket
import zipfile
from collections import Counter
from datetime import UTC
from enum import StrEnum
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import msgspec

from lastword._version import __version__
from lastword.core.failure import taxonomy
from lastword.core.failure.phrases import counted, duration, moment_of, plain, times
from lastword.core.failure.sentences import CANCELLED_BY
from lastword.core.redact.environment_secrets import secrets_of
from lastword.core.redact.named_values import is_denied
from lastword.core.redact.printable import one_line, printable_json
from lastword.core.redact.redactor import CUT, Redactor
from lastword.core.redact.shapes import REDACTED
from lastword.core.timeline import entry as timeline_entry
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import GATEWAY
from lastword.core.timeline.summary import QUOTED
from lastword.platform.identity import account_names
from lastword.record import reader
from lastword.record.present.documents import how_it_ended, sentences_of, summary_of, words
from lastword.record.present.moments import moment
from lastword.record.turns import CANCELLED, FAILED, OPEN

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lastword.record.reader import Part, RecordedEntry, RecordedRun, RecordedTurn


MAX_DEPTH = 16
MIN_NAME_CHARS = 3
_MAX_CLEAN = 4096
_LEFT_OUT = frozenset({"pid", "cwd"})

_COMMON = frozenset(
    {"root", "user", "users", "admin", "ubuntu", "debian", "localhost", "home", "nobody", "runner"}
)
"""Names of accounts and machines that identify nobody and occur in ordinary sentences."""


class Scrubber:
    """Removes secrets and the names of a user and a machine, and counts what it removed."""

    def __init__(self, secrets: tuple[str, ...], names: Mapping[str, str]) -> None:
        """Create it; `names` maps each name to remove to the rule under which it is counted."""
        self.counts: dict[str, int] = {}
        self._redactor = Redactor(secrets, counts=self.counts)
        identifying = {
            name: rule
            for name, rule in names.items()
            if len(plain := name.strip().lower()) >= MIN_NAME_CHARS
            and plain not in _COMMON | _OWN_WORDS
        }
        self._names = [
            (re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", re.IGNORECASE), rule)
            for name, rule in sorted(identifying.items(), key=lambda each: (-len(each[0]), each[0]))
        ]
        self._clean: set[str] = set()

    def text(self, text: str) -> str:
        """Return the text, scrubbed."""
        if text in self._clean:
            return text
        scrubbed = self._redactor(text)
        for pattern, rule in self._names:
            scrubbed, count = pattern.subn(REDACTED, scrubbed)
            if count:
                self._redactor.count(rule, count)
        # The record's own words occur again and again.
        if scrubbed == text and len(self._clean) < _MAX_CLEAN:
            self._clean.add(text)
        return scrubbed

    def facts(self, value: Any, depth: int = 0) -> Any:
        """Return a JSON value, scrubbed."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict | list) and depth >= MAX_DEPTH:
            return CUT
        if isinstance(value, list):
            return [self.facts(each, depth + 1) for each in value]
        if isinstance(value, dict):
            return {
                self.text(key): self._member(key, each, depth)
                for key, each in value.items()
                if key not in _LEFT_OUT
            }
        return value

    def _member(self, key: str, value: Any, depth: int) -> Any:
        if key == "redactions" and isinstance(value, dict):
            # Its members are named like secrets, and are only counts.
            items = value.items()
            if all(rule in _RULES and isinstance(count, int) for rule, count in items):
                return value
        if is_denied(key, value):
            self._redactor.count("secret_name")
            return REDACTED
        return self.facts(value, depth + 1)


_RULES = {
    "account": "accounts",
    "api_key": "API keys",
    "authorization": "authorization headers",
    "cookie": "cookies",
    "email": "e-mail addresses",
    "jwt": "signed tokens (JWT)",
    "named_secret": "values that are named as secrets",
    "option": "secrets of command lines",
    "private_key": "private keys",
    "token": "tokens",
    "url_credentials": "passwords in addresses",
    "url_parameter": "secrets in addresses",
    "webhook": "webhook addresses",
    "hook": "what your own rule finds",
    "hook_failed": "texts of which your own rule could say nothing",
    "user_name": "the user's name",
    "host_name": "this machine's name",
    "home_directory": "home folders",
    "known_value": "secrets of this environment",
    "secret_name": "fields with the name of a secret",
}
"""What a rule removes, in words."""


def removal_words(counts: Mapping[str, int]) -> str:
    """Return what a scrubber removed, as a sentence."""
    if not sum(counts.values()):
        return (
            "Nothing had to be removed: no secret was detected, and no name of you or this machine."
        )
    return f"Taken out: {by_rule(counts)}."


def by_rule(counts: Mapping[str, int]) -> str:
    """Return how often each kind of text was removed, as a list in words; empty if nothing was."""
    parts = [
        f"{plain(rule, _RULES)} ({times(count)})"
        for rule, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        if count
    ]
    return ", ".join(parts)


def scrubber_here() -> Scrubber:
    """Return the scrubber for this user, on this machine."""
    home = os.path.expanduser("~").rstrip("/")
    users = {os.environ.get("USER", ""), os.environ.get("LOGNAME", ""), os.path.basename(home)}
    users |= account_names()
    host = socket.gethostname()
    names = dict.fromkeys(users, "user_name")
    names |= dict.fromkeys((host, host.partition(".")[0]), "host_name")
    if home.count("/") > 1:
        names[home] = "home_directory"
    return Scrubber(secrets_of(os.environ), names)


_OWN_WORDS = {"lastword"} | {
    part
    for module in (timeline_entry, taxonomy)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, StrEnum)
    for word in kind
    for part in (word.value, *word.value.split("_"))
}
"""The record's own vocabulary, which stays even if somebody is called Agent."""


MAX_SUMMARIZED_TURNS = 10
"""Turns that did not end well and are described in sentences: the latest."""

MAX_LISTED_TURNS = 100
MAX_OTHER_EVENTS = 50
"""Entries of a gateway that are described in words: the latest."""

_MAX_NAME_CHARS = 120
_DOORS = {
    "run": "in front of the agent (lastword run)",
    "guard": "in the agent's own process (lastword.guard)",
    "serve": "in the agent's own process (lastword.serve)",
    "gateway": "as a gateway (lastword gateway)",
}
"""How lastword was used in a run, by its recorded word."""

_NOT_WELL = (FAILED, OPEN, CANCELLED)


class Document:
    """The lines of a summary, as its runs are added."""

    def __init__(self, session_id: str, scrubber: Scrubber) -> None:
        self._scrub = scrubber
        title = f"# Session {self._code(session_id)}" if session_id else "# Before a session"
        self.lines: list[str] = [title, ""]

    def add(
        self,
        run: RecordedRun,
        turns: list[RecordedTurn],
        entries: Callable[[], Iterable[RecordedEntry]],
    ) -> None:
        agent = self._side(run.agent or run.program, run.agent_version)
        client = self._side(run.client, run.client_version) if run.client else "not known"
        ended = "" if run.ended else ", which did not say that it ended"
        when = f"{_minute(run.started_epoch_ms)} to {_minute(run.last_epoch_ms)}"
        lastword = f"lastword {run.lastword_version}, {_DOORS.get(run.door, run.door)}"
        failed = sum(turn.outcome == FAILED for turn in turns)
        of_which = f", of which {failed:,} failed" if failed else ""
        self.lines += [
            f"- Agent: {agent}",
            f"- Client: {client}",
            f"- {lastword}; Python {run.python_version} on {run.platform}",
            f"- Run {self._code(run.run_id)}, {when}{ended}",
            f"- {counted(len(turns), 'turn')}{of_which}",
        ]
        if run.lost_entries:
            self.lines.append(f"- {counted(run.lost_entries, 'entry')} could not be written")
        self.lines.append("")
        if turns:
            self._add_turns(turns, entries)
        else:
            for each in entries():
                facts = each.entry.facts
                if each.entry.kind is Kind.ERROR:
                    method = self._code(str(facts.get("method", "")))
                    text = self._plain(sentences_of(facts).text)
                    incident = self._code(str(facts.get("incident_id", "")))
                    self.lines.append(f"- {method} failed. {text} Incident {incident}.")
            self.lines.append("")
        if run.door == "gateway":
            self._add_gateway([each for each in entries() if each.entry.kind in GATEWAY])

    def _add_turns(
        self, turns: list[RecordedTurn], entries: Callable[[], Iterable[RecordedEntry]]
    ) -> None:
        """Add the latest turns as a table, and those that did not end well in sentences."""
        if len(turns) > MAX_LISTED_TURNS:
            self.lines += [f"The latest {MAX_LISTED_TURNS} turns:", ""]
        self.lines += [
            "| Turn | Began | Ended | After | First output after | Tools | Retries |",
            "|---|---|---|---|---|---|---|",
        ]
        for turn in turns[-MAX_LISTED_TURNS:]:
            ending = how_it_ended(turn)
            if turn.outcome == FAILED and turn.reason:
                ending = f"{ending}: {plain(turn.reason)}"
            elif turn.outcome == CANCELLED and turn.by:
                ending = f"{ending} by {plain(turn.by, CANCELLED_BY)}"
            waits = f" (waited {duration(turn.wait_seconds)})" if turn.wait_seconds else ""
            cells = (
                str(turn.turn),
                f"{moment_of(turn.started_epoch_ms, UTC):%H:%M:%S} UTC",
                self._code(ending),
                duration(turn.duration_seconds),
                duration(turn.output_after_seconds),
                str(turn.tools or ""),
                f"{turn.retries}{waits}" if turn.retries else "",
            )
            self.lines.append(f"| {' | '.join(cells)} |")
        self.lines.append("")
        bad = [turn for turn in turns if turn.outcome in _NOT_WELL]
        # The cancels of an impatient user must not hide what failed.
        listed = sorted(bad, key=lambda turn: (turn.outcome != CANCELLED, turn.turn))
        listed = sorted(listed[-MAX_SUMMARIZED_TURNS:], key=lambda turn: turn.turn)
        if len(bad) > len(listed):
            chosen = "the latest, failures before cancelled ones"
            lead = f"{len(listed)} of {len(bad)} turns that did not end well ({chosen}):"
            self.lines += [lead, ""]
        recorded = list(entries()) if listed else []
        for turn in listed:
            summary = summary_of(turn, recorded)
            self.lines += [f"## Turn {turn.turn}", "", self._plain(summary.text), ""]
            for label, value in summary.facts:
                shown = self._code(value) if label in QUOTED else self._plain(value)
                self.lines.append(f"- {label}: {shown}")
            self.lines.append(f"- How sure the cause is: {summary.confidence}")
            self.lines += [f"- Not recorded: {self._plain(word)}" for word in summary.missing]
            self.lines.append("")

    def _add_gateway(self, events: list[RecordedEntry]) -> None:
        """Add the latest events of the session and its viewers behind a gateway."""
        if not events:
            return
        left_out = len(events) - MAX_OTHER_EVENTS
        more = f" (the latest {MAX_OTHER_EVENTS} of {len(events)} entries)" if left_out > 0 else ""
        self.lines += [f"Behind the gateway{more}:", ""]
        for each in events[-MAX_OTHER_EVENTS:]:
            when = f"{moment_of(each.at_epoch_ms, UTC):%H:%M:%S} UTC"
            self.lines.append(f"- {when}: {self._plain(words(each.entry))}")
        self.lines.append("")

    def _side(self, name: str | None, version: str | None) -> str:
        return self._code(" ".join(word for word in (name, version) if word))

    def _code(self, text: str) -> str:
        """Return another party's text as code, in which nothing is Markdown."""
        plain = one_line(self._scrub.text(text)).replace("`", "'").replace("|", "/")
        return f"`{plain.strip()[:_MAX_NAME_CHARS] or '-'}`"

    def _plain(self, text: str) -> str:
        # A sentence of ours may quote a name, which must not become a link, picture or mention.
        plain = one_line(self._scrub.text(text)).replace("@", "(at)")
        return re.sub(r"([\\`*_\[\]<>#|!])", r"\\\1", plain)


def _minute(epoch_ms: int) -> str:
    return f"{moment_of(epoch_ms, UTC):%Y-%m-%d %H:%M} UTC"


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
        document = Document(self.session_id, self._scrub)
        for part, run in zip(self._parts, self._runs(), strict=True):
            turns = reader.turns_of(self._record, part)
            self._outcomes.update(turn.outcome for turn in turns)
            document.add(run, turns, partial(reader.entries_of, self._record, part))
        last = (
            "No prompt, no answer and no tool's content is recorded. Secrets and the names of "
            "the user and the machine were removed: `manifest.json` counts them, `timeline.jsonl` "
            "has the rest."
        )
        return "\n".join([*document.lines, last, ""])

    def write(self, file: IO[bytes]) -> dict[str, Any]:
        """Write everything as a zip file, and return the manifest."""
        with zipfile.ZipFile(file, "w") as bundle:
            with bundle.open(_member("summary.md"), "w") as document:
                document.write(self.summary().encode(errors="replace"))
            with bundle.open(_member("timeline.jsonl"), "w", force_zip64=True) as document:
                for number, recorded in self.entries():
                    entry = recorded.entry
                    line = {  # as in `lastword log --json`; `seconds` and `session` are older names
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
                    document.write(encoded(line) + b"\n")
            manifest = self.manifest()
            with bundle.open(_member("manifest.json"), "w") as document:
                document.write(msgspec.json.format(encoded(manifest)) + b"\n")
        return manifest

    def entries(self) -> Iterator[tuple[int, RecordedEntry]]:
        """Yield every entry, scrubbed, with its run's number from 1; count for the manifest."""
        for number, part in enumerate(self._parts, 1):
            for recorded in reader.entries_of(self._record, part):
                entry = recorded.entry
                scrubbed = msgspec.structs.replace(
                    entry,
                    session_id=None if entry.session_id is None else self.session_id,
                    request_id=entry.request_id and self._scrub.text(entry.request_id),
                    facts=self._scrub.facts(entry.facts),
                )
                self._kinds[entry.kind.value] += 1
                redactions = entry.facts.get("redactions")
                if isinstance(redactions, dict):
                    counts = {k: v for k, v in redactions.items() if isinstance(v, int)}
                    self._redacted_before.update(counts)
                if entry.kind in _CAPABILITIES:
                    side = _CAPABILITIES[entry.kind]
                    self._sides.setdefault(part.run, {})[side] = scrubbed.facts
                yield number, msgspec.structs.replace(recorded, entry=scrubbed)

    def manifest(self) -> dict[str, Any]:
        """Return versions, counts, and what was removed from the summary and entries so far."""
        runs = []
        for run in self._runs():
            about = {name: self._scrub.facts(getattr(run, name)) for name in _ABOUT_RUN}
            began, last = moment(run.started_epoch_ms), moment(run.last_epoch_ms)
            about |= {"started_at": began, "last_at": last, "started": began, "last": last}
            runs.append(about | {"capabilities": self._sides.get(run.id, {})})
        return {
            "version": FORMAT,
            "format": FORMAT,
            "made_by": f"lastword {__version__}",
            "session_id": self.session_id,
            "session": self.session_id,
            "runs": runs,
            "counts": {
                "turns": dict(sorted(self._outcomes.items())),
                "entries": dict(sorted(self._kinds.items())),
            },
            "redactions": {
                "when_recorded": dict(sorted(self._redacted_before.items())),
                "when_exported": dict(sorted(self._scrub.counts.items())),
            },
        }

    def _runs(self) -> list[RecordedRun]:
        return [reader.run_of(self._record, part.run) for part in self._parts]


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, date_time=_STAMP)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    member.create_system = 3  # as on any Unix, wherever it is made
    return member


def encoded(value: object) -> bytes:
    """Return JSON that is safe to show in a terminal."""
    return printable_json(msgspec.json.encode(value).decode()).encode()
