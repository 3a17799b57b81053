"""An error that is named instead of shown: `429`, `rate_limit`, an incident, or its own words.

Owns what the argument of `lastword explain` can mean where no file has that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.cli.explain.case import Case, case_of_response, case_of_text
from lastword.core.classify.evidence import Evidence, Verdict
from lastword.core.failure.taxonomy import DEFAULTS, ErrorType, RetrySafety
from lastword.core.timeline.entry import Kind
from lastword.errors import StoreError
from lastword.record import reader
from lastword.record.paths import named_folder, state_folder, store_path

if TYPE_CHECKING:
    from collections.abc import Mapping

_FACTS = frozenset(Verdict.__struct_fields__)


def case_of_name(name: str, environment: Mapping[str, str]) -> Case | None:
    """Return the case that a word or a sentence means, or `None` if it is unknown.

    Args:
        name: What was given in place of a file.
        environment: Where the record of incidents is named.
    """
    if name.isascii() and name.isdigit():
        status = int(name) if len(name) == 3 else 0  # noqa: PLR2004 - digits of a status
        return case_of_response(status, {}, None) if 100 <= status <= 599 else None  # noqa: PLR2004
    word = name.strip().lower().replace("-", "_").replace(" ", "_")
    if word in {*ErrorType}:
        return _of_type(ErrorType(word))
    case = _of_incident(name.strip(), environment) or case_of_text(name)
    is_sentence = " " in name.strip()
    return case if is_sentence or case.verdict.type is not ErrorType.UNKNOWN else None


def _of_type(error_type: ErrorType) -> Case:
    verdict = Verdict(
        type=error_type,
        rule="type",
        retryable=DEFAULTS[error_type].retryable,
        origin=DEFAULTS[error_type].origin,
    )
    form = "the name of a type: this is what holds for most errors of it"
    return Case(form=form, value=error_type.value, evidence=Evidence(), verdict=verdict)


def _of_incident(incident: str, environment: Mapping[str, str]) -> Case | None:
    facts = _facts_of(incident, environment)
    if facts is None:
        return None
    members = {"rule": "record", "retryable": False}
    members |= {name: value for name, value in facts.items() if name in _FACTS}
    try:
        verdict = msgspec.convert(members, Verdict, strict=False)
        safety = msgspec.convert(facts.get("retry_safety"), RetrySafety | None)
    except msgspec.ValidationError:
        return None  # a newer lastword wrote it
    form = f"an incident in the record; `lastword log {incident}` shows its turn"
    return Case(form=form, value=facts, evidence=Evidence(), verdict=verdict, retry_safety=safety)


def _facts_of(incident: str, environment: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return what is recorded of an incident."""
    folder = environment.get("LASTWORD_RECORD")
    path = store_path(named_folder(folder) if folder else state_folder(environment))
    try:
        with reader.reading(path) as record:
            part = reader.find_whole(record, incident)
            entries = reader.entries_of(record, part) if part else ()
            return next(
                (
                    each.entry.facts
                    for each in entries
                    if each.entry.kind == Kind.ERROR
                    and each.entry.facts.get("incident_id") == incident
                ),
                None,
            )
    except StoreError:
        return None  # `lastword log` says what is wrong with it
