"""Markup: the visible text of an HTML page, without tags, attributes, scripts and styles.

Gateways and firewalls answer with pages. `<meta http-equiv="Content-Type">` names no error, so only
the text that a reader would see, and the title, count as evidence. Text that is not a page is
returned unchanged. Linear, and bounded by the caller's clip and by `MAX_PAGE_CHARS`.
"""

from __future__ import annotations

import re
from functools import cache

from lastword.core.redact.truncate import clip

MAX_PAGE_CHARS = 65_536
_TAIL_CHARS = 4_096

_PAGE = r"<!doctype html|<(?:html|head|title|meta|body|h1|center|script|style|hr)\b[^<>]{0,500}>"
_TAG = r"<(?:!--|!\[|[!/]?[a-z])[^<>]*>"
_CUT_TAG = r"<[!/]?[a-z][^<>]*$"
_UNSEEN = ("script", "style", "svg")
_ENTITIES = {
    "&nbsp;": " ",
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&#39;": "'",
    "&#x27;": "'",
    "&amp;": "&",
}


def readable(text: str) -> str:
    """Return the text of a page, one line for each element; any other text unchanged."""
    if "<" not in text or not _pattern(_PAGE).search(text[:MAX_PAGE_CHARS]):
        return text
    page = clip(text, MAX_PAGE_CHARS, _TAIL_CHARS)
    for name in _UNSEEN:
        page = _without(page, name)
    page = _pattern(_CUT_TAG).sub("", _pattern(_TAG).sub("\n", page))
    for entity, char in _ENTITIES.items():
        page = page.replace(entity, char)
    lines = (" ".join(line.split()) for line in page.replace("\\n", "\n").splitlines())
    return "\n".join(line for line in lines if line)


@cache
def _pattern(source: str) -> re.Pattern[str]:
    """Compile on first use: few failures hold a page."""
    return re.compile(source, re.IGNORECASE)


def _without(page: str, name: str) -> str:
    """Return the page without these elements; an unclosed one extends to the end."""
    lower, pieces, at = page.lower(), [], 0
    if len(lower) != len(page):  # a letter whose lower case is two characters
        return page
    while (start := lower.find(f"<{name}", at)) >= 0:
        pieces.append(page[at:start])
        end = lower.find(f"</{name}", start)
        if end < 0:
            return "".join(pieces)
        at = end
    return "".join((*pieces, page[at:]))
