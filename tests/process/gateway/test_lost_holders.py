"""Agents for which there is no room, or whose holder cannot be started."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from lastword.cli.gateway.holder import holder_of
from lastword.gateway.front.holders import Holders, StartError
from lastword.gateway.settings.values import HolderSettings
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lastword.gateway.holder.process import Holder
    from lastword.gateway.holder.quality import HolderQuality
    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]


TURNS: dict[str, Any] = {
    "turns": [[{"say": "One."}, {"result": "end_turn"}]],
    "sessions": "resume",
}


def failure(answer: dict[str, Any]) -> tuple[str, str]:
    """Return the type and the reason of a typed error with a sentence."""
    payload = answer["error"]["data"]["agent_error"]
    assert answer["error"]["message"][0].isupper(), answer
    assert answer["error"]["message"].endswith("."), answer
    assert "errno" not in answer["error"]["message"].lower()
    return payload["type"], payload["reason"]


def test_the_limit_of_agents_is_a_typed_error_and_closed_sessions_do_not_count(
    serve: Serve,
) -> None:
    gateway = serve(TURNS, "--sessions", "2")
    params = {"cwd": str(gateway.root), "mcpServers": []}
    for _ in range(3):
        with ViewerClient(gateway) as viewer:
            session = viewer.new(gateway.root)
            assert viewer.result("session/close", {"sessionId": session}) == {}
            assert viewer.closed()[0] == 4410
            until("its agent has ended", lambda: not has_sessions(gateway))
    with ViewerClient(gateway) as viewer:
        for _ in range(2):
            viewer.new(gateway.root)
        answer = viewer.answer(viewer.request("session/new", params))
        assert failure(answer) == ("invalid_request", "too_many_agents")
        assert "--sessions" in answer["error"]["message"]


def has_sessions(gateway: Gateway) -> bool:
    """Return whether an agent of its has one."""
    return any(holder["sessions"] for holder in gateway.holders())


def test_a_holder_that_cannot_start_is_a_typed_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = HolderSettings(run_folder=str(tmp_path), log_folder=str(tmp_path), command=["agent"])

    def made(given: HolderSettings, quality: HolderQuality, _fleet: object) -> Holder:
        holder = holder_of(given, quality)
        holder.agent = mock.Mock(start=mock.AsyncMock(side_effect=ValueError("a bug")))
        return holder

    with pytest.raises(StartError) as failed:
        asyncio.run(Holders(settings, made).spare({}))
    assert failure({"error": failed.value.error}) == ("agent_crash", "holder_ended")
    assert "a bug in lastword ended an agent" in capsys.readouterr().err
