"""Scenario files, as an agent that is started plays them."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from tests.process.scenarios.scenario_play import AGENT, TYPED, AnyClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MINE: dict[str, Any] = {
    "turns": [
        [
            {"say": "Let me look. "},
            {"tool": {"title": "Edit a.py", "kind": "edit", "status": "completed"}},
            {"fail": {"http": 529, "message": "Overloaded"}},
        ],
        [{"say": "Better now."}, {"result": "end_turn"}],
    ],
}


def written(folder: Path, value: object, name: str = "mine.json") -> Path:
    file = folder / name
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return file


@contextlib.contextmanager
def agent(folder: Path, script: object, *arguments: str) -> Iterator[AnyClient]:
    """A client of an agent that plays a script, with a session open."""
    client = AnyClient([*AGENT, *arguments, str(written(folder, script))])
    try:
        client.hello(1, TYPED)
        client.open_session()
        yield client
    finally:
        client.kill()


def test_turns_are_played_in_order_and_the_last_one_repeats(tmp_path: Path) -> None:
    with agent(tmp_path, MINE, "--file") as client:
        first = client.turn("go")
        assert first.kinds == ["agent_message_chunk", "tool_call", "agent_error"]
        assert (first.error["type"], first.error["retry_safety"]) == ("provider_unavailable", "ask")
        for _ in range(2):
            assert client.turn("go").text == "Better now."


def test_a_script_defines_what_a_cancel_does_and_the_options_of_run(tmp_path: Path) -> None:
    script = {
        "turns": [[{"say": "waiting"}, {"silence": True}]],
        "on_cancel": [{"say": "stopping"}, {"result": "cancelled"}],
        "run": {"idle-timeout": 60},
    }
    with agent(tmp_path, script) as client:
        prompt = client.prompt("go")
        client.expect_text("waiting")
        client.cancel()
        client.expect_text("stopping")
        assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}


def test_a_second_cancel_ends_the_first_ones_steps_and_a_lone_surrogate_is_written_as_it_is(
    tmp_path: Path,
) -> None:
    script = {
        "turns": [
            [{"say": "one"}, {"silence": True}],
            [{"say": "\ud83d"}, {"raw": "\ud83d"}, {"result": "end_turn"}],
        ],
        "on_cancel": [{"say": "two"}, {"silence": True}],
        "run": {"idle-timeout": 60, "cancel-grace": 60},
    }
    with agent(tmp_path, script, "--bare") as client:
        prompt = client.prompt("go")
        for text in ("one", "two"):
            client.expect_text(text)
            client.cancel()
        assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
        assert client.turn("go").answer["result"] == {"stopReason": "end_turn"}
        assert any("noise" in frame for frame in client.frames)
        assert client.end() == 0
        assert client.said == ""
