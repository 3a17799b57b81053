"""Tool calls that only look alike."""

from __future__ import annotations

from tests.kit.wire import Wire, prompted, update


def calls(wire: Wire, *commands: str) -> None:
    """Call a tool as opencode and claude do: opened with an empty input, told in full after."""
    for number, command in enumerate(commands):
        call = {"toolCallId": f"c{number}"}
        wire.agent(update(sessionUpdate="tool_call", title="bash", rawInput={}, **call))
        told = {"title": command, "rawInput": {"command": command}}
        wire.agent(update(sessionUpdate="tool_call_update", status="completed", **told, **call))


def stopped(*commands: str) -> bool:
    """Was a turn with these calls stopped?"""
    wire = prompted()
    calls(wire, *commands)
    return any(b"session/cancel" in frame for frame in wire.to_agent)


def test_calls_that_only_begin_alike_are_no_runaway() -> None:
    assert not stopped(*(f"ls {number}" for number in range(120)))


def test_the_same_call_again_and_again_is_still_a_runaway() -> None:
    assert not stopped(*["ls"] * 49)
    assert stopped(*["ls"] * 50)
