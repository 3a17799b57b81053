"""The scripted agent's scenarios: one turn each, by name.

Owns the table, and what a client sees of each. What they do is `conformance.turns`' and, for what
befalls the process, `conformance.faults`'.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec

from lastword.conformance import faults, turns
from lastword.conformance import providers as p
from lastword.core.taxonomy import ErrorType
from lastword.serving.peer import Client

Play: TypeAlias = Callable[[Client, str], Awaitable[Any]]

IN_FRONT = "lastword run --"


class Scenario(msgspec.Struct, frozen=True):
    """One turn.

    Attributes:
        name: What it is called by.
        sees: What a client sees, in one line.
        play: The turn: it is given the client and the session, and gives the prompt's result.
        error_type: The type of the failure that the client gets, `None` where the turn succeeds.
        needs_sidecar: Can the agent not answer for itself, so that lastword has to stand in front?
    """

    name: str
    sees: str
    play: Play
    error_type: ErrorType | None = None
    needs_sidecar: bool = False

    def told(self) -> dict[str, Any]:
        """The scenario for a machine."""
        return {
            "name": self.name,
            "error_type": None if self.error_type is None else self.error_type.value,
            "sees": self.sees,
            "needs_sidecar": self.needs_sidecar,
        }


def _bad_request(code: str, message: str) -> Play:
    return turns.raising(
        lambda: p.openai(
            p.BadRequestError, 400, message, code=code, error_type="invalid_request_error"
        )
    )


_T = ErrorType

_SCENARIOS = (
    Scenario("healthy", "text, then the end of the turn", turns.healthy),
    Scenario("healthy_tool", "a tool call that reads a file, text, the end", turns.healthy_tool),
    Scenario("slow", "a word every half second, for three seconds", turns.slow),
    Scenario(
        "retried",
        "two failed model calls, each told with the wait after it (agent_retry), then text",
        turns.retried,
    ),
    Scenario(
        "rate_limit",
        "429 before any output: retryable, after 20 s, safe to retry by itself",
        turns.raising(lambda: p.throttled(20)),
        _T.RATE_LIMIT,
    ),
    Scenario(
        "after_text",
        "429 after some text: retryable, but only to be offered",
        turns.after_text,
        _T.RATE_LIMIT,
    ),
    Scenario(
        "after_tool",
        "529 after a file was edited: retryable, but only if the user agrees",
        turns.after_tool,
        _T.PROVIDER_UNAVAILABLE,
    ),
    Scenario(
        "budget",
        "429 that no wait helps against: the credits are used up",
        turns.raising(
            lambda: p.openai(
                p.RateLimitError,
                429,
                "You exceeded your current quota, please check your plan and billing details.",
                code="insufficient_quota",
                error_type="insufficient_quota",
            )
        ),
        _T.BUDGET,
    ),
    Scenario(
        "provider_unavailable",
        "529: the provider is overloaded, retryable",
        turns.raising(p.overloaded),
        _T.PROVIDER_UNAVAILABLE,
    ),
    Scenario(
        "context_overflow",
        "400: the conversation is too long for the model",
        _bad_request(
            "context_length_exceeded",
            "This model's maximum context length is 128000 tokens. However, your messages "
            "resulted in 131072 tokens. Please reduce the length of the messages.",
        ),
        _T.CONTEXT_OVERFLOW,
    ),
    Scenario(
        "auth",
        "401: the key is wrong",
        turns.raising(
            lambda: p.openai(
                p.AuthenticationError,
                401,
                "Incorrect API key provided.",
                code="invalid_api_key",
                error_type="invalid_request_error",
            )
        ),
        _T.AUTH,
    ),
    Scenario(
        "model_not_found",
        "404: there is no such model for this key",
        turns.raising(
            lambda: p.anthropic(
                p.NotFoundError, 404, "model: claude-example-1", error_type="not_found_error"
            )
        ),
        _T.MODEL_NOT_FOUND,
    ),
    Scenario(
        "invalid_request",
        "400: the request is malformed, and would be again",
        _bad_request("unsupported_parameter", "Unsupported parameter: 'max_tokens'."),
        _T.INVALID_REQUEST,
    ),
    Scenario(
        "content_filter",
        "400: the provider's policy blocked the prompt",
        _bad_request(
            "content_filter",
            "The response was filtered due to the prompt triggering content management policy.",
        ),
        _T.CONTENT_FILTER,
    ),
    Scenario(
        "timeout", "no answer within the limit: retryable", turns.raising(p.timed_out), _T.TIMEOUT
    ),
    Scenario(
        "network", "the connection is refused: retryable", turns.raising(p.refused), _T.NETWORK
    ),
    Scenario(
        "unknown",
        "an error that nobody can read: never retried by itself",
        turns.raising(lambda: p.GatewayError("E-7731")),
        _T.UNKNOWN,
    ),
    Scenario("internal", "a bug in the agent's own code", turns.bug, _T.INTERNAL),
    Scenario(
        "protocol_error",
        "a prompt's answer without a stop reason, told as a failure",
        turns.no_stop_reason,
        _T.PROTOCOL_ERROR,
    ),
    Scenario(
        "silent_success",
        "the agent says that it is done and has shown nothing: told as a failure",
        turns.silent_success,
        _T.UNKNOWN,
    ),
    Scenario(
        "cancelled",
        "text, then a turn that waits until the user cancels it: no error",
        turns.wait_for_cancel,
        _T.CANCELLED,
    ),
    Scenario(
        "agent_stalled",
        "text, then silence, until the agent's own watchdog ends the turn after 2 s",
        turns.stall,
        _T.AGENT_STALLED,
    ),
    Scenario(
        "agent_crash",
        "the agent kills itself (SIGKILL) at once",
        faults.kill_itself,
        _T.AGENT_CRASH,
        needs_sidecar=True,
    ),
    Scenario(
        "crash_after_text",
        "some text and an open tool call, then the agent kills itself",
        faults.kill_itself_after_text,
        _T.AGENT_CRASH,
        needs_sidecar=True,
    ),
    Scenario(
        "stderr_overflow",
        "stderr is flooded without end until the turn is stopped",
        faults.flood_stderr,
        _T.STDERR_OVERFLOW,
        needs_sidecar=True,
    ),
    Scenario(
        "hang",
        "text, then the whole process hangs and reads nothing; try --idle-timeout 5 in front",
        faults.hang,
        _T.AGENT_STALLED,
        needs_sidecar=True,
    ),
)

SCENARIOS = {scenario.name: scenario for scenario in _SCENARIOS}


def nearest(name: str) -> list[str]:
    """The scenarios whose names are most like this one, at most three."""
    return difflib.get_close_matches(name.lower(), SCENARIOS, n=3, cutoff=0.6)


def unknown(name: str) -> str:
    """The sentence for a name that is no scenario's, without its full stop."""
    like = nearest(name)
    shown = name[:40]
    return f'there is no scenario "{shown}"' + (f"; like it: {', '.join(like)}" if like else "")
