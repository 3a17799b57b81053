"""Forms of a known secret: as it is, percent-encoded, in base64, broken over lines, coloured.

Owns the encodings in which a value is looked for, and the characters that may stand inside it
without changing it for a reader.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lastword.core.redact.environment_secrets import MIN_SECRET_CHARS

_MAX_FORM_CHARS = 4096

_UNSEEN = (
    r"(?:\x1b|\\{1,4}u001b|\\{1,4}x1b|\\{1,4}033|\\{1,4}e)\[[0-9;]*[A-Za-z]"
    r"|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_NOISE = rf"(?:\s|{_UNSEEN}|\\[nrt])"
"""Characters that split a value but are not visible: line ends, colour codes, invisible marks."""

_ALL_UNSEEN = re.compile(f"(?:{_UNSEEN})+")
_ANY_NOISE = re.compile(f"{_NOISE}+")
_ESCAPE = re.compile("%[0-9a-fA-F]{2}")


@lru_cache(maxsize=256)
def forms_of(value: str) -> tuple[str, ...]:
    """Return the ways in which a text may write a value, including the value itself.

    Base64 is given for each of the three offsets at which a value can begin within a longer encoded
    text, without the characters that also depend on its neighbours.
    """
    import base64  # noqa: PLC0415
    from urllib.parse import quote, quote_plus  # noqa: PLC0415

    data = value.encode(errors="surrogatepass")
    forms = {value, quote(data, safe=""), quote(data), quote_plus(data)}
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode()
        whole = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        forms |= {whole, whole.replace("+", "-").replace("/", "_")}
    return tuple(form for form in forms if MIN_SECRET_CHARS <= len(form) <= _MAX_FORM_CHARS)


def unsplit(text: str) -> str:
    """Return the text without colour codes and invisible marks."""
    return _ALL_UNSEEN.sub("", text)


def without_noise(text: str) -> str:
    """Return the text without the characters that break a value, percent escapes in capitals."""
    return _ESCAPE.sub(lambda escape: escape[0].upper(), _ANY_NOISE.sub("", text))


@lru_cache(maxsize=256)
def broken(form: str) -> re.Pattern[str]:
    """Return a pattern for a value broken over lines, coloured, or with invisible marks in it."""
    parts = re.findall("%[0-9A-F]{2}|.", without_noise(form))
    return re.compile(
        f"{_NOISE}*+".join(f"(?i:{part})" if part[1:] else re.escape(part) for part in parts)
    )
