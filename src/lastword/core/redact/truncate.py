"""Truncation: cutting text between words, since half a key is no longer recognised as one.

Owns what is kept of a text that is too long, and of a log in which few lines are worth keeping.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import zip_longest

MAX_WORD_CHARS = 256
CLIP_HEAD_CHARS = 4096
CLIP_TAIL_CHARS = 4096
LOG_TAIL_CHARS = 16_384
LOG_LINES = 20
_CUT_MARK = " (cut)"
_GAP = "\n...\n"
_ESCAPED = re.compile(r'[\x00-\x1f"\\\x7f]')
_WORD_MARKS = " \t\r\n\"',;<>()[]{}"
_FRAME = re.compile(r"\s+at \S.{0,400}(?:\)|:\d+)(?: \{)?$")
_LOCATION = re.compile(
    r'\s*File "[^"]{1,400}", line \d+|(?:file:|node:|/|[A-Za-z]:[\\/]).{1,400}:\d+$'
)
_POINTER = re.compile(r"\s*\^+\s*$|\s+[~^]+\s*$")
"""Lines of the stacks of Python and Node: a frame, the place of some source, and a mark below."""
_ERROR_SIGNS = (
    "error",
    "exception",
    "fail",
    "fatal",
    "panic",
    "denied",
    "refused",
    "timed out",
    "timeout",
    "unauthorized",
    "exceeded",
    "exhausted",
    "status code",
    " 429",
    " 401",
    " 402",
    " 403",
    " 500",
    " 502",
    " 503",
    " 529",
)


def to_word_end(head: str) -> str:
    """Return the text without its last word, which may be the first half of a key."""
    last = max(head.rfind(mark, len(head) - MAX_WORD_CHARS) for mark in _WORD_MARKS)
    return head[: last + 1] if last >= 0 else head[:-MAX_WORD_CHARS]


def from_word_start(tail: str) -> str:
    """Return the text without its first word, which may be the second half of a key."""
    starts = [at for mark in _WORD_MARKS if (at := tail.find(mark, 0, MAX_WORD_CHARS)) >= 0]
    return tail[min(starts) :] if starts else tail[MAX_WORD_CHARS:]


def clip(text: str, head: int = CLIP_HEAD_CHARS, tail: int = CLIP_TAIL_CHARS) -> str:
    """Return the text, or its head and tail with a mark between them if it is longer than both."""
    if len(text) <= head + tail:
        return text
    return f"{to_word_end(text[:head])}{_GAP}{from_word_start(text[-tail:])}"


def informative_lines(log: str) -> str:
    """Return the last lines of a log that look like errors; the others mislead."""
    lines = _without_source(clip(log, 0, LOG_TAIL_CHARS).splitlines())
    return "\n".join([line for line in lines if looks_like_error(line)][-LOG_LINES:])


def _without_source(lines: list[str]) -> list[str]:
    """Return the lines without stack frames and the source that they quote."""
    rest: list[str] = []
    before = ""
    for line, after in zip_longest(lines, lines[1:], fillvalue=""):
        # Python omits the source where it has none; otherwise it is indented as the frame is.
        is_source = _LOCATION.match(before) and (line[:1].isspace() or not before[:1].isspace())
        if not (is_source or _POINTER.match(after) or _LOCATION.match(line) or _FRAME.match(line)):
            rest.append(line)
        before = line
    return rest


def looks_like_error(line: str) -> bool:
    """Return whether a line of a log has a word that errors have."""
    lower = line[:400].lower()
    return any(sign in lower for sign in _ERROR_SIGNS)


def to_bytes(text: str, limit: int) -> str:
    """Return at most `limit` bytes, counted as a JSON string, with a mark where text was cut."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    if len(clean) * 6 <= limit or _size(clean) <= limit:
        return clean
    return clean[: _fitting(clean, limit - len(_CUT_MARK))] + _CUT_MARK


def ends_to_bytes(text: str, limit: int) -> str:
    """Return as many bytes as `to_bytes` does, but the beginning and the end of a longer text."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    if len(clean) * 6 <= limit or _size(clean) <= limit:
        return clean
    room = limit - 6 * len(_GAP)
    head = _fitting(clean, room // 4)
    tail = _fitting(clean[::-1], room - room // 4)
    return f"{clean[:head]}{_GAP}{clean[len(clean) - tail :]}"


def _fitting(text: str, limit: int) -> int:
    """Return how many of the first characters fit into this many bytes of a JSON string."""
    text = text[:limit]
    return bisect_right(range(1, len(text) + 1), limit, key=lambda count: _size(text[:count]))


def _size(text: str) -> int:
    """Return how many bytes a text takes in a JSON string, if each escape takes six."""
    return len(text.encode()) + 5 * len(_ESCAPED.findall(text))
