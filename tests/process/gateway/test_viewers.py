"""Viewers of one session: what each is shown, who may steer, whose answer counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.viewing.attachment import Role
from lastword.gateway.viewing.render import EXPIRED
from tests.kit.client import NOTICES
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import TYPED, ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]


def is_question(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "session/request_permission"


def is_withdrawal(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "$/cancel_request"


def test_a_prompt_of_megabytes_reaches_the_agent(serve: Serve) -> None:
    gateway = serve({"turns": [[{"say": "done"}, {"result": "end_turn"}]]})
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        answer = viewer.answer(viewer.prompt(session, "x" * 3 * 1024 * 1024))
        assert answer["result"]["stopReason"] == "end_turn"


@pytest.mark.parametrize("log_kind", ["disk", "late"])
def test_a_failure_is_told_to_two_viewers_of_different_kinds_each_in_its_way(serve: Serve) -> None:
    gateway = serve("rate_limit")
    with ViewerClient(gateway, capabilities=TYPED) as typed, ViewerClient(gateway) as stock:
        session = typed.new(gateway.root)
        stock.load(session, gateway.root)
        answer = typed.answer(typed.prompt(session, "hello"))
        assert answer["error"]["data"]["agent_error"]["type"] == "rate_limit"
        (told,) = typed.updates("agent_error")
        assert told["error"]["retry_after_seconds"] == 20

        stock.find(lambda frame: "session_info_update" in str(frame))
        (told,) = stock.updates("session_info_update")
        assert told["_meta"]["agent_error"]["type"] == "rate_limit"
        assert stock.updates("agent_error") == []
        (said,) = stock.updates("user_message_chunk")
        assert said["content"] == {"type": "text", "text": "hello"}
        assert typed.updates("user_message_chunk") == []


def test_a_stock_viewer_that_prompts_gets_a_json_rpc_error_and_the_typed_one_the_update(
    serve: Serve,
) -> None:
    gateway = serve("rate_limit")
    with ViewerClient(gateway, capabilities=TYPED) as typed, ViewerClient(gateway) as stock:
        session = stock.new(gateway.root)
        typed.load(session, gateway.root)
        answer = stock.answer(stock.prompt(session))
        assert answer["error"]["data"]["errorKind"] == "rate_limit"
        typed.find(lambda frame: "agent_error" in str(frame.get("params")))
        (told,) = typed.updates("agent_error")
        assert told["error"]["type"] == "rate_limit"
        assert stock.updates("agent_error") == []


@pytest.mark.parametrize("options", [(), ("--compress", "on")])
def test_viewers_with_and_without_compression_are_sent_the_same(
    serve: Serve, options: tuple[str, ...]
) -> None:
    gateway = serve("healthy", *options)
    with ViewerClient(gateway) as first, ViewerClient(gateway) as second:
        session = first.new(gateway.root)
        second.load(session, gateway.root)
        assert first.is_compressed is bool(options)
        first.answer(first.prompt(session))
        said = first.updates("agent_message_chunk")
        assert said
        second.find(lambda frame: "agent_message_chunk" in str(frame))
        while len(second.updates("agent_message_chunk")) < len(said):
            second.next()
        assert second.updates("agent_message_chunk") == said


def test_of_two_controllers_the_first_answer_counts_and_the_other_question_is_withdrawn(
    serve: Serve,
) -> None:
    gateway = serve("permission")
    with ViewerClient(gateway) as first, ViewerClient(gateway) as second:
        session = first.new(gateway.root)
        second.load(session, gateway.root)
        prompt = first.prompt(session)
        asked, again = first.find(is_question), second.find(is_question)
        assert asked["id"] == again["id"]
        option = asked["params"]["options"][0]["optionId"]
        chosen = {"outcome": {"outcome": "selected", "optionId": option}}
        second.send({"id": again["id"], "result": chosen})
        assert first.find(is_withdrawal)["params"]["requestId"] == asked["id"]
        first.send({"id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        assert first.answer(prompt)["result"]["stopReason"] == "end_turn"
        assert not any(map(is_withdrawal, second.frames))


@pytest.mark.parametrize("log_kind", ["disk", "late"])
def test_a_question_is_held_while_nobody_is_there_and_given_to_who_comes(serve: Serve) -> None:
    gateway = serve("permission")
    with ViewerClient(gateway) as asker:
        session = asker.new(gateway.root)
        asker.prompt(session)
        asker.find(is_question)
    until("nobody is there", lambda: gateway.holders()[0]["sessions"][0]["controllers"] == 0)
    assert gateway.holders()[0]["sessions"][0]["questions"] == 1
    with ViewerClient(gateway) as comer:
        comer.load(session, gateway.root)
        asked = comer.find(is_question)
        option = asked["params"]["options"][0]["optionId"]
        chosen = {"outcome": {"outcome": "selected", "optionId": option}}
        comer.send({"id": asked["id"], "result": chosen})
        until("the turn ends", lambda: not gateway.holders()[0]["sessions"][0]["turn"])


def test_with_unattended_reject_a_question_that_nobody_can_answer_is_rejected(
    serve: Serve,
) -> None:
    gateway = serve("permission", "--unattended", "reject")
    with ViewerClient(gateway) as asker:
        session = asker.new(gateway.root)
        asker.prompt(session)
        asker.find(is_question)
    until("the turn ends", lambda: not gateway.holders()[0]["sessions"][0]["turn"])
    assert gateway.holders()[0]["sessions"][0]["questions"] == 0


def test_an_observer_sees_and_does_not_steer(serve: Serve) -> None:
    gateway = serve("healthy")
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


def test_another_viewer_cannot_prompt_while_a_turn_runs(serve: Serve) -> None:
    gateway = serve("permission")
    with ViewerClient(gateway) as one, ViewerClient(gateway) as other:
        session = one.new(gateway.root)
        other.load(session, gateway.root)
        one.prompt(session)
        one.find(is_question)
        refused = other.answer(other.prompt(session))
        assert refused["error"]["data"]["agent_error"]["reason"] == "turn_open"


@pytest.mark.parametrize("log_kind", ["disk", "late"])
def test_the_same_viewer_elsewhere_closes_the_older_socket(serve: Serve) -> None:
    gateway = serve("healthy")
    older = ViewerClient(gateway, replay=True)
    session = older.new(gateway.root)
    with ViewerClient(gateway, replay=True, known=older.known) as newer:
        newer.load(session, gateway.root)
        assert older.closed() == (4409, "superseded")
        answer = newer.answer(newer.prompt(session))
        assert answer["result"]["stopReason"] == "end_turn"


def test_frames_come_many_a_message_to_whoever_asked_for_lines(serve: Serve) -> None:
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


def test_sessions_of_one_viewer_do_not_mix(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as viewer:
        one, other = viewer.new(gateway.root), viewer.new(gateway.root)
        assert one != other
        for session in (one, other):
            assert viewer.answer(viewer.prompt(session))["result"]["stopReason"] == "end_turn"
        listed = viewer.result("session/list", {})["sessions"]
        assert {each["sessionId"] for each in listed} == {one, other}


def test_a_session_outside_of_the_root_is_invalid(serve: Serve, tmp_path: Path) -> None:
    gateway = serve("healthy")
    (gateway.root / "away").symlink_to(tmp_path)
    with ViewerClient(gateway) as viewer:
        for folder in ("/", str(tmp_path), f"{gateway.root}x", str(gateway.root / "away"), "work"):
            params = {"cwd": folder, "mcpServers": []}
            answer = viewer.answer(viewer.request("session/new", params))
            assert answer["error"]["code"] == -32602, folder


def test_a_question_that_no_viewer_answers_in_time_is_answered_and_each_sees_that(
    serve: Serve,
) -> None:
    gateway = serve("two_questions", "--ask-reminder", "500ms", "--ask-timeout", "1s")
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


def test_a_question_ends_at_its_time_with_nobody_attached(serve: Serve) -> None:
    gateway = serve("two_questions", "--ask-timeout", "1s")
    with ViewerClient(gateway) as asker:
        session = asker.new(gateway.root)
        asker.prompt(session)
        asker.find(is_question)
    until("the turn ends", lambda: not gateway.holders()[0]["sessions"][0]["turn"])
    assert gateway.holders()[0]["sessions"][0]["questions"] == 0
    with ViewerClient(gateway) as comer:
        comer.load(session, gateway.root)
        comer.find(lambda frame: "Edit parser.py: reject" in str(frame))
        assert not any(map(is_question, comer.frames))


def test_an_agent_that_works_on_after_its_answer_is_shown_to_each_viewer(serve: Serve) -> None:
    gateway = serve("works_on")
    words = ["active", "quiet"]
    with ViewerClient(gateway, replay=True) as first, ViewerClient(gateway) as second:
        session = first.new(gateway.root)
        second.load(session, gateway.root)
        assert first.answer(first.prompt(session))["result"]["stopReason"] == "end_turn"
        for viewer in (first, second):
            for word in words:
                viewer.find(lambda frame, word=word: f"'session': '{word}'" in str(frame))
        view = gateway.holders()[0]["sessions"][0]["view"]
        assert (view["state"], view["activity"]) == ("idle", "quiet")
