"""Evidence by its attribution: what each level may do, as a product of levels and outcomes."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lastword.core.classify import classify
from lastword.core.classify.writers import attribution_of, read_own, records, without_foreign
from lastword.core.failure.taxonomy import EFFECTS, Attribution
from lastword.core.link.evidence import TOOL_TAIL_SECONDS, HintSource
from tests.kit.rows import every
from tests.kit.wire import Wire, chunk, error, failure, prompt, reply, request, result, retries
from tests.unit.link.test_hints import begun, hint

FOREIGN, WEAK, STRONG, PROVEN = Attribution
LEVELS = list(Attribution)

MODEL_CALL = b"API Error: 429 Too Many Requests\n"
WORDS = b"ERROR 429 Too Many Requests\n"
OTHERS = b"npm error 429 Too Many Requests - GET https://packages.example.org/left-pad\n"


def test_every_level_has_its_row() -> None:
    assert (set(EFFECTS), EFFECTS[FOREIGN]) == (set(Attribution), (False,) * 5)
    for lower, higher in pairwise(LEVELS):
        pairs = zip(EFFECTS[lower], EFFECTS[higher], strict=True)
        assert all(may <= may_as_well for may, may_as_well in pairs)


@pytest.mark.parametrize(
    ("level", "at_once", "after_a_second"),
    [(FOREIGN, 0, 0), (WEAK, 0, 0), (STRONG, 0, 1), (PROVEN, 1, 1)],
)
def test_a_retry_is_reported_at_once_after_a_silence_or_never(
    level: Attribution, at_once: int, after_a_second: int
) -> None:
    wire = hint(begun(), attribution=level, attempt=2)
    assert len(retries(wire)) == at_once
    wire.time(wire.now + 1.0)
    assert len(retries(wire)) == after_a_second


def test_a_second_sign_reports_a_retry_without_a_silence_and_output_withdraws_it() -> None:
    wire = hint(begun(), attribution=STRONG, attempt=2)
    wire.now += 0.5
    hint(wire, attribution=STRONG, attempt=3)
    assert retries(wire) == [(2, "rate_limit"), (3, "rate_limit")]
    wire = hint(begun(), attribution=STRONG, attempt=2).agent(chunk("Here it is.")).time(10)
    assert retries(wire) == [], "output withdraws one that is not confirmed"


@pytest.mark.parametrize("level", LEVELS)
def test_only_evidence_attributed_to_the_call_names_the_cause_of_a_failed_turn(
    level: Attribution,
) -> None:
    named = level in {STRONG, PROVEN}
    failed = failure(hint(begun(), attribution=level).agent(error()))
    assert (failed["type"] == "rate_limit") is named
    assert failed["retryable"] is named
    again = hint(begun(retry=2), attribution=level).agent(error())
    assert (again.answers() == []) is named, "only then is the prompt sent again"
    silent = hint(begun(), attribution=level).agent(result()).time(1)
    assert (failure(silent)["type"] == "rate_limit") is named, "a success without output"
    refused = begun(expects=True).agent(result(1, "refusal"))
    assert refused.answers() == [], "it waits for what a source says"
    hint(refused, attribution=level, goes_on=False).time(1)
    assert ("error" in refused.answers()[0]) is named


@every(
    ("level", "before", "told", "fails"),
    [
        (PROVEN, 0.2, {}, True),
        (PROVEN, 5.0, {}, True),
        (PROVEN, 0.2, {"may_go_on": True}, False),
        (STRONG, 0.2, {}, True),
        (STRONG, 0.2, {"goes_on": False}, True),
        (STRONG, 1.5, {}, False),
        (STRONG, 0.2, {"may_go_on": True}, False),
        (STRONG, 0.2, {"goes_on": True}, False),
        (WEAK, 0.2, {}, False),
        (FOREIGN, 0.2, {}, False),
    ],
)
def test_an_answer_breaks_off_at_a_proven_failure_or_at_a_strong_one_just_before_its_end(
    level: Attribution, before: float, told: dict[str, Any], fails: bool
) -> None:
    wire = begun().agent(chunk("It is"))
    wire.now += 10.0
    hint(wire, source=HintSource.LOG, attribution=level, **({"goes_on": None} | told))
    wire.now += before
    wire.agent(result())
    assert ("error" in wire.answers()[0]) is fails


TOOL_ENDED = {"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "read"}


@every("stop_reason", ["end_turn", "refusal"])
@every("expects", [False, True])
@every(
    ("events", "type_"),
    [
        (["It is", 0.1, MODEL_CALL, 0.2], "rate_limit"),
        (["It is", 1.0, MODEL_CALL, 0.05, b"INFO the turn is over\n", 0.05], "rate_limit"),
        (["It is", MODEL_CALL], "rate_limit"),
        (["It is", 0.1, MODEL_CALL, 0.1, MODEL_CALL, 0.7], "rate_limit"),
        (["It is", 0.1, MODEL_CALL, 1.5], None),
        (["It is", 0.1, MODEL_CALL, 0.1, " 42."], None),
        (["It is", 0.1, MODEL_CALL, 0.5, " 42.", 0.1, b"ERROR in a log\n", 0.1], None),
        (["It is", 0.1, MODEL_CALL, 0.5, b"INFO it went well\n", " 42."], None),
        (["It is", 0.1, b"WARN " + MODEL_CALL, 0.2], None),
        (["It is", 0.1, b"API Error: 429 Too Many Requests, retrying\n", 0.2], None),
        (["It is", 0.1, OTHERS, 0.2], None),
        (["It is", 0.1, WORDS, 0.2], None),
        (["It is", 0.1, TOOL_ENDED | {"status": "in_progress"}, MODEL_CALL, 0.1], None),
        ([MODEL_CALL, 0.1, "It is 42."], None),
        ([0.1], None),
    ],
)
def test_an_answer_that_breaks_off_fails_with_stderr_since_its_last_output(
    events: list[Any], type_: str | None, expects: bool, stop_reason: str
) -> None:
    wire = begun(expects=expects).agent(chunk("Well."))
    for event in events:
        if isinstance(event, float):
            wire.time(wire.now + event)
        elif isinstance(event, bytes):
            wire.stderr(event)
        else:
            wire.agent(chunk(event) if isinstance(event, str) else _update(event))
    wire.agent(result(1, stop_reason)).carry_out(wire.core.looked(wire.now))
    wire.time(wire.now + 0.25)
    (answer,) = wire.answers()
    if type_ is None:
        assert answer == result(1, stop_reason)
        assert wire.entries[-1].facts["stop_reason"] == stop_reason
    else:
        assert (failure(wire)["type"], failure(wire)["phase"]) == (type_, "mid_output")


def test_an_answer_waits_only_for_one_look() -> None:
    wire = begun(expects=True).agent(chunk("It is 42."), result())
    (turn,) = wire.core.silent_turns(wire.now, 0.0)
    assert (turn.answered, turn.unread, wire.answers()) == (True, False, [])
    assert wire.core.next_timeout() == wire.now
    wire.carry_out(wire.core.looked(wire.now))
    assert wire.answers() == [result()]
    wire = begun(expects=True).agent(chunk("It is")).stderr(MODEL_CALL)
    (turn,) = wire.core.silent_turns(wire.now, 0.0)
    assert (turn.answered, turn.unread) == (False, False)
    wire.agent(result())
    (turn,) = wire.core.silent_turns(wire.now, 0.0)
    assert (turn.answered, turn.unread) == (True, True)
    wire.agent(chunk(" 42."))
    assert [json.loads(line).get("id") for line in wire.to_client[-2:]] == [1, None]
    assert begun().agent(chunk("It is 42."), result()).answers() == [result()], "no sources"
    wire = begun(sessions=(), expects=True).client(prompt(text="/status"))
    wire.agent(chunk("Connected.")).stderr(MODEL_CALL).agent(result())
    assert wire.answers() == [result()], "a command"


@pytest.mark.parametrize(
    ("line", "kind", "quoted"),
    [(MODEL_CALL, "rate_limit", False), (WORDS, "unknown", True), (OTHERS, "unknown", False)],
)
def test_stderr_names_the_cause_or_is_quoted_or_neither(
    line: bytes, kind: str, quoted: bool
) -> None:
    wire = begun().stderr(line).agent(error())
    failed = failure(wire)
    assert failed["type"] == kind
    assert ("On stderr at that time" in str(failed.get("detail"))) is quoted


@pytest.mark.parametrize(
    ("head", "quoted"),
    [
        ("2026-11-29 02:09:54 INFO agent.llm: the prompt:", False),
        ("[DEBUG] the prompt:", False),
        ("2026-11-29 02:09:54 ERROR agent.loop: it stopped:", True),
    ],
)
def test_a_prompt_that_an_agent_logs_is_not_quoted(head: str, quoted: bool) -> None:
    wire = begun().stderr(f"{head}\n    - If a tool fails with an error, say so.\n".encode())
    assert ("If a tool fails" in str(failure(wire.agent(error())).get("detail"))) is quoted


@pytest.mark.parametrize("after", [False, True], ids=["while it runs", "after it"])
def test_stderr_while_a_tool_runs_belongs_to_the_tool(after: bool) -> None:
    wire = begun()
    call: dict[str, Any] = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Run"}
    wire.agent(_update(call | {"status": "in_progress"}))
    if after:
        wire.agent(_update(call | {"sessionUpdate": "tool_call_update", "status": "completed"}))
        wire.now += TOOL_TAIL_SECONDS
    wire.stderr(MODEL_CALL).agent(error())
    assert (failure(wire)["type"] == "rate_limit") is after


def _update(members: dict[str, Any]) -> dict[str, Any]:
    params = {"sessionId": "s", "update": members}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def test_colours_do_not_hide_a_lines_writer() -> None:
    text = "\x1b[31mepoch\x1b[0m 3: model call failed: out of memory"
    assert read_own(text, source="stderr") is None
    assert without_foreign(text) == ""


def test_stderr_of_several_turns_is_attributed_to_none() -> None:
    wire = begun(sessions=("s", "other")).stderr(MODEL_CALL).agent(error())
    assert failure(wire)["type"] == "unknown"


def test_stderr_from_before_the_turn_is_never_its_cause() -> None:
    wire = Wire().stderr(MODEL_CALL).client(prompt()).agent(error())
    assert failure(wire)["type"] == "unknown"


RECORDS = [
    json.loads(line)
    for line in Path(__file__).with_name("records.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Lines of stderr and of logs, some as one agent has them by its own name, with their level."""


@every(
    ("agent", "record", "level"),
    [
        (each.get("agent", ""), each["record"], Attribution[each["level"].upper()])
        for each in RECORDS
    ],
)
def test_a_record_is_attributed_by_its_form_its_writer_its_hosts_and_its_agents_name(
    agent: str, record: str, level: Attribution
) -> None:
    assert attribution_of(record, agent) is level


STACKS = {
    "python": (
        'Traceback (most recent call last):\n  File "{}", line 3, in main\n'
        '  File "/usr/lib/python3/site-packages/openai/_base_client.py", line 9, in request\n'
        "openai.RateLimitError: Error code: 429 - {{'error': {{'message': 'Slow down'}}}}\n"
    ),
    "node": (
        "RateLimitError: 429 Too Many Requests\n"
        "    at APIError.generate (file:///usr/lib/node_modules/openai/core/error.mjs:62:20)\n"
        "    at async main (file://{}:3:4)\n"
    ),
}


@every(
    ("stack", "path", "folder", "kind"),
    [
        (stack, path, folder, kind)
        for stack in STACKS.values()
        for path, folder, kind in [
            ("/repo/scripts/summarise.x", "/repo", "unknown"),
            ("/repo/node_modules/openai/index.x", "/repo/", "unknown"),
            ("/repo/.venv/lib/openai/client.x", "/repo", "unknown"),
            ("/opt/agent/main.x", "/repo", "rate_limit"),
            ("/repository/agent/main.x", "/repo", "rate_limit"),
            ("/home/user/.nvm/agent/main.x", "/home/user", "rate_limit"),
            ("/repo/main.x", "/", "rate_limit"),
            ("/repo/main.x", None, "rate_limit"),
        ]
    ],
)
@pytest.mark.parametrize("silent", [False, True], ids=["an error", "a silent success"])
def test_a_stack_with_a_frame_in_the_sessions_folder_is_the_users_program(
    silent: bool, stack: str, path: str, folder: str | None, kind: str
) -> None:
    wire = Wire(retry=2).client(request(7, "session/new", cwd=folder, mcpServers=[]))
    wire.agent(reply(7, sessionId="s")).client(prompt()).stderr(stack.format(path).encode())
    wire.agent(result() if silent else error()).time(wire.now + 1)
    again = not wire.answers()
    assert again is (kind == "rate_limit")
    assert again or failure(wire)["type"] == "unknown"


def test_lines_that_continue_one_another_are_one_record() -> None:
    text = (
        "INFO begins\n"
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3/site-packages/openai/_client.py", line 1, in post\n'
        "openai.APIConnectionError: Connection error.\n"
        "\n"
        "During handling of the above exception, another exception occurred:\n"
        "\n"
        "Traceback (most recent call last):\n"
        '  File "agent.py", line 3, in turn\n'
        "AgentError: it failed\n"
        "Error: request failed\n"
        "    at post (client.js:1:2) {\n"
        "  status: 429\n"
        "}\n"
        "INFO ends\n"
    )
    first, traceback, node, last = records(text)
    assert (first, last) == ("INFO begins", "INFO ends")
    assert traceback.count("Traceback") == 2
    assert node.endswith("status: 429\n}")


@every(
    ("first", "second", "lines"),
    [
        ("the account balance is", "exhausted: 402", 2),
        ("x" * 77, "and: 402", 2),
        ("x" * 77, "Then it ends", 2),
        ("x" * 77, "error: 402", 2),
        ("x" * 77, "    at main", 1),
        ("x" * 77, "\nand then", 2),
        ("and-then-it-is-a-word-of-more-than-eighty-characters-" * 2, "The end", 2),
        ("x" * 81, "exhausted, 402", 2),
        ("x" * 60, "exhausted, 402", 2),
        ("x" * 77, "exhausted, 402", 1),
    ],
)
def test_a_line_that_was_wrapped_is_one_record(first: str, second: str, lines: int) -> None:
    assert len(list(records(f"{first}\n{second}\n"))) == lines


@pytest.mark.parametrize("indent", ["", " " * 20], ids=["flush", "hanging"])
def test_a_sentence_over_three_lines_is_read_as_a_whole(indent: str) -> None:
    text = (
        "ERROR model provider returned 429 Too Many Requests, the account has an\n"
        f"{indent}insufficient balance in it, which is to say that in the present case it does\n"
        f"{indent}not suffice: please recharge\n"
    )
    verdict = read_own(text, source="stderr")
    assert verdict is not None
    assert verdict.type.value == "budget"


def test_the_lines_of_a_crashing_program_are_one_record() -> None:
    text = (
        "node:internal/process/promises:394\n"
        "      triggerUncaughtException(err, true);\n"
        "      ^\n"
        "\n"
        "AuthenticationError: 401 Incorrect API key provided: x\n"
        "    at APIError.generate (/opt/node_modules/openai/error.js:1:2)\n"
    )
    assert len(list(records(text))) == 1
    assert read_own(text, source="stderr") is None


def test_the_last_record_of_a_model_call_counts() -> None:
    text = "API Error: 401 Unauthorized\nAPI Error: 429 Too Many Requests\nnpm error 503\n"
    verdict = read_own(text, source="stderr")
    assert verdict is not None
    assert (verdict.type.value, verdict.rule[:7]) == ("rate_limit", "stderr:")
    text = "API Error: 429 Too Many Requests\nmodel provider error: it is odd\n"
    verdict = read_own(text, source="stderr")
    assert verdict is not None
    assert verdict.type.value == "rate_limit"
    assert read_own("INFO API call number 7 is under way\n", source="stderr") is None


def test_stderr_and_text_that_arrive_together_are_two_signs() -> None:
    wire = begun()
    wire.stderr(b"[ERROR] Error code: 402 - {'error': {'message': 'Insufficient credits'}}\n")
    wire.agent(chunk("Error: 402 Insufficient credits"), result()).time(wire.now + 1)
    failed = failure(wire)
    assert (failed["type"], failed["phase"]) == ("budget", "before_output")


def test_stderr_that_comes_just_after_the_answer_is_the_second_sign() -> None:
    wire = begun().agent(chunk("402 Payment Required"), result())
    assert wire.answers() == []
    wire.stderr(b"[ERROR] Error code: 402 - {'error': {'message': 'Insufficient credits'}}\n")
    wire.time(wire.now + 1)
    assert failure(wire)["type"] == "budget"


def test_the_last_piece_after_retries_in_words_is_the_error() -> None:
    wire = begun("newcomer")
    for _ in range(3):
        wire.agent(chunk("Info: Request failed due to a transient API error. Retrying..."))
        wire.now += 2
    wire.agent(chunk("Error: Failed to get response from the AI model. Last error: HTTP 502"))
    wire.agent(result()).time(wire.now + 1)
    assert failure(wire)["type"] == "provider_unavailable"


@pytest.mark.parametrize("log", ["{}", "WARN llm request failed: {}", "{} provider=x attempt=2"])
def test_text_that_repeats_the_failed_call_word_for_word_is_that_failure(log: str) -> None:
    words = "The answer of the model ended in the middle of a word."
    wire = hint(begun("newcomer"), classify(log.format(words)), goes_on=True, attempt=2)
    wire.agent(chunk(words), result()).time(wire.now + 1)
    assert "error" in wire.answers()[0]


@pytest.mark.parametrize(
    "piece",
    [
        *("openai.", "a.b.", '"error": {', "https://a.", "mcp-", "E  ", "\n", "llm::", "a|"),
        *("[1] ", "a{b}: ", "panic: ", "  at /node_modules/a/", "12:00:00 ", "provider error:"),
    ],
)
def test_hostile_text_is_read_in_linear_time(piece: str) -> None:
    # With a quadratic pattern this takes minutes.
    text = piece * (64 * 1024 // len(piece))
    assert read_own(text, source="stderr") is None
    assert attribution_of(f"429 {text}", "newcomer") is not PROVEN
