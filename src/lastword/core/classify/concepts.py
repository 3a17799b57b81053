"""Prose that matches no table, classified by two words close together: a thing and its trouble.

In `your prompt of 9000 tokens does not fit`, no sentence of the tables matches, yet "prompt" close
to "does not fit" says enough. This is the last resort before `unknown`, and before a status that
only blames the request.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache

import msgspec

from lastword.core.classify.text import without_advice
from lastword.core.failure.taxonomy import ErrorType

MAX_DISTANCE_CHARS = 48
MAX_HITS = 64
_FIRST_UNSPACED = "\u1100"
"""The first letter of the alphabets that are not written in words with spaces between them."""


class Concept(msgspec.Struct, frozen=True):
    """Two sets of words that count if one of each stands close by, and nothing of `unless` does.

    Without happenings, one of the things is enough.
    """

    type: ErrorType
    things: str
    happenings: str
    unless: tuple[str, ...] = ()


@cache
def _pattern(block: str) -> re.Pattern[str]:
    """Compile on first use: few failures come this far, and all the patterns together cost 5 ms."""
    words = [re.escape(line.strip()) for line in block.split(",")]
    if block.isascii():
        return re.compile(rf"\b(?:{'|'.join(words)})")
    # Chinese, Japanese and Korean put no space before a word.
    bounded = (word if word[0] >= _FIRST_UNSPACED else rf"\b{word}" for word in words)
    return re.compile("|".join(bounded))


def _concept(kind: ErrorType, things: str, happenings: str, *unless: str) -> Concept:
    return Concept(kind, things, happenings, unless)


CONCEPTS = (
    _concept(
        ErrorType.AUTH,
        "in your region, in your country, your location, current location, this region, "
        "this country",
        "not supported, not available, does not support, unsupported, unavailable, restricted",
    ),
    _concept(
        ErrorType.AUTH,
        "website, web site, this site, url, category, destination, domain, firewall, web filter, "
        "country, region, territory, location, your ip, ip address, your network, it department",
        "blocked, blocks, not allowed, denied, prohibited, restricted, not supported, "
        "unsupported, not available, banned, known to serve",
        "quota",
        "model",
        "parameter",
        "safety",
    ),
    _concept(
        ErrorType.CONTEXT_OVERFLOW,
        "context, prompt, input, inputs, conversation, thread, history, tokens, token limit, "
        "message size, request body, request content",
        "too long, too large, too big, too many tokens, exceed, overflow, does not fit, fit in, "
        "no longer fit, above the limit, beyond the limit, longer than, larger than, "
        "more than the, over the limit, maximum length, full, shorten, but the request contains, "
        "no space, free space, prompt length, input length, cannot exceed, can't exceed, "
        "out of room, no room, too lengthy, too much",
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
        ErrorType.CONTEXT_OVERFLOW,
        "message, text, question, file, document, transcript, request",
        "longer than, too long, too large, too big, size limit, exceeds the size, maximum size",
        "took too long",
        "takes too long",
        "taking too long",
        "rate limit",
        "per minute",
    ),
    _concept(
        ErrorType.CONTENT_FILTER,
        "safety, policy, policies, moderation, harmful, unsafe, inappropriate, guideline, "
        "guardrail, prohibited, sensitive, content, acceptable use, cybersecurity",
        "blocked, rejected, flagged, refused, filtered, violat, declined, not allowed, censored, "
        "disallowed, withheld, breach, stopped by, triggered, detected",
        "region",
        "network",
        "firewall",
        "content-type",
        "content type",
        "api key",
    ),
    _concept(
        ErrorType.CONTENT_FILTER,
        "message, messages, prompt, response, output, input, answer, reply, completion, image",
        "flagged, censored, sensitive, moderated, filtered, harmful, inappropriate, unsafe, "
        "offensive, refused to answer, was blocked, been blocked",
        "case sensitive",
        "case-sensitive",
        "network",
        "firewall",
        "api key",
    ),
    _concept(
        ErrorType.BUDGET,
        "credit, credits, balance, quota, allowance, billing, plan, subscription, budget, spend, "
        "spending, usage limit, session limit, your limit, funds, invoice, free tier, "
        "requests this month, messages, monthly, weekly, this month, allotment, usage cap, "
        "daily cap, monthly cap, trial, wallet, prepaid, premium request, paid plan, for today, "
        "today's, inference limit, usage quota, payment, account limit, tier, pricing, "
        "spend limit, token balance, free requests, free messages, points, coins",
        "used up, exhausted, exceeded, ran out, run out, out of, depleted, insufficient, "
        "not enough, reached, hit, expired, no remaining, remaining, upgrade, unpaid, past due, "
        "overdue, resets, consumed, no more, used all, has ended, is over, does not have any, "
        "doesn't have any, don't have any, do not have any, required, too low, add funds, "
        "no available, not sufficient, need more, all gone, finished, renew, recharge, refill",
        "per minute",
        "per second",
        "concurren",
        "context",
        "max_tokens",
    ),
    _concept(
        ErrorType.BUDGET,
        "balance, wallet, credit, credits, funds, payment, billing, card, subscription, plan",
        "empty, zero, negative, failed, declined, not active, inactive, suspended, lapsed, "
        "not paid, restricted access",
    ),
    _concept(
        ErrorType.BUDGET,
        "for today, today, this week, this month, per day, daily, weekly, monthly",
        "you have used, you've used, maximum, limit, allowed",
        "per minute",
        "per second",
    ),
    _concept(
        ErrorType.INVALID_REQUEST,
        "tool, tools, tool calls, function calling, image input, images, vision input, "
        "audio input, video input, capability, feature, modality, structured output, "
        "json mode, thinking mode",
        "not supported, unsupported, not support, doesn't support, isn't supported, "
        "aren't supported",
        "region",
        "country",
    ),
    _concept(
        ErrorType.MODEL_NOT_FOUND,
        "model, models, deployment",
        "not found, does not exist, doesn't exist, unknown, not supported, unsupported, "
        "deprecated, retired, removed, decommissioned, permission to use, not enabled, "
        "not available on, no access, access to, could not be found, cannot be found, invalid, "
        "not recognized, not recognised, isn't supported, not exist, not allowed, not permitted, "
        "not available for, not available in, not available to, not accessible, not installed, "
        "not configured, discontinued, sunset, no longer, not offered, not served, "
        "isn't enabled, isn't available, isn't allowed, disabled, not deployed, isn't deployed, "
        "doesn't match any",
        "at most",
        "for this model",
        "with this model",
        "by this model",
        "by the model",
        "for models",
        "this model only",
        "produced",
        "temporarily",
        "currently",
        "try again",
        "overload",
        "capacity",
        "does not support",
        "parameter",
        "response",
        "argument",
        "output",
    ),
    _concept(
        ErrorType.MODEL_NOT_FOUND,
        "endpoint, completions, base url, api base, baseurl, v1/messages, v1/responses, "
        "api error, detail, http",
        "not found, does not exist, doesn't exist, no such, wrong, incorrect",
        "tool",
        "file",
        "session",
        "command",
    ),
    _concept(
        ErrorType.AUTH,
        "login, token, api key, key, credential, credentials, session, account, password, "
        "authentication, authorization, permission, access, logged in, signed in, signature, "
        "licence, license, oauth, sso, api keys, email, e-mail, phone number, certification, "
        "sign-in, signin, log-in, cookie",
        "invalid, expired, missing, denied, revoked, suspended, disabled, not valid, wrong, "
        "rejected, required, failed, not set, not found, incorrect, unknown, forbidden, "
        "not configured, log in, sign in, could not be verified, could not be refreshed, "
        "must be, not permitted, not granted, unauthorised, not allowed, no longer valid, "
        "mismatch, blocked, verif, not enabled, to be enabled, banned, locked, not active, "
        "inactive, not provided, malformed, rejected by, deleted, deactivated, not recognized, "
        "not recognised, restricted, no valid, empty, unset, validate, not authenticated, "
        "does not match, frozen, no permission, not assigned, authenticate again, withdrawn, "
        "unverified",
        "unexpected token",
        "max_tokens",
        "tokens",
        "json",
        "session update",
        "session/update",
    ),
    _concept(
        ErrorType.AUTH,
        "organization, organisation, team, workspace, tenant, project, geo, residency",
        "must be a member, not a member, not belong, prevent, not allowed, restricted, "
        "not permitted",
        "model",
    ),
    _concept(
        ErrorType.AUTH,
        "api, service, feature, gateway, access, organization, organisation, account",
        "not include, doesn't include, to be enabled, not enabled, isn't enabled, "
        "has not been enabled, enable this api, enable the api, not been activated, "
        "to be activated, not activated",
    ),
    _concept(
        ErrorType.AGENT_CRASH,
        "process, agent, child, subprocess, binary, executable, command, cli, server, ide, "
        "daemon, app",
        "exited, quit, terminated by, killed, crashed, died, signal, failure code, exit code, "
        "exit status, could not be started, failed to start, failed to launch, not installed, "
        "cannot be started, stopped unexpectedly, not running",
        "connection",
        "request",
        "model runner",
    ),
    _concept(
        ErrorType.AGENT_CRASH,
        "binary, executable, interpreter, runtime, program, command",
        "could not find, cannot find, can't find, not found, no such file, missing",
    ),
    _concept(
        ErrorType.INVALID_REQUEST,
        "request as made, request as it was made, a different approach, another approach",
        "",
    ),
    _concept(
        ErrorType.TIMEOUT,
        "request, response, server, model, stream, connection, operation, call, provider, turn, "
        "generation, api, gateway, backend, inference, job, task, fetch, reply, answer, waiting",
        "timed out, timeout, took too long, deadline, no response within, did not respond, "
        "did not answer, gave up waiting, time limit, took longer, ran out of time, "
        "unresponsive, not responded, timing out, times out, no reply, too slow, "
        "did not receive a response, didn't receive a response",
    ),
    _concept(
        ErrorType.NETWORK,
        "connection, socket, stream, network, websocket, transport, tunnel, upstream, host, "
        "peer, body, internet, dns, tls, ssl, proxy, vpn, wi-fi, tcp",
        "closed, reset, lost, dropped, refused, interrupted, ended early, ended unexpectedly, "
        "unexpectedly, aborted, broken, disconnected, unreachable, cut off, decoding, "
        "terminated, connection error, network error, premature, incomplete, offline, failed, "
        "failure, hung up, cut, not reachable, no route, could not be reached, "
        "cannot be reached, unstable, went away, is gone, is down, severed, disconnect, died, "
        "dead",
        "rate",
        "quota",
        "parse",
        "json",
    ),
    _concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "gateway, backend, upstream",
        "could not reach, cannot reach, couldn't reach, unable to reach, failed to reach",
    ),
    _concept(
        ErrorType.NETWORK,
        "server, host, provider, endpoint, api, service, remote, connection",
        "could not reach, cannot reach, can't reach, couldn't reach, unable to reach, "
        "failed to reach, not reachable, unreachable, error when connecting, error connecting, "
        "error while connecting, not be established, couldn't create, could not create, "
        "could not establish, couldn't establish, cannot establish, not connected",
    ),
    _concept(
        ErrorType.NETWORK,
        "data, response, reply, server, bytes, packet",
        "failed to receive, failure when receiving, no response, nothing received, not received",
    ),
    _concept(
        ErrorType.NETWORK,
        "body stream, event stream, response stream, message stream, streaming, stream, sse",
        "error in, error reading, failed to read, read error, error while reading",
        "parse",
        "json",
    ),
    _concept(
        ErrorType.RATE_LIMIT,
        "rate, your request, requests, request rate, calls, frequency, qps, rpm, tpm, traffic, "
        "concurrency, queries, prompts, attempts",
        "limit reached, limited, too quickly, too fast, too many, throttled, increased too, "
        "slow down, exceeded, too high, too frequent, limiting, faster than, too often, "
        "too rapidly, in a short time, simultaneous, at the same time, at once",
        "generate",
    ),
    _concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "server, service, model, provider, upstream, backend, runner, endpoint, capacity, "
        "system, engine, cluster, llm, platform, inference, api, servers, services",
        "unavailable, offline, restarting, being restarted, warming, cold, failed to load, "
        "failed to respond, under load, heavy load, heavy traffic, saturated, could not load, "
        "out of resources, shut down, not available, is down, went down, overload, busy, outage, "
        "crashed, stopped, not responding, at capacity, no capacity, no provider, out of memory, "
        "not ready, degraded, unhealthy, paused, disruption, incident, internal failure, "
        "starting up, loading, had an error, internal error, high demand, maintenance",
    ),
    _concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "capacity, gpu, executor, worker, workers, replica, replicas, instance, instances, "
        "conversation, queue",
        "insufficient, not enough, no valid, no available, exhausted, busy, lack, still being, "
        "still processing",
    ),
    _concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "internal error, unexpected error, unknown error",
        "request id, error id, trace id, requestid, reference id, correlation id",
    ),
    _concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "every provider, every candidate provider, all providers, all upstreams, all backends, "
        "all channels, all endpoints, all accounts, all candidates, all models",
        "failed, exhausted, unavailable, down, unreachable, cooling",
    ),
    _concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "response, reply, answer, completion",
        "issue getting, problem getting, error getting, trouble getting, could not get, "
        "couldn't get, unable to get, failed to obtain, failed to generate, could not generate, "
        "unable to generate, error generating",
    ),
    _concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "provider, model, server, service, api, backend, upstream",
        "not working, trouble connecting, having trouble, having issues, having problems",
        "trouble responding",
    ),
    _concept(
        ErrorType.PROTOCOL_ERROR,
        "response, reply, format, content, chunk, event, payload, output, json, body, stream, "
        "answer",
        "unhandled, not in the correct, unexpected format, wrong format, could not be parsed, "
        "cannot be parsed, could not parse, cannot parse, unable to parse, failed to parse, "
        "malformed, could not be decoded, cannot decode, unserializable, "
        "unexpected content type, unexpected line, returned an invalid, not json, error parsing, "
        "parsing error",
    ),
    _concept(
        ErrorType.INVALID_REQUEST,
        "your request, the request, media format, media type, mime type",
        "does not understand, not understand, semantic error, cannot process, can not process",
        "try again",
        "later",
    ),
    _concept(
        ErrorType.INVALID_REQUEST,
        "parameter, parameters, param, argument, arguments, field, value, config, role, message, "
        "messages, item, option, property, schema, tool, tools, function, header, body, input, "
        "image, entity, request, temperature, system prompt, attachment, file type, media type, "
        "mime type",
        "invalid, missing, unexpected, unknown, unsupported, not supported, not allowed, "
        "not permitted, required, must be, must have, must not, should be, cannot be, can't be, "
        "not valid, not eligible, not accept, illegal, rejected, client error, out of range, "
        "unrecognized, unrecognised, duplicate, empty, expected, does not exist, outside the, "
        "must satisfy, may only, cannot be modified, must be unique, could not process, "
        "too small, too short, negative, at least one, only accepts, "
        "only supports, wrong, incorrect, not recognized, incompatible, mutually exclusive, "
        "does not match, mismatch, not one of, not implemented, null, "
        "not understood, value not found, key not found",
        "error occurred",
        "please try again",
        "server",
    ),
)
"""First match wins: what a retry cannot help stands before what it can."""

BLAMED = frozenset({
    ErrorType.CONTEXT_OVERFLOW,
    ErrorType.CONTENT_FILTER,
    ErrorType.MODEL_NOT_FOUND,
})  # fmt: skip
"""Causes of a 400: none is retried, so a wrong guess only gives the wrong name."""

SPELLED = frozenset(concept.type for concept in CONCEPTS) - {ErrorType.AGENT_CRASH}
"""Meanings of names made of several words: `GenServer` is not a server that exited."""


def read_concept(
    folded: str,
    kinds: frozenset[ErrorType] | None = None,
    concepts: tuple[Concept, ...] = CONCEPTS,
) -> tuple[ErrorType, str] | None:
    """Return the first concept that the text holds, with the two words that show it."""
    stated = without_advice(folded)
    for concept in concepts:
        if kinds is None or concept.type in kinds:
            # Two words that stand close together by chance do so in advice, most of all.
            text = stated if concept.happenings else folded
            pair = _closest(text, concept)
            if pair is not None and not _stands_in(concept.unless, text):
                return concept.type, pair
    return None


def _stands_in(words: tuple[str, ...], folded: str) -> bool:
    """Return whether one of the words starts at a word boundary: "rate" is not in "generate"."""
    return bool(words) and _pattern(",".join(words)).search(folded) is not None


def _closest(folded: str, concept: Concept) -> str | None:
    things = [(m.start(), m.group()) for m in _first(concept.things, folded)]
    if not things:
        return None
    if not concept.happenings:
        return things[0][1]
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
    hits = []
    for match in _pattern(block).finditer(text):
        hits.append(match)
        if len(hits) >= MAX_HITS:
            break
    return hits
