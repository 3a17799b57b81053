"""Clients that ask for more at once, or later, than anybody should."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.kit.patience import FUSE_SECONDS
from tests.process.sidecar.failing_turn import is_healthy, payload_of

if TYPE_CHECKING:
    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

"""For ten thousand turns on a machine that has other things to do."""


def _burst(client: SidecarClient, text: str, *, count: int = 10_000, sessions: int = 1) -> range:
    """Send that many prompts in one piece; gives their ids."""
    content = [{"type": "text", "text": text}]
    with client.in_one_piece(fuse=FUSE_SECONDS):
        ids = [
            client.request("session/prompt", sessionId=f"s{1 + number % sessions}", prompt=content)
            for number in range(count)
        ]
    return range(ids[0], ids[-1] + 1)


def _answers(client: SidecarClient, ids: range) -> list[dict[str, object]]:
    """The answers to all of them; the driver holds that none comes twice."""
    found: list[dict[str, object]] = []
    looked_at = 0

    def answered() -> bool:
        nonlocal looked_at
        news, looked_at = client.frames[looked_at:], len(client.frames)
        found.extend(frame for frame in news if "method" not in frame and frame["id"] in ids)
        return len(found) == len(ids)

    client.read_until(answered, "all the answers", fuse=FUSE_SECONDS)
    return found


@pytest.mark.parametrize(("count", "sessions"), [(3_000, 1), (10_000, 100)])
def test_prompts_in_a_burst_are_as_many_turns(start: Start, count: int, sessions: int) -> None:
    client = start("healthy")
    client.open()
    answers = _answers(client, _burst(client, "hello", count=count, sessions=sessions))
    assert all(answer.get("result") == {"stopReason": "end_turn"} for answer in answers)
    assert is_healthy(client.turn("hello"))


def test_ten_thousand_prompts_to_an_agent_that_dies_are_ten_thousand_failures(
    start: Start,
) -> None:
    client = start("kills-itself", limits={"core.restart.state.FIRST_BACKOFF_SECONDS": 0.02})
    client.open()
    answers = _answers(client, _burst(client, "fail"))
    types = Counter(payload_of(answer)["type"] for answer in answers)
    assert set(types) <= {"agent_crash", "agent_stalled"}


def test_two_prompts_at_once_in_one_session_both_end(start: Start) -> None:
    client = start("healthy")
    client.open()
    with client.in_one_piece():
        prompts = [client.prompt("hello"), client.prompt("hello")]
    for prompt in prompts:
        assert client.answer(prompt)["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize("mode", ["healthy", "http-429", "ignores-cancel"])
def test_a_cancel_of_a_turn_that_is_over_changes_nothing(start: Start, mode: str) -> None:
    client = start(mode, options=["--cancel-grace", "0.3"])
    client.open()
    first = client.turn("hello")
    since = len(client.frames)
    client.cancel()
    client.notify("$/cancel_request", requestId=first.answer["id"])
    client.cancel()
    client.listen(0.5)
    assert client.frames[since:] == []
    assert is_healthy(client.turn("hello"))


def test_a_cancel_before_anything_else_changes_nothing(start: Start) -> None:
    client = start("healthy")
    client.cancel()
    client.notify("$/cancel_request", requestId=77)
    client.open()
    assert is_healthy(client.turn("hello"))
