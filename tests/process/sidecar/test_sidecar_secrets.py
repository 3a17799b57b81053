"""Secrets that the agent was given, and that it tells, are in no frame of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.process.sidecar.failing_turn import failure_of

if TYPE_CHECKING:
    from tests.process.sidecar.conftest import Start

KEY = "xq7-canary-Zw93hTTp0-do-not-show"
MODES = ("leaks-the-key", "leaks-the-key-and-dies", "leaks-the-key-and-says-nothing")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", [(), ("--fallback", "typed"), ("--fallback", "text")], ids=str)
def test_a_key_that_the_agent_tells_is_in_no_frame_of_ours(
    start: Start, mode: str, options: tuple[str, ...]
) -> None:
    client = start(mode, environment={"FOO_API_KEY": KEY}, options=options)
    client.open()
    turn = client.turn()
    assert "error" in turn.answer or "_meta" in turn.answer["result"]
    assert KEY.encode() not in client.stdout.data
    assert b"canary" not in client.stdout.data


def test_a_key_at_the_edge_of_what_is_kept_of_stderr_is_not_left_standing_in_half(
    start: Start,
) -> None:
    # The kept end of stderr begins in the middle of a key, wherever that is.
    client = start("floods-with-the-key-and-dies", environment={"FOO_API_KEY": KEY})
    client.open()
    failure_of(client.turn())
    said = client.stdout.data.decode()
    assert not [KEY[n:] for n in range(len(KEY) - 6) if KEY[n:] in said]


def test_a_key_that_begins_like_another_leaves_nothing_of_itself(start: Start) -> None:
    longer = KEY + "-and-more-of-it"
    environment = {"A_TOKEN": KEY, "FOO_API_KEY": longer}
    client = start("leaks-the-key", environment=environment)
    client.open()
    failure_of(client.turn())
    assert b"canary" not in client.stdout.data
    assert b"more-of-it" not in client.stdout.data


def test_verbose_does_not_tell_a_key_either(start: Start) -> None:
    client = start("leaks-the-key", environment={"FOO_API_KEY": KEY}, options=["--verbose"])
    client.open()
    client.turn()
    client.expect_stderr("rule=")
    assert KEY not in client.said
