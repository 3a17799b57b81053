"""An agent that works on after its answer, or has said its last word: `active` and `quiet`."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.link.facts import Activity
from tests.kit.wire import Wire, chunk, prompt, prompted, result, update

ASKS = {"_meta": {"agent_error": {"version": 1, "session": True}}}
USAGE = update(sessionUpdate="usage_update", used=10, size=100)


def linked(capabilities: dict[str, Any] | None = None) -> Wire:
    """A turn at work."""
    capabilities = ASKS if capabilities is None else capabilities
    return prompted(capabilities).agent(chunk("Half of it."))


def words(wire: Wire) -> list[str]:
    told = [
        update["_meta"] for update in wire.updates() if set(update) == {"sessionUpdate", "_meta"}
    ]
    return [meta["lastword"]["session"] for meta in told if "lastword" in meta]


def test_an_agent_that_works_on_after_its_answer_is_active_and_then_quiet() -> None:
    wire = linked().agent(result(), chunk("The build is done.")).time(5)
    wire.agent(chunk("The tests are done."))
    assert words(wire) == ["active"]
    wire.time(14)
    assert words(wire) == ["active"]
    wire.time(15)
    assert words(wire) == ["active", "quiet"]
    wire.agent(chunk("One more thing.")).time(60)
    assert words(wire) == ["active", "quiet", "active", "quiet"]


def test_a_new_turn_ends_it_without_a_word() -> None:
    wire = linked().agent(result(), chunk("In the background.")).client(prompt(2))
    wire.agent(chunk("A new answer.")).time(30)
    assert words(wire) == ["active"]


def test_an_agent_that_has_said_its_last_word_is_quiet_until_its_answer() -> None:
    wire = linked().agent(USAGE).time(9)
    assert words(wire) == []
    wire.time(10)
    assert words(wire) == ["quiet"]
    wire.agent(chunk("Oh, and this."))
    assert words(wire) == ["quiet", "active"]
    wire.agent(result()).time(30)
    assert words(wire) == ["quiet", "active"]


@pytest.mark.parametrize("capabilities", [{}, {"_meta": {"agent_error": {"version": 1}}}])
def test_a_client_that_did_not_ask_gets_no_frame_more(capabilities: dict[str, Any]) -> None:
    wire = linked(capabilities).agent(result(), chunk("In the background.")).time(60)
    assert words(wire) == []


def test_a_healthy_turn_with_its_late_title_and_usage_has_no_frame_more() -> None:
    wire = linked().agent(USAGE, chunk("Done."), result(), USAGE)
    wire.agent(update(sessionUpdate="session_info_update", title="The parser")).time(60)
    assert words(wire) == []


def test_time_that_stood_still_does_not_count() -> None:
    wire = linked()
    wire.core.stand_still(5.0)
    wire.agent(result(), chunk("In the background."))
    wire.core.stand_still(100.0)
    wire.time(100)
    assert words(wire) == ["active"]
    wire.time(110)
    assert words(wire) == ["active", "quiet"]


def test_what_an_agent_shows_before_its_first_turn_is_nothing_that_goes_on() -> None:
    activity = Activity()
    assert not activity.note("agent_message_chunk", 1.0)
    assert activity.due is None
    assert not activity.time_out(100.0)
