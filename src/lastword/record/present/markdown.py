"""The summary of an exported session, in Markdown for an issue.

Owns its layout. `core.timeline.summary` has the sentences about a turn; all text from other parties
passes the scrubber, and none of it can become Markdown.
"""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING

from lastword.core.failure.phrases import counted, duration, moment_of, plain
from lastword.core.failure.sentences import CANCELLED_BY
from lastword.core.redact.printable import one_line
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import GATEWAY
from lastword.core.timeline.summary import QUOTED
from lastword.record.present.sections import how_it_ended
from lastword.record.present.stories import sentences_of, summary_of
from lastword.record.present.words import words
from lastword.record.turns import CANCELLED, FAILED, OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lastword.record.present.scrub import Scrubber
    from lastword.record.reader import RecordedEntry, RecordedRun, RecordedTurn

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
"""By which way a run came, by its recorded word."""

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
        """Add a run's part of the session."""
        self._about(run, turns)
        if not turns:
            self._requests(entries())
        else:
            self._turns(turns, entries)
        if run.door == "gateway":
            self._gateway(entries())

    def _turns(
        self, turns: list[RecordedTurn], entries: Callable[[], Iterable[RecordedEntry]]
    ) -> None:
        self._table(turns)
        bad = [turn for turn in turns if turn.outcome in _NOT_WELL]
        # The cancels of an impatient user must not hide what failed.
        listed = sorted(bad, key=lambda turn: (turn.outcome != CANCELLED, turn.turn))
        listed = sorted(listed[-MAX_SUMMARIZED_TURNS:], key=lambda turn: turn.turn)
        if len(bad) > len(listed):
            chosen = "the latest, failures before cancelled ones"
            lead = f"{len(listed)} of {len(bad)} turns that did not end well ({chosen}):"
            self.lines += [lead, ""]
        if listed:
            recorded = list(entries())
            for turn in listed:
                self._add_turn(turn, recorded)

    def _about(self, run: RecordedRun, turns: list[RecordedTurn]) -> None:
        agent = self._side(run.agent or run.program, run.agent_version)
        client = self._side(run.client, run.client_version) if run.client else "not known"
        ended = "" if run.ended else ", which did not say that it ended"
        when = f"{_minute(run.started_epoch_ms)} to {_minute(run.last_epoch_ms)}"
        lastword = f"lastword {run.lastword_version}, {_DOORS.get(run.door, run.door)}"
        self.lines += [
            f"- Agent: {agent}",
            f"- Client: {client}",
            f"- {lastword}; Python {run.python_version} on {run.platform}",
            f"- Run {self._code(run.run_id)}, {when}{ended}",
            f"- {counted(len(turns), 'turn')}{_failed(turns)}",
        ]
        if run.lost_entries:
            self.lines.append(f"- {counted(run.lost_entries, 'entry')} could not be written")
        self.lines.append("")

    def _table(self, turns: list[RecordedTurn]) -> None:
        if len(turns) > MAX_LISTED_TURNS:
            self.lines += [f"The latest {MAX_LISTED_TURNS} turns:", ""]
        self.lines += [
            "| Turn | Began | Ended | After | First output after | Tools | Retries |",
            "|---|---|---|---|---|---|---|",
        ]
        for turn in turns[-MAX_LISTED_TURNS:]:
            waits = f" (waited {duration(turn.wait_seconds)})" if turn.wait_seconds else ""
            cells = (
                str(turn.turn),
                f"{moment_of(turn.started_epoch_ms, UTC):%H:%M:%S} UTC",
                self._code(self._ended(turn)),
                duration(turn.duration_seconds),
                duration(turn.output_after_seconds),
                str(turn.tools or ""),
                f"{turn.retries}{waits}" if turn.retries else "",
            )
            self.lines.append(f"| {' | '.join(cells)} |")
        self.lines.append("")

    def _requests(self, recorded: Iterable[RecordedEntry]) -> None:
        """Add the failures of requests outside turns."""
        for each in recorded:
            facts = each.entry.facts
            if each.entry.kind is Kind.ERROR:
                method, incident = str(facts.get("method", "")), str(facts.get("incident_id", ""))
                text = f"{self._plain(sentences_of(facts).text)} Incident {self._code(incident)}."
                self.lines.append(f"- {self._code(method)} failed. {text}")
        self.lines.append("")

    def _gateway(self, recorded: Iterable[RecordedEntry]) -> None:
        """Add the events of the session and its viewers behind a gateway."""
        events = [each for each in recorded if each.entry.kind in GATEWAY]
        if not events:
            return
        left_out = len(events) - MAX_OTHER_EVENTS
        more = f" (the latest {MAX_OTHER_EVENTS} of {len(events)} entries)" if left_out > 0 else ""
        self.lines += [f"Behind the gateway{more}:", ""]
        for each in events[-MAX_OTHER_EVENTS:]:
            when = f"{moment_of(each.at_epoch_ms, UTC):%H:%M:%S} UTC"
            self.lines.append(f"- {when}: {self._plain(words(each.entry))}")
        self.lines.append("")

    def _ended(self, turn: RecordedTurn) -> str:
        ending = how_it_ended(turn)
        if turn.outcome == FAILED and turn.reason:
            return f"{ending}: {plain(turn.reason)}"
        if turn.outcome == CANCELLED and turn.by:
            return f"{ending} by {plain(turn.by, CANCELLED_BY)}"
        return ending

    def _add_turn(self, turn: RecordedTurn, recorded: list[RecordedEntry]) -> None:
        summary = summary_of(turn, recorded)
        self.lines += [f"## Turn {turn.turn}", "", self._plain(summary.text), ""]
        for label, value in summary.facts:
            shown = self._code(value) if label in QUOTED else self._plain(value)
            self.lines.append(f"- {label}: {shown}")
        self.lines.append(f"- How sure the cause is: {summary.confidence}")
        self.lines += [f"- Not recorded: {self._plain(word)}" for word in summary.missing]
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


def summary(document: Document) -> str:
    """Return the whole text."""
    last = (
        "No prompt, no answer and no tool's content is recorded. Secrets, and the names of the "
        "user and the machine, were taken out; `manifest.json` counts what, `timeline.jsonl` has "
        "the rest."
    )
    return "\n".join([*document.lines, last, ""])


def _failed(turns: list[RecordedTurn]) -> str:
    failed = sum(turn.outcome == FAILED for turn in turns)
    return f", of which {failed:,} failed" if failed else ""


def _minute(epoch_ms: int) -> str:
    return f"{moment_of(epoch_ms, UTC):%Y-%m-%d %H:%M} UTC"
