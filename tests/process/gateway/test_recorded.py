"""What a gateway's processes record, as whoever reads the record is shown it."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import zipfile
from contextlib import closing
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from lastword.gateway.holder.session import HeldSession
from tests.kit.command import PROCESS, command
from tests.kit.gateway import serving
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.link_bug import WORD, with_link_bug
from tests.kit.gateway.serving import agent, is_running, until
from tests.kit.gateway.viewing import TYPED, ViewerClient, attached, failure_of, opened
from tests.kit.log_web import LogWeb
from tests.kit.recording import is_recorded, problems_in
from tests.process.gateway.test_quality import Metrics

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway, Serve

SAID, ASKED_FOR, ANSWERED, TOOL_INPUT = (f"canary-{word}-of-somebody" for word in "abcd")
LEFT_WITH = "canary-reason-of-somebody"
TOOL = {
    "sessionUpdate": "tool_call",
    "toolCallId": "c1",
    "title": TOOL_INPUT,
    "kind": "read",
    "status": "completed",
    "rawInput": {"path": TOOL_INPUT},
}
ASKS: dict[str, Any] = {
    "turns": [
        [
            *({"say": ANSWERED}, {"update": TOOL}, {"ask_permission": ASKED_FOR}),
            *({"say": ANSWERED}, {"result": "end_turn"}),
        ],
        [{"say": ANSWERED}, {"hang": True}],
    ],
    "sessions": "resume",
}


TURNS: dict[str, Any] = {
    "turns": [
        [{"say": "One."}, {"result": "end_turn"}],
        [{"fail": {"http": 529, "message": "Overloaded"}}],
        [{"say": "Three."}, {"result": "end_turn"}],
    ],
    "sessions": "resume",
}


def lastword(gateway: Gateway, *words: str) -> str:
    """Run a command of the record's, as a user does."""
    return command(*words, environment=gateway.environment).stdout


def entries(gateway: Gateway, session: str) -> list[dict[str, Any]]:
    """The entries of a session, from its first run to its last."""
    return [entry for run in runs(gateway, session) for entry in run["entries"]]


def runs(gateway: Gateway, session: str) -> list[dict[str, Any]]:
    """The runs of a session; none before anything of it is recorded."""
    said = lastword(gateway, "log", session, "--json")
    found: list[dict[str, Any]] = json.loads(said).get("runs", []) if said else []
    return found


def kinds(gateway: Gateway, session: str) -> list[str]:
    return [entry["kind"] for entry in entries(gateway, session)]


def answered(viewer: ViewerClient, session: str) -> dict[str, Any]:
    """The answer to a prompt, once what the agent asks for in its turn is allowed."""
    prompt = viewer.prompt(session, SAID)
    viewer.allow(viewer.question())
    return viewer.answer(prompt)


def lived(serve: Serve) -> tuple[Gateway, str]:
    """A session that loses a viewer in a question, whose gateway is reloaded, and then killed."""
    gateway = serve(ASKS)
    first = ViewerClient(gateway, capabilities=TYPED, replay=True)
    session = first.new(gateway.root)
    first.prompt(session, SAID)
    first.question()
    first._socket.close(4999, LEFT_WITH)
    until("nobody is there", lambda: not gateway.session(session)["controllers"])
    with attached(gateway, session, capabilities=TYPED, replay=True, known=first.known) as second:
        second.allow(second.question())
        until("the turn is over", lambda: not gateway.session(session)["turn"])
        gateway.reload()
        assert second.closed()[0] == 1012
    third = ViewerClient(gateway, capabilities=TYPED, replay=True)
    third.load(session, gateway.root)
    third.prompt(session, SAID)
    until("the second turn runs", lambda: "first_output" in kinds(gateway, session)[-3:])
    gateway.crash()
    assert third.closed()[0] == 1006
    with attached(gateway, session, capabilities=TYPED, replay=True):
        until("its return is recorded", lambda: "session_restored" in kinds(gateway, session))
    return gateway, session


@pytest.mark.processes
def test_the_rest_of_a_turn_that_a_reload_continues_is_recorded(serve: Serve) -> None:
    gateway = serve(ASKS)
    first = ViewerClient(gateway, capabilities=TYPED, replay=True)
    session = first.new(gateway.root)
    first.prompt(session, SAID)
    first.question()
    gateway.reload()
    assert first.closed()[0] == 1012
    with attached(gateway, session, capabilities=TYPED, replay=True, known=first.known) as second:
        second.allow(second.question())
        rest = {"question_decided", "answer"}
        until("it is recorded", lambda: rest <= {*kinds(gateway, session)})


@pytest.mark.processes
def test_a_session_is_one_timeline_of_turns_and_viewers_without_any_words(
    serve: Serve, tmp_path: Path
) -> None:
    gateway, session = lived(serve)
    until("the last viewer has left", lambda: kinds(gateway, session)[-1] == "viewer_left")
    all_of_it = entries(gateway, session)
    found = [entry["kind"] for entry in all_of_it]
    for one, other in (
        *(("session_held", "viewer_came"), ("viewer_came", "prompt"), ("asked", "viewer_left")),
        *(("viewer_left", "question_held"), ("question_held", "question_decided")),
        *(("question_decided", "answer"), ("holder_died", "session_restored")),
    ):
        assert found.index(one) < found.index(other), (one, other, found)
    facts = [e["facts"] for e in all_of_it if e["kind"] == "viewer_left"]
    assert [(each["code"], each["cause"]) for each in facts[:2]] == [
        (4999, "other"),
        (1012, "front_restarts"),
    ]
    (died,) = (entry for entry in all_of_it if entry["kind"] == "holder_died")
    assert died["facts"]["open_turns"] == 1
    incident = died["facts"]["incident_id"]

    page = " ".join(lastword(gateway, "log", incident).split())
    assert "left: the gateway restarts or stops (1012)" in page
    assert f"during 1 turn, incident {incident}" in page

    summed = json.loads(lastword(gateway, "stats", "--json"))["now"]["gateway"]
    assert (summed["viewers_came"], summed["questions_held"]) == (4, 1)
    assert (summed["holders_died"], summed["restored"]) == (1, 1)

    target = tmp_path / "report.zip"
    lastword(gateway, "export", session, "-o", str(target))
    with zipfile.ZipFile(target) as bundle:
        lines = [json.loads(line) for line in bundle.read("timeline.jsonl").splitlines()]
        summary = bundle.read("summary.md").decode()
    assert [line["kind"] for line in lines] == found
    assert "taken over: the gateway that held the session had ended, during 1 turn" in summary

    store = gateway.state / "record.db"
    assert problems_in(store) == []
    kept = [*gateway.state.glob("record.db*"), *(gateway.state / "runs").iterdir(), target]
    assert not any(b"canary" in path.read_bytes() for path in kept)
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT DISTINCT door FROM runs").fetchall() == [("gateway",)]


def test_disabling_the_record_disables_that_of_the_holders_too(serve: Serve) -> None:
    gateway = serve(ASKS, "--no-record")
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        answered(viewer, viewer.new(gateway.root))
    gateway.close()
    assert not is_recorded(gateway.state)


def test_two_sessions_with_the_same_id_are_found_by_the_gateways_names(serve: Serve) -> None:
    gateway = serve(ASKS)
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        names = [viewer.new(gateway.root) for _ in range(2)]
        for name in names:
            viewer.frames.clear()
            answered(viewer, name)
            until("its turn is recorded", lambda name=name: "answer" in kinds(gateway, name))
    logs = [json.loads(lastword(gateway, "log", name, "--json")) for name in names]
    assert [each["session_id"] for each in logs] == [names[0]] * 2
    assert [each["gateway_session_id"] for each in logs] == [None, names[1]]
    assert logs[0]["runs"][0]["run"]["run_id"] != logs[1]["runs"][0]["run"]["run_id"]
    assert f"session {names[1]} (the agent's {names[0]})" in lastword(gateway, "log", names[1])


@pytest.mark.processes
@pytest.mark.real_start
def test_a_projects_own_modules_are_not_imported_by_the_gateway(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "work"
    project.mkdir()
    for name in ("json", "logging", "msgspec", "sqlite3"):
        (project / f"{name}.py").write_text("raise SystemExit('shadowed')\n", encoding="utf-8")
    monkeypatch.chdir(project)
    # As by the script of that name, which has its own folder in front of its path.
    monkeypatch.setattr(serving, "GATEWAY", (*PROCESS, "gateway"))
    gateway = serve("", command=["/bin/sh", "-c", f"cd /; exec {shlex.join(agent('healthy'))}"])
    with opened(gateway, capabilities=TYPED) as (viewer, session):
        assert "result" in viewer.turn(session)
        until("it is recorded", lambda: {"viewer_came", "answer"} <= {*kinds(gateway, session)})


FLOODS: dict[str, Any] = {
    "turns": [
        [
            {"repeat": {"times": 1200, "steps": [{"fill": 12_000}, {"fill": 12_001}]}},
            {"result": "end_turn"},
        ],
    ]
}
"""Some 29 MB: more than the buffers between an agent and a viewer that does not read, whose own
is small."""


def test_a_viewer_that_falls_out_of_the_log_is_recorded_and_notified_once(
    serve: Serve,
) -> None:
    gateway = serve(FLOODS, "--log-limit", "8MiB")
    shows = TYPED | {"session": {"notices": {}}}
    with opened(gateway, capabilities=shows, replay=True, receive_bytes=64 * 1024) as (
        viewer,
        session,
    ):
        prompt = viewer.prompt(session)
        until("it lags", lambda: "viewer_lags" in kinds(gateway, session))
        until("the agent has said all", lambda: not gateway.session(session)["turn"])
        viewer.answer(prompt)
        frames = viewer.frames
        (notice,) = viewer.updates("notice")
        assert notice["severity"] == "info"
        assert "None is lost." in notice["title"]
        at = next(index for index, frame in enumerate(frames) if "None is lost." in str(frame))
        assert at < len(frames) - 2  # before it has caught up
        until("it has caught up", lambda: "viewer_caught_up" in kinds(gateway, session))
    facts = {entry["kind"]: entry["facts"] for entry in entries(gateway, session)}
    lag, gap = facts["viewer_lags"], facts["gap_told"]
    assert lag["bytes"] > 2 * 1024 * 1024
    assert lag["entries"] > 100
    assert 0 < gap["first"] <= gap["last"] < 2200
    assert kinds(gateway, session).count("viewer_lags") == 1


@pytest.mark.processes
def test_a_bug_in_the_link_ends_only_its_agent_and_is_reported_as_is_a_stop(
    serve: Serve, tmp_path: Path
) -> None:
    gateway = serve(ASKS, variables=with_link_bug(tmp_path))
    with opened(gateway, capabilities=TYPED, replay=True) as (viewer, session):
        answered(viewer, session)
        pid = gateway.session(session)["agent_pid"]
        failure = failure_of(viewer.turn(session, WORD))
        assert failure["type"] == "agent_crash"
        until("the agent has ended", lambda: not is_running(pid))
        until("it is recorded", lambda: "supervisor_exited" in kinds(gateway, session))
    (exited,) = (e for e in entries(gateway, session) if e["kind"] == "supervisor_exited")
    incident = failure["incident_id"]
    assert exited["level"] == "error"
    assert exited["facts"] == {"exit_code": 1, "open_turns": 1, "incident_id": incident}
    page = lastword(gateway, "log", incident)
    assert "the gateway's link to the agent ended: exit status 1" in page
    assert "a bug in lastword ended the link to its agent" in gateway.stderr()
    with opened(gateway, capabilities=TYPED) as (viewer, session):
        answered(viewer, session)
        prompt = viewer.prompt(session)
        until("the turn runs", lambda: "a turn is running" in gateway.tell("status").stdout)
        assert "is stopping" in gateway.tell("stop", "--agents").stdout
        assert "The agent was stopped" in viewer.answer(prompt)["error"]["message"]
        assert viewer.closed()[0] == 4410
        until("its end is recorded", lambda: "session_ended" in kinds(gateway, session))
    (ended,) = (e for e in entries(gateway, session) if e["kind"] == "session_ended")
    assert ended["facts"] == {"cause": "stopped"}


def turns_in(entries: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """What begins and ends turns, each with the number of its turn."""
    of_turns = [each for each in entries if each["kind"] in {"prompt", "answer", "error"}]
    return [(each["kind"], each["turn"]) for each in of_turns if each["turn"] is not None]


@pytest.mark.processes
def test_a_turn_has_the_records_number_and_both_pages_are_in_order_of_time(
    serve: Serve, tmp_path: Path
) -> None:
    """Two processes write the record behind a gateway, and a holder's successor is a third."""
    gateway = serve(TURNS)
    with opened(gateway, capabilities=TYPED, replay=True) as (viewer, session):
        for turn in range(3):
            mode = {"sessionId": session, "modeId": f"mode-{turn}"}
            viewer.answer(viewer.request("session/set_mode", mode))
            viewer.turn(session)
    ends = ("answer", "error", "answer")
    expected = [each for n, end in enumerate(ends, 1) for each in (("prompt", n), (end, n))]
    until("it is recorded", lambda: turns_in(entries(gateway, session)) == expected)
    assert turns_in(ApiClient(gateway).events(session)) == expected
    gateway.crash()
    with attached(gateway, session, capabilities=TYPED, replay=True) as viewer:
        viewer.turn(session)
    again = [*expected, ("prompt", 1), ("answer", 1)]
    until("the next run is recorded", lambda: turns_in(entries(gateway, session)) == again)
    assert turns_in(ApiClient(gateway).events(session)) == again
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
        found = json.loads(web.ask(f"/record/session?name={name}").body)["events"]
    served = [event["at_epoch_ms"] for event in found]
    assert served == sorted(served)
    assert set(exported) <= set(served)  # the viewer's leaving may have been written since


def test_a_closed_tab_has_one_name_in_the_log_the_api_and_the_metrics(serve: Serve) -> None:
    gateway = serve(TURNS)
    with opened(gateway, capabilities=TYPED) as (viewer, session):
        viewer.turn(session)
        viewer.leave(1001)

    def left(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
        return [
            (each["facts"]["code"], each["facts"]["cause"])
            for each in found
            if each["kind"] == "viewer_left"
        ]

    until("it has left", lambda: left(ApiClient(gateway).events(session)) == [(1001, "tab_closed")])
    until("it is recorded", lambda: left(entries(gateway, session)) == [(1001, "tab_closed")])
    (run,) = runs(gateway, session)  # of the link and of its holder
    assert run["run"]["door"] == "gateway"
    page = " ".join(lastword(gateway, "log", session).split())
    assert "its tab or program was closed (1001)" in page
    ended = {"cause": "tab_closed"}
    until("it is counted", lambda: Metrics(gateway)("connections_ended_total", **ended) == 1)
    assert Metrics(gateway)("connections_ended_total", cause="front_stops") == 0


def test_a_bug_in_a_session_ends_its_agent_and_the_turn(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = serve("healthy")
    with opened(gateway, capabilities=TYPED) as (viewer, session):
        bug = mock.Mock(side_effect=RuntimeError("a bug"))
        monkeypatch.setattr(HeldSession, "from_agent", bug)
        assert failure_of(viewer.turn(session))["type"] == "agent_crash"
