"""The remark on a silence where it is known what goes on: a tool runs, or the agent seems done."""

from __future__ import annotations

from typing import Any

from lastword.core.link.facts import Cause, SilenceCause
from lastword.core.timeline.entry import Kind
from tests.kit.wire import Wire, chunk, notices, prompted, result, update

DONE = "The agent seems to be done; its answer has not come yet."
NOTICES = {"session": {"notices": {}}}


def linked(**options: Any) -> Wire:
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
    wire = linked().time(10).agent(tool()).time(54)
    assert notices(wire) == []
    wire.time(600)
    assert notices(wire) == ['The tool "Run the tests" has been running for 45 s.']
    facts = {"silent_seconds": 45, "cause": "tool", "cause_seconds": 45}
    assert silences(wire) == [facts | {"call": "t1", "tool": "execute"}]


def test_the_longest_running_of_several_tools_is_named_by_its_latest_title() -> None:
    wire = linked().agent(tool("t0", title="Read", status="pending"), tool("t1")).time(20)
    wire.agent(tool("t2", title="Lint", kind="of its own"))
    wire.agent(update(sessionUpdate="tool_call_update", toolCallId="t1", title="pytest [a]"))
    wire.time(70)
    assert notices(wire) == ['The tool "pytest (a)" has been running for 65 s.']
    wire.agent(update(sessionUpdate="tool_call_update", toolCallId="t1", status="completed"))
    wire.time(200)
    assert notices(wire)[1:] == ['The tool "Lint" has been running for 95 s.']
    assert "tool" not in silences(wire)[1]


def test_a_tool_is_named_once_however_often_it_updates() -> None:
    wire = linked().agent(tool())
    for minute in range(1, 9):
        wire.time(minute * 60).agent(update(sessionUpdate="tool_call_update", toolCallId="t1"))
    assert len(notices(wire)) == 1


def test_an_observed_program_is_named_beside_the_title() -> None:
    wire = linked().agent(tool(title='Say "hi" ' + "very " * 60))
    wire.core.receive_silence(SilenceCause(cause=Cause.TOOL, since=0.0, program="pytest"), 1.0)
    wire.time(45)
    (title,) = notices(wire)
    assert title.startswith("The tool \"Say 'hi' very")
    assert title.endswith('…" (program "pytest") has been running for 45 s.')
    assert silences(wire)[0]["program"] == "pytest"


def test_a_tool_without_a_title_is_called_a_program() -> None:
    wire = linked().agent(tool(title=None)).time(45)
    assert notices(wire) == ["A program has been running for 45 s."]


def test_a_title_is_redacted() -> None:
    wire = linked(secrets=("hunter2hunter2",))
    wire.agent(tool(title="curl -H hunter2hunter2 example.com")).time(45)
    assert "hunter2" not in notices(wire)[0]


def test_an_agent_that_has_finished_and_reported_usage_is_noted_as_done_once() -> None:
    wire = linked().agent(tool())
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
        wire = linked().agent(chunk("All tests pass."), usage(), after).time(100)
        assert notices(wire)[0].startswith("The agent has been silent for 45 seconds.")


def test_usage_without_text_or_with_an_open_tool_is_not_an_end() -> None:
    wire = linked().agent(usage()).time(100)
    assert DONE not in notices(wire)
    wire = linked().agent(tool(status="pending"), chunk("Shall I?"), usage()).time(100)
    assert DONE not in notices(wire)


def test_disabling_remarks_on_silence_disables_both() -> None:
    wire = linked(warn_after_seconds=0.0).agent(chunk("Done."), usage()).time(400)
    assert (notices(wire), silences(wire)) == ([], [])


def test_a_late_answer_is_noticed_although_remarks_come_late() -> None:
    wire = linked(warn_after_seconds=600.0).agent(chunk("Done."), usage()).time(61)
    assert notices(wire) == [DONE]
