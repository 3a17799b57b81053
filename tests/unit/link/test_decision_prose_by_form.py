"""A message that is an error by its form: a failure where the turn speaks for it as well."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.honest_answers import equal_answers, honest_answers
from tests.kit.wire import Wire, chunk, failure, greeted, prompt, result, update
from tests.unit.link.test_hints import RESET, STDERR, TOOL, hint

TOLD = (
    "Error: 401 Incorrect API key provided: sk-abc***. Check it at https://platform.openai.com/keys"
)
BARE = "401 Unauthorized"
THOUGHT = update(
    sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "Let me see."}
)


def asked(text: str = "Add a dark mode.", name: str = "an-agent-of-ours") -> Wire:
    """A prompt under way at an agent that no table knows."""
    return greeted(name=name).client(prompt(text=text))


def ended(wire: Wire, stop_reason: str = "end_turn", **members: Any) -> bool:
    """The turn ends so: has it failed?"""
    answer = {"stopReason": stop_reason, **members}
    wire.agent({"jsonrpc": "2.0", "id": 1, "result": answer}).time(wire.now + 1)
    return "error" in wire.answers()[0]


@pytest.mark.parametrize(
    ("message", "phase"),
    [
        ("Internal error: Invalid API key · Fix external API key", "before_output"),
        ("Invalid API key · Fix external API key", "before_output"),
        ("Internal error: It failed. Invalid API key · Fix external API key", "mid_output"),
        ("Internal error: 401 from the model provider", "mid_output"),
    ],
)
def test_a_message_that_the_error_repeats_is_not_output(message: str, phase: str) -> None:
    wire = asked().agent(chunk("Invalid API key · Fix external API key"))
    wire.agent({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": message}})
    assert failure(wire)["phase"] == phase


def test_an_error_that_is_all_that_was_shown_is_one_of_any_agent() -> None:
    wire = asked().agent(chunk(TOLD))
    assert ended(wire)
    told = failure(wire)
    assert (told["type"], told["reason"], told["phase"]) == (
        "auth",
        "silent_success",
        "before_output",
    )


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("500 synthetic provider failure: always-500 loopback fixture\nsynthetic", True),
        ("503 provider error: all packages are used up", True),
        ("500 synthetic failure in a fixture of the provider", False),
        ("500 fixture of a provider failure: it is synthetic", False),
        ("500 payment provider error: the model request failed", False),
    ],
)
def test_a_providers_failure_is_not_mistaken_for_another_programs(text: str, fails: bool) -> None:
    assert ended(asked().agent(chunk(text))) is fails


@pytest.mark.parametrize("before", [update(**TOOL), THOUGHT, chunk("It goes well.")])
def test_earlier_output_in_the_turn_speaks_against_it(before: dict[str, Any]) -> None:
    wire = asked().agent(before, chunk(TOLD))
    assert not ended(wire)


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("Add a dark mode. " * 2000, True),
        ("Why does my curl fail?", False),
        ("Say the error. " + "Add a dark mode. " * 2000, False),
        ("Add a dark mode. " * 2000 + "Why 401?", False),
    ],
    ids=["long, of other things", "short", "at its beginning", "at its end"],
)
def test_a_prompt_about_errors_may_have_asked_for_one(text: str, *, fails: bool) -> None:
    assert ended(asked(text).agent(chunk(TOLD))) is fails
    later = asked(text).agent(chunk("It is on its way."), result())
    later.client(prompt(2, text="Now")).agent(chunk(TOLD), result(2)).time(1)
    assert ("error" in later.answers(2)[0]) is fails, "an earlier prompt counts, too"


def test_text_without_output_tokens_is_not_an_answer_from_an_agent_that_counts_them() -> None:
    words, uncounted = "The bridge has gone home.", {"usage": {"outputTokens": 0}}
    assert not ended(asked().agent(chunk(words)), **uncounted)
    counted = asked().agent(chunk("Done."))
    assert not ended(counted, usage={"outputTokens": 7})
    answer = {"stopReason": "end_turn", **uncounted}
    for number, text in ((2, "Go on."), (3, "/status")):
        counted.client(prompt(number, text=text)).agent(chunk(words))
        counted.agent({"jsonrpc": "2.0", "id": number, "result": answer}).time(counted.now + 1)
    assert "error" in counted.answers(2)[0]
    assert "error" not in counted.answers(3)[0]


@pytest.mark.parametrize("command", ["/usage", "/login"])
def test_a_command_of_the_agents_own_may_show_an_errors_words(command: str) -> None:
    assert not ended(asked(command).agent(chunk("You have hit your usage limit.")))


@pytest.mark.parametrize(("tokens", "fails"), [(0, True), (12, False), (None, True)])
def test_output_tokens_of_the_model_speak_against_an_error(tokens: int | None, fails: bool) -> None:
    wire = asked().agent(chunk(TOLD))
    usage = {} if tokens is None else {"usage": {"outputTokens": tokens, "inputTokens": 7}}
    assert ended(wire, **usage) is fails


def test_a_refusal_with_an_errors_text_is_that_error_and_any_other_a_refusal() -> None:
    wire = asked("Why does my curl fail?").agent(chunk(BARE))
    assert ended(wire, "refusal")
    assert failure(wire)["type"] == "auth"
    wire = asked().agent(chunk("I will not help with that."), result(1, "refusal"))
    assert wire.answers() == [result(1, "refusal")]


def test_a_bare_form_of_an_error_needs_support_from_its_turn() -> None:
    wire = asked().agent(chunk(BARE))
    assert not ended(wire)
    wire = asked().agent(update(**TOOL))
    hint(wire, RESET, STDERR).agent(chunk(BARE))
    assert ended(wire)
    assert failure(wire)["type"] == "auth"


def passes(answer: str, question: str, name: str) -> bool:
    """Is this only message of a turn taken for the answer that it is?"""
    wire = asked(question, name).agent(chunk(answer), result())
    wire.time(wire.now + 1)
    return wire.answers() == [result()]


AGENTS = ("an-agent-of-ours", "codex-acp", "claude-code-acp")


@pytest.mark.no_cover
@pytest.mark.parametrize("name", AGENTS)
def test_a_thousand_honest_answers_that_speak_of_errors_pass(name: str) -> None:
    answers = honest_answers()
    assert len(answers) >= 1000
    # Each from one agent; from every agent: tests/contract/test_failures.py.
    for question, answer in answers[AGENTS.index(name) :: len(AGENTS)]:
        assert passes(answer, question, name), answer


def test_a_requested_error_text_is_the_answer() -> None:
    for question, answer in equal_answers():
        assert passes(answer, question, "an-agent-of-ours"), answer


def test_the_same_text_without_a_request_for_it_is_the_error_of_a_model_call() -> None:
    answers = {answer for _, answer in equal_answers()}
    passing = {a for a in answers if passes(a, "Add a dark mode.", "an-agent-of-ours")}
    # Any program may have failed so.
    assert passing == {
        "Error: connect ECONNREFUSED 127.0.0.1:5432",
        "ECONNREFUSED 127.0.0.1:5432: nothing listens there. Start Postgres and try again.",
        "HTTPError: 404 Client Error: Not Found for url: https://example.com/",
    }


@pytest.mark.parametrize(
    ("text", "state", "fails"),
    [
        ("The model `m` does not exist or you do not have access to it.", "systemError", True),
        ("The model `m` does not exist or you do not have access to it.", "active", False),
        ("The model is a good one.", "systemError", False),
        (
            "I've fixed it.\n\nThe model `m` does not exist means that it is gone.",
            "systemError",
            False,
        ),
    ],
)
def test_a_state_of_failure_and_a_text_that_names_one_agree(
    text: str, state: str, fails: bool
) -> None:
    wire = asked()
    meta = {"x": {"threadStatus": {"type": state}}}
    wire.agent(update(sessionUpdate="session_info_update", _meta=meta), chunk(text))
    assert ended(wire) is fails
    assert not fails or failure(wire)["type"] == "model_not_found"
