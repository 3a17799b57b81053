"""Signs of failure: prose that begins like an error, a member beside the protocol's, a payload.

Owns the checks that are cheap enough for every turn that ends well: may it hide a failure?
`quirks.wire` knows what such signs look like; `core.classify` (`prose`, `agents`)
or `core.failure.payload` decides what the failure is. Also owns which part of a failure's own text
is quoted: the innermost message rather than the JSON around it, no advice that contradicts the
verdict, and a reset time if the text states one. Does not redact, and does not build sentences
(`core.failure.wording`, which passes in redacted text).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from lastword.quirks import failure_groups, wire
from lastword.quirks.agents import agent_key

MAX_PROSE_CHARS = 4096
_OPENING_CHARS = 200
_NAMED_CHARS = 40
_WORDS_CHARS = 1024
"""More than an error says without a body; it may be much longer with one."""

_ANSWERS = (
    *("i've ", "i'll ", "i'm ", "i have ", "let ", "here", "this ", "that ", "it "),
    *("looking", "now ", "there ", "we ", "all ", "so ", "fixed", "added", "updated", "sure"),
    *("ok ", "okay", "done", "yes", "no ", "no,", "in ", "to ", "if "),
    *("#", "-", "*", "`", '"', ">", "|"),
)  # fmt: skip
"""Beginnings of answers that are never errors by their form."""

_BEGINNINGS = (
    *("4", "5", "[", "(", "{", "<", "e", "net::", "read ", "write ", "connect ", "getaddrinfo "),
    *("terminated", "socket hang", "premature close", "other side"),
)
_MARKS = (
    *("error", "exception", "fail", "status", "http", "timeout", "timedout", "econn", "etimed"),
    *("_", "unable", "exhausted", "unavailable", "returned", "responded", "toomany"),
    *("limit", "quota", "credit", "balance", "billing", "overload", "capacity", "too l", "token"),
    *("api key", "log in", "login", "sign in", "invalid", "denied", "expired", "not exist"),
    *("not found", "not supported", "time", "connect", "network", "terminated", "again", "resend"),
)  # fmt: skip
"""A text without either is never an error by its form, which a test verifies."""

_ERROR_WORDS = (
    r"(?i)\b(?:errors?|err|exceptions?|tracebacks?|stack ?traces?|fail(?:s|ed|ing|ures?)?|http"
    r"|status(?:es)?|statut|estado|time-?outs?|timed out|limits?|quotas?|exceeded|overloaded"
    r"|unavailable|exhausted|unauthori[sz]ed|forbidden|refused|denied|logs?|warnings?|messages?"
    r"|responses?|bod(?:y|ies)|econn\w*|etimedout|enotfound|socket|api keys?|raises?|throws?"
    r"|\w*fehler\w*|meldung(?:en)?|ausnahme|fehlgeschlagen|schl\u00e4gt|erreurs?|\u00e9chou\w*|errore"
    r"|errori|fallos?|fall\u00f3|falla|erros?|falhou|falha|fout(?:melding)?|fel(?:meddelande)?"
    r"|b\u0142\u0105d\w*|hata\w*)\b|\b[45]\d\d\b"
    r"|\u043e\u0448\u0438\u0431|\u0441\u043e\u043e\u0431\u0449\u0435\u043d|\u0441\u0442\u0430\u0442\u0443\u0441"
    r"|\u9519|\u932f|\u5931\u8d25|\u5931\u6557|\u5f02\u5e38|\u62a5\u9519|\u72b6\u6001"
    r"|\u30a8\u30e9|\u4f8b\u5916|\u30e1\u30c3\u30bb\u30fc\u30b8|\uc624\ub958|\uc5d0\ub7ec|\uc2e4\ud328|\uc608\uc678"
)
_REQUESTS = (
    r"(?i)\b(?:say|tell|quote|print|show|output|display|repeat|echo|read|copy|paste|list|name"
    r"|examples?|samples?|reply|answer|respond|explain|describe|define|summari[sz]e|word(?:ing)?"
    r"|phrase|draft|suggest|give|what|which|why|how|zeig\w*|sag\w*|gib|nenn\w*|erkl\u00e4r\w*"
    r"|was|welche\w*|warum|dis|montre\w*|affiche\w*|donne\w*|explique\w*|quel(?:le)?s?|pourquoi"
    r"|di|dime|muestra|imprime|dame|explica\w*|cu\u00e1l|qu\u00e9|diga|mostre|mostra|quale|perch\u00e9|toon)\b"
    r"|\u0441\u043a\u0430\u0436|\u043f\u043e\u043a\u0430\u0436|\u0432\u044b\u0432\u0435\u0434|\u043e\u0431\u044a\u044f\u0441"
    r"|\u0447\u0442\u043e|\u043a\u0430\u043a\u043e|\u8bf4|\u8aaa|\u663e\u793a|\u8f93\u51fa|\u4ec0\u4e48|\u4e3a\u4ec0|\u89e3\u91ca"
    r"|\u8868\u793a|\u8a00\u3063\u3066|\u6559\u3048|\u4f55|\u8aac\u660e|\ub9d0|\ubcf4\uc5ec|\ubb34\uc5c7|\uc124\uba85"
)
"""Words of a sentence that asks for something in words; with an error's word, for an error."""

_REPETITIONS = (
    r"(?i)\b(?:repeat|quote|verbatim|echo|word for word|literally|translat\w*|in (?:english|german"
    r"|french|spanish|chinese|japanese)|\u00fcbersetz\w*|wiederhol\w*|w\u00f6rtlich|tradui\w*|tradu[cz]\w*"
    r"|r\u00e9p\u00e8te|repite|repita|ripeti)\b|\u043f\u0435\u0440\u0435\u0432\u0435\u0434|\u043f\u043e\u0432\u0442\u043e\u0440"
    r"|\u7ffb|\u91cd\u590d|\u7e70\u308a\u8fd4|\ubc88\uc5ed|\ubc18\ubcf5"
)
"""Words of a prompt that asks for a text again, which may be an error's."""

_POLITE = (
    r"(?i)\W*(?:please|can|could|would|will|kannst|k\u00f6nntest|bitte|peux|pourrais|puedes)\b"
)
_ERROR_NAMES = (
    r"\b(?:[45]\d\d|\w*(?:Error|Exception|Timeout)|E[A-Z]{3,}\w*|[A-Za-z]+(?:_[A-Za-z]+)+)\b"
)

_PAYLOAD = b'"agent_error"'

_RETRY_WORD = b"etry"
_FAILED_ENDS = (b'rror"', b'ailed"', b'ailure"')
_ERROR_MEMBER = b"rror"

_RETRY_TEXT_CHARS = 240
_RETRY_WORDS = ("etry", "connect", "again")
_RETRY_BEGINS = (
    r"(?i)\W{0,4}(?:retrying|reconnecting)(?:\.{1,3}|\u2026|:)?"
    r"(?: (?:the|request|connection|model|call|api|to|provider|stream)){0,4}[ (\[,:-]{1,4}"
    r"(?:(?:attempt|try|retry) #?)?\d{1,4} ?(?:/|of) ?\d{1,4}\b[\]),. ]{0,3}"
    r"(?:(?:waiting|in|after|wait) [\d.]{1,8} ?[a-z]{0,8})?[\]).\u2026 ]{0,6}"
)
_RETRY_SENTENCE = (
    r"(?i)\W{0,4}(?:(?:info|warn(?:ing)?|error|note)\W{1,3})?[^\n]{0,120}?"
    r"\b(?:fail(?:ed|ure)|error|timed out|overloaded|limit(?:ed)?|refused|reset|lost|\d{3})\b"
    r"[^\n]{0,120}?\b(?:retrying|reconnecting|trying again|will retry)\b[^\n]{0,60}"
)
"""A failure and that it is tried again, in one line."""

_RETRY_ENDS = (
    r"(?i)\W{0,4}(?:retry|retries|reconnect)(?:ing)? (?:finished|completed?|succeeded|failed)"
    r"(?:, \w{1,12})?[.!\u2026]{0,3}"
)
"""Texts that agents write about a retry in one piece: its number, or that it is over."""


def flattened(text: str) -> str:
    """Return a message in the form in which the table is written."""
    return " ".join(text.replace("\u2019", "'").lower().split())


def may_be_error(text: str) -> bool:
    """Return whether this message begins like some agent's error."""
    if len(text) > MAX_PROSE_CHARS:
        return False
    return flattened(text[:_OPENING_CHARS]).startswith(wire.ALL_OPENINGS)


def may_be_error_by_form(text: str) -> bool:
    """Return whether this message may consist only of an error, whichever agent wrote it."""
    size = len(text)
    if size > MAX_PROSE_CHARS or (size > _WORDS_CHARS and "{" not in text and "<" not in text):
        return False
    head = text[:_OPENING_CHARS].lstrip().lower()
    if head.startswith(_ANSWERS):
        return False
    if head.startswith(_BEGINNINGS):
        return True
    for mark in _MARKS:  # noqa: SIM110 - `any` takes twice as long
        if mark in head:
            return True
    return False


def may_request_error_text(prompt: str, answer: str) -> bool:
    """Return whether the prompt may ask for this answer, which is an error's text.

    It may if the prompt has the answer's own words, if it asks to repeat or to translate, or if a
    sentence of it that has an error's word is a question or asks for something in words.
    """
    if re.search(_REPETITIONS, prompt) or flattened(answer[:_NAMED_CHARS]) in flattened(prompt):
        return True
    if any(name in prompt for name in re.findall(_ERROR_NAMES, answer[:_OPENING_CHARS])):
        return True
    for sentence in re.findall(r"[^.!?\n\u3002\uff1f]+[?\uff1f]?", prompt):
        if re.search(_ERROR_WORDS, sentence):
            question = sentence[-1] in "?\uff1f" and re.match(_POLITE, sentence) is None
            if question or re.search(_REQUESTS, sentence):
                return True
    return False


def is_remark(text: str, agent: str) -> bool:
    """Return whether this text is only about the agent's own upkeep of the session."""
    if not text.startswith(wire.REMARK_OPENINGS):
        return False
    key = agent_key(agent)
    return any(text.startswith(row.openings) for row in wire.REMARKS if row.agent == key)


def may_hold_payload(line: bytes) -> bool:
    """Return whether this frame has a member with the payload's name."""
    return _PAYLOAD in line


def payload_in(carrier: object) -> dict[str, Any] | None:
    """Return the payload under `agent_error` in a `_meta` or a `data`; not an advertisement."""
    payload = carrier.get("agent_error") if isinstance(carrier, dict) else None
    if not isinstance(payload, dict):
        return None
    advertises = "version" in payload and not {"type", "message"} & payload.keys()
    return None if advertises else payload


def has_air_report(line: bytes) -> bool:
    """Return whether this frame reports something by JetBrains AIR's convention."""
    return wire.AIR_MARK in line


def may_report_retry(line: bytes) -> bool:
    """Return whether this frame has a member, or a word, that may be about a retry."""
    return _RETRY_WORD in line or any(mark in line for mark in wire.RETRY_MARKS)


def may_report_failed_state(line: bytes) -> bool:
    """Return whether this frame has a word for a state in which something failed."""
    return any(end in line for end in _FAILED_ENDS)


def may_report_failure(line: bytes) -> bool:
    """Return whether this frame has a member that may report a failure."""
    return any(mark in line for mark in wire.FAILURE_MARKS)


def may_hold_error(line: bytes) -> bool:
    """Return whether this result has a member that may report a failure."""
    return _ERROR_MEMBER in line or may_report_failure(line)


def is_retry_report(text: str, agent: str) -> bool:
    """Return whether this agent writes such texts only about retries of its model call."""
    if not text.startswith(wire.RETRY_TEXT_OPENINGS):
        return False
    key = agent_key(agent)
    return any(text.startswith(row.openings) for row in wire.RETRY_TEXTS if row.agent == key)


def is_retry_by_form(text: str, *, begun: bool) -> bool:
    """Return whether this text is about a retry and nothing else, whichever agent wrote it.

    A message that a retry is over counts only after one has begun.
    """
    if len(text) > _RETRY_TEXT_CHARS or not any(word in text for word in _RETRY_WORDS):
        return False
    stripped = text.strip()
    ends = begun and re.fullmatch(_RETRY_ENDS, stripped) is not None
    forms = (_RETRY_BEGINS, _RETRY_SENTENCE)
    return ends or any(re.fullmatch(form, stripped) is not None for form in forms)


# --- the part of a failure's own text that is worth showing ---------------------------------------

MAX_NESTING = 4
MAX_CHARS = 8192

EMPTY_MESSAGES = frozenset({"", "internal error", "error", "unknown error"})
"""Messages without information, which ours replaces."""

# As text: each is compiled, and then kept by `re`, when the first failure needs it. To compile them
# all took 2 ms of every start.
_MESSAGE = r"""(?xs)["'](?:message|msg|error_msg|errorMessage|detail)["']\s{0,4}:\s{0,4}
    (?:"((?:[^"\\]|\\.){1,4000})" | '((?:[^'\\]|\\.){1,4000})')"""
_UNINFORMATIVE = (
    r"(?i)(?:internal (?:server )?error|error|unknown error|bad request|provider returned error"
    r"|upstream request failed|unsuccessful response|request failed)\.?"
)
_EMPTY_LEAD = r"(?i)^internal error(?: ?:|\n)\s*+(?=\S)"
_RETRY_ADVICE = (
    r"(?i)(?:(?<=[.!?])\s{1,4}|[,;:\u2014-]\s{0,4}|^\s{0,4}|\s{1,4}and\s)"
    r"(?:(?:please|kindly|you\scan|you\smay)\s)?(?:wait\s(?:a\s\w{1,12}\s)?and\s)?"
    r"(?:re-?try|try(?:\s\w{1,12}){0,3}\sagain|try\sagain)\b[^.!?]{0,200}[.!?]?"
)


def innermost(text: str) -> str:
    """Return the message inside nested JSON and Python reprs; other text is returned unchanged."""
    inner = text[:MAX_CHARS]
    for _ in range(MAX_NESTING):
        messages = [
            (one or two)
            .replace("\\n", " ")
            .replace('\\"', '"')
            .replace("\\'", "'")
            .replace("\\\\", "\\")
            for one, two in re.findall(_MESSAGE, inner)
        ]
        if not messages:
            break
        informative = [
            message for message in messages if not re.fullmatch(_UNINFORMATIVE, message.strip())
        ]
        inner = (informative or messages)[0]
    return inner


def without_retry_advice(text: str) -> str:
    """Return the text without its "please try again", for a verdict against a retry."""
    return re.sub(_RETRY_ADVICE, " ", text).strip(" ,;:-\u2014")


@cache
def _resets() -> re.Pattern[str]:
    """Return the pattern of a reset's time, from the rows of `protocol/failures/resets.json`."""
    rows = {group.tier: group.alternatives for group in failure_groups("resets")}
    clock = rf"\b{rows['clock_word']}{rows['clock_time']}|{rows['clock_first']}"
    return re.compile(clock, re.IGNORECASE | re.ASCII)


def stated_reset(text: str) -> str:
    """Return the reset time as the text gives it (`10:30pm (Europe/Berlin)`), or nothing."""
    match = _resets().search(" ".join(text[:MAX_CHARS].split()))
    return match[match.lastindex or 0] if match else ""


def without_empty_lead(text: str) -> str:
    """Return the text without a leading "Internal error", which adds nothing to the rest."""
    return re.sub(_EMPTY_LEAD, "", text)
