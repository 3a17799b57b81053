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


def test_an_honest_turn_is_never_shown_as_failing_or_retried(measured: list[Problem]) -> None:
    assert of(measured, "accused", HONEST) == []


def test_an_honest_prompt_is_never_sent_again(measured: list[Problem]) -> None:
    assert of(measured, "resent", HONEST) == []


def test_an_agents_own_fault_is_never_shown_as_the_providers(measured: list[Problem]) -> None:
    assert (of(measured, "accused", FAILING), of(measured, "blamed", FAILING)) == ([], [])


def test_unrelated_text_never_causes_a_prompt_to_be_sent_again(measured: list[Problem]) -> None:
    assert of(measured, "resent", FAILING) == []


def test_the_providers_words_are_recognised_beside_others(measured: list[Problem]) -> None:
    assert of(measured, "missed", FAILING) == []


def test_the_corpus_is_as_large_and_as_varied_as_intended() -> None:
    groups = Counter(row.group for row in [*HONEST, *FAILING])
    assert len(HONEST) >= 400
    assert groups["own fault"] + groups["rethrown"] >= 200
    assert groups["provider"] >= 60
    assert groups["sessions"] >= 100
    assert len({sample.source for sample in samples("programs.txt")}) >= 60
    assert len({sample.source for sample in samples("quotes.txt")}) >= 10
    assert {row.agent for row in HONEST} == set(AGENTS) == {row.agent for row in FAILING}
    assert len({row.id for row in [*HONEST, *FAILING]}) == len(HONEST) + len(FAILING)
