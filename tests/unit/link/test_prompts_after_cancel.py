"""A new prompt after a cancel that the agent never confirms."""

from __future__ import annotations

from tests.kit.wire import cancel, chunk, prompt, prompted, result


def test_the_new_turn_keeps_its_output_though_the_old_one_was_never_answered() -> None:
    wire = prompted().agent(chunk()).client(cancel(), prompt(2)).time(11)
    assert wire.answers()[0]["result"] == {"stopReason": "cancelled"}
    wire.agent(chunk("the reply"), result(2))
    assert wire.updates()[-1]["content"]["text"] == "the reply"
    assert wire.answers(2) == [result(2)]
