"""Quotation: the part of a failure's own text that is worth showing to a person.

Owns which words of the evidence are quoted: the innermost message rather than the JSON around it,
no advice that contradicts the verdict, and a reset time if the text states one. Does not redact,
and does not build sentences (`core.failure.wording`, which passes in redacted text).
"""

from __future__ import annotations

import re

MAX_NESTING = 4
MAX_CHARS = 8192

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

_CLOCK = r"\d{1,2}(?::\d\d)?\s?[ap]m(?:\s\([\w+-]{2,20}(?:/[\w+-]{2,20}){0,2}\))?"
_DAY = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\s\d{1,2}"
    r"(?:st|nd|rd|th)?(?:,?\s\d{4})?"
)
_RESET = (
    r"(?ia)\b(?:resets?|renews?|refills?|(?:try|available)\sagain|retry)\s(?:(?:at|on|after)\s)?"
    rf"({_DAY}(?:,?\s(?:at\s)?{_CLOCK})?|{_CLOCK}"
    r"|\d{4}-\d\d-\d\d(?:[T\s]\d\d:\d\d(?::\d\d)?)?(?:Z|\sUTC)?|\d\d:\d\d(?:\sUTC)?)(?!\w)"
    r"|(\d{4}-\d\d-\d\d[T\s]\d\d:\d\d(?::\d\d)?)\s?[\u540e\u5f8c\u306b\uc5d0]?\s?"
    r"(?:\u91cd\u7f6e|\u91cd\u8a2d|\u6062[\u590d\u5fa9]|\u5237\u65b0|\u30ea\u30bb\u30c3\u30c8|\uc7ac\uc124\uc815|\ucd08\uae30\ud654)"
)
"""In Chinese, Japanese and Korean the verb follows its time."""


def innermost(text: str) -> str:
    """Return the message inside nested JSON and Python reprs; other text is returned unchanged."""
    inner = text[:MAX_CHARS]
    for _ in range(MAX_NESTING):
        messages = [_unescaped(one or two) for one, two in re.findall(_MESSAGE, inner)]
        if not messages:
            break
        informative = [
            message for message in messages if not re.fullmatch(_UNINFORMATIVE, message.strip())
        ]
        inner = (informative or messages)[0]
    return inner


def _unescaped(text: str) -> str:
    plain = text.replace("\\n", " ").replace('\\"', '"').replace("\\'", "'")
    return plain.replace("\\\\", "\\")


def without_retry_advice(text: str) -> str:
    """Return the text without its "please try again", for a verdict against a retry."""
    return re.sub(_RETRY_ADVICE, " ", text).strip(" ,;:-\u2014")


def stated_reset(text: str) -> str:
    """Return the reset time as the text gives it (`10:30pm (Europe/Berlin)`), or nothing."""
    match = re.search(_RESET, " ".join(text[:MAX_CHARS].split()))
    return match[1] or match[2] if match else ""


def without_empty_lead(text: str) -> str:
    """Return the text without a leading "Internal error", which adds nothing to the rest."""
    return re.sub(_EMPTY_LEAD, "", text)
