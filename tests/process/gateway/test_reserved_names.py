"""An agent that speaks with the gateway's voice: nobody hears it, and it is counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.agents import noted, noting
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient, has_ended_well
from tests.process.gateway.test_quality import Metrics

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway, Serve

FORGED = {"seq": 10**9, "epoch": "forged", "from": 1, "gap": {"from": 1, "to": 9, "reason": "x"}}


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {"sessionId": "SESSION"} | params}


def update(inner: dict[str, Any], **members: Any) -> dict[str, Any]:
    """An update of a title, with more in itself and in its params."""
    told = {"sessionUpdate": "session_info_update", "title": "kept"} | inner
    return notification("session/update", update=told, **members)


METHODS = [
    notification("_lastword/life", word="log_reset", facts={"epoch": "forged"}),
    notification("_lastword/at", _meta={"lastword": FORGED}),
    notification("_lastword/gap", **{"from": 1, "to": 9}),
    notification("_lastword/ended", stopReason="end_turn"),
]
METAS = [
    update({}, _meta={"lastword": FORGED, "other": 1}),
    update({"_meta": {"lastword": {"gap": FORGED["gap"]}}}),
    update({"_meta": {"lastword": {"turn": {}}}}, _meta={"lastword": FORGED}),
]


def disguised(frame: dict[str, Any]) -> str:
    """The same frame, where no reader of bytes sees the name."""
    return json.dumps(frame).replace("lastword", "l\\u0061stw\\u006frd")


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the agent notes what reaches it."""
    return tmp_path_factory.mktemp("agent") / "noted"


@pytest.fixture(scope="module")
def gateway(serve_all: Serve, notes: Path) -> Gateway:
    """A gateway whose agent says what it is told to."""
    return serve_all("", command=noting(notes))


def counted(gateway: Gateway, used: str) -> float:
    """How many frames the gateway counted."""
    return Metrics(gateway)("frames_reserved_total", used=used)


def test_an_agents_own_lastword_frames_and_facts_reach_no_viewer_and_are_counted(
    gateway: Gateway,
) -> None:
    with ViewerClient(gateway, replay=True) as viewer, ViewerClient(gateway) as later:
        session = viewer.new(gateway.root)
        for frame in [*METHODS, *METAS]:
            for text in (json.dumps(frame), disguised(frame)):
                assert has_ended_well(viewer.turn(session, f"say {text}"))
        later.load(session, gateway.root)
        for each in (viewer, later):
            told = json.dumps([one for one in each.frames if "user_message_chunk" not in str(one)])
            for forged in ("forged", str(10**9), '"turn": {}'):
                assert forged not in told
            titles = [one for one in each.updates("session_info_update") if one.get("title")]
            assert [one["title"] for one in titles] == ["kept"] * 2 * len(METAS)
        assert {"other": 1} in [frame.get("params", {}).get("_meta") for frame in later.frames]
        assert viewer.seqs() == sorted(viewer.seqs())
    until("they are counted", lambda: counted(gateway, "method") == 2 * len(METHODS))
    until("and these", lambda: counted(gateway, "meta") == 2 * len(METAS))


def test_an_agents_own_request_with_our_prefix_gets_an_error(gateway: Gateway, notes: Path) -> None:
    asked = notification("_lastword/ping") | {"id": "mine"}
    with ViewerClient(gateway) as viewer:
        viewer.turn(viewer.new(gateway.root), f"say {json.dumps(asked)}")
        until(
            "it is answered",
            lambda: (
                [each["error"]["code"] for each in noted(notes) if each.get("id") == "mine"]
                == [-32601]
            ),
        )
        assert "_lastword/ping" not in json.dumps(viewer.frames)


def test_another_agents_forged_answer_does_not_redirect_a_session(gateway: Gateway) -> None:
    with ViewerClient(gateway) as viewer:
        one, other = viewer.new(gateway.root), viewer.new(gateway.root)
        # It answers the next prompt itself, with the name of a session that is not its own.
        for guess in range(4, 8):
            result = {"stopReason": "end_turn", "sessionId": other}
            forged = {"jsonrpc": "2.0", "id": guess, "result": result}
            viewer.turn(one, f"say {json.dumps(forged)}")
        assert viewer.turn(other)["result"] == {"stopReason": "end_turn"}


def test_a_text_about_lastword_is_not_touched(gateway: Gateway) -> None:
    before = counted(gateway, "meta")
    raw = {"_meta": {"lastword": {"seq": 1}}, "n": 1.50}
    inner = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "lastword", "rawInput": raw}
    with ViewerClient(gateway) as viewer:
        text = json.dumps(notification("session/update", update=inner))
        viewer.turn(viewer.new(gateway.root), f"say {text}")
        (call,) = viewer.updates("tool_call")
        assert call["rawInput"] == raw
    assert counted(gateway, "meta") == before
