"""`lastword run --fallback-model`: a turn goes on with another model of the agent's."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tests.kit.client import NOTICES, RETRY, update_of
from tests.process.sidecar.failing_turn import failure_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

AGENT = [sys.executable, "-m", "lastword", "agent", "--bare"]
LIMITED = {"fail": {"http": 429, "message": "Rate limited"}}
DONE = [{"say": "Done."}, {"result": "end_turn"}]
MODELS = {"big": "switch", "small": "switch"}


def agent(folder: Path, *turns: list[dict[str, Any]], **script: Any) -> list[str]:
    """The command of an agent with models, whose prompts go like this, one after the other."""
    file = folder / "models.json"
    file.write_text(json.dumps({"turns": turns, "models": MODELS} | script))
    return [*AGENT, "--file", str(file)]


def shown(client: SidecarClient) -> list[str]:
    """The models that the client was shown, one after the other."""
    lists = [update_of(frame).get("configOptions") for frame in client.frames]
    return [option["currentValue"] for listed in lists if listed for option in listed]


def restored(client: SidecarClient) -> None:
    """Wait until the client shows the former model."""
    client.read_until(lambda: shown(client)[-1:] == ["big"], "the former model")


def test_a_prompt_that_had_shown_nothing_goes_on_with_the_model_that_is_then_given_back(
    start: Start, tmp_path: Path
) -> None:
    client = start.command(
        agent(tmp_path, [LIMITED], DONE), options=["--fallback-model", "none,small"]
    )
    client.open(**NOTICES)
    turn = client.turn("hello")
    assert (turn.text, turn.answer["result"]) == ("Done.", {"stopReason": "end_turn"})
    (notice,) = [each["title"] for each in turn.of_kind("notice") if "Going on" in each["title"]]
    assert notice.endswith("Going on with the model small; the next turn has big again.")
    restored(client)
    assert shown(client) == ["small", "big"]
    assert client.turn("again").text == "Done."
    client.expect_stderr("the agent does not offer the model none: --fallback-model skips it")
    assert client.end() == 0


def test_a_turn_that_had_begun_goes_on_with_a_new_prompt_and_may_stay(
    start: Start, tmp_path: Path
) -> None:
    half = [{"say": "Half, "}, LIMITED]
    options = ["--fallback-model=small", "--fallback-stays"]
    client = start.command(agent(tmp_path, half, DONE), options=options)
    client.open(**RETRY)
    turn = client.turn("hello")
    assert turn.text == "Half, Done."
    (retry,) = turn.of_kind("agent_retry")
    assert "Going on with the model small." in retry["error"]["message"]
    assert client.turn("again").text == "Done."
    assert shown(client) == ["small"]


def test_models_that_fail_and_that_are_refused_are_followed_by_the_next_and_then_by_the_failure(
    start: Start, tmp_path: Path
) -> None:
    models = {"big": "switch", "small": "switch", "no": "refuse", "tiny": "switch"}
    command = agent(tmp_path, [LIMITED], models=models)
    client = start.command(command, options=["--fallback-model=small,no,tiny"])
    client.open()
    fails = failure_of(client.turn("hello"))
    assert (fails["type"], fails["attempts"]) == ("rate_limit", 3)
    restored(client)
    assert shown(client) == ["small", "tiny", "big"]


def test_a_cancel_while_the_agent_switches_ends_the_turn_as_cancelled(
    start: Start, tmp_path: Path
) -> None:
    models = {"big": "switch", "small": "hang"}
    command = agent(tmp_path, [{"stderr": "It fails."}, LIMITED], DONE, models=models)
    client = start.command(command, options=["--fallback-model=small"])
    client.open()
    prompt = client.prompt("hello")
    client.expect_stderr("It fails.")
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    assert client.turn("again").text == "Done."


def test_a_crash_while_the_agent_switches_ends_the_turn_with_its_failure(
    start: Start, tmp_path: Path
) -> None:
    models = {"big": "switch", "small": "crash"}
    command = agent(tmp_path, [LIMITED], models=models)
    client = start.command(command, options=["--fallback-model=small"])
    client.open()
    assert failure_of(client.turn("hello"))["type"] == "rate_limit"


def test_an_agent_without_a_choice_of_models_says_so_and_fails_as_without_the_option(
    start: Start, tmp_path: Path
) -> None:
    client = start.command(
        agent(tmp_path, [LIMITED], models={}), options=["--fallback-model=small"]
    )
    client.open(**NOTICES)
    client.expect_stderr("the agent offers no choice of models")
    assert failure_of(client.turn("hello"))["type"] == "rate_limit"
