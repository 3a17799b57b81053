"""When nothing waits for the agent."""

from __future__ import annotations

from tests.kit.wire import cancel, chunk, prompt, prompted


def test_a_link_with_a_prompt_held_back_is_not_idle() -> None:
    wire = prompted().agent(chunk()).client(cancel()).time(11)
    assert wire.core.idle
    wire.client(prompt(2))
    assert not wire.core.idle
