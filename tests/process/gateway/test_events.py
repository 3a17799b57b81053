"""The events API of a real gateway: sessions, their logs, what is refused, and no content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import TYPED, ViewerClient, attached, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.gateway.serving import Gateway, Serve

CANARY = "canary-of-the-conversation"
TELLING: dict[str, Any] = {
    "turns": [
        [
            {"update": {"sessionUpdate": "session_info_update", "title": f"{CANARY} title"}},
            {"say": f"{CANARY} answer"},
            {
                "update": {
                    "sessionUpdate": "tool_call",
                    "toolCallId": "call-1",
                    "title": f"{CANARY} tool",
                    "kind": "execute",
                    "status": "pending",
                    "rawInput": {"command": f"{CANARY} input"},
                }
            },
            {
                "update": {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "call-1",
                    "status": "completed",
                    "rawOutput": f"{CANARY} output",
                }
            },
            {"fail": {"error": {"code": -32603, "message": f"{CANARY} overloaded"}}},
        ]
    ]
}
SHORT = {"turns": [[{"say": "One."}, {"result": "end_turn"}]], "sessions": "resume"}


def played(gateway: Gateway) -> tuple[ViewerClient, str]:
    """A viewer whose turn has ended, and its session."""
    viewer = ViewerClient(gateway, capabilities=TYPED)
    session = viewer.new(gateway.root)
    viewer.turn(session, f"{CANARY} prompt")
    return viewer, session


@pytest.fixture(scope="module")
def told(serve_all: Serve) -> Iterator[tuple[Gateway, str]]:
    """A gateway with a session whose turn has failed; its viewer is there."""
    gateway = serve_all(TELLING)
    viewer, session = played(gateway)
    with viewer:
        yield gateway, session


def test_events_are_the_records_entries_without_content(told: tuple[Gateway, str]) -> None:
    gateway, session = told
    for token in (gateway.token(), gateway.token(role=Role.OBSERVER)):
        api = ApiClient(gateway, token)
        for path in ("", f"/{session}", f"/{session}/events"):
            answer = api.ask(f"/v1/sessions{path}")
            assert answer.status == 200
            assert CANARY not in answer.body.decode(), path
    api = ApiClient(gateway)
    events = api.events(session, limit=2)
    kinds = [event["kind"] for event in events]
    assert kinds == [
        *("viewer_came", "prompt", "update", "update", "tool_started", "tool_ended"),
        "error",
    ]
    assert [event["seq"] for event in events] == list(range(1, 8))
    assert events[4]["facts"] == {"call": "call-1", "tool": "execute"}
    assert events[5]["facts"] == {"call": "call-1", "status": "completed"}
    error = events[-1]["facts"]
    assert error["type"] in {"provider_unavailable", "internal", "unknown"}
    assert error["sentence"].endswith(".")
    assert "message" not in error
    assert events[1]["turn"] == events[-1]["turn"] is not None
    assert [event["kind"] for event in api.events(session, kinds="error,prompt", limit=1)] == [
        *("prompt", "error"),
    ]


def test_a_title_that_was_cut_within_an_emoji_hides_no_session(serve: Serve) -> None:
    title = {"sessionUpdate": "session_info_update", "title": "A title \ud83d"}
    gateway = serve({"turns": [[{"update": title}, {"hang": True}]]})
    with opened(gateway) as (viewer, session):
        viewer.prompt(session)
        api = ApiClient(gateway)
        shown = b"A title \\ud83d"
        until("it is listed", lambda: shown in api.ask("/v1/sessions?content=1").body)


def test_only_a_controller_that_requests_it_gets_content(told: tuple[Gateway, str]) -> None:
    gateway, session = told
    events = ApiClient(gateway).ask(f"/v1/sessions/{session}/events?content=1").body.decode()
    for what in ("prompt", "answer", "tool", "input", "output"):
        assert f"{CANARY} {what}" in events
    view = ApiClient(gateway).json(f"/v1/sessions/{session}?content=1")["session"]
    assert view["title"] == f"{CANARY} title"
    observer = ApiClient(gateway, gateway.token(role=Role.OBSERVER))
    for path in ("", f"/{session}", f"/{session}/events"):
        assert observer.refusal(f"/v1/sessions{path}?content=1") == (403, "forbidden")
    assert "cwd" not in observer.json(f"/v1/sessions/{session}")["session"]


def test_a_sessions_state_is_shown_while_it_runs_asks_and_fails_and_after_its_end(
    serve: Serve,
) -> None:
    gateway = serve("permission")
    api = ApiClient(gateway)

    def view() -> dict[str, Any]:
        found: dict[str, Any] = api.json(f"/v1/sessions/{session}")["session"]
        return found

    with opened(gateway, capabilities=TYPED) as (viewer, session):
        assert view()["state"] == "idle"
        assert view()["agent"]["name"]
        assert view()["viewers"] == {"controllers": 1, "observers": 0}
        prompt = viewer.prompt(session)
        viewer.question()
        assert (view()["state"], view()["questions"]) == ("waiting_for_answer", 1)
        viewer.allow(viewer.question())
        viewer.answer(prompt)
        assert view()["state"] == "idle"
        before = api.events(session)
        asked, told = [each for each in before if each["kind"] in {"asked", "question_decided"}]
        assert asked["facts"] == {"what": "permission", "question": 1}
        decided = {"question": 1, "what": "permission", "how": "answered", "outcome": "selected"}
        assert told["facts"] == decided | {"viewer": told["viewer"]}
        viewer.result("session/close", {"sessionId": session})
    until("the session has ended", lambda: view()["state"] == "ended")
    after = api.events(session)
    assert after[: len(before)] == before
    assert "session_ended" in [event["kind"] for event in after]
    assert api.json("/v1/sessions")["sessions"][0]["state"] == "ended"
    assert api.json("/v1/stats")["gateway"]["sessions"] == {"ended": 1}


@pytest.mark.processes
def test_a_failed_session_shows_its_failure_and_a_killed_gateways_is_lost(serve: Serve) -> None:
    gateway = serve("rate_limit")
    api = ApiClient(gateway)
    viewer, session = played(gateway)

    def recorded() -> Any:
        told = api.json("/v1/stats?days=3")
        return told if told["now"] and told["now"]["by_type"] else None

    with viewer:
        # As `lastword stats` says.
        told = until("the turn's end is recorded", recorded)
        assert (told["days"], told["now"]["by_type"]) == (3, {"rate_limit": 1})
        assert told["gateway"]["viewers"] == {"controllers": 1, "observers": 0}
        view = api.json(f"/v1/sessions/{session}")["session"]
        assert view["state"] == "failed"
        failure = view["last_failure"]
        assert (failure["type"], failure["retryable"]) == ("rate_limit", True)
        assert failure["sentence"].endswith(".")
        assert failure["seq"] == view["head"]
    gateway.crash()
    until(
        "it is lost",
        lambda: api.json(f"/v1/sessions/{session}")["session"]["state"] == "lost",
    )
    assert api.json("/v1/sessions")["sessions"][0]["last_failure"] == failure
    assert "error" in [event["kind"] for event in api.events(session)]


def test_a_cursor_is_refused_or_reset_and_never_mistaken_for_another(
    told: tuple[Gateway, str],
) -> None:
    gateway, session = told
    api = ApiClient(gateway)
    path = f"/v1/sessions/{session}/events"
    page = api.json(path)
    epoch, head = page["epoch"], page["head"]
    assert api.json(f"{path}?after={epoch}:{head}")["events"] == []
    other = api.json(f"{path}?after=0ther:{head}")
    assert (other["reset"], other["events"]) == (True, page["events"])
    for after in ("text", f"{epoch}:{head + 1}"):
        assert api.refusal(f"{path}?after={after}") == (400, "bad_cursor")
    for wrong in (f"{path}?limit=1001", f"{path}?kinds=what", "/v1/stats?days=0"):
        assert api.refusal(wrong) == (400, "bad_request")
    assert api.refusal(path, Accept="text/html") == (406, "not_acceptable")
    assert api.refusal(path, method="POST") == (405, "method_not_allowed")
    assert api.refusal("/v1/what") == (404, "not_found")
    assert api.refusal("/v1/sessions/never-was/events") == (404, "session_unknown")
    assert ApiClient(gateway, "").refusal(path) == (401, "unauthorized")


def test_a_token_for_one_session_sees_no_other(told: tuple[Gateway, str]) -> None:
    gateway, theirs = told
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        mine = viewer.new(gateway.root)
        api = ApiClient(gateway, gateway.token(session=mine))
        assert [each["id"] for each in api.json("/v1/sessions")["sessions"]] == [mine]
        assert api.json(f"/v1/sessions/{mine}")["session"]["id"] == mine
        for unseen in (theirs, "never-was"):
            for path in (f"/v1/sessions/{unseen}", f"/v1/sessions/{unseen}/events"):
                assert api.refusal(path) == (404, "session_unknown")
            report = api.report(source="page", word="stalled", session_id=unseen)
            assert (report.status, report.json["reason"]) == (404, "session_unknown")
        assert api.refusal("/v1/stats") == (403, "forbidden")


@pytest.mark.processes
def test_a_stream_replays_the_past_follows_live_and_resumes_from_its_last_id(serve: Serve) -> None:
    gateway = serve(SHORT)
    viewer, session = played(gateway)
    api = ApiClient(gateway)
    with viewer, api.stream(session) as stream:
        past = stream.until(lambda _, data: data.get("kind") == "answer")
        assert past[0][0] == "open"
        viewer.turn(session)
        come = stream.until(lambda _, data: data.get("kind") == "answer")
        numbers = [data["seq"] for name, data in past + come if name == "message"]
        assert numbers == list(range(1, len(numbers) + 1))
        last = stream.ids[-1]
        viewer.turn(session)
        with api.stream(session, "after=ignored:1", **{"Last-Event-ID": last}) as back:
            more = back.until(lambda _, data: data.get("kind") == "answer")
            assert more[1][1]["seq"] == numbers[-1] + 1
        with api.stream(session, f"after={last}&kinds=answer") as narrow:
            names = [name for name, _ in narrow.until(lambda name, _: name == "message")]
            assert names == ["open", "message"]
        # It goes on over the end of the session and its return.
        viewer.result("session/close", {"sessionId": session})
        stream.until(lambda _, data: data.get("kind") == "session_ended")
        with attached(gateway, session):
            stream.until(lambda _, data: data.get("kind") == "session_restored")
        gateway.reload()
        stream.answer.read()  # a front that is replaced ends it, and it comes back
    with api.stream(session, **{"Last-Event-ID": last}) as again:
        assert again.until(lambda name, _: name == "message")


def test_a_pages_report_becomes_an_entry_without_content(serve: Serve) -> None:
    gateway = serve("healthy")
    viewer, session = played(gateway)
    with viewer:
        api = ApiClient(gateway, gateway.token(role=Role.OBSERVER))
        told = api.report(source="page", word="closed_1006", session_id=session, code=1006, tries=2)
        assert told.status == 202
        event = api.events(session, kinds="client_error")[0]
        assert event["seq"] == told.json["seq"]
        facts = {"source": "page", "word": "closed_1006", "code": 1006, "tries": 2}
        assert event["facts"] == facts
        assert api.report(source="connect", word="gave_up").json["seq"] is None
        assert api.report(source="page", word="ok", message="a text").status == 400
        assert api.report(source="page", word="ok", session_id="s" * 5000).status == 413
        counted = ApiClient(gateway).json("/v1/stats")["gateway"]["client_errors"]
        assert counted == {"closed_1006": 1, "gave_up": 1}
        while (refused := api.report(source="page", word="stalled")).status == 202:
            pass
        assert (refused.status, refused.json["reason"]) == (429, "too_many")
        assert 1 <= int(refused.headers["retry-after"]) <= 61
