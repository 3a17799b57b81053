"""The decision: evidence in, verdict out, first rule that matches wins.

The order is the point of this module: what a process did, then what the body says (words for
machines before sentences, both before the status), then how the transport failed, then the
status, then what prose may mean. What nothing matches is `unknown` and not retried.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from lastword.core.classify import messages, tokens, transport
from lastword.core.classify.evidence import Evidence, Verdict
from lastword.core.classify.process import Ending, is_spawn_text, read_ending
from lastword.core.classify.sources import read_request_id, read_source
from lastword.core.classify.statuses import RPC_CANCELLED, RPC_TYPES, type_of_status
from lastword.core.classify.text import normalise
from lastword.core.classify.waits import read_waits
from lastword.core.taxonomy import DEFAULTS, MAX_AUTO_WAIT_SECONDS, ErrorType, Origin

_MAX_CODE = 96
_CANCELLED_CLASSES = frozenset(
    normalise(name)
    for name in ["CancelledError", "Cancelled", "KeyboardInterrupt", "AbortError", "APIUserAbortError", "MessageAbortedError", "TurnAborted", "RequestAborted", "UserAbort"]
)
_PROCESS_CLASSES = {
    "clinotfound": ("spawn_failed", False),
    "process": ("exit_status", False),
    "calledprocess": ("exit_status", False),
    "cliconnection": ("spawn_failed", False),
}
_MISUSED_CLASSES = frozenset(
    normalise(name) for name in ["ResponseNotRead", "RequestNotRead", "StreamConsumed", "StreamError"]
)
_BUILTIN_ERRORS = frozenset(
    normalise(name)
    for name in ["ArithmeticError", "AssertionError", "AttributeError", "BufferError", "EOFError", "FileExistsError", "FileNotFoundError", "FloatingPointError", "ImportError", "IndexError", "IndentationError", "InterruptedError", "IsADirectoryError", "KeyError", "LookupError", "MemoryError", "ModuleNotFoundError", "NameError", "NotADirectoryError", "NotImplementedError", "OSError", "OverflowError", "PermissionError", "RecursionError", "ReferenceError", "RuntimeError", "StopAsyncIteration", "StopIteration", "SyntaxError", "SystemError", "TabError", "TypeError", "UnboundLocalError", "UnicodeError", "UnicodeEncodeError", "UnicodeTranslateError", "ValueError", "ZeroDivisionError", "BlockingIOError", "ChildProcessError", "InvalidStateError", "QueueFull", "QueueEmpty", "ReferenceError", "RangeError"]
)
_CLASS_TYPES = {
    "ratelimit": ErrorType.RATE_LIMIT,
    "toomanyrequests": ErrorType.RATE_LIMIT,
    "resourceexhausted": ErrorType.RATE_LIMIT,
    "authentication": ErrorType.AUTH,
    "permissiondenied": ErrorType.AUTH,
    "permission": ErrorType.AUTH,
    "forbidden": ErrorType.AUTH,
    "unauthorized": ErrorType.AUTH,
    "badrequest": ErrorType.INVALID_REQUEST,
    "unprocessableentity": ErrorType.INVALID_REQUEST,
    "invalidrequest": ErrorType.INVALID_REQUEST,
    "invalidargument": ErrorType.INVALID_REQUEST,
    "failedprecondition": ErrorType.INVALID_REQUEST,
    "conflict": ErrorType.INVALID_REQUEST,
    "notfound": ErrorType.MODEL_NOT_FOUND,
    "internalserver": ErrorType.PROVIDER_UNAVAILABLE,
    "serviceunavailable": ErrorType.PROVIDER_UNAVAILABLE,
    "badgateway": ErrorType.PROVIDER_UNAVAILABLE,
    "server": ErrorType.PROVIDER_UNAVAILABLE,
    "gatewaytimeout": ErrorType.TIMEOUT,
}


class Finding(msgspec.Struct, frozen=True):
    """What one rule concluded, before waits, ids and defaults are filled in."""

    type: ErrorType
    rule: str
    reason: str | None = None
    retryable: bool | None = None
    origin: Origin | None = None
    ending: Ending | None = None


def decide(evidence: Evidence) -> Verdict:
    """The verdict on the evidence. Total: what no rule matches is `unknown`."""
    for rule in RULES:
        finding = rule(evidence)
        if finding is not None:
            return conclude(finding, evidence)
    return conclude(Finding(ErrorType.UNKNOWN, "unmatched"), evidence)


def conclude(finding: Finding, evidence: Evidence) -> Verdict:
    """Fill in what holds whichever rule decided: waits, ids, retryability."""
    waits = read_waits(evidence)
    retryable = finding.retryable
    if retryable is None:
        retryable = DEFAULTS[finding.type].retryable
    too_long = (waits.retry_after_seconds or 0) > MAX_AUTO_WAIT_SECONDS
    ending = finding.ending
    code = evidence.raw_code
    if code is None and evidence.rpc_code is not None:
        code = str(evidence.rpc_code)
    return Verdict(
        type=finding.type,
        rule=finding.rule,
        retryable=retryable and not too_long and not _retry_refused(evidence),
        reason=finding.reason,
        origin=finding.origin or DEFAULTS[finding.type].origin,
        retry_after_seconds=waits.retry_after_seconds,
        reset_at_epoch_ms=waits.reset_at_epoch_ms,
        http_status=evidence.status,
        provider_code=code[:_MAX_CODE] if code else None,
        source=read_source(evidence),
        request_id=read_request_id(evidence),
        exit_code=ending.exit_code if ending else None,
        exit_signal=ending.signal if ending else None,
        detail=evidence.text or None,
    )


def _retry_refused(evidence: Evidence) -> bool:
    headers = evidence.headers
    return (
        headers.get("x-should-retry") == "false"
        or headers.get("x-llm-error-retryable") == "false"
        or evidence.fields.get("isretryable") == "false"
    )


def _process(evidence: Evidence) -> Finding | None:
    process = evidence.process
    if process is None:
        return None
    if process.alive:
        return Finding(ErrorType.AGENT_STALLED, "process:alive", "no_progress")
    ending = read_ending(
        process.exit_code, process.exit_signal, process.stderr_tail, in_turn=process.in_turn
    )
    kind = ErrorType.CANCELLED if ending.cancelled else ErrorType.AGENT_CRASH
    return Finding(kind, f"process:{ending.reason}", ending.reason, ending.retryable, ending=ending)


def _process_class(evidence: Evidence) -> Finding | None:
    """A program that could not be started, told by class; never by a text, which may be a tool's."""
    if not evidence.classes:
        return None
    top = normalise(evidence.classes[0])
    named = _PROCESS_CLASSES.get(top)
    if named is not None:
        return Finding(ErrorType.AGENT_CRASH, f"class:{top}", *named)
    if evidence.sdk_phase == "spawn":
        return Finding(ErrorType.AGENT_CRASH, "phase:spawn", "spawn_failed", retryable=False)
    return None


def _cancelled(evidence: Evidence) -> Finding | None:
    if evidence.rpc_code == RPC_CANCELLED:
        return Finding(ErrorType.CANCELLED, f"rpc:{RPC_CANCELLED}")
    if evidence.classes and normalise(evidence.classes[0]) in _CANCELLED_CLASSES:
        if "timeout" not in evidence.folded:
            return Finding(ErrorType.CANCELLED, f"class:{evidence.classes[0]}")
    return None


def _proposal_header(evidence: Evidence) -> Finding | None:
    stated = evidence.headers.get("x-llm-error-type")
    if stated:
        try:
            return Finding(ErrorType(stated.lower()), "header:x-llm-error-type")
        except ValueError:
            return None
    return None


def _certificate(evidence: Evidence) -> Finding | None:
    row = transport.CERTIFICATE
    if _names(evidence) & row.names or any(part in evidence.folded for part in row.phrases):
        return Finding(row.type, "transport:certificate", row.reason, row.retryable)
    return None


def _quota_window(evidence: Evidence) -> Finding | None:
    """Google names a quota's window in its id; Anthropic's plan windows are in headers."""
    for part, kind in tokens.WINDOW_WORDS.items():
        if kind is ErrorType.BUDGET and any(part in token for token in evidence.tokens):
            return Finding(kind, f"quota:{part}", part)
    for part, kind in tokens.WINDOW_WORDS.items():
        if any(part in token for token in evidence.tokens):
            return Finding(kind, f"quota:{part}", part)
    if evidence.headers.get("anthropic-ratelimit-unified-status") == "rejected":
        return Finding(ErrorType.BUDGET, "header:anthropic-unified-rejected", "usage_window")
    return None


def _strong(evidence: Evidence) -> Finding | None:
    """Words of the body and sentences that decide over the status, by type."""
    spoken = set(evidence.tokens)
    spoken.update(
        name for name in map(normalise, evidence.classes) if name not in tokens.GENERIC_CLASSES
    )
    for kind, words in tokens.STRONG.items():
        hit = spoken & words
        if hit:
            return Finding(kind, f"token:{min(hit)}")
        part = phrase_in(evidence.folded, messages.STRONG.get(kind, ()))
        if part is not None:
            memory = part == "requires more system memory"
            return Finding(kind, f"message:{part}", retryable=False if memory else None)
    return None


def _strong_words(evidence: Evidence) -> Finding | None:
    spoken = set(evidence.words) - tokens.GENERIC_CLASSES
    for kind, words in tokens.STRONG.items():
        hit = spoken & words
        if hit:
            return Finding(kind, f"word:{min(hit)}")
    return None


def _rpc_code(evidence: Evidence) -> Finding | None:
    named = RPC_TYPES.get(evidence.rpc_code) if evidence.rpc_code is not None else None
    if named is None:
        return None
    kind, reason = named
    origin = (
        Origin.CLIENT
        if reason in {"parse_error", "invalid_frame", "method_not_found", "invalid_params"}
        else None
    )
    return Finding(kind, f"rpc:{evidence.rpc_code}", reason, origin=origin)


def _weak_tokens(evidence: Evidence) -> Finding | None:
    for kind, words in tokens.WEAK.items():
        hit = words.intersection(evidence.tokens)
        if hit and not (
            kind is ErrorType.PROVIDER_UNAVAILABLE and evidence.rpc_code is None and False
        ):
            return Finding(kind, f"weak:{min(hit)}")
    return None


def _weak_words(evidence: Evidence) -> Finding | None:
    spoken = set(evidence.words) - {"notfound"}
    hit = tokens.WEAK[ErrorType.INVALID_REQUEST] & spoken
    return Finding(ErrorType.INVALID_REQUEST, f"word:{min(hit)}") if hit else None


def _transport_class(evidence: Evidence) -> Finding | None:
    if evidence.status is not None and evidence.status_stated:
        return None
    names = _names(evidence)
    for phrased in (False, True):
        for row in transport.ROWS:
            hit = row.names & names
            if not phrased and hit and row.type is not ErrorType.NETWORK:
                return Finding(row.type, f"transport:{min(hit)}", row.reason, row.retryable)
        if phrased:
            break
    for row in transport.ROWS:
        hit = row.names & names
        part = phrase_in(evidence.folded, row.phrases) if row.type is ErrorType.NETWORK else None
        if hit or (part is not None and names & _ALL_TRANSPORT_NAMES):
            rule = min(hit) if hit else part
            return Finding(row.type, f"transport:{rule}", row.reason, row.retryable)
    return None


_ALL_TRANSPORT_NAMES = frozenset(name for row in transport.ROWS for name in row.names)


def _transport_text(evidence: Evidence) -> Finding | None:
    if evidence.status is not None:
        return None
    for line in evidence.text.splitlines()[:4]:
        reason = transport.EXACT_MESSAGES.get(line.strip().lower())
        if reason is not None and len(evidence.text) < 64:  # noqa: PLR2004
            return Finding(ErrorType.NETWORK, "transport:exact", reason)
    for row in transport.ROWS:
        part = phrase_in(evidence.folded, row.phrases)
        if part is not None:
            return Finding(row.type, f"transport:{part}", row.reason, row.retryable)
    return None


def _class_name(evidence: Evidence) -> Finding | None:
    for name in evidence.classes:
        bare = normalise(name)
        if bare in _MISUSED_CLASSES:
            return Finding(ErrorType.INTERNAL, f"class:{bare}", "uncaught_exception")
        kind = _CLASS_TYPES.get(bare)
        if kind is not None and evidence.status is None:
            return Finding(kind, f"class:{bare}")
    return None


def _status(evidence: Evidence) -> Finding | None:
    if evidence.status is None:
        return None
    return Finding(type_of_status(evidence.status), f"status:{evidence.status}")


def _weak_message(evidence: Evidence) -> Finding | None:
    for kind, parts in messages.WEAK.items():
        part = phrase_in(evidence.folded, parts)
        if part is None:
            continue
        if kind is ErrorType.AGENT_CRASH:
            return _crash_text(evidence, part)
        return Finding(kind, f"text:{part}")
    for name in evidence.words:
        kind_of = _CLASS_TYPES.get(name)
        if kind_of is not None:
            return Finding(kind_of, f"word:{name}")
    return None


def _crash_text(evidence: Evidence, part: str) -> Finding:
    failed_start = is_spawn_text(evidence.folded) or "127" in evidence.folded
    signalled = "signal" in evidence.folded or "unexpectedly" in part or "memory" in part
    return Finding(
        ErrorType.AGENT_CRASH,
        f"text:{part}",
        "spawn_failed" if failed_start else None,
        retryable=signalled and not failed_start,
    )


def _builtin(evidence: Evidence) -> Finding | None:
    if evidence.classes and normalise(evidence.classes[0]) in _BUILTIN_ERRORS:
        return Finding(ErrorType.INTERNAL, f"class:{evidence.classes[0]}", "uncaught_exception")
    if evidence.rpc_code == -32603 and evidence.folded in {"", "internal error"}:  # noqa: PLR2004
        return Finding(ErrorType.INTERNAL, "rpc:-32603")
    return None


def _names(evidence: Evidence) -> set[str]:
    """Class names, body words and words of prose, spelled as transport rows have them."""
    bare = {"".join(filter(str.isalnum, name)).lower() for name in evidence.classes}
    stripped = {name.removeprefix("ai") for name in bare if name.startswith("ai")}
    return bare | stripped | set(evidence.tokens) | set(evidence.words)


def phrase_in(folded: str, parts: tuple[str, ...]) -> str | None:
    """The first of the parts that occurs in the text; ` .. ` stands for up to 80 characters."""
    for part in parts:
        if messages.GAP in part:
            if _gapped(folded, part):
                return part
        elif part in folded:
            return part
    return None


def _gapped(folded: str, part: str) -> bool:
    head, _, tail = part.partition(messages.GAP)
    start = folded.find(head)
    while start >= 0:
        end = start + len(head)
        if tail in folded[end : end + messages.MAX_GAP_CHARS + len(tail)]:
            return True
        start = folded.find(head, end)
    return False


RULES: tuple[Callable[[Evidence], Finding | None], ...] = (
    _process,
    _process_class,
    _cancelled,
    _proposal_header,
    _certificate,
    _quota_window,
    _strong,
    _strong_words,
    _rpc_code,
    _weak_tokens,
    _transport_class,
    _weak_words,
    _class_name,
    _status,
    _transport_text,
    _weak_message,
    _builtin,
)
