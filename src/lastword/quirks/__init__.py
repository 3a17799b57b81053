"""Quirks: what is known of single agents, clients and providers, one row each.

Owns what every row says about itself. Each table is a module named for the code that reads it, so
that nothing more need be imported: `agents`, `prose`, `wire`, `streams`, `journals`, `clients`,
`pointing`. Rows are data: the code that uses a table reads frames, files or the environment by it.
Nothing here imports another part of lastword, so every part may import this.

Private: names may change in any version.
"""

from __future__ import annotations

import msgspec


class Quirk(msgspec.Struct, frozen=True, kw_only=True):
    """Something that one agent, client or provider does its own way.

    Attributes:
        name: the key of the row, unique within its table.
        evidence: where it was read or observed.
        version: the version in which it was read or observed. A row says nothing of other versions:
            if a version has changed, it must fare no worse than without a row.
    """

    name: str
    evidence: str
    version: str
