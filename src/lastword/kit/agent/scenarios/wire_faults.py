"""Scenarios of the wire: the faults of an agent without lastword, as its reader sees them.

`sees` is what comes without lastword in front (`--bare`); `failure` is what a client gets with it.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from lastword.core.failure.taxonomy import Phase, RetrySafety
from lastword.core.protocol import acp
from lastword.kit.agent.scenario import ExpectedFailure, Scenario, turn
from lastword.kit.agent.scenarios.kinds import T
from lastword.kit.agent.script import Fail, Repeat, Step, Steps

ANSWER = Step(say="Here is the answer.")
HALF = Step(say="Half an answer. ")
END = Step(result="end_turn")
WELL: dict[str, Any] = {"jsonrpc": "2.0", "id": "$id", "result": {"stopReason": "end_turn"}}
OFFERED = RetrySafety.OFFER_CONTINUE
CHUNK = (
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session","update":'
    '{"sessionUpdate":"agent_message_chunk","messageId":"m","content":'
    '{"type":"text","text":"%s"}}}}'
)
BIG_BYTES = 8 * 1024 * 1024
LOUD_LINES = 300_000
LOUD_LINE = "a warning that nobody reads, from a debug log"

READ_ON = "skip the line and read on; never close the connection"
NO_CLIENT_WAITS = "notice the exit of the process by its status, not by the end of stdout"


def _fault(
    name: str,
    sees: str,
    *steps: Step,
    failure: ExpectedFailure | None = None,
    failure_v2: ExpectedFailure | UnsetType | None = UNSET,
    then: str = "",
) -> Scenario:
    own = turn(*steps)
    return Scenario(
        name=name,
        sees=sees,
        script=own,
        failure=failure,
        failure_v2=failure_v2,
        then=then,
        bare=True,
    )


def _error(name: str, sees: str, error: Any, failure: ExpectedFailure, then: str = "") -> Scenario:
    # Version 2 has the error within an update, where lastword does not read a text.
    unread = ExpectedFailure(type=T.UNKNOWN) if isinstance(error, str) else UNSET
    fails = Step(fail=Fail(error=error))
    return _fault(name, sees, fails, failure=failure, failure_v2=unread, then=then)


def _noisy(name: str, sees: str, noise: Steps, then: str = READ_ON) -> Scenario:
    return _fault(name, sees, HALF, *noise, ANSWER, END, then=then)


INTERNAL = ExpectedFailure(type=T.INTERNAL)
UNAVAILABLE = ExpectedFailure(type=T.PROVIDER_UNAVAILABLE)
MID_UNKNOWN = ExpectedFailure(type=T.UNKNOWN, phase=Phase.MID_OUTPUT)


def _mid(kind: T, **members: Any) -> ExpectedFailure:
    return ExpectedFailure(type=kind, phase=Phase.MID_OUTPUT, **members)


STALLED = _mid(T.AGENT_STALLED, retry_safety=OFFERED)


SCENARIOS = (
    _error(
        "error_data_null",
        "an error whose data is null",
        {"code": acp.INTERNAL_ERROR, "message": "503 Service Unavailable", "data": None},
        UNAVAILABLE,
        "data may be missing, null, a text or an object",
    ),
    _error(
        "error_empty",
        "an error with an empty message",
        {"code": acp.INTERNAL_ERROR, "message": ""},
        INTERNAL,
        "without a message, show your own text",
    ),
    _error(
        "error_without_message",
        "an error without a message",
        {"code": acp.INTERNAL_ERROR},
        INTERNAL,
    ),
    _error(
        "error_code_text",
        "an error whose code is a text",
        {"code": "ECONNRESET", "message": "read ECONNRESET"},
        ExpectedFailure(type=T.NETWORK),
        "do not drop the frame: the turn has ended",
    ),
    _error(
        "error_is_text",
        "an error that is a text instead of an object",
        "503 Service Unavailable",
        UNAVAILABLE,
        "do not drop the frame: the turn has ended",
    ),
    _error(
        "error_http_code",
        "an HTTP status in place of the JSON-RPC code",
        {"code": 429, "message": "Resource has been exhausted (e.g. check quota)."},
        ExpectedFailure(type=T.RATE_LIMIT),
    ),
    _fault(
        "stop_reason_unknown",
        "a stop reason that the protocol does not have",
        HALF,
        Step(result="exploded"),
        failure=MID_UNKNOWN,
        failure_v2=None,
        then="an unknown stop reason is a failure, not the end of the connection",
    ),
    _fault(
        "stop_reason_error",
        "the stop reason error, without an explanation",
        HALF,
        Step(result="error"),
        failure=MID_UNKNOWN,
    ),
    _fault(
        "result_null",
        "text, then a result of null",
        HALF,
        Step(raw={"jsonrpc": "2.0", "id": "$id", "result": None}),
        failure=_mid(T.PROTOCOL_ERROR),
        failure_v2=STALLED,
    ),
    _fault(
        "id_as_text",
        "an answer whose id is the text of the number",
        ANSWER,
        Step(raw='{"jsonrpc":"2.0","id":"$id","result":{"stopReason":"end_turn"}}'),
        failure_v2=STALLED,
    ),
    _fault(
        "id_null",
        "an error whose id is null",
        Step(
            raw={
                "jsonrpc": "2.0",
                "id": None,
                "error": {"code": acp.INTERNAL_ERROR, "message": "503 Service Unavailable"},
            }
        ),
        Step(silence=True),
        failure=UNAVAILABLE,
        failure_v2=ExpectedFailure(type=T.AGENT_STALLED),
        then="it can only belong to the one open prompt",
    ),
    _fault(
        "id_wrong",
        "an answer to a request that was never made, then silence",
        HALF,
        Step(raw={"jsonrpc": "2.0", "id": 987654, "result": {"stopReason": "end_turn"}}),
        Step(silence=True),
        failure=STALLED,
    ),
    _fault(
        "answered_twice",
        "a good answer, then an error and one more to the same prompt",
        ANSWER,
        Step(raw=WELL),
        Step(
            raw={
                "jsonrpc": "2.0",
                "id": "$id",
                "error": {"code": acp.INTERNAL_ERROR, "message": "again"},
            }
        ),
        Step(raw=WELL),
        failure_v2=STALLED,
        then="the first answer counts",
    ),
    _noisy(
        "stdout_garbage",
        "lines on stdout that are not JSON, between good ones",
        (Step(raw="Debugger attached."), Step(raw="\x1b[33mwarn\x1b[0m: [no json]"), Step(raw="")),
    ),
    _noisy(
        "stdout_values",
        "lines that are JSON, but not messages: 42, a text, null, arrays, {}",
        tuple(Step(raw=line) for line in ("42", '"a text"', "null", "[1, 2]", "[{}]", "{}")),
    ),
    _noisy(
        "stdout_not_utf8",
        "bytes that are not UTF-8, on their own line",
        (Step(bytes="ff fe 00 20 6e 6f 20 74 65 78 74 0a"),),
    ),
    _noisy(
        "stdout_glued",
        "two frames on one line",
        (Step(raw=(CHUNK % "One. ") + (CHUNK % "Two. ")),),
        "read both, or neither; the turn goes on",
    ),
    _noisy(
        "stdout_huge_line",
        "one frame of 8 MiB",
        (Step(fill=BIG_BYTES),),
        "accept it, or report your limit; the turn goes on",
    ),
    _noisy(
        "stderr_loud",
        "16 MB on stderr: an agent whose stderr is not read stops working",
        (
            Step(
                repeat=Repeat(
                    times=LOUD_LINES // 10_000,
                    steps=(
                        Step(stderr="\n".join([LOUD_LINE] * 10_000)),
                        Step(say=". "),
                    ),
                )
            ),
        ),
        "read stderr as fast as stdout",
    ),
    _fault(
        "answer_cut",
        "the process exits in the middle of its answer",
        HALF,
        Step(bytes=b'{"jsonrpc":"2.0","id":'.hex()),
        Step(exit=1),
        failure=_mid(T.AGENT_CRASH, retryable=False),
        then=NO_CLIENT_WAITS,
    ),
    _fault(
        "stdout_held",
        "the agent is killed, and its child process keeps stdout open for 5 s",
        HALF,
        Step(child=5),
        Step(kill="SIGKILL"),
        failure=_mid(T.AGENT_CRASH, retry_safety=OFFERED),
        then=NO_CLIENT_WAITS,
    ),
    _fault(
        "stdout_closed",
        "stdout is closed, and the process lives on",
        HALF,
        Step(close="stdout"),
        Step(hang=True),
        failure=_mid(T.AGENT_CRASH, retry_safety=OFFERED),
        then="the end of stdout ends every open turn",
    ),
    _fault(
        "prose_as_error",
        "the failure as the agent's text, in a turn that says success",
        Step(say="Error: 429 Too Many Requests. Please try again later."),
        END,
        failure=ExpectedFailure(type=T.RATE_LIMIT, reason="silent_success"),
        then="it looks like an answer; lastword recognises it, unless the prompt asks for one",
    ),
)
