"""Write the kinds of a session's events for the two pages, from `core/timeline/data/events.txt`.

`python protocol/generate_events.py` writes them anew; a test holds that what is there is what this
makes.
"""

from __future__ import annotations

import json
from pathlib import Path

from lastword.core.timeline.session_events import LOG_KINDS, SESSION_EVENTS, Group

PAGES = Path(__file__).resolve().parent.parent / "src" / "lastword" / "web"
FILE = PAGES / "shared" / "session_events.js"

HEAD = """// Generated from core/timeline/data/events.txt by protocol/generate_events.py.
// What may happen to a session: what it is called, and which filter shows it.
"""


def made() -> str:
    """What the file is to hold."""
    labels = {kind.value: spec.label for kind, spec in SESSION_EVENTS.items()}
    filters = [[group.value, _shown(group)] for group in Group]
    return "\n".join(
        (
            HEAD,
            "/** @type {Record<string, string>} */",
            f"export const KINDS = {_lines(labels)};\n",
            "/** What a gateway's log has. */",
            f"export const LOG_KINDS = {json.dumps([kind.value for kind in LOG_KINDS])};\n",
            "/** What the pages' filters offer: a name, and the kinds that it shows. */",
            "/** @type {[string, string[]][]} */",
            f"export const FILTERS = {_lines(filters)};\n",
        )
    )


def _shown(group: Group) -> list[str]:
    groups = {group, Group.FAILURES} if group is Group.RETRIES else {group}
    return [kind.value for kind, spec in SESSION_EVENTS.items() if groups & {*spec.groups}]


def _lines(values: dict[str, str] | list[object]) -> str:
    if isinstance(values, dict):
        rows = [f"{name}: {json.dumps(value)}" for name, value in values.items()]
        return "{\n" + "".join(f"  {row},\n" for row in rows) + "}"
    return "[\n" + "".join(f"  {json.dumps(value)},\n" for value in values) + "]"


if __name__ == "__main__":
    FILE.write_text(made(), encoding="utf-8")
