"""`lastword run --fallback-model`: a turn goes on with another model of the agent's."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tests.kit.client import NOTICES, update_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

LIMITED = {"fail": {"http": 429, "message": "Rate limited"}}
DONE = [{"say": "Done."}, {"result": "end_turn"}]
SCRIPT = {"turns": [[LIMITED], DONE], "models": {"big": "switch", "small": "switch"}}


def shown(client: SidecarClient) -> list[str]:
    """The models that the client was shown, one after the other."""
    lists = [update_of(frame).get("configOptions") for frame in client.frames]
    return [option["currentValue"] for listed in lists if listed for option in listed]


def test_a_prompt_that_had_shown_nothing_goes_on_with_the_model_that_is_then_given_back(
    start: Start, tmp_path: Path
) -> None:
    file = tmp_path / "models.json"
    file.write_text(json.dumps(SCRIPT))
    agent = [sys.executable, "-m", "lastword", "agent", "--bare", "--file", str(file)]
    client = start.command(agent, options=["--fallback-model", "none,small"])
    client.open(**NOTICES)
    turn = client.turn("hello")
    assert (turn.text, turn.answer["result"]) == ("Done.", {"stopReason": "end_turn"})
    (notice,) = [each["title"] for each in turn.of_kind("notice") if "Going on" in each["title"]]
    assert notice.endswith("Going on with the model small; the next turn has big again.")
    client.read_until(lambda: shown(client)[-1:] == ["big"], "the former model")
    assert shown(client) == ["small", "big"]
    assert client.turn("again").text == "Done."
    client.expect_stderr("the agent does not offer the model none: --fallback-model skips it")
    assert client.end() == 0
