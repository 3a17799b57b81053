"""`lastword run --spend-limit`: what agents cost is recorded, and ends turns at the limit."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

from lastword.sidecar.spend_ledger import FILE
from tests.kit import left_behind
from tests.kit.client import NOTICES, update_of
from tests.kit.recording import lastword
from tests.process.sidecar.failing_turn import payload_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.client import Turn
    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start


def cost(amount: float) -> dict[str, Any]:
    """The agent says what the session has cost."""
    stated = {"amount": amount, "currency": "USD"}
    update = {"sessionUpdate": "usage_update", "used": 1, "size": 100, "cost": stated}
    return {"update": update}


def until_stopped(*amounts: float) -> list[dict[str, Any]]:
    """A turn that states these costs, and ends with a cancel alone."""
    return [{"say": "Some work. "}, *map(cost, amounts), {"silence": True}]


def limited(turn: Turn) -> dict[str, Any]:
    """The failure of a turn that ended at the limit."""
    failure = payload_of(turn.answer)
    assert (failure["type"], failure["reason"]) == ("budget", "spend_limit")
    assert (failure["retryable"], failure["retry_safety"]) == (False, "never")
    return failure


def prompts_at_agent(client: SidecarClient) -> int:
    """How many prompts the agent has begun to work on."""
    return sum(update_of(f).get("content", {}).get("text") == "Some work. " for f in client.frames)


def test_a_turn_ends_at_the_limit_and_its_cost_is_recorded(start: Start, tmp_path: Path) -> None:
    turns = until_stopped(0.5, 0.85, 0.9, 1.25), until_stopped(1.5)
    folder = tmp_path / "record"
    options = ["--spend-limit=1usd", "--record", str(folder), "--retry=2", "--continue-at-reset"]
    client = start.script(tmp_path, *turns, options=options)
    client.open(**NOTICES)
    turn = client.turn("work")
    assert "1.25 USD of the 1.00 USD" in limited(turn)["message"]
    (notice,) = turn.of_kind("notice")
    assert "0.85 USD of the 1.00 USD" in notice["title"]
    assert limited(client.turn("more"))["phase"] == "before_request"
    assert prompts_at_agent(client) == 1
    assert client.end() == 0
    left_behind.wait_for_none(client.mark)  # a recorder may outlive its run
    (session,) = json.loads(lastword("log", "--json", state=folder).stdout)["sessions"]
    assert session["costs"] == {"USD": 1.25}
    assert session["turns"][0]["costs"] == {"USD": 1.25}
    (total,) = json.loads(lastword("stats", "--json", state=folder).stdout)["now"]["costs"]
    assert (total["currency"], total["amount"]) == ("USD", 1.25)


def test_two_processes_share_a_days_limit_even_if_one_is_killed(
    start: Start, tmp_path: Path
) -> None:
    options = ["--spend-limit=2USD/day", f"--record={tmp_path / 'record'}"]
    one = start.script(tmp_path, until_stopped(0.75), options=options)
    goes_on = [*until_stopped(0.5)[:-1], {"wait": 0.2}, cost(1.25), {"silence": True}]
    other = start.script(tmp_path, goes_on, options=options)
    free = start.script(tmp_path, [{"say": "Some work. "}, {"silence": True}], options=options)
    free.open()
    unstated = free.prompt("work")
    free.expect_text("Some work. ")
    one.open()
    other.open(**NOTICES)
    first = one.prompt("work")
    one.expect(lambda frame: update_of(frame).get("sessionUpdate") == "usage_update")
    ledger = tmp_path / "record" / FILE
    one.read_until_true(lambda: ledger.exists() and b"0.75" in ledger.read_bytes(), "the ledger")
    one.signal(signal.SIGKILL)
    assert "2.00 USD of the 2.00 USD" in limited(other.turn("work"))["message"]
    assert limited(free.end_of(unstated, 0))["phase"] == "mid_output"
    assert not [frame for frame in one.frames if frame.get("id") == first and "method" not in frame]
    assert limited(other.turn("more"))["phase"] == "before_request"
    assert json.loads(ledger.read_bytes())["today"] == {"USD": 2.0}


def test_an_agent_that_keeps_spending_after_its_cancel_is_ended(
    start: Start, tmp_path: Path
) -> None:
    rising = [step for tenths in range(10, 600) for step in (cost(tenths / 10), {"wait": 0.1})]
    client = start.script(
        tmp_path,
        [{"say": "Some work. "}, *rising],
        members={"on_cancel": "ignore"},
        options=["--spend-limit=1USD", f"--record={tmp_path / 'record'}", "--cancel-grace=0.5"],
    )
    client.open()
    limited(client.turn("work"))
    client.expect_stderr("the agent ended: killed by SIGTERM")
    assert limited(client.turn("more"))["phase"] == "before_request"
