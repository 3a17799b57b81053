"""Quirks: facts about single agents, clients and providers, one row each.

Owns the members that every row has. Each table is a module named for the code that reads it, so
that nothing else needs to be imported: `agents`, `prose`, `wire`, `streams`, `journals`, `clients`,
`recipes`. Rows are data: the code that uses a table reads frames, files or the environment by it.
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
        version: the version in which it was read or observed. A row does not claim anything about
            other versions: they must work no worse than without the row.
    """

    name: str
    evidence: str
    version: str
