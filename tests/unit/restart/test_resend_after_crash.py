"""`--retry` across a crash: a prompt waits for the next agent, and for its session there."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.classify import classify_spawn_failure
from lastword.core.link.connection import Side
from tests.kit.wire import cancel, chunk, error, prompt, request, result, update
from tests.unit.restart.crashing import LOADING, Link, reasons

RESUMING = {"agentCapabilities": {"sessionCapabilities": {"resume": {}}}}
LIMITED = "429 Too Many Requests: try again in 20s"


def limited(capabilities: dict[str, Any] = LOADING, **options: Any) -> Link:
    """A link with a prompt that waits to be sent again, at the moment 420 or a little later."""
    link = Link(capabilities, retry=2, **options).time(400).client(prompt(2))
    assert [frame["method"] for frame in link.asked()] == ["session/prompt"]
    link.agent(error(2, message=LIMITED))
    return link


def kind(link: Link, request_id: Any = 2) -> str:
    (answer,) = link.answers(request_id)
    told: str = answer["error"]["data"]["agent_error"]["type"]
    return told


def goes_through(link: Link, method: str = "session/load") -> None:
    """A new agent is greeted and asked for the session, and then gets the prompt."""
    link.greet()
    (bring_back,) = link.asked()
    assert bring_back["method"] == method
    link.answer(bring_back["id"])
    assert link.asked() == [prompt(2)]
    link.agent(chunk(), result(2))
    assert link.answers(2) == [result(2)]


@pytest.mark.parametrize(
    ("capabilities", "method"), [(LOADING, "session/load"), (RESUMING, "session/resume")]
)
def test_a_crash_during_the_wait_is_waited_out_and_the_session_restored_first(
    capabilities: dict[str, Any], method: str
) -> None:
    link = limited(capabilities).die()
    assert (link.answers(2), link.orders) == ([], [])
    link.time(422)
    goes_through(link, method)
    assert link.kinds.count("prompt") == 1


def test_a_wait_may_end_in_an_agent_that_another_prompt_has_started() -> None:
    link = limited().die().time(410).client(prompt(3, "other")).greet()
    link.asked()
    link.time(422)
    (load,) = link.asked()
    assert (load["method"], load["params"]["sessionId"]) == ("session/load", "s")
    link.answer(load["id"])
    assert link.asked() == [prompt(2)]


def test_an_agent_that_dies_before_it_has_done_anything_gets_the_prompt_once_more() -> None:
    link = Link(retry=1).time(400).client(prompt(2))
    link.asked()
    link.die()
    assert link.answers(2) == []
    link.time(410)
    goes_through(link)


def test_a_prompt_that_kills_every_agent_is_sent_a_bounded_number_of_times() -> None:
    link = Link(retry=1).time(400).client(prompt(2)).die()
    link.asked()
    link.time(410).greet()
    (load,) = link.asked()
    link.answer(load["id"]).die()
    assert kind(link) == "agent_crash"
    (answer,) = link.answers(2)
    assert answer["error"]["data"]["agent_error"]["attempts"] == 2


@pytest.mark.parametrize(
    "shown", [chunk(), update(sessionUpdate="tool_call", toolCallId="t", status="in_progress")]
)
def test_a_prompt_whose_agent_died_at_work_is_not_resent(shown: dict[str, Any]) -> None:
    link = Link(retry=1).client(prompt(2)).agent(shown).die()
    assert kind(link) == "agent_crash"


def test_a_session_that_cannot_be_restored_leaves_the_first_failure() -> None:
    link = limited({}).die()
    assert kind(link) == "rate_limit"
    link = Link({}, retry=1).client(prompt(2)).die()
    assert kind(link) == "agent_crash"


def test_an_agent_that_dies_after_its_answer_has_failed_as_without_retries() -> None:
    link = Link(retry=1).client(prompt(2)).agent(result(2)).die()
    assert kind(link) == "agent_crash"


@pytest.mark.parametrize(
    "how",
    [
        cancel(),
        {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 2}},
        request(5, "session/close", sessionId="s"),
    ],
)
@pytest.mark.parametrize("at", [410, 421.5])
def test_a_cancel_without_an_agent_ends_the_wait_at_once(how: dict[str, Any], at: float) -> None:
    link = limited().die()
    link.starts = False
    link.time(at).client(how)
    assert link.answers(2) == [result(2, "cancelled")]
    link.time(1000)
    assert link.asked() == []


def test_an_irrelevant_cancel_notification_ends_no_wait() -> None:
    link = limited().die().client(cancel("other"))
    link.client({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 7}})
    link.client({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {}})
    link.client({"jsonrpc": "2.0", "method": "_x/told", "params": {"sessionId": "s"}}).time(422)
    goes_through(link)


def test_another_prompt_without_an_agent_ends_the_wait_with_the_failure() -> None:
    link = limited().die().client(prompt(3))
    assert kind(link) == "rate_limit"
    link.time(430).greet()
    (load,) = link.asked()
    link.answer(load["id"])
    assert link.asked() == [prompt(3)]


def test_an_agent_that_cannot_be_restarted_ends_every_wait() -> None:
    link = limited().die()
    link.starts = False
    link.client(prompt(3, "other")).time(415)
    missing = classify_spawn_failure(2, "agent")
    link.carry_out(link.core.receive_eof(Side.AGENT, lambda: missing, link.now))
    assert (kind(link), reasons(link, 3)) == ("rate_limit", ["spawn_failed"])


def test_an_agent_that_cannot_be_started_for_the_prompt_is_the_failure() -> None:
    link = limited().die()
    link.starts = False
    link.time(430)
    missing = classify_spawn_failure(2, "agent")
    link.carry_out(link.core.receive_eof(Side.AGENT, lambda: missing, link.now))
    assert reasons(link, 2) == ["spawn_failed"]
    (answer,) = link.answers(2)
    assert answer["error"]["data"]["agent_error"]["attempts"] == 2


def test_a_session_that_the_next_agent_does_not_have_is_the_failure() -> None:
    link = limited().die().time(422).greet()
    (load,) = link.asked()
    link.agent(error(load["id"]))
    assert reasons(link, 2) == ["context_lost"]
    assert link.core.idle


def test_a_client_that_leaves_without_an_agent_cancels_its_waiting_prompts() -> None:
    link = limited().die()
    link.carry_out(link.core.receive_eof(Side.CLIENT, None, link.now))
    assert link.answers(2) == [result(2, "cancelled")]
    link.time(1000)
    assert link.orders == []
