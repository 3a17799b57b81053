"""Prose that no table has, by two words that stand close together: a thing, and what befell it.

`your prompt of 9000 tokens does not fit`: no sentence of the tables, yet "prompt" beside "does not
fit" says enough. The last resort before `unknown`, and before a status that only blames the
request.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache

import msgspec

from lastword.core.classify.text import phrase_in
from lastword.core.failure.taxonomy import ErrorType

MAX_DISTANCE_CHARS = 48
MAX_HITS = 64


class Concept(msgspec.Struct, frozen=True):
    """Two sets of words: they count where one of each stands close, and nothing of `unless`."""

    type: ErrorType
    things: str
    happenings: str
    unless: tuple[str, ...]


@cache
def _pattern(block: str) -> re.Pattern[str]:
    """Compiled when first needed: few failures come this far, and all of them cost 5 ms."""
    words = [re.escape(line.strip()) for line in block.split(",")]
    return re.compile(rf"\b(?:{'|'.join(words)})")


def _concept(kind: ErrorType, things: str, happenings: str, *unless: str) -> Concept:
    return Concept(kind, things, happenings, unless)


CONCEPTS = (
    _concept(
        ErrorType.CONTEXT_OVERFLOW,
        "context, prompt, input, inputs, conversation, thread, history, tokens, token limit, "
        "message size, request body",
        "too long, too large, too big, too many tokens, exceed, overflow, does not fit, fit in, "
        "no longer fit, above the limit, beyond the limit, "
        "longer than, larger than, more than the, over the limit, maximum length, full, shorten, "
        "but the request contains, no space, free space, prompt length, input length",
        "output tokens",
        "maximum tokens",
        "max_tokens",
        "max tokens",
        "please wait",
        "rate limit",
        "per minute",
        "per day",
        "quota",
        "requests",
        "budget",
    ),
    _concept(
        ErrorType.CONTENT_FILTER,
        "safety, policy, policies, moderation, harmful, unsafe, inappropriate, guideline, "
        "guardrail, prohibited, sensitive, content, acceptable use",
        "blocked, rejected, flagged, refused, filtered, violat, declined, not allowed, censored, "
        "disallowed, withheld, breach, stopped by",
        "region",
        "network",
        "firewall",
        "content-type",
        "content type",
        "api key",
    ),
    _concept(
        ErrorType.BUDGET,
        "credit, credits, balance, quota, allowance, billing, plan, subscription, budget, spend, "
        "spending, usage limit, session limit, your limit, funds, invoice, free tier, "
        "requests this month, messages, monthly, weekly, this month, allotment, usage cap, "
        "daily cap, monthly cap, trial, wallet, prepaid, premium request, paid plan, for today, "
        "today's",
        "used up, exhausted, exceeded, ran out, run out, out of, depleted, insufficient, "
        "not enough, reached, hit, expired, no remaining, remaining, upgrade, unpaid, past due, "
        "overdue, resets, consumed, no more, used all, has ended, is over, does not have any, "
        "doesn't have any, don't have any, do not have any, required",
        "per minute",
        "per second",
        "concurren",
        "context",
        "max_tokens",
    ),
    _concept(
        ErrorType.MODEL_NOT_FOUND,
        "model, models, deployment",
        "not found, does not exist, doesn't exist, unknown, not supported, unsupported, "
        "deprecated, retired, removed, decommissioned, permission to use, not enabled, "
        "not available on, no access, access to, could not be found, cannot be found, invalid, "
        "not recognized, not recognised, isn't supported, not exist",
        "for this model",
        "with this model",
        "by this model",
        "produced",
        "temporarily",
        "currently",
        "try again",
        "overload",
        "capacity",
        "does not support",
        "parameter",
        "response",
        "field",
        "argument",
        "output",
    ),
    _concept(
        ErrorType.AUTH,
        "login, token, api key, key, credential, credentials, session, account, password, "
        "authentication, authorization, permission, access, logged in, signed in, signature, "
        "licence, license, oauth, sso",
        "invalid, expired, missing, denied, revoked, suspended, disabled, not valid, wrong, "
        "rejected, required, failed, not set, not found, incorrect, unknown, forbidden, "
        "not configured, log in, sign in, could not be verified, could not be refreshed, must be, "
        "not permitted, not granted, unauthorised, not allowed, no longer valid, mismatch",
        "unexpected token",
        "max_tokens",
        "tokens",
        "json",
    ),
    _concept(
        ErrorType.AGENT_CRASH,
        "process, agent, child, subprocess, binary, executable, command, cli, server",
        "exited, quit, terminated by, killed, crashed, died, signal, failure code, exit code, "
        "exit status, could not be started, failed to start, failed to launch, not installed",
        "connection",
        "request",
        "model runner",
    ),
    _concept(
        ErrorType.TIMEOUT,
        "request, response, server, model, stream, connection, operation, call, provider, turn",
        "timed out, timeout, took too long, deadline, no response within, did not respond, "
        "did not answer, gave up waiting",
    ),
    _concept(
        ErrorType.NETWORK,
        "connection, socket, stream, network, websocket, transport, tunnel, upstream, host, peer, "
        "body, internet, dns, tls, ssl, proxy",
        "closed, reset, lost, dropped, refused, interrupted, ended early, ended unexpectedly, "
        "unexpectedly, aborted, broken, disconnected, unreachable, cut off, decoding, terminated, "
        "connection error, network error, premature, incomplete, offline, failed, failure, "
        "hung up, cut, not reachable, no route, could not be reached, cannot be reached",
        "rate",
        "quota",
        "parse",
        "json",
    ),
    _concept(
        ErrorType.RATE_LIMIT,
        "rate, requests, request rate, calls, frequency, qps, rpm, tpm, traffic, concurrency",
        "limit reached, limited, too quickly, too fast, too many, throttled, increased too, "
        "slow down, exceeded, too high, too frequent, limiting",
        "generate",
    ),
    _concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "server, service, model, provider, upstream, backend, runner, endpoint, capacity, system",
        "unavailable, is down, went down, overload, busy, outage, crashed, stopped, "
        "not responding, at capacity, no capacity, no provider, out of memory, not ready, "
        "degraded, unhealthy, paused, disruption, incident, internal failure, "
        "starting up, loading, had an error, internal error, high demand, maintenance",
    ),
)
"""First match wins: what a retry cannot help stands before what it can."""

BLAMED = frozenset({
    ErrorType.CONTEXT_OVERFLOW,
    ErrorType.CONTENT_FILTER,
    ErrorType.MODEL_NOT_FOUND,
})  # fmt: skip
"""What may stand behind a 400: neither is retried, so a wrong guess costs only the name."""


def read_concept(
    folded: str, kinds: frozenset[ErrorType] | None = None
) -> tuple[ErrorType, str] | None:
    """The first concept that the text holds, and the two words that it rests on."""
    for concept in CONCEPTS:
        if kinds is None or concept.type in kinds:
            pair = _closest(folded, concept)
            if pair is not None and phrase_in(folded, concept.unless) is None:
                return concept.type, pair
    return None


def _closest(folded: str, concept: Concept) -> str | None:
    things = [(m.start(), m.group()) for m in _first(concept.things, folded)]
    if not things:
        return None
    starts = [start for start, _ in things]
    for happening in _first(concept.happenings, folded):
        at = bisect_left(starts, happening.start())
        for start, thing in things[max(0, at - 1) : at + 1]:
            before = happening.start() - start - len(thing)
            after = start - happening.end()
            if max(before, after) <= MAX_DISTANCE_CHARS:
                return f"{thing} + {happening.group()}"
    return None


def _first(block: str, text: str) -> list[re.Match[str]]:
    found = []
    for match in _pattern(block).finditer(text):
        found.append(match)
        if len(found) >= MAX_HITS:
            break
    return found
