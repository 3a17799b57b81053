"""`--fallback-model`: a turn that failed of its model goes on with another one of the agent's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.failure.retry_policy import RetryBucket
from lastword.core.link.connection import Side
from lastword.core.link.resend import SWITCH_LIMIT_SECONDS
from lastword.core.link.state import MAX_LATE_MODELS
from lastword.core.timeline.entry import Kind
from tests.kit.rows import every
from tests.kit.wire import (
    INITIALIZE,
    INITIALIZED,
    Wire,
    cancel,
    chunk,
    error,
    failure,
    prompt,
    reply,
    request,
    result,
    thoughts,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LIMITED = "429 Too Many Requests"
FAR = "429 Too Many Requests: try again in 2400s"
SOON = "429 Too Many Requests: try again in 20s"
RETRIES = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
NOTICES = {"session": {"notices": {}}}
SET_OPTION, SET_MODEL = "session/set_config_option", "session/set_model"


def options(current: str = "big", *more: dict[str, Any]) -> list[dict[str, Any]]:
    """The config options of a session whose model can be chosen."""
    groups = [
        {"group": "g", "name": "G", "options": [{"value": "big", "name": "Big"}, {"name": "?"}]},
        *({"value": value, "name": value.title()} for value in ("small", "tiny")),
    ]
    mode = {"id": "mode", "category": "mode", "type": "select", "currentValue": "ask"}
    model = {"id": "m", "category": "model", "type": "select", "currentValue": current}
    return [mode | {"options": []}, model | {"options": groups}, *more]


OFFER = {"configOptions": options()}
OLD_OFFER = {
    "models": {
        "currentModelId": "big",
        "availableModels": [{"modelId": each} for each in ("big", "small", "tiny")],
    }
}


def linked(
    capabilities: dict[str, Any] | None = None, offer: dict[str, Any] = OFFER, **settings: Any
) -> Wire:
    """A link with a session that offers models, and a prompt at work in it."""
    wire = Wire(**({"fallback_model": "small,tiny", "incident_prefix": "run-"} | settings))
    wire.client(INITIALIZE | {"params": {"protocolVersion": 1, "clientCapabilities": capabilities}})
    wire.agent(INITIALIZED)
    opened(wire, offer).client(prompt())
    return wire


def limited(*given: Any, **settings: Any) -> Wire:
    """Such a link, whose prompt has failed of a limit."""
    return linked(*given, **settings).agent(error(message=LIMITED))


def opened(wire: Wire, offer: dict[str, Any], session: str = "s") -> Wire:
    """The client opens a session."""
    wire.client(request("new", "session/new", cwd="/w", mcpServers=[]))
    return wire.agent(reply("new", sessionId=session, **offer))


def sent(wire: Wire) -> list[str]:
    """What has reached the agent since the session was opened: models, and texts of prompts."""
    frames = [json.loads(frame) for frame in wire.to_agent]
    told = []
    for frame in frames:
        params = frame.get("params", {})
        if frame.get("method") in {SET_OPTION, SET_MODEL}:
            told.append(f"={params.get('value', params.get('modelId'))}")
        elif frame.get("method") == "session/prompt":
            told.append("".join(block["text"] for block in params["prompt"]))
    return told


def own(wire: Wire) -> dict[str, Any]:
    """The last request of lastword's own."""
    frames = [json.loads(frame) for frame in wire.to_agent]
    requests: list[dict[str, Any]] = [
        frame for frame in frames if str(frame.get("id", "")).startswith("lastword:")
    ]
    return requests[-1]


def agree(
    wire: Wire, *, lists: bool = True, request: dict[str, Any] | None = None, model: str = ""
) -> Wire:
    """The agent switches, or says that another model is in force, as the protocol has it.

    Without lists it answers briefly.
    """
    request = request or own(wire)
    answer = {"configOptions": options(model or request["params"].get("value", ""))}
    answer = answer if lists else {}
    return wire.agent({"jsonrpc": "2.0", "id": request["id"], "result": answer}).time(wire.now)


def refuse(wire: Wire) -> Wire:
    """The agent does not."""
    return wire.agent(error(own(wire)["id"], message="no such model")).time(wire.now)


def kinds(wire: Wire) -> list[str]:
    return [each["sessionUpdate"] for each in wire.updates()]


def shown_models(wire: Wire) -> list[str]:
    """The model in each list of options that the client got."""
    lists = [each["configOptions"] for each in wire.updates() if "configOptions" in each]
    return [each["currentValue"] for listed in lists for each in listed if each["id"] == "m"]


def switches(wire: Wire) -> list[dict[str, Any]]:
    """The facts of the recorded switches."""
    return [each.facts for each in wire.entries if each.kind is Kind.MODEL_SWITCH]


def stop_reason(wire: Wire, request_id: Any = 1) -> str:
    (answer,) = wire.answers(request_id)
    return str(answer["result"]["stopReason"])


def test_a_limited_turn_continues_with_the_other_model_and_the_former_is_restored() -> None:
    wire = limited()
    assert (sent(wire), wire.answers(1)) == (["hi", "=small"], [])
    agree(wire)
    assert sent(wire) == ["hi", "=small", "hi"]
    wire.agent(chunk("Done."), result())
    assert (stop_reason(wire), sent(wire)[-1]) == ("end_turn", "=big")
    agree(wire)
    assert shown_models(wire) == ["small", "big"]
    outcomes = [(each["outcome"], each["from_model"], each["to_model"]) for each in switches(wire)]
    assert outcomes == [("switched", "big", "small"), ("restored", "small", "big")]
    assert {"answer_to_lastword"} == {*wire.drops}


def test_an_agent_without_config_options_is_switched_by_its_older_request() -> None:
    wire = limited(offer=OLD_OFFER)
    assert own(wire)["method"] == SET_MODEL
    agree(wire, lists=False).agent(chunk("Done."), result())
    agree(wire, lists=False)
    assert sent(wire) == ["hi", "=small", "hi", "=big"]


def test_a_continuation_prompt_is_sent_after_output_and_never_the_users_own() -> None:
    wire = linked(continue_with="Go on.").agent(chunk("Half."), error(message=LIMITED))
    agree(wire)
    assert sent(wire) == ["hi", "=small", "Go on."]


@pytest.mark.parametrize(
    ("message", "settings", "helps"),
    [
        (FAR, {}, True),
        (LIMITED, {}, True),
        ("503 Service Unavailable", {}, True),
        ("The model `big` does not exist", {}, True),
        ("402 Payment Required: insufficient credits", {}, True),
        (SOON, {}, False),
        (FAR, {"retry_wait_limit_seconds": 2400.0}, False),
        (FAR, {"retry_wait_limit_seconds": 0}, False),
        ("401 Unauthorized: invalid API key", {}, False),
        (LIMITED, {"fallback_model": ""}, False),
        (LIMITED, {"fallback_model": "big"}, False),
        (LIMITED, {"fallback_model": "none"}, False),
    ],
)
def test_only_a_failure_that_another_model_may_help_leads_to_a_switch(
    message: str, settings: dict[str, Any], *, helps: bool
) -> None:
    wire = linked(**settings).agent(error(message=message))
    assert sent(wire) == (["hi", "=small"] if helps else ["hi"])
    assert len(wire.answers(1)) == (0 if helps else 1)


def test_a_failing_fallback_is_followed_by_the_next_model_until_the_turn_fails() -> None:
    wire = linked()
    for expected in ("=small", "=tiny"):
        wire.agent(error(message=LIMITED))
        assert sent(wire)[-1] == expected
        agree(wire)
    wire.agent(error(message="503 Service Unavailable"))
    fails = failure(wire)
    assert (fails["type"], fails["attempts"]) == ("provider_unavailable", 3)
    assert sent(wire)[-1] == "=big"


def test_a_model_that_the_agent_refuses_is_skipped() -> None:
    wire = limited()
    refuse(wire)
    assert sent(wire) == ["hi", "=small", "=tiny"]
    agree(wire)
    assert sent(wire)[-1] == "hi"
    assert [each["outcome"] for each in switches(wire)] == ["refused", "switched"]
    wire = limited()
    refuse(wire)
    fails = failure(refuse(wire))
    assert (fails["type"], fails.get("attempts", 1)) == ("rate_limit", 1)
    assert sent(wire) == ["hi", "=small", "=tiny"], "no model is to come back"
    wire = agree(limited()).agent(error(message=LIMITED))
    assert failure(refuse(wire))["attempts"] == 2


def test_a_turn_whose_models_are_all_refused_still_waits_for_its_limit() -> None:
    wire = linked(continue_at_reset_seconds=6 * 3600.0, roll=lambda: 0.0, fallback_model="small")
    wire.agent(error(message=FAR))
    refuse(wire)
    assert wire.answers(1) == []
    wire.time(wire.now + 2401)
    assert sent(wire) == ["hi", "=small", "hi"]
    wire.agent(error(message="401 Unauthorized"))
    assert failure(wire)["attempts"] == 2


def test_the_fallback_comes_before_the_wait_for_the_limit_and_after_the_retries() -> None:
    wire = linked(
        retry=1, continue_at_reset_seconds=6 * 3600.0, roll=lambda: 0.0, fallback_model="small"
    )
    wire.agent(error(message=SOON)).time(21)
    assert sent(wire) == ["hi", "hi"]
    wire.agent(error(message=FAR))
    assert sent(wire)[-1] == "=small"
    agree(wire).agent(error(message=FAR))
    assert Kind.LIMIT_WAIT.value in wire.kinds
    wire.time(wire.now + 2401)
    assert sent(wire) == ["hi", "hi", "=small", "hi", "hi"]


def test_an_agent_that_does_not_answer_the_switch_is_given_up() -> None:
    wire = limited(fallback_model="small").time(SWITCH_LIMIT_SECONDS - 1)
    assert wire.answers(1) == []
    wire.time(SWITCH_LIMIT_SECONDS + 1)
    assert failure(wire)["type"] == "rate_limit"
    assert sent(wire)[-1] == "=big", "it may yet switch"


def test_a_late_switch_is_shown_until_the_former_model_is_back() -> None:
    wire = limited(fallback_model="small")
    late = own(wire)
    wire.time(SWITCH_LIMIT_SECONDS + 1)
    agree(wire, request=late)
    agree(wire)
    assert (shown_models(wire), len(wire.answers(1))) == (["small", "big"], 1)


@pytest.mark.parametrize(
    "broken",
    [
        b'{"jsonrpc":"2.0","id":%b,"result":{',
        b'{"jsonrpc":"2.0","id":%b,"result":{"configOptions":x}}',
    ],
)
def test_an_unreadable_answer_is_a_refusal(broken: bytes) -> None:
    wire = limited(fallback_model="small")
    wire.agent(broken % json.dumps(own(wire)["id"]).encode()).time(wire.now)
    assert failure(wire)["type"] == "rate_limit"


def test_an_answer_that_names_another_model_is_a_refusal() -> None:
    wire = limited(NOTICES)
    agree(wire, model="big")
    assert sent(wire) == ["hi", "=small", "=tiny"]
    agree(wire, model="big")
    assert failure(wire)["type"] == "rate_limit"
    assert "Continuing with" not in str(wire.updates())
    assert shown_models(wire) == []
    assert sent(wire) == ["hi", "=small", "=tiny"], "the former model is in force"


def test_a_model_that_the_agent_chose_instead_is_shown_and_the_former_one_comes_back() -> None:
    wire = limited(NOTICES, fallback_model="small")
    agree(wire, model="tiny")
    assert (failure(wire)["type"], shown_models(wire)) == ("rate_limit", ["tiny"])
    assert sent(wire)[-1] == "=big"
    agree(wire, model="tiny")
    assert "does not go back to the model big" in wire.updates()[-1]["title"]


def test_the_number_of_expected_late_answers_is_bounded() -> None:
    wire = linked(fallback_model="small")
    requests = []
    for number in range(1, MAX_LATE_MODELS + 3):
        wire.agent(error(number, message=LIMITED))
        requests.append(own(wire))
        wire.time(wire.now + SWITCH_LIMIT_SECONDS + 1).time(wire.now + SWITCH_LIMIT_SECONDS + 1)
        assert len(wire.answers(number)) == 1
        wire.client(prompt(number + 1))
    before = len(wire.to_client)
    agree(wire, request=requests[0])
    assert (len(wire.to_client), shown_models(wire)) == (before, [])
    agree(wire, request=requests[-1])
    assert shown_models(wire) == ["small"]


def test_a_failure_that_passes_as_the_agent_reports_it_is_followed_by_the_former_model() -> None:
    air = {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}
    wire = agree(limited({"_meta": air}))
    record = {"id": "f", "revision": 1, "category": "limit", "severity": "error", "actions": []}
    answer = result()
    record["title"] = "Rate limit reached. Try again in 20s."
    answer["result"]["_meta"] = {"jetbrains": {"air": {"version": 1, "sessionFailure": record}}}
    wire.agent(chunk("One moment."), answer)
    assert (wire.answers(1), sent(wire)[-1]) == ([answer], "=big")


def test_the_users_cancel_ends_the_switch_and_the_former_model_comes_back() -> None:
    wire = limited()
    switch = own(wire)
    wire.client(cancel())
    assert (stop_reason(wire), sent(wire)) == ("cancelled", ["hi", "=small", "=big"])
    agree(wire, request=switch)
    agree(wire)
    assert (sent(wire), shown_models(wire)) == (["hi", "=small", "=big"], ["small", "big"])


def test_another_prompt_ends_the_switch_and_waits_until_the_former_model_is_back() -> None:
    wire = limited()
    switch = own(wire)
    wire.client(prompt(2, text="Something else."))
    assert stop_reason(wire) == "cancelled"
    agree(wire, request=switch)
    assert sent(wire) == ["hi", "=small", "=big"]
    agree(wire)
    assert sent(wire)[-1] == "Something else."


def test_the_next_prompt_is_sent_though_the_former_model_cannot_be_restored() -> None:
    wire = agree(limited(NOTICES)).agent(chunk("Done."), result()).client(prompt(2, text="Next."))
    refuse(wire)
    assert sent(wire)[-1] == "Next."
    assert wire.updates()[-1]["title"] == (
        "The agent does not go back to the model big. The session has another one."
    )
    assert switches(wire)[-1] == {
        "outcome": "not_restored",
        "from_model": "small",
        "to_model": "big",
    }
    assert shown_models(wire) == ["small"]


def test_a_waiting_next_prompt_can_be_cancelled() -> None:
    wire = agree(limited())
    wire.agent(chunk("Done."), result()).client(prompt(2, text="Next."), cancel())
    agree(wire)
    assert stop_reason(wire, 2) == "cancelled"
    assert "Next." not in sent(wire)


def test_overlapping_turns_share_the_model_until_the_last_one_ends() -> None:
    wire = agree(limited()).client(prompt(2, text="And this.")).agent(chunk("Both."), result())
    assert sent(wire)[-1] == "And this."
    wire.agent(result(2))
    assert sent(wire)[-1] == "=big"


def test_a_turn_that_stays_keeps_the_model_for_the_next_one() -> None:
    wire = agree(limited(NOTICES, fallback_stays=True))
    assert "Continuing with small." in str(wire.updates()[-1])
    wire.agent(chunk("Done."), result()).client(prompt(2, text="Next."))
    assert sent(wire) == ["hi", "=small", "hi", "Next."]
    wire.agent(error(2, message=LIMITED))
    assert sent(wire)[-1] == "=tiny"


def test_a_model_that_the_user_chose_by_the_older_request_stays() -> None:
    wire = agree(limited(offer=OLD_OFFER), lists=False)
    wire.client(request("c", SET_MODEL, sessionId="s", modelId="tiny"))
    wire.agent(reply("c"), chunk("Done."), result())
    assert sent(wire) == ["hi", "=small", "hi", "=tiny"]
    wire.client(prompt(2)).agent(error(2, message=LIMITED))
    assert sent(wire)[-1] == "=small"
    agree(wire, lists=False).agent(chunk("Done."), result(2))
    assert sent(wire)[-1] == "=tiny"


@pytest.mark.parametrize("accepts", [True, False])
def test_a_choice_of_the_users_within_the_switch_ends_the_fallback(*, accepts: bool) -> None:
    wire = limited(NOTICES)
    switch = own(wire)
    wire.client(request("c", SET_OPTION, sessionId="s", configId="m", value="tiny"))
    if not accepts:
        wire.agent(error(switch["id"])).time(wire.now)
        assert failure(wire)["type"] == "rate_limit"
        assert sent(wire) == ["hi", "=small", "=tiny"]
        return
    agree(wire, request=switch)
    assert "Continuing with the model that you chose." in str(wire.updates()[-1])
    wire.agent(reply("c", configOptions=options("tiny")), chunk("Done."), result())
    assert sent(wire) == ["hi", "=small", "=tiny", "hi"]


def choose(wire: Wire, model: str = "tiny", request_id: str = "c") -> Wire:
    """The user chooses a model."""
    return wire.client(request(request_id, SET_OPTION, sessionId="s", configId="m", value=model))


def chosen(wire: Wire, model: str = "tiny", request_id: str = "c") -> Wire:
    """The agent accepts it."""
    listed = {"configOptions": options(model)}
    return wire.agent({"jsonrpc": "2.0", "id": request_id, "result": listed})


STEPS: dict[str, Callable[[Wire], Wire]] = {
    "fails": lambda wire: wire.agent(error(message=LIMITED)),
    "switched": agree,
    "ends": lambda wire: wire.agent(chunk("Done."), result()),
    "chooses": choose,
    "accepted": chosen,
    "refused": lambda wire: wire.agent(error("c")),
    "chooses another": lambda wire: choose(wire, "small", "b"),
    "another accepted": lambda wire: chosen(wire, "small", "b"),
}


@every(
    ("steps", "at_last"),
    [
        ("chooses, accepted, fails, switched, ends", "=tiny"),
        ("chooses, fails, accepted, switched, ends", "=tiny"),
        ("chooses, fails, switched, accepted, ends", "=tiny"),
        ("chooses, fails, switched, ends, accepted", "=tiny"),
        ("fails, chooses, switched, accepted, ends", "=tiny"),
        ("fails, switched, chooses, accepted, ends", "=tiny"),
        ("fails, switched, chooses, ends, accepted", "=tiny"),
        ("chooses another, fails, switched, chooses, another accepted, accepted, ends", "=tiny"),
        ("chooses, fails, refused, switched, ends", "=big"),
        ("chooses, fails, switched, ends, refused", "=big"),
        ("fails, switched, chooses, refused, ends", "=big"),
        ("fails, switched, chooses, ends, refused", "=big"),
    ],
)
def test_the_users_choice_outlasts_the_fallback_whenever_it_was_made(
    steps: str, at_last: str
) -> None:
    wire = linked()
    for step in steps.split(", "):
        STEPS[step](wire)
    models = [each for each in sent(wire) if each.startswith("=")]
    assert (models[-1], "=big" in models) == (at_last, at_last == "=big"), steps


def test_a_permanent_fallback_gives_way_to_the_users_choice() -> None:
    wire = choose(linked(fallback_stays=True)).agent(error(message=LIMITED))
    agree(chosen(wire)).agent(chunk("Done."), result())
    assert sent(wire) == ["hi", "=tiny", "=small", "hi", "=tiny"]


def test_another_option_of_the_users_does_not_keep_the_fallback_model() -> None:
    wire = agree(limited())
    params = {"sessionId": "s", "configId": "mode", "value": "plan"}
    wire.client(request("c", SET_OPTION, **params))
    wire.agent(reply("c", configOptions=options("small")))
    wire.client(
        {"jsonrpc": "2.0", "id": "d", "method": SET_OPTION, "params": params | {"sessionId": "no"}}
    )
    wire.agent(reply("d"), chunk("Done."), result())
    assert sent(wire)[-1] == "=big"


def test_an_agent_that_shows_the_switch_itself_is_not_repeated() -> None:
    wire = limited()
    wire.agent(update(sessionUpdate="config_option_update", configOptions=options("small")))
    agree(wire)
    assert (shown_models(wire), switches(wire)[-1]["from_model"]) == (["small"], "big")


def test_options_that_change_with_the_model_are_shown_with_it() -> None:
    wire = limited()
    effort = {"id": "effort", "type": "select", "currentValue": "low", "options": []}
    listed = options("small", effort)
    wire.agent(reply(own(wire)["id"], configOptions=listed))
    assert [each for each in wire.updates() if "configOptions" in each] == [
        {"sessionUpdate": "config_option_update", "configOptions": listed}
    ]


def test_a_current_model_that_the_agent_reports_is_the_one_that_comes_back() -> None:
    wire = linked(offer=OLD_OFFER)
    wire.agent(update(sessionUpdate="current_model_update", currentModelId="tiny"))
    wire.agent(error(message=LIMITED))
    assert sent(wire)[-1] == "=small"
    agree(wire, lists=False).agent(chunk("Done."), result())
    assert sent(wire)[-1] == "=tiny"


def test_an_unknown_current_model_is_not_restored() -> None:
    wire = linked(NOTICES, offer={"models": {"availableModels": [{"modelId": "small"}, "?", {}]}})
    wire.agent(error(message=LIMITED))
    agree(wire, lists=False)
    assert "Continuing with small." in str(wire.updates()[-1])
    wire.agent(chunk("Done."), result())
    assert sent(wire) == ["hi", "=small", "hi"]


@pytest.mark.parametrize("rest", ["on-crash", "never"])
def test_a_crash_within_the_switch_ends_the_turn_with_its_failure(rest: str) -> None:
    wire = linked(restart=rest).client(request("o", "session/load"))
    wire.agent(error(message=LIMITED)).eof(Side.AGENT)
    assert (failure(wire)["type"], sent(wire)) == ("rate_limit", ["hi", "=small"])


def test_a_switch_is_told_in_a_notice_in_a_retrys_message_or_in_a_thought() -> None:
    wire = agree(limited(NOTICES))
    notice = wire.updates()[-1]
    assert notice["sessionUpdate"] == "notice"
    assert notice["title"].endswith(" Continuing with small; the next turn has big again.")
    announced = agree(limited(RETRIES)).updates()[-1]
    assert (announced["sessionUpdate"], announced["attempt"]) == ("agent_retry", 2)
    assert "Continuing with small" in announced["error"]["message"]
    assert "wait_seconds" not in announced
    for show, count in (("auto", 1), ("off", 0)):
        wire = agree(limited(show_retries=show, offer=OLD_OFFER), lists=False)
        assert len(thoughts(wire)) == count, "for a client without either"


def test_a_model_with_brackets_in_its_name_is_switched_to_and_named_without() -> None:
    available = [{"modelId": "gpt[low]"}, {"modelId": "big"}]
    offer = {"models": {"currentModelId": "big", "availableModels": available}}
    wire = limited(NOTICES, offer=offer, fallback_model="gpt[low]")
    assert sent(wire)[-1] == "=gpt[low]"
    agree(wire, lists=False)
    assert "Continuing with gpt(low)" in wire.updates()[-1]["title"]


@pytest.mark.parametrize(
    ("offer", "sentence", "outcome"),
    [
        (
            OFFER,
            "The agent does not offer the model none: --fallback-model skips it.",
            "not_offered",
        ),
        (
            {},
            "The agent offers no choice of models, so --fallback-model has no effect.",
            "no_models",
        ),
    ],
)
def test_a_session_that_lacks_a_model_says_so_when_it_opens(
    offer: dict[str, Any], sentence: str, outcome: str
) -> None:
    wire = linked(NOTICES, offer=offer, fallback_model="small,none")
    assert [each["title"] for each in wire.updates()] == [sentence]
    assert [each["outcome"] for each in switches(wire)] == [outcome]
    methods = [json.loads(frame).get("method", "answer") for frame in wire.to_client]
    assert methods == ["answer", "answer", "session/update"], "after the session's own answer"


def test_a_session_that_was_never_opened_here_has_no_models() -> None:
    wire = linked().client(prompt(2, "elsewhere")).agent(error(2, message=LIMITED))
    assert len(wire.answers(2)) == 1


def test_an_answer_for_a_session_that_was_closed_changes_nothing() -> None:
    wire = agree(limited()).agent(chunk("Done."), result())
    wire.client(request("x", "session/close", sessionId="s")).agent(reply("x"))
    before = len(wire.to_client)
    agree(wire)
    assert len(wire.to_client) == before


def test_request_ids_of_two_runs_differ() -> None:
    requests = []
    for run in ("a-", "b-"):
        wire = limited(incident_prefix=run)
        requests.append(own(wire)["id"])
    assert requests == ["lastword:a-model:1", "lastword:b-model:1"]


def test_an_ignored_cancel_delays_the_next_prompt_until_both_answers() -> None:
    wire = agree(limited(cancel_grace_seconds=5.0))
    wire.agent(chunk("On and on.")).client(cancel()).time(6)
    assert (stop_reason(wire), sent(wire)[-1]) == ("cancelled", "=big")
    wire.client(prompt(2, text="Next.")).agent(result(1, "cancelled"))
    assert "Next." not in sent(wire)
    agree(wire)
    assert sent(wire)[-1] == "Next."


def test_the_former_model_may_be_restored_before_the_agent_ends_the_turn() -> None:
    wire = agree(limited(cancel_grace_seconds=5.0))
    wire.client(cancel()).time(6).client(prompt(2, text="Next."))
    agree(wire)
    assert "Next." not in sent(wire)
    wire.agent(result(1, "cancelled"))
    assert sent(wire)[-1] == "Next."


def test_a_suspended_machine_does_not_use_up_the_switchs_time() -> None:
    wire = limited(fallback_model="small")
    wire.core.stand_still(100)
    wire.time(SWITCH_LIMIT_SECONDS + 50)
    assert wire.answers(1) == []
    wire.time(SWITCH_LIMIT_SECONDS + 101)
    wire.core.stand_still(100)
    assert len(wire.answers(1)) == 1


def test_a_turn_fails_if_the_process_has_no_retries_left() -> None:
    wire = limited(retry_bucket=RetryBucket(0))
    assert len(wire.answers(1)) == 1
    (entry,) = [each for each in wire.entries if each.kind is Kind.ERROR]
    assert entry.facts["retry_refused"] is True
