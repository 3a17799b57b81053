"""A turn that the user cancelled was cancelled, whatever the agent then calls it."""

from __future__ import annotations

import pytest

from lastword.core.timeline import summary
from lastword.core.timeline.entry import ended_by_cancel
from tests.kit.wire import cancel, result
from tests.unit.link.test_connection_rare_frames import in_turn


def test_a_cancelled_turn_is_told_as_cancelled_whatever_its_stop_reason() -> None:
    wire = in_turn().client(cancel()).agent(result(1))
    assert wire.answers(1)[0]["result"] == {"stopReason": "end_turn"}
    facts = wire.entries[-1].facts
    assert (facts["stop_reason"], facts["cancelled"]) == ("end_turn", True)
    assert summary.summarise(wire.entries).outcome == "cancelled"


@pytest.mark.parametrize(("facts", "cancelled"), [
    ({"stop_reason": "cancelled"}, True), ({"stop_reason": "end_turn", "cancelled": True}, True),
    ({"stop_reason": "end_turn"}, False),
])  # fmt: skip
def test_an_answers_facts_tell_of_a_cancel(facts: dict[str, object], *, cancelled: bool) -> None:
    assert ended_by_cancel(facts) is cancelled
