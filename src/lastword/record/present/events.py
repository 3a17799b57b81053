"""An entry for the web page: the members of `lastword log --json`, and what else a page needs.

Owns the latter: the entry's place, its run, and the sentence of a failure. A gateway sends its own
entries in the same shape. This is a separate module because the sentence imports the redactor,
which a list in the terminal does not need.
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
    """Return an entry for the page, with its place, its run, and the sentence of a failure."""
    document = documents.entry(recorded) | {"seq": recorded.id, "run": run_number}
    if recorded.entry.kind is Kind.ERROR:
        document["facts"] = recorded.entry.facts | {"sentence": sentence_of(recorded.entry)}
    return document


def sentence_of(failed: Entry) -> str:
    """Return what failed and what to do, in lastword's own words."""
    error = read_payload(failed.facts)
    action = error.action or DEFAULTS[error.type].action
    return wording.own_sentence(error.type, action, error.reason)
