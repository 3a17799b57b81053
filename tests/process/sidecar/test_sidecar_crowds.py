"""Clients that ask for more at once, or later, than anybody should."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.patience import FUSE_SECONDS
from tests.process.sidecar.failing_turn import is_healthy

if TYPE_CHECKING:
    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start


def _burst(client: SidecarClient, text: str, *, count: int, sessions: int = 1) -> range:
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


def test_each_prompt_of_a_burst_is_a_turn_and_late_cancels_change_nothing(start: Start) -> None:
    client = start("healthy")
    client.cancel()
    client.notify("$/cancel_request", requestId=77)
    client.open()
    answers = _answers(client, _burst(client, "hello", count=3000, sessions=100))
    assert all(answer.get("result") == {"stopReason": "end_turn"} for answer in answers)
    for text in ("hello", "fail http-429"):
        over = client.turn(text).answer["id"]
        since = len(client.frames)
        client.cancel()
        client.notify("$/cancel_request", requestId=over)
        client.listen(0.3)
        assert client.frames[since:] == []
    assert is_healthy(client.turn("hello"))
