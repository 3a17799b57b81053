"""Requests that open sessions: to whom each is answered, and what came of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

from lastword.core.link.choices import Choices
from lastword.gateway.holder.agent_process import RequestFailedError
from lastword.gateway.holder.openings import UNDER_WAY, Opening, Openings, _set_again
from lastword.gateway.viewing.reader import Viewer
from tests.kit.patience import fused

if TYPE_CHECKING:
    from lastword.gateway.holder.connection import ViewerConnection

ONE, OTHER = (cast("ViewerConnection", object()) for _ in range(2))


def test_a_request_repeated_while_it_waits_is_answered_over_the_newer_link() -> None:
    openings = Openings()
    openings.add(7, Opening(ONE, "a", b"1", {"cwd": "/"}))
    viewer = Viewer(id="a")
    assert openings.again(OTHER, viewer, b"2", {}) is None
    assert openings.again(OTHER, Viewer(id="b"), b"1", {}) is None
    assert openings.again(OTHER, viewer, b"1", {}) == UNDER_WAY
    taken = openings.pop(7)
    assert taken is not None
    assert taken.link is OTHER
    assert openings.pop(7) is None
    assert openings.again(OTHER, viewer, b"1", {"s"}) is None
    openings.opened(taken.viewer, taken.request_id, "s")
    assert openings.again(OTHER, viewer, b"1", {"s"}) == "s"
    openings.add(8, Opening(ONE, "a", b"2", {}))
    assert [each.request_id for each in openings.pop_all()] == [b"2"]
    assert openings.pop_all() == []


def test_a_returning_viewer_gets_its_session_again_while_it_is_open() -> None:
    openings = Openings()
    viewer, first = Viewer(id="a"), Viewer(id="a", is_new=True)
    assert openings.again(ONE, first, b"1", {}) is None
    opening = Opening(ONE, "a", b"1", {"cwd": "/"})
    openings.add(7, opening)
    assert openings.again(OTHER, viewer, b"1", {}) == UNDER_WAY
    assert opening.link is OTHER
    openings.pop(7)
    openings.opened(opening.viewer, opening.request_id, "s")
    assert openings.again(ONE, viewer, b"1", {"s"}) == "s"
    assert openings.again(ONE, viewer, b"1", {"t"}) is None  # it has ended since
    assert openings.again(ONE, viewer, b"2", {"s"}) is None
    assert openings.again(ONE, Viewer(id="b"), b"1", {"s"}) is None
    assert openings.again(ONE, first, b"1", {"s"}) is None  # its id is used for another one


def test_an_id_that_is_used_again_has_the_outcome_of_the_later_request() -> None:
    openings = Openings()
    for number in (7, 8):
        openings.add(number, Opening(ONE, "a", b"1", {"cwd": "/"}))
        taken = openings.pop(number)
        assert taken is not None
        if number == 7:
            openings.opened(taken.viewer, taken.request_id, "s")
    # The later one failed, and its answer was lost: it is asked again, and "s" is another session.
    assert openings.again(OTHER, Viewer(id="a"), b"1", {"s"}) is None


@fused
async def test_viewers_are_shown_the_options_and_the_mode_that_a_new_agent_has_otherwise() -> None:
    def listed(**values: str) -> list[dict[str, Any]]:
        return [{"id": option, "currentValue": value} for option, value in values.items()]

    async def request(_method: str, params: dict[str, Any]) -> dict[str, Any]:
        if params["configId"] == "gone":
            raise RequestFailedError({"code": -32602, "message": "There is none."})
        return {}

    chosen = Choices()
    for option in ("model", "gone", "mode"):
        params = {"configId": option, "value": "chosen"}
        chosen.chose("session/set_config_option", params)
    chosen.read_answer({"modes": {"currentModeId": "ask"}})
    session = mock.Mock(
        agents_id="s", choices=lambda: chosen, recall=lambda _: {"modes": 1, "x": 2}
    )
    holder = mock.Mock(**{"conversation.request": request})
    options = listed(model="own", gone="own", mode="own")
    answer = {"configOptions": options, "modes": {"currentModeId": "bypass"}}
    await _set_again(holder, session, dict(answer))
    shown = listed(model="chosen", gone="own", mode="chosen")
    session.show_in_force.assert_called_once_with("bypass", shown)
    name, offered = session.log.remember.call_args.args
    assert (name, json.loads(offered)) == ("result", answer | {"x": 2})
    as_it_is = Choices()
    as_it_is.read_answer(answer)
    session = mock.Mock(agents_id="s", choices=lambda: as_it_is, recall=lambda _: {})
    await _set_again(holder, session, answer)
    session.show_in_force.assert_called_once_with(None, None)
