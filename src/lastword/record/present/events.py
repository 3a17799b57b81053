"""An entry as a page has it: the members of `lastword log --json`, and what a page needs beside.

Owns those: the entry's place, its run, and the sentence of a failure. A gateway tells its own in
the same shape. It is a module of its own because the sentence loads the redactor, which a list on
the terminal does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.failure import wording
from lastword.core.failure.payload import read_payload
from lastword.core.failure.taxonomy import DEFAULTS
from lastword.core.timeline.entry import Kind
from lastword.record.present import documents

if TYPE_CHECKING:
    from lastword.core.timeline.entry import Entry
    from lastword.record.reader import RecordedEntry


def event(recorded: RecordedEntry, run_number: int) -> dict[str, Any]:
    """An entry as a page has it: with its place, its run, and what to say of a failure."""
    told = documents.entry(recorded) | {"seq": recorded.id, "run": run_number}
    if recorded.entry.kind is Kind.ERROR:
        told["facts"] = recorded.entry.facts | {"sentence": sentence_of(recorded.entry)}
    return told


def sentence_of(failed: Entry) -> str:
    """What failed and what to do, in lastword's own words."""
    error = read_payload(failed.facts)
    return wording.own_sentence(error.type, error.action or DEFAULTS[error.type].action)
