"""What the options of `lastword run` ask of a turn: that each arrives, and who is asked again.

What each does in every case is decided in `tests/unit/link`.
"""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

from lastword.sidecar.spend_ledger import FILE, LOCK
from tests.kit import left_behind
from tests.kit.client import NOTICES, RETRY, update_of
from tests.kit.desk import SCRIPTED
from tests.kit.recording import lastword
from tests.process.sidecar.failing_turn import failure_of, is_healthy, payload_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sidecar.conftest import Start

    Frame = dict[str, Any]

    from tests.kit.client import Turn
    from tests.kit.sidecar import SidecarClient


ENDS = {"result": "end_turn"}
ENDED = {"stopReason": "end_turn"}


# --- --retry


def test_a_transient_failure_becomes_an_answer_after_two_waits(
    start: Start, tmp_path: Path
) -> None:
    options = ["--retry", "2", "--record", str(tmp_path)]
    client = start.command([*SCRIPTED, "third_time_lucky"], options=options)
    client.open(**RETRY)
    turn = client.turn("hello")
    assert turn.answer["result"] == ENDED
    assert turn.kinds == ["agent_retry", "agent_retry", "agent_message_chunk"]
    assert [told["attempt"] for told in turn.of_kind("agent_retry")] == [2, 3]
    assert turn.text == "The provider is back."
    assert client.end() == 0
    left_behind.wait_for_none(client.mark)  # a recorder may outlive its run
    shown = json.loads(lastword("log", "--json", "--record", str(tmp_path)).stdout)
    ((recorded,),) = [session["turns"] for session in shown["sessions"]]
    assert (recorded["outcome"], recorded["retries"]) == ("ok", 2)
    assert len(recorded["retry_wait_seconds"]) == 2


def test_a_persistent_failure_has_its_number_of_attempts_and_one_without_the_option_none(
    start: Start,
) -> None:
    client = start.command([*SCRIPTED, "third_time_lucky"], environment={"LASTWORD_RETRY": "1"})
    client.open()
    payload = failure_of(client.turn("hello"))
    assert (payload["type"], payload["attempts"]) == ("provider_unavailable", 2)
    assert len(payload["detail"]["attempts"]) == 2
    # The user tries for a third time.
    assert is_healthy(client.turn("hello"))
    client = start.command([*SCRIPTED, "third_time_lucky"])
    client.open()
    payload = failure_of(client.turn("hello"))
    assert (payload["retry_safety"], payload.get("attempts")) == ("auto", None)


def test_a_turn_that_wrote_a_file_is_not_sent_again_after_a_failed_call(
    start: Start, tmp_path: Path
) -> None:
    def writes(**session: str) -> list[dict[str, Any]]:
        params = {"path": "/tmp/x", "content": "x"} | session
        ask = {"method": "fs/write_text_file", "params": params}
        return [{"ask": ask}, {"fail": {"http": 429, "message": "Rate limited"}}]

    turns = writes(), writes(sessionId="of a sub-agent")
    client = start.script(tmp_path, *turns, options=["--retry=2"])
    client.open(**RETRY)
    for _ in turns:
        since = len(client.frames)
        prompt = client.prompt("hello")
        asked = client.expect_method("fs/write_text_file", since=since)
        client.send(id=asked["id"], result={})
        payload = client.end_of(prompt, since).error
        assert (payload["retry_safety"], payload["phase"]) == ("ask", "after_tool")
        assert "attempts" not in payload


# --- --continue-at-reset


def test_an_interrupted_turn_continues_when_the_limit_ends(start: Start, tmp_path: Path) -> None:
    limited = {"fail": {"http": 429, "message": "Rate limited: try again in 2s"}}
    begins = [{"say": "The first part. "}, {"tool": {"title": "Build", "kind": "execute"}}]
    ends = [{"say": "The last part."}, ENDS]
    client = start.script(tmp_path, [*begins, limited], ends, options=["--continue-at-reset"])
    client.open(**RETRY)
    turn = client.turn("hello")
    assert turn.answer["result"] == ENDED
    assert turn.text == "The first part. The last part."
    assert [update["status"] for update in turn.of_kind("tool_call_update")] == ["failed"]
    (wait,) = [update["wait_seconds"] for update in turn.of_kind("agent_retry")]
    assert 2 <= wait <= 3
    assert client.end() == 0


# --- --fallback-model


def test_a_prompt_without_output_continues_with_another_model_which_is_then_reset(
    start: Start, tmp_path: Path
) -> None:
    limited = [{"fail": {"http": 429, "message": "Rate limited"}}]
    client = start.script(
        *(tmp_path, limited, [{"say": "Done."}, ENDS]),
        members={"models": {"big": "switch", "small": "switch"}},
        options=["--fallback-model", "none,small"],
    )
    client.open(**NOTICES)
    turn = client.turn("hello")
    assert (turn.text, turn.answer["result"]) == ("Done.", ENDED)
    (notice,) = [
        each["title"] for each in turn.of_kind("notice") if "Continuing with" in each["title"]
    ]
    assert notice.endswith("Continuing with small; the next turn has big again.")

    def shown() -> list[str]:
        lists = [update_of(frame).get("configOptions") for frame in client.frames]
        return [option["currentValue"] for listed in lists if listed for option in listed]

    client.read_until(lambda: shown()[-1:] == ["big"], "the former model")
    assert shown() == ["small", "big"]
    assert client.turn("again").text == "Done."
    client.expect_stderr("the agent does not offer the model none: --fallback-model skips it")
    assert client.end() == 0


# --- --ask-reminder, --ask-timeout


def test_an_unanswered_question_is_rejected_and_a_late_answer_dropped(
    start: Start, tmp_path: Path
) -> None:
    def is_question(frame: Frame) -> bool:
        return frame.get("method") == "session/request_permission"

    options = ["--ask-reminder", "100ms", "--ask-timeout", "5s"]
    # It asks two questions at once, and says how they were answered.
    turn = [{"ask_permissions": ("Run the tests", "Edit parser.py")}, ENDS]
    client = start.script(tmp_path, turn, [{"say": "Done."}, ENDS], options=options)
    client.open(**NOTICES)
    assert client.answer(client.prompt("hello"))["result"] == ENDED
    first, second = filter(is_question, client.frames)
    updates = [update_of(frame) for frame in client.frames]
    assert "".join(u["content"]["text"] for u in updates if "content" in u) == (
        "Run the tests: reject. Edit parser.py: reject. "
    )
    withdrawn = [f for f in client.frames if f.get("method") == "$/cancel_request"]
    assert [f["params"]["requestId"] for f in withdrawn] == [first["id"], second["id"]]
    told = [u["title"] for u in updates if u.get("sessionUpdate") == "notice"]
    assert told[0].startswith("The agent is waiting for your answer: Run the tests. Without one")
    assert told[-1].endswith("so lastword answered no: Edit parser.py.")
    allow = {"outcome": {"outcome": "selected", "optionId": "allow"}}
    client.send(id=first["id"], result=allow)
    assert client.turn("again").text == "Done."


# --- --spend-limit


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


def test_a_ledger_that_cannot_be_written_is_reported_at_once_and_at_the_end(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "record" / LOCK).mkdir(parents=True)
    options = ["--spend-limit=2USD/day", f"--record={tmp_path / 'record'}"]
    client = start.script(tmp_path, [cost(0.5), ENDS], [cost(0.75), ENDS], options=options)
    client.open()
    client.turn("work")
    client.turn("more")
    assert client.end() == 0
    for words in (b"spending is counted in this process alone", b"the last costs are missing"):
        assert client.stderr.data.count(words) == 1
