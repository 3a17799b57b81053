"""A bug in the core leaves a plain pipe, and says so once."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from lastword.core.link.connection import Connection, LinkOptions
from lastword.core.link.effects import FORWARD, Send, Side
from lastword.core.link.failopen import FailOpen
from lastword.core.protocol import jsonrpc

if TYPE_CHECKING:
    from datetime import datetime


class _Broken:
    """A core with a bug in every call."""

    def __getattr__(self, name: str) -> object:
        raise ZeroDivisionError(name)


@pytest.fixture
def reports() -> list[Exception]:
    return []


def _fused(reports: list[Exception]) -> FailOpen:
    return FailOpen(cast("Connection", _Broken()), reports.append)


def test_a_frame_that_the_core_chokes_on_passes_as_it_came(reports: list[Exception]) -> None:
    fused = _fused(reports)
    frame = jsonrpc.decode(b'{"id":1,"result":{}}')
    assert fused.receive(Side.AGENT, frame, 0.0) == [FORWARD]
    assert fused.receive(Side.CLIENT, frame, 0.0) == [FORWARD]
    assert [type(report) for report in reports] == [ZeroDivisionError]


@pytest.mark.parametrize(
    ("call", "otherwise"),
    [
        (lambda fused: fused.observe([None], 0, 0.0), 1),
        (lambda fused: fused.receive_oversized(Side.AGENT, b"", 0.0), []),
        (lambda fused: fused.receive_stderr(b"", 0.0), []),
        (lambda fused: fused.receive_eof(Side.AGENT, None, 0.0), []),
        (lambda fused: fused.client_detached(0.0), []),
        (lambda fused: fused.client_attached(0.0), []),
        (lambda fused: fused.next_timeout(), None),
        (lambda fused: fused.handle_timeout(0.0), []),
        (lambda fused: fused.stand_still(1.0), None),
        (lambda fused: fused.idle, True),
        (lambda fused: fused.agent_name, ""),
    ],
)
def test_every_other_call_behaves_like_a_plain_pipe(
    reports: list[Exception], call: object, otherwise: object
) -> None:
    fused = _fused(reports)
    assert callable(call)
    assert call(fused) == otherwise
    assert fused.blown
    assert (len(reports), call(fused), len(reports)) == (1, otherwise, 1)


def test_an_answer_that_was_kept_back_is_sent_when_the_core_breaks() -> None:
    def broken() -> datetime:
        raise ZeroDivisionError

    reports: list[Exception] = []
    fused = FailOpen(Connection(LinkOptions(wall_clock=broken)), reports.append)
    prompt = b'{"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
    answer = b'{"id":1,"result":{"stopReason":"end_turn"}}'
    assert FORWARD in fused.receive(Side.CLIENT, jsonrpc.decode(prompt), 0.0)
    assert fused.receive(Side.AGENT, jsonrpc.decode(answer), 0.1) == []
    assert fused.handle_timeout(1.0) == [Send(Side.CLIENT, answer)]
    assert [type(report) for report in reports] == [ZeroDivisionError]
