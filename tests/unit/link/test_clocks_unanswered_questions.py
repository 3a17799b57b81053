"""Questions to the user that nobody answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.wire import chunk, permission, prompt, prompted, result

WITHDRAWN = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 9}}


@pytest.mark.parametrize("next_frames", [[result(), prompt(2)], [WITHDRAWN]])
def test_the_clocks_run_on_when_the_question_is_moot(next_frames: list[dict[str, Any]]) -> None:
    wire = prompted().agent(chunk(), permission(), next_frames[0])
    for frame in next_frames[1:]:
        wire.client(frame)
    wire.time(1000)
    assert any(b"session/cancel" in frame for frame in wire.to_agent)
