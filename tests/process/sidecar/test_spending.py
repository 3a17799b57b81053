"""`lastword run --spend-limit`: what agents cost is recorded, and ends turns at the limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lastword.sidecar.spend_ledger import FILE
from tests.kit.client import update_of
from tests.process.sidecar.failing_turn import payload_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.client import Turn
    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

LASTWORD = [sys.executable, "-m", "lastword"]
AGENT = [*LASTWORD, "agent", "--bare"]
NOTICES = {"session": {"notices": {}}}
ENDS = {"result": "end_turn"}


def cost(amount: Any, currency: str = "USD") -> dict[str, Any]:
    """The agent says what the session has cost."""
    stated = {"amount": amount, "currency": currency}
    update = {"sessionUpdate": "usage_update", "used": 1, "size": 100, "cost": stated}
    return {"update": update}


def agent(folder: Path, *turns: list[dict[str, Any]], name: str = "costs") -> list[str]:
    """The command of an agent whose prompts go like this, one after the other."""
    script = folder / f"{name}.json"
    script.write_text(json.dumps({"turns": turns}))
    return [*AGENT, "--file", str(script)]


def until_stopped(*amounts: float) -> list[dict[str, Any]]:
    """A turn that states these costs, and ends with a cancel alone."""
    return [{"say": "Some work. "}, *map(cost, amounts), {"silence": True}]


def limited(turn: Turn) -> dict[str, Any]:
    """The failure of a turn that ended at the limit."""
    failure = payload_of(turn.answer)
    assert (failure["type"], failure["reason"]) == ("budget", "spend_limit")
    assert (failure["retryable"], failure["retry_safety"]) == (False, "never")
    return failure


def report(folder: Path, *words: str) -> Any:
    """What another command prints of the record, as JSON."""
    command = [*LASTWORD, *words, "--json", "--record", str(folder)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)


def prompts_at_agent(client: SidecarClient) -> int:
    """How many prompts the agent has begun to work on."""
    return sum(update_of(f).get("content", {}).get("text") == "Some work. " for f in client.frames)


@pytest.mark.parametrize("limit", ["1USD", "1usd/turn", "1 USD/day"])
def test_a_turn_ends_at_the_limit_and_the_record_says_what_it_cost(
    start: Start, tmp_path: Path, limit: str
) -> None:
    command = agent(tmp_path, until_stopped(0.5, 0.85, 0.9, 1.25), until_stopped(1.5))
    folder = tmp_path / "record"
    options = ["--spend-limit", limit, "--record", str(folder), "--retry=2", "--continue-at-reset"]
    client = start.command(command, options=options)
    client.open(**NOTICES)
    turn = client.turn("work")
    assert "1.25 USD of the 1.00 USD" in limited(turn)["message"]
    (notice,) = turn.of_kind("notice")
    assert "0.85 USD of the 1.00 USD" in notice["title"]
    if not limit.endswith("turn"):
        assert limited(client.turn("more"))["phase"] == "before_request"
        assert prompts_at_agent(client) == 1
    assert client.end() == 0
    (session,) = report(folder, "log")["sessions"]
    assert session["costs"] == {"USD": 1.25}
    assert session["turns"][0]["costs"] == {"USD": 1.25}
    (total,) = report(folder, "stats")["now"]["costs"]
    assert (total["currency"], total["amount"]) == ("USD", 1.25)


def test_two_processes_share_a_day_also_when_one_is_killed(start: Start, tmp_path: Path) -> None:
    options = ["--spend-limit=2USD/day", f"--record={tmp_path / 'record'}"]
    one = start.command(agent(tmp_path, until_stopped(0.75), name="one"), options=options)
    goes_on = [*until_stopped(0.5)[:-1], {"wait": 0.2}, cost(1.25), {"silence": True}]
    other = start.command(agent(tmp_path, goes_on, name="other"), options=options)
    one.open()
    other.open(**NOTICES)
    first = one.prompt("work")
    one.expect(lambda frame: update_of(frame).get("sessionUpdate") == "usage_update")
    ledger = tmp_path / "record" / FILE
    one.read_until_true(lambda: ledger.exists() and b"0.75" in ledger.read_bytes(), "the ledger")
    one.signal(signal.SIGKILL)
    assert "2.00 USD of the 2.00 USD" in limited(other.turn("work"))["message"]
    assert not [frame for frame in one.frames if frame.get("id") == first and "method" not in frame]
    third = start.command(agent(tmp_path, until_stopped(9), name="third"), options=options)
    third.open()
    assert limited(third.turn("work"))["phase"] == "before_request"
    day = json.loads(ledger.read_bytes())
    assert day["today"] == {"USD": 2.0}
    ledger.write_text(json.dumps(day | {"day": "1999-12-31"}))
    prompt = third.prompt("work")
    third.expect_text("Some work. ")
    assert limited(third.end_of(prompt, 0))["reason"] == "spend_limit"


def test_a_session_that_is_loaded_keeps_what_it_has_cost_until_the_limit_is_raised(
    start: Start, tmp_path: Path
) -> None:
    script = {"sessions": "load", "turns": [until_stopped(1), until_stopped(0)]}
    (tmp_path / "costs.json").write_text(json.dumps(script))
    command = [*AGENT, "--file", str(tmp_path / "costs.json")]
    record = f"--record={tmp_path / 'record'}"
    first = start.command(command, options=["--spend-limit=1USD", record])
    first.open()
    limited(first.turn("work"))
    session = first.session
    assert first.end() == 0
    for limit, is_accepted in (("1USD", False), ("5USD", True)):
        client = start.command(command, options=[f"--spend-limit={limit}", record])
        client.initialize()
        client.session = session
        loaded = client.call("session/load", sessionId=session, cwd=os.getcwd(), mcpServers=[])
        assert "result" in loaded
        if is_accepted:
            client.prompt("more")
            client.expect_text("Some work. ")
        else:
            assert limited(client.turn("more"))["phase"] == "before_request"


def test_a_cancel_by_the_user_stays_one_and_the_next_prompt_is_refused(
    start: Start, tmp_path: Path
) -> None:
    command = agent(tmp_path, until_stopped(0.5), [{"say": "Done."}, ENDS])
    client = start.command(command, options=["--spend-limit=0.5USD", "--cancel-grace=5"])
    client.open()
    prompt = client.prompt("work")
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}


def test_costs_in_another_currency_end_nothing(start: Start, tmp_path: Path) -> None:
    turn = [{"say": "Some work. "}, cost(50, "EUR"), cost(60, "EUR"), cost(0.25), ENDS]
    client = start.command(agent(tmp_path, turn), options=["--spend-limit=1USD"])
    client.open(**NOTICES)
    played = client.turn("work")
    assert played.answer["result"] == {"stopReason": "end_turn"}
    (notice,) = played.of_kind("notice")
    assert "EUR" in notice["title"]


def test_an_agent_that_states_no_cost_is_said_to_state_none(start: Start, tmp_path: Path) -> None:
    client = start.command(
        agent(tmp_path, [{"say": "Done."}, ENDS]), options=["--spend-limit=1USD/turn"]
    )
    client.open(**NOTICES)
    assert client.turn("work").answer["result"] == {"stopReason": "end_turn"}
    client.expect(lambda frame: "states no cost" in update_of(frame).get("title", ""))


@pytest.mark.parametrize(
    "stated", ["NaN", "1e400", '"5"', "-5", "1" * 400, "true", "null", "[5]", "{}"]
)
def test_a_malformed_cost_ends_nothing(start: Start, tmp_path: Path, stated: str) -> None:
    line = json.dumps(
        {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": "$session", "update": cost("AMOUNT")["update"]},
        }
    )
    raw = {"raw": line.replace('"AMOUNT"', stated) + "\n"}
    turn = [{"say": "Some work. "}, raw, cost(0.5), ENDS]
    client = start.command(agent(tmp_path, turn), options=["--spend-limit=1USD"])
    client.open()
    assert client.turn("work").answer["result"] == {"stopReason": "end_turn"}


def test_a_cost_after_the_answer_belongs_to_its_turn(start: Start, tmp_path: Path) -> None:
    late = [{"say": "Done."}, cost(0.25), {"result": {"stopReason": "end_turn"}}]
    after = [{"say": "Again."}, cost(0.75), ENDS]
    folder = tmp_path / "record"
    client = start.command(agent(tmp_path, late, after), options=[f"--record={folder}"])
    client.open()
    for _ in range(2):
        assert client.turn("work").answer["result"] == {"stopReason": "end_turn"}
    assert client.end() == 0
    (session,) = report(folder, "log")["sessions"]
    assert [turn["costs"] for turn in session["turns"]] == [{"USD": 0.25}, {"USD": 0.5}]


WRITER = """
import sys
from lastword.core.link.effects import Spend
from lastword.sidecar.spend_ledger import SpendLedger
ledger = SpendLedger(sys.argv[1])
for number in range(1, 51):
    ledger.add(Spend(sys.argv[2], "USD", 0.01, (number / 100, number / 100)))
while ledger.is_behind:
    ledger.add(Spend(sys.argv[2], "USD", 0.0, (0.5, 0.5)))
"""


def test_nothing_is_lost_among_processes_that_write_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, name]) for name in "abcd"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    stored = json.loads((tmp_path / FILE).read_bytes())
    assert stored["today"] == {"USD": 2.0}
    assert stored["sessions"] == {name: {"USD": [0.5, 0.5]} for name in "abcd"}
