"""Words that no table has: parts of machine-readable ones, and two plain ones close together."""

from __future__ import annotations

from lastword.core.classify import classify_text, tokens
from lastword.core.classify.concepts import CONCEPTS
from tests.kit.growth import costs_its_length
from tests.kit.rows import every


def test_the_tables_are_in_the_spelling_that_they_are_compared_in() -> None:
    for parts in tokens.PARTS.values():
        assert all(part.isalnum() and part == part.lower() for part in parts)
    for concept in CONCEPTS:
        for block in (concept.things, concept.happenings, concept.unless):
            assert block == block.lower()
            assert "  " not in block


@every("unit", ["model ", "request ", "connection server ", "token invalid ", "a"])
def test_a_megabyte_of_such_words_is_classified_in_linear_time(unit: str) -> None:
    assert costs_its_length(classify_text, unit * (1_000_000 // len(unit)))
