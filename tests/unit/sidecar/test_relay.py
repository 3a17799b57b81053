"""The relay: an answer that waits for a look keeps its place among the agent's lines."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.link.connection import Connection
from lastword.core.link.failopen import FailOpen
from lastword.core.link.options import LinkOptions
from lastword.sidecar.loop import Relay
from tests.kit.wire import INITIALIZE, INITIALIZED, chunk, fail, prompt, result, update

if TYPE_CHECKING:
    from collections.abc import Iterable


def lines(frames: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(frame).encode() + b"\n" for frame in frames)


@pytest.mark.parametrize("looks", [False, True])
def test_frames_read_with_an_answer_stay_behind_it_if_a_look_comes_between(
    looks: bool,
) -> None:
    core = FailOpen(Connection(LinkOptions()), fail)
    core.expects_hints(present=True)
    written: list[bytes] = []
    outlet: Any = SimpleNamespace(write=written.append)
    relay = Relay(core, outlet, outlet, lambda _: None)
    if looks:
        relay.before_end = core.looked
    relay.from_client(lines([INITIALIZE, prompt()]), 1.0)
    relay.from_agent(lines([INITIALIZED]), 1.0)
    written.clear()
    usage = update(sessionUpdate="usage_update", used=1, size=9)
    block = [chunk("It is"), chunk(" 42."), result(), usage, chunk("One more thing.")]
    relay.from_agent(lines(block), 2.0)
    order = block if looks else [*block[:2], usage, result(), block[-1]]
    assert b"".join(written) == lines(order)
