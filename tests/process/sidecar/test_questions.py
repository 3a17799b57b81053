"""`lastword run --ask-reminder --ask-timeout`: a question that nobody answers ends by itself."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tests.kit.client import NOTICES, update_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.sidecar.conftest import Start

    Frame = dict[str, Any]

AGENT = [sys.executable, "-m", "lastword", "agent", "--bare"]
ALLOW = {"outcome": {"outcome": "selected", "optionId": "allow"}}
TITLES = ("Run the tests", "Edit parser.py")


def is_question(frame: Frame) -> bool:
    return frame.get("method") == "session/request_permission"


def is_withdrawal(frame: Frame) -> bool:
    return frame.get("method") == "$/cancel_request"


def agent(folder: Path, **members: Any) -> list[str]:
    """The command of an agent that asks two questions at once, and says how they were answered."""
    script = folder / "questions.json"
    turn = [{"ask_permissions": TITLES}, {"result": "end_turn"}]
    script.write_text(json.dumps({"turns": [turn]} | members))
    return [*AGENT, "--file", str(script)]


def test_a_question_that_nobody_answers_is_rejected_and_a_late_answer_is_dropped(
    start: Start, tmp_path: Path
) -> None:
    options = ["--ask-reminder", "500ms", "--ask-timeout", "1s"]
    client = start.command(agent(tmp_path), options=options)
    client.open(**NOTICES)
    prompt = client.prompt("hello")
    answer = client.answer(prompt)
    first, second = filter(is_question, client.frames)
    assert answer["result"] == {"stopReason": "end_turn"}
    updates = [update_of(frame) for frame in client.frames]
    assert "".join(u["content"]["text"] for u in updates if "content" in u) == (
        "Run the tests: reject. Edit parser.py: reject. "
    )
    gone = [f["params"]["requestId"] for f in client.frames if is_withdrawal(f)]
    assert gone == [first["id"], second["id"]]
    told = [u["title"] for u in updates if u.get("sessionUpdate") == "notice"]
    assert told[0].startswith("The agent is waiting for your answer: Run the tests. Without one")
    assert told[-1].endswith("so lastword answered no: Edit parser.py.")
    client.send(id=first["id"], result=ALLOW)
    seen = len(client.frames)
    client.prompt("again")
    third = client.expect(is_question, since=seen)
    client.send(id=third["id"], result=ALLOW)
    client.expect_text("Run the tests: allow. ")


def test_two_questions_at_once_are_answered_one_by_the_user_and_one_in_their_place(
    start: Start, tmp_path: Path
) -> None:
    client = start.command(agent(tmp_path), options=["--ask-timeout", "1s=cancel"])
    client.open()
    prompt = client.prompt("hello")
    second = client.expect(lambda frame: is_question(frame) and TITLES[1] in str(frame))
    client.send(id=second["id"], result=ALLOW)
    client.answer(prompt)
    texts = [u["content"]["text"] for u in map(update_of, client.frames) if "content" in u]
    assert texts[-2:] == ["Run the tests: cancelled. ", "Edit parser.py: allow. "]


def test_an_agent_that_is_restarted_gets_the_answer_to_its_own_question(
    start: Start, tmp_path: Path
) -> None:
    dies = [{"ask": {"method": "session/request_permission", "wait": False}}, {"exit": 3}]
    command = agent(tmp_path, turns=[dies])
    client = start.command(command, options=["--ask-timeout", "1s"])
    client.open()
    failed = client.answer(client.prompt("hello"))
    assert failed["error"]["data"]["agent_error"]["type"] == "agent_crash"
    again = client.answer(client.prompt("/scenario two_questions"))
    assert again["result"] == {"stopReason": "end_turn"}
    asked = [frame["id"] for frame in client.frames if is_question(frame)]
    assert len(asked) == len(set(asked)) == 3
    assert [f["params"]["requestId"] for f in client.frames if is_withdrawal(f)] == asked
    texts = [u["content"]["text"] for u in map(update_of, client.frames) if "content" in u]
    assert [text for text in texts if "reject" in text] == [f"{each}: reject. " for each in TITLES]


def test_a_cancel_while_a_question_is_open_ends_the_turn_as_cancelled(
    start: Start, tmp_path: Path
) -> None:
    client = start.command(agent(tmp_path), options=["--ask-timeout", "1s"])
    client.open()
    prompt = client.prompt("hello")
    client.expect(is_question)
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
