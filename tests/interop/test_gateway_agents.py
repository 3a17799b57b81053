"""Real agents behind a gateway, their provider failing, before two viewers of different kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lastword.kit.provider.server import Provider, Target
from tests.interop.agents_cells import FAILURES
from tests.interop.agents_registry import AGENTS
from tests.interop.selection import in_ci
from tests.kit.gateway.serving import Gateway
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.places import SOURCE

if TYPE_CHECKING:
    from pathlib import Path

PROMPT = [{"type": "text", "text": "What is the answer?"}]
TOLD = ("unauthorized", "quota", "rate_limited_untimed", "bad_gateway", "context_overflow", "cut")
CELLS = [(agent, failure) for agent in ("opencode", "claude") for failure in TOLD]
IN_CI = {("opencode", "quota"), ("claude", "bad_gateway")}


def told_type(frame: dict[str, Any]) -> str | None:
    """The type that a frame tells a viewer which negotiated, as a retry or as the end."""
    update = frame.get("params", {}).get("update", {})
    if update.get("sessionUpdate") in {"agent_retry", "agent_error"}:
        found: str | None = update.get("error", {}).get("type")
        return found
    data = frame.get("error", {}).get("data", {})
    return data.get("agent_error", {}).get("type") if isinstance(data, dict) else None


def tells_a_stock_viewer(frame: dict[str, Any]) -> bool:
    """Is this the line on a wait, or the news of the end?"""
    update = frame.get("params", {}).get("update", {})
    kind = update.get("sessionUpdate")
    thought = kind == "agent_thought_chunk" and "tries again" in str(update)
    return thought or (kind == "session_info_update" and "agent_error" in update.get("_meta", {}))


@pytest.mark.parametrize("cell", in_ci(CELLS, IN_CI.__contains__), ids="-".join)
def test_two_viewers_each_get_a_failure_in_their_own_form(
    tmp_path: Path, cell: tuple[str, str]
) -> None:
    agent, failure = cell
    fails, program = FAILURES[failure], AGENTS[agent]
    assert fails.scenario is not None
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    with Provider(fails.scenario, retry_after_seconds=fails.retry_after_seconds) as provider:
        target = Target(provider.url, f"{provider.url}/v1")
        environment = program.environment(target, home) | {"PYTHONPATH": str(SOURCE)}
        gateway = Gateway(tmp_path, program.command(work), environment=environment)
        try:
            with ViewerClient(gateway, capabilities=TYPED) as typed, ViewerClient(gateway) as stock:
                session = typed.new(work)
                stock.load(session, work)
                typed.request("session/prompt", {"sessionId": session, "prompt": PROMPT})
                typed.find(lambda frame: told_type(frame) in fails.types)
                stock.find(tells_a_stock_viewer)
                typed.send({"method": "session/cancel", "params": {"sessionId": session}})
                assert stock.updates("agent_retry") == stock.updates("agent_error") == []
        finally:
            gateway.close()
