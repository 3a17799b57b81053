"""`lastword run` on Windows: crashes and silent turns are reported, the rest is passed on."""

from __future__ import annotations

import json

from tests.windows.kit import Editor, agent, failure


def test_turns_of_two_sessions_that_end_well_are_passed_on() -> None:
    with Editor(*agent("fine")) as editor:
        first, second = editor.session(), editor.session()
        assert editor.prompt(first)["result"]["stopReason"] == "end_turn"
        assert editor.prompt(second)["result"]["stopReason"] == "end_turn"
        assert editor.leave() == 0


def test_an_access_violation_ends_the_turn_as_a_crash() -> None:
    with Editor(*agent("crash")) as editor:
        error = failure(editor.prompt(editor.session()))
        assert error["type"] == "agent_crash"
        assert "out of luck" in json.dumps(error)


def test_a_turn_without_a_word_is_a_silent_success() -> None:
    with Editor(*agent("silent")) as editor:
        assert failure(editor.prompt(editor.session()))["reason"] == "silent_success"
