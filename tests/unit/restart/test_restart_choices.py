"""Modes and options of a session that comes back: what is set again, and what the client is told.

A session works in the mode that its client shows, or the client is told another one (RST-6).
"""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.link.choices import Choices
from lastword.core.restart.sessions import SETTING_LIMIT_SECONDS
from lastword.core.restart.state import MAX_GIVEN_UP, Purpose, RestartState, ReturningSession
from tests.kit.wire import error, prompt, reply, request, update
from tests.unit.restart.crashing import Link

MODE, OPTION = "session/set_mode", "session/set_config_option"


def modes(current: str) -> dict[str, Any]:
    return {"modes": {"currentModeId": current, "availableModes": []}}


def listed(**values: Any) -> list[dict[str, Any]]:
    category = {"mode": {"category": "mode"}}
    return [{"id": i, "currentValue": v, **category.get(i, {})} for i, v in values.items()]


def choose(link: Link, method: str, answer: dict[str, Any] | None = None, **params: Any) -> None:
    link.client(request("choice", method, sessionId="s", **params)).answer("choice", **answer or {})


def opened(**told: Any) -> Link:
    """A link with the session open anew, which says so of itself."""
    link = Link().client(request(5, "session/load", sessionId="s", cwd="/w", mcpServers=[]))
    link.answer(5, **told)
    link.asked()
    link.to_client.clear()
    return link


def bring_back(
    link: Link, *past: dict[str, Any], refuses: bool = False, **told: Any
) -> list[tuple[str, str]]:
    """A crash and the way back, in which the agent tells this; gives what was set again."""
    link.asked()
    link.die_and_be_greeted()
    (load,) = link.asked()
    link.to_client.clear()
    for members in past:
        link.agent(update(**members))
    link.answer(load["id"], **told)
    made = []
    while (frame := link.asked()[0])["method"] != "session/prompt":
        params = frame["params"]
        assert params["sessionId"] == "s"
        made.append((params.get("configId", "set_mode"), params.get("value", params.get("modeId"))))
        if refuses:
            link.agent(error(frame["id"]))
        else:
            link.answer(frame["id"])
    assert frame == prompt(2)
    return made


def told_modes(link: Link) -> list[Any]:
    return [u.get("currentModeId") for u in link.updates()]


def left_for(mode: str) -> dict[str, Any]:
    return {"sessionUpdate": "current_mode_update", "currentModeId": mode}


def options_are(**values: Any) -> dict[str, Any]:
    return {"sessionUpdate": "config_option_update", "configOptions": listed(**values)}


def test_a_mode_that_the_session_has_left_is_not_set_again_but_the_one_that_it_left_it_for() -> (
    None
):
    link = Link()
    choose(link, MODE, modeId="bypass")
    link.agent(update(**left_for("ask")))
    assert (bring_back(link), link.updates()) == ([("set_mode", "ask")], [])


def test_an_option_changed_in_the_meantime_is_set_as_it_is_now() -> None:
    link = Link()
    choose(link, OPTION, configId="mode", value="bypass")
    choose(link, OPTION, configId="model", value="small")
    choose(link, OPTION, configId="gone", value="1")
    link.agent(update(**options_are(mode="ask", model="small")))
    assert bring_back(link) == [("model", "small"), ("gone", "1"), ("mode", "ask")]


def test_a_mode_that_an_option_left_is_not_set_again() -> None:
    link = opened(**modes("ask"), configOptions=listed(mode="ask"))
    choose(link, MODE, modeId="bypass")
    link.agent(update(**options_are(mode="ask")))
    assert bring_back(link) == [("mode", "ask")]


def test_an_option_that_a_mode_left_is_not_set_again() -> None:
    link = opened(configOptions=listed(mode="ask"))
    choose(link, OPTION, configId="mode", value="bypass")
    link.agent(update(**left_for("plan")))
    assert bring_back(link) == [("set_mode", "plan"), ("mode", "plan")]


def test_an_answer_that_lists_other_values_has_the_last_word() -> None:
    link = Link()
    answer = {"configOptions": listed(mode="ask", model="small")}
    choose(link, OPTION, answer, configId="mode", value="bypass")
    assert bring_back(link) == []


def test_choices_are_set_again_in_the_order_in_which_they_were_last_made() -> None:
    link = Link()
    choose(link, MODE, modeId="bypass")
    choose(link, OPTION, configId="model", value="small")
    choose(link, "session/set_model", modelId="small")
    choose(link, MODE, modeId="plan")
    assert bring_back(link) == [("model", "small"), ("set_mode", None), ("set_mode", "plan")]
    link = opened(configOptions=listed(mode="ask"))
    choose(link, OPTION, configId="mode", value="bypass")
    choose(link, MODE, modeId="plan")
    assert bring_back(link) == [("set_mode", "plan")], "it takes precedence"


@pytest.mark.parametrize("past", [left_for("ask"), options_are(mode="ask")])
def test_a_replayed_mode_is_withheld_where_another_is_set(
    past: dict[str, Any],
) -> None:
    link = opened(**modes("ask"))
    choose(link, MODE, modeId="plan")
    assert bring_back(link, past) == [("set_mode", "plan")]
    assert "ask" not in told_modes(link)
    assert all(u["configOptions"] == listed(mode="plan") for u in link.updates())


def test_a_session_that_comes_back_in_another_mode_is_set_to_the_one_that_the_client_shows() -> (
    None
):
    link = opened(**modes("ask"))
    assert bring_back(link, **modes("bypass")) == [("set_mode", "ask")]
    assert link.updates() == []


def test_a_mode_that_is_an_option_is_set_as_one() -> None:
    link = opened(configOptions=listed(mode="ask", model="small"))
    back = {"configOptions": listed(mode="bypass", model="small")}
    assert (bring_back(link, **back), link.updates()) == ([("mode", "ask")], [])


def test_a_mode_that_cannot_be_set_again_is_shown_as_it_is() -> None:
    link = opened(**modes("ask"))
    choose(link, MODE, modeId="plan")
    assert bring_back(link, refuses=True, **modes("ask")) == [("set_mode", "plan")]
    assert told_modes(link) == ["ask"]
    # It is the one that the client shows from now on.
    link.to_client.clear()
    link.agent(reply(2, stopReason="end_turn"))
    assert (bring_back(link, **modes("ask")), link.updates()) == ([("set_mode", "ask")], [])


def test_changed_options_are_shown_together_with_those_that_were_set() -> None:
    link = opened(configOptions=listed(model="large", effort="high"))
    choose(link, OPTION, configId="model", value="small")
    back = {"configOptions": [*listed(model="large", effort="low"), "odd"]}
    assert bring_back(link, **back) == [("model", "small")]
    (told,) = link.updates()
    assert told["configOptions"] == [*listed(model="small", effort="low"), "odd"]


def test_invalid_modes_and_options_are_ignored() -> None:
    choices = Choices()
    choices.read_answer(
        {"modes": {"currentModeId": 7}, "configOptions": [7, {"id": 7}, {"id": "a"}]}
    )
    choices.changed("s", {"currentModeId": None, "configOptions": {}})
    choices.chose(MODE, {"modeId": 7})
    assert (choices.mode, choices.options) == (None, {})
    assert choices.mode_set_by((MODE, {"modeId": 7})) is None
    assert choices.mode_set_by(("session/set_model", {"modelId": "m"})) is None


def comes_back_without(link: Link, **told: Any) -> Any:
    """The session comes back, and its one setting is not confirmed in time: gives its id."""
    link.asked()
    link.die_and_be_greeted()
    (load,) = link.asked()
    link.to_client.clear()
    link.answer(load["id"], **told)
    (setting,) = link.asked()
    link.time(link.now + SETTING_LIMIT_SECONDS)
    assert [frame["method"] for frame in link.asked()] == ["session/prompt"]
    return setting["id"]


def test_a_mode_that_is_confirmed_late_is_shown_to_the_client() -> None:
    link = opened(**modes("ask"))
    choose(link, MODE, modeId="plan")
    setting = comes_back_without(link, **modes("ask"))
    link.answer(setting)
    assert told_modes(link) == ["ask", "plan"]
    link.answer(setting)
    assert (told_modes(link), bring_back(link)) == (["ask", "plan"], [("set_mode", "plan")])


def test_an_option_that_is_confirmed_late_is_shown_to_the_client() -> None:
    link = opened(configOptions=listed(model="small"))
    choose(link, OPTION, configId="model", value="large")
    setting = comes_back_without(link, configOptions=listed(model="small"))
    link.answer(setting, configOptions=listed(model="large"))
    told = [update["configOptions"][0]["currentValue"] for update in link.updates()]
    assert told == ["small", "large"]


def test_a_mode_confirmed_before_an_option_is_shown_together_with_it() -> None:
    link = opened(**modes("ask"))
    choose(link, MODE, modeId="plan")
    choose(link, OPTION, configId="model", value="large")
    link.asked()
    link.die_and_be_greeted()
    (load,) = link.asked()
    link.to_client.clear()
    link.answer(load["id"], **modes("ask"))
    (mode,) = link.asked()
    link.time(link.now + SETTING_LIMIT_SECONDS)
    (option,) = link.asked()
    link.answer(mode["id"]).answer(option["id"])
    assert [frame["method"] for frame in link.asked()] == ["session/prompt"]
    assert link.updates() == []


@pytest.mark.parametrize("refused", [True, False], ids=["refused", "shown already"])
def test_a_late_answer_that_changes_nothing_is_not_told(*, refused: bool) -> None:
    link = opened(**modes("ask"))
    choose(link, MODE, modeId="plan")
    setting = comes_back_without(link, **modes("ask"))
    if refused:
        link.agent(error(setting))
    else:
        choose(link, MODE, modeId="plan")
        link.answer(setting)
    assert told_modes(link) == ["ask"]


def test_the_number_of_remembered_unanswered_settings_is_bounded() -> None:
    state = RestartState(0.0)
    state.begin_restoring("s", ReturningSession([], []))
    for number in range(2 * MAX_GIVEN_UP):
        returning = state.returning["s"]
        returning.settings.append((MODE, {"modeId": str(number)}))
        returning.next_setting()
        state.new_request(Purpose.SET_AGAIN, 0.0, "s")
        state.pop_due(1.0)
    assert len(state.given_up) == MAX_GIVEN_UP


def test_a_client_that_opens_the_session_itself_sees_the_mode_in_force() -> None:
    link = opened(**modes("plan"))
    link.asked()
    link.die_and_be_greeted()
    (load,) = link.asked()
    link.answer(load["id"], **modes("yolo"))
    link.client(request(25, "session/load", sessionId="s", cwd="/w", mcpServers=[]))
    link.to_client.clear()
    link.answer(25, **modes("plan")).time(link.now + SETTING_LIMIT_SECONDS)
    assert told_modes(link) == []
