"""Prose in the form of an error, whichever agent wrote it: an error's text and little else.

Owns the decision, and the patterns: how errors begin, what they contain, what makes a text an
answer. The openings of single agents' errors are in `quirks.wire`, and read by `agents`. A form
does not prove that a turn failed, since an honest answer may be an error's text, word for word, on
request. It is therefore one sign of two; the other comes from the turn (`core.link.decision`).

Each pattern is linear or runs on a few hundred characters. Those whose names begin with a capital
match a message as it is written.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from lastword.core.classify import gather
from lastword.core.classify.decide import decide
from lastword.core.classify.messages import SPOKEN
from lastword.core.classify.text import GAP, names, normalise
from lastword.core.classify.tokens import BUILTINS
from lastword.core.failure.signs import MAX_PROSE_CHARS, flattened
from lastword.core.failure.taxonomy import ErrorType

if TYPE_CHECKING:
    from lastword.core.classify.evidence import Verdict

MAX_WORDS_CHARS = 600
"""The most characters of an error without its body. The longest one observed has 470."""

MAX_LABELS = 3
_MAX_LINES = 8
_SENTENCE_CHARS = 200

MODEL_CALL_ERRORS = frozenset({
    ErrorType.RATE_LIMIT,
    ErrorType.BUDGET,
    ErrorType.PROVIDER_UNAVAILABLE,
    ErrorType.CONTEXT_OVERFLOW,
    ErrorType.AUTH,
    ErrorType.MODEL_NOT_FOUND,
    ErrorType.INVALID_REQUEST,
    ErrorType.CONTENT_FILTER,
    ErrorType.TIMEOUT,
    ErrorType.NETWORK,
})  # fmt: skip
"""Failures between an agent and its model: a crash or bug in prose may be another program's."""

_GUESSES = ("concept:", "text:", "word:")
"""Rules that rest on what prose may mean."""

_SENTENCE_RULES = frozenset({"config", "message", "transport"})
"""Rules of sentences that have one meaning."""

_SENTENCE_SHARE = 0.4
_ADVISED_SHARE = 0.2
"""The least share of such words in a clause; lower if the text advises the user."""

_MODELS_OWN = frozenset({
    ErrorType.RATE_LIMIT,
    ErrorType.BUDGET,
    ErrorType.CONTEXT_OVERFLOW,
})  # fmt: skip
"""Failures that few programs without a model have."""


_TRANSLATED = frozenset(f"message:{row}" for each in SPOKEN.values() for row in each)
"""Rules of sentences that are not English: users have errors translated more often than providers
fail in another language."""


class _Parts(msgspec.Struct, frozen=True):
    """A message taken apart.

    Attributes:
        words: all of it except the body.
        body: the JSON or the page that a server sent.
        kind: what the words after the labels begin with: a group of `HEAD`, or "".
        head: that beginning.
        rest: what follows it; without a head, all the words.
    """

    words: str
    body: str
    kind: str
    head: str
    rest: str


def error_by_form(text: str, *, spoken_for: bool = False) -> Verdict | None:
    """Return the verdict on a message that is an error from its beginning to its end.

    There is one only if the message names a type, and one with which a model call can fail.

    Args:
        text: The turn's whole message.
        spoken_for: The turn itself suggests a failure (a refusal, no output tokens, a hint).
            Otherwise an error that any program may have must name the model or its service.
    """
    stripped = text.strip()
    if not stripped or len(stripped) > MAX_PROSE_CHARS:
        return None
    parts = _split(stripped)
    if parts is None or _is_answer(parts):
        return None
    verdict = decide(gather.from_any(stripped))
    if not is_of_call(verdict.type, verdict.rule):
        return None
    if _is_error(parts) or _is_about_call(parts):
        named = _names_itself(parts, verdict) and (spoken_for or _is_models(parts, verdict))
    else:
        named = _is_own_sentence(parts, verdict)
    return verdict if named else None


def is_of_call(kind: ErrorType, rule: str) -> bool:
    """Return whether a model call may fail so, which includes an answer that cannot be read."""
    unusable = kind is ErrorType.PROTOCOL_ERROR and rule.startswith("transport:")
    return kind in MODEL_CALL_ERRORS or unusable


@lru_cache(4)  # an answer is checked twice
def is_all_error(text: str) -> bool:
    """Return whether a message is an error alone, without explanation or report."""
    parts = _split(text.strip())
    return parts is not None and not _is_answer(parts)


def _split(text: str) -> _Parts | None:
    """Return the message in its parts, or `None` if it has more words than an error."""
    words, body = text, ""
    page = PAGE.search(text)
    start, end = text.find("{"), text.rfind("}")
    if page is not None:
        words, body = text[: page.start()], text[page.start() :]
    elif 0 <= start < end and BODY_KEY.search(text, start, end):
        words, body = f"{text[:start]} {text[end + 1 :]}", text[start : end + 1]
    words = STACK_LINE.sub("", words).strip()
    if len(words) > MAX_WORDS_CHARS or words.count("\n") >= _MAX_LINES:
        return None
    head = HEAD.match(words, _labels_end(words))
    if head is None:
        return _Parts(words, body, "", "", words)
    kind = head.lastgroup or ""
    return _Parts(words, body, kind, head[kind], words[head.end() :])


def _labels_end(words: str) -> int:
    """Return the end of labels such as `API error (attempt 1/3): ` before an error begins."""
    at = 0
    for _ in range(MAX_LABELS):
        label = LABEL.match(words, at)
        if label is None or HEAD.match(words, at):
            break
        if not PLAIN_LABEL.match(words, at) and not CALL.search(label[0]):
            break  # `Upload failed: 413` is not a model call
        at = label.end()
    return at


def _is_error(parts: _Parts) -> bool:
    """Return whether it begins like an error, or is a sentence about a failed call."""
    if _is_whole(parts.words) or BROKEN.match(parts.words):
        return True
    if REPORTED.match(parts.words):
        return False
    if parts.kind == "name":
        return normalise(parts.head) not in BUILTINS  # a program's own bug
    if parts.kind == "word":
        return SENTENCE_START.match(parts.rest) is not None
    if parts.kind == "errno":
        return True
    if parts.kind:
        # What follows a status is neither what it counts, nor a verb, nor a value.
        if parts.body and not parts.rest.strip(" :"):
            return True
        reason = REASON.match(parts.rest)
        follows = FOLLOWS.match(parts.rest, reason.end() if reason else 0)
        return follows is not None or FAILED.search(parts.rest[:_SENTENCE_CHARS]) is not None
    if PLAIN_LABEL.match(parts.words):
        return True
    if parts.body and (not parts.words or _labels_end(f"{parts.words} ")):
        return True  # nothing, or only a label, comes before the body
    first = parts.words[:_SENTENCE_CHARS]
    return (
        OPENS.match(first) is not None
        and WITHIN.search(first) is not None
        and FAILED.search(first) is not None
        and (bool(parts.body) or CALL.search(first) is not None)
    )


def _is_whole(words: str) -> bool:
    return flattened(words).removeprefix("error: ").rstrip(".") in WHOLE


def _is_about_call(parts: _Parts) -> bool:
    """Return whether it is a sentence about a failed call, or a status with its own reason."""
    if parts.kind in {"status", "number"}:
        return REASON.match(parts.rest) is not None
    first = parts.words[:_SENTENCE_CHARS]
    if parts.kind or REPORTED.match(first) or OPENS.match(first) is None:
        return False
    return FAILED.search(first) is not None and CALL.search(first) is not None


def _is_answer(parts: _Parts) -> bool:
    """Return whether it is more than an error: has markup, an explanation, a report."""
    words = parts.words
    return not _is_whole(words) and bool(
        MARKED_UP.search(words)
        or NEW_PARAGRAPH.search(words)
        or GLOSS.match(words)
        or COUNTS.match(words)
        or LISTS.search(words)
        or GOES_ON.match(parts.rest)
        or EXPLAINS.search(flattened(ADDRESS.sub("", words)))
    )


def _names_itself(parts: _Parts, verdict: Verdict) -> bool:
    """Return whether the words name the failure, if only a number or label makes it an error."""
    if parts.body:
        return True
    if parts.kind == "number":
        reason = REASON.match(parts.rest) or NO_BODY.match(parts.rest)
        if reason or FAILED.search(parts.rest[:_SENTENCE_CHARS]):
            return True
        return not parts.rest or not verdict.rule.startswith((*_GUESSES, "status:"))
    return bool(parts.kind) or not verdict.rule.startswith(_GUESSES)


def _is_models(parts: _Parts, verdict: Verdict) -> bool:
    """Return whether it is more than a bare status or name, and hardly another program's."""
    if parts.body:
        return bool(parts.words) or ERROR_BODY.match(parts.body) is not None
    if BARE.fullmatch(parts.words) or parts.words.rstrip(".") == parts.head:
        return False
    if parts.kind == "name":
        is_anybodys = normalise(parts.head) in ANYBODYS
    else:
        labelled = not parts.kind and ANY_LABEL.match(parts.words) is not None
        is_anybodys = labelled or parts.kind == "errno"
    if not is_anybodys or verdict.type in _MODELS_OWN:
        return True
    return NEAR.search(parts.words) is not None


def _is_own_sentence(parts: _Parts, verdict: Verdict) -> bool:
    """Return whether it is a sentence that hardly anybody but providers and agents writes.

    The words that identify it make up most of its first sentence, or some of it if the text also
    advises the user.
    """
    kind, _, row = verdict.rule.partition(":")
    words = flattened(parts.words)
    if kind not in _SENTENCE_RULES or verdict.rule in _TRANSLATED or IMPERATIVE.match(words):
        return False
    advised = ADVICE.search(words) is not None
    if BARE.fullmatch(parts.words) or (REPORTED.match(words) and not advised):
        return False
    label = LABEL.match(parts.words)
    if label is not None and CALL_LABEL.search(label[0]) is None:
        return False
    parts_of_row, share = row.split(GAP), _ADVISED_SHARE if advised else _SENTENCE_SHARE
    words = ADDRESS.sub("", words)
    for clause in CLAUSE_END.split(words, maxsplit=MAX_LABELS)[:MAX_LABELS]:
        if all(part in clause for part in parts_of_row) and (" " in row or clause.endswith(row)):
            return len("".join(parts_of_row)) >= share * len(clause)
    return False


# --- how an error begins -------------------------------------------------------------------------

_STATUS = r"(?:40[0-589]|413|42[2459]|498|50[0-4]|52[0-9]|530)(?![\w%-]|[.,]\d)"
"""Error words of a model's API or its gateway."""

_NAME = (
    r"(?:(?:[A-Za-z_]\w{0,40}(?:\.|::)){0,8}[A-Z]\w{0,60}?(?:Error|Exception|Timeout|TimedOut"
    r"|ResourceExhausted|ServiceUnavailable|TooManyRequests)\b|(?:[a-z_]\w{0,40}[.]){1,8}Timeout\b)"
)
_ERRNO = (
    r"(?:E(?:CONN[A-Z]+|TIMEDOUT|SOCKETTIMEDOUT|NOTFOUND|AI_[A-Z]+|PIPE|HOST[A-Z]+|NET[A-Z]+|PROTO)"
    r"|(?:net::)?ERR_[A-Z_0-9]+|UND_ERR_[A-Z_]+)"
)
_MARK = r"(?:[^\x00-\x7f]{1,3}\s+)?"
"""A sign or two in front: agents like a cross or a warning."""

HEAD = re.compile(
    rf"""
    {_MARK} [\[(]? (?:
      (?P<status> (?i:(?:api[ ]|http[ ])?error(?:[ _]code)?|https?(?:/\d(?:\.\d)?)?
          |(?:http[ ])?status(?:[ _]?code)?|code) [ :=]{{1,3}}[\[(]? {_STATUS})
    | (?P<number> {_STATUS}) (?=[ :\])]|$)
    | (?P<name> {_NAME}) (?=:|\s[-\u2013]\s|\s?[(\[]|[.)\]]?$)
    | (?:[a-z]{{4,11}}[ ])? (?P<errno> {_ERRNO}) \b
    | (?P<word> [A-Z]{{3,}}(?:_[A-Z]+)+ | [a-z]+(?:_[a-z]+)*_(?:error|exceeded|failed|exhausted
          |denied|found|reached|unavailable|quota|balance)) (?=[:\]]\s)
    )
    """,
    re.VERBOSE | re.ASCII,
)
LABEL = re.compile(
    rf"{_MARK}\[?(?!https?:)[^:\n\"'`#/{{}}<>=]{{0,48}}?"
    r"(?i:\berror|\bfail(?:ed|ure)|exception|\bunable)(?!s)[^:\n\"'`#{}<>=]{0,56}:\s+"
)
PLAIN_LABEL = re.compile(
    rf"{_MARK}\[?(?:(?:api|llm|model|provider|agent|chat|codex|request|internal|upstream) )?"
    r"(?:error|exception): ",
    re.IGNORECASE,
)
CALL = re.compile(
    r"\b(?:models?|llm|provider|api|completions?|inference|upstream|openai|anthropic|gateway|ollama"
    r"|agent|authenticate|endpoint|chat|request|operation)\b",
    re.IGNORECASE,
)
"""Words of a label or sentence about a model call, rather than an upload or a build."""

OPENS = re.compile(r"[A-Z\[]|unexpected status|exceeded retry|server |upstream |error |request ")
FAILED = re.compile(
    r"\b(?:fail(?:ed|ure)?|error|unable|cannot|can't|could not|returned|exceeded|exception"
    r"|responded|rejected|refused|disconnected|unexpected status|invalid|denied|expired"
    r"|overloaded|unavailable)\b",
    re.IGNORECASE,
)
WITHIN = re.compile(
    rf"\b(?i:status|status[ _]code|http|returned|responded(?:[ ]with)?|code)[ :=]{{1,3}}{_STATUS}"
    rf"|[(\[](?:{_STATUS}|(?:{_NAME}|{_ERRNO})[)\]])",
    re.ASCII,
)
"""The status or the name that a sentence holds."""

WHOLE = frozenset({
    *("fetch failed", "typeerror: fetch failed", "connection error", "network error"),
    *("socket hang up", "terminated", "premature close", "other side closed"),
    "unable to connect. is the computer able to access the url?",
    (
        "the socket connection was closed unexpectedly. "
        "for more information, pass `verbose: true` in the second argument to fetch()"
    ),
})  # fmt: skip
"""Messages that only transports write."""

BROKEN = re.compile(
    r"(?:stream|connection|response|socket) (?:disconnected|closed|reset|lost|interrupted|aborted)"
    r"(?: by peer| before completion| unexpectedly)?: "
    r"[^\n]{0,60}?(?:error|fail|exception|timeout|econn)",
    re.IGNORECASE,
)
"""The beginning of a transport's sentence, which its cause follows."""

# --- how it continues ----------------------------------------------------------------------------

_REASON = (
    r"(?i:bad request|unauthorized|payment required|forbidden|not found"
    r"|method not allowed|not acceptable|proxy authentication required|request timeout|conflict"
    r"|gone|payload too large|unprocessable entity|too many requests|internal server error"
    r"|bad gateway|service unavailable|gateway time-?out|client error|server error)\b[.]?"
)
REASON = re.compile(rf"[ :\])-]{{1,3}}{_REASON}")
BARE = re.compile(
    rf"\W*(?i:https?(?:/\d(?:\.\d)?)?|status(?: code)?)?[ :]*(?:{_STATUS})?[\s(\u2013]*"
    rf"(?:{_REASON})?\W*"
)
"""A status, its words, or both, and nothing else: a server's, or an answer."""

NO_BODY = re.compile(r"(?: \d{3})? status code \(no body\)")
FOLLOWS = re.compile(
    r"[\])]*+(?:\s*+[.]?\s*+$|,? please\b|\s*+[({\[\u2013]|\s+-|:?\s+(?:[45]\d\d\b|[A-Z](?![A-Z]\b)"
    r"|[\"'{\[<]|[a-z_]+[.][a-zA-Z_.]+[: ]|[^\x00-\x7f])"
    r"|\s+(?:from(?! the)|while|fetching|calling|error\b|status\b))"
)
"""What follows a status: neither what it counts (`404 files`) nor a verb."""

SENTENCE_START = re.compile(r"\W{1,4}(?:[A-Z][a-z]+ \w|[^\x00-\x7f])")
"""What follows a word made for machines: a sentence, not a value as in YAML."""

BODY_KEY = re.compile(
    r"[\"'](?:error|errors|message|msg|detail|details|code|type|status|error_code|__type)[\"']\s*:"
)
PAGE = re.compile(r"<(?:!doctype|html|head|title)\b", re.IGNORECASE)
STACK_LINE = re.compile(r"^[ \t]+at .*$", re.MULTILINE)

ADVICE = re.compile(
    r"\bplease\b|\b(?:try|retry|retrying)(?: your request)? again\b|\bresets? (?:at|in|on)\b"
    r"|\brun /",
    re.IGNORECASE,
)
"""Advice to the user, as providers and agents phrase it."""

CLAUSE_END = re.compile(r"[.!\u00b7;](?:\s|$)|:\s")
CALL_LABEL = re.compile(
    rf"{CALL.pattern}|\b(?:network|connection|transport|stream|timeout|rate limit|auth\w*)\b"
    r"|^\W*error:",
    re.IGNORECASE,
)
"""Words in the label of a model call's error, rather than of an upload's or a login's."""

IMPERATIVE = re.compile(
    r"\W*(?:please|retry|try|catch|use|except|raise|wait|check|run|see|add|set|returned|answer"
    r"|an example|(?:the|your|this) (?:tests?|build|script|server|job))\b"
)
"""Beginnings of sentences about an error, in flattened text."""

ERROR_BODY = re.compile(r"\{\s*[\"'](?:error[\"']\s*:|type[\"']\s*:\s*[\"']error)")
"""The beginning of a body that reports an error and nothing else."""

ANY_LABEL = re.compile(rf"{_MARK}\[?(?:error|exception): ", re.IGNORECASE)
NEAR = re.compile(
    r"\b(?:api|models?|llm|provider|openai|anthropic|claude|gemini|completions?|inference)",
    re.IGNORECASE,
)
ANYBODYS = names({
    *("TimeoutError", "ConnectionError", "ConnectionRefusedError", "ConnectionResetError"),
    *("BrokenPipeError", "HTTPError", "FetchError", "RequestError", "AxiosError", "NotFoundError"),
    *("ValidationError", "PermissionError", "Timeout", "ConnectionAbortedError", "SSLError"),
    *("NetworkError", "HttpError"),
})  # fmt: skip
"""Errors of any program, not only of an agent that called its model."""

# --- what only answers have ----------------------------------------------------------------------

MARKED_UP = re.compile(
    r"```|^`|(?<![\w*])\*\*\w[^*\n]*\*\*(?![\w*])|^\s{0,3}#{1,6} |^\s*(?:[-*+\u2022]|\d{1,2}[.)]) "
    r"|\|.*\||\]\(|===|^\s*//|[;{]$|^\s*[\"'\u201c\u2018>]|(?<!-)->|=>|\u2192|[?]\s*\Z|\(#\d"
    r"|^[Cc]ontent-[Tt]ype:|^[Rr]etry-[Aa]fter:",
    re.MULTILINE,
)
REPORTED = re.compile(
    r"(?:the|your|this|that|it|a|an(?! error occurred \()|its|one|some|if|when|because|since|yes|no"
    r"|so|and|but)\b",
    re.IGNORECASE,
)
"""The beginning of a sentence about a failure; the error itself has no article."""

GLOSS = re.compile(
    r"[^:]{0,40}: (?:the|a|an|your|this|it|you|one|some) "
    r"|[^:]{0,80}?(?:: | - | \u2013 )(?i:if|when|for|raised|thrown|on|with|any|returned|add|allow"
    r"|avoid|back off|catch|check|document|do not|don't|ignore|increase|keep|log|lower|make|maps?"
    r"|move|raises?|re-?raise|reduce|retry(?! (?:after|in|later))|return|set|skip|stop|support|test"
    r"|treat|use|wait|wrap|subclass|base|inherits|default|is|yes,?|no,?) "
)
"""The rest of a definition or of a commit's subject: `TimeoutError: raise the limit`."""

GOES_ON = re.compile(rf"{REASON.pattern}[ ,]+(?!for (?:url|https?)\b|please\b)[^\W\d_A-Z]")
"""`401 Unauthorized means`, in any language."""

LISTS = re.compile(
    rf"(?:[,;.]\s+|\n\s*)(?:{_NAME}|{_STATUS}(?=:| [A-Z(])|[a-z]+(?:_[a-z]+)*_error)[ :(]", re.ASCII
)
"""A second error beside the first."""

COUNTS = re.compile(
    r"\d{3} (?!too\b)(?:\w+ ){0,2}(?:requests|tokens|files|tests|users|calls|messages|lines|errors"
    r"|[KMGT]i?B|EUR|USD)\b(?! (?:limit|have|exceed))",
    re.IGNORECASE,
)
NEW_PARAGRAPH = re.compile(r"\n\s*\n\s*(?!please\b)[a-z]", re.IGNORECASE)
ADDRESS = re.compile(r"https?://\S+")
EXPLAINS = re.compile(
    r"\b(?:means?|meaning|indicat(?:es?|ing)|denotes?|represents?|refers to|stands? for"
    r"|(?<!\bthis )is (?:an?|the|returned|raised|thrown|what|sent|used|how|when|why|now|handled"
    r"|fixed)"
    r"|are (?:an?|the|returned|raised|thrown|what|sent|now|handled|fixed|both)"
    r"|(?:raised|thrown|returned|sent|occurs?|happens?|used|issued|emitted)"
    r" (?:when|if|by|for|to|as)"
    r"|for example|for instance|e\.g\.|i\.e\.|such as|typically|commonly|generally"
    r"|in other words|as opposed to|the difference|compared|vs\.?|versus|similar to"
    r"|i (?!hit\b|encountered\b|got\b|ran\b|had\b|couldn't\b|could not\b|was unable\b|am unable\b"
    r"|can't complete\b)|i've|i'll|i'd|let me|let's|we (?!are\b|were\b|could\b|couldn't\b)|here is"
    r"|here's|here are|your (?:code|function|test|tests|script|app|handler|server|log|logs)"
    r"|fix(?:ed|es|ing)?|added|adds|adding|handl(?:e|es|ed|ing)|chang(?:e|es|ed|ing)"
    r"|updat(?:ed|es|ing)|renam(?:e|es|ed)|remov(?:es|ed|ing)|refactor\w*|implement(?:s|ed)?"
    r"|you (?:could|might|should|would|get|see)"
    r"|if (?:the(?! (?:problem|issue|error))|an?|it(?! persists))"
    r"|when (?:the|a|an|you|it|no|there)|whenever|therefore|so that|so the|so it"
    r"|which (?:is|are|has)"
    r"|says|said|shows?|reads?:|translat\w+|in (?:english|german|french|spanish|python|java\w*|go))"
    r"\b|(?<![./\w])(?:errors|responses|exceptions)\b(?! or inco)|\bstatus codes\b"
    r"|\b(?:bedeutet|hei\u00dft|signifie|veut dire|significa|quiere dire|indica|betyder|betekent)\b"
    r"|\u8868\u793a|\u610f\u601d|\u610f\u5473|\u610f\u8c13|\u043e\u0437\u043d\u0430\u0447\u0430\u0435\u0442"
)
"""For flattened text without addresses."""
