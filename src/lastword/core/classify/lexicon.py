"""Failure types guessed from the words of a text, each with weights for or against some types.

Used for prose that matches no table. The weights are learnt from the labelled failures of the tests
(`benchmarks/lexicon.py` writes `weights.py`); nobody edits them by hand. A guess decides only if
no rule does, and overrules only rules that are guesses too.
"""

from __future__ import annotations

import math
import re
from functools import cache

import msgspec

from lastword.core.classify.evidence import Conclusion, Evidence
from lastword.core.classify.languages import is_named
from lastword.core.classify.text import spelled_out, without_rpc_words
from lastword.core.classify.tokens import VAGUE
from lastword.core.classify.weights import BIASES, TENTHS, WEIGHTS
from lastword.core.failure.taxonomy import DEFAULTS, ErrorType

MAX_CHARS = 3000
STEM_CHARS = 6
"""A word counts by its beginning: `exceeded` and `exceeds` are one, in most languages."""

MIN_STEMS = 3
"""Fewer words add nothing that a rule would not have matched."""

MAX_SHOWN = 3
LEAST_SHARE = 0.6
"""Below it, a guess without other support is dropped."""

RETRY_SHARE = 0.85
"""Below it, such a guess names a type but allows no retry."""

OVERRULED_AT = {"concept": 20, "status": 20, "text": 55, "weak": 55, "word": 55}
"""Kinds of rules that guess as well: how many times likelier than theirs another type must be."""

_ADDRESS = r"https?://\S++"
_WORD = (
    r"[a-z\u00df-\u024f\u0400-\u04ff]{2,}+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"|(?<!\d)[45]\d\d(?!\d)"
)


def _words(block: str) -> frozenset[str]:
    return frozenset(block.split())


_STOP_WORDS = _words("""
    the is was are be been an in on of to and or for at by as it its this that these with from you
    your we our us they their has have had will would which what there so than then do does did
    can could may might please if when while any all other some into out up via per type kind code
    message status error exception name true false null none rpc aio not ll ve re don doesn isn
""")
"""Words that occur in any sentence, and the names of fields."""


class Guess(msgspec.Struct, frozen=True):
    """The type that the words suggest.

    Attributes:
        type: the likeliest type.
        shares: the share of each type, from 0 to 1, with a sum of 1.
        words: the stems of the words that suggest the type most.
    """

    type: ErrorType
    shares: dict[ErrorType, float]
    words: tuple[str, ...]

    @property
    def share(self) -> float:
        """Return the share of the likeliest type."""
        return self.shares[self.type]

    def times_likelier_than(self, kind: ErrorType) -> float:
        """Return how many times as likely as another type it is."""
        return self.share / max(self.shares.get(kind, 0.0), 1e-9)


def stems(evidence: Evidence) -> frozenset[str]:
    """Return the stems of all the words in the evidence, wherever they occur."""
    text = f"{evidence.text[:MAX_CHARS]} {' '.join(evidence.classes)} {evidence.raw_code or ''}"
    plain = without_rpc_words(spelled_out(_pattern(_ADDRESS).sub(" ", text)))
    words = _pattern(_WORD).findall(plain)
    stemmed = {word[:STEM_CHARS] for word in words if word not in _STOP_WORDS}
    if evidence.status is not None:
        stemmed.add(str(evidence.status))
    return frozenset(stemmed)


def guess(evidence: Evidence) -> Guess | None:
    """Return the type that the words suggest, or `None` if too few are known."""
    table = weights()
    weighted = [stem for stem in stems(evidence) if stem in table]
    if len(weighted) < MIN_STEMS:
        return None
    scale = 1 / (TENTHS * math.sqrt(len(weighted)))
    scores = {kind: bias / TENTHS for kind, bias in BIASES.items()}
    for stem in weighted:
        for kind, weight in table[stem].items():
            scores[kind] += weight * scale
    top = max(scores.values())
    powers = {kind: math.exp(score - top) for kind, score in scores.items()}
    total = sum(powers.values())
    best = max(scores, key=scores.__getitem__)
    ranked = sorted(weighted, key=lambda stem: (-table[stem].get(best, 0), stem))
    return Guess(
        best,
        {kind: power / total for kind, power in powers.items()},
        tuple(stem for stem in ranked[:MAX_SHOWN] if table[stem].get(best, 0) > 0),
    )


def reconsidered(finding: Conclusion | None, evidence: Evidence) -> Conclusion | None:
    """Return the finding, or the words' guess if there is no finding or it is a guess too."""
    if finding is None:
        suggestion = guess(evidence)
        return None if suggestion is None else unaided(suggestion)
    needed = _doubt_of(finding)
    suggestion = guess(evidence) if needed and evidence.text else None
    if suggestion is None or not overrules(suggestion, finding, needed):
        return finding
    return _conclusion(
        suggestion, retried=suggestion.share >= RETRY_SHARE or _is_retried(finding.type)
    )


def unaided(suggestion: Guess) -> Conclusion | None:
    """Return the conclusion of a guess alone; it allows a retry only if it is nearly certain."""
    if suggestion.share < LEAST_SHARE or suggestion.type is ErrorType.UNKNOWN:
        return None
    return _conclusion(suggestion, retried=suggestion.share >= RETRY_SHARE)


def overrules(suggestion: Guess, finding: Conclusion, needed: float) -> bool:
    """Return whether a guess overrules a finding; it never allows a retry that the finding forbids.

    Args:
        suggestion: The guess.
        finding: What a rule found.
        needed: How many times likelier the guess must be.
    """
    if suggestion.type is ErrorType.UNKNOWN or suggestion.share < LEAST_SHARE:
        return False
    if _is_retried(suggestion.type) and not _is_retried(finding.type):
        return False
    return suggestion.times_likelier_than(finding.type) >= needed


def _doubt_of(finding: Conclusion) -> float:
    """Return how many times likelier a guess must be to overrule the finding; 0 means never."""
    if finding.type is ErrorType.CANCELLED:
        return 0
    kind, _, row = finding.rule.partition(":")
    if is_named(row):
        return 0  # most of the words that have weights are English
    return OVERRULED_AT.get("status" if kind == "token" and row in VAGUE else kind, 0)


def _conclusion(suggestion: Guess, *, retried: bool) -> Conclusion:
    unsure = _is_retried(suggestion.type) and (
        suggestion.type is ErrorType.AGENT_CRASH or not retried
    )
    rule = f"guess:{','.join(suggestion.words)}"
    return Conclusion(suggestion.type, rule, retryable=False if unsure else None)


def _is_retried(kind: ErrorType) -> bool:
    return DEFAULTS[kind].retryable


@cache
def _pattern(source: str) -> re.Pattern[str]:
    """Compile on first use: most failures are decided before this is needed."""
    return re.compile(source)


@cache
def weights() -> dict[str, dict[ErrorType, int]]:
    """Return each known stem's weights by type, read on first use."""
    table: dict[str, dict[ErrorType, int]] = {}
    for kind, block in WEIGHTS.items():
        for entry in block.split():
            stem, _, weight = entry.rpartition(":")
            table.setdefault(stem, {})[kind] = int(weight)
    return table
