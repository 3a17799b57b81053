"""Cutting text without leaving half a word: half a key is no longer recognised as one."""

from __future__ import annotations

MAX_WORD_CHARS = 256
_WORD_MARKS = " \t\r\n\"',;<>()[]{}"


def to_word_end(head: str) -> str:
    """Without the last word, which may be the first half of a key."""
    last = max(head.rfind(mark, len(head) - MAX_WORD_CHARS) for mark in _WORD_MARKS)
    return head[: last + 1] if last >= 0 else head[:-MAX_WORD_CHARS]


def from_word_start(tail: str) -> str:
    """Without the first word, which may be the second half of a key."""
    found = [at for mark in _WORD_MARKS if (at := tail.find(mark, 0, MAX_WORD_CHARS)) >= 0]
    return tail[min(found) :] if found else tail[MAX_WORD_CHARS:]
