"""Exceptions whose own methods raise: their turn is answered, and the process lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kit.client import TYPED

if TYPE_CHECKING:
    from tests.process.inprocess.conftest import Start

METHODS = ("__str__", "__repr__", "__getattr__", "__notes__")
RAISED = ("exit", "interrupt", "cancel", "base", "recursion")
PLACES = ("alone", "cause", "context", "note", "group", "nested")


@pytest.mark.parametrize("method", METHODS)
def test_whatever_the_methods_of_an_exception_raise_its_turn_is_answered(
    start: Start, method: str
) -> None:
    client = start().opened(**TYPED)
    for raises in RAISED:
        for place in PLACES:
            turn = client.turn(f"fail hostile {method} {raises} {place}")
            assert "error" in turn.answer, (raises, place)
            assert turn.answer["error"]["message"]
    assert client.turn("say").text == "Hello."
    assert client.end() == 0


@pytest.mark.parametrize("raises", RAISED)
def test_any_other_request_that_fails_so_is_answered_too(start: Start, raises: str) -> None:
    client = start().opened()
    for method in METHODS:
        answer = client.call("_fail", how=f"hostile {method} {raises} alone")
        assert answer["error"]["code"] == -32603
    assert client.turn("say").text == "Hello."
    assert client.end() == 0
