"""The list of requirements, the contract's text, the vectors and the tests speak of the same."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.failure.taxonomy import DEFAULTS, Action, ErrorType, Origin, Phase, RetrySafety
from lastword.core.link.connection import LinkOptions
from tests.kit.places import PROTOCOL, ROOT
from tests.kit.reconnect_data import schedules
from tests.kit.rows import every
from tests.kit.vector_format import MATCHERS, OPTIONS, STEP_KINDS, load_vectors

if TYPE_CHECKING:
    from pathlib import Path

VECTORS_TEXT = (PROTOCOL / "vectors" / "README.md").read_text()
REQUIREMENTS: list[dict[str, Any]] = json.loads((PROTOCOL / "requirements.json").read_text())
BY_ID = {requirement["id"]: requirement for requirement in REQUIREMENTS}

LEVELS = {"MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY"}
SIDES = {"agent", "client", "intermediary"}


def _from_the_list(marker: re.Match[str]) -> str:
    """The requirements whose sentences are in the list, where the contract takes them in."""
    ids = list(BY_ID)
    found = REQUIREMENTS[ids.index(marker[1]) : ids.index(marker[2]) + 1]
    return "\n".join(f"`{one['id']}` {one['text']}" for one in found)


TEXT = re.sub(
    r"(?m)^<!-- requirements: (\S+) to (\S+) -->$",
    _from_the_list,
    (PROTOCOL / "README.md").read_text() + (PROTOCOL / "gateway.md").read_text(),
)


@cache
def paragraphs() -> dict[str, str]:
    """Each requirement of the text, and its words."""
    found: dict[str, str] = {}
    for name, words in re.findall(r"(?m)^`([A-Z][A-Z0-9]*-\d+|G\d)` (.+)", TEXT):
        assert name not in found, f"{name} is in the text twice"
        found[name] = words
    return found


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    defined = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, defined))


def test_the_list_and_the_text_have_the_same_requirements_in_the_same_order() -> None:
    assert [requirement["id"] for requirement in REQUIREMENTS] == list(paragraphs())


@every("name", BY_ID)
def test_a_requirement_is_complete(name: str) -> None:
    requirement = BY_ID[name]
    words = paragraphs()[name]
    assert requirement.keys() - {"text"} == {"id", "level", "side", "tests"}
    assert requirement["level"] in LEVELS
    assert requirement["side"] in SIDES
    assert re.search(rf"\b{requirement['level']}\b", words)
    assert words.endswith((".", ":"))
    assert len(requirement["tests"]) == len(set(requirement["tests"]))


@every("name", BY_ID)
def test_every_test_that_a_requirement_names_exists(name: str) -> None:
    for test in BY_ID[name]["tests"]:
        if "::" not in test:
            named = load_vectors().keys() | schedules().keys()
            assert test in named, f"no vector is called {test}"
            continue
        path, _, function = test.partition("::")
        assert (ROOT / path).is_file(), f"there is no {path}"
        assert function.partition("[")[0] in functions(ROOT / path), f"{path} has no {function}"


@every("name", load_vectors())
def test_a_vector_and_its_requirements_name_each_other(name: str) -> None:
    vector = load_vectors()[name]
    assert vector.requirements
    for requirement in vector.requirements:
        assert name in BY_ID[requirement]["tests"]
    naming = {one["id"] for one in REQUIREMENTS if name in one["tests"]}
    assert naming == set(vector.requirements)


@every("name", schedules())
def test_a_schedule_and_its_requirements_name_each_other(name: str) -> None:
    assert name not in load_vectors()
    naming = [one["id"] for one in REQUIREMENTS if name in one["tests"]]
    assert naming == sorted(schedules()[name]["requirements"], key=list(BY_ID).index)
    assert naming


def test_every_requirement_has_a_test() -> None:
    assert [item["id"] for item in REQUIREMENTS if not item["tests"]] == []


def test_the_text_refers_only_to_requirements_that_exist() -> None:
    named = set(re.findall(r"`([A-Z][A-Z0-9]*-\d+|G\d)`", TEXT))
    assert named == set(BY_ID)


def test_the_vocabulary_is_the_one_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (yes|no)\b", TEXT, re.MULTILINE)
    assert [name for name, _ in rows] == [error_type.value for error_type in ErrorType]
    assert {name: answer == "yes" for name, answer in rows} == {
        error_type.value: DEFAULTS[error_type].retryable for error_type in ErrorType
    }


@pytest.mark.parametrize(
    ("member", "words"),
    [("origin", Origin), ("phase", Phase), ("retry_safety", RetrySafety), ("action", Action)],
)
def test_the_closed_sets_are_the_ones_of_the_code(member: str, words: type[Any]) -> None:
    row = re.search(rf"^\| `{member}` \| (.+) \|$", TEXT, re.MULTILINE)
    assert row is not None
    assert re.findall(r"`(\w+)`", row[1]) == [word.value for word in words]


def test_the_vector_format_page_describes_every_option_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", VECTORS_TEXT, re.MULTILINE))
    given = {name: rows[name].strip("` ") for name in OPTIONS}
    defaults = LinkOptions()
    for name, said in given.items():
        assert json.loads(said) == getattr(defaults, name)


def test_the_vector_format_page_describes_every_step_and_matcher() -> None:
    for name in STEP_KINDS | MATCHERS | {"$unordered", "$frame", "$none", "$repeat"}:
        assert f'{{"{name}": ' in VECTORS_TEXT, f"{name} is not described"
