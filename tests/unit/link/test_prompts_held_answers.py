"""Answers that are held back, and what comes meanwhile."""

from __future__ import annotations

from lastword.core.link.evidence import SILENT
from tests.kit.turn_signs import payload
from tests.kit.wire import prompt, prompted, result, second_version, update
from tests.unit.link.test_hints import EMPTY, begun, hint


def test_a_prompt_that_comes_meanwhile_lets_the_answer_go() -> None:
    wire = prompted().agent(result()).client(prompt(2))
    assert wire.answers() == [result()]


def test_new_work_does_not_overtake_the_idle_state_before_it() -> None:
    wire = second_version()
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
    wire.agent(update(**idle), update(sessionUpdate="state_update", state="running")).time(1)
    assert [told["state"] for told in wire.updates()] == ["running", "idle", "running"]
    assert "error" not in wire.updates()[1]


def test_a_success_behind_a_call_that_was_seen_by_its_status_waits_for_the_providers_words() -> (
    None
):
    for words, type_ in ((EMPTY, "budget"), (None, "rate_limit")):
        wire = begun()
        wire.core.expects_hints(present=True)
        hint(wire)
        wire.agent(result())
        assert wire.answers() == []
        if words is not None:
            hint(wire, words, goes_on=False)
        wire.time(1)
        failed = payload(wire)
        assert (failed["type"], failed["reason"]) == (type_, SILENT)


def test_a_success_behind_a_call_whose_cause_is_known_in_full_fails_at_once() -> None:
    wire = begun()
    wire.core.expects_hints(present=True)
    hint(wire, EMPTY)
    wire.agent(result())
    assert payload(wire)["type"] == "budget"
