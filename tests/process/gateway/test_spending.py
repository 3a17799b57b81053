"""`lastword gateway --spend-limit`: per session, whoever looks on, and in a restored session."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.process.gateway.test_quality import seen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]


def costly_agent(folder: Path) -> list[str]:
    """The command of an agent whose every turn costs a dollar, and does not end by itself."""
    cost = {"amount": 1, "currency": "USD"}
    update = {"sessionUpdate": "usage_update", "used": 1, "size": 9, "cost": cost}
    turn = [{"say": "Some work."}, {"update": update}, {"silence": True}]
    script = folder / "costly.json"
    script.write_text(json.dumps({"sessions": "load", "turns": [turn]}))
    return [sys.executable, "-m", "lastword", "agent", "--bare", "--file", str(script)]


def viewing(gateway: Gateway, **how: Any) -> ViewerClient:
    """A viewer that knows typed errors and positions."""
    return ViewerClient(gateway, capabilities=TYPED, replay=True, **how)


def reason(answer: dict[str, Any]) -> str:
    """Why a turn failed."""
    failure: dict[str, Any] = answer["error"]["data"]["agent_error"]
    return f"{failure['type']} {failure['reason']} {failure['phase']}"


@pytest.mark.processes
def test_an_unattended_session_is_stopped_and_stays_so_when_it_is_restored(
    serve: Serve, tmp_path: Path
) -> None:
    gateway = serve("", "--spend-limit=1USD", command=costly_agent(tmp_path))
    with viewing(gateway) as viewer:
        session = viewer.new(gateway.root)
        viewer.prompt(session)
    seen(gateway, "it is stopped", lambda now: now("turns_total", outcome="failed") == 1)
    metrics = seen(gateway, "its cost", lambda now: now("cost_total", currency="USD") == 1)
    assert metrics("sessions", state="idle") == 1
    until("it is written down", lambda: "USD" in (gateway.state / "spending.json").read_text())
    gateway.crash()
    with viewing(gateway) as viewer:
        viewer.load(session, gateway.root)
        refused = viewer.answer(viewer.prompt(session))
        assert reason(refused) == "budget spend_limit before_request"
        stopped = viewer.answer(viewer.prompt(viewer.new(gateway.root)))
        assert reason(stopped) == "budget spend_limit mid_output"
