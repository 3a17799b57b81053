"""Evidence by its attribution: what each level may do, as a product of levels and outcomes."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from lastword.core.classify import classify
from lastword.core.classify.writers import attribution_of, read_own, records, without_foreign
from lastword.core.failure.taxonomy import EFFECTS, Attribution
from lastword.core.link.evidence import TOOL_TAIL_SECONDS, HintSource
from tests.kit.rows import every
from tests.kit.wire import Wire, chunk, error, failure, prompt, reply, request, result
from tests.unit.link.test_hints import begun, hint, retries

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
    wire = begun()
    hint(wire, attribution=level, attempt=2)
    assert len(retries(wire)) == at_once
    wire.time(wire.now + 1.0)
    assert len(retries(wire)) == after_a_second


def test_a_second_sign_of_it_is_as_good_as_a_silence() -> None:
    wire = begun()
    hint(wire, attribution=STRONG, attempt=2)
    wire.now += 0.5
    hint(wire, attribution=STRONG, attempt=3)
    assert retries(wire) == [(2, "rate_limit"), (3, "rate_limit")]


def test_output_withdraws_what_was_not_yet_confirmed() -> None:
    wire = begun()
    hint(wire, attribution=STRONG, attempt=2).agent(chunk("Here it is.")).time(wire.now + 10)
    assert retries(wire) == []


@pytest.mark.parametrize("level", LEVELS)
def test_only_what_is_attributed_to_the_call_names_the_cause_of_a_failed_turn(
    level: Attribution,
) -> None:
    wire = begun()
    hint(wire, attribution=level).agent(error())
    failed = failure(wire)
    named = level in {STRONG, PROVEN}
    assert (failed["type"] == "rate_limit") is named
    assert failed["retryable"] is named


@pytest.mark.parametrize("level", LEVELS)
def test_only_what_is_attributed_to_the_call_sends_the_prompt_again(level: Attribution) -> None:
    wire = begun(retry=2)
    hint(wire, attribution=level).agent(error())
    waits = any(turn.waits for turn in wire.core.connection.link.open_turns())
    assert waits is (level in {STRONG, PROVEN})


@pytest.mark.parametrize("level", LEVELS)
def test_a_success_that_shows_nothing_fails_of_what_is_attributed_to_the_call(
    level: Attribution,
) -> None:
    wire = begun()
    hint(wire, attribution=level).agent(result()).time(wire.now + 1)
    answer = wire.answers()[0]
    named = "error" in answer and failure(wire)["type"] == "rate_limit"
    assert named is (level in {STRONG, PROVEN})


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
def test_an_answer_that_breaks_off_fails_of_what_stderr_has_had_since_its_last_output(
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


def test_an_answer_waits_for_one_look_and_for_nothing_else() -> None:
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


def test_a_command_and_an_agent_without_sources_pass_at_once() -> None:
    wire = begun().agent(chunk("It is 42."), result())
    assert wire.answers() == [result()]
    wire = begun(sessions=(), expects=True).client(prompt(text="/status"))
    wire.agent(chunk("Connected.")).stderr(MODEL_CALL).agent(result())
    assert wire.answers() == [result()]


def test_what_follows_an_answer_that_waits_for_a_look_lets_it_pass_first() -> None:
    wire = begun(expects=True).agent(chunk("It is"), result(), chunk(" 42."))
    assert [json.loads(line).get("id") for line in wire.to_client[-2:]] == [1, None]


@pytest.mark.parametrize(
    ("line", "kind", "quoted"),
    [(MODEL_CALL, "rate_limit", False), (WORDS, "unknown", True), (OTHERS, "unknown", False)],
)
def test_stderr_names_the_cause_is_quoted_or_neither(line: bytes, kind: str, quoted: bool) -> None:
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
def test_stderr_of_a_running_tool_is_the_tools(after: bool) -> None:
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


def test_colours_hide_no_writer() -> None:
    text = "\x1b[31mepoch\x1b[0m 3: model call failed: out of memory"
    assert read_own(text, source="stderr") is None
    assert without_foreign(text) == ""


def test_stderr_of_several_turns_is_nobodys() -> None:
    wire = begun(sessions=("s", "other")).stderr(MODEL_CALL).agent(error())
    assert failure(wire)["type"] == "unknown"


def test_stderr_from_before_the_turn_is_never_its_own() -> None:
    wire = Wire().stderr(MODEL_CALL).client(prompt()).agent(error())
    assert failure(wire)["type"] == "unknown"


@every(
    ("record", "level"),
    [
        ("openai.RateLimitError: Error code: 429 - {'error': {'message': 'Slow down'}}", STRONG),
        ('ERROR agent: 529 {"type":"error","error":{"type":"overloaded_error"}}', STRONG),
        ("[WARN] Attempt 1 failed with status 429: http://127.0.0.1:8080/v1/messages", STRONG),
        ("[API Error: 503 Service Unavailable]", STRONG),
        ("The model provider returned 502. Retrying in 4 s", STRONG),
        ("getaddrinfo ENOTFOUND api.anthropic.com", STRONG),
        ("429 RESOURCE_EXHAUSTED. models/gemini-3-pro: quota exceeded", STRONG),
        ("ERROR goose::providers::anthropic: Request failed: 429 Too Many Requests", STRONG),
        ("WARN goose::providers::retry: Request failed, retrying: Rate limit exceeded", STRONG),
        ("ERROR 10:00:00 +12ms service=llm providerID=x error=Overloaded stream error", STRONG),
        ("10:00:00 ERROR someagent.llm_client: 401 Unauthorized", STRONG),
        ("10:00:00 - someagent.providers.openai_compat - ERROR - 402", STRONG),
        ('{"level":"error","logger":"app.llm.openai","msg":"429 Too Many Requests"}', STRONG),
        ("[provider:anthropic] 529 overloaded", STRONG),
        ("[llm] 429 Too Many Requests", STRONG),
        ("Error: 503\n    at stream (/opt/agent/dist/providers/anthropic/http.js:1:5)", STRONG),
        ('Traceback\n  File "/opt/agent/llm/client.py", line 2\nDown: 503', STRONG),
        ("INFO someagent.llm_client: the stream begins", WEAK),
        ("ERROR app.storage.providers.disk: 503", WEAK),
        ("ERROR app.models.user: 404 not found", WEAK),
        ("[auth provider] 401 Unauthorized", WEAK),
        ("terraform::providers::aws: error 403 AccessDenied", FOREIGN),
        ("[mcp] someagent.llm_client: 401 Unauthorized", FOREIGN),
        ("ERROR 429 Too Many Requests", WEAK),
        ("fetch failed", WEAK),
        ("Unauthorized", WEAK),
        ("npm error code E429", FOREIGN),
        ("web-1  | openai.RateLimitError: Error code: 429 - {'error': {}}", FOREIGN),
        ("10:00:00 worker.1  | LLM request failed: 429", FOREIGN),
        ("0|api  | LLM request failed: 429", FOREIGN),
        ("@shop/web:dev: LLM request failed: 429", FOREIGN),
        ("3:56:04 PM web.1 | LLM request failed: 429", FOREIGN),
        ("2026-11-20T09:00:00Z app[web.1]: LLM request failed: 429", FOREIGN),
        ("[web] LLM request failed: 429", FOREIGN),
        ("[api-1] LLM request failed: 429", FOREIGN),
        ("[0] LLM request failed: 429", FOREIGN),
        ("[dev:api  ] LLM request failed: 429", FOREIGN),
        ("[acp] LLM request failed: 429", STRONG),
        ("[api_client] LLM request failed: 429", STRONG),
        ("[2026] LLM request failed: 429", STRONG),
        ("panic: LLM request failed: 429\n\tpanic: again", WEAK),
        ("2026/11/20 09:00:00 http: panic serving 127.0.0.1:5: LLM call failed: 429", WEAK),
        ("thread 'main' panicked at src/main.rs:1:5:\nLLM request failed: 429", WEAK),
        ('Exception in thread "main" com.openai.OpenAIError: LLM request failed: 429', WEAK),
        ('Traceback\n  File "<stdin>", line 1, in <module>\nopenai.RateLimitError: x', WEAK),
        ('Traceback\n  File "/opt/a.py", line 1, in turn\nopenai.RateLimitError: x', STRONG),
        ("/opt/a.js:1\n  throw e\n  ^\n\nError: LLM request failed: 429", WEAK),
        ('Traceback\n  File "/a.py", line 1, in f\n    ^^\nopenai.RateLimitError: x', STRONG),
        ("/repo/a.rb:3:in `main': LLM request failed: 429", WEAK),
        ("[web:dev] LLM request failed: 429", FOREIGN),
        ("apps/web dev: LLM request failed: 429", FOREIGN),
        ("[orders-api] LLM request failed: 429", FOREIGN),
        ("[llm-api] LLM request failed: 429", STRONG),
        ("[pod/chat-1/app] LLM request failed: 429", FOREIGN),
        ("ERROR the panic: LLM request failed: 429", STRONG),
        ("provider failure: 529 in the fixture of the test", STRONG),
        ("the test of the provider failure: LLM request failed: 429", FOREIGN),
        ("payment provider error: 500 model request failed", FOREIGN),
        ('{"stopReason":"error","errorMessage":"401 Please sign in again."}', STRONG),
        ('{"stopReason":"end_turn","errorMessage":"401 Please sign in again."}', WEAK),
        ("Error: ANTHROPIC_API_KEY not set", STRONG),
        ("Missing GEMINI_API_KEY", STRONG),
        ("Error: STRIPE_API_KEY not set", FOREIGN),
        ("Error: ACME_API_KEY not set", WEAK),
        ("[mcp:images] Error: OPENAI_API_KEY not set", FOREIGN),
        ("using OPENAI_API_KEY", WEAK),
        ("request\n  | LLM request failed: 429", STRONG),
        ("ERROR | LLM request failed: 429", STRONG),
        ("2026-11-28 10:00:00 | ERROR | LLM request failed: 429", STRONG),
        ("kubectl: error: You must be logged in to the server (Unauthorized)", FOREIGN),
        ("[mcp:weather] API Error: 401 Unauthorized", FOREIGN),
        ('{"level":"error","name":"telemetry","msg":"API request failed: 503"}', FOREIGN),
        ("error: failed to fetch https://packages.example.org/api/v1/crates/serde: 503", FOREIGN),
        ("curl: (22) The requested URL returned error: 429", FOREIGN),
        ("FAILED tests/test_api.py::test_limit - openai.RateLimitError: 429", FOREIGN),
        ('127.0.0.1 - - "POST /v1/chat/completions HTTP/1.1" 429 -', FOREIGN),
        ("POST /v1/messages 401 Unauthorized 3 ms - 62", FOREIGN),
        ('{"level":"error","error":"\\"POST /v1/messages HTTP/1.1\\" 529"}', FOREIGN),
        ('HTTP Request: POST https://api.openai.com/v1/responses "HTTP/1.1 429"', STRONG),
        ("openai.RateLimitError: Error code: 429 - text-embedding-3-small", FOREIGN),
        ("POST https://api.openai.com/v1/embeddings failed: 429", FOREIGN),
        ("fetch https://status.openai.com/api/v2/status.json failed: 503", WEAK),
        ("Traceback (most recent call last)\nstripe.error.APIConnectionError: reset", WEAK),
        ("Traceback (most recent call last)\nopenai.APIConnectionError: reset", STRONG),
    ],
)
def test_a_record_is_attributed_by_its_form_its_writer_and_its_hosts(
    record: str, level: Attribution
) -> None:
    assert attribution_of(record) is level


FRAME = "Error: {}\n    at post (file:///usr/lib/node_modules/{}/dist/{}:1:5)"


@every(
    ("agent", "record", "level"),
    [
        ("codex-acp", "2026-11-20T09:00:00Z ERROR codex_core::client: HTTP 503", STRONG),
        ("codex-acp", "ERROR turn{id=1}: codex_core::client: Too Many Requests", STRONG),
        ("codex-acp", "ERROR codex_core::mcp::client: HTTP 503", FOREIGN),
        ("codex-acp", "ERROR codex_core::exec: script failed, HTTP 503", WEAK),
        ("codex-acp", "INFO codex_core::client: 200 OK", WEAK),
        ("codex-acp", "ERROR codexter::client: HTTP 503", WEAK),
        ("codex-acp", "ERROR goose::agents::agent: HTTP 503", WEAK),
        ("OpenCode", "opencode/provider: 401 Unauthorized", STRONG),
        ("OpenHands", "ERROR:openhands.agent:503 Service Unavailable", STRONG),
        ("crush", "E1120 09:00:00 crush/turn.go:12] 503 Service Unavailable", STRONG),
        ("crush", "Nov 20 09:00:00 crush ERROR 503 Service Unavailable", STRONG),
        ("crush", "the crush ERROR 503 Service Unavailable", WEAK),
        ("@mistralai/mistral-vibe", "ERROR vibe.core.loop - 402 Payment Required", STRONG),
        ("pi-acp", "[pi:api] 503 Service Unavailable", STRONG),
        ("pi-acp", "pipeline: 503 Service Unavailable", WEAK),
        ("newcomer", '{"level":"error","logger":"newcomer.api","msg":"HTTP 429"}', STRONG),
        ("newcomer", '{"level":"error","logger":"orders.api","msg":"HTTP 429"}', WEAK),
        ("newcomer", "newcomer: line 429 of the file", STRONG),
        ("newcomer", "newcomer: http://127.0.0.1:3000/orders returned 500", WEAK),
        ("newcomer", "newcomer 1.429.0 begins", WEAK),
        ("agent", "agent: 401 Unauthorized", WEAK),
        ("", "newcomer: 401 Unauthorized", WEAK),
        ("@acme/coder", FRAME.format("503", "@acme/coder", "index.js"), STRONG),
        ("@acme/coder", FRAME.format("503", "other", "index.js"), WEAK),
        ("@acme/coder", FRAME.format("503", "@acme/coder", "mcp/client.js"), WEAK),
        ("@acme/coder", FRAME.format("it is odd", "@acme/coder", "index.js"), WEAK),
    ],
)
def test_a_record_is_the_agents_by_its_own_name(
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


def test_what_a_program_says_as_it_crashes_is_one_record() -> None:
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


def test_of_several_records_the_last_of_a_model_call_counts() -> None:
    text = "API Error: 401 Unauthorized\nAPI Error: 429 Too Many Requests\nnpm error 503\n"
    verdict = read_own(text, source="stderr")
    assert verdict is not None
    assert (verdict.type.value, verdict.rule[:7]) == ("rate_limit", "stderr:")
    text = "API Error: 429 Too Many Requests\nmodel provider error: it is odd\n"
    verdict = read_own(text, source="stderr")
    assert verdict is not None
    assert verdict.type.value == "rate_limit"
    assert read_own("INFO API call number 7 is under way\n", source="stderr") is None


@pytest.mark.parametrize("level", LEVELS)
def test_a_refusal_that_shows_nothing_waits_for_what_a_source_reports(level: Attribution) -> None:
    wire = begun(expects=True).agent(result(1, "refusal"))
    assert wire.answers() == []
    wire.now += 0.1
    hint(wire, attribution=level, goes_on=False).time(wire.now + 1)
    assert ("error" in wire.answers()[0]) is (level in {STRONG, PROVEN})


def test_stderr_and_text_that_come_together_are_two_signs() -> None:
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
    wire = begun("newcomer")
    hint(wire, classify(log.format(words)), goes_on=True, attempt=2)
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
