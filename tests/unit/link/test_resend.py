"""Resending: which prompt goes to the agent again, when, and never twice at once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastword.core.failure.retry_policy import RETRY_COST, RetryBucket
from lastword.core.link import decision, resend
from lastword.core.link.agent_side import HandlerFailure
from lastword.core.link.connection import Connection, LinkOptions, Side
from lastword.core.link.failopen import FailOpen
from lastword.core.link.handshake import read_agent
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import histories
from tests.kit.rows import every
from tests.kit.wire import (
    INITIALIZE,
    INITIALIZED,
    Wire,
    cancel,
    chunk,
    error,
    failure,
    greeted,
    permission,
    prompt,
    prompted,
    reply,
    request,
    result,
    update,
)
from tests.unit.link.test_reporting import AIR, own_record

LIMITED = "429 Too Many Requests: try again in 20s"
TYPED = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def linked(capabilities: dict[str, Any] | None = None, **options: Any) -> Wire:
    """A link with a prompt at work."""
    return prompted(capabilities, **{"retry": 2, **options})


def prompts(wire: Wire) -> list[dict[str, Any]]:
    """The prompts that have reached the agent."""
    frames = [json.loads(frame) for frame in wire.to_agent]
    return [frame for frame in frames if frame.get("method") == "session/prompt"]


def test_a_prompt_is_resent_as_often_as_configured_and_every_attempt_is_reported() -> None:
    wire = linked()
    for _ in range(3):
        wire.agent(error(message=LIMITED)).time(wire.now + 30)
    assert len(prompts(wire)) == 3
    told = failure(wire)
    assert (told["type"], told["attempts"]) == ("rate_limit", 3)
    assert [each["waited_seconds"] for each in told["detail"]["attempts"][:2]] == [21, 21]
    assert "waited_seconds" not in told["detail"]["attempts"][2]


def test_waits_are_jittered_with_the_shells_random_numbers() -> None:
    wire = linked(roll=lambda: 0.25).agent(error(message="503 Service Unavailable"))
    assert wire.core.next_timeout() == 0.25


def test_all_tries_are_one_turn_of_the_record_with_its_waits() -> None:
    wire = linked().agent(error(message=LIMITED)).time(30)
    wire.agent(error(message="503 Service Unavailable")).time(40).agent(chunk(), result())
    assert (wire.kinds.count("prompt"), wire.kinds.count("answer")) == (1, 1)
    (story,) = histories(wire.entries)
    assert [(r["attempt"], r["wait_seconds"], r["type"]) for r in story.retries] == [
        (2, 21, "rate_limit"),
        (3, 2, "provider_unavailable"),
    ]
    assert all(r["max_attempts"] == 3 for r in story.retries)
    assert story.error is None


@pytest.mark.parametrize(
    ("capabilities", "kind"), [(TYPED, "agent_retry"), ({"session": {"notices": {}}}, "notice")]
)
def test_a_wait_is_shown_to_every_client_that_can_show_it(
    capabilities: dict[str, Any], kind: str
) -> None:
    wire = linked(capabilities).agent(error(message=LIMITED))
    told = wire.updates()[-1]
    assert (told["sessionUpdate"], wire.answers()) == (kind, [])
    if kind == "agent_retry":
        assert (told["attempt"], told["max_attempts"], told["wait_seconds"]) == (2, 3, 21)
    else:
        assert "attempt 2 of 3" in told["title"]


SHOWN = (
    chunk(),
    update(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "Hm."}),
    update(sessionUpdate="tool_call", toolCallId="t", title="Edit", status="pending"),
    update(sessionUpdate="plan", entries=[]),
    permission(),
    request(7, "fs/write_text_file", sessionId="s"),
)


@pytest.mark.parametrize("frame", SHOWN)
def test_activity_after_the_answer_ends_the_wait_with_the_failure(frame: dict[str, Any]) -> None:
    wire = linked().agent(error(message=LIMITED))
    assert wire.answers() == []
    wire.agent(frame)
    told = failure(wire)
    assert told["type"] == "rate_limit"
    assert "attempts" not in told
    assert json.loads(wire.to_client[-1])["id"] == 1
    wire.time(100)
    assert len(prompts(wire)) == 1


@pytest.mark.parametrize("again", [error(), result(), result("1"), b'{"id":1,"result":{'])
def test_a_second_answer_while_the_prompt_waits_is_ignored(again: dict[str, Any] | bytes) -> None:
    wire = linked().agent(error(message=LIMITED), again)
    assert wire.answers() == []
    wire.time(30)
    assert len(prompts(wire)) == 2


def test_an_error_without_an_id_never_belongs_to_a_waiting_prompt() -> None:
    wire = linked().agent(error(message=LIMITED), error(None))
    assert wire.drops == ["answer_without_id"]
    wire.client(prompt(2, "other")).agent(error(None, message="E-7731")).time(1)
    assert (failure(wire, 2)["type"], wire.answers()) == ("unknown", [])


def test_overlapping_prompts_are_not_retried() -> None:
    wire = linked().client(prompt(2)).agent(error(message=LIMITED), error(2, message=LIMITED))
    assert failure(wire)["type"] == failure(wire, 2)["type"] == "rate_limit"


def test_a_prompt_of_another_session_does_not_end_the_wait() -> None:
    wire = linked().agent(error(message=LIMITED)).client(prompt(2, "other")).time(30)
    assert prompts(wire) == [prompt(), prompt(2, "other"), prompt()]


def test_an_answer_after_the_agents_own_retries_is_retried_and_all_are_counted() -> None:
    wire = linked(retry=1)
    for at in (0, 100):
        wire.time(at).agent(update(sessionUpdate="agent_retry", attempt=2))
        wire.agent(update(sessionUpdate="agent_retry", attempt=3))
        assert len(prompts(wire)) == at // 100 + 1
        wire.agent(error(message=LIMITED))
    assert failure(wire)["attempts"] == 6
    ours = [e for e in wire.entries if e.kind is Kind.RETRY and "wait_seconds" in e.facts]
    assert [entry.facts["attempt"] for entry in ours] == [4]
    assert "max_attempts" not in ours[0].facts


# --- waits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [2 * 3600.0, 0.0])
def test_a_window_that_opens_in_an_hour_is_waited_for_on_request(limit: float) -> None:
    wire = linked(retry_wait_limit_seconds=limit)
    wire.agent(error(message="429 Too Many Requests: try again in 1 hour")).time(3599)
    assert len(prompts(wire)) == 1
    wire.time(3602)
    assert len(prompts(wire)) == 2


def spent(seconds: int) -> dict[str, Any]:
    """A used-up budget, whose next window begins then."""
    data = {"errorKind": "budget", "resets_at": int(NOW.timestamp()) + seconds}
    return {"id": 1, "error": {"code": -32603, "message": "usage limit reached", "data": data}}


def test_a_budgets_next_window_is_waited_for_if_the_time_of_day_is_known() -> None:
    wire = linked(TYPED, retry_wait_limit_seconds=7200, wall_clock=lambda: NOW).agent(spent(3600))
    wire.time(10)  # by then the wait stands in the conversation
    assert wire.core.next_timeout() == 3601
    wire = linked(retry_wait_limit_seconds=7200).agent(spent(3600))
    assert failure(wire)["type"] == "budget"
    wire = linked(retry_wait_limit_seconds=1800, wall_clock=lambda: NOW).agent(spent(3600))
    assert failure(wire)["type"] == "rate_limit"


def test_a_standstill_of_the_machine_extends_the_wait() -> None:
    wire = linked(TYPED).agent(error(message=LIMITED))
    wire.core.stand_still(100)
    assert wire.core.next_timeout() == 121


def test_an_id_that_the_client_reuses_does_not_prevent_a_resend() -> None:
    wire = linked().agent(error(message=LIMITED)).client(request(1, "session/list")).time(30)
    assert prompts(wire) == [prompt(), prompt()]


def test_a_waiting_turn_runs_no_clock() -> None:
    wire = linked({"session": {"notices": {}}}, idle_timeout_seconds=5, warn_after_seconds=3)
    wire.agent(error(message=LIMITED)).time(20)
    assert (len(wire.updates()), wire.answers()) == (1, [])
    wire.time(22)
    assert len(prompts(wire)) == 2
    wire.time(25)
    assert "silent" in wire.updates()[-1]["title"]


# --- agents that speak for themselves ------------------------------------------------------------


def typed(capabilities: dict[str, Any] | None = TYPED, **options: Any) -> Wire:
    """A link whose agent speaks `agent_error`, with a prompt at work."""
    spoken = {"agentCapabilities": {"_meta": {"agent_error": {"version": 1}}}}
    return prompted(capabilities, says=spoken, **{"retry": 1, **options})


def announced(**members: Any) -> dict[str, Any]:
    """The agent's own words for a failure."""
    known = {"type": "rate_limit", "message": "Slow down.", "retryable": True}
    return known | {"retry_safety": "auto", "phase": "before_output", "attempts": 3} | members


def say(wire: Wire, **members: Any) -> None:
    """The agent fails in its own words, as the contract has it."""
    told = announced(**members)
    wire.agent(update(sessionUpdate="agent_error", stopReason="error", error=told))
    data = {"agent_error": told}
    wire.agent({"id": 1, "error": {"code": -32603, "message": "Slow down.", "data": data}})


def kinds(wire: Wire) -> list[str]:
    return [told["sessionUpdate"] for told in wire.updates()]


def test_a_lasting_failure_is_reported_once_with_every_attempt() -> None:
    wire = typed()
    say(wire)
    wire.time(10)
    say(wire)
    assert kinds(wire) == ["agent_retry", "agent_error"]
    assert (failure(wire)["attempts"], failure(wire)["message"]) == (6, "Slow down.")


@pytest.mark.parametrize(
    "members",
    [
        {"retry_safety": "ask"},
        {"retry_safety": "offer_continue"},
        {"retryable": False, "retry_safety": "never"},
        {"type": "budget", "retryable": False, "phase": "after_tool", "retry_after_seconds": 9},
    ],
)
def test_an_agents_higher_number_of_attempts_is_trusted(members: dict[str, Any]) -> None:
    wire = typed()
    say(wire, **members)
    assert (kinds(wire), failure(wire)["attempts"]) == (["agent_error"], 3)


def test_a_window_of_an_announced_failure_is_waited_for_too() -> None:
    wire = typed(retry_wait_limit_seconds=7200)
    say(wire, retryable=False, retry_safety="never", retry_after_seconds=3600)
    assert wire.core.next_timeout() == 3601


def test_an_announcement_is_sent_to_each_of_two_overlapping_prompts() -> None:
    wire = typed().client(prompt(2))
    say(wire)
    told = {"agent_error": announced()}
    wire.agent({"id": 2, "error": {"code": -32603, "message": "x", "data": told}})
    assert kinds(wire) == ["agent_error", "agent_error"]
    assert failure(wire)["type"] == failure(wire, 2)["type"] == "rate_limit"


def test_a_failure_of_a_prompt_that_is_not_kept_passes_in_the_agents_words() -> None:
    wire = typed(retry=1).agent(result()).client(prompt(2, text="x" * resend.MAX_RESENDABLE_BYTES))
    told = announced()
    wire.agent(update(sessionUpdate="agent_error", stopReason="error", error=told))
    answer = {"id": 2, "error": {"code": -32603, "message": "x", "data": {"agent_error": told}}}
    wire.agent(answer)
    assert wire.answers(2) == [answer]


# --- what is kept --------------------------------------------------------------------------------


def test_a_prompt_of_more_than_four_megabytes_is_not_kept() -> None:
    wire = greeted(retry=2).client(prompt(text="x" * resend.MAX_RESENDABLE_BYTES))
    wire.agent(error(message=LIMITED))
    assert failure(wire)["type"] == "rate_limit"


def test_sixteen_megabytes_are_kept_of_all_sessions_together() -> None:
    wire = greeted(retry=2)
    text = "x" * (resend.MAX_RESENDABLE_BYTES - 1000)
    for number in range(1, 7):
        wire.client(prompt(number, f"s{number}", text))
    for number in range(1, 7):
        wire.agent(error(number, message=LIMITED))
    answered = [number for number in range(1, 7) if wire.answers(number)]
    assert answered == [5, 6]


def test_a_waiting_prompt_is_sent_although_the_core_has_failed() -> None:
    raised: list[Exception] = []
    core = FailOpen(Connection(LinkOptions(retry=1)), raised.append)
    wire = Wire()
    wire.core = core
    wire.client(INITIALIZE).agent(INITIALIZED).client(prompt()).agent(error(message=LIMITED))
    wire.carry_out(core.receive_eof(Side.AGENT, lambda: 1 / 0, 1.0))  # type: ignore[arg-type, return-value]
    assert raised
    assert prompts(wire) == [prompt(), prompt()]


# --- where nothing is tried again ----------------------------------------------------------------


def test_an_in_process_handler_is_not_retried_by_the_link() -> None:
    wire = prompted(retry=2, in_process=True)
    verdict = decision.unexplained()
    wire.carry_out(wire.core.receive_report(b"1", HandlerFailure(verdict=verdict), 0.0))
    assert len(wire.answers()) == 1


@pytest.mark.parametrize("what", ["session deleted", "flood on stderr", "agent dead"])
def test_what_else_ends_the_turn_ends_the_wait_with_the_failure(what: str) -> None:
    wire = linked(stderr_limit_bytes=10).agent(error(message=LIMITED))
    if what == "session deleted":
        wire.client(request(5, "session/delete", sessionId="s"))
    elif what == "flood on stderr":
        wire.stderr(b"x" * 20)
    else:
        wire.eof(Side.AGENT)
        assert wire.core.idle
    assert failure(wire)["type"] == "rate_limit"
    assert len(prompts(wire.time(100))) == 1


# --- JetBrains AIR -------------------------------------------------------------------------------


def record(told: dict[str, Any]) -> dict[str, Any]:
    """AIR's record in the margin of an update or a result."""
    found: dict[str, Any] = told["_meta"]["jetbrains"]["air"]["sessionFailure"]
    return found


def test_air_gets_a_warning_for_each_wait_and_the_end_under_the_same_id() -> None:
    wire = linked(AIR, retry=2)
    for _ in range(3):
        wire.agent(error(message=LIMITED)).time(wire.now + 30)
    told = [record(update) for update in wire.updates()]
    (answer,) = wire.answers()
    told.append(record(answer["result"]))
    assert [each["severity"] for each in told] == ["warning", "warning", "error"]
    assert [each["revision"] for each in told] == [1, 2, 3]
    assert len({each["id"] for each in told}) == 1


@pytest.mark.parametrize("late", [False, True])
def test_a_failure_that_the_agent_reported_to_air_itself_is_final(late: bool) -> None:
    wire = linked(AIR)
    frames = [own_record("error"), error(message=LIMITED)]
    for frame in reversed(frames) if late else frames:
        wire.agent(frame)
    assert len(wire.answers()) == 1
    wire.time(100)
    assert len(prompts(wire)) == 1


def test_an_agents_own_warning_to_air_does_not_end_the_wait() -> None:
    wire = linked(AIR).agent(own_record("warning"), error(message=LIMITED)).time(100)
    assert len(prompts(wire)) == 2


# --- beside what else is known of a failure ------------------------------------------------------


def test_an_abandoned_wait_does_not_count_as_an_attempt() -> None:
    wire = linked().agent(error(message=LIMITED)).time(30).agent(error(message=LIMITED))
    wire.agent(update(sessionUpdate="plan", entries=[]))
    assert failure(wire)["attempts"] == 2


def vague(wire: Wire) -> None:
    """The agent answers with a failure that says nothing, and on stderr with what it was."""
    wire.stderr(b"API Error: 503 Service Unavailable\n").agent(error(message="Internal error"))


def test_a_vague_failure_is_retried_depending_on_other_evidence() -> None:
    wire = linked()
    vague(wire)
    wire.time(10)
    assert len(prompts(wire)) == 2


@pytest.mark.parametrize("how", [cancel(), prompt(2)])
def test_a_vague_failure_is_not_retried_once_the_user_continues(how: dict[str, Any]) -> None:
    wire = linked().agent(error(message="Internal error"))
    wire.stderr(b"API Error: 503 Service Unavailable\n").client(how)
    (answer,) = wire.answers()
    wire.time(100)
    assert [each["id"] for each in prompts(wire)] == ([1, 2] if "id" in how else [1])
    assert "cancelled" in str(answer) or answer["error"]


SESSIONS = ("s", "of-a-sub-agent")
"""The session of the prompt, and one that the client never opened."""


class Happening(NamedTuple):
    """What an agent may send before it fails.

    Attributes:
        frame: the message, or the line.
        counts: it shows or begins something, so the prompt is never sent again.
        is_safe: it begins nothing, so that the client may send the prompt again.
    """

    frame: dict[str, Any] | bytes
    counts: bool
    is_safe: bool


def _request(method: str, session: str, **params: Any) -> dict[str, Any]:
    return request(f"a-{method}-{session}", method, sessionId=session, **params)


def _notification(method: str, session: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {"sessionId": session, **params}}


def _mcp(method: object) -> dict[str, Any]:
    params = {"connectionId": "c", "method": method, "params": {"name": "pay"}}
    return request(f"mcp-{method}", "mcp/message", **params)


def _happenings(session: str) -> list[Happening]:
    text = {"type": "text", "text": "Here"}
    call = {"toolCallId": "t", "title": "Run", "kind": "execute"}
    shown = [
        update(session, sessionUpdate="plan", entries=[]),
        _request("session/request_permission", session, options=[], toolCall=call),
        _request("elicitation/create", session, message="Which?"),
    ]
    begun = [
        chunk("Here", session),
        update(session, sessionUpdate="agent_thought_chunk", content=text),
        *(update(session, sessionUpdate="tool_call", status=status, **call)
          for status in ("pending", "in_progress", "completed", "failed", "running", "cancelled")),
        update(session, sessionUpdate="tool_call_update", toolCallId="t", status="completed"),
        update(session, sessionUpdate="tool_call_content_chunk", toolCallId="t"),
        update(session, sessionUpdate="terminal_output_chunk", terminalId="t"),
        update(session, sessionUpdate="subagent_update", status="running"),
        update(session, sessionUpdate="_acme_diff_applied", path="/tmp/x"),
        update(session, sessionUpdate="diff_applied", content={"type": "text", "text": ""}),
        update(session, sessionUpdate=7),
        update(session),
        update(session, sessionUpdate="usage_update", used=1) | {"id": "a-request"},
        _request("fs/write_text_file", session, path="/tmp/x", content="x"),
        _request("fs/delete", session, path="/tmp/x"),
        _request("terminal/kill", session, terminalId="t"),
        *(_mcp(method) for method in ("tools/call", "resources/subscribe", None, ["ping"])),
        _request("tools/list", session),
        _request("mcp/message", session),
        {"jsonrpc": "2.0", "id": "m", "method": "mcp/message"},
        _request("terminal/create", session, command="make"),
        _request("_vendor/run", session),
        _request("_vendor/anything", session),
        _notification("_vendor/tool_call", session, name="make"),
        _notification("_vendor/terminal", session),
        _notification("_vendor/news", session, toolCallId="t"),
        _notification("_vendor/status", session, state="busy"),
        _notification("_acme/file_written", session, path="/tmp/x"),
        {"jsonrpc": "2.0", "method": "_acme/file_written"},
        _notification("session/updates", session),
        _notification("_claude/sdkMessage", session, message={"type": "assistant"}),
        json.dumps([update(session, sessionUpdate="tool_call", **call)]).encode(),
        json.dumps([_notification("_acme/file_written", session)] * 2).encode(),
        json.dumps(update(session, sessionUpdate="tool_call", **call)).encode()[:-9],
        json.dumps({"params": {"sessionId": session, "update": call}}).encode(),
    ]  # fmt: skip
    silent = [
        update(session, sessionUpdate="usage_update", used=1, size=2),
        update(session, sessionUpdate="available_commands_update", availableCommands=[]),
        update(session, sessionUpdate="current_mode_update", currentModeId="code"),
        update(session, sessionUpdate="session_info_update", title="A title"),
        update(session, sessionUpdate="config_option_update", configOptions=[]),
        update(session, sessionUpdate="user_message_chunk", content=text),
        chunk("", session),
        _request("fs/read_text_file", session, path="/tmp/x"),
        _request("terminal/output", session, terminalId="t"),
        _request("terminal/wait_for_exit", session, terminalId="t"),
        _notification("elicitation/complete", session, elicitationId="e"),
        {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "q"}},
        *(_mcp(method) for method in ("initialize", "ping", "tools/list", "prompts/list")),
        _notification("_vendor/model_retry", session, attempt=1, message="429 rate limited"),
        _notification("_session/retrying", session, category="rate_limited", detail="HTTP 429"),
        _notification("_claude/sdkMessage", session, message={"type": "rate_limit_event"}),
        b"[INFO] loading the model",
    ]
    return [
        # In a sub-agent's session, whatever shows something is work that goes on.
        *(Happening(each, True, session == "s" or "id" in each) for each in shown),
        *(Happening(each, True, False) for each in begun),
        *(Happening(each, False, True) for each in silent),
    ]


ALL = [happening for session in SESSIONS for happening in _happenings(session)]


def sent_again(happened: list[Happening], *, late: bool = False, **options: Any) -> bool:
    """Is the client's prompt sent again after these, and a limit?"""
    wire = linked(**options).agent(*([error(message=LIMITED)] if late else []))
    for happening in happened:
        wire.now += 0.1
        wire.agent(happening.frame)
    wire.agent(*([] if late else [error(message=LIMITED)])).time(wire.now + 60)
    texts = [each["params"]["prompt"][0]["text"] for each in prompts(wire)]
    return texts.count("hi") > 1


CONTINUES = {"retry": 0, "continue_at_reset_seconds": 3600.0, "roll": lambda: 0.0}


@every("number", range(len(ALL)))
@every("late", [False, True])
def test_each_event_alone_decides_before_the_failure_and_within_the_wait(
    number: int, *, late: bool
) -> None:
    happening = ALL[number]
    for options in ({}, CONTINUES):
        again = sent_again([happening], late=late, **options)
        assert again is not happening.counts, happening.frame


@every("number", range(len(ALL)))
def test_a_client_may_resend_a_prompt_only_if_everything_since_is_harmless(
    number: int,
) -> None:
    happening = ALL[number]
    wire = prompted({"_meta": {"agent_error": {"version": 1}}}).agent(happening.frame)
    wire.agent(error(message=LIMITED)).time(1)
    assert (failure(wire)["retry_safety"] == "auto") is happening.is_safe, happening.frame


def _permission(*kinds: str) -> dict[str, Any]:
    """The agent asks for a permission; each option's id is its kind's, or the same for all."""
    options = [{"optionId": kind.rpartition("=")[0] or kind, "kind": kind.rpartition("=")[2]}
               for kind in kinds]  # fmt: skip
    call = {"toolCallId": "t", "title": "Run", "kind": "execute"}
    return _request("session/request_permission", "s", options=options, toolCall=call)


@every(
    ("kinds", "outcome", "safety"),
    [
        (["allow_once"], {"outcome": "selected", "optionId": "allow_once"}, "ask"),
        (["x=allow_once", "x=reject_once"], {"outcome": "selected", "optionId": "x"}, "ask"),
        (["x=odd"], {"outcome": "selected", "optionId": "x"}, "ask"),
        (["allow_once"], {"outcome": "selected", "optionId": "unknown"}, "ask"),
        (["reject_once"], {"outcome": "selected", "optionId": "reject_once"}, "auto"),
        (["reject_always"], {"outcome": "selected", "optionId": "reject_always"}, "auto"),
        (["allow_once"], {"outcome": "cancelled"}, "auto"),
        (["allow_once"], None, "auto"),
    ],
)
def test_a_permission_that_the_user_gave_makes_a_prompt_unsafe_to_send_again(
    kinds: list[str], outcome: dict[str, Any] | None, safety: str
) -> None:
    asked = _permission(*kinds)
    wire = prompted({"_meta": {"agent_error": {"version": 1}}}).agent(asked)
    if outcome is not None:
        wire.client(reply(asked["id"], outcome=outcome))
    wire.agent(error(message=LIMITED)).time(1)
    assert failure(wire)["retry_safety"] == safety


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(ALL), max_size=8))
def test_a_prompt_is_resent_only_if_nothing_was_started_or_shown(
    happened: list[Happening],
) -> None:
    assert sent_again(happened) is not any(happening.counts for happening in happened)


def test_an_empty_bucket_resends_nothing_and_this_is_recorded() -> None:
    wire = linked(retry_bucket=RetryBucket(RETRY_COST)).agent(error(message=LIMITED)).time(60)
    assert len(prompts(wire)) == 2
    wire.agent(error(message=LIMITED)).time(120)
    assert len(prompts(wire)) == 2
    (entry,) = [entry for entry in wire.entries if entry.kind.value == "error"]
    assert entry.facts["retry_refused"] is True


def test_a_success_returns_the_tokens_of_the_last_retry() -> None:
    bucket = RetryBucket(RETRY_COST)
    wire = linked(retry_bucket=bucket).agent(error(message=LIMITED)).time(60)
    assert bucket.tokens == 0
    wire.agent(chunk(), result())
    assert bucket.tokens == RETRY_COST


def test_sessions_share_the_bucket() -> None:
    wire = linked(retry_bucket=RetryBucket(RETRY_COST)).client(prompt(2, "other"))
    wire.agent(error(message=LIMITED), error(2, message=LIMITED)).time(60)
    assert len(prompts(wire)) == 3


@pytest.mark.parametrize(
    ("members", "version"),
    [
        ({"agentInfo": {"name": "a"}}, 1),
        ({"agentCapabilities": {}}, 1),
        ({"info": {"name": "a"}}, 2),
        ({}, 2),
    ],
)
def test_an_agent_that_repeats_the_clients_version_speaks_the_one_it_answers_in(
    members: dict[str, Any], version: int
) -> None:
    profile = read_agent({"protocolVersion": 2, **members})
    assert profile.dialect is not None
    assert profile.dialect.version == version
