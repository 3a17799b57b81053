"""Quirks: facts about single agents, clients and providers, one row each.

Owns the members that every row has, and the reading of `protocol/failures`, whose rows classify
failures of agents and providers. The others are in `quirks.json`, by table; `journals` and the
recipes of `setup`, which are patterns and files, are in Python. Each module has the tables that are
used together, and the meaning of their rows: `agents`, `wire`, `clients`, `journals`, `setup`. The
code that uses a table reads frames, files or the environment. Nothing here imports another part of
lastword, so every part may import this.

Private: names may change in any version.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec


class Quirk(msgspec.Struct, frozen=True, kw_only=True):
    """A peculiarity of one agent, client or provider.

    Attributes:
        name: the key of the row, unique within its table.
        evidence: where it was read or observed.
        version: the version in which it was read or observed. A row claims nothing about other
            versions, which must work no worse than without the row.
    """

    name: str
    evidence: str
    version: str


Row = TypeVar("Row", bound=Quirk)


class FailureGroup(msgspec.Struct, frozen=True):
    """Rows of `protocol/failures` that mean the same; its README.md describes the members.

    A row is the text to match, or an object with it as `match` and its differences from the group.
    """

    tier: str
    rows: list[Any]
    type: str = ""
    reason: str | None = None
    retryable: bool | None = None
    agent: str = ""
    name: str = ""
    source: str = ""
    version: str = ""

    @property
    def matches(self) -> tuple[Any, ...]:
        """The text, or members, that each row matches."""
        return tuple(row["match"] if isinstance(row, dict) else row for row in self.rows)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Each row as an object, with the group's values as defaults."""
        of_group = {"type": self.type, "reason": self.reason, "retryable": self.retryable}
        rows = (row if isinstance(row, dict) else {"match": row} for row in self.rows)
        return [of_group | row for row in rows]

    @property
    def alternatives(self) -> str:
        """A pattern for any of the rows: their patterns in order, or their words, longest first."""
        patterns = [row["pattern"] for row in self.entries if "pattern" in row]
        words = patterns or sorted(self.matches, key=len, reverse=True)
        return f"(?:{'|'.join(words)})"


class _FailureFile(msgspec.Struct, frozen=True):
    groups: list[FailureGroup]


def failure_groups(kind: str) -> list[FailureGroup]:
    """Return the groups of a file of `protocol/failures`, in their order of precedence.

    A wheel has the folder within the package. A checkout has it beside `src`.
    """
    package = __path__[0].removesuffix("quirks")
    name = f"protocol/failures/{kind}.json"
    try:
        file = open(f"{package}{name}", "rb")  # noqa: SIM115 - closed below
    except FileNotFoundError:
        file = open(f"{package}../../{name}", "rb")  # noqa: SIM115
    with file:
        return msgspec.json.decode(file.read(), type=_FailureFile).groups


with open(f"{__path__[0]}/quirks.json", "rb") as _file:
    _TABLES = msgspec.json.decode(_file.read(), type=dict[str, msgspec.Raw])


AGENT_GROUPS = [*failure_groups("endings"), *failure_groups("meta")]


def rows(table: str, shape: type[Row]) -> tuple[Row, ...]:
    """Return a table of `quirks.json` or of the agents in `protocol/failures`, in this shape.

    The tests check the types; msgspec would take 2 ms of each start for that.
    """
    if table in _TABLES:
        members = msgspec.json.decode(_TABLES[table])
    else:
        # A failure's row has what it matches as its members.
        members = [
            {"name": each.name or each.agent, "evidence": each.source, "version": each.version}
            | ({"agent": each.agent} if each.name and each.agent else {})
            | (match if isinstance(match, dict) else {"openings": each.matches})
            for each in AGENT_GROUPS
            if each.tier == table
            for match in (each.matches if isinstance(each.matches[0], dict) else each.matches[:1])
        ]
    return tuple(shape(**_frozen(row)) for row in members)


def _frozen(value: Any) -> Any:
    """Return plain values with tuples instead of lists."""
    if isinstance(value, dict):
        return {name: _frozen(member) for name, member in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
