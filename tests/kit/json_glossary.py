"""The names in the JSON of the commands: one for each thing, whichever command says it.

Owns the glossary, and what is wrong with a document by it: `version` first, names in snake case
that stand here, and beside each moment in milliseconds the same in ISO 8601, UTC.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastword.core.failure.members import MEMBERS
from lastword.record.present.moments import FIXED_ELSEWHERE, moment

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = dict(
    line.split(": ", 1)
    for line in Path(__file__).with_name("json_names.txt").read_text("utf-8").splitlines()
) | {member.name: member.description for member in MEMBERS}
"""What each name means; a member of a failure's payload has its own description."""

OLDER_NAMES = {
    "check": {"agent": "command", "lastword": "lastword_version", "seconds": "duration_seconds"},
    "checks": {"mend": "advice"},
    "findings": {"says": "sentence", "do": "advice"},
    "scenarios": {"client": "advice"},
    "manifest": {"session": "session_id", "format": "version"},
    "runs": {"started": "started_at", "last": "last_at"},
    "sessions": {"sessionId": "session_id"},
}
"""Names that stay beside the new ones, by the command or the member that they stand in."""

COUNTED = frozenset(
    {
        *("by_agent", "by_day", "by_type", "requests_by_agent", "requests_by_type"),
        *("turns_by_day", "connections_ended", "questions", "sessions_ended", "counts"),
        *("costs", "providers", "statuses", "summary", "when_exported", "when_recorded"),
        "capabilities",
    }
)
"""Members whose own members are named by what is counted."""

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def problems_in(document: Any, command: str) -> list[str]:
    if not isinstance(document, dict) or next(iter(document), "") != "version":
        return [f"{command}: version does not come first"]
    found = [] if document["version"] == 1 else [f"{command}: its version is not 1"]
    return found + list(_problems(document, command, command))


def _problems(value: Any, member: str, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _problems(each, member, path)
    if not isinstance(value, dict):
        return
    older = OLDER_NAMES.get(member, {})
    for name, each in value.items():
        where = f"{path}.{name}"
        if name in older:
            if value.get(older[name]) != each:
                yield f"{where} is not what {older[name]} is"
            continue
        if name not in NAMES or not SNAKE.fullmatch(name):
            yield f"{where} is not in the glossary"
        yield from _moment(value, name, where)
        if name not in FIXED_ELSEWHERE and name not in COUNTED:
            yield from _problems(each, name, where)


def _moment(holder: dict[str, Any], name: str, where: str) -> Iterator[str]:
    if name.endswith("_epoch_ms"):
        plain = name.removesuffix("_epoch_ms")
        beside = plain if plain == "at" or plain.endswith("_at") else f"{plain}_at"
        if holder.get(beside) != (None if holder[name] is None else moment(holder[name])):
            yield f"{where} has no {beside} beside it"
    if (name == "at" or name.endswith("_at")) and not ISO.fullmatch(str(holder[name])):
        yield f"{where} is {holder[name]!r}, and no moment in ISO 8601, UTC"
