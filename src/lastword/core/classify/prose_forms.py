"""Forms of errors in prose, as patterns: their beginnings, their contents, and signs of an answer.

Owns no order and no decision (`core.classify.prose`). Each pattern is linear or runs on a few
hundred characters. Those whose names begin with a capital match a message as it is written.
"""

from __future__ import annotations

import re

from lastword.core.classify.text import names

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
"""A word to the user, as providers and agents have it."""

CLAUSE_END = re.compile(r"[.!\u00b7;](?:\s|$)|:\s")
CALL_LABEL = re.compile(
    rf"{CALL.pattern}|\b(?:network|connection|transport|stream|timeout|rate limit|auth\w*)\b"
    r"|^\W*error:",
    re.IGNORECASE,
)
"""What is in the label of a model call's error, rather than of an upload's or a login's."""

IMPERATIVE = re.compile(
    r"\W*(?:please|retry|try|catch|use|except|raise|wait|check|run|see|add|set|returned|answer"
    r"|an example|(?:the|your|this) (?:tests?|build|script|server|job))\b"
)
"""Beginnings of sentences about an error; on text that is flattened."""

ERROR_BODY = re.compile(r"\{\s*[\"'](?:error[\"']\s*:|type[\"']\s*:\s*[\"']error)")
"""The beginning of a body that reports an error and nothing else."""

ANY_LABEL = re.compile(rf"{_MARK}\[?(?:error|exception): ", re.IGNORECASE)
NEAR = re.compile(
    r"\b(?:api|models?|llm|provider|openai|anthropic|claude|gemini|completions?|inference)",
    re.IGNORECASE,
)
ANYBODYS = names("""
    TimeoutError ConnectionError ConnectionRefusedError ConnectionResetError BrokenPipeError
    HTTPError FetchError RequestError AxiosError NotFoundError ValidationError PermissionError
    Timeout ConnectionAbortedError SSLError NetworkError HttpError""")
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
"""On text that is flattened, and has no address in it."""
