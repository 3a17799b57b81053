"""The reader and the view come to what `protocol/reading/vectors.json` has."""

from __future__ import annotations

import json
import re
from typing import Any

from lastword.client import describe, read_error
from lastword.core.failure.taxonomy import Action, ErrorType, RetrySafety
from tests.kit.places import PROTOCOL
from tests.kit.reading_vectors import FOLDER, document, expect_error, expect_view
from tests.kit.rows import every

DESCRIPTION = (FOLDER / "README.md").read_text(encoding="utf-8")


@every("vector", document()["read"])
def test_a_message_is_read_as_its_vector_defines(vector: dict[str, Any]) -> None:
    error = read_error(vector["given"])
    expect_error(vector, error and error.payload())


@every("vector", document()["view"])
def test_a_failure_is_shown_as_its_vector_defines(vector: dict[str, Any]) -> None:
    error = read_error(vector["error"])
    assert error is not None
    assert error.payload() == vector["error"], "it is given as read"
    moments = (vector["now_ms"] / 1000, vector["received_ms"] / 1000)
    seen = describe(error, now=moments[0], received=moments[1])
    shown = {name: getattr(seen, name) for name in vector["view"]}
    expect_view(vector, json.loads(json.dumps(shown)))


def test_the_vectors_keep_their_format_which_the_description_has() -> None:
    assert set(document()) == {"read", "view"}
    for name, members in (
        ("read", {"id", "requirements", "note", "given", "error"}),
        ("view", {"id", "note", "error", "received_ms", "now_ms", "view"}),
    ):
        vectors = document()[name]
        assert {frozenset(vector) for vector in vectors} == {frozenset(members)}
        for member in ("id", "note"):
            assert len({vector[member] for vector in vectors}) == len(vectors)
        for member in members:
            assert f"`{member}`" in DESCRIPTION
    [shown] = {tuple(vector["view"]) for vector in document()["view"]}
    _, _, table = DESCRIPTION.partition("| of the view |")
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert tuple(re.findall(r"`(\w+)`", " ".join(rows))) == shown


def test_every_rule_of_reading_and_every_word_of_a_failure_has_a_vector() -> None:
    rules = set(re.findall(r"^`(READ-\d+)`", (PROTOCOL / "README.md").read_text(), re.MULTILINE))
    assert {one for vector in document()["read"] for one in vector["requirements"]} == rules
    errors = [vector["error"] for vector in document()["view"]]
    assert {error["type"] for error in errors} == set(ErrorType)
    assert {error.get("action") for error in errors} > set(Action)
    assert {error.get("retry_safety") for error in errors} > set(RetrySafety)


def test_the_vectors_are_plain_ascii_a_line_each() -> None:
    text = (FOLDER / "vectors.json").read_text(encoding="ascii")
    lines = [json.loads(line.rstrip(",")) for line in text.splitlines() if line.startswith("    {")]
    assert lines == [vector for name in ("read", "view") for vector in document()[name]]
