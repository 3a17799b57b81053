"""The page "Leave it alone for the night", tried word for word, with the night in a few seconds."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.command import command
from tests.kit.doc_blocks import blocks
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import Gateway, until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.sidecar import SidecarClient

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "docs/overnight.md"
SHELL = [line for block in blocks("sh") if block.page == PAGE for line in block.text.splitlines()]
(SET,) = [block.text.strip() for block in blocks("text") if block.page == PAGE]
SHORT = {"12h": "1m", "30m": "3s", "5m": "1s"}
"""The page's durations, and those of a night that takes seconds."""

NIGHT = {
    "turns": [
        [{"say": "The first half. "}, {"fail": {"http": 429, "message": "Try again in 2s"}}],
        [
            {"ask_permission": "Delete the build folder"},
            {"say": "The second half."},
            {"result": "end_turn"},
        ],
    ]
}
"""A limit in the middle of the work, and behind it a question."""


def line_of(start: str) -> list[str]:
    """The words of the page's line that begins like this."""
    (line,) = [line for line in SHELL if line.startswith(start)]
    return shlex.split(line)


def shortened(words: list[str]) -> list[str]:
    text = "\n".join(words)
    for long, short in SHORT.items():
        text = text.replace(long, short)
    return text.split("\n")


@pytest.fixture
def agent(tmp_path: Path) -> list[str]:
    """The agent of that night."""
    script = tmp_path / "night.json"
    script.write_text(json.dumps(NIGHT))
    return [sys.executable, "-m", "lastword", "agent", "--bare", "--file", str(script)]


def setup(home: Path, words: list[str]) -> list[str]:
    """Run a line of `lastword setup`; return the arguments in the editor's settings."""
    settings = home / ".config" / "zed" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("{}")
    programs = home / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("lastword", "npx"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    variables = {"HOME": str(home), "PATH": f"{programs}{os.pathsep}{os.defpath}"}
    done = command(*words[1:], environment=variables)
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads(settings.read_text())["agent_servers"].values()
    arguments: list[str] = entry["args"]
    return arguments


@pytest.mark.parametrize(
    "line", [line for line in SHELL if line.startswith("lastword setup") and "--write" in line]
)
def test_setup_writes_the_set_and_the_users_additions(tmp_path: Path, line: str) -> None:
    words = shlex.split(line)
    arguments = setup(tmp_path, words)
    options = arguments[1 : arguments.index("--")]
    written = " ".join(options)
    for option in SET.split(" --"):
        assert option.removeprefix("--") in written
    for word in words[words.index("--write") + 1 :]:
        assert word in options


def test_a_night_passes_in_the_editor_without_an_automatic_approval(
    tmp_path: Path, agent: list[str]
) -> None:
    arguments = setup(tmp_path, line_of("lastword setup zed claude --overnight --write --fall"))
    options = shortened(arguments[1 : arguments.index("--")])
    client = SidecarClient(agent, options=options)
    client.open()
    turn = client.turn("Do it all")
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert turn.text.index("The first half. ") < turn.text.index("The second half.")
    asked = [f for f in client.frames if f.get("method") == "session/request_permission"]
    assert len(asked) == 1
    assert any(f.get("method") == "$/cancel_request" for f in client.frames)
    client.finish()


def test_a_night_passes_in_the_gateway_without_its_user(tmp_path: Path, agent: list[str]) -> None:
    words = line_of("lastword gateway")
    options = shortened(words[2 : words.index("--")])
    at = options.index("--root")
    gateway = Gateway(tmp_path, agent, *options[:at], *options[at + 2 :])
    try:
        with ViewerClient(gateway, capabilities=TYPED) as viewer:
            session = viewer.new(gateway.root)
            viewer.prompt(session)
            viewer.find(lambda frame: "The first half." in json.dumps(frame))
        client = ApiClient(gateway)

        def kinds() -> list[str]:
            events = client.json(f"/v1/sessions/{session}/events?limit=1000")["events"]
            return [event["kind"] for event in events]

        def view() -> Any:
            return client.json(f"/v1/sessions/{session}")["session"]

        until("the question is answered", lambda: "question_decided" in kinds())
        until("the turn is over", lambda: view()["state"] == "idle")
        assert kinds().index("limit_wait") < kinds().index("question_decided")
        assert view()["last_failure"] is None
    finally:
        gateway.close()
