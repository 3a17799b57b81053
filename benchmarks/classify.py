"""How often the classifier is right on labelled failures, on which it is wrong, and how fast it is.

    python benchmarks/classify.py [SAMPLES.jsonl] [--json FILE] [--wrong]

Takes two shapes of sample: the one `lastword explain --jsonl` reads, with the label under
`expected` (`type`, `retryable`, `retry_after_s`, `reset_at`), and the one of
`tests/kit/samples.jsonl`, which is the default.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lastword.core.classify import Verdict, gather, messages, rules, tokens
from lastword.core.classify.decide import decide
from lastword.core.redact.redactor import redact_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAMPLES = Path(__file__).parent.parent / "tests" / "kit" / "samples.jsonl"
RECORD_KEYS = {"status": "http_status", "class": "exception_class", "causes": "cause_chain"}
RECORD_KEYS |= {"process": "process", "phase": "phase", "attributes": "attrs"}
RECORD_KEYS |= {key: key for key in ("headers", "body", "message", "code")}
MEGABYTE = 1_000_000
LANGUAGES = frozenset({"de", "es", "fr", "ja", "ko", "pt", "ru", "win-de", "zh"})
"""Sources that are a language each, of many programs: to leave one out takes all its words away."""

HOSTILE = ("a", "{", '{"a":', "model ", "try again in ", "A_", "\\", "error 4", "1 ", "429 ")


class Sample(NamedTuple):
    """A labelled failure."""

    name: str
    source: str
    read: Callable[[], Verdict]
    type: str
    retryable: bool
    wait: int | None
    reset_ms: int | None
    waits_known: bool = True


class Outcome(NamedTuple):
    """What the classifier made of a sample."""

    sample: Sample
    verdict: Verdict

    @property
    def type_right(self) -> bool:
        """Is the type the label's?"""
        return self.verdict.type.value == self.sample.type

    @property
    def retry_right(self) -> bool:
        """Is the retryability the label's?"""
        return self.verdict.retryable == self.sample.retryable

    @property
    def waits_right(self) -> bool:
        """Are both waits the label's (the moment to the second)?"""
        reset, wanted = self.verdict.reset_at_epoch_ms, self.sample.reset_ms
        same = reset == wanted or (
            reset is not None and wanted is not None and abs(reset - wanted) < 1000
        )
        exact = same and self.verdict.retry_after_seconds == self.sample.wait
        return exact or not self.sample.waits_known


def load(path: Path) -> list[Sample]:
    """The samples of a file, in either shape."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return [_labelled(row) if "expected" in row else _of_tests(row) for row in rows]


def _labelled(row: dict[str, Any]) -> Sample:
    want = row["expected"]
    wait, reset = want.get("retry_after_s"), want.get("reset_at")
    if isinstance(reset, str):
        reset = round(datetime.fromisoformat(reset).timestamp() * 1000)
    return Sample(
        str(row.get("id")),
        row.get("source") or "unknown",
        lambda: decide(gather.from_record(row)),
        want["type"],
        want["retryable"],
        None if wait is None else math.ceil(wait),
        reset,
    )


def _of_tests(row: dict[str, Any]) -> Sample:
    record = {new: row[old] for old, new in RECORD_KEYS.items() if old in row}
    words = row["name"].removeprefix("fresh ").split()

    def read() -> Verdict:
        if "text" in row:
            return decide(gather.from_any(row["text"]))
        if "rpc_error" in row:
            return decide(gather.from_rpc_error(row["rpc_error"]))
        return decide(gather.from_record(record))

    return Sample(
        row["name"],
        words[0],
        read,
        row["type"],
        row["retryable"],
        row.get("wait_seconds"),
        row.get("reset_ms"),
        not row["name"].startswith("own "),  # labelled without their waits
    )


def run(samples: list[Sample]) -> list[Outcome]:
    """The verdict on each."""
    return [Outcome(sample, sample.read()) for sample in samples]


def figures(outcomes: list[Outcome]) -> dict[str, float]:
    """The shares that are right, and the share that would wrongly be retried."""
    count = len(outcomes)
    return {
        "samples": count,
        "type": sum(o.type_right for o in outcomes) / count,
        "retryable": sum(o.retry_right for o in outcomes) / count,
        "wrongly retryable": sum(o.verdict.retryable and not o.sample.retryable for o in outcomes)
        / count,
        "waits": sum(o.waits_right for o in outcomes) / count,
    }


def matrix(outcomes: list[Outcome]) -> str:
    """The confusion matrix as a table: a row for each label, a column for each verdict."""
    cells = Counter((o.sample.type, o.verdict.type.value) for o in outcomes)
    names = sorted({name for cell in cells for name in cell})
    short = {name: name.replace("_", " ") for name in names}
    lines = ["| label \\ verdict | " + " | ".join(short[n] for n in names) + " |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for label in names:
        row = [str(cells[label, verdict] or "") for verdict in names]
        lines.append(f"| {short[label]} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def leave_one_source_out(outcomes: list[Outcome], *, rounds: int) -> list[Outcome]:
    """Classify each source without the rows of the tables that only its samples are decided by.

    The tables are written by hand, so nothing can be trained anew. What can be taken away is each
    row whose only known use is that source. In one round, what then decides may be a row that
    stands in the tables for the same reason; in further rounds that one goes too, until only rows
    are left that other sources are decided by. A row that somebody knew from documentation goes as
    well, so the first figure is nearer to a provider never seen, and the second is a lower bound.
    """
    users: dict[str, set[str]] = defaultdict(set)
    for outcome in outcomes:
        users[outcome.verdict.rule].add(outcome.sample.source)
    left_out: list[Outcome] = []
    for source in sorted({o.sample.source for o in outcomes}):
        left_out += _without_own_rows(source, outcomes, users, rounds)
    return left_out


def _without_own_rows(
    source: str, outcomes: list[Outcome], users: dict[str, set[str]], rounds: int
) -> list[Outcome]:
    mine = run([o.sample for o in outcomes if o.sample.source == source])
    removed: set[str] = set()
    for _ in range(rounds):
        deciding = {o.verdict.rule for o in mine if _only(users, o, source)}
        rows = {rule.partition(":")[2] for rule in deciding if ":" in rule}
        if rows <= removed:
            break
        removed |= rows
        with _without(removed):
            mine = run([o.sample for o in mine])
    return mine


def _only(users: dict[str, set[str]], outcome: Outcome, source: str) -> bool:
    """Whether no other source is decided by this outcome's rule."""
    return users.get(outcome.verdict.rule, {source}) == {source}


@contextmanager
def _without(rows: set[str]) -> Iterator[None]:
    """The tables with some rows taken out of them."""
    phrases: list[dict[Any, tuple[str, ...]]] = [messages.STRONG, messages.SPOKEN, messages.WEAK]
    phrases.append(tokens.PARTS)
    words: list[dict[Any, frozenset[str]]] = [tokens.STRONG, tokens.WEAK]
    kept: list[tuple[dict[Any, Any], dict[Any, Any]]] = [(t, dict(t)) for t in (*phrases, *words)]
    quota, transports = messages.QUOTA, rules.ROWS
    for table in phrases:
        table.update({k: tuple(p for p in v if p not in rows) for k, v in table.items()})
    for names in words:
        names.update({k: v - rows for k, v in names.items()})
    messages.QUOTA = tuple(part for part in quota if part not in rows)
    rules.ROWS = tuple(
        msgspec.structs.replace(
            row,
            names=row.names - rows,
            phrases=tuple(part for part in row.phrases if part not in rows),
            ascii_phrases=tuple(part for part in row.ascii_phrases if part not in rows),
        )
        for row in transports
    )
    try:
        yield
    finally:
        messages.QUOTA, rules.ROWS = quota, transports
        for live, saved in kept:
            live.update(saved)


def _seconds(call: Callable[[], object], times: int = 5) -> float:
    best = math.inf
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def speed(samples: list[Sample]) -> dict[str, float]:
    """Milliseconds: best of five for each sample, hostile text, redaction; import in a process."""
    each = [_seconds(sample.read) for sample in samples]
    hostile = [unit * (MEGABYTE // len(unit)) for unit in HOSTILE]
    worst = max(
        _seconds(lambda t=text, s=shape: decide(gather.from_any(s(t))), 3)  # type: ignore[misc]
        for text in hostile
        for shape in (str, ValueError, lambda t: {"error": {"message": t}, "status": 400})
    )
    texts = [unit * (8192 // len(unit)) for unit in (*HOSTILE, "key=", "sk-a1", "a@b.", "A\n")]
    code = "import time; t = time.perf_counter(); import lastword.core.classify; "
    code += "print(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    imports = [
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    return {
        "median sample": statistics.median(each) * 1e3,
        "slowest sample": max(each) * 1e3,
        "1 MB of hostile text": worst * 1e3,
        "redaction of 8 KiB": max(_seconds(lambda t=t: redact_text(t)) for t in texts) * 1e3,  # type: ignore[misc]
        "import": min(imports) * 1e3,
    }


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("samples", nargs="?", type=Path, default=SAMPLES)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--wrong", action="store_true", help="list every wrong verdict")
    options = parser.parse_args()
    samples = load(options.samples)
    outcomes = run(samples)
    held_out = leave_one_source_out(outcomes, rounds=1)
    strictly = leave_one_source_out(outcomes, rounds=20)
    report = {
        "all": figures(outcomes),
        "leave one source out": figures(held_out),
        "the same, strictly": figures(strictly),
        "leave one source out, in English": figures(
            [o for o in held_out if o.sample.source not in LANGUAGES] or held_out
        ),
    }
    print(matrix(outcomes), end="\n\n")
    for name, shares in report.items():
        told = ", ".join(f"{key} {share:.1%}" for key, share in shares.items() if key != "samples")
        print(f"{name}: {shares['samples']} samples, {told}")
    sources = len({sample.source for sample in samples})
    print(f"{sources} sources\n")
    times = speed(samples)
    for name, milliseconds in times.items():
        print(f"{name}: {milliseconds:.2f} ms")
    if options.wrong:
        for told, results in (("wrong", outcomes), ("wrong without its own rows", held_out)):
            for outcome in results:
                if not (outcome.type_right and outcome.retry_right and outcome.waits_right):
                    print(f"{told}: {outcome.sample.name} -> {outcome.verdict.rule}")
    if options.json:
        options.json.write_text(json.dumps(report | {"milliseconds": times}, indent=2) + "\n")


if __name__ == "__main__":
    main()
