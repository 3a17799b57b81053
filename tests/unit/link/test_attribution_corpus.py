"""Attribution: what is written beside a turn decides nothing unless it is about its model call."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.kit.attribution import failing, honest, table
from tests.kit.attribution.rows import AGENTS, Row, samples

if TYPE_CHECKING:
    from tests.kit.attribution.table import Problem

pytestmark = pytest.mark.no_cover  # other tests reach these lines


HONEST = honest.rows()
FAILING = failing.rows()


@pytest.fixture(scope="module", params=["briefly", pytest.param("whole", marks=pytest.mark.matrix)])
def measured(request: pytest.FixtureRequest) -> list[Problem]:
    rows = [*HONEST, *FAILING]
    if request.param == "briefly":  # rows of a kind stand together: a third of each
        return table.measure(rows[::3], briefly=True)
    return table.measure(rows)


def of(measured: list[Problem], kind: str, rows: list[Row]) -> list[str]:
    ids = {row.id for row in rows}
    return [f"{p.row.id}: {p.details}" for p in measured if p.kind == kind and p.row.id in ids]


def test_no_honest_turn_is_shown_as_failing_or_as_tried_again(measured: list[Problem]) -> None:
    assert of(measured, "accused", HONEST) == []


def test_no_honest_prompt_is_sent_again(measured: list[Problem]) -> None:
    assert of(measured, "resent", HONEST) == []


def test_no_fault_of_the_agents_own_is_shown_as_the_providers(measured: list[Problem]) -> None:
    assert (of(measured, "accused", FAILING), of(measured, "blamed", FAILING)) == ([], [])


def test_nothing_is_sent_again_because_of_what_stands_beside_it(measured: list[Problem]) -> None:
    assert of(measured, "resent", FAILING) == []


def test_what_the_provider_says_is_recognised_beside_other_words(measured: list[Problem]) -> None:
    assert of(measured, "missed", FAILING) == []


def test_the_corpus_is_as_large_and_as_various_as_it_is_meant_to_be() -> None:
    groups = Counter(row.group for row in [*HONEST, *FAILING])
    assert len(HONEST) >= 400
    assert groups["own fault"] + groups["rethrown"] >= 200
    assert groups["provider"] >= 60
    assert groups["sessions"] >= 100
    assert len({sample.source for sample in samples("programs.txt")}) >= 60
    assert len({sample.source for sample in samples("quotes.txt")}) >= 10
    assert {row.agent for row in HONEST} == set(AGENTS) == {row.agent for row in FAILING}
    assert len({row.id for row in [*HONEST, *FAILING]}) == len(HONEST) + len(FAILING)
