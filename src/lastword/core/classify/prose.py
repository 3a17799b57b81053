"""Prose in the form of an error, whichever agent wrote it: an error's text and little else.

Owns the decision; the patterns are in `prose_forms`. How the errors of single agents begin is in
`quirks.prose`, and read by `agents`. A form does not prove that a turn failed: an honest answer may
be an error's text, word for word, because somebody asked for one. It is therefore one sign of two;
the other comes from the turn (`core.link.decision`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from lastword.core.classify import gather
from lastword.core.classify import prose_forms as forms
from lastword.core.classify.decide import decide
from lastword.core.classify.messages import SPOKEN
from lastword.core.classify.text import GAP, normalise
from lastword.core.classify.tokens import BUILTINS
from lastword.core.failure.signs import MAX_PROSE_CHARS, flattened
from lastword.core.failure.taxonomy import ErrorType

if TYPE_CHECKING:
    from lastword.core.classify.evidence import Verdict

MAX_WORDS_CHARS = 600
"""The most characters of an error without its body. The longest one observed has 470."""

MAX_LABELS = 3
_MAX_LINES = 8
_SENTENCE_CHARS = 200

MODEL_CALL_ERRORS = frozenset({
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
"""Failures between an agent and its model: a crash or bug in prose may be another program's."""

_GUESSES = ("concept:", "text:", "word:")
"""Rules that rest on what prose may mean."""

_SENTENCE_RULES = frozenset({"config", "message", "transport"})
"""Rules of sentences that have one meaning."""

_SENTENCE_SHARE = 0.4
_ADVISED_SHARE = 0.2
"""How much of a clause such words must be; less where the text has a word to the user."""

_MODELS_OWN = frozenset({
    ErrorType.RATE_LIMIT,
    ErrorType.BUDGET,
    ErrorType.CONTEXT_OVERFLOW,
})  # fmt: skip
"""Failures that few programs without a model have."""


_TRANSLATED = frozenset(f"message:{row}" for each in SPOKEN.values() for row in each)
"""Rules of sentences that are not English: a model that translates an error is asked to do so more
often than a provider fails in another language."""


class _Parts(msgspec.Struct, frozen=True):
    """A message taken apart.

    Attributes:
        words: all of it except the body.
        body: the JSON or the page that a server sent.
        kind: what the words after the labels begin with: a group of `prose_forms.HEAD`, or "".
        head: that beginning.
        rest: what follows it; without a head, all the words.
    """

    words: str
    body: str
    kind: str
    head: str
    rest: str


def error_by_form(text: str, *, spoken_for: bool = False) -> Verdict | None:
    """Return the verdict on a message that is an error from its beginning to its end.

    There is one only if the message names a type, and one with which a model call can fail.

    Args:
        text: The turn's whole message.
        spoken_for: The turn itself suggests a failure (a refusal, no output tokens, a hint).
            Otherwise an error that any program may have must name the model or its service.
    """
    stripped = text.strip()
    if not stripped or len(stripped) > MAX_PROSE_CHARS:
        return None
    parts = _split(stripped)
    if parts is None or _is_answer(parts):
        return None
    verdict = decide(gather.from_text(stripped))
    if not is_of_call(verdict.type, verdict.rule):
        return None
    if _is_error(parts) or _is_about_call(parts):
        named = _names_itself(parts, verdict) and (spoken_for or _is_models(parts, verdict))
    else:
        named = _is_own_sentence(parts, verdict)
    return verdict if named else None


def is_of_call(kind: ErrorType, rule: str) -> bool:
    """Return whether a model call may fail so, which includes an answer that cannot be read."""
    unusable = kind is ErrorType.PROTOCOL_ERROR and rule.startswith("transport:")
    return kind in MODEL_CALL_ERRORS or unusable


@lru_cache(4)  # it is asked twice of an answer
def is_all_error(text: str) -> bool:
    """Return whether there is no more to a message than an error: no explanation, no report."""
    parts = _split(text.strip())
    return parts is not None and not _is_answer(parts)


def _split(text: str) -> _Parts | None:
    """Return the message in its parts, or `None` if it has more words than an error."""
    words, body = text, ""
    page = forms.PAGE.search(text)
    start, end = text.find("{"), text.rfind("}")
    if page is not None:
        words, body = text[: page.start()], text[page.start() :]
    elif 0 <= start < end and forms.BODY_KEY.search(text, start, end):
        words, body = f"{text[:start]} {text[end + 1 :]}", text[start : end + 1]
    words = forms.STACK_LINE.sub("", words).strip()
    if len(words) > MAX_WORDS_CHARS or words.count("\n") >= _MAX_LINES:
        return None
    head = forms.HEAD.match(words, _labels_end(words))
    if head is None:
        return _Parts(words, body, "", "", words)
    kind = head.lastgroup or ""
    return _Parts(words, body, kind, head[kind], words[head.end() :])


def _labels_end(words: str) -> int:
    """Return the end of labels such as `API error (attempt 1/3): ` before an error begins."""
    at = 0
    for _ in range(MAX_LABELS):
        label = forms.LABEL.match(words, at)
        if label is None or forms.HEAD.match(words, at):
            break
        if not forms.PLAIN_LABEL.match(words, at) and not forms.CALL.search(label[0]):
            break  # `Upload failed: 413` is not a model call
        at = label.end()
    return at


def _is_error(parts: _Parts) -> bool:
    """Return whether it begins like an error, or is a sentence about a failed call."""
    if _is_whole(parts.words) or forms.BROKEN.match(parts.words):
        return True
    if forms.REPORTED.match(parts.words):
        return False
    if parts.kind:
        return _goes_on_as_error(parts)
    if forms.PLAIN_LABEL.match(parts.words) or (parts.body and _is_label(parts.words)):
        return True
    first = parts.words[:_SENTENCE_CHARS]
    return (
        forms.OPENS.match(first) is not None
        and forms.WITHIN.search(first) is not None
        and forms.FAILED.search(first) is not None
        and (bool(parts.body) or forms.CALL.search(first) is not None)
    )


def _is_whole(words: str) -> bool:
    return flattened(words).removeprefix("error: ").rstrip(".") in forms.WHOLE


def _is_about_call(parts: _Parts) -> bool:
    """Return whether it is a sentence about a failed call, or a status with its own reason."""
    if parts.kind in {"status", "number"}:
        return forms.REASON.match(parts.rest) is not None
    first = parts.words[:_SENTENCE_CHARS]
    if parts.kind or forms.REPORTED.match(first) or forms.OPENS.match(first) is None:
        return False
    return forms.FAILED.search(first) is not None and forms.CALL.search(first) is not None


def _is_label(words: str) -> bool:
    """Return whether nothing, or only what announces an error, comes before the body."""
    return not words or _labels_end(f"{words} ") > 0


def _goes_on_as_error(parts: _Parts) -> bool:
    """Return whether the rest is not a count, a verb, a value, or a program's own bug."""
    if parts.kind == "name":
        return normalise(parts.head) not in BUILTINS
    if parts.kind == "word":
        return forms.SENTENCE_START.match(parts.rest) is not None
    if parts.kind == "errno":
        return True
    if parts.body and not parts.rest.strip(" :"):
        return True
    reason = forms.REASON.match(parts.rest)
    follows = forms.FOLLOWS.match(parts.rest, reason.end() if reason else 0)
    return follows is not None or forms.FAILED.search(parts.rest[:_SENTENCE_CHARS]) is not None


def _is_answer(parts: _Parts) -> bool:
    """Return whether there is more to it than an error: markup, an explanation, a report."""
    words = parts.words
    return not _is_whole(words) and bool(
        forms.MARKED_UP.search(words)
        or forms.NEW_PARAGRAPH.search(words)
        or forms.GLOSS.match(words)
        or forms.COUNTS.match(words)
        or forms.LISTS.search(words)
        or forms.GOES_ON.match(parts.rest)
        or forms.EXPLAINS.search(flattened(forms.ADDRESS.sub("", words)))
    )


def _names_itself(parts: _Parts, verdict: Verdict) -> bool:
    """Return whether the words say what failed, if only a number or label makes it an error."""
    if parts.body:
        return True
    if parts.kind == "number":
        reason = forms.REASON.match(parts.rest) or forms.NO_BODY.match(parts.rest)
        if reason or forms.FAILED.search(parts.rest[:_SENTENCE_CHARS]):
            return True
        return not parts.rest or not verdict.rule.startswith((*_GUESSES, "status:"))
    return bool(parts.kind) or not verdict.rule.startswith(_GUESSES)


def _is_models(parts: _Parts, verdict: Verdict) -> bool:
    """Return whether it is more than a bare status or name, and hardly another program's."""
    if parts.body:
        return bool(parts.words) or forms.ERROR_BODY.match(parts.body) is not None
    if forms.BARE.fullmatch(parts.words) or parts.words.rstrip(".") == parts.head:
        return False
    if not _is_anybodys(parts) or verdict.type in _MODELS_OWN:
        return True
    return forms.NEAR.search(parts.words) is not None


def _is_anybodys(parts: _Parts) -> bool:
    """Return whether it is a failure that any program may run into."""
    if parts.kind == "name":
        return normalise(parts.head) in forms.ANYBODYS
    labelled = not parts.kind and forms.ANY_LABEL.match(parts.words) is not None
    return labelled or parts.kind == "errno"


def _is_own_sentence(parts: _Parts, verdict: Verdict) -> bool:
    """Return whether it is a sentence that providers or agents write, and hardly anybody else.

    The words by which it is known are most of its first sentence; or, if there is a word to the
    user, some of it.
    """
    kind, _, row = verdict.rule.partition(":")
    words = flattened(parts.words)
    if kind not in _SENTENCE_RULES or verdict.rule in _TRANSLATED or forms.IMPERATIVE.match(words):
        return False
    advised = forms.ADVICE.search(words) is not None
    if forms.BARE.fullmatch(parts.words) or (forms.REPORTED.match(words) and not advised):
        return False
    label = forms.LABEL.match(parts.words)
    if label is not None and forms.CALL_LABEL.search(label[0]) is None:
        return False
    parts_of_row, share = row.split(GAP), _ADVISED_SHARE if advised else _SENTENCE_SHARE
    words = forms.ADDRESS.sub("", words)
    for clause in forms.CLAUSE_END.split(words, maxsplit=MAX_LABELS)[:MAX_LABELS]:
        if all(part in clause for part in parts_of_row) and (" " in row or clause.endswith(row)):
            return len("".join(parts_of_row)) >= share * len(clause)
    return False
