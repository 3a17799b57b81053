"""The demo's sentences: there is one for every word of the vocabulary."""

from __future__ import annotations

from lastword.cli.demo import FAULT, SAFE, DemoTurn, facts, left_with, shown_by_zed
from lastword.core.failure.taxonomy import AgentError, ErrorType, Origin, RetrySafety


def seen(*, answer: dict[str, object] | None = None, ended: bool = False) -> DemoTurn:
    return DemoTurn(answer=answer, typed=None, text="", frames=[], seconds=1.0, ended=ended)


def test_every_word_has_a_sentence() -> None:
    assert set(SAFE) == set(RetrySafety)
    assert set(FAULT) == set(Origin)
    assert all("_" not in said for said in (*SAFE.values(), *FAULT.values()))


def test_a_typed_error_is_explained_in_words() -> None:
    error = AgentError(
        type=ErrorType.AGENT_CRASH,
        message="It was killed.",
        retryable=True,
        retry_after_seconds=90,
        origin=Origin.PROCESS,
        retry_safety=RetrySafety.ASK,
        exit_signal="SIGKILL",
    )
    assert facts(error) == [
        ("Retry", "yes, after 1 min 30 s"),
        ("Safe to retry", "ask first, it may have acted"),
        ("Whose fault", "the agent's, ended by SIGKILL"),
    ]


def test_an_unknown_fact_is_left_out() -> None:
    assert facts(AgentError(type=ErrorType.UNKNOWN, message="No.", retryable=False)) == [
        ("Retry", "no")
    ]


def test_each_way_to_show_nothing_has_its_own_sentence() -> None:
    waits, done, gone = (
        left_with(turn, 1.5) for turn in (seen(), seen(answer={}), seen(ended=True))
    )
    assert waits[0] == "A spinner, after 1.5 s and for ever."
    assert done == ["Done. Nothing is shown, not even an error."]
    assert "no answer" in gone[0]


def test_zed_shows_details_if_they_are_the_only_data_of_an_internal_error() -> None:
    details = {"details": "Try again in 20 s."}
    assert shown_by_zed({"code": -32603, "message": "M", "data": details}) == "Try again in 20 s."
    assert shown_by_zed({"code": -32603, "message": "M"}) == "M"
    more = {**details, "kind": 1}
    assert shown_by_zed({"code": -32603, "message": "M", "data": more}).startswith("M: {\n")
    assert shown_by_zed({"code": -31050, "message": "M", "data": details}).startswith("M: {\n")
