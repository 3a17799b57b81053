"""Retries in the conversation: a thought, for clients that show them no other way."""

from __future__ import annotations

from typing import Any

from lastword.core.link.evidence import SHOW_AFTER_SECONDS, SHOW_EVERY_SECONDS, HintSource
from tests.kit.wire import Wire, chunk, error, result, second_version, thoughts, update
from tests.unit.link.test_hints import LIMITED, RESET, TOOL, WIRE, begun, hint

PI = {"text": "Retrying (attempt 1/3, waiting 2s)...", "end": "Retry finished, resuming."}


def plain(name: str = "agent", **options: Any) -> Wire:
    return begun(name, client=None, **options)


def test_a_wait_is_shown_once_it_has_lasted_with_what_is_left_of_it() -> None:
    wire = plain()
    hint(wire, attempt=3, max_attempts=10, wait_seconds=23.0).time(SHOW_AFTER_SECONDS - 0.1)
    assert thoughts(wire) == []
    wire.time(SHOW_AFTER_SECONDS)
    (told,) = thoughts(wire)
    assert told.startswith("The model provider is limiting requests.")
    assert told.endswith("The agent tries again in 18 seconds (attempt 3 of 10).")


def test_a_wait_that_is_over_and_one_that_nobody_knows_are_not_counted_down() -> None:
    for wait in (2.0, None):
        wire = plain()
        hint(wire, attempt=2, wait_seconds=wait).time(10)
        assert thoughts(wire) == [
            "The model provider is limiting requests. The agent tries again (attempt 2)."
        ]


def test_further_retries_are_shown_at_most_so_often() -> None:
    wire = plain()
    for attempt in range(2, 12):
        hint(wire, attempt=attempt).time(wire.now + 4)
    assert len(thoughts(wire)) == 2
    wire.time(wire.now + SHOW_EVERY_SECONDS)
    assert len(thoughts(wire)) == 3
    wire.time(wire.now + 4 * SHOW_EVERY_SECONDS)
    assert len(thoughts(wire)) == 3


def test_what_was_got_over_soon_is_not_shown() -> None:
    wire = plain()
    hint(wire)
    wire.now = 2.0
    wire.agent(chunk("Here.")).time(60)
    assert thoughts(wire) == []
    hint(wire).time(wire.now + SHOW_AFTER_SECONDS)
    assert len(thoughts(wire)) == 1


def test_who_asked_for_retries_or_wants_none_in_the_conversation_gets_none() -> None:
    for wire in (begun(), plain(show_retries="off")):
        hint(wire).time(60)
        assert thoughts(wire) == []


def test_in_version_2_a_notice_needs_no_leave() -> None:
    wire = second_version()
    hint(wire).time(60)
    kinds = [u["sessionUpdate"] for u in wire.updates()]
    assert "notice" in kinds
    assert thoughts(wire) == []


def test_a_thought_of_ours_is_no_output_of_the_turn() -> None:
    wire = plain()
    hint(wire)
    wire.time(10).agent(error())
    told = wire.answers()[0]["error"]["data"]["agent_error"]
    assert (told["phase"], told["retry_safety"]) == ("before_output", "auto")


def test_while_everything_stood_still_no_wait_went_by() -> None:
    wire = plain()
    hint(wire, wait_seconds=20.0)
    wire.core.stand_still(100)
    wire.now = 100.0
    wire.time(100 + SHOW_AFTER_SECONDS)
    assert thoughts(wire) == [
        "The model provider is limiting requests. The agent tries again in 15 seconds (attempt 2)."
    ]


def test_a_line_that_was_shown_before_everything_stood_still_counts_as_long_afterwards() -> None:
    wire = plain()
    hint(wire).time(SHOW_AFTER_SECONDS)
    hint(wire)
    wire.core.stand_still(100)
    wire.now += 100
    wire.time(100 + SHOW_EVERY_SECONDS)
    assert len(thoughts(wire)) == 1
    wire.time(100 + SHOW_AFTER_SECONDS + SHOW_EVERY_SECONDS)
    assert len(thoughts(wire)) == 2


def test_what_an_agent_says_of_its_retries_in_the_conversation_is_no_output() -> None:
    wire = begun("pi-acp").agent(chunk(PI["text"]))
    (told,) = [u for u in wire.updates() if u["sessionUpdate"] == "agent_retry"]
    assert (told["attempt"], told["max_attempts"], told["wait_seconds"]) == (2, 4, 2)
    hint(wire, LIMITED, goes_on=False)
    wire.agent(chunk(PI["end"]), result()).time(wire.now + 1)
    failed = wire.answers()[0]["error"]["data"]["agent_error"]
    assert (failed["type"], failed["phase"]) == ("rate_limit", "before_output")


def test_the_same_words_of_another_agent_are_its_answer() -> None:
    wire = begun("other").agent(chunk(PI["text"]), result())
    assert wire.answers() == [result()]
    assert [u["sessionUpdate"] for u in wire.updates()] == ["agent_message_chunk"]


def test_what_a_turn_says_in_one_piece_beside_a_picture_is_no_error() -> None:
    wire = begun("codex-acp")
    picture = {"type": "image", "data": "", "mimeType": "image/png"}
    wire.agent(update(sessionUpdate="agent_message_chunk", content=picture))
    wire.agent(chunk("unexpected status 429 Too Many Requests"), result()).time(wire.now + 1)
    assert wire.answers() == [result()]


def test_an_error_behind_a_remark_is_read_where_the_turn_had_told_of_one() -> None:
    wire = begun("codex-acp").agent(chunk("Warning: no metadata for this model."))
    wire.agent(
        update(
            sessionUpdate="session_info_update",
            _meta={
                "codex": {
                    "error": {
                        "message": "Reconnecting... 1/5",
                        "codexErrorInfo": "rateLimitExceeded",
                        "willRetry": True,
                    }
                }
            },
        )
    )
    (told,) = [u for u in wire.updates() if u["sessionUpdate"] == "agent_retry"]
    assert (told["attempt"], told["max_attempts"]) == (2, 6)
    wire.agent(chunk("exceeded retry limit, last status: 429 Too Many Requests"), result())
    told = wire.answers()[0]["error"]["data"]["agent_error"]
    # The remark before it was shown.
    assert (told["type"], told["retry_safety"]) == ("rate_limit", "offer_continue")


def test_an_answer_that_had_begun_is_output_whatever_error_follows_it() -> None:
    wire = begun("claude-code-acp").agent(chunk("The answer is"))
    hint(wire, RESET, goes_on=True).agent(chunk("API Error: Connection error."), error())
    told = wire.answers()[0]["error"]["data"]["agent_error"]
    assert (told["phase"], told["retry_safety"]) == ("mid_output", "offer_continue")


def test_an_honest_answer_behind_a_retry_passes() -> None:
    wire = begun("codex-acp")
    hint(wire, source=WIRE).agent(chunk("It is 42."), chunk(" Ask me for more."), result())
    assert wire.answers() == [result()]


def test_a_retry_in_words_is_no_answer_where_a_log_tells_of_a_failed_call() -> None:
    wire = begun("other")
    hint(wire, source=HintSource.LOG, goes_on=None)
    wire.agent(chunk(PI["text"]), chunk("Retrying (attempt 2/3, waiting 4s)..."))
    told = [u for u in wire.updates() if u["sessionUpdate"] == "agent_retry"]
    assert [(u["attempt"], u["error"]["type"]) for u in told] == [
        (2, "rate_limit"),
        (3, "rate_limit"),
    ]
    wire.agent(chunk(PI["end"]), result()).time(wire.now + 1)
    failed = wire.answers()[0]["error"]["data"]["agent_error"]
    assert (failed["type"], failed["reason"]) == ("rate_limit", "silent_success")


def test_an_answer_behind_retries_in_words_passes() -> None:
    wire = begun("other")
    hint(wire, source=HintSource.LOG)
    wire.agent(chunk(PI["text"]), chunk(PI["end"]), chunk("It is 42."), result())
    assert wire.answers() == [result()]


def test_a_log_counts_behind_a_tool_where_nothing_was_said() -> None:
    wire = begun("other").agent(update(**TOOL))
    hint(wire, source=HintSource.LOG, goes_on=None).agent(chunk("Retrying (attempt 1/3)"), result())
    assert wire.answers()[0]["error"]["data"]["agent_error"]["type"] == "rate_limit"


def test_a_log_that_is_read_once_the_agent_has_answered_tells_of_no_retry() -> None:
    wire = begun("other", expects=True).agent(result())
    hint(wire, source=HintSource.LOG, goes_on=None).time(wire.now + 1)
    assert [u["sessionUpdate"] for u in wire.updates()] == ["agent_error"]
    assert wire.answers()[0]["error"]["data"]["agent_error"]["type"] == "rate_limit"


def info(**meta: Any) -> dict[str, Any]:
    return update(sessionUpdate="session_info_update", _meta=meta)


def test_an_error_behind_a_remark_is_read_where_the_agents_state_tells_of_a_failure() -> None:
    text = "exceeded retry limit, last status: 429 Too Many Requests, request id: r1"
    for state, fails in (("systemError", True), ("active", False)):
        wire = begun("other").agent(chunk("Warning: no metadata for this model."))
        wire.agent(info(x={"threadStatus": {"type": state}}), chunk(text), result())
        wire.time(wire.now + 1)
        failed = wire.answers()[0].get("error")
        assert bool(failed) is fails
        assert not failed or failed["data"]["agent_error"]["type"] == "rate_limit"


def test_a_state_of_failure_alone_fails_no_answer() -> None:
    wire = begun("other").agent(info(x={"status": "error"}), chunk("It is "), chunk("42."))
    wire.agent(result())
    assert wire.answers() == [result()]


def test_a_retry_by_a_method_that_no_row_tells_of_is_told() -> None:
    wire = begun("other")
    params = {"sessionId": "s", "category": "rate_limited", "detail": "HTTP 429"}
    wire.agent({"jsonrpc": "2.0", "method": "_other/retrying", "params": params})
    wire.agent({"jsonrpc": "2.0", "method": "_other/retry_options", "params": {"sessionId": "s"}})
    (told,) = [u for u in wire.updates() if u["sessionUpdate"] == "agent_retry"]
    assert told["error"]["type"] == "rate_limit"
