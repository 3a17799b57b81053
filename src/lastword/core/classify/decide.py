"""The decision: evidence in, verdict out; the first rule that matches wins.

The order is the point of this module: what a process did, then what the body says (machine-readable
words before sentences, both before the status), then how the transport failed, then the status,
then what prose may mean. A failure that nothing matches is `unknown`, and is not retried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.classify import messages, own_rows, rules
from lastword.core.classify.evidence import Conclusion, Evidence, Verdict
from lastword.core.classify.text import MAX_TOKEN_CHARS, normalise
from lastword.core.classify.tokens import BUGS
from lastword.core.classify.waits import read_waits
from lastword.core.failure.taxonomy import (
    DEFAULTS,
    MAX_AUTO_WAIT_SECONDS,
    PLAN_WINDOW,
    ErrorType,
    Origin,
)
from lastword.core.protocol import acp

if TYPE_CHECKING:
    from collections.abc import Callable

DAY_SECONDS = 86_400

RULES: tuple[Callable[[Evidence], Conclusion | None], ...] = (
    rules.process,
    rules.process_class,
    rules.cancelled,
    own_rows.own_row,
    rules.proposal_header,
    rules.tool_server,
    rules.certificate,
    rules.bug,
    rules.process_words,
    rules.agent_words,
    rules.client_blamed,
    rules.quota_window,
    rules.model_denied,
    rules.strong,
    rules.strong_words,
    rules.word_parts,
    rules.spoken,
    rules.protocol_version,
    rules.rpc_code,
    rules.blamed_concept,
    rules.weak_tokens,
    rules.transport_failure,
    rules.weak_words,
    rules.class_name,
    rules.status,
    rules.other_language,
    rules.weak_message,
    rules.concept,
    rules.mentioned,
    rules.builtin,
)


def decide(evidence: Evidence) -> Verdict:
    """Return the verdict on the evidence; without a matching rule, it is `unknown`."""
    findings = (finding for rule in RULES if (finding := rule(evidence)) is not None)
    return conclude(next(findings, Conclusion(ErrorType.UNKNOWN, "unmatched")), evidence)


def conclude(finding: Conclusion, evidence: Evidence) -> Verdict:
    """Fill in everything that does not depend on the rule: waits, ids, retryability."""
    waits = read_waits(evidence)
    defaults = DEFAULTS[finding.type]
    retryable = defaults.retryable if finding.retryable is None else finding.retryable
    too_long = (waits.retry_after_seconds or 0) > MAX_AUTO_WAIT_SECONDS
    # A server that calls a retry pointless is believed; the opposite claim is ignored.
    refused = (
        evidence.headers.get("x-should-retry", "").lower() == "false"
        or evidence.headers.get("x-llm-error-retryable", "").lower() == "false"
        or evidence.fields.get("isretryable") == "false"
    )
    code = evidence.raw_code
    if code is None and evidence.rpc_code not in {None, *acp.JSONRPC_CODES}:
        code = str(evidence.rpc_code)
    reason = finding.reason
    if not reason:
        shown = (
            reason
            for of_type, reason, signs in messages.REASONS
            if of_type == finding.type and any(sign in evidence.folded for sign in signs)
        )
        unreadable = finding.type is ErrorType.PROTOCOL_ERROR
        reason = next(shown, UNREADABLE if unreadable else None)
    origin = Origin.PROVIDER if reason == UNREADABLE else defaults.origin
    ids = (
        *(evidence.headers.get(name) for name in _ID_HEADERS),
        *(evidence.fields.get(key) for key in _ID_FIELDS),
    )
    request_id = next((value for value in ids if isinstance(value, str) and value), None)
    detail, name = evidence.text, finding.rule.removeprefix("class:")
    if name != finding.rule and (not detail or normalise(name) in BUGS):
        detail = f"{name}: {detail}".removesuffix(": ")  # a bug has its class: `KeyError: 'name'`
    ending = finding.ending
    verdict = Verdict(
        type=finding.type,
        rule=finding.rule,
        retryable=retryable and not too_long and not refused,
        refused=refused or finding.retryable is False,
        reason=reason,
        origin=finding.origin or origin,
        retry_after_seconds=waits.retry_after_seconds,
        reset_at_epoch_ms=waits.reset_at_epoch_ms,
        http_status=evidence.status,
        provider_code=code[:MAX_TOKEN_CHARS] if code else None,
        source=_read_source(evidence),
        request_id=request_id and request_id[:_MAX_ID],
        exit_code=ending.exit_code if ending else None,
        exit_signal=ending.signal if ending else None,
        detail=detail or None,
    )
    if verdict.type is ErrorType.BUDGET and verdict.reason == PLAN_WINDOW:
        return of_plan_window(verdict, waits.retry_after_seconds)
    return verdict


def of_plan_window(verdict: Verdict, left_seconds: int | None) -> Verdict:
    """Return the verdict on a used-up window of a plan, by when it opens again.

    Within a day it is a `rate_limit`, which a retry helps once it is over. Otherwise, or if the
    moment is unknown, it is a `budget`.
    """
    if left_seconds is None or left_seconds >= DAY_SECONDS:
        return msgspec.structs.replace(verdict, type=ErrorType.BUDGET, retryable=False)
    near = left_seconds <= MAX_AUTO_WAIT_SECONDS and not verdict.refused
    return msgspec.structs.replace(verdict, type=ErrorType.RATE_LIMIT, retryable=near)


UNREADABLE = "not_http"
"""The reason if the provider's answer could not be read, or was empty.

An agent that reports such an answer in words means the provider's: an unreadable message of its own
has no words.
"""

_MODULES = {
    "anthropic": "anthropic",
    "botocore": "bedrock",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "dashscope": "dashscope",
    "google": "google",
    "groq": "groq",
    "mistralai": "mistral",
    "ollama": "ollama",
    "together": "together",
}
"""First component of an exception's module; `openai` is left out, as every gateway speaks it."""

_ID_HEADERS = (
    "request-id",
    "x-request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "x-goog-request-id",
)
_ID_FIELDS = ("requestid", "awsrequestid")
_MAX_NAME = 64
_MAX_ID = 128


def _read_source(evidence: Evidence) -> str | None:
    """Return the provider's name, in lower case."""
    stated = evidence.fields.get("providername")
    if isinstance(stated, str) and stated.strip() and len(stated) <= _MAX_NAME:
        return stated.strip().lower()
    for module in evidence.modules:
        name = _MODULES.get(module.partition(".")[0])
        if name is not None:
            return name
    if any(name.startswith("anthropic-ratelimit-") for name in evidence.headers):
        return "anthropic"
    for name, signs in messages.SOURCES.items():
        if any(sign in evidence.folded for sign in signs):
            return name
    return None
