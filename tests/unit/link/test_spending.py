"""Spending: what sessions cost, and the user's limit."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lastword.core.link.costs import MAX_CURRENCIES, MAX_SUMS, Spent
from lastword.core.link.effects import Kill, Side, Spend
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import problems_of
from lastword.core.timeline.summary import fault_of
from tests.kit.rows import every
from tests.kit.wire import (
    Wire,
    cancel,
    chunk,
    error,
    failure,
    greeted,
    notices,
    prompt,
    prompted,
    reply,
    request,
    result,
    second_version,
    update,
)
from tests.unit.restart.crashing import Link, reasons

NOTICES = {"session": {"notices": {}}}
NO_COST = "The agent states no cost, so --spend-limit has no effect."


def cost(amount: Any, currency: Any = "USD", session_id: str = "s") -> dict[str, Any]:
    """What a session has cost so far, as an agent states it."""
    stated = {"amount": amount, "currency": currency}
    return update(session_id, sessionUpdate="usage_update", used=1, size=2, cost=stated)


def linked(limit: str = "", capabilities: Any = NOTICES, **options: Any) -> Wire:
    """A link with a prompt at work."""
    return prompted(capabilities, spend_limit=limit, **options).agent(chunk())


def costs(wire: Wire) -> list[tuple[int | None, dict[str, Any]]]:
    """The entries about costs: the turn, and the facts."""
    assert not [problem for entry in wire.entries for problem in problems_of(entry)]
    return [(entry.turn, entry.facts) for entry in wire.entries if entry.kind is Kind.COST]


def limits(wire: Wire) -> list[str]:
    """What happened to the limit."""
    return [entry.facts["what"] for entry in wire.entries if entry.kind is Kind.SPEND_LIMIT]


def entry_of(wire: Wire, kind: Kind) -> dict[str, Any]:
    """The facts of the last entry of a kind."""
    return [entry.facts for entry in wire.entries if entry.kind is kind][-1]


def usd(amount: float) -> dict[str, Any]:
    """The facts of a cost."""
    return {"amount": amount, "currency": "USD"}


def methods(wire: Wire) -> list[str]:
    """What reached the agent."""
    return [json.loads(frame)["method"] for frame in wire.to_agent]


# --- what is recorded, with or without a limit


def test_a_turns_cost_is_the_amount_stated_since_the_last_turn() -> None:
    wire = linked().agent(cost(0.1), cost(0.3))
    assert costs(wire) == []
    wire.agent(result()).client(prompt(2)).agent(chunk(), cost(1), result(2))
    assert costs(wire) == [(1, usd(0.3)), (2, usd(0.7))]
    assert [entry.kind for entry in wire.entries if entry.turn == 2][-2:] == [
        Kind.COST,
        Kind.ANSWER,
    ]
    assert wire.orders == []


def test_every_frame_about_costs_passes_unchanged() -> None:
    wire = linked()
    sent = [json.dumps(cost(amount)).encode() for amount in (0.25, 9, -1, "5")]
    for line in sent:
        wire.agent(line)
    assert [line for line in wire.to_client if b"usage_update" in line] == sent


@pytest.mark.parametrize(
    ("frames", "recorded"),
    [
        ([cost(0.5), result(stop_reason="cancelled")], [usd(0.5)]),
        ([cost(0.5), error()], [usd(0.5)]),
        ([cost(0.5), reply(1)], [usd(0.5)]),
        ([cost(0.5), result(), cost(0.75)], [usd(0.5), usd(0.25)]),
        ([cost(1), cost(3, "eur"), result()], [usd(1), {"amount": 3.0, "currency": "EUR"}]),
    ],
    ids=["cancelled", "failed", "odd answer", "after the answer", "two currencies"],
)
def test_a_turns_cost_is_recorded_however_it_ends(
    frames: list[dict[str, Any]], recorded: list[dict[str, Any]]
) -> None:
    wire = linked().agent(*frames).time(5)
    assert costs(wire) == [(1, each) for each in recorded]


SUMS = {
    "begins again": ((0.5, 0.2, 0.3, 0.3), 0.8),
    "is corrected by a cent": ((0.5, 0.49, 0.55), 0.55),
    "is corrected by half": ((0.02, 0.01, 0.02, 0.03), 0.03),
    "is corrected step by step": ((1.0, 0.8, 0.6, 0.7, 1.1), 1.1),
    "is corrected, then begins again": ((1.0, 0.9, 0.1, 0.2), 1.2),
}


@every("case", SUMS)
def test_a_falling_sum_is_charged_again_only_if_it_has_restarted(case: str) -> None:
    stated, total = SUMS[case]
    wire = linked()
    for amount in stated:
        wire.agent(cost(amount))
    wire.agent(result())
    assert costs(wire) == [(1, usd(total))]


LATER = {"by a cent": (0.99, 1.05, 0.05), "before": (0.6, 1.2, 0.2), "anew": (0.3, 0.4, 0.4)}


@every("case", LATER)
def test_a_later_turn_is_charged_only_for_the_rise_beyond_earlier_charges(case: str) -> None:
    first, second, added = LATER[case]
    wire = linked().agent(cost(1.0))
    if case == "before":
        wire.agent(cost(first))
    wire.agent(result()).client(prompt(2)).agent(chunk(), cost(first), cost(second), result(2))
    assert costs(wire) == [(1, usd(1.0)), (2, usd(added))]


def test_a_loaded_session_that_states_a_little_less_than_it_has_cost_is_not_charged_again() -> None:
    wire = greeted(spend_limit="5USD")
    known = Spent(day="1", sessions={"s": {"USD": (4.5, 4.5)}})
    wire.carry_out(wire.core.receive_spending(known, 0.0))
    wire.client(request(7, "session/load", sessionId="s")).agent(cost(4.4), reply(7))
    wire.client(prompt()).agent(chunk(), cost(4.75))
    assert wire.orders == [Spend("s", "USD", 0.25, (4.75, 4.75))]


@pytest.mark.parametrize("limit", ["1USD", "1USD/turn", "1USD/day"])
def test_the_cost_of_a_sub_agents_session_counts_for_the_turn(limit: str) -> None:
    wire = linked(limit).agent(cost(0.3), cost(0.3, session_id="sub"), cost(0.4, session_id="sub"))
    wire.agent(cost(0.2, session_id="other"))
    assert "session/cancel" not in methods(wire)
    wire.agent(cost(0.4))
    assert methods(wire)[-1] == "session/cancel"
    wire.agent(result(stop_reason="cancelled"))
    assert costs(wire) == [(1, usd(1.0))]


def test_a_sub_agent_that_works_beyond_its_turn_counts_for_the_session() -> None:
    wire = linked("1USD").agent(cost(0.5), result(), cost(0.5, session_id="sub")).client(prompt(2))
    assert failure(wire, 2)["reason"] == "spend_limit"
    assert sum(facts["amount"] for _, facts in costs(wire)) == 1


def test_a_cost_before_any_turn_belongs_to_none() -> None:
    wire = greeted(spend_limit="1USD").agent(cost(5, session_id="sub")).client(prompt())
    assert (wire.answers(), wire.orders) == ([], [])


def test_an_agent_cannot_make_us_remember_any_number_of_sub_agents() -> None:
    wire = linked()
    for number in range(2 * MAX_SUMS):
        wire.agent(cost(0.001, session_id=f"sub{number}"), cost(0.001 * (number + 1)))
    wire.agent(result())
    assert costs(wire) == [(1, usd(round(0.004 * MAX_SUMS, 9)))]


def test_a_sessions_cost_before_its_first_turn_here_belongs_to_no_turn() -> None:
    wire = greeted().client(request(7, "session/load", sessionId="s", cwd="/", mcpServers=[]))
    wire.agent(reply(7), cost(4)).client(prompt()).agent(cost(4.5), error())
    assert costs(wire) == [(1, usd(0.5))]


def test_the_model_is_named_if_it_is_known() -> None:
    wire = greeted().client(request(7, "session/new", cwd="/"))
    wire.agent(reply(7, sessionId="s", models={"currentModelId": "small", "availableModels": []}))
    for number, model in enumerate(("", "large", 5), 1):
        if model:
            wire.client(request(8, "session/set_model", sessionId="s", modelId=model))
            wire.agent(reply(8))
        wire.client(prompt(number)).agent(chunk(), cost(number), result(number))
    option = {"id": "which", "category": "model", "currentValue": "o" * 200}
    wire.agent(update(sessionUpdate="config_option_update", configOptions=[option]), cost(9))
    models_named = [facts["model"] for _, facts in costs(wire)]
    assert models_named == ["small", "large", "large", "o" * 128]


HOSTILE = [
    b'{"amount":NaN,"currency":"USD"}',
    b'{"amount":1e400,"currency":"USD"}',
    b'{"amount":-1e400,"currency":"USD"}',
    b'{"amount":-0.5,"currency":"USD"}',
    b'{"amount":1e13,"currency":"USD"}',
    b'{"amount":"5","currency":"USD"}',
    b'{"amount":true,"currency":"USD"}',
    b'{"amount":null,"currency":"USD"}',
    b'{"amount":9,"currency":"XYZ"}',
    b'{"amount":9,"currency":null}',
    b'{"amount":9}',
    b'{"currency":"USD"}',
    b"[9]",
    b'"9 USD"',
    b"null",
    b'{"amount":' + b"9" * 4000 + b',"currency":"USD"}',
]


@every("stated", HOSTILE)
def test_an_invalid_cost_counts_nothing_and_stops_nothing(stated: bytes) -> None:
    wire = linked("1USD")
    line = json.dumps(update(sessionUpdate="usage_update", used=1, size=2, cost="HERE")).encode()
    wire.agent(line.replace(b'"HERE"', stated), cost(0.25), result())
    assert costs(wire) == [(1, usd(0.25))]
    assert "result" in wire.answers()[0]


def test_an_agent_cannot_make_us_remember_any_number_of_currencies() -> None:
    wire = linked()
    codes = ["USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "BRL", "CAD", "AUD"]
    for code in codes:
        wire.agent(cost(1, code))
    wire.agent(result())
    assert [facts["currency"] for _, facts in costs(wire)] == codes[:MAX_CURRENCIES]


def test_version_2_has_costs_too() -> None:
    wire = second_version().agent(chunk(), cost(0.5))
    wire.agent(update(sessionUpdate="state_update", state="idle", stopReason="end_turn"))
    assert costs(wire) == [(1, usd(0.5))]


# --- the limit


@pytest.mark.parametrize("limit", ["1USD", "1USD/turn", "1USD/day"])
def test_a_turn_that_reaches_the_limit_is_cancelled_and_fails(limit: str) -> None:
    wire = linked(limit, retry=2, continue_at_reset_seconds=3600.0).agent(cost(0.7), cost(1.1))
    assert methods(wire)[-1] == "session/cancel"
    wire.agent(result(stop_reason="cancelled"))
    told = failure(wire)
    assert (told["type"], told["reason"]) == ("budget", "spend_limit")
    assert (told["retryable"], told["retry_safety"]) == (False, "never")
    assert told["origin"] == "lastword"
    assert "1.10 USD of the 1.00 USD" in told["message"]
    assert "--spend-limit" in told["message"]
    wire.time(7200)
    assert methods(wire).count("session/prompt") == 1
    assert (costs(wire), limits(wire)) == ([(1, usd(1.1))], ["reached"])


def test_an_agent_that_does_not_stop_gets_its_grace() -> None:
    wire = linked("1USD", cancel_grace_seconds=3.0).agent(cost(1)).time(2).agent(cost(1.5)).time(4)
    assert "1.00 USD of the 1.00 USD" in failure(wire)["message"]
    assert methods(wire).count("session/cancel") == 1
    wire.agent(cost(1.5)).time(5)
    assert wire.orders == [Spend("s", "USD", 1.0, (1.0, 1.0)), Spend("s", "USD", 0.5, (1.5, 1.5))]
    assert sum(facts["amount"] for _, facts in costs(wire)) == 1.5


@pytest.mark.parametrize("limit", ["1USD", "1USD/turn", "1USD/day"])
@pytest.mark.parametrize("restart", ["never", "on-crash"])
@pytest.mark.parametrize("spender", ["s", "sub"])
def test_an_agent_that_spends_on_after_its_grace_is_ended(
    limit: str, restart: str, spender: str
) -> None:
    wire = linked(limit, cancel_grace_seconds=3.0, restart=restart).agent(cost(1)).time(4)
    wire.client(prompt(2)).agent(cost(0.1 if spender == "sub" else 1.1, session_id=spender)).time(4)
    assert [order for order in wire.orders if not isinstance(order, Spend)] == [Kill()]
    assert entry_of(wire, Kind.CANCEL)["reason"] == "spend_limit"
    wire.eof(Side.AGENT)
    assert len(wire.answers(2)) == (0 if (limit, restart) == ("1USD/turn", "on-crash") else 1)


@pytest.mark.parametrize("ended", [True, False])
def test_another_sessions_turn_reports_who_ended_the_agent(*, ended: bool) -> None:
    wire = linked("1USD", cancel_grace_seconds=3.0).client(prompt(2, "t"))
    wire.agent(chunk(session_id="t"), cost(1)).time(4)
    if ended:
        wire.agent(cost(1.1)).time(4)
    wire.eof(Side.AGENT)
    [answer] = wire.answers(2)
    told = answer["error"]["data"]["agent_error"]
    by_us = ("ended_by_lastword", "lastword")
    assert (told["reason"], told["origin"]) == (by_us if ended else ("closed_stdout", "process"))
    assert ("ended by lastword" in told["message"]) is ended


def test_an_agent_that_has_answered_the_cancel_and_spends_on_is_ended_too() -> None:
    wire = linked("1USD", cancel_grace_seconds=3.0).agent(cost(1), result(1, "cancelled"))
    wire.time(2).agent(cost(1.1)).time(2)
    assert Kill() not in wire.orders
    wire.time(4).agent(cost(1.1)).time(4)
    assert Kill() not in wire.orders
    wire.agent(cost(1.2)).time(4)
    assert Kill() in wire.orders


def test_the_grace_of_a_spending_agent_stops_with_the_other_clocks() -> None:
    wire = linked("1USD", cancel_grace_seconds=3.0).agent(cost(1))
    wire.core.stand_still(3600)
    wire.now = 3601.0
    wire.agent(cost(1.1)).time(3601)
    assert Kill() not in wire.orders


def test_a_further_turn_within_its_limit_ends_no_agent() -> None:
    wire = linked("1USD/turn", cancel_grace_seconds=3.0).agent(cost(1), result(1, "cancelled"))
    wire.time(9).client(prompt(2)).agent(chunk(), cost(1.9), result(2)).time(9)
    wire.client(prompt(3)).agent(chunk(), cost(3.0)).time(9)
    assert Kill() not in wire.orders


def test_tenths_of_an_amount_reach_the_whole() -> None:
    wire = linked("1USD", silent_success="pass")
    for number, amount in enumerate((0.7, 0.1, 0.2), 1):
        wire.agent(cost(amount if number < 3 else 0.3))
    assert "session/cancel" in methods(wire)


@pytest.mark.parametrize("limit", ["1USD", "1USD/day"])
def test_further_prompts_are_answered_without_the_agent(limit: str) -> None:
    wire = linked(limit).agent(cost(1), result()).client(prompt(2))
    told = failure(wire, 2)
    assert (told["reason"], told["phase"]) == ("spend_limit", "before_request")
    assert methods(wire).count("session/prompt") == 1
    wire.client(prompt(3))
    assert failure(wire, 3)["reason"] == "spend_limit"


def test_another_session_has_a_separate_limit() -> None:
    wire = linked("1USD").agent(cost(1), result()).client(prompt(2, "other"))
    wire.agent(chunk(session_id="other"), cost(0.5, session_id="other"), result(2))
    assert wire.answers(2) == [result(2)]


def test_each_turn_has_a_separate_limit() -> None:
    wire = linked("1USD/turn").agent(cost(0.9), result()).client(prompt(2)).agent(chunk())
    wire.agent(cost(1.5), result(2))
    assert [wire.answers(1), wire.answers(2)] == [[result()], [result(2)]]
    wire.client(prompt(3)).agent(chunk(), cost(2.5), result(3))
    assert failure(wire, 3)["reason"] == "spend_limit"
    wire.client(prompt(4))
    assert (wire.answers(4), wire.orders) == ([], [])


def test_a_day_is_shared_by_all_sessions_and_their_turns_end_together() -> None:
    wire = linked("1USD/day").client(prompt(2, "other")).agent(chunk(session_id="other"), cost(0.5))
    wire.agent(cost(0.5, session_id="other"))
    assert methods(wire)[-2:] == ["session/cancel", "session/cancel"]
    wire.agent(result(1, "cancelled"), result(2, "cancelled"))
    assert "Today's sessions have cost 1.00 USD" in failure(wire, 1)["message"]
    assert failure(wire, 2)["reason"] == "spend_limit"


def test_the_spending_of_other_processes_counts_for_the_day() -> None:
    wire = linked("1USD/day")
    wire.carry_out(wire.core.receive_spending(Spent(day="1", today={"USD": 0.6}), 0.0))
    wire.agent(cost(0.2))
    assert (wire.orders, limits(wire)) == ([Spend("s", "USD", 0.2, (0.2, 0.2))], ["near"])
    wire.carry_out(wire.core.receive_spending(Spent(day="1", today={"USD": 1.2}), 0.0))
    assert methods(wire)[-1] == "session/cancel"
    wire.agent(result())
    assert failure(wire)["reason"] == "spend_limit"
    wire.carry_out(wire.core.receive_spending(Spent(day="2"), 0.0))
    wire.client(prompt(2))
    assert wire.answers(2) == []
    wire.agent(chunk(), cost(0.4))
    assert methods(wire)[-1] == "session/prompt"
    assert wire.orders[1:] == [Spend("s", "USD", 0.2, (0.4, 0.4))]


def test_the_cost_of_the_day_does_not_count_for_a_session() -> None:
    wire = linked("1USD")
    wire.carry_out(wire.core.receive_spending(Spent(day="1", today={"USD": 5.0}), 0.0))
    wire.agent(result())
    assert wire.answers() == [result()]
    unlimited = linked()
    unlimited.carry_out(unlimited.core.receive_spending(Spent(day="1", today={"USD": 5.0}), 0.0))
    assert "session/cancel" not in methods(unlimited)


def test_a_session_keeps_its_earlier_cost() -> None:
    wire = greeted(spend_limit="5USD")
    known = Spent(day="1", sessions={"s": {"USD": (0.5, 4.5)}, "full": {"USD": (5.0, 5.0)}})
    wire.carry_out(wire.core.receive_spending(known, 0.0))
    wire.client(prompt(1, "full"))
    assert failure(wire, 1)["reason"] == "spend_limit"
    wire.client(prompt(2)).agent(chunk(), cost(0.75))
    assert wire.orders == [Spend("s", "USD", 0.25, (0.75, 4.75))]
    wire.agent(cost(1), result(2))
    assert "5.00 USD of the 5.00 USD" in failure(wire, 2)["message"]


@pytest.mark.parametrize(("method", "answers"), [("session/new", 0), ("session/load", 1)])
def test_a_new_session_does_not_inherit_the_costs_of_its_ids_former_one(
    method: str, answers: int
) -> None:
    wire = greeted(spend_limit="5USD")
    known = Spent(day="1", sessions={"s": {"USD": (5.0, 5.0)}})
    wire.carry_out(wire.core.receive_spending(known, 0.0))
    wire.client(request(7, method, sessionId="s", cwd="/", mcpServers=[]))
    wire.agent(reply(7, sessionId="s")).client(prompt())
    assert len(wire.answers()) == answers


def test_a_prompt_behind_an_ended_turn_is_refused_too() -> None:
    wire = linked("1USD", cancel_grace_seconds=1.0).client(cancel()).time(2).client(prompt(2))
    assert wire.answers(2) == []
    wire.agent(cost(1), result(1, "cancelled"))
    assert failure(wire, 2)["reason"] == "spend_limit"
    assert methods(wire).count("session/prompt") == 1
    below = linked("1USD", cancel_grace_seconds=1.0).client(cancel()).time(2).client(prompt(2))
    assert methods(below.agent(result(1, "cancelled")))[-1] == "session/prompt"


def test_a_users_cancel_is_not_reported_as_the_limits() -> None:
    wire = linked("1USD").client(cancel()).agent(cost(1.5), result(1, "cancelled"))
    assert wire.answers() == [result(1, "cancelled")]
    stopped = linked("1USD").agent(cost(1.5)).client(cancel()).agent(result(1, "cancelled"))
    assert stopped.answers() == [result(1, "cancelled")]
    stopped.client(prompt(2))
    assert failure(stopped, 2)["reason"] == "spend_limit"


def test_a_waiting_prompt_is_not_resent_beyond_the_limit() -> None:
    wire = prompted(spend_limit="1USD", retry=3, roll=lambda: 0.0)
    wire.agent(error(message="429 Too Many Requests: try again in 5s"))
    assert wire.answers() == []
    wire.agent(cost(1)).time(60)
    assert failure(wire)["reason"] == "spend_limit"
    assert methods(wire).count("session/prompt") == 1


# --- what the user gets to know


@pytest.mark.parametrize("limit", ["1USD", "1USD/turn", "1USD/day"])
def test_a_notice_comes_once_at_four_fifths(limit: str) -> None:
    wire = linked(limit)
    for amount in (0.79, 0.8, 0.8, 0.9):
        wire.agent(cost(amount))
    (title,) = notices(wire)
    assert "0.80 USD of the 1.00 USD" in title
    assert limits(wire) == ["near"]


def test_a_client_without_notices_gets_a_thought_unless_it_is_not_to() -> None:
    wire = linked("1USD", {}).agent(cost(0.9))
    (thought,) = [each for each in wire.updates() if "thought" in each["sessionUpdate"]]
    assert "0.90 USD of the 1.00 USD" in thought["content"]["text"]
    quiet = linked("1USD", {}, show_retries="off").agent(cost(0.9))
    assert not [each for each in quiet.updates() if "thought" in each["sessionUpdate"]]
    assert limits(quiet) == ["near"]


def test_costs_in_another_currency_are_reported_once_and_stop_nothing() -> None:
    wire = linked("1USD")
    for amount in (0, 50, 60):
        wire.agent(cost(amount, "EUR"))
    (title,) = notices(wire)
    assert "EUR" in title
    assert "does not apply" in title
    wire.agent(result()).client(prompt(2))
    assert (wire.answers(), wire.answers(2)) == ([result()], [])
    assert limits(wire) == ["other_currency"]


def test_an_agent_that_states_no_cost_is_reported_once_after_its_first_turn() -> None:
    wire = linked("1USD").agent(cost(0), result()).time(1)
    assert notices(wire) == []
    wire.time(3).client(prompt(2)).agent(chunk(), result(2)).time(9)
    assert (notices(wire), limits(wire)) == ([NO_COST], ["no_cost"])


def test_a_suspension_extends_the_time_allowed_for_a_cost() -> None:
    wire = linked("1USD")
    wire.core.stand_still(10)
    wire.agent(result())
    wire.core.stand_still(100)
    assert (notices(wire.time(99)), notices(wire.time(103))) == ([], [NO_COST])


def test_a_cost_after_the_answer_counts_as_stated() -> None:
    wire = linked("1USD").agent(result(), cost(0.1)).time(9).client(prompt(2)).agent(chunk())
    wire.agent(result(2)).time(19)
    assert notices(wire) == []


@pytest.mark.parametrize("limit", ["", "1USD"])
def test_a_turn_without_work_of_the_model_need_not_cost_anything(limit: str) -> None:
    wire = greeted(spend_limit=limit).client(prompt(text="/help")).agent(chunk(), result())
    wire.client(prompt(2)).agent(update(sessionUpdate="plan", entries=[]), result(2))
    wire.client(prompt(3)).agent(result(3)).time(9)
    assert limits(wire) == []


def test_a_silent_success_that_passes_is_checked_for_its_cost_too() -> None:
    wire = linked("1USD")
    wire.core.expects_hints(present=True)
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x", "kind": "edit"}
    wire.agent(update(**call, status="completed"), result()).time(9)
    assert (wire.answers(), limits(wire)) == ([result()], ["no_cost"])


def test_a_session_closed_in_the_meantime_gets_no_report() -> None:
    wire = linked("1USD").agent(result()).client(request(5, "session/close", sessionId="s"))
    wire.agent(reply(5)).time(9)
    assert (notices(wire), limits(wire)) == ([], [])


def test_an_agent_that_is_started_again_is_under_the_same_limit() -> None:
    link = Link(spend_limit="1USD/day").client(prompt(5)).agent(cost(0.75))
    link.asked()
    link.come_back().agent(cost(0.25))
    link.carry_out(link.core.receive_spending(Spent(day="1", today={"USD": 1.0}), link.now))
    assert (reasons(link, 5), link.asked()[-1]["method"]) == (["killed"], "session/cancel")
    link.agent(result(2))
    assert reasons(link, 2) == ["spend_limit"]


def test_a_sum_that_is_added_up_in_another_order_has_not_fallen() -> None:
    wire = linked("1USD/turn").agent(cost(0.1 + 0.2 + 0.3), cost(0.3 + 0.2 + 0.1), result())
    assert (wire.answers(1), costs(wire)) == ([result()], [(1, usd(0.6))])


def test_a_turn_that_continues_past_midnight_spends_from_the_new_day() -> None:
    now = [datetime(2026, 11, 25, 23, 59, tzinfo=UTC)]
    wire = linked("1USD/day", wall_clock=lambda: now[0]).agent(cost(0.9))
    now[0] += timedelta(minutes=2)
    wire.agent(cost(1.1))
    assert "session/cancel" not in methods(wire)
    wire.agent(cost(2.2))
    assert methods(wire)[-1] == "session/cancel"
    wire.agent(result()).client(prompt(2))
    assert failure(wire, 2)["reason"] == "spend_limit"
    now[0] += timedelta(days=1)
    wire.client(prompt(3))
    assert wire.answers(3) == []


def test_a_limit_that_the_user_set_is_blamed_on_no_one() -> None:
    told = {"type": "budget", "reason": "spend_limit", "origin": "lastword"}
    assert fault_of(told) == ""
    assert fault_of(told | {"reason": "credits"}) != ""
