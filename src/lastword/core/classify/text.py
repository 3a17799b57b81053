"""Text for comparison: folded text, and names reduced to a form that ignores spelling.

Every pattern of the classifier runs on text that `core.redact.truncate.clip` has cut: an uncut
message of 1 MB cost seconds.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_TOKEN_CHARS = 96
_MAX_INT = 1 << 63

_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")
_WORD_BORDER = re.compile(r"_|(?<=[a-z0-9])(?=[A-Z][a-z])")
_CLASS_SUFFIXES = ("exception", "error", "err", "fault")
TOO_WIDE_ALONE = frozenset({
    *("api", "auth", "client", "close", "closed", "import", "index", "internal", "key", "lookup"),
    *("memory", "name", "net", "object", "os", "parameter", "protocol", "proxy", "range", "read"),
    *("reference", "request", "response", "runtime", "server", "socket", "syntax", "system"),
    *("transport", "type", "url", "value", "write"),
})  # fmt: skip
_RPC_WORDS = ("internal error", "json-rpc internal error", "error: internal error")
_INTERNAL_ERROR = "-32603"
_PLAIN_LETTERS = str.maketrans({
    "\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"',
    "\u0451": "\u0435", "\u0401": "\u0435",  # Russian is written with and without a yo
})  # fmt: skip


def fold(text: str) -> str:
    """Return text in lower case, with plain quotes, single spaces and nested JSON unescaped."""
    plain = text.translate(_PLAIN_LETTERS).lower()
    if "\\" in plain:
        plain = plain.replace("\\n", " ").replace("\\", "")
    return " ".join(plain.split())


def spelled_out(text: str) -> str:
    """Return the folded text with names split into words: `NOT_ENOUGH_BALANCE`, `NotEnabled`."""
    return fold(_WORD_BORDER.sub(" ", text))


def without_rpc_words(folded: str) -> str:
    """Return the text without JSON-RPC's own words for the code -32603, which begin it.

    They are not the agent's own: next to them, any word about a model looks like a failure of it.
    """
    if not folded.startswith(_RPC_WORDS) and _INTERNAL_ERROR not in folded:
        return folded
    return folded.replace("internal error", " ")


_ADVICE = (
    r"(?:\b(?:please|bitte|veuillez|por favor)\b"
    r"|\u043f\u043e\u0436\u0430\u043b\u0443\u0439\u0441\u0442\u0430"
    r"|(?<![\u7533\u9080])[\u8bf7\u8acb](?!\u6c42)).*?(?=[.!?](?: |$)|[\u3002\uff01\uff1f]|$)"
    r"|(?<![^.!?\u3002\uff01\uff1f])[^.!?\u3002\uff01\uff1f]*"
    r"(?:\u304f\u3060\u3055\u3044|\u4e0b\u3055\u3044|\u304a\u8a66\u3057\u3044\u305f\u3060|\uc138\uc694|\uc2ed\uc2dc\uc624|\ubc14\ub78d\ub2c8\ub2e4)"
)
"""From a word such as "please" to the end of the sentence; in Japanese and Korean the sentence."""

_LOGIN = (
    *("log in", "login", "sign in", "anmeld", "loggen", "melden sie sich", "connecter"),
    *(
        "sesi\u00f3n",
        "sesion",
        "\u0432\u043e\u0439\u0434\u0438\u0442\u0435",
        "\u767b\u5f55",
        "\u767b\u9304",
        "\u767b\u5165",
        "\u30ed\u30b0\u30a4\u30f3",
    ),
    *("\u30b5\u30a4\u30f3\u30a4\u30f3", "\ub85c\uadf8\uc778"),
)


@lru_cache(maxsize=4)  # each table uses that of the same text
def without_advice(folded: str) -> str:
    """Return the folded text without what it asks the reader to do, unless it says nothing else.

    "Please wait or raise the quota of your key" means neither that a quota is used up nor that the
    key is wrong. Advice to log in is kept, since it implies that a login is missing.
    """
    stated = re.sub(
        _ADVICE,
        lambda advice: advice[0] if any(word in advice[0] for word in _LOGIN) else " ",
        folded,
    )
    return stated if any(map(str.isalnum, stated)) else folded


def normalise(name: str) -> str:
    """Reduce a name: `RateLimitError`, `rate_limit_error`, `RATE-LIMIT` -> `ratelimit`.

    The suffix is kept if the rest alone is an everyday word: `server_error` is not `server`, and
    the value of a field (`type: 'system'`) is not an exception's name.
    """
    bare = name[:MAX_TOKEN_CHARS].removeprefix("AI_").lower().replace("_", "")
    if not (bare.isascii() and bare.isalnum()):
        bare = _NOT_ALPHANUMERIC.sub("", bare)
    if not bare.endswith(_CLASS_SUFFIXES):
        return bare
    for suffix in _CLASS_SUFFIXES:
        stem = bare.removesuffix(suffix)
        if stem and stem != bare:
            return bare if stem in TOO_WIDE_ALONE else stem
    return bare


def as_text(value: object) -> str:
    """Return a scalar as text; empty for other values, and for numbers too long to print."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int):
        return str(value) if -_MAX_INT < value < _MAX_INT else ""
    if isinstance(value, float):
        return repr(value)
    return ""


def plain_key(key: object) -> str:
    """Return a key regardless of spelling, without the class-name suffixes `normalise` drops."""
    text = as_text(key)[:MAX_TOKEN_CHARS].lower()
    return text if text.isalnum() else "".join(filter(str.isalnum, text))


def as_int(value: object) -> int | None:
    """Return an int, an integral float or a short digit string as an int, else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if -_MAX_INT < value < _MAX_INT else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _MAX_INT else None
    if isinstance(value, str) and len(value) <= 12:  # noqa: PLR2004 - no code or status is longer
        bare = value.strip()
        digits = bare[1:] if bare[:1] in {"-", "+"} else bare
        return int(bare) if digits.isascii() and digits.isdigit() else None
    return None


def names(words: Iterable[str]) -> frozenset[str]:
    """Return these names in the reduced form."""
    return frozenset(map(normalise, words))


GAP = " .. "
MAX_GAP_CHARS = 100
_MAX_STARTS = 64


def phrase_in(folded: str, parts: tuple[str, ...]) -> str | None:
    """Return the first part found in the text; ` .. ` stands for up to 100 characters."""
    # In a text of 3 KB, a search takes a microsecond, so only the few parts are searched for of
    # which the text has a word.
    by_beginning, others = _by_word(parts)
    words, beginnings = _words(folded)
    candidates = others.copy()
    for beginning in by_beginning.keys() & beginnings:
        candidates += by_beginning[beginning]
    candidates.sort()
    for number, word in candidates:
        part = parts[number]
        if word in words and (part in folded or (GAP in part and _gapped(folded, part))):
            return part
    return None


_BEGINNING = 3


@lru_cache(maxsize=4)  # each table uses those of the same text
def _words(folded: str) -> tuple[str, set[str]]:
    """Return the distinct words of a text as another text, and their beginnings."""
    words = set(folded.split(" "))
    return " ".join(words), {word[:_BEGINNING] for word in words}


@lru_cache(maxsize=512)
def _by_word(
    parts: tuple[str, ...],
) -> tuple[dict[str, list[tuple[int, str]]], list[tuple[int, str]]]:
    """Return the parts, as numbers with their longest words, by the beginning of one word of each.

    That word follows a space, since a part's first may be the end of a longer one. Parts without
    such a word come second.
    """
    by_beginning: dict[str, list[tuple[int, str]]] = {}
    others: list[tuple[int, str]] = []
    for number, part in enumerate(parts):
        pieces = [piece.split(" ") for piece in part.split(GAP)]
        behind = max((word for piece in pieces for word in piece[1:]), key=len, default="")
        short = len(behind) < _BEGINNING
        like = others if short else by_beginning.setdefault(behind[:_BEGINNING], [])
        like.append((number, max((word for piece in pieces for word in piece), key=len)))
    return by_beginning, others


def _gapped(folded: str, part: str) -> bool:
    head, _, tail = part.partition(GAP)
    if tail not in folded:
        return False
    start = folded.find(head)
    for _ in range(_MAX_STARTS):
        if start < 0:
            return False
        end = start + len(head)
        # Chinese and Japanese put no space between words.
        at_word = start == 0 or not folded[start - 1].isalnum() or not head[:1].isascii()
        if at_word and tail in folded[end : end + MAX_GAP_CHARS + len(tail)]:
            return True
        start = folded.find(head, end)
    return False
