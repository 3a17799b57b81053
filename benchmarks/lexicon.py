"""The weights of words that `core.classify.lexicon` reads, learnt from the labelled failures.

    python benchmarks/lexicon.py            # how often the words alone are right, source by source
    python benchmarks/lexicon.py --write    # learn from all samples, and write the table

A linear model (multinomial logistic regression, stochastic gradient descent from a fixed seed) over
the beginnings of words. What it is worth is asked of sources that it did not learn from.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter, defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.core.classify import gather, lexicon
from lastword.core.failure.taxonomy import ErrorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "tests" / "kit" / "samples.jsonl"
TABLE = ROOT / "src" / "lastword" / "core" / "classify" / "weights.py"
EPOCHS, RATE, DECAY, SEED, FOLDS = 12, 1.2, 0.3, 0, 10
MIN_SAMPLES = 3
"""A word that fewer samples have says too little."""

TENTHS = 10
"""Weights are written as whole tenths."""

MIN_TENTHS = 7
"""A weight below that is left out."""

MAX_COLUMNS = 92
UNSAID = frozenset({ErrorType.CANCELLED, ErrorType.AGENT_STALLED, ErrorType.STDERR_OVERFLOW})
"""Types that no text alone may name."""

HEAD = '''\
"""Weights of words, written by `benchmarks/lexicon.py`: add samples and rerun it, do not edit.

A word's beginning, a colon and its weight for the type, in tenths; below zero it speaks against it.
"""

from __future__ import annotations

from lastword.core.failure.taxonomy import ErrorType

'''


class Told(NamedTuple):
    """A sample as the model sees it."""

    stems: frozenset[str]
    type: ErrorType
    source: str


class Model(NamedTuple):
    """Biases by type, and weights by type and stem, in tenths."""

    biases: dict[ErrorType, int]
    weights: dict[ErrorType, dict[str, int]]


def load() -> list[Told]:
    """The samples that have a text."""
    rows = (json.loads(line) for line in SAMPLES.read_text(encoding="utf-8").splitlines())
    told = (_told(row) for row in rows if "process" not in row)
    return [sample for sample in told if sample.stems and sample.type not in UNSAID]


def _told(row: dict[str, Any]) -> Told:
    if "text" in row:
        evidence = gather.from_any(row["text"])
    elif "rpc_error" in row:
        evidence = gather.from_rpc_error(row["rpc_error"])
    else:
        keys = {"status": "http_status", "class": "exception_class"}
        kept = {
            keys.get(key, key): row[key]
            for key in ("status", "class", "message", "body")
            if key in row
        }
        evidence = gather.from_record({"http_status": None, "exception_class": None} | kept)
    source = row["name"].removeprefix("fresh ").partition(" ")[0]
    return Told(lexicon.stems(evidence), ErrorType(row["type"]), source)


def learn(samples: list[Told]) -> Model:
    """The weights that the samples teach. The same samples give the same weights."""
    counts = Counter(stem for sample in samples for stem in sample.stems)
    lines = [
        (sorted(stem for stem in sample.stems if counts[stem] >= MIN_SAMPLES), sample.type)
        for sample in samples
    ]
    kinds = sorted({sample.type for sample in samples})
    shares = Counter(sample.type for sample in samples)
    biases = {kind: math.log(shares[kind] / len(samples)) for kind in kinds}
    weights: dict[ErrorType, dict[str, float]] = {kind: defaultdict(float) for kind in kinds}
    shuffled = random.Random(SEED)
    for epoch in range(EPOCHS):
        shuffled.shuffle(lines)
        rate = RATE / (1 + epoch * DECAY)
        for stems, kind in lines:
            if stems:
                _step(weights, biases, stems, kind, rate)
    return Model(
        {kind: round(bias * TENTHS) for kind, bias in biases.items()},
        {kind: _in_tenths(table) for kind, table in weights.items()},
    )


def _step(
    weights: dict[ErrorType, dict[str, float]],
    biases: dict[ErrorType, float],
    stems: list[str],
    right: ErrorType,
    rate: float,
) -> None:
    scale = 1 / math.sqrt(len(stems))
    scores = {
        kind: biases[kind] + scale * sum(table[stem] for stem in stems)
        for kind, table in weights.items()
    }
    top = max(scores.values())
    powers = {kind: math.exp(score - top) for kind, score in scores.items()}
    total = sum(powers.values())
    for kind, table in weights.items():
        push = rate * scale * ((kind is right) - powers[kind] / total)
        for stem in stems:
            table[stem] += push


def _in_tenths(table: dict[str, float]) -> dict[str, int]:
    rounded = {stem: round(weight * TENTHS) for stem, weight in table.items()}
    return {stem: rounded[stem] for stem in sorted(rounded) if abs(rounded[stem]) >= MIN_TENTHS}


def written(model: Model) -> str:
    """The table as a module."""
    parts = [HEAD, f"TENTHS = {TENTHS}\n", "BIASES = {\n"]
    parts += [f"    ErrorType.{kind.name}: {bias},\n" for kind, bias in model.biases.items()]
    parts += ["}\n", "WEIGHTS = {\n"]
    for kind, table in model.weights.items():
        lines = _wrapped([f"{stem}:{weight}" for stem, weight in table.items()])
        parts += [f'    ErrorType.{kind.name}: """\n', *(f"        {line}\n" for line in lines)]
        parts.append('    """,\n')
    return "".join((*parts, "}\n"))


def _wrapped(entries: list[str]) -> list[str]:
    """The entries in lines; a Chinese or Japanese character is two columns wide."""
    lines: list[str] = []
    left = 0
    for entry in entries:
        width = len(entry) + (not entry.isascii()) + 1
        if width > left:
            lines.append(entry)
            left = MAX_COLUMNS - width
        else:
            lines[-1] += f" {entry}"
            left -= width
    return lines


def hits(model: Model, samples: list[Told]) -> list[tuple[bool, float]]:
    """For each sample whether its type is the likeliest, and that one's share."""
    found = []
    for sample in samples:
        known = [s for s in sample.stems if any(s in table for table in model.weights.values())]
        scale = 1 / math.sqrt(len(known) or 1)
        scores = {
            kind: (model.biases[kind] + scale * sum(table.get(stem, 0) for stem in known)) / TENTHS
            for kind, table in model.weights.items()
        }
        best = max(scores, key=scores.__getitem__)
        share = 1 / sum(math.exp(score - scores[best]) for score in scores.values())
        found.append((best is sample.type, share))
    return found


def parts(sources: Iterable[str]) -> dict[str, int]:
    """The number of the part that each source belongs to."""
    ordered = sorted(set(sources))
    random.Random(SEED).shuffle(ordered)
    return {source: number % FOLDS for number, source in enumerate(ordered)}


def learn_without(number: int, part: dict[str, int], samples: list[Told]) -> Model:
    """The weights that the samples of all other parts teach."""
    return learn([sample for sample in samples if part.get(sample.source) != number])


def held_out(samples: list[Told]) -> list[tuple[bool, float]]:
    """The same, of sources that the model did not learn from."""
    part = parts(sample.source for sample in samples)
    found: list[tuple[bool, float]] = []
    for number in range(FOLDS):
        model = learn_without(number, part, samples)
        found += hits(model, [sample for sample in samples if part[sample.source] == number])
    return found


@contextmanager
def in_use(model: Model) -> Iterator[None]:
    """The classifier with other weights than its own."""
    table: dict[str, dict[ErrorType, int]] = {}
    for kind, row in model.weights.items():
        for stem, weight in row.items():
            table.setdefault(stem, {})[kind] = weight
    kept = lexicon.weights, lexicon.BIASES
    setattr(lexicon, "weights", lambda: table)  # noqa: B010 - a benchmark's own patch
    lexicon.BIASES = model.biases
    try:
        yield
    finally:
        weights, lexicon.BIASES = kept
        setattr(lexicon, "weights", weights)  # noqa: B010


def main() -> None:
    """Print what the words alone are worth, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write core/classify/weights.py")
    options = parser.parse_args()
    samples = load()
    if options.write:
        TABLE.write_text(written(learn(samples)), encoding="utf-8")
        return
    found = held_out(samples)
    print(f"{len(found)} samples, words alone: {sum(right for right, _ in found) / len(found):.1%}")
    for least in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        sure = [right for right, share in found if share >= least]
        print(
            f"share {least:.1f}: {len(sure) / len(found):.0%} of them, {sum(sure) / len(sure):.1%}"
        )


if __name__ == "__main__":
    main()
