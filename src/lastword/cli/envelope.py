"""The JSON envelope: one object, printed by every command that has `--json`.

Owns the envelope: `version` comes first, names are in snake case, and every time is ISO 8601 in
UTC. Each command owns its own members; `tests/kit/json_names.txt` lists their names.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.redact.printable import printable_json
from lastword.record.present.moments import with_moments

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROGRAM = re.compile(r"^lastword(?: [a-z]+){0,2}: ")

VERSION = 1
"""The version of every document. Within a version, members are only added."""


def write(members: Mapping[str, Any] | msgspec.Struct, *, indent: int = 2) -> None:
    """Write one document; without an indent, on one line."""
    sys.stdout.write(document(members, indent=indent))


def write_error(text: str, exit_status: int) -> None:
    """Write the document of a command that failed, with its error messages."""
    sentences = [_PROGRAM.sub("", line) for line in text.strip().splitlines()]
    write({"error": {"message": "\n".join(sentences), "exit_status": exit_status}})


def document(members: Mapping[str, Any] | msgspec.Struct, *, indent: int = 2) -> str:
    """Return one document, with every character printable."""
    values = {"version": VERSION, **with_moments(msgspec.to_builtins(members))}
    text = printable_json(json.dumps(values, ensure_ascii=False))
    if indent:
        try:
            text = msgspec.json.format(text, indent=indent)
        except msgspec.DecodeError:
            # An argument may contain half a character, which msgspec refuses; `json` escapes it.
            text = json.dumps(json.loads(text), indent=indent)
    return f"{text}\n"
