"""Viewers of one session: what each is shown, who may steer, and what is said again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.viewing.reader import Role
from lastword.gateway.viewing.render import EXPIRED
from tests.kit.client import NOTICES
from tests.kit.gateway.agents import noting
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import (
    TYPED,
    ViewerClient,
    attached,
    failure_of,
    has_ended_well,
    opened,
)

if TYPE_CHECKING:
    from tests.kit.gateway.serving import Gateway, Serve


def is_question(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "session/request_permission"


def is_withdrawal(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "$/cancel_request"


def test_two_viewers_of_different_kinds_each_get_a_failure_in_their_own_form(
    healthy: Gateway,
) -> None:
    with (
        opened(healthy, capabilities=TYPED) as (typed, session),
        attached(healthy, session) as stock,
    ):
        assert failure_of(typed.turn(session, "/scenario rate_limit"))["type"] == "rate_limit"
        (told,) = typed.updates("agent_error")
        assert told["error"]["retry_after_seconds"] == 20

        stock.find(lambda frame: "session_info_update" in str(frame))
        (told,) = stock.updates("session_info_update")
        assert told["_meta"]["agent_error"]["type"] == "rate_limit"
        assert stock.updates("agent_error") == []
        (said,) = stock.updates("user_message_chunk")
        assert said["content"] == {"type": "text", "text": "/scenario rate_limit"}
        assert typed.updates("user_message_chunk") == []


@pytest.fixture(scope="module")
def other(serve_all: Serve) -> Gateway:
    """A gateway with other options than the healthy one."""
    return serve_all("healthy", "--compress", "on", "--unattended", "reject")


def test_viewers_with_compression_get_the_same_frames(healthy: Gateway, other: Gateway) -> None:
    with ViewerClient(healthy) as viewer:
        assert not viewer.is_compressed
    with opened(other) as (first, session), attached(other, session) as second:
        assert first.is_compressed
        first.turn(session)
        assert first.said
        second.find(lambda _: len(second.said) == len(first.said))
        assert second.said == first.said


def test_an_unattended_question_is_rejected_with_unattended_reject(other: Gateway) -> None:
    with opened(other) as (asker, session):
        asker.prompt(session, "/scenario permission")
        asker.question()
    until("the turn ends", lambda: not other.session(session)["turn"])
    assert other.session(session)["questions"] == 0


def test_the_first_answer_of_two_controllers_counts_and_the_other_question_is_withdrawn(
    healthy: Gateway,
) -> None:
    with opened(healthy) as (first, session), attached(healthy, session) as second:
        prompt = first.prompt(session, "/scenario permission")
        asked, again = first.question(), second.question()
        assert asked["id"] == again["id"]
        # Nor may anybody else prompt meanwhile.
        assert failure_of(second.turn(session))["reason"] == "turn_open"
        second.allow(asked)
        assert first.find(is_withdrawal)["params"]["requestId"] == asked["id"]
        first.send({"id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        assert has_ended_well(first.answer(prompt))
        assert not any(map(is_withdrawal, second.frames))


def test_a_viewer_that_asked_for_lines_gets_many_frames_in_a_message(serve: Serve) -> None:
    tools = [{"tool": {"title": f"Read {n}", "status": "completed"}} for n in range(300)]
    gateway = serve({"turns": [[*tools, {"result": "end_turn"}]]})
    with (
        ViewerClient(gateway, replay=True) as plain,
        ViewerClient(gateway, replay=True, known={"lines": 1}) as lines,
    ):
        session = plain.new(gateway.root)
        plain.turn(session)
        lines.load(session, gateway.root)
        told = [viewer.updates("tool_call") for viewer in (plain, lines)]
        assert told[0] == told[1]
        assert len(told[0]) == 300
        assert plain.messages == len(plain.frames)
        assert lines.messages < len(lines.frames) / 10


def test_an_unanswered_question_times_out_and_each_viewer_sees_it(serve: Serve) -> None:
    gateway = serve("two_questions", "--ask-reminder", "500ms", "--ask-timeout", "5s")
    with (
        ViewerClient(gateway, replay=True) as first,
        ViewerClient(gateway, capabilities=NOTICES) as second,
        ViewerClient(gateway, token=gateway.token(role=Role.OBSERVER)) as observer,
    ):
        session = first.new(gateway.root)
        second.load(session, gateway.root)
        observer.load(session, gateway.root)
        assert has_ended_well(first.turn(session))
        assert "".join(first.said) == "Run the tests: reject. Edit parser.py: reject. "
        observer.find(lambda frame: "Edit parser.py: reject" in str(frame))
        second.find(lambda frame: "Edit parser.py: reject" in str(frame))
        for viewer in (first, second):
            (asked, other) = filter(is_question, viewer.frames)
            gone = list(filter(is_withdrawal, viewer.frames))
            assert [f["params"]["requestId"] for f in gone] == [asked["id"], other["id"]]
            how = [frame["params"]["_meta"]["lastword"]["how"] for frame in gone]
            assert how == ["timed_out", "timed_out"]
        titles = [notice["title"] for notice in second.updates("notice")]
        assert titles[0].startswith("The agent is waiting for your answer: Run the tests. Without")
        assert titles[-1] == EXPIRED
        thoughts = [each["content"]["text"] for each in observer.updates("agent_thought_chunk")]
        assert thoughts == [f"{title}\n\n" for title in titles]
        assert not any(map(is_question, observer.frames))


def test_an_agents_activity_after_its_answer_is_shown_to_each_viewer(healthy: Gateway) -> None:
    with opened(healthy, replay=True) as (first, session), attached(healthy, session) as second:
        assert has_ended_well(first.turn(session, "/scenario works_on"))
        for viewer in (first, second):
            for word in ("active", "quiet"):
                viewer.find(lambda frame, word=word: f"'session': '{word}'" in str(frame))
        view = healthy.session(session)["view"]
        assert (view["state"], view["activity"]) == ("idle", "quiet")


WORDS = [f"<{number}>" for number in range(20)]
TALKS: dict[str, Any] = {
    "turns": [
        [
            *({"say": word} for word in WORDS[:10]),
            {"tool": {"title": "Read", "kind": "read"}},
            *({"say": word} for word in WORDS[10:]),
            {"result": "end_turn"},
        ],
        [*({"say": word} for word in WORDS), {"result": "end_turn"}],
    ],
    "sessions": "resume",
}


def asks_for(replay: Any, **more: Any) -> dict[str, Any]:
    return {"_meta": {"lastword": {"replay": replay} | more}}


def test_a_past_is_joined_for_stock_clients_and_on_request_and_live_updates_never_are(
    serve: Serve,
) -> None:
    gateway = serve(TALKS)
    joined = ["".join(WORDS[:10]), "".join(WORDS[10:])]
    with opened(gateway, replay=True) as (first, session), ViewerClient(gateway) as stock:
        first.turn(session)
        assert first.said == WORDS
        assert "_meta" not in stock.load(session, gateway.root)
        wrong = gateway.opening(sessionId=session) | asks_for("short")
        assert stock.answer(stock.request("session/load", wrong))["error"]["code"] == -32602
        assert stock.said == joined
        assert [each["content"]["text"] for each in stock.updates("user_message_chunk")] == ["go"]
        with ViewerClient(gateway) as whole:
            whole.load(session, gateway.root, **asks_for("full"))
            assert whole.said == WORDS
        with ViewerClient(gateway, replay=True) as numbered:
            place = numbered.load(session, gateway.root)["_meta"]["lastword"]
            assert (place["replay"], numbered.said) == ("full", WORDS)
            at = next(
                frame["params"]["_meta"]["lastword"]["seq"]
                for frame in numbered.frames
                if WORDS[4] in str(frame.get("params"))
            )
        wanted = {"type": "_lastword", "epoch": place["epoch"], "from": at + 1}
        for asked in (
            asks_for("compact", after={"epoch": place["epoch"], "seq": at}),
            asks_for("compact") | {"replayFrom": wanted},  # the form of version 2
        ):
            with ViewerClient(gateway, replay=True) as rest:
                rest.load(session, gateway.root, **asked)
                assert rest.said == ["".join(WORDS[5:10]), joined[1]]

        first.turn(session)
        stock.find(lambda _: len(stock.said) == len(joined + WORDS))
        assert stock.said == joined + WORDS


@pytest.fixture(scope="module")
def early(serve_all: Serve, tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    """A gateway whose agent forks, and speaks before it answers."""
    path = tmp_path_factory.mktemp("agent") / "noted"
    return serve_all(command=noting(path, "fork", "early"))


def saying(text: str, session: str = "SESSION") -> str:
    """The prompt by which the agent says a text in a session."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    params = {"sessionId": session, "update": update}
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return f"say {json.dumps(frame)}"


def test_frames_of_two_sessions_in_one_write_reach_their_own_viewers_in_order(
    early: Gateway,
) -> None:
    with opened(early) as (one, session), ViewerClient(early) as other:
        forked = other.result("session/fork", early.opening(sessionId=session))["sessionId"]
        one.turn(session, saying("elsewhere", forked))
        other.turn(forked)
        # What was said before a session's name was known begins it.
        assert one.said == ["early", "Heard say"]
        assert other.said == ["early", "elsewhere", "Heard go"]
        for viewer, own in ((one, session), (other, forked)):
            updates = [f for f in viewer.frames if f.get("method") == "session/update"]
            assert {frame["params"]["sessionId"] for frame in updates} == {own}


def test_a_load_is_answered_once_the_whole_past_has_arrived(early: Gateway) -> None:
    with opened(early) as (one, session), ViewerClient(early) as other:
        for _ in range(20):
            one.turn(session, saying("x" * 60_000))
        other.load(session, early.root)
        assert "".join(other.said).count("x" * 60_000) == 20  # some of them are joined


# --- what is said again over another link ---------------------------------------------------------
