"""Redaction of secrets in text and JSON, before anything leaves the process or is recorded.

Applied in order: headers and keys whose names always mean a secret, the exact values of secrets
that the caller knows (the core reads no environment), in whichever form: percent-encoded, in
base64, broken over lines, coloured; then patterns for the shapes of keys, credentials and people's
names. Text is cut to 8 KiB before any pattern runs, and each pattern is linear in its length. A
hook of the user's own may process what is left. Does not decide which fields are shown at all: each
entry point has an allow-list for that.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.redact.environment_secrets import MIN_SECRET_CHARS
from lastword.core.redact.named_values import is_denied, is_denied_argument, redact_named
from lastword.core.redact.shapes import (
    ASSIGNED_SHAPES,
    CARRIERS,
    KEY_SHAPES,
    MIN_KEY_CHARS,
    REDACTED,
    SERVICE_KEYS,
    SHAPES,
    Shape,
)
from lastword.core.redact.truncate import from_word_start, to_word_end

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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


CUT = "(cut)"
MAX_TEXT_CHARS = 8192
MAX_DEPTH = 16
MAX_VALUES = 2000
MAX_SPLIT = 16
"""In a text with more split secrets, the marks that split them are removed instead, since each
secret costs a pattern."""


def _hinted(shapes: Sequence[Shape]) -> tuple[tuple[str, Shape], ...]:
    return tuple((hint, shape) for shape in shapes for hint in shape.hints)


_CARRIER_HINTS = _hinted(CARRIERS)
_SHAPE_HINTS = _hinted(SHAPES)
_KEY_HINTS = _hinted((*KEY_SHAPES, *SERVICE_KEYS))
_SERVICE_HINTS = _hinted(ASSIGNED_SHAPES)
_LONG_WORD = re.compile(rf"[\w.~=+/-]{{{MIN_KEY_CHARS},}}")


def _lowered(text: str) -> str:
    """Return the text in small letters, character for character."""
    lower = text.lower()
    return lower if len(lower) == len(text) else re.sub("[A-Z]+", lambda run: run[0].lower(), text)


def _possible(lower: str) -> list[Shape]:
    """Return the shapes that may occur in a text besides its carriers, in their order."""
    hinted = [shape for hint, shape in _SHAPE_HINTS if hint in lower]
    long_words = " ".join(_LONG_WORD.findall(lower))
    if long_words:
        hinted += [shape for hint, shape in _KEY_HINTS if hint in long_words]
        hinted += [shape for hint, shape in _SERVICE_HINTS if hint in lower]
    return hinted


class Redactor(msgspec.Struct, frozen=True):
    """A callable that redacts a text; `json` redacts a JSON value.

    Attributes:
        values: Exact secrets that are known, in any order. Those under 8 characters are not looked
            for, since they would match ordinary words.
        hook: Called on what is left after our own rules; for example, a library that finds personal
            data. If it raises or does not return text, the whole text is dropped.
        counts: A dict in which matches are counted by rule, if one is given. It belongs to the
            caller: use one for each record, and never share it between threads.
    """

    values: tuple[str, ...] = ()
    hook: Callable[[str], str] | None = None
    counts: dict[str, int] | None = None
    _forms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Sort the values longest first, so that a secret inside a longer one does not break it."""
        values = {value for value in self.values if len(value.strip()) >= MIN_SECRET_CHARS}
        forms = {form for value in values for form in forms_of(value)}
        msgspec.structs.force_setattr(self, "values", _longest_first(values))
        msgspec.structs.force_setattr(self, "_forms", _longest_first(forms | values))

    def __call__(self, text: str) -> str:
        """Return the text without secrets, at most 8 KiB of it."""
        scrubbed = self._clip(text)
        whole = without_noise(scrubbed) if self._forms else scrubbed
        if whole != scrubbed:
            # Values with a line end, a colour code or an invisible mark in them come first, so that
            # a value inside such a one does not break it further.
            for form in self._forms:
                if without_noise(form) in whole:
                    scrubbed, count = broken(form).subn(REDACTED, scrubbed)
                    if count:
                        self.count("known_value", count)
        for form in self._forms:
            if form in scrubbed:
                self.count("known_value", scrubbed.count(form))
                scrubbed = scrubbed.replace(form, REDACTED)
        scrubbed = self._without_split(scrubbed)
        lower = _lowered(scrubbed)
        possible = _possible(lower)
        carriers = [shape for hint, shape in _CARRIER_HINTS if hint in lower]
        if carriers:
            scrubbed = self._without(scrubbed, carriers)
            lower = _lowered(scrubbed)
        scrubbed, count = redact_named(scrubbed, lower)
        if count:
            self.count("named_secret", count)
        scrubbed = self._without(scrubbed, possible)
        if self.hook is None:
            return scrubbed
        hooked: object = None
        try:
            hooked = self.hook(scrubbed)
        except Exception:  # noqa: BLE001 - foreign code: its failure may not become a leak
            self.count("hook_failed")
        if not isinstance(hooked, str):
            return REDACTED
        if hooked != scrubbed:
            self.count("hook")
        return hooked[:MAX_TEXT_CHARS]

    def _without(self, text: str, shapes: list[Shape]) -> str:
        for shape in dict.fromkeys(shapes):
            text, count = shape.pattern.subn(shape.replacement, text)
            if count:
                self.count(shape.name, count)
        return text

    def _without_split(self, text: str) -> str:
        """Remove secrets that a colour code or an invisible mark splits: no shape fits a half."""
        whole = _ALL_UNSEEN.sub("", text)
        if whole == text:
            return text
        lower = _lowered(whole)
        possible = [shape for hint, shape in _CARRIER_HINTS if hint in lower] + _possible(lower)
        split = [
            (shape, match)
            for shape in dict.fromkeys(possible)
            for match in shape.pattern.finditer(whole)
            if match[0] not in text
        ]
        if len(split) > MAX_SPLIT:
            return whole
        for shape, match in split:
            place = broken(match[0]).search(text)
            if place is not None:
                self.count(shape.name)
                text = text[: place.start()] + match.expand(shape.replacement) + text[place.end() :]
        return text

    def count(self, rule: str, count: int = 1) -> None:
        if self.counts is not None:
            self.counts[rule] = self.counts.get(rule, 0) + count

    def json(
        self, value: object, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES
    ) -> Any:
        """Return a redacted copy of a JSON value; anything beyond a bound becomes `(cut)`."""
        return _JsonCopy(self, max_depth, max_values).of(value, 0)

    def _clip(self, text: str) -> str:
        """Return head and tail, cut so that no half of a secret is left."""
        if len(text) <= MAX_TEXT_CHARS:
            return text
        half = MAX_TEXT_CHARS // 2
        reach = max((len(form) for form in self._forms), default=0) + 256
        head, tail = text[: half + reach], text[-half - reach :]
        for form in self._forms:
            head, tail = head.replace(form, REDACTED), tail.replace(form, REDACTED)
        return f"{to_word_end(head[:half])} {CUT} {from_word_start(tail[-half:])}"


def _longest_first(texts: set[str]) -> tuple[str, ...]:
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


class _JsonCopy:
    """One copy of one value: the redactor, and how much of the bound is left."""

    def __init__(self, redactor: Redactor, max_depth: int, values_left: int) -> None:
        self._redactor = redactor
        self._max_depth = max_depth
        self._values_left = values_left

    def of(self, value: object, depth: int) -> Any:
        self._values_left -= 1
        if self._values_left < 0:
            return CUT
        if isinstance(value, str):
            return self._redactor(value)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if depth >= self._max_depth:
            return CUT
        if isinstance(value, dict):
            members: dict[str, Any] = {}
            for name, child in value.items():
                if self._values_left <= 0:
                    members[CUT] = CUT
                    break
                key = self._redactor(name) if isinstance(name, str) else CUT
                # ACP and MCP write variables and headers as {"name": ..., "value": ...}.
                named = value.get("name", value.get("key")) if name == "value" else name
                if is_denied(named, child):
                    members[key] = REDACTED
                    self._redactor.count("secret_name")
                else:
                    members[key] = self.of(child, depth + 1)
            return members
        if not isinstance(value, (list, tuple)):
            return CUT
        items: list[Any] = []
        before: object = None
        for child in value:
            if self._values_left <= 0:
                items.append(CUT)
                break
            if is_denied_argument(before, child):
                items.append(REDACTED)
                self._redactor.count("secret_name")
            else:
                items.append(self.of(child, depth + 1))
            before = child
        return items


_PLAIN = Redactor()


def redact_text(text: str) -> str:
    """Return the text without anything shaped like a secret, at most 8 KiB of it."""
    return _PLAIN(text)


def redact_json(value: object, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> Any:
    """Return a redacted copy of a JSON value; the value itself is not changed."""
    return _PLAIN.json(value, max_depth=max_depth, max_values=max_values)
