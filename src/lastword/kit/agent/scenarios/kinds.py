"""Scenarios of kinds of failure: each type once, before any output, and the kinds of waits.

The answers resemble those of model providers; every id and key in them is made up.
"""

from __future__ import annotations

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol import acp
from lastword.kit.agent.scenario import ExpectedFailure, Scenario, script, turn
from lastword.kit.agent.script import Fail, RetryStep, Step

T = ErrorType

THROTTLED = Fail(
    http=429,
    message="Rate limit reached on tokens per min (TPM): Limit 30000, Used 29200, Requested 3100.",
    code="rate_limit_exceeded",
    headers={"retry-after": "20", "x-request-id": "req_7f3a91c2"},
)
OVERLOADED = Fail(http=529, message="Overloaded", code="overloaded_error")
UNAVAILABLE = Fail(http=503, message="Service Unavailable")


def _fails(fail: Fail) -> Step:
    return Step(fail=fail)


def _one(name: str, failure: ExpectedFailure, sees: str, fail: Fail, then: str = "") -> Scenario:
    return Scenario(name=name, sees=sees, script=turn(_fails(fail)), failure=failure, then=then)


def _http(kind: ErrorType, sees: str, status: int, code: str, message: str) -> Scenario:
    return _one(
        kind.value, ExpectedFailure(type=kind), sees, Fail(http=status, code=code, message=message)
    )


TYPES = (
    _one(
        "rate_limit",
        ExpectedFailure(type=T.RATE_LIMIT, wait_seconds=20),
        "429 before any output: retryable after 20 s, safe to retry automatically",
        THROTTLED,
    ),
    _http(
        T.BUDGET,
        "429 that waiting does not help: the credits are used up",
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    _one(
        "provider_unavailable",
        ExpectedFailure(type=T.PROVIDER_UNAVAILABLE),
        "529: the provider is overloaded, retryable",
        OVERLOADED,
    ),
    _http(
        T.CONTEXT_OVERFLOW,
        "400: the conversation is too long for the model",
        400,
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "131072 tokens. Please reduce the length of the messages.",
    ),
    _http(
        T.AUTH,
        "401: the key is wrong",
        401,
        "invalid_api_key",
        "Incorrect API key provided.",
    ),
    _http(
        T.MODEL_NOT_FOUND,
        "404: there is no such model for this key",
        404,
        "model_not_found",
        "The model `example-1` does not exist or you do not have access to it.",
    ),
    _http(
        T.INVALID_REQUEST,
        "400: the request is malformed, and would be again",
        400,
        "unsupported_parameter",
        "Unsupported parameter: 'max_tokens'.",
    ),
    _http(
        T.CONTENT_FILTER,
        "400: the provider's policy blocked the prompt",
        400,
        "content_filter",
        "The response was filtered due to the prompt triggering content management policy.",
    ),
    _one(
        "timeout",
        ExpectedFailure(type=T.TIMEOUT),
        "the provider does not answer in time: retryable",
        Fail(exception="APITimeoutError: Request timed out."),
    ),
    _one(
        "network",
        ExpectedFailure(type=T.NETWORK),
        "the connection is refused: retryable",
        Fail(exception="connect ECONNREFUSED 127.0.0.1:443"),
    ),
    _one(
        "unknown",
        ExpectedFailure(type=T.UNKNOWN),
        "an error that nobody can interpret: never retried automatically",
        Fail(exception="E-7731"),
    ),
    _one(
        "internal",
        ExpectedFailure(type=T.INTERNAL),
        "a bug in the agent's own code",
        Fail(exception="TypeError: Cannot read properties of undefined (reading 'complete')"),
    ),
    Scenario(
        name="protocol_error",
        sees="a prompt's answer without a stop reason, reported as a failure",
        script=turn(Step(raw={"jsonrpc": "2.0", "id": "$id", "result": None})),
        failure=ExpectedFailure(type=T.PROTOCOL_ERROR),
        failure_v2=ExpectedFailure(type=T.AGENT_STALLED),
    ),
)

WAITS = (
    _one(
        "wait_unknown",
        ExpectedFailure(type=T.RATE_LIMIT),
        "429 that does not say how long to wait",
        Fail(http=429, message="Too Many Requests", code="rate_limit_exceeded"),
        "wait longer before each try",
    ),
    _one(
        "wait_too_long",
        ExpectedFailure(type=T.RATE_LIMIT, retryable=False, wait_seconds=5400),
        "429 with a wait of an hour and a half: over the limit, so not retried automatically",
        Fail(http=429, message="Too Many Requests", headers={"retry-after": "5400"}),
        "once the wait is over, a Retry that the user presses is fine",
    ),
    _one(
        "reset_later",
        ExpectedFailure(type=T.RATE_LIMIT, retryable=False, resets=True),
        "the plan's usage limit, with the moment at which it ends, hours away",
        Fail(
            exception="You've hit your usage limit. Upgrade to Pro or try again in 5 hours "
            "12 minutes."
        ),
        "show the moment in local time",
    ),
    Scenario(
        name="retried_in_vain",
        sees="two retries (agent_retry), then the failure",
        script=turn(
            Step(retry=RetryStep(attempt=2, wait=1)),
            Step(retry=RetryStep(attempt=3, wait=1)),
            Step(fail=OVERLOADED),
        ),
        failure=ExpectedFailure(type=T.PROVIDER_UNAVAILABLE),
        then="the failure takes the place of the retry's countdown",
    ),
    Scenario(
        name="third_time_lucky",
        sees="the first two prompts fail with 503 before any output, every later one goes well",
        script=script(
            (_fails(UNAVAILABLE),),
            (_fails(UNAVAILABLE),),
            (Step(say="The provider is back."), Step(result="end_turn")),
        ),
        failure=ExpectedFailure(type=T.PROVIDER_UNAVAILABLE),
        then="with `lastword run --retry 2` in front, only two waits are visible",
    ),
    Scenario(
        name="login_needed",
        sees="-32000 from an agent that offers a login (authMethods)",
        script=script(
            (
                _fails(
                    Fail(error={"code": acp.AUTH_REQUIRED, "message": "Authentication required"})
                ),
            ),
            (Step(say="You are logged in now."), Step(result="end_turn")),
            login=True,
        ),
        failure=ExpectedFailure(type=T.AUTH),
        then="the button calls authenticate; then the user sends the prompt again",
    ),
    _one(
        "prompt_refused",
        ExpectedFailure(type=T.PROVIDER_UNAVAILABLE),
        "the prompt is refused; in version 2 by its own answer, before any work begins",
        Fail(http=503, message="Service Unavailable", refused=True),
        "in version 2 the prompt is not part of the conversation: keep its text for another try",
    ),
    _one(
        "typed_agent",
        ExpectedFailure(type=T.BUDGET),
        "a failure from an agent that speaks agent_error itself: passed on, not doubled",
        Fail(
            agent_error={
                "type": "budget",
                "message": "Your team's budget is used up. Ask Ada for more.",
                "retryable": False,
                "retry_safety": "never",
                "action": "top_up",
                "phase": "before_output",
            }
        ),
    ),
)
