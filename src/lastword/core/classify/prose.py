"""Prose that is an error: a turn's only message that is nothing but the failure's text.

Owns two readings of it. `read_prose` knows how the errors of single agents begin
(`quirks.prose`). `error_by_form` knows no agent: it asks whether a message has the form of an
error and little else. Neither says whether a turn failed: an honest answer may well be an error's
text, word for word, so a form is one sign of two, and the other is the turn's
(`core.link.evidence`).
"""

from __future__ import annotations

import re

import msgspec

from lastword.core.classify import gather
from lastword.core.classify.classes import BUILTINS
from lastword.core.classify.decide import decide
from lastword.core.classify.evidence import Verdict
from lastword.core.classify.text import names, normalise
from lastword.core.failure.signs import MAX_PROSE_CHARS, flattened
from lastword.core.failure.taxonomy import ErrorType
from lastword.quirks import prose
from lastword.quirks.agents import agent_key

MAX_WORDS_CHARS = 600
"""What an error says in words, its body aside. The longest that was seen has 470."""

MAX_LABELS = 3
_MAX_LINES = 8

_TOLD = frozenset({
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
"""What fails between an agent and its model: a crash or a bug told in prose may be anybody's."""


# --- by an agent's own openings ------------------------------------------------------------------


def read_prose(text: str, *, agent: str | None) -> Verdict | None:
    """The verdict on a turn's whole text, if for this agent it is nothing but the error."""
    openings = prose.OPENINGS.get(agent_key(agent) or "", ())
    if len(text) > MAX_PROSE_CHARS or not openings:
        return None
    told = flattened(text)
    opening = next((opening for opening in openings if told.startswith(opening)), None)
    if opening is None or _speaks_of_it(text, opening, told.removeprefix(opening)):
        return None
    return decide(gather.from_text(text))


_SAYS_OF_IT = re.compile(
    r"\s*(?:[?,]|codes\b|[:.]?\s*(?:\d{3}\s+)?"
    r"(?:is|are|was|were|means?|that|which|what|how|why|when|happens|occurs|comes)\b)"
)
_ANSWERS = re.compile(r"\b(?:i|i've|i'll|let me|here is|here's|your code)\b")
_NEW_PARAGRAPH = re.compile(r"\n\s*\n\s*(?!please\b)[a-z]", re.IGNORECASE)


def _speaks_of_it(text: str, opening: str, rest: str) -> bool:
    """Is this an answer that only begins as an error does, and then goes on about it?"""
    if opening.startswith("["):
        closed, _, rest = rest.rpartition("]")
        if not closed:
            return True
    if _SAYS_OF_IT.match(rest):
        return True
    return bool(_ANSWERS.search(rest) or _NEW_PARAGRAPH.search(text))


# --- by form -------------------------------------------------------------------------------------


class _Parts(msgspec.Struct, frozen=True):
    """A message taken apart: the words it is told in, the error's body, and what it begins with."""

    words: str
    body: str
    head: re.Match[str] | None = None


_STACK_LINE = re.compile(r"^\s+at .*$", re.MULTILINE)
_BODY_KEY = re.compile(
    r"[\"'](?:error|errors|message|msg|detail|details|code|type|status|error_code|__type)[\"']\s*:"
)
_PAGE = re.compile(r"<(?:!doctype|html|head|title)\b", re.IGNORECASE)

_STATUS = r"(?:40[0-589]|413|42[2459]|498|50[0-4]|52[0-9]|530)(?![\w%-]|[.,]\d)"
"""The statuses that a model's API or its gateway answers with."""

_NAME = (
    r"(?:[A-Za-z_]\w*(?:\.|::))*[A-Z]\w*(?:Error|Exception|Timeout|TimedOut|ResourceExhausted"
    r"|ServiceUnavailable|TooManyRequests)"
)
_ERRNO = (
    r"(?:E(?:CONN[A-Z]+|TIMEDOUT|SOCKETTIMEDOUT|NOTFOUND|AI_[A-Z]+|PIPE|HOST[A-Z]+|NET[A-Z]+|PROTO)"
    r"|(?:net::)?ERR_[A-Z_0-9]+|UND_ERR_[A-Z_]+)"
)
_HEAD = re.compile(
    rf"""
    (?:[^\x00-\x7f]{{1,3}}\s+)? [\[(]? (?:
      (?P<status> (?i:(?:api[ ]|http[ ])?error(?:[ _]code)?|https?(?:/\d(?:\.\d)?)?
          |(?:http[ ])?status(?:[ _]?code)?|code) [ :=]{{1,3}}[\[(]? {_STATUS})
    | (?P<number> {_STATUS}) (?=[ :\])]|$)
    | (?P<name> {_NAME}) (?=:|\s[-\u2013]\s|\s?[(\[]|[.)\]]?$)
    | (?:[a-z]{{4,11}}[ ])? (?P<errno> {_ERRNO}) \b
    | (?P<word> [A-Z]{{3,}}(?:_[A-Z]+)+ | [a-z]+(?:_[a-z]+)*_(?:error|exceeded|failed|exhausted
          |denied|found|reached|unavailable|timeout|quota|balance|key|required|length)) (?=[:\]]\s)
    | (?P<state> unauthenticated|unavailable|rate_limited|resource_exhausted ) \]
    )
    """,
    re.VERBOSE | re.ASCII,
)
_LABEL = re.compile(
    r"(?:[^\x00-\x7f]{1,3}\s+)?\[?(?!https?:)[^:\n\"'`#/{}<>=]{0,48}?"
    r"(?i:\berror|\bfail(?:ed|ure)|exception|\bunable)(?!s)[^:\n\"'`#{}<>=]{0,56}"
    r":\s+"
)
_PLAIN_LABEL = re.compile(
    r"(?:[^\x00-\x7f]{1,3}\s+)?\[?(?:(?:api|llm|model|provider|agent|chat|request|internal|upstream)"
    r" )?error: ",
    re.IGNORECASE,
)
_CALL = re.compile(
    r"\b(?:model|llm|provider|api|completions?|inference|upstream|openai|anthropic|gateway|ollama"
    r"|endpoint|chat|request|operation)\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\b(?:fail(?:ed|ure)?|error|unable|cannot|can't|could not|returned|exceeded|exception"
    r"|responded|rejected|refused|disconnected|unexpected status)\b",
    re.IGNORECASE,
)
_WITHIN = re.compile(
    rf"\b(?i:status|status[ _]code|http|returned|responded(?:[ ]with)?|code)[ :=]{{1,3}}{_STATUS}"
    rf"|[(\[](?:{_STATUS}|(?:{_NAME}|{_ERRNO})[)\]])",
    re.ASCII,
)
_SENTENCE_CHARS = 240
_WHOLE = frozenset({
    *("fetch failed", "typeerror: fetch failed", "connection error", "network error"),
    *("socket hang up", "terminated", "premature close", "other side closed"),
})  # fmt: skip

_GLOSSED = re.compile(
    r"[^:]{0,80}?(?:: | - | \u2013 )(?:if|when|for|raised|thrown|on|with|any|returned|add|allow|avoid|back off"
    r"|catch|check|document|do not|don't|ignore|increase|keep|log|lower|make|map|move|raise"
    r"|re-?raise|reduce|retry(?! (?:after|in|later))|return|set|skip|stop|support|test|treat|use|wait"
    r"|wrap|subclass|base|inherits|default|raises|is|maps?|yes,?|no,?) ",
    re.IGNORECASE,
)
"""What a definition or the subject of a commit goes on with: `TimeoutError: raise the limit`."""

_TOLD_OF = re.compile(r"(?:the|your|this|that|it|a|an(?! error occurred \()|its|one|some|if|when|because"
    r"|since|yes|no|so|and|but)\b", re.IGNORECASE)
"""How an answer begins that tells of a call that failed; the error itself has no article."""

_OPENS = re.compile(r"[A-Z\[]|unexpected status|exceeded retry|server |upstream |error |request ")
_GLOSS = re.compile(r"[^:]{0,40}: (?:the|a|an|your|this|it|you|one|some) ")
_NEAR = re.compile(r"\b(?:api|models?|llm|provider|openai|anthropic|claude|gemini|completions?|inference)",re.I)
_REASONS = re.compile(
    r"[ :\])-]{1,3}(?i:bad request|unauthorized|payment required|forbidden|not found"
    r"|method not allowed|not acceptable|proxy authentication required|request timeout|conflict"
    r"|gone|payload too large|unprocessable entity|too many requests|internal server error"
    r"|bad gateway|service unavailable|gateway time-?out|client error|server error)\b[.]?"
)
_GOES_ON = re.compile(rf"{_REASONS.pattern}[ ,]+(?!for (?:url|https?)\b)[^\W\d_A-Z]")
_FOLLOWS = re.compile(
    r"[\])]*(?:\s*[.]?\s*$|\s*[({\[\u2013]|\s+-|:?\s+(?:[45]\d\d\b|[A-Z](?![A-Z]\b)|[\"'{\[<]"
    r"|[a-z_]+[.][a-zA-Z_.]+[: ]|[^\x00-\x7f])"
    r"|\s+(?:from(?! the)|while|fetching|calling|error\b|status\b))"
)
"""What a status may be followed by: neither a count's noun (`404 files`) nor a verb."""

_SAYS = re.compile(r"\W{1,4}(?:[A-Z][a-z]+ \w|[^\x00-\x7f])")
_LISTS = re.compile(
    rf"(?:[,;.]\s+|\n\s*)(?:{_NAME}|{_STATUS}(?=:| [A-Z(])|[a-z]+(?:_[a-z]+)*_error)[ :(]", re.ASCII
)
_ADDRESS = re.compile(r"https?://\S+")
_COUNTS = re.compile(
    r"\d{3} (?!too\b)(?:\w+ ){0,2}(?:requests|tokens|files|tests|users|calls|messages|lines|errors"
    r"|[KMGT]i?B|EUR|USD)\b(?! (?:limit|have|exceed))",
    re.IGNORECASE,
)
_NO_BODY = re.compile(r"(?: \d{3})? status code \(no body\)")

_SENTENCE = re.compile(r" (?:[45]\d\d )?[A-Z][\w']*(?: [\w'`./:(-]\S*){3}")
_LIVE = re.compile(
    r"\b(?:urls?|host|at|to|for|from|visit|post|get|request|endpoint)\W{1,3}https?://|\b\d{1,3}(?:\.\d{1,3}){3}\b|\breq(?:uest)?[_ -]?id\b|\breq_\w|\borg[_-]\w"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-|\*{3,}|\bsk-|\bplease\b|\b(?:try|retry|retrying)(?: your request)?"
    r" again\b|\b(?:attempts?|tries|retries)\b|\(no body\)|\byou(?:'ve| have)? exceeded\b"
    r"|\bprovided: |\bfor url\b|\brun /|\bresets? (?:at|in|on)\b"
    r"|\b(?:limit|requested|used|current|maximum|after|in|attempt|for|than|is|over) \D{0,2}\d"
    r"|\b\d+(?:\.\d+)?\s?(?:s|ms|seconds?|minutes?|hours?|tokens)\b"
    r"|\boperation: |\bcalling the (?:model|llm|api|provider)\b|\(status=",
    re.IGNORECASE,
)
_PACKAGED = re.compile(rf"(?:[a-z_]\w*(?:\.|::))+{_NAME}: \S", re.ASCII)

_MARKED_UP = re.compile(
    r"```|^`|(?<![\w*])\*\*\w[^*\n]*\*\*(?![\w*])|^\s{0,3}#{1,6} |^\s*(?:[-*+\u2022]|\d{1,2}[.)]) |\|.*\||\]\(|===|^\s*//|[;{]$"
    r"|^\s*[\"'\u201c\u2018>]|(?<!-)->|=>|\u2192|[?]\s*\Z|\(#\d|^[Cc]ontent-[Tt]ype:|^[Rr]etry-[Aa]fter:",
    re.MULTILINE,
)
_EXPLAINS = re.compile(
    r"\b(?:means?|meaning|indicat(?:es?|ing)|denotes?|represents?|refers to|stands? for"
    r"|is (?:an?|the|returned|raised|thrown|what|sent|used|how|when|why|now|handled|fixed)"
    r"|are (?:an?|the|returned|raised|thrown|what|sent|now|handled|fixed|both)"
    r"|(?:raised|thrown|returned|sent|occurs?|happens?|used|issued|emitted) (?:when|if|by|for|to|as)"
    r"|for example|for instance|e\.g\.|i\.e\.|such as|typically|commonly|generally"
    r"|in other words|as opposed to|the difference|compared|vs\.?|versus|similar to"
    r"|i (?!hit\b|encountered\b|got\b|ran\b|had\b|couldn't\b|could not\b|was unable\b|am unable\b"
    r"|can't complete\b)|i've|i'll|i'd|let me|let's|we (?!are\b|were\b|could\b|couldn't\b)|here is"
    r"|here's|here are|your (?:code|function|test|tests|script|app|handler|server|log|logs)"
    r"|fix(?:ed|es|ing)?|added|adds|adding|handl(?:e|es|ed|ing)|chang(?:e|es|ed|ing)"
    r"|updat(?:ed|es|ing)|renam(?:e|es|ed)|remov(?:es|ed|ing)|refactor\w*|implement(?:s|ed)?"
    r"|you (?:could|might|should|would|get|see)|if (?:the|a|an|it)"
    r"|when (?:the|a|an|you|it|no|there)|whenever|therefore|so that|so the|so it|which (?:is|are|has)"
    r"|says|said|shows?|reads?:|translat\w+|in (?:english|german|french|spanish|python|java\w*|go))"
    r"\b|(?<![./\w])(?:errors|responses|exceptions)\b(?! or inco)|\bstatus codes\b"
    r"|\b(?:bedeutet|hei\u00dft|signifie|veut dire|significa|quiere dire|indica|betyder|betekent)\b"
    r"|\u8868\u793a|\u610f\u601d|\u610f\u5473|\u610f\u8c13|\u043e\u0437\u043d\u0430\u0447\u0430\u0435\u0442"
)


def error_by_form(text: str, *, spoken_for: bool = False) -> Verdict | None:
    """The verdict on a message that is an error by its form and little else, whoever wrote it.

    Only where it names a type, and one that a model call can fail with.

    Args:
        text: The turn's whole message.
        spoken_for: The turn itself speaks for a failure (a refusal, no output token, a hint):
            then a bare form is enough, such as `401 Unauthorized` or `fetch failed`. Without it,
            the message must tell of one failure, rather than of a kind of them: by a body, an
            address, an id, a limit or a word to the user, as no answer to a question does.
    """
    told = text.strip()
    if not told or len(told) > MAX_PROSE_CHARS:
        return None
    parts = _taken_apart(told)
    if parts is None or not _is_error(parts) or _is_answer(parts):
        return None
    verdict = decide(gather.from_text(told))
    if verdict.type not in _TOLD or not _is_told_by(verdict, parts):
        return None
    return verdict if spoken_for or _is_of_one_failure(parts, verdict) else None


def _taken_apart(told: str) -> _Parts | None:
    """The message in its parts; nothing where there is more to it than an error has."""
    words, body = told, ""
    page = _PAGE.search(told)
    start, end = told.find("{"), told.rfind("}")
    if page is not None:
        words, body = told[: page.start()], told[page.start() :]
    elif 0 <= start < end and _BODY_KEY.search(told, start, end):
        words, body = f"{told[:start]} {told[end + 1 :]}", told[start : end + 1]
    words = _STACK_LINE.sub("", words).strip()
    if len(words) > MAX_WORDS_CHARS or words.count("\n") >= _MAX_LINES:
        return None
    return _Parts(words, body, _head(words))


def _head(words: str) -> re.Match[str] | None:
    """What an error begins with, behind labels such as `API error (attempt 1/3): `."""
    at = 0
    for _ in range(MAX_LABELS + 1):
        head = _HEAD.match(words, at)
        if head is not None:
            return head
        label = _LABEL.match(words, at)
        if label is None:
            break
        at = label.end()
    return None


def _is_error(parts: _Parts) -> bool:
    """Does it begin as an error does, or is it a sentence of a call that failed?"""
    if parts.head is not None:
        return _is_begun_by(parts.head, parts.words)
    if parts.body and (not parts.words or _LABEL.match(parts.words)):
        return True
    if _PLAIN_LABEL.match(parts.words) or flattened(parts.words).rstrip(".") in _WHOLE:
        return True
    first = parts.words[:_SENTENCE_CHARS]
    if not _OPENS.match(first) or _TOLD_OF.match(first):
        return False
    return bool(_WITHIN.search(first) and _FAILED.search(first) and _CALL.search(first))


def _is_begun_by(head: re.Match[str], words: str) -> bool:
    """Does it go on as an error does: no count, no verb, no bug of a program?"""
    if head["name"] is not None:
        return normalise(head["name"]) not in BUILTINS
    if head["word"] is not None:
        return _SAYS.match(words, head.end()) is not None
    if head["status"] is None and head["number"] is None:
        return True
    reason = _REASONS.match(words, head.end())
    return _FOLLOWS.match(words, reason.end() if reason else head.end()) is not None


def _is_answer(parts: _Parts) -> bool:
    """Is there more to it than an error: markup, an explanation, a report of work?"""
    words = parts.words
    return bool(
        _MARKED_UP.search(words)
        or _NEW_PARAGRAPH.search(words)
        or _GLOSSED.match(words)
        or _GLOSS.match(words)
        or _COUNTS.match(words)
        or _LISTS.search(words)
        or (parts.head is not None and _GOES_ON.match(words, parts.head.end()))
        or _EXPLAINS.search(flattened(_ADDRESS.sub("", words)))
    )


def _is_told_by(verdict: Verdict, parts: _Parts) -> bool:
    """Do the words themselves say what failed, where nothing but a number or a label says so?"""
    if parts.body:
        return True
    guessed = verdict.rule.startswith(("concept:", "text:", "word:"))
    if parts.head is None:
        return not guessed or not _PLAIN_LABEL.match(parts.words)
    if parts.head["number"] is None:
        return True
    rest = parts.words[parts.head.end() :]
    if not rest or _REASONS.match(rest) or _NO_BODY.match(rest):
        return True
    return not guessed and not verdict.rule.startswith("status:")


def _is_of_one_failure(parts: _Parts, verdict: Verdict) -> bool:
    """Does it tell what only a failure that happened has, and not merely which kind it is?"""
    if parts.body:
        return bool(parts.words)
    if parts.head is None or parts.head["status"] is None and parts.head["number"] is None:
        if verdict.rule.startswith(("concept:", "text:", "word:")) and not _WITHIN.search(
            parts.words
        ):
            return False
    if _PACKAGED.match(parts.words) or _is_sdk_sentence(parts, verdict):
        return True
    if _is_anybodys(parts) and not _NEAR.search(parts.words):
        return False
    rest = parts.words[parts.head.end() :] if parts.head else parts.words
    return bool(_LIVE.search(rest))


def _is_anybodys(parts: _Parts) -> bool:
    """Is it a transport's failure that any program may have had?"""
    head = parts.head
    if head is None:
        return _PLAIN_LABEL.match(parts.words) is not None
    return head["errno"] is not None or (
        head["name"] is not None and normalise(head["name"]) in _ANYBODYS
    )


_ANYBODYS = names("""
    TimeoutError ConnectionError ConnectionRefusedError ConnectionResetError BrokenPipeError
    HTTPError FetchError RequestError AxiosError NotFoundError ValidationError PermissionError Timeout
    ConnectionAbortedError SSLError NetworkError HttpError""")


def _is_sdk_sentence(parts: _Parts, verdict: Verdict) -> bool:
    """Is it `<status> <sentence>`, as SDKs write it, with a sentence that providers write?"""
    if parts.head is None or parts.head["number"] is None:
        return False
    sentence = parts.words[parts.head.end() :]
    named = verdict.rule.startswith(("message:", "token:", "transport:"))
    return named and _SENTENCE.match(sentence) is not None and not _REASONS.match(sentence)
