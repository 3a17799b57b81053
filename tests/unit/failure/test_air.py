"""JetBrains AIR's convention: its words for our failures, and what is read from agents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword import client
from lastword.core.classify import agents
from lastword.core.failure import ladder
from lastword.core.failure.taxonomy import Action, AgentError, ErrorType, RetrySafety
from lastword.core.link.handshake import advertise
from lastword.core.protocol.acp import V1
from tests.kit.rows import every

CATEGORIES = {"connection", "access", "limit", "service", "request", "unknown"}
ACTIONS = {"retry", "login", "new_session"}


def failure(error_type: ErrorType, **members: Any) -> AgentError:
    defaults: dict[str, Any] = {"message": "It failed. Try again.", "retryable": True}
    return AgentError(type=error_type, **(defaults | members))


def record(error: AgentError) -> dict[str, Any]:
    meta = ladder.failure_meta(error, failure_id="t1", revision=1)
    found: dict[str, Any] = meta["jetbrains"]["air"]["sessionFailure"]
    return found


@every("error_type", ErrorType)
def test_every_type_has_a_category_and_buttons_of_the_convention(error_type: ErrorType) -> None:
    for action in Action:
        told = record(failure(error_type, action=action))
        assert told["category"] in CATEGORIES
        assert set(told["actions"]) <= ACTIONS


@every("error_type", sorted(set(ErrorType) - {ErrorType.CANCELLED}))
def test_a_record_alone_is_read_back_as_its_type(error_type: ErrorType) -> None:
    meta = ladder.failure_meta(failure(error_type), failure_id="t1", revision=1)
    read = client.read_error({"stopReason": "end_turn", "_meta": meta})
    assert read is not None
    assert read.type is error_type


@pytest.mark.parametrize("safety", [RetrySafety.ASK, RetrySafety.NEVER])
def test_a_retry_that_may_do_harm_has_no_button(safety: RetrySafety) -> None:
    assert record(failure(ErrorType.NETWORK))["actions"] == ["retry"]
    assert record(failure(ErrorType.NETWORK, retry_safety=safety))["actions"] == []


def test_a_session_that_is_lost_has_a_button_for_a_new_one() -> None:
    lost = failure(ErrorType.AGENT_CRASH, retryable=False, reason="context_lost")
    assert record(lost)["actions"] == ["new_session"]


def test_details_that_say_nothing_are_left_out() -> None:
    empty = failure(ErrorType.UNKNOWN, detail={"text": "Internal error"})
    full = failure(ErrorType.UNKNOWN, detail={"text": "socket hang up"})
    assert "details" not in record(empty)
    assert record(full)["details"] == "socket hang up"


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"version": 1},
        {"version": True, "capabilities": ["sessionFailure"]},
        {"version": 1.0, "capabilities": ["sessionFailure"]},
        {"version": 1, "capabilities": {"sessionFailure": True}},
        {"version": 1, "capabilities": []},
        "sessionFailure",
        None,
    ],
)
def test_only_a_capability_that_is_listed_by_a_whole_version_negotiates_it(told: object) -> None:
    listed = {"version": 2, "capabilities": ["diffPatch", "sessionFailure"]}
    assert ladder.negotiated({"_meta": {"jetbrains": {"air": listed}}})
    assert not ladder.negotiated({"_meta": {"jetbrains": {"air": told}}})


def warning(**members: Any) -> dict[str, Any]:
    told = {"severity": "warning", "category": "limit"} | members
    return {
        "sessionUpdate": "session_info_update",
        "_meta": {"jetbrains": {"air": {"sessionFailure": told}}},
    }


def test_advice_that_is_not_a_retry_is_ignored() -> None:
    counted = agents.read_update(warning(title="Retrying Claude, attempt 2 of 10."))
    assert counted is not None
    assert (counted.will_retry, counted.attempt, counted.max_attempts) == (True, 3, 11)
    title = "Claude Sonnet took the place of Claude Opus."
    assert agents.read_update(warning(category="unknown", title=title)) is None
    known = agents.read_update(warning(category="service", title="Overloaded, retrying."))
    assert known is not None
    assert known.will_retry


def test_a_null_in_the_agents_capabilities_counts_as_absent() -> None:
    result = {"protocolVersion": 1, "agentCapabilities": {"_meta": {"jetbrains": None}}}
    line = json.dumps({"jsonrpc": "2.0", "id": 0, "result": result}).encode()
    told = json.loads(advertise(line, V1, None, with_air=True))["result"]["agentCapabilities"]
    assert told["_meta"] == {
        "jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}
    }
