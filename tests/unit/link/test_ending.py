"""The end of a turn: one module tells it, and why it failed is decided once."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from lastword.core.link import session
from lastword.core.link.decision import Decision, TurnSnapshot, decide
from tests.kit.sources import FILES, module_of, tree_of
from tests.kit.wire import error, greeted, prompt

STEPS = {"lastword.core.link.session", "lastword.core.link.ending"}
"""The turn's own module, and the one that ends turns."""


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> list[Decision]:
    """Every decision that is made, in order."""
    made: list[Decision] = []

    def counted(known: TurnSnapshot) -> Decision:
        made.append(decide(known))
        return made[-1]

    monkeypatch.setattr(session, "decide", counted)
    return made


@pytest.mark.parametrize("retry", [0, 2])
@pytest.mark.parametrize("sources", [False, True], ids=["wire alone", "with other sources"])
@pytest.mark.parametrize(
    "answer", [error(1, message="429 Too Many Requests"), error(1, message="Internal error")],
    ids=["named", "vague"],
)  # fmt: skip
def test_each_failed_answer_is_decided_once(
    decisions: list[Decision], answer: dict[str, Any], retry: int, *, sources: bool
) -> None:
    wire = greeted(retry=retry)
    wire.core.expects_hints(present=sources)
    wire.client(prompt(1)).agent(answer)
    wire.time(0.3)  # a vague answer is held back for a moment where other sources may speak
    assert len(decisions) == 1
    wire.client(prompt(2))  # gives up a wait, so that the first prompt fails for good
    assert len(decisions) == 1


def test_what_was_learned_while_an_answer_was_held_back_is_decided_anew(
    decisions: list[Decision],
) -> None:
    wire = greeted()
    wire.core.expects_hints(present=True)
    wire.client(prompt(1)).agent(error(1, message="Internal error"))
    wire.stderr(b"ERROR insufficient_quota\n").time(0.3)
    assert [made.cause.type.value for made in decisions] == ["internal", "budget"]


def test_only_the_endings_module_moves_a_turn() -> None:
    """`Turn.step` is called by its own class, and by the one module that ends turns."""
    callers = {
        module_of(file)
        for file in FILES
        if "core" in file.parts
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "step"
    }
    assert callers == STEPS
