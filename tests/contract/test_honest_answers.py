"""Every honest answer that speaks of errors, from every agent: none is taken for a failure."""

from __future__ import annotations

import pytest

from tests.kit.honest_answers import honest_answers
from tests.unit.link.test_decision_prose_by_form import AGENTS, passes


# Each answer from one agent: tests/unit/link/test_decision_prose_by_form.py.
@pytest.mark.matrix
@pytest.mark.parametrize("name", AGENTS)
def test_every_honest_answer_of_every_agent_passes(name: str) -> None:
    for question, answer in honest_answers():
        assert passes(answer, question, name), answer
