"""Viewers of one session: what each is shown, who may steer, whose answer counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.gateway.viewing.reader import Role
from lastword.gateway.viewing.render import EXPIRED
from tests.kit.client import NOTICES
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import TYPED, ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]


def is_question(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "session/request_permission"


def is_withdrawal(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "$/cancel_request"


def test_a_prompt_of_megabytes_reaches_the_agent(healthy: Gateway) -> None:
    with ViewerClient(healthy) as viewer:
        answer = viewer.answer(viewer.prompt(viewer.new(healthy.root), "x" * 3 * 1024 * 1024))
        assert answer["result"]["stopReason"] == "end_turn"
        assert not viewer.is_compressed


def test_two_viewers_of_different_kinds_each_get_a_failure_in_their_own_form(
    healthy: Gateway,
) -> None:
    gateway = healthy
    with ViewerClient(gateway, capabilities=TYPED) as typed, ViewerClient(gateway) as stock:
        session = typed.new(gateway.root)
        stock.load(session, gateway.root)
        answer = typed.answer(typed.prompt(session, "/scenario rate_limit"))
        assert answer["error"]["data"]["agent_error"]["type"] == "rate_limit"
        (told,) = typed.updates("agent_error")
        assert told["error"]["retry_after_seconds"] == 20

        stock.find(lambda frame: "session_info_update" in str(frame))
        (told,) = stock.updates("session_info_update")
        assert told["_meta"]["agent_error"]["type"] == "rate_limit"
        assert stock.updates("agent_error") == []
        (said,) = stock.updates("user_message_chunk")
        assert said["content"] == {"type": "text", "text": "/scenario rate_limit"}
        assert typed.updates("user_message_chunk") == []


def test_viewers_with_compression_get_the_same_frames(serve: Serve) -> None:
    gateway = serve("healthy", "--compress", "on")
    with ViewerClient(gateway) as first, ViewerClient(gateway) as second:
        session = first.new(gateway.root)
        second.load(session, gateway.root)
        assert first.is_compressed
        first.answer(first.prompt(session))
        said = first.updates("agent_message_chunk")
        assert said
        second.find(lambda frame: "agent_message_chunk" in str(frame))
        while len(second.updates("agent_message_chunk")) < len(said):
            second.next()
        assert second.updates("agent_message_chunk") == said


def test_the_first_answer_of_two_controllers_counts_and_the_other_question_is_withdrawn(
    healthy: Gateway,
) -> None:
    gateway = healthy
    with ViewerClient(gateway) as first, ViewerClient(gateway) as second:
        session = first.new(gateway.root)
        second.load(session, gateway.root)
        prompt = first.prompt(session, "/scenario permission")
        asked, again = first.question(), second.question()
        assert asked["id"] == again["id"]
        second.allow(asked)
        assert first.find(is_withdrawal)["params"]["requestId"] == asked["id"]
        first.send({"id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        assert first.answer(prompt)["result"]["stopReason"] == "end_turn"
        assert not any(map(is_withdrawal, second.frames))


def test_a_question_without_viewers_is_kept_for_the_next_one(serve: Serve) -> None:
    gateway = serve("permission")
    with ViewerClient(gateway) as asker:
        session = asker.new(gateway.root)
        asker.prompt(session)
        asker.question()
    until("nobody is there", lambda: gateway.holders()[0]["sessions"][0]["controllers"] == 0)
    assert gateway.holders()[0]["sessions"][0]["questions"] == 1
    with ViewerClient(gateway) as comer:
        comer.load(session, gateway.root)
        asked = comer.question()
        comer.allow(asked)
        until("the turn ends", lambda: not gateway.holders()[0]["sessions"][0]["turn"])


def test_an_unattended_question_is_rejected_with_unattended_reject(
    serve: Serve,
) -> None:
    gateway = serve("permission", "--unattended", "reject")
    with ViewerClient(gateway) as asker:
        session = asker.new(gateway.root)
        asker.prompt(session)
        asker.question()
    until("the turn ends", lambda: not gateway.holders()[0]["sessions"][0]["turn"])
    assert gateway.holders()[0]["sessions"][0]["questions"] == 0


def test_an_observer_watches_and_cannot_control(healthy: Gateway) -> None:
    gateway = healthy
    token = gateway.token(role=Role.OBSERVER)
    with ViewerClient(gateway) as one, ViewerClient(gateway, token=token) as observer:
        session = one.new(gateway.root)
        observer.load(session, gateway.root)
        refused = observer.answer(observer.prompt(session))
        assert refused["error"]["data"]["agent_error"]["reason"] == "observer"
        params = {"cwd": str(gateway.root), "mcpServers": []}
        refused = observer.answer(observer.request("session/new", params))
        assert refused["error"]["data"]["agent_error"]["reason"] == "observer"
        one.answer(one.prompt(session))
        observer.find(lambda frame: "agent_message_chunk" in str(frame))


def test_a_second_viewer_cannot_prompt_while_a_turn_runs(healthy: Gateway) -> None:
    gateway = healthy
    with ViewerClient(gateway) as one, ViewerClient(gateway) as other:
        session = one.new(gateway.root)
        other.load(session, gateway.root)
        one.prompt(session, "/scenario permission")
        one.question()
        refused = other.answer(other.prompt(session, "/scenario permission"))
        assert refused["error"]["data"]["agent_error"]["reason"] == "turn_open"


def test_the_same_viewer_elsewhere_replaces_the_older_socket(healthy: Gateway) -> None:
    gateway = healthy
    older = ViewerClient(gateway, replay=True)
    session = older.new(gateway.root)
    with ViewerClient(gateway, replay=True, known=older.known) as newer:
        newer.load(session, gateway.root)
        assert older.closed() == (4409, "superseded")
        answer = newer.answer(newer.prompt(session))
        assert answer["result"]["stopReason"] == "end_turn"


def test_a_viewer_that_asked_for_lines_gets_many_frames_in_a_message(serve: Serve) -> None:
    tools = [{"tool": {"title": f"Read {n}", "status": "completed"}} for n in range(300)]
    gateway = serve({"turns": [[*tools, {"result": "end_turn"}]]})
    with ViewerClient(gateway, replay=True) as plain:
        session = plain.new(gateway.root)
        plain.answer(plain.prompt(session))
    with (
        ViewerClient(gateway, replay=True) as plain,
        ViewerClient(gateway, replay=True, known={"lines": 1}) as lines,
    ):
        for viewer in (plain, lines):
            viewer.load(session, gateway.root)
        told = [viewer.updates("tool_call") for viewer in (plain, lines)]
        assert told[0] == told[1]
        assert len(told[0]) == 300
        assert plain.messages == len(plain.frames)
        assert lines.messages < len(lines.frames) / 10


def test_an_unanswered_question_times_out_and_each_viewer_sees_it(
    serve: Serve,
) -> None:
    gateway = serve("two_questions", "--ask-reminder", "500ms", "--ask-timeout", "5s")
    with (
        ViewerClient(gateway, replay=True) as first,
        ViewerClient(gateway, capabilities=NOTICES) as second,
        ViewerClient(gateway, token=gateway.token(role=Role.OBSERVER)) as observer,
    ):
        session = first.new(gateway.root)
        second.load(session, gateway.root)
        observer.load(session, gateway.root)
        prompt = first.prompt(session)
        assert first.answer(prompt)["result"]["stopReason"] == "end_turn"
        said = "".join(update["content"]["text"] for update in first.updates("agent_message_chunk"))
        assert said == "Run the tests: reject. Edit parser.py: reject. "
        observer.find(lambda frame: "Edit parser.py: reject" in str(frame))
        second.find(lambda frame: "Edit parser.py: reject" in str(frame))
        for viewer in (first, second):
            (asked, other) = filter(is_question, viewer.frames)
            gone = list(filter(is_withdrawal, viewer.frames))
            assert [f["params"]["requestId"] for f in gone] == [asked["id"], other["id"]]
            how = [frame["params"]["_meta"]["lastword"]["how"] for frame in gone]
            assert how == ["timed_out", "timed_out"]
            viewer.send({"id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        titles = [notice["title"] for notice in second.updates("notice")]
        assert titles[0].startswith("The agent is waiting for your answer: Run the tests. Without")
        assert titles[-1] == EXPIRED
        thoughts = [each["content"]["text"] for each in observer.updates("agent_thought_chunk")]
        assert thoughts == [f"{title}\n\n" for title in titles]
        assert not any(map(is_question, observer.frames))


def test_an_agents_activity_after_its_answer_is_shown_to_each_viewer(healthy: Gateway) -> None:
    gateway = healthy
    words = ["active", "quiet"]
    with ViewerClient(gateway, replay=True) as first, ViewerClient(gateway) as second:
        session = first.new(gateway.root)
        second.load(session, gateway.root)
        assert (
            first.answer(first.prompt(session, "/scenario works_on"))["result"]["stopReason"]
            == "end_turn"
        )
        for viewer in (first, second):
            for word in words:
                viewer.find(lambda frame, word=word: f"'session': '{word}'" in str(frame))
        (view,) = (
            each["view"]
            for held in gateway.holders()
            for each in held["sessions"]
            if each["sessionId"] == session
        )
        assert (view["state"], view["activity"]) == ("idle", "quiet")
