"""Quirks: what is known of single agents, clients and providers, one row each.

Owns what every row says of itself. A table's module is named for what reads it, so that nobody
loads more than that: `agents`, `prose`, `wire`, `streams`, `journals`, `clients`, `pointing`. Rows
are data: reading a frame, a file or an environment by them is their readers' part. Nothing here
imports another part of lastword, so every part may read from here.

Private: its names may change with any version.
"""

from __future__ import annotations

import msgspec


class Quirk(msgspec.Struct, frozen=True, kw_only=True):
    """Something that one agent, client or provider does its own way.

    Attributes:
        name: what the row is found by; no other row of its table has it.
        evidence: where that was read or seen.
        version: of what it was read or seen in. A row says nothing of other versions: one that has
            changed must be no worse than one without a row.
    """

    name: str
    evidence: str
    version: str
