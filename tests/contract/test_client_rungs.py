"""Every rung of the ladder, written by the core and read back: one value, whatever the way."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from lastword.client import raise_for_error, read_error, read_retry
from lastword.core.classify import own_failure
from lastword.core.failure import ladder, option_values, wording
from lastword.core.failure.ladder import Ending, Rung
from lastword.core.failure.taxonomy import (
    DEFAULTS,
    Action,
    AgentError,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
)
from lastword.core.link.handshake import ClientProfile
from lastword.core.protocol import acp
from lastword.errors import PromptFailedError
from tests.kit.places import PROTOCOL
from tests.kit.rows import every

TEXT = (PROTOCOL / "README.md").read_text()

PLAIN = {
    error_type: wording.compose(
        own_failure(error_type), phase=Phase.BEFORE_OUTPUT, retry_safety=RetrySafety.NEVER
    )
    for error_type in ErrorType
}


def full(error_type: ErrorType) -> AgentError:
    """A failure of which everything is known, and something that this version has no name for."""
    return AgentError(
        type=error_type,
        message="Something failed. Try again in 20 seconds.",
        detail={"text": "429 Too Many Requests"},
        retryable=not DEFAULTS[error_type].retryable,
        retry_after_seconds=20,
        reset_at_epoch_ms=1_790_000_000_000,
        source="openai",
        reason="requests_per_minute",
        origin=Origin.PROVIDER,
        phase=Phase.MID_OUTPUT,
        retry_safety=RetrySafety.OFFER_CONTINUE,
        action=Action.CONTINUE,
        http_status=429,
        provider_code="rate_limit_exceeded",
        request_id="req_1",
        attempts=6,
        exit_code=1,
        incident_id="7f-1",
        extra={"region": {"name": "eu"}},
    )


def frames(
    error: AgentError, rung: Rung, dialect: acp.Dialect, **client: Any
) -> list[dict[str, Any]]:
    ending = Ending(error=error, session_id="s1", prompts=(b"2",))
    profile = ClientProfile(dialect=dialect, typed=rung in {Rung.TYPED, Rung.V2}, **client)
    out = ladder.frames_for(ending, rung=rung, client=profile, dialect=dialect)
    return [json.loads(outgoing.frame) for outgoing in out]


def test_the_options_and_the_contract_list_every_rung() -> None:
    ladder_of_contract = TEXT.partition("## 7. The ladder")[2].partition("\nA rung is named")[0]
    listed = re.findall(r"\n\| `(\w+)` \|", ladder_of_contract)
    assert {*listed} >= {*option_values.RUNGS, *Rung} == {*option_values.RUNGS}


RUNGS = [
    *((rung, acp.V1) for rung in Rung if rung is not Rung.V2),
    *((rung, acp.V2) for rung in Rung),
]


@every("rung, dialect", RUNGS)
@every("error_type", ErrorType)
@every("error", [full, PLAIN.__getitem__])
@every("accepts_result", [False, True])
def test_a_failure_is_read_back_unchanged_from_every_rung(
    rung: Rung, dialect: acp.Dialect, error_type: ErrorType, error: Any, accepts_result: bool
) -> None:
    written = error(error_type)
    told = [
        frame
        for frame in frames(written, rung, dialect, stop_reason=accepts_result)
        if "agent_message_chunk" not in str(frame)
    ]
    assert told
    for frame in told:
        assert read_error(frame) == written
        assert read_retry(frame) is None
        with pytest.raises(PromptFailedError) as raised:
            raise_for_error(frame)
        assert raised.value.error == written


@every("error_type", ErrorType)
def test_the_update_the_result_and_the_error_are_also_read_without_their_frame(
    error_type: ErrorType,
) -> None:
    error = full(error_type)
    update, answer = frames(error, Rung.TYPED, acp.V1)
    assert read_error(update["params"]) == error
    assert read_error(update["params"]["update"]) == error
    assert read_error(update["params"]["update"]["error"]) == error
    assert read_error(answer["error"]) == error
    [_, answer] = frames(error, Rung.RESULT, acp.V1)
    assert read_error(answer["result"]) == error
    assert read_error(answer["result"]["_meta"]["agent_error"]) == error


@every("error_type", ErrorType)
def test_a_client_that_gets_the_sentence_alone_still_gets_the_type(error_type: ErrorType) -> None:
    update, answer = frames(PLAIN[error_type], Rung.ERROR_WITH_META, acp.V1, name="zed")
    assert answer["error"]["data"].keys() == {"details"}
    told = read_error(answer)
    assert told is not None
    assert told.type is error_type
    assert not told.retryable or PLAIN[error_type].retryable
    assert told.retry_safety in {RetrySafety.ASK, RetrySafety.NEVER}
    assert read_error(update) == PLAIN[error_type]


def test_the_wait_is_read_from_the_sentence_alone() -> None:
    limited = own_failure(ErrorType.RATE_LIMIT)
    limited = msgspec.structs.replace(limited, retry_after_seconds=20)
    error = wording.compose(limited, phase=None, retry_safety=RetrySafety.AUTO)
    _, answer = frames(error, Rung.ERROR_WITH_META, acp.V1, name="zed")
    told = read_error(answer)
    assert told is not None
    assert told.retry_after_seconds == 20


def test_the_text_of_the_text_rung_alone_is_not_read_as_a_failure() -> None:
    shown, _ = frames(full(ErrorType.BUDGET), Rung.TEXT, acp.V1)
    assert read_error(shown) is None
    assert raise_for_error(shown) is shown


def conversations() -> list[list[dict[str, Any]]]:
    blocks = re.findall(r"^```\n(→.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return [[json.loads(line[2:]) for line in block.splitlines()] for block in blocks]


def test_in_each_example_conversation_only_the_failure_is_read_as_a_failure() -> None:
    assert len(conversations()) == 2
    for frames_of_one in conversations():
        told = [error for frame in frames_of_one if (error := read_error(frame)) is not None]
        assert (len(told), told[0]) == (2, told[1])
        assert read_error(frames_of_one[-1]) == told[0]
