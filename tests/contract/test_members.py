"""The payload's members: one table, and every place that has them by name."""

from __future__ import annotations

import ast
import inspect
import json
import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

from lastword.core.failure import wording
from lastword.core.failure.members import BY_NAME, MEMBERS, ValueForm
from lastword.core.failure.taxonomy import AgentError
from lastword.core.link import entries
from protocol import generate_payload
from protocol.typescript import generate, generate_tables
from tests.kit.places import PROTOCOL
from tests.kit.places import ROOT as REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

RUN = "run python protocol/generate_payload.py"
(CARDS,) = (REPOSITORY / "src").rglob("cards.js")
(COMPILED,) = (REPOSITORY / "src").rglob("agent_error.js")


def test_the_committed_files_are_those_that_the_command_generates() -> None:
    files = generate_payload.made()
    schema = json.loads(generate_payload.SCHEMA.read_text(encoding="utf-8"))
    _, mark, by_hand = generate.TARGET.read_text(encoding="utf-8").partition(generate.MARK)
    files[generate.TARGET] = f"{generate.generated(schema)}\n{mark}{by_hand}"
    _, mark, by_hand = COMPILED.read_text(encoding="utf-8").partition(generate.COMPILED_MARK)
    files[COMPILED] = f"{generate.compiled(schema)}{mark}{by_hand}"
    files[generate_tables.TARGET] = generate_tables.made()
    for path, text in files.items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path}: {RUN} and protocol/typescript/generate_tables.py"
        )
    assert [*schema["$defs"]["AgentErrorPayload"]["properties"]] == [*BY_NAME], RUN
    assert set(AgentError.__struct_fields__) == {*BY_NAME, "extra"}, RUN


def named(path: Path, pattern: str) -> set[str]:
    """The members that a part of a file names."""
    found = re.search(pattern, path.read_text(encoding="utf-8"), re.DOTALL)
    return set(re.findall(r"[a-z_]+", found.group(1))) & {*BY_NAME} if found else set()


def composed() -> set[str]:
    """The members that are filled in from a verdict and a turn."""
    calls = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(wording.compose)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "AgentError"
    ]
    return {keyword.arg or "" for call in calls for keyword in call.keywords}


def of_form(*forms: ValueForm) -> set[str]:
    return {member.name for member in MEMBERS if member.form in forms}


class Place(NamedTuple):
    """A place that names members by hand: those that it has, and those that it is to have."""

    where: str
    has: set[str]
    needs: set[str]


PLACES = (
    Place("core/failure/wording.py, `compose`: a value, or None", composed(), {*BY_NAME}),
    Place(
        "core/link/entries.py, `_TEXT`: recorded only with --record-text",
        {*entries._TEXT},
        {member.name for member in MEMBERS if member.someones_text},
    ),
    Place(
        "protocol/README.md, VOC-2, closed sets",
        named(PROTOCOL / "README.md", r"\n`VOC-2` (.*?)\n`VOC-3`"),
        of_form(ValueForm.WORD) - {"type"},
    ),
    Place(
        "the page's cards.js, `failureDetails`",
        set(re.findall(r"error\.(\w+)", CARDS.read_text(encoding="utf-8"))),
        # A card's title and sentence have the others.
        {*BY_NAME} - {"source", "retryable", "retry_safety"},
    ),
)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.where.partition(":")[0])
def test_every_place_that_lists_the_members_by_hand_has_them_all(place: Place) -> None:
    missing = sorted(place.needs - place.has)
    assert not missing, f"{place.where}: add {', '.join(missing)}"
