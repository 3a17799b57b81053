"""The rules, one function each: evidence in, a finding or `None` out.

Each finding names its rule down to the row that matched (`message:prompt is too long`), so that a
wrong verdict leads straight to the table to change. `decide` holds their order. The rows of
transport failures and their order are in `transport.json`: they count only if there was no HTTP
status, except for certificate failures, which no status can excuse, and every class of a cause
chain counts.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec

from lastword.core.classify import messages, tokens
from lastword.core.classify.concepts import (
    BLAMED,
    SPELLED,
    read_concept,
    read_latin,
    read_other_alphabet,
)
from lastword.core.classify.evidence import Conclusion, Evidence
from lastword.core.classify.process import (
    is_spawn_text,
    read_crash,
    read_ending,
    read_start_failure,
)
from lastword.core.classify.text import (
    names,
    normalise,
    phrase_in,
    spelled_out,
    without_advice,
    without_rpc_words,
)
from lastword.core.classify.tokens import (
    AGENT_RPC_TYPES,
    AGENT_SENTENCES,
    AGENT_WORDS,
    DECISIVE,
    PAYMENT_REQUIRED,
    REQUEST_BLAMED,
    REQUEST_TIMEOUT,
    RPC_TYPES,
    TOO_MANY_REQUESTS,
    type_of_status,
)
from lastword.core.classify.waits import read_seconds
from lastword.core.failure.taxonomy import DEFAULTS, MAX_AUTO_WAIT_SECONDS, ErrorType, Origin
from lastword.core.protocol import acp
from lastword.quirks import FailureGroup, failure_groups
from lastword.quirks.agents import agent_key


class TransportRow(msgspec.Struct, frozen=True):
    """One kind of transport failure.

    `names` are class names and errno names; `phrases` are lower-case parts of messages.
    """

    type: ErrorType
    reason: str
    retryable: bool
    names: frozenset[str]
    phrases: tuple[str, ...]
    ascii_phrases: tuple[str, ...]

    def phrases_for(self, folded: str) -> tuple[str, ...]:
        """Return the phrases that a text may hold: most texts are plain ASCII."""
        return self.ascii_phrases if folded.isascii() else self.phrases


_GROUPS = failure_groups("transport")
SPOKEN = {str(group.reason): group.matches for group in _GROUPS if group.tier == "spoken"}
"""Sentences of systems and transports in other languages than English, by their row's reason."""


def _row(group: FailureGroup) -> TransportRow:
    phrases = tuple(
        phrase
        for tier in ("phrase", "spoken")
        for each in _GROUPS
        if (each.tier, each.reason) == (tier, group.reason)
        for phrase in each.matches
    )
    return TransportRow(
        type=ErrorType(group.type),
        reason=str(group.reason),
        retryable=group.retryable is True,
        names=names(group.matches),
        phrases=phrases,
        ascii_phrases=tuple(filter(str.isascii, phrases)),
    )


CERTIFICATE, *_ROWS = (_row(group) for group in _GROUPS if group.tier == "name")
ROWS = tuple(_ROWS)

EXACT_MESSAGES = {
    message: group.reason for group in _GROUPS if group.tier == "whole" for message in group.matches
}
"""Whole messages that mean a lost connection, and that would be too common as parts."""


_MODEL_DENIED = (
    r"(?:\b(?:not|no|without|lacks?|denied|cannot)|n't)\b[^.;:]{0,24}?"
    r"\b(access|permission|permitted|authori[sz]ed|allowed|entitled)\b"
    r"(?: \w{1,30}){0,2}? (?:to|for|use) (?:\w{1,30} ){0,3}?models?\b"
    r"(?! with the specified)"
)
_BRACKETED = r"\[([a-z]+(?:_[a-z]+)*_error)\]"

_SPOKEN_LAST = (ErrorType.AUTH, ErrorType.RATE_LIMIT, ErrorType.PROVIDER_UNAVAILABLE)

MIN_COMMON = 2
"""The common words of a language in the Latin alphabet that show that a text is not English."""

_PLAN = (
    r"\b(?:(upgrade to (?:chatgpt )?(?:plus|pro|max|team|ultra|premium|business|a higher|a paid)"
    r"|your (?:current |free )?plan\b|out of \w{1,20} messages)"
    r"|(?:resets?|renews?|refill\w*|(?:try|available) again|until|reset time)"
    r"(?: (?:on|at|is))?:? ((?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? \d{1,2}\b))"
)
"""Words of a plan, and a day of the calendar: a limit that resets on one is a budget."""

_EXIT_CODE = (
    r"(?:exit(?:ed)?|terminated|failed) (?:with )?(?:exit )?(?:code|status):? ?(-?\d{1,10})\b"
)
"""An exit code in prose: `process exited with code 143`."""

_TYPES_BY_NAME = {kind.value: kind for kind in ErrorType}
_TRANSPORT_NAMES = frozenset(name for row in ROWS for name in row.names)


def process(evidence: Evidence) -> Conclusion | None:
    """A process that ended, or that is alive and does nothing."""
    facts = evidence.process
    if facts is None:
        return None
    if facts.alive:
        return Conclusion(ErrorType.AGENT_STALLED, "process:alive", "no_progress")
    ending = read_ending(
        facts.exit_code, facts.exit_signal, facts.stderr_tail, in_turn=facts.in_turn
    )
    kind = ErrorType.CANCELLED if ending.cancelled else ErrorType.AGENT_CRASH
    return Conclusion(
        kind, f"process:{ending.reason}", ending.reason, ending.retryable, ending=ending
    )


def process_class(evidence: Evidence) -> Conclusion | None:
    """A failed child process, recognised by class; never by text, which may be a tool's."""
    if evidence.sdk_phase == "spawn":
        return Conclusion(ErrorType.AGENT_CRASH, "phase:spawn", "spawn_failed", retryable=False)
    if not evidence.classes:
        return None
    top = normalise(evidence.classes[0])
    named = tokens.PROCESS.get(top)
    return Conclusion(ErrorType.AGENT_CRASH, f"class:{top}", *named) if named else None


def cancelled(evidence: Evidence) -> Conclusion | None:
    """A cancel by the user or the client."""
    if evidence.rpc_code == acp.REQUEST_CANCELLED:
        return Conclusion(ErrorType.CANCELLED, f"rpc:{acp.REQUEST_CANCELLED}")
    if not evidence.classes or normalise(evidence.classes[0]) not in tokens.CANCELLED:
        return None
    if "timeout" in evidence.folded or "timed out" in evidence.folded:
        return None
    return Conclusion(ErrorType.CANCELLED, f"class:{evidence.classes[0]}")


def proposal_header(evidence: Evidence) -> Conclusion | None:
    """A gateway that already follows the `agent_error` proposal."""
    kind = _TYPES_BY_NAME.get(evidence.headers.get("x-llm-error-type", "").lower())
    return Conclusion(kind, "header:x-llm-error-type") if kind else None


def certificate(evidence: Evidence) -> Conclusion | None:
    """A certificate that could not be verified, whatever status a gateway gave it."""
    row = CERTIFICATE
    hit = _names(evidence) & row.names
    part = min(hit) if hit else phrase_in(evidence.folded, row.phrases_for(evidence.folded))
    return Conclusion(row.type, f"transport:{part}", row.reason, row.retryable) if part else None


def bug(evidence: Evidence) -> Conclusion | None:
    """A bug in the agent: `KeyError: 'rate_limit'` is not a rate limit."""
    classes, modules = evidence.classes, evidence.modules
    if not classes:
        return None
    finding = Conclusion(ErrorType.INTERNAL, f"class:{classes[0]}", "uncaught_exception")
    if modules[0] == "lastword.errors":
        return finding if normalise(classes[0]) in tokens.OWN_BUGS else None
    if evidence.status is not None or evidence.process:
        return None
    # Python's own exceptions from the agent's code may list type names or mention an API key with
    # no provider involved. The text of a transport, and one with an HTTP status, are believed
    # whichever code raised them.
    chain = zip(modules, classes, strict=True)
    if (
        evidence.raiser == "agent"
        and all(module == "builtins" and tokens.is_builtin(module, name) for module, name in chain)
        and evidence.sdk_phase is None
        and transport_failure(evidence) is None
    ):
        return finding
    if len(classes) != 1 or evidence.raiser == "provider":
        return None
    is_language = modules[0] in {"builtins", "java.lang"}
    return finding if is_language and normalise(classes[0]) in tokens.BUGS else None


def agent_words(evidence: Evidence) -> Conclusion | None:
    """A name or a sentence that only one agent uses for a failure."""
    key = agent_key(evidence.agent)
    for word in (*evidence.tokens, *map(normalise, evidence.classes), *evidence.words):
        agent, kind, reason = AGENT_WORDS.get(word, ("", ErrorType.UNKNOWN, None))
        if agent and key in {None, agent}:
            return Conclusion(kind, f"agent:{agent}:{word}", reason)
    for parts, (agent, kind, reason) in AGENT_SENTENCES.items():
        if key in {None, agent} and all(part in evidence.folded for part in parts):
            return Conclusion(kind, f"agent:{agent}:{parts[0]}", reason)
    return None


def tool_server(evidence: Evidence) -> Conclusion | None:
    """A failure of an MCP server, which is not the model provider's and which no retry helps."""
    if evidence.process is not None or (evidence.status is not None and evidence.status_stated):
        return None
    part = phrase_in(evidence.folded, messages.TOOL_SERVERS)
    if (
        part is None
        or evidence.folded.startswith("api error")
        or phrase_in(evidence.folded, messages.FAILED) is None
    ):
        return None
    kind = ErrorType.UNKNOWN if evidence.rpc_code is None else ErrorType.INTERNAL
    return Conclusion(kind, f"message:{part}", "tool_server", origin=Origin.AGENT)


def quota_window(evidence: Evidence) -> Conclusion | None:
    """A used-up quota: Google names its window in an id, Anthropic in headers."""
    for part, (kind, reason) in tokens.WINDOW_WORDS.items():
        if any(part in token for token in evidence.tokens):
            return Conclusion(kind, f"quota:{part}", reason)
    if evidence.headers.get("anthropic-ratelimit-unified-status") == "rejected":
        return Conclusion(ErrorType.BUDGET, "header:anthropic-unified-rejected", "usage_window")
    return None


@cache
def _pattern(source: str) -> re.Pattern[str]:
    """Compile on first use."""
    return re.compile(source)


def client_blamed(evidence: Evidence) -> Conclusion | None:
    """A client that is too old for the service, or that sends invalid requests."""
    part = phrase_in(evidence.folded, messages.CLIENT_BLAMED)
    # A model that needs a newer server says so too, and another one may be loaded there.
    if part is None or ("version" in part and "model" in evidence.folded):
        return None
    return Conclusion(ErrorType.INVALID_REQUEST, f"message:{part}")


def model_denied(evidence: Evidence) -> Conclusion | None:
    """A model that this key or plan may not use: a sentence denies access and names a model."""
    if "model" not in evidence.folded:
        return None
    if tokens.STRONG[ErrorType.AUTH] & {*evidence.tokens, *evidence.words}:
        return None
    match = _pattern(_MODEL_DENIED).search(evidence.folded)
    return Conclusion(ErrorType.MODEL_NOT_FOUND, f"message:{match[1]} .. model") if match else None


def strong(evidence: Evidence) -> Conclusion | None:
    """Words of the body, class names and sentences that outrank the status, by type."""
    folded, outranked = evidence.folded, _outranked(evidence.status)
    spoken = set(evidence.tokens)
    spoken.update(
        name for name in map(normalise, evidence.classes) if name not in tokens.GENERIC_CLASSES
    )
    spoken -= outranked
    if spoken & tokens.VAGUE and evidence.status is None and transport_failure(evidence):
        spoken -= tokens.VAGUE
    for kind, words in tokens.STRONG.items():
        hit = spoken & words
        if hit:
            return Conclusion(kind, f"token:{min(hit)}")
        if phrase_in(folded, messages.UNLESS.get(kind, ())):
            continue
        part = phrase_in(folded, messages.STRONG[kind])
        if part is None and kind not in _SPOKEN_LAST:
            part = messages.spoken_in(folded, kind)
        if part is None and kind is ErrorType.BUDGET and not _is_short_window(evidence):
            part = phrase_in(folded, messages.QUOTA)
            plan = _pattern(_PLAN).search(folded) if part is None and "limit" in folded else None
            if plan is not None:
                part = plan[1] or plan[2]
        if part is not None and normalise(part) not in outranked:
            hopeless = part in messages.HOPELESS
            return Conclusion(kind, f"message:{part}", retryable=False if hopeless else None)
    return None


def _outranked(status: int | None) -> frozenset[str]:
    """Return the words that say less than this status."""
    if status is None:
        return frozenset()
    if status == PAYMENT_REQUIRED:
        return tokens.PASSING
    if status == TOO_MANY_REQUESTS:
        return tokens.LONG_INPUT
    return tokens.VAGUE if status in DECISIVE else frozenset()


def _is_short_window(evidence: Evidence) -> bool:
    """Return whether a used-up quota is soon restored, by its window or else by the wait."""
    if phrase_in(evidence.folded, messages.PER_DAY):
        return False
    if phrase_in(evidence.folded, messages.PER_MINUTE) or "throttl" in evidence.folded:
        return True
    seconds = read_seconds(evidence)
    return seconds is not None and seconds <= MAX_AUTO_WAIT_SECONDS


def spoken(evidence: Evidence) -> Conclusion | None:
    """A sentence in another language, on what the body's words and a decisive status state better.

    Sentences on money, length, content or a model are among the English ones.
    """
    kinds: tuple[ErrorType, ...] = _SPOKEN_LAST
    if evidence.status == TOO_MANY_REQUESTS:
        kinds = (ErrorType.PROVIDER_UNAVAILABLE,)
    elif evidence.status is not None and evidence.status not in REQUEST_BLAMED:
        return None
    for kind in kinds:
        part = messages.spoken_in(evidence.folded, kind)
        if part is not None:
            return Conclusion(kind, f"message:{part}")
    return None


def strong_words(evidence: Evidence) -> Conclusion | None:
    """The same words in prose."""
    spoken = set(evidence.words) - tokens.GENERIC_CLASSES - _outranked(evidence.status)
    for kind, words in tokens.STRONG.items():
        hit = spoken & words
        if hit:
            return Conclusion(kind, f"word:{min(hit)}")
    return None


def word_parts(evidence: Evidence) -> Conclusion | None:
    """Words outside all lists, recognised by an informative part of them."""
    if transport_failure(evidence):
        return None
    words = (*evidence.tokens, *map(normalise, evidence.classes))
    spoken = [word for word in words if word not in tokens.LISTED]
    # `file_size_limit_exceeded` with a 400 is not a rate limit: the request would fail again.
    status = TOO_MANY_REQUESTS if evidence.status is None else evidence.status
    is_request_blamed = status < TOO_MANY_REQUESTS and status != REQUEST_TIMEOUT
    for kind, parts in tokens.PARTS.items():
        if DEFAULTS[kind].retryable and is_request_blamed:
            continue
        if kind is ErrorType.BUDGET and _is_short_window(evidence):
            continue
        hit = next((part for part in parts if any(part in word for word in spoken)), None)
        if hit is not None:
            return Conclusion(kind, f"part:{hit}")
    return None


def protocol_version(evidence: Evidence) -> Conclusion | None:
    """Two programs with different versions of ACP or MCP; TLS and HTTP have versions too."""
    part = phrase_in(evidence.folded, messages.PROTOCOL_VERSION)
    if part is None or phrase_in(evidence.folded, messages.OTHER_PROTOCOLS):
        return None
    return Conclusion(ErrorType.PROTOCOL_ERROR, f"message:{part}", "protocol_version")


def rpc_code(evidence: Evidence) -> Conclusion | None:
    """A JSON-RPC code with its own meaning."""
    code = evidence.rpc_code
    if code is None:
        return None
    # An agent's own code counts for that agent, and also if the agent is unknown.
    key = agent_key(evidence.agent)
    own = (types for agent, types in AGENT_RPC_TYPES.items() if key in {None, agent})
    row = next((types[code] for types in (RPC_TYPES, *own) if code in types), None)
    if row is None or _is_internal_error(evidence):
        return None
    kind, reason, origin = row
    return Conclusion(kind, f"rpc:{code}", reason, origin=origin)


def weak_tokens(evidence: Evidence) -> Conclusion | None:
    """Words of the body that say little, such as `invalid_request_error`."""
    for kind, words in tokens.WEAK.items():
        hit = words.intersection(evidence.tokens) - _outranked(evidence.status)
        # "INTERNAL" in an agent's own error object may just as well be the agent's bug.
        agents_own = kind is ErrorType.PROVIDER_UNAVAILABLE and evidence.rpc_code is not None
        overruled = kind is ErrorType.INVALID_REQUEST and _is_status_finer(evidence.status)
        if hit and not agents_own and not overruled:
            return Conclusion(kind, f"weak:{min(hit)}")
    return None


def _is_status_finer(status: int | None) -> bool:
    """Return whether a status says more than "invalid request", which half of all failures say."""
    if status is None or status >= 500:  # noqa: PLR2004 - RFC 9110: 5xx is the server's fault
        return False
    return type_of_status(status) is not ErrorType.INVALID_REQUEST


def transport_failure(evidence: Evidence) -> Conclusion | None:
    """A connection that failed without a status: class names, errno names, sentences."""
    # aiohttp itself makes up a 400 if the answer was not HTTP at all.
    names = _names(evidence)
    has_say = evidence.status_stated or not names & _TRANSPORT_NAMES
    no_http = "status line" in evidence.folded or "expected http/" in evidence.folded
    if evidence.status is not None and has_say and not no_http:
        return None
    for row in ROWS:
        hit, phrases = row.names & names, row.phrases_for(evidence.folded)
        part = min(hit) if hit else phrase_in(evidence.folded, phrases)
        if part is not None:
            return Conclusion(row.type, f"transport:{part}", row.reason, row.retryable)
    folded = without_rpc_words(evidence.folded).strip().removeprefix("typeerror: ")
    reason = EXACT_MESSAGES.get(folded)
    return Conclusion(ErrorType.NETWORK, f"transport:{folded}", reason) if reason else None


def weak_words(evidence: Evidence) -> Conclusion | None:
    """`[invalid_request_error]` inside prose."""
    spoken = set(evidence.words) - tokens.GENERIC_CLASSES
    spoken.update(map(normalise, _pattern(_BRACKETED).findall(evidence.folded)))
    for kind in (ErrorType.MODEL_NOT_FOUND, ErrorType.INVALID_REQUEST):
        hit = tokens.WEAK[kind] & spoken
        overruled = kind is ErrorType.INVALID_REQUEST and _is_status_finer(evidence.status)
        if hit and not overruled:
            return Conclusion(kind, f"word:{min(hit)}")
    return None


def class_name(evidence: Evidence) -> Conclusion | None:
    """Classes that stand for a status, if the status itself is missing."""
    for name in map(normalise, evidence.classes):
        if name in tokens.MISUSE:
            return Conclusion(ErrorType.INTERNAL, f"class:{name}", "uncaught_exception")
        if evidence.status is None:
            blaming = (ErrorType.MODEL_NOT_FOUND, ErrorType.INVALID_REQUEST)
            weak = (kind for kind in blaming if name in tokens.WEAK[kind])
            kind = tokens.BY_STATUS.get(name) or next(weak, None)
            if kind is not None:
                return Conclusion(kind, f"class:{name}")
    return None


def status(evidence: Evidence) -> Conclusion | None:
    """The HTTP status."""
    if evidence.status is None:
        return None
    return Conclusion(type_of_status(evidence.status), f"status:{evidence.status}")


def weak_message(evidence: Evidence) -> Conclusion | None:
    """A failure that prose may mean, if nothing else is left."""
    for kind, parts in messages.WEAK.items():
        part = phrase_in(evidence.folded, parts)
        if part is not None:
            return (
                _crash_text(evidence, f"text:{part}")
                if kind is ErrorType.AGENT_CRASH
                else Conclusion(kind, f"text:{part}")
            )
    for name in evidence.words:
        if name in tokens.BY_STATUS:
            return Conclusion(tokens.BY_STATUS[name], f"word:{name}")
    return None


def mentioned(evidence: Evidence) -> Conclusion | None:
    """A failure that prose only mentions, if no two words of it belong together."""
    folded, spelled = map(without_advice, (evidence.folded, spelled_out(evidence.text)))
    for kind, parts in messages.MENTIONED.items():
        part = phrase_in(folded, parts) or phrase_in(spelled, parts)
        if part is not None:
            return Conclusion(kind, f"text:{part}")
    return None


def _crash_text(evidence: Evidence, rule: str) -> Conclusion:
    """A process's end reported in prose; only a signal or an unrequested end is worth a retry."""
    unable = read_start_failure(evidence.folded)
    if unable is not None:
        return Conclusion(ErrorType.AGENT_CRASH, rule, unable, retryable=False)
    code = re.search(_EXIT_CODE, evidence.folded)
    if code is not None and not is_spawn_text(evidence.folded):
        ending = read_ending(int(code[1]), None, evidence.folded)
        if ending.signal is not None and not ending.cancelled:
            return Conclusion(ErrorType.AGENT_CRASH, rule, ending.reason, ending.retryable)
    if is_spawn_text(evidence.folded):
        return Conclusion(ErrorType.AGENT_CRASH, rule, "spawn_failed", retryable=False)
    sudden = any(sign in evidence.folded for sign in ("signal", "unexpectedly", "memory", "fault"))
    return Conclusion(ErrorType.AGENT_CRASH, rule, retryable=sudden)


def blamed_concept(evidence: Evidence) -> Conclusion | None:
    """Two words close together, if everything else only blames the request."""
    blamed = tokens.WEAK[ErrorType.INVALID_REQUEST].intersection(evidence.tokens)
    if evidence.status not in REQUEST_BLAMED and (evidence.status is not None or not blamed):
        return None
    match = read_concept(evidence.folded, BLAMED) or _in_other_language(evidence.folded, BLAMED)
    return Conclusion(match[0], f"concept:{match[1]}") if match else None


def process_words(evidence: Evidence) -> Conclusion | None:
    """A process's end in the words that runtimes and shells have for it."""
    crash = read_crash(evidence.text, evidence.folded) if evidence.status is None else None
    if crash is None or phrase_in(evidence.folded, messages.PROVIDERS_PROCESS):
        return None
    sign, ending = crash
    return Conclusion(ErrorType.AGENT_CRASH, f"crash:{sign}", ending.reason, ending.retryable)


def _in_other_language(
    folded: str, kinds: frozenset[ErrorType] | None = None, *, least: int = 1
) -> tuple[ErrorType, str] | None:
    return read_other_alphabet(folded, kinds) or read_latin(folded, kinds, least=least)


def other_language(evidence: Evidence) -> Conclusion | None:
    """Two words close together in a language that is plainly not English."""
    return _of_pair(evidence, _in_other_language(evidence.folded, least=MIN_COMMON))


def concept(evidence: Evidence) -> Conclusion | None:
    """Two words close together, if nothing else is left."""
    folded = without_rpc_words(evidence.folded)
    spelled = without_rpc_words(spelled_out(evidence.text))
    match = read_concept(folded) or read_concept(spelled, SPELLED)
    return _of_pair(evidence, match or _in_other_language(folded))


def _of_pair(evidence: Evidence, match: tuple[ErrorType, str] | None) -> Conclusion | None:
    classes = evidence.classes
    if match is None or (classes and tokens.is_builtin(evidence.modules[0], classes[0])):
        return None
    kind, rule = match[0], f"concept:{match[1]}"
    return _crash_text(evidence, rule) if kind is ErrorType.AGENT_CRASH else Conclusion(kind, rule)


def builtin(evidence: Evidence) -> Conclusion | None:
    """A language's own exception, or an internal error that says no more than that."""
    if evidence.classes and tokens.is_builtin(evidence.modules[0], evidence.classes[0]):
        return Conclusion(ErrorType.INTERNAL, f"class:{evidence.classes[0]}", "uncaught_exception")
    # Most agents send every failure with this code.
    is_empty = evidence.rpc_code == acp.INTERNAL_ERROR and not evidence.folded
    if is_empty or _is_internal_error(evidence):
        return Conclusion(ErrorType.INTERNAL, f"rpc:{evidence.rpc_code}")
    if f"{acp.INTERNAL_ERROR}: internal error" in evidence.folded:  # as Rust prints it in a log
        return Conclusion(ErrorType.INTERNAL, f"rpc:{acp.INTERNAL_ERROR}")
    return None


def _is_internal_error(evidence: Evidence) -> bool:
    """Return whether an error has JSON-RPC's own words for its code -32603, and no others.

    With any code, they mean a bug of the agent's, never the provider.
    """
    rest = evidence.folded.replace("json-rpc ", "").replace("internal error", "")
    return evidence.rpc_code is not None and bool(evidence.folded) and not rest.strip(" .:\n")


def _names(evidence: Evidence) -> set[str]:
    """Return every name that a transport row may list."""
    return {*map(normalise, evidence.classes), *evidence.tokens, *evidence.words}
