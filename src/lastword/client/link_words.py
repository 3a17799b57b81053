"""The word for the end of a link, chosen by a close code, its reason, or a status.

Owns the choice. The words, their sentences and the advice are in
`lastword.core.failure.transport_words`, which is generated from `protocol/words.json`. Needs only
the standard library.
"""

from __future__ import annotations

import json

from lastword.client.close_codes import SAME_CODE
from lastword.core.failure.transport_words import TRANSPORT_WORDS, TransportWord

BY_NAME = {name: each for each in TRANSPORT_WORDS for name in (each.word, *each.aliases)}
"""The words by their present and former names."""

_BY_CODE = {code: each for each in TRANSPORT_WORDS for code in each.codes}
_BY_STATUS = {status: each for each in TRANSPORT_WORDS for status in each.statuses}


def word_of_close(code: int, reason: str = "") -> TransportWord | None:
    """Return the word of a close, by its reason or else its code; `None` if neither has one.

    Args:
        code: The close code.
        reason: Its text: a word, a word and `retry=N`, or an object whose `reason` is a word.
    """
    name: object = reason.split(" retry=", maxsplit=1)[0]
    if reason.startswith("{"):
        try:
            value = json.loads(reason)
        except (ValueError, RecursionError):
            value = None
        name = value.get("reason") if isinstance(value, dict) else None
    if not isinstance(name, str):
        name = ""
    return BY_NAME.get(name) or _BY_CODE.get(SAME_CODE.get(code, code))


def word_of_status(status: int) -> TransportWord | None:
    """Return the word of an HTTP status at an upgrade, or `None` if it has none."""
    return _BY_STATUS.get(status)
