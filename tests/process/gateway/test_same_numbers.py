"""What `lastword log --json`, the events API and the metrics say alike of one session."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.log_web import LogWeb
from tests.process.gateway.test_quality import Metrics
from tests.process.gateway.test_recorded import entries, lastword, runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

TURNS: dict[str, Any] = {
    "turns": [
        [{"say": "One."}, {"result": "end_turn"}],
        [{"fail": {"http": 529, "message": "Overloaded"}}],
        [{"say": "Three."}, {"result": "end_turn"}],
    ],
    "sessions": "resume",
}
OF_TURNS = ("prompt", "answer", "error")
TAB_CLOSED = (1001, "tab_closed")


def turns_of_api(gateway: Gateway, session: str) -> list[tuple[str, int]]:
    events = ApiClient(gateway).events(session)
    return [(each["kind"], each["turn"]) for each in events if each["kind"] in OF_TURNS]


def turns_of_record(gateway: Gateway, session: str) -> list[tuple[str, int]]:
    return [
        (entry["kind"], entry["turn"])
        for run in runs(gateway, session)
        for entry in run["entries"]
        if entry["kind"] in OF_TURNS and entry["turn"] is not None
    ]


@pytest.mark.processes
def test_a_turn_has_the_records_number_and_both_pages_are_in_order_of_time(
    serve: Serve, tmp_path: Path
) -> None:
    """Two processes write the record behind a gateway, and a holder's successor is a third."""
    gateway = serve(TURNS)
    with ViewerClient(gateway, capabilities=TYPED, replay=True) as viewer:
        session = viewer.new(gateway.root)
        for turn in range(3):
            mode = {"sessionId": session, "modeId": f"mode-{turn}"}
            viewer.answer(viewer.request("session/set_mode", mode))
            viewer.answer(viewer.prompt(session))
    expected = [
        *(("prompt", 1), ("answer", 1), ("prompt", 2), ("error", 2), ("prompt", 3), ("answer", 3)),
    ]
    until("it is recorded", lambda: turns_of_record(gateway, session) == expected)
    assert turns_of_api(gateway, session) == expected
    gateway.crash()
    with ViewerClient(gateway, capabilities=TYPED, replay=True) as viewer:
        viewer.load(session, gateway.root)
        viewer.answer(viewer.prompt(session))
    again = [*expected, ("prompt", 1), ("answer", 1)]
    until("the next run is recorded", lambda: turns_of_record(gateway, session) == again)
    assert turns_of_api(gateway, session) == again
    page = tmp_path / "session.html"
    lastword(gateway, "export", session, "--html", "-o", str(page))
    text = page.read_text(encoding="utf-8")
    [data] = re.findall(r'id="record">(.*?)</script>', text, re.DOTALL)
    exported = [event["at_epoch_ms"] for event in json.loads(data)["events"]]
    assert len(exported) > 10
    assert exported == sorted(exported)
    first = min(entries(gateway, session), key=lambda entry: entry["at_epoch_ms"])
    assert f"<dt>From</dt><dd><bdi>{first['at']}</bdi>" in text

    with LogWeb(gateway.state) as web:
        web.follow()
        listed = json.loads(web.ask("/record/sessions").body)["sessions"]
        name = listed[0]["name"]  # the latest of its runs, which has those before it
        told = json.loads(web.ask(f"/record/session?name={name}").body)["events"]
    served = [event["at_epoch_ms"] for event in told]
    assert served == sorted(served)
    assert set(exported) <= set(served)  # the viewer's leaving may have been written since


def test_a_closed_tab_has_one_name_in_the_log_the_api_and_the_metrics(serve: Serve) -> None:
    gateway = serve(TURNS)
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        session = viewer.new(gateway.root)
        viewer.answer(viewer.prompt(session))
        viewer.leave(1001)

    def left(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
        return [
            (each["facts"]["code"], each["facts"]["cause"])
            for each in found
            if each["kind"] == "viewer_left"
        ]

    until("it has left", lambda: left(ApiClient(gateway).events(session)) == [TAB_CLOSED])
    until("it is recorded", lambda: left(entries(gateway, session)) == [TAB_CLOSED])
    page = " ".join(lastword(gateway, "log", session).split())
    assert "its tab or program was closed (1001)" in page
    ended = {"cause": "tab_closed"}
    until("it is counted", lambda: Metrics(gateway)("connections_ended_total", **ended) == 1)
    assert Metrics(gateway)("connections_ended_total", cause="front_stops") == 0
