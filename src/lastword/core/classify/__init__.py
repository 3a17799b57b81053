"""Classification: from whatever a failure left behind to a typed verdict that names its rule.

Owns the order of evidence and the tables (`tokens`, `messages`, `transport`, `statuses`,
`process`). Reads no clock and no environment, does no I/O, and raises for no input. Does not
redact (`core.redact.redactor`) and does not write sentences (`core.failure.wording`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.classify import gather
from lastword.core.classify.decide import conclude, decide
from lastword.core.classify.evidence import Conclusion, Evidence, ProcessEvidence, Verdict
from lastword.core.failure.taxonomy import DEFAULTS, UNDECIDED, ErrorType, Origin
from lastword.core.redact.truncate import clip, informative_lines

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "FAILED_RULE",
    "Evidence",
    "ProcessEvidence",
    "Verdict",
    "classify",
    "classify_exit",
    "classify_rpc_error",
    "classify_spawn_failure",
    "classify_text",
    "own_failure",
    "read_lines",
]

FAILED_RULE = "classifier_failed"
"""The name of the rule if our own code raised on the evidence."""

_HOPELESS_REASONS = frozenset({"crash_loop", "context_lost", "spawn_failed", "runaway"})
MAX_MEMBERS = 8
"""The most exceptions of a group that are classified."""


def classify(error: object, *, agent: str | None = None) -> Verdict:
    """Classify an exception, a response object, a decoded body, a record or a string.

    Args:
        error: What failed, before anything turned it into a string.
        agent: The agent's name for itself, if known.
    """
    if not isinstance(error, BaseExceptionGroup):
        return _verdict_on(gather.from_any, error, agent)
    waiting: list[BaseException] = [error]
    verdicts: list[Verdict] = []
    while waiting and len(verdicts) < MAX_MEMBERS:
        member = waiting.pop(0)
        if isinstance(member, BaseExceptionGroup):
            waiting += member.exceptions[:MAX_MEMBERS]
        else:
            verdicts.append(_verdict_on(gather.from_any, member, agent))
    # Some members were cancelled only because another one failed.
    failed = [verdict for verdict in verdicts if verdict.type is not ErrorType.CANCELLED]
    # What forbids a retry comes first, and what says nothing last.
    return min(
        failed or verdicts,
        key=lambda verdict: 2 if verdict.type in UNDECIDED else int(verdict.retryable),
    )


def classify_rpc_error(
    error: object, *, agent: str | None = None, stderr_tail: str = ""
) -> Verdict:
    """Classify the decoded `error` member of a JSON-RPC response, whatever it holds.

    Args:
        error: The member as decoded; a hostile agent may have put anything there.
        agent: The agent's name for itself (`agentInfo.name`).
        stderr_tail: The end of the agent's stderr, used only if the error itself says nothing.
    """
    verdict = _verdict_on(gather.from_rpc_error, error, agent)
    return _or_stderr(verdict, stderr_tail)


def classify_text(text: str, *, stderr_tail: str = "") -> Verdict:
    """Classify prose, such as the only message of a turn that claims success."""
    return _or_stderr(_verdict_on(gather.from_any, text), stderr_tail)


def _verdict_on(
    gather_from: Callable[[object, str | None], Evidence], error: object, agent: str | None = None
) -> Verdict:
    """Gather and decide; a bug of ours costs the classification, never the end of the turn."""
    try:
        return decide(gather_from(error, agent))
    except Exception:  # noqa: BLE001 - the last net; a test holds that nothing falls into it
        return Verdict(
            type=ErrorType.UNKNOWN, rule=FAILED_RULE, retryable=False, origin=Origin.LASTWORD
        )


def _or_stderr(verdict: Verdict, stderr_tail: str) -> Verdict:
    if verdict.type not in UNDECIDED:
        return verdict
    return read_lines(stderr_tail, source="stderr") or verdict


def read_lines(text: str, *, source: str) -> Verdict | None:
    """Classify the end of a log by the lines that look like errors, if they name a failure.

    Args:
        text: The log's last lines.
        source: The prefix for the rule's name.
    """
    lines = informative_lines(text)
    if not lines:
        return None
    verdict = _verdict_on(gather.from_any, lines)
    if verdict.type in UNDECIDED or verdict.rule.startswith(("text:", "concept:")):
        return None
    return msgspec.structs.replace(verdict, rule=f"{source}:{verdict.rule}")


def classify_exit(
    *,
    exit_code: int | None = None,
    exit_signal: int | None = None,
    stderr_tail: str = "",
    in_turn: bool = True,
) -> Verdict:
    """Classify the end of an agent's process.

    Args:
        exit_code: As the system or a shell reports it: N, 128+signal or -signal.
        exit_signal: The signal's number, if the system reported it separately.
        stderr_tail: The end of the process's stderr.
        in_turn: Whether a prompt was still open; an exit with 0 is then premature.
    """
    tail = clip(stderr_tail)
    evidence = Evidence(
        text=tail.strip(),
        process=ProcessEvidence(
            exit_code=exit_code, exit_signal=exit_signal, stderr_tail=tail, in_turn=in_turn
        ),
    )
    # What else stands there, such as a wait or a status, may be about another program's request.
    return msgspec.structs.replace(
        decide(evidence),
        retry_after_seconds=None,
        reset_at_epoch_ms=None,
        http_status=None,
        provider_code=None,
        source=None,
        request_id=None,
    )


def classify_spawn_failure(errno_value: int, command: str) -> Verdict:
    """Classify a process that never started, by the `errno` of the attempt."""
    words = {2: "not found", 8: "not executable", 13: "permission denied", 20: "not a directory"}
    description = words.get(errno_value, f"errno {errno_value}")
    return conclude(
        Conclusion(ErrorType.AGENT_CRASH, f"spawn:{errno_value}", "spawn_failed", retryable=False),
        Evidence(text=f"{clip(command, 400, 100)}: {description}"),
    )


def own_failure(
    type: ErrorType,  # noqa: A002 - the field's own name
    reason: str | None = None,
    *,
    detail: str | None = None,
) -> Verdict:
    """Return the verdict on a failure that lastword observed itself, such as a stall or a flood."""
    return Verdict(
        type=type,
        rule=f"own:{reason or type.value}",
        retryable=DEFAULTS[type].retryable and reason not in _HOPELESS_REASONS,
        reason=reason,
        origin=DEFAULTS[type].origin,
        detail=clip(detail) if detail else None,
    )
