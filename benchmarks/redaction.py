"""What redaction costs a failing turn, and how it grows with a hostile text.

    python benchmarks/redaction.py                      # microseconds for each text
    python benchmarks/redaction.py --against OTHER/src  # and the ratio to another source tree
    python benchmarks/redaction.py --growth             # each shape, on texts made to hold it up

The two trees of a ratio run in turn, in processes of their own. A healthy turn loads none of it:
`tests/process/test_imports.py` holds that. Growth is the time for twice the text over the time for
the text: 2 is linear, 4 is quadratic.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent.parent
ROUNDS = 7
MIN_SECONDS = 2e-4
TRACE = (
    'Traceback (most recent call last):\n  File "/srv/app/agent.py", line 12, in main\n'
    "    raise error\nanthropic.RateLimitError: Error code: 429 - {'type': 'error', 'error': "
    "{'type': 'rate_limit_error', 'message': 'This request would exceed your rate limit'}, "
    "'request_id': 'req_011CSHoEeqs5C35K2UUqR7Fy'}\n"
)
TEXTS: dict[str, Any] = {
    "a sentence": "Rate limit reached for gpt-4o on tokens per min (TPM): limit 30000, used 29000.",
    "a traceback": TRACE,
    "8 KiB of tracebacks": (TRACE * 40)[:8192],
    "JSON of 140 strings": {
        "headers": {f"x-header-{number}": "text/event-stream" for number in range(20)},
        "error": {"message": TRACE, "type": "rate_limit_error"},
        "list": ["token", "read", "a sentence of some length, as updates have it"] * 40,
    },
}


def _microseconds() -> dict[str, float]:
    from lastword.core.redact.redactor import redact_json  # noqa: PLC0415 - of the tree to be measured

    results = {}
    for name, value in TEXTS.items():
        redact_json(value)
        results[name] = _best(lambda value=value: redact_json(value)) * 1e6
    return results


def _best(work: Any) -> float:
    """The fewest seconds of the processor's that one call took."""
    best = float("inf")
    for _ in range(ROUNDS):
        calls, began = 0, time.process_time()
        while (spent := time.process_time() - began) < MIN_SECONDS:
            work()
            calls += 1
        best = min(best, spent / calls)
    return best


def _in(tree: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--measure"],
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def _compare(other: Path) -> None:
    pairs = [(_in(other), _in(HERE / "src")) for _ in range(3)]
    print(f"{'text':22}{'before':>10}{'now':>10}{'ratio':>8}")
    for name in TEXTS:
        before, now = (min(pair[side][name] for pair in pairs) for side in (0, 1))
        print(f"{name:22}{before:8.0f}us{now:8.0f}us{now / before:8.2f}")


def _growth() -> None:
    from lastword.core.redact import named_values, shapes  # noqa: PLC0415

    tables = (shapes.CARRIERS, shapes.SHAPES, shapes.KEY_SHAPES)
    tables += (shapes.SERVICE_KEYS, shapes.ASSIGNED_SHAPES)
    results: list[tuple[float, float, str]] = []
    for shape in (shape for table in tables for shape in table):
        for unit in (unit for hint in shape.hints for unit in _hostile(hint)):
            results += _grown(lambda text, shape=shape: shape.pattern.sub("", text), unit)
    for unit in ("a_token=", "A_KEY=", "password=", "pass=", '"=', "key\\=", "pass" * 30):
        results += _grown(lambda text: named_values.redact_named(text, text.lower()), unit)
    print("the costliest in 8 KiB, and how they grow:")
    for seconds, growth, unit in sorted(results, reverse=True)[:12]:
        print(f"{seconds * 1e3:6.1f} ms {growth:6.1f}  {unit!r}")


def _hostile(hint: str) -> list[str]:
    """Texts that begin a shape again and again, or once, and never end it."""
    units = ("", *'aA1-_.=/+ :\\"', "a1", "a.", "A-", "-p ")
    repeated = [begin + unit for begin in (hint, hint.upper()) for unit in units]
    return [*repeated, f" {hint}", hint + "a" * 8192, hint + "a1-" * 2731, f"{hint} " + "a " * 4096]


def _grown(work: Any, unit: str) -> list[tuple[float, float, str]]:
    small, large = ((unit * size)[:size] for size in (4096, 8192))
    first = _once(lambda: work(small))
    if first < MIN_SECONDS:
        return []
    second = _once(lambda: work(large))
    return [(second, second / first, unit[:24])]


def _once(work: Any) -> float:
    best = float("inf")
    for _ in range(2):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def main() -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--against", type=Path)
    options.add_argument("--growth", action="store_true")
    options.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.measure:
        print(json.dumps(_microseconds()))
    elif arguments.growth:
        _growth()
    elif arguments.against:
        _compare(arguments.against)
    else:
        for name, value in _microseconds().items():
            print(f"{name:22}{value:8.0f}us")


if __name__ == "__main__":
    main()
