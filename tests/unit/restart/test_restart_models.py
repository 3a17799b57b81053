"""`--fallback-model` and an agent that crashes: the former model comes back with the session."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.wire import chunk, error, prompt, request, result
from tests.unit.restart.crashing import LOADING, Link

LIMITED = "429 Too Many Requests"
OPTION = "session/set_config_option"


def options(current: str) -> list[dict[str, Any]]:
    values = [{"value": value, "name": value} for value in ("big", "small")]
    return [{"id": "model", "category": "model", "currentValue": current, "options": values}]


class ModelLink(Link):
    """A link with a session that offers models, and a prompt at work in it."""

    def __init__(self, failure: str = LIMITED, **settings: Any) -> None:
        super().__init__(LOADING, fallback_model="small", **settings)
        self.client(request(5, "session/load", sessionId="s", cwd="/w", mcpServers=[]))
        self.answer(5, configOptions=options("big"))
        self.client(prompt()).agent(error(message=failure))
        self.asked_last()

    def asked_last(self) -> dict[str, Any]:
        """What the agent was sent last."""
        return self.asked()[-1]

    def switch(self) -> None:
        """The agent switches, and gets the prompt."""
        self.answer("lastword:model:1", configOptions=options("small")).time(self.now)
        assert self.asked_last()["method"] == "session/prompt"

    def come_back_with(self, model: str) -> None:
        """The new agent brings the session back with its own model, and this one is set."""
        load = self.asked_last()
        assert load["method"] == "session/load"
        self.answer(load["id"], configOptions=options("big"))
        choice = self.asked_last()
        assert (choice["method"], choice["params"]["value"]) == (OPTION, model)
        self.answer(choice["id"], configOptions=options(model))

    def shown(self) -> str:
        """The model that the client shows."""
        lists = [each["configOptions"] for each in self.updates() if "configOptions" in each]
        return str(lists[-1][0]["currentValue"])


@pytest.mark.parametrize("ends", ["well", "by the crash"])
def test_a_session_that_lost_its_agent_on_the_way_back_has_the_former_model(ends: str) -> None:
    link = ModelLink()
    link.switch()
    if ends == "well":
        link.agent(chunk("Done."), result())
        assert link.asked_last()["params"]["value"] == "big"
    link.die_and_be_greeted()
    assert len(link.answers(1)) == 1
    link.come_back_with("big")
    assert (link.asked_last(), link.shown()) == (prompt(2), "big")


def test_a_turn_that_is_resent_after_a_crash_keeps_its_model_until_it_ends() -> None:
    link = ModelLink(retry=3, failure="The model `big` does not exist")
    link.switch()
    link.die().time(link.now + 10).greet()
    link.come_back_with("small")
    assert link.asked_last() == prompt()
    link.agent(chunk("Done."), result())
    assert (len(link.answers(1)), link.asked_last()["params"]["value"]) == (1, "big")


def test_a_crash_within_the_switch_ends_the_turn_and_nothing_is_resent() -> None:
    link = ModelLink().die()
    (answer,) = link.answers(1)
    assert answer["error"]["data"]["agent_error"]["type"] == "rate_limit"
    link.time(link.now + 60).client(prompt(2)).greet()
    link.come_back_with("big")
    assert link.asked() == [prompt(2)]
