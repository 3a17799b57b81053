"""Secrets that the agent was given, and that it tells, are in no frame of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.process.sidecar.failing_turn import failure_of

if TYPE_CHECKING:
    from tests.process.sidecar.conftest import Start

KEY = "xq7-canary-Zw93hTTp0-do-not-show"
LONGER = KEY + "-and-more-of-it"


def test_a_key_that_the_agent_prints_is_in_none_of_our_frames_and_not_in_the_log(
    start: Start,
) -> None:
    client = start("leaks-the-key", environment={"FOO_API_KEY": KEY}, options=["--verbose"])
    client.open()
    client.turn()
    client.expect_stderr("rule=")
    assert KEY not in client.said
    turn = client.turn("fail leaks-the-key-and-says-nothing")
    assert "error" in turn.answer
    failure_of(client.turn("fail leaks-the-key-and-dies"))
    client.call("session/new", cwd="/", mcpServers=[])
    # The kept end of stderr begins in the middle of a key, wherever that is.
    failure_of(client.turn("fail floods-with-the-key-and-dies"))
    told = client.stdout.data.decode()
    assert "canary" not in told
    assert not [KEY[n:] for n in range(len(KEY) - 6) if KEY[n:] in told]


def test_a_key_that_begins_like_another_is_redacted_whole(start: Start) -> None:
    client = start("leaks-the-key", environment={"A_TOKEN": KEY, "FOO_API_KEY": LONGER})
    client.open()
    failure_of(client.turn())
    assert b"canary" not in client.stdout.data
    assert b"more-of-it" not in client.stdout.data
