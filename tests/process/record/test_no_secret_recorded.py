"""No secret comes into the record through the sidecar, nor out of it, whatever carried it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.kit.canaries import CANARIES, NAMED_CANARIES, PLAIN
from tests.kit.desk import Desk, members
from tests.kit.gateway.serving import until
from tests.kit.recording import everything_in, is_recorded, lastword

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Step = dict[str, Any]

ENVIRONMENT_KEY = "correct-horse-xq7-battery"
"""A secret of no known shape, which only its variable's name gives away."""

TELLTALE = {**CANARIES, "by what stands before it": PLAIN, "of the environment": ENVIRONMENT_KEY}
SHAPES = (*CANARIES.values(), *NAMED_CANARIES.values(), ENVIRONMENT_KEY)


def failing_turns(secrets: tuple[str, ...]) -> Iterator[list[Step]]:
    """Turns that carry each secret wherever an agent can tell one, by turns in one of three ways.

    `tests/contract/test_canaries.py` has every secret in every way.
    """
    for number, secret in enumerate(secrets):
        in_answer = {"http": 401, "message": f"bad {secret}", "headers": {"x-request-id": secret}}
        error = {"code": -32603, "message": secret, "data": {"details": secret, secret: [secret]}}
        yield (
            [{"stderr": f"odd: {secret}"}, {"fail": in_answer}],
            [{"fail": {"exception": f"odd {secret}, sorry"}}],
            [{"fail": {"error": error}}],
        )[number % 3]
    for secret in secrets[::12]:
        content = [{"type": "content", "content": {"type": "text", "text": secret}}]
        call = {"toolCallId": "call_2", "title": secret, "rawInput": {"command": secret}}
        option = {"optionId": "allow", "name": f"Allow {secret}", "kind": "allow_once"}
        params = {"toolCall": call, "options": [option]}
        yield [
            {"say": f"It is {secret}. "},
            {"tool": {"title": f"Run {secret}", "kind": "execute", "id": f"call {secret}"}},
            {"update": {"sessionUpdate": "tool_call", "content": content, **call}},
            {"raw": f"noise {secret}"},
            {"ask": {"method": "session/request_permission", "params": params}},
            {"retry": {"attempt": 2, "http": 529, "message": f"busy {secret}"}},
            {"fail": {"http": 529, "code": secret, "message": secret}},
        ]


def record_all(folder: Path) -> Path:
    """Play every turn, and one that is cancelled with a reason; gives the state folder."""
    joined = " ".join(SHAPES)
    turns = [*failing_turns(SHAPES), [{"say": "x"}, {"silence": True}]]
    servers = [{"name": joined, "command": "x", "args": [joined], "env": []}]
    params = {"mcpServers": servers, "_meta": {"key": joined}}
    desk = Desk(
        folder,
        {"turns": turns},
        "--record-text",  # and so all that is kept without it, too
        params=params,
        SOME_API_KEY=ENVIRONMENT_KEY,
    )
    for number, _ in enumerate(turns[:-1]):
        desk.answer(desk.prompt("go" if number else joined))
    number = desk.prompt(joined)
    desk.until("agent_message_chunk")
    desk.cancel(reason=joined, _meta={"reason": joined})
    desk.answer(number)
    until("a record", lambda: is_recorded(desk.state))
    assert lastword("stats", "--json", state=desk.state).returncode == 0
    # As it is while the run goes on: the log beside the store, too.
    assert traces(everything_in(desk.state)) == []
    desk.leave()
    return desk.state


def traces(text: str) -> list[str]:
    """Which secrets stand in a text, whole or for the most part."""
    plain = text.replace("\\/", "/")
    return [name for name, secret in TELLTALE.items() if secret in plain or secret[6:-2] in plain]


def test_the_record_and_the_commands_that_show_it_hold_no_secret(tmp_path: Path) -> None:
    state = record_all(tmp_path)
    assert traces(everything_in(state)) == []
    turns = json.loads(lastword("log", "--last", "--json", state=state).stdout)
    assert turns, "nothing was recorded, so nothing was proved"
    for command in (
        *(["log"], ["log", "--last", "--json"], ["log", "--errors"], ["stats", "--json"]),
        *(["log", "--last", "--limit", "1000"], ["export", "--last", "-o", "-"]),
    ):
        done = lastword(*command, state=state)
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout, command
        assert traces(done.stdout + done.stderr) == [], command
    found = members(state, tmp_path)
    assert "sorry" in found["timeline.jsonl"], "the texts are recorded"
    for name, text in found.items():
        assert traces(text) == [], name
