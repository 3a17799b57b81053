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


def test_a_question_that_nobody_answers_is_rejected_and_a_late_answer_is_dropped(
    start: Start, tmp_path: Path
) -> None:
    options = ["--ask-reminder", "500ms", "--ask-timeout", "1s"]
    script = tmp_path / "questions.json"
    # It asks two questions at once, and says how they were answered.
    turn = [{"ask_permissions": TITLES}, {"result": "end_turn"}]
    script.write_text(json.dumps({"turns": [turn]}))
    client = start.command([*AGENT, "--file", str(script)], options=options)
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
