"""What is quoted of a failure: the innermost message, and nothing that the verdict contradicts."""

from __future__ import annotations

import json

import pytest

from lastword.core.classify import classify_exit, classify_text
from lastword.core.failure.signs import MAX_NESTING, innermost, stated_reset, without_retry_advice
from lastword.core.failure.taxonomy import Action
from lastword.core.failure.wording import compose


def sentence(text: str) -> str:
    return compose(classify_text(text), phase=None, retry_safety=None).message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain", "plain"),
        ('x {"error":{"message":"the end"}}', "the end"),
        ("Error code: 400 - {'error': {'message': 'it\\'s odd'}}", "it's odd"),
        ('{"message":"{\\"error\\":{\\"message\\":\\"deep\\"}}"}', "deep"),
        ('{"message":"Provider returned error","metadata":{"detail":"the cause"}}', "the cause"),
        ('{"message":"Internal error"}', "Internal error"),
        ('{"message":"first"} {"message":"second"}', "first"),
    ],
)
def test_the_message_is_quoted_and_not_the_json_around_it(text: str, said: str) -> None:
    assert innermost(text) == said


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("It broke. Please try again later.", "It broke."),
        ("It broke, please retry.", "It broke"),
        ("Please try again in a moment.", ""),
        ("Fix it and try again.", "Fix it"),
        ("The retry buffer is full", "The retry buffer is full"),
        ("Try selecting another model", "Try selecting another model"),
    ],
)
def test_advice_to_try_again_is_left_out(text: str, left: str) -> None:
    assert without_retry_advice(text) == left


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("limit \u00b7 resets 10:30pm (Europe/Berlin)", "10:30pm (Europe/Berlin)"),
        ("or try again at Sep 28th, 2026 2:14 AM.", "Sep 28th, 2026 2:14 AM"),
        ("They reset on December 1.", "December 1"),
        ("resets at 2026-02-20 01:00 UTC", "2026-02-20 01:00 UTC"),
        ("try again at 14:05", "14:05"),
        ("try again later", ""),
        ("resets 3 counters", ""),
    ],
)
def test_a_reset_is_quoted_as_the_provider_stated_it(text: str, when: str) -> None:
    assert stated_reset(text) == when


def test_a_reset_stated_only_in_words_is_shown() -> None:
    told = sentence("You've hit your session limit \u00b7 resets 10:30pm (Europe/Berlin)")
    assert told.endswith("or try again after 10:30pm (Europe/Berlin).")
    assert "after" not in sentence("the connection was closed; resets 10:30pm")


def test_a_sentence_quotes_the_innermost_message_without_its_advice() -> None:
    told = sentence('API Error: 400 {"error":{"message":"tools.1 is odd. Please try again."}}')
    assert 'It said: "tools.1 is odd".' in told
    assert "try again" not in sentence("Odd things came about, please try again.")


def test_the_search_for_a_message_stops_at_the_nesting_bound() -> None:
    told = "the bottom"
    for _ in range(MAX_NESTING + 1):
        told = json.dumps({"message": told})
    assert innermost(told) == json.dumps({"message": "the bottom"})


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("/lib/libc.so.6: version `GLIBC_2.34' not found", "made for this system."),
        ("Unsupported engine: node 16", "Node.js or Python that the agent asks for."),
        ("Cannot find module '/opt/agent/x.js'", "paths in its configuration."),
    ],
)
def test_a_program_that_cannot_run_here_has_specific_advice(words: str, advice: str) -> None:
    verdict = classify_exit(exit_code=1, stderr_tail=words)
    for restarts in (True, False):
        error = compose(verdict, phase=None, retry_safety=None, restarts=restarts)
        assert error.message.endswith(advice)
        assert error.action is Action.FIX_CONFIGURATION


def test_a_tool_server_that_failed_is_named_as_one() -> None:
    told = sentence("MCP error -32001: Request timed out")
    assert told.startswith("A tool server (MCP) that the agent uses failed.")
    assert told.endswith("Check that server in the agent's configuration.")
