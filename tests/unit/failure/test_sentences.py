"""From a verdict to words: plain, bounded, redacted, and never a phrase that a client misreads."""

from __future__ import annotations

import itertools
import json
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.core.classify import (
    Verdict,
    classify_exit,
    classify_rpc_error,
    classify_spawn_failure,
    own_failure,
)
from lastword.core.failure.phrases import (
    counted,
    duration,
    moment_of,
    plain_duration,
    plain_moment,
    short_duration,
)
from lastword.core.failure.sentences import (
    ADVICE_BY_REASON,
    MISREAD,
    WHAT_BY_REASON,
)
from lastword.core.failure.taxonomy import (
    DEFAULTS,
    Action,
    AgentError,
    ErrorType,
    Phase,
    RetrySafety,
)
from lastword.core.failure.wording import compose, plain_text, quotable
from lastword.core.redact.redactor import Redactor
from tests.kit.rows import every

REASONS = sorted({reason for told in WHAT_BY_REASON.values() for reason in told} | {"odd"})


def words_for(verdict: Verdict, safety: RetrySafety | None = None, **more: object) -> AgentError:
    return compose(verdict, phase=None, retry_safety=safety, **more)  # type: ignore[arg-type]


def rate_limit(**fields: object) -> Verdict:
    known: dict[str, object] = {"type": ErrorType.RATE_LIMIT, "rule": "test", "retryable": True}
    return Verdict(**(known | fields))  # type: ignore[arg-type]


def check(error: AgentError) -> None:
    assert 0 < len(error.message) <= 500
    assert error.message[0].isupper()
    assert error.message[-1] in ".?"
    assert not set("[]`*<>{}\n\r\t") & set(error.message)
    assert not any(phrase in error.message.lower() for phrase in MISREAD)
    if error.detail is not None:
        assert len(json.dumps(error.detail, ensure_ascii=False).encode()) <= 4096
        assert not any(phrase in error.detail["text"].lower() for phrase in MISREAD)


@every("kind", ErrorType)
def test_every_type_reason_and_safety_gives_a_sentence_that_keeps_the_rules(
    kind: ErrorType,
) -> None:
    for reason, safety, retryable in itertools.product(
        [None, *REASONS, *ADVICE_BY_REASON], [None, *RetrySafety], [True, False]
    ):
        verdict = Verdict(type=kind, rule="test", retryable=retryable, reason=reason)
        error = words_for(verdict, safety)
        check(error)
        assert error.action is not None
        assert error.origin is not None


@every(
    ("seconds", "words"),
    [
        (1, "1 second"), (20, "20 seconds"), (90, "90 seconds"), (91, "2 minutes"),
        (600, "10 minutes"), (5400, "90 minutes"), (5401, "2 hours"), (86_400, "24 hours"),
        (172_801, "3 days"), (471_285, "6 days"),
    ],
)  # fmt: skip
def test_a_wait_is_stated_in_common_units_and_never_too_short(seconds: int, words: str) -> None:
    assert plain_duration(seconds) == words
    count, unit = words.split()
    assert math.ceil(seconds / {"s": 1, "m": 60, "h": 3600, "d": 86_400}[unit[0]]) <= int(count)


def test_the_message_ends_with_when_to_retry() -> None:
    error = words_for(rate_limit(retry_after_seconds=20))
    assert error.message == ("The model provider is limiting requests. Try again in 20 seconds.")
    error = words_for(rate_limit(reset_at_epoch_ms=1777936568000, retryable=False))
    assert error.message.endswith("Try again after 2026-05-04 23:16 UTC.")
    told = words_for(rate_limit(retryable=False, retry_after_seconds=3600), RetrySafety.NEVER)
    assert (told.action, told.message[-24:]) == (Action.WAIT, "Try again in 60 minutes.")


NOW = datetime(2026, 5, 4, 13, 30, 10, tzinfo=timezone(timedelta(hours=2)))


def test_an_agents_end_is_described_without_mentioning_the_turn() -> None:
    said = WHAT_BY_REASON[ErrorType.AGENT_CRASH].values()
    assert not [sentence for sentence in said if "the turn" in sentence]


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (timedelta(seconds=20), "in 20 seconds"),
        (timedelta(minutes=5), "in 5 minutes"),
        (timedelta(minutes=35), "at 14:06"),
        (timedelta(hours=10, minutes=29, seconds=50), "tomorrow at 00:00"),
        (timedelta(hours=19), "tomorrow at 08:31"),
        (timedelta(days=2), "on 6 May at 13:31"),
        (timedelta(days=5, hours=1), "on 9 May at 14:31"),
        (timedelta(days=300), "on 28 February 2027 at 13:31"),
        (timedelta(seconds=-1), ""),
    ],
)
def test_a_reset_is_stated_in_the_readers_local_time_and_never_too_early(
    after: timedelta, words: str
) -> None:
    epoch_ms = round((NOW + after).timestamp() * 1000)
    assert plain_moment(epoch_ms, NOW) == words
    told = words_for(rate_limit(reset_at_epoch_ms=epoch_ms), now=NOW).message
    assert told.endswith(f"Try again {words}." if words else "Try again in a moment.")


def test_a_used_up_budget_names_the_ways_out() -> None:
    verdict = Verdict(
        type=ErrorType.BUDGET, rule="test", retryable=False, retry_after_seconds=471_285
    )
    assert words_for(verdict).message.endswith(
        "Add credits, switch to another model, or try again in 6 days."
    )


@pytest.mark.parametrize(
    ("safety", "retryable", "action"),
    [
        (RetrySafety.AUTO, True, Action.WAIT),
        (None, True, Action.WAIT),
        (RetrySafety.ASK, True, Action.CONFIRM_RETRY),
        (RetrySafety.OFFER_CONTINUE, True, Action.CONTINUE),
        (RetrySafety.NEVER, False, Action.SWITCH_MODEL),
        (RetrySafety.ASK, False, Action.SWITCH_MODEL),
    ],
)
def test_the_action_depends_on_whether_a_retry_would_do_harm(
    safety: RetrySafety | None, action: Action, *, retryable: bool
) -> None:
    assert words_for(rate_limit(retryable=retryable), safety).action is action


@every("word", ErrorType)
@every("reason", [None, "silent_success", "truncated_stream", "oom"])
def test_no_retry_is_advised_where_none_helps(word: ErrorType, reason: str | None) -> None:
    if DEFAULTS[word].action is Action.RESTART or word is ErrorType.CANCELLED:
        return  # a new process is another try; and nobody is told of a cancel
    verdict = Verdict(type=word, rule="x", retryable=False, reason=reason)
    told = words_for(verdict, RetrySafety.NEVER)
    assert not any(again in told.message.lower() for again in ("try again", "retry", "then try"))
    assert told.action not in {Action.RETRY, Action.WAIT, Action.CONTINUE, Action.CONFIRM_RETRY}


@every("word", [word for word in ErrorType if word is not ErrorType.UNKNOWN])
def test_a_failure_reported_as_success_has_its_types_own_advice(word: ErrorType) -> None:
    silent = Verdict(type=word, rule="x", retryable=False, reason="silent_success")
    plain = Verdict(type=word, rule="x", retryable=False)
    assert words_for(silent).message == words_for(plain).message
    vague = Verdict(type=ErrorType.UNKNOWN, rule="x", retryable=False, reason="silent_success")
    assert words_for(vague).message.endswith("Look at the agent's own log.")


def test_a_program_that_never_ran_is_not_quoted() -> None:
    told = words_for(classify_spawn_failure(2, "opencode")).message
    assert told.startswith("The agent could not be started: opencode: not found. Check")
    ran = words_for(classify_exit(exit_code=127, stderr_tail="sh: opencode: not found")).message
    assert 'On stderr: "sh: opencode: not found".' in ran


def test_an_explicit_action_decides_button_and_advice() -> None:
    verdict = rate_limit(action=Action.TOP_UP, reason="expired")
    told = words_for(verdict, RetrySafety.ASK)
    assert told.action is Action.TOP_UP
    assert told.message.endswith(
        "Add credits, wait for the limit to reset, or switch to another model."
    )


def test_an_error_that_was_not_recognised_is_quoted() -> None:
    error = words_for(classify_rpc_error({"code": -32603, "message": "Internal error: it [broke]"}))
    assert 'It said: "it (broke)".' in error.message
    assert error.detail == {"text": "Internal error: it [broke]"}


def test_of_an_empty_internal_error_only_the_line_below_is_quoted() -> None:
    sent = {"code": -32603, "message": "Internal error"}
    assert "It said" not in words_for(classify_rpc_error(sent)).message
    said = {"details": "Claude Code process exited with code 1"}
    error = words_for(classify_rpc_error(sent | {"data": said}))
    assert 'It said: "Claude Code process exited with code 1".' in error.message


@pytest.mark.parametrize("secret", ["sk" + "-" + "a1b2c3d4" * 6, "correct-horse-battery"])
def test_no_field_contains_a_secret_by_its_form_or_a_known_one(secret: str) -> None:
    data = {"code": secret, "request_id": secret}
    verdict = classify_rpc_error({"code": -32603, "message": f"odd {secret}", "data": data})
    error = words_for(verdict, redact=Redactor(("correct-horse-battery",)))
    assert secret not in json.dumps(error.payload())


def test_a_crash_reports_status_signal_and_last_words() -> None:
    error = compose(
        classify_exit(exit_signal=9, stderr_tail="allocating\nKilled"),
        phase=Phase.MID_OUTPUT,
        retry_safety=RetrySafety.ASK,
        attempts=2,
        incident_id="i1",
    )
    assert (error.exit_signal, error.phase, error.attempts) == ("SIGKILL", Phase.MID_OUTPUT, 2)
    assert error.detail == {"text": "allocating\nKilled"}
    assert error.message.startswith("The agent's process was killed")
    check(error)


def test_a_long_detail_is_cut_to_its_bound_and_keeps_its_first_and_its_last_words() -> None:
    for text in ("x" * 50_000, '"\\' * 20_000, "\u00e9" * 20_000, "\x01" * 20_000, "\ud800" * 9999):
        check(words_for(own_failure(ErrorType.INTERNAL, detail=text)))
    log = "first\n" + "between\n" * 2000 + "RuntimeError: the last line"
    error = words_for(classify_exit(exit_code=1, stderr_tail=log))
    assert error.detail is not None
    assert error.detail["text"].startswith("first\n")
    assert error.detail["text"].endswith("RuntimeError: the last line")
    check(error)


NODE = """file:///home/me/agent.mjs:6
{source}throw new Error('the index file is damaged');
{spaces}^

Error: the index file is damaged
    at Timeout._onTimeout (file:///home/me/error handling/agent.mjs:6:11)
    at async Promise.all (index 0)
    at listOnTimeout (node:internal/timers:581:17) {{
  [cause]: TypeError: no index
      at Timeout._onTimeout (/home/me/error.js:6:2)
}}

Node.js v22.1.0
"""
PYTHON = """Traceback (most recent call last):
  File "/home/me/error.py", line 6, in open_or_fail
    raise DamagedError("the index file is damaged")
DamagedError: the index file is damaged
"""


@every(
    ("stderr", "quoted"),
    [
        *(
            (
                NODE.format(source=source, spaces=" " * len(source)),
                "the index file is damaged (cause): TypeError: no index",
            )
            for source in ("  ", "failed=1;" * 300)
        ),
        (NODE.format(source="x();", spaces="    ").partition("\n")[2], "the index file is damaged"),
        (PYTHON, "DamagedError: the index file is damaged"),
    ],
)
def test_a_crash_is_quoted_without_frames_and_source(stderr: str, quoted: str) -> None:
    message = words_for(classify_exit(exit_code=1, stderr_tail=stderr)).message
    assert f'On stderr: "{quoted}' in message


def test_a_quote_is_one_short_line_without_markup_and_steers_no_terminal() -> None:
    assert quotable("a\n`b` *c* <d> [e] \u2028 f.") == "a b c d (e) f"
    assert len(quotable("word " * 1000)) <= 200
    assert quotable(" Internal error. ") == ""
    assert quotable("a\x9b31mb\u202ec\udc80d\x1b[2Je") == "a 31mb c de"


verdicts = st.builds(
    Verdict,
    type=st.sampled_from(ErrorType),
    rule=st.just("test"),
    retryable=st.booleans(),
    reason=st.none() | st.sampled_from(REASONS),
    retry_after_seconds=st.none() | st.integers(0, 10**9),
    reset_at_epoch_ms=st.none() | st.integers(-(10**18), 10**18),
    provider_code=st.none() | st.text(),
    source=st.none() | st.text(),
    request_id=st.none() | st.text(),
    detail=st.none() | st.text(),
)


@given(verdicts, st.none() | st.sampled_from(RetrySafety), st.none() | st.integers(0, 10**9))
def test_any_verdict_gives_words_that_keep_the_rules(
    verdict: Verdict, safety: RetrySafety | None, attempts: int | None
) -> None:
    check(words_for(verdict, safety, attempts=attempts))


@every(
    ("seconds", "words"),
    [
        (0, "0 s"), (1, "1 s"), (59, "59 s"), (60, "1 min"), (61, "1 min 1 s"),
        (3599, "59 min 59 s"), (3600, "1 h"), (3601, "1 h 1 min"), (7199, "2 h"),
        (86_399, "24 h"), (86_400, "1 d"), (90_001, "1 d 2 h"), (604_800, "7 d"),
    ],
)  # fmt: skip
def test_a_wait_is_stated_in_two_units_and_never_too_short(seconds: int, words: str) -> None:
    assert short_duration(seconds) == words


@pytest.mark.parametrize("phrase", MISREAD)
def test_a_phrase_that_clients_misread_is_rephrased_with_any_separator(phrase: str) -> None:
    error = words_for(own_failure(ErrorType.UNKNOWN, detail=f"Odd: {phrase.upper()}!"))
    check(error)
    assert "Odd" in error.message
    for between in (" ", "  ", "\n", " *", "\u202e"):
        told = plain_text(f"Oh: {phrase.replace(' ', between)}!")
        assert phrase not in told.lower()
        assert MISREAD[phrase] in told


@every(
    ("seconds", "words"),
    [
        (None, ""), (-1, "0 ms"), (0, "0 ms"), (0.0154, "15 ms"), (0.9994, "999 ms"),
        (0.9996, "1.0 s"), (2.44, "2.4 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1m 00s"),
        (200, "3m 20s"), (3599.7, "1h 00m"), (7500, "2h 05m"),
    ],
)  # fmt: skip
def test_a_duration_takes_few_characters(seconds: float | None, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("count", "word", "words"),
    [(0, "turn", "0 turns"), (1, "retry", "1 retry"), (2, "retry", "2 retries"),
     (1234, "day", "1,234 days")],
)  # fmt: skip
def test_a_noun_agrees_with_its_number(count: int, word: str, words: str) -> None:
    assert counted(count, word) == words


@every(
    ("exit_code", "stderr", "advice"),
    [
        (1, "Traceback (most recent call last):\nValueError: x", "Report it if it happens again."),
        (3, "", "Check the details if it happens again."),
    ],
)
def test_an_agent_that_is_started_again_after_a_crash_needs_less(
    exit_code: int, stderr: str, advice: str
) -> None:
    verdict = classify_exit(exit_code=exit_code, stderr_tail=stderr)
    assert words_for(verdict, restarts=True).message.endswith(advice)


def test_a_moment_outside_the_calendar_is_left_out_or_the_earliest() -> None:
    for epoch_ms in (10**18, -(10**18), 10**30):
        assert (plain_moment(epoch_ms, NOW), plain_moment(epoch_ms)) == ("", "")
    assert moment_of(1_700_000_000_000, UTC).isoformat() == "2023-11-14T22:13:20+00:00"
    assert moment_of(1e20, UTC) == moment_of(0, UTC)
