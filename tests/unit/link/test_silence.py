"""The cause of a silence: what the core makes of it, in remarks, records and ends."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.link.facts import Cause, SilenceCause, sentence_of_silence
from lastword.core.timeline.entry import Kind
from tests.kit.rows import every
from tests.kit.wire import (
    Wire,
    chunk,
    failure,
    notices,
    prompted,
    reply,
    result,
    thoughts,
    update,
)
from tests.unit.link.test_hints import begun, hint

LIMITS = {"idle_timeout_seconds": 60, "first_update_timeout_seconds": 60}


def cause(of: Cause = Cause.PROVIDER, **members: Any) -> SilenceCause:
    return SilenceCause(cause=of, **{"since": 0.0, **members})


@pytest.mark.parametrize(
    ("of", "type_", "reason"),
    [
        (Cause.PROVIDER, "timeout", "provider_silent"),
        (Cause.STREAM, "timeout", "provider_silent"),
        (Cause.UNREACHABLE, "network", "provider_unreachable"),
        (Cause.TRIES, "agent_stalled", "first_update_timeout"),
        (Cause.BUSY, "agent_stalled", "first_update_timeout"),
    ],
)
def test_a_proven_silence_of_the_provider_is_the_type_at_the_end(
    of: Cause, type_: str, reason: str
) -> None:
    wire = begun(**LIMITS)
    wire.core.receive_silence(cause(of, since=wire.now), wire.now)
    wire.time(80)
    assert (failure(wire)["type"], failure(wire)["reason"]) == (type_, reason)
    assert failure(wire)["retryable"] is True


@pytest.mark.parametrize(
    ("limits", "since"),
    [(LIMITS, 40), ({"turn_timeout_seconds": 60, "idle_timeout_seconds": 0}, 40)],
    ids=["silence", "whole turn"],
)
def test_a_cause_that_explains_less_than_half_of_the_time_changes_no_type(
    limits: dict[str, float], since: float
) -> None:
    wire = begun(**limits)
    wire.core.receive_silence(cause(since=wire.now + since), wire.now + since)
    wire.time(80)
    assert failure(wire)["type"] == "agent_stalled"


def test_a_hint_outweighs_the_cause_of_a_silence() -> None:
    wire = hint(begun(**LIMITS), attempt=2)
    wire.core.receive_silence(cause(since=wire.now), wire.now)
    wire.time(80)
    assert (failure(wire)["type"], failure(wire)["reason"]) == ("rate_limit", "retries_pending")


@pytest.mark.parametrize("of", list(Cause))
def test_no_cause_of_a_silence_ends_a_turn(of: Cause) -> None:
    wire = begun(**LIMITS)
    wire.core.receive_silence(cause(of, since=wire.now, program="x", tries=3), wire.now)
    wire.agent(chunk("Here I am."), reply(1, stopReason="end_turn"))
    assert b'"stopReason":"end_turn"' in wire.to_client[-1].replace(b" ", b"")


def test_a_cause_belongs_to_neither_of_two_open_turns() -> None:
    wire = begun(sessions=("s", "t"), **LIMITS)
    wire.core.receive_silence(cause(since=wire.now), wire.now)
    wire.time(80)
    assert failure(wire)["type"] == "agent_stalled"


def test_the_remark_and_the_record_have_the_cause() -> None:
    wire = begun(client={}, warn_after_seconds=30)
    now = wire.now
    key = "sk-ant-api03-" + "A" * 40
    for at in (10, 20):
        wire.core.receive_silence(cause(Cause.TOOL, since=now, program=key), now + at)
    wire.time(now + 31)
    (entry,) = [e for e in wire.entries if e.kind.value == "silence"]
    assert entry.facts["cause"] == "tool"
    assert entry.facts["cause_seconds"] >= 30
    assert key not in str(entry.facts)
    wire.agent(chunk("Here I am."), reply(1, stopReason="end_turn"))
    (end,) = [e for e in wire.entries if e.kind.value == "answer"]
    assert end.facts["tool_seconds"] == 20


@every(
    ("of", "words"),
    [
        (cause(), "The model provider has not answered for 48 s."),
        (
            cause(Cause.STREAM),
            "The model provider's answer has stopped: nothing more has come for 48 s",
        ),
        (cause(Cause.IDLE), "The agent has not asked the model provider for 48 s."),
        (cause(Cause.TRIES, tries=4), "The agent has sent its request 4 times and keeps trying."),
        (cause(Cause.UNREACHABLE), "The agent has been trying to connect to the model provider"),
        (cause(Cause.TOOL, program="npm test"), '"npm test" has been running for 48 s.'),
        (cause(Cause.TOOL, since=-152.0, program="x"), '"x" has been running for 3 min.'),
        (cause(Cause.TOOL), "A program has been running for 48 s."),
        (cause(Cause.MCP_SERVER), "A server on this machine has not answered the agent for 48 s"),
        (cause(Cause.BUSY), "The agent itself has been busy for 48 s."),
        (cause(Cause.STOPPED), "The agent's process has been stopped for 48 s."),
        (cause(Cause.DISK), "The agent has been waiting for a disk for 48 s."),
    ],
)
def test_each_cause_has_its_sentence(of: SilenceCause, words: str) -> None:
    assert sentence_of_silence(of, 48.0).startswith(words)


def test_a_cause_reported_by_the_runtime_is_shown_after_20_seconds() -> None:
    wire = noticing()
    began = wire.now
    wire.core.receive_silence(cause(since=began + 5, is_certain=True), began)
    wire.time(began + 24)
    assert notices(wire) == []
    wire.time(began + 25)
    assert notices(wire) == ["The model provider has not answered for 20 s."]


@every(
    ("of", "after"), [(cause(), 10), (cause(is_certain=True), 10), (cause(Cause.UNREACHABLE), 40)]
)
def test_a_silence_is_reported_at_the_users_chosen_time(of: SilenceCause, after: int) -> None:
    wire = noticing(warn_after_seconds=after)
    began = wire.now
    wire.core.receive_silence(of, began)
    wire.time(began + after - 1)
    assert notices(wire) == []
    wire.time(began + after)
    assert len(notices(wire)) == 1


@every(
    ("of", "type_"),
    [
        (Cause.PROVIDER, "timeout"),
        (Cause.STREAM, "timeout"),
        (Cause.UNREACHABLE, "network"),
        (Cause.IDLE, "agent_stalled"),
        (Cause.TOOL, None),
    ],
)
def test_a_notice_of_a_silence_has_the_cause_and_the_type_that_it_would_have(
    of: Cause, type_: str | None
) -> None:
    wire = noticing(warn_after_seconds=30)
    wire.core.receive_silence(cause(of, since=wire.now, is_certain=True), wire.now)
    wire.time(wire.now + 20).time(wire.now + 10)
    (notice,) = wire.updates("notice")
    told = notice["_meta"]["lastword"]["silence"]
    assert (told["cause"], told.get("type"), told["seconds"]) == (of.value, type_, 20)


def test_jetbrains_air_is_warned_of_a_silence_with_its_category() -> None:
    reads = {"_meta": {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}}
    wire = prompted(reads)
    wire.core.receive_silence(cause(since=wire.now, is_certain=True), wire.now)
    wire.time(wire.now + 20)
    (warning,) = [
        update["_meta"]["jetbrains"]["air"]["sessionFailure"] for update in wire.updates()
    ]
    assert (warning["severity"], warning["category"]) == ("warning", "connection")
    assert warning["title"] == "The model provider has not answered for 20 s."


def test_clients_without_notices_are_shown_only_causes_from_the_runtime() -> None:
    for is_certain, option, lines in (
        (True, "auto", ["The model provider has not answered for 20 s."]),
        (True, "off", []),
        (False, "auto", []),
    ):
        for client in ({}, {"_meta": {"agent_error": {"version": 1, "retry": True}}}):
            wire = prompted(client, show_retries=option)
            wire.core.receive_silence(cause(since=wire.now, is_certain=is_certain), wire.now)
            wire.time(wire.now + 20).time(wire.now + 60)
            assert thoughts(wire) == lines


def test_an_agent_with_a_tool_at_work_is_not_idle() -> None:
    wire = noticing(warn_after_seconds=30)
    wire.agent(tool_call("in_progress"))
    wire.core.receive_silence(cause(Cause.IDLE, since=wire.now), wire.now)
    wire.time(wire.now + 60)
    assert notices(wire) == ['The tool "Build" has been running for 30 s.']


def tool_call(status: str) -> dict[str, Any]:
    return update(sessionUpdate="tool_call", toolCallId="t", title="Build", status=status)


def test_a_running_program_has_a_tools_limit_although_no_tool_was_reported_as_running() -> None:
    wire = begun(**LIMITS, tool_timeout_seconds=600).agent(tool_call("pending"))
    wire.core.receive_silence(cause(Cause.TOOL, since=wire.now - 5, program="make"), wire.now)
    wire.time(80)
    assert wire.answers() == []
    wire.time(700)
    assert failure(wire)["reason"] == "tool_timeout"


def test_a_server_that_was_left_to_run_does_not_stretch_the_limit() -> None:
    wire = begun(**LIMITS, tool_timeout_seconds=600).agent(tool_call("in_progress"))
    began = wire.now
    wire.time(began + 10)
    wire.agent(update(sessionUpdate="tool_call_update", toolCallId="t", status="completed"))
    wire.core.receive_silence(cause(Cause.TOOL, since=began, program="vite"), wire.now)
    wire.time(wire.now + 80)
    assert failure(wire)["reason"] == "idle_timeout"


def test_a_tool_that_shows_a_line_now_and_then_is_named_once_and_another_one_again() -> None:
    wire = noticing(warn_after_seconds=30)
    wire.agent(tool_call("in_progress"))
    began = wire.now
    for program, since in (("make", began), ("make", began), ("ls", began), ("ls", began + 90)):
        wire.agent(update(sessionUpdate="tool_call_update", toolCallId="t", status="in_progress"))
        wire.core.receive_silence(cause(Cause.TOOL, since=since, program=program), wire.now)
        wire.time(wire.now + 31)
    named = [title.partition("program ")[2].partition(")")[0] for title in notices(wire)]
    assert named == ['"make"', '"ls"', '"ls"']


# --- where it is known what goes on: a tool runs, or the agent seems done


DONE = "The agent seems to be done; its answer has not come yet."
NOTICES = {"session": {"notices": {}}}


def noticing(**options: Any) -> Wire:
    """A turn at work before a client that shows notices."""
    return prompted(NOTICES, **options)


def tool(call: str = "t1", **members: Any) -> dict[str, Any]:
    """A tool call begins to run."""
    call_of = {"sessionUpdate": "tool_call", "toolCallId": call, "title": "Run the tests"}
    return update(**call_of | {"kind": "execute", "status": "in_progress"} | members)


def usage(**members: Any) -> dict[str, Any]:
    """The agent states its usage."""
    return update(sessionUpdate="usage_update", used=10, size=100, **members)


def silences(wire: Wire) -> list[dict[str, Any]]:
    return [entry.facts for entry in wire.entries if entry.kind is Kind.SILENCE]


def test_a_tool_that_runs_long_is_named_with_its_title_and_recorded_without() -> None:
    wire = noticing().time(10).agent(tool()).time(54)
    assert notices(wire) == []
    wire.time(600)
    assert notices(wire) == ['The tool "Run the tests" has been running for 45 s.']
    facts = {"silent_seconds": 45, "cause": "tool", "cause_seconds": 45}
    assert silences(wire) == [facts | {"call": "t1", "tool": "execute"}]


def test_the_longest_running_of_several_tools_is_named_by_its_latest_title() -> None:
    wire = noticing().agent(tool("t0", title="Read", status="pending"), tool("t1")).time(20)
    wire.agent(tool("t2", title="Lint", kind="of its own"))
    wire.agent(update(sessionUpdate="tool_call_update", toolCallId="t1", title="pytest [a]"))
    wire.time(70)
    assert notices(wire) == ['The tool "pytest (a)" has been running for 65 s.']
    wire.agent(update(sessionUpdate="tool_call_update", toolCallId="t1", status="completed"))
    wire.time(200)
    assert notices(wire)[1:] == ['The tool "Lint" has been running for 95 s.']
    assert "tool" not in silences(wire)[1]


def test_an_observed_program_is_named_beside_the_title() -> None:
    wire = noticing().agent(tool(title='Say "hi" ' + "very " * 60))
    wire.core.receive_silence(SilenceCause(cause=Cause.TOOL, since=0.0, program="pytest"), 1.0)
    wire.time(45)
    (title,) = notices(wire)
    assert title.startswith("The tool \"Say 'hi' very")
    assert title.endswith('…" (program "pytest") has been running for 45 s.')
    assert silences(wire)[0]["program"] == "pytest"
    unnamed = noticing().agent(tool(title=None)).time(45)
    assert notices(unnamed) == ["A program has been running for 45 s."]
    wire = noticing(secrets=("hunter2hunter2",))
    wire.agent(tool(title="curl -H hunter2hunter2 example.com")).time(45)
    assert "hunter2" not in notices(wire)[0]


def test_an_agent_that_has_finished_and_reported_usage_is_noted_as_done_once() -> None:
    wire = noticing().agent(tool())
    wire.agent(update(sessionUpdate="tool_call_update", toolCallId="t1", status="completed"))
    wire.agent(chunk("All tests pass."), usage(cost={"amount": 0.1, "currency": "USD"})).time(59)
    assert notices(wire) == []
    wire.time(60)
    assert notices(wire) == [DONE]
    wire.agent(update(sessionUpdate="session_info_update", title="The tests")).time(800)
    assert notices(wire) == [DONE]
    assert silences(wire) == [{"silent_seconds": 60, "cause": "done", "cause_seconds": 60}]
    wire.agent(result())
    assert wire.answers()[0]["result"] == {"stopReason": "end_turn"}


def test_text_after_the_usage_or_a_tool_after_the_text_counts_as_work() -> None:
    for after in (chunk("And more."), tool("t2", status="completed")):
        wire = noticing().agent(chunk("All tests pass."), usage(), after).time(100)
        assert notices(wire)[0].startswith("The agent has been silent for 45 seconds.")
    for before in ((), (tool(status="pending"), chunk("Shall I?"))):
        assert DONE not in notices(noticing().agent(*before, usage()).time(100))


def test_disabling_remarks_on_silence_disables_both() -> None:
    wire = noticing(warn_after_seconds=0.0).agent(chunk("Done."), usage()).time(400)
    assert (notices(wire), silences(wire)) == ([], [])


def test_a_late_answer_is_noticed_although_remarks_come_late() -> None:
    wire = noticing(warn_after_seconds=600.0).agent(chunk("Done."), usage()).time(61)
    assert notices(wire) == [DONE]
