"""How fast the gateway's page and the record's open a long session in Chromium, and scroll.

Run as ``python benchmarks/page.py``; it needs Chromium and Node, as `tests/interop/page` does. See
README.md beside this file for what the figures mean.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from lastword.core.timeline.entry import Kind  # noqa: E402 - found from here
from tests.interop.page.browser import Browser  # noqa: E402
from tests.kit.gateway.agents import HOSTILE, LAST  # noqa: E402
from tests.kit.gateway.serving import Gateway  # noqa: E402
from tests.kit.gateway.viewing import TYPED, ViewerClient  # noqa: E402
from tests.kit.log_web import LogWeb  # noqa: E402
from tests.kit.recording import Book, write  # noqa: E402

if TYPE_CHECKING:
    from tests.interop.page.browser import Tab

OPENED = """(last) => new Promise((told) => {
  const look = () => {
    const items = [...document.querySelectorAll(".item")].slice(-3);
    const shown = items.some((each) => each.textContent.includes(last));
    const isReady = document.querySelector("button[type=submit]:enabled");
    if (shown && isReady) told(performance.now()); else requestAnimationFrame(look);
  };
  look();
})"""
"""Milliseconds from the navigation's start to a frame with the last text and a prompt box."""

SCROLLED = """() => new Promise((told) => {
  const gaps = [];
  let before = performance.now(), left = 200, step = -400;
  const next = (now) => {
    gaps.push(now - before);
    before = now;
    if (scrollY <= 0) { document.querySelector(".earlier:enabled")?.click(); }
    scrollBy({ top: step, behavior: "instant" });
    if ((left -= 1) > 0) requestAnimationFrame(next); else told(gaps.slice(1));
  };
  requestAnimationFrame(next);
})"""
"""Milliseconds between frames while two hundred of them scroll back through the session."""


FILTERED = """(all) => new Promise((told) => {
  const look = () => {
    const counted = document.querySelector("p[role=status]")?.textContent;
    if (counted === all && document.querySelector(".row")) told(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})"""
"""Milliseconds to a frame in which rows stand, and all entries are there to be filtered."""

CHOSEN = """() => new Promise((told) => {
  const filter = document.querySelector("select"), begin = performance.now();
  filter.value = "1";
  filter.dispatchEvent(new Event("change"));
  const look = () => {
    const rows = [...document.querySelectorAll(".row")];
    const isOver = rows.length && rows.every((row) => row.textContent.includes("Rate limited"));
    if (isOver) told(performance.now() - begin); else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""
"""Milliseconds from the choice of a filter to a frame in which only what it leaves stands."""

DRAWN = "() => new Promise((told) => requestAnimationFrame(() => told(performance.now())))"
"""Milliseconds to a frame after a page without scripts was loaded."""

TURN = (
    (Kind.PROMPT, {}),
    (Kind.FIRST_OUTPUT, {}),
    *(
        (kind, {"call": f"c{number}", "tool": "edit"})
        for number in range(3)
        for kind in (Kind.TOOL_STARTED, Kind.TOOL_ENDED)
    ),
    (Kind.RETRY, {"type": "rate_limit", "attempt": 2, "wait_seconds": 3.0, "source": "wire"}),
)
"""What the record has of a turn, before its end."""


def opened(tab: Tab, url: str, rounds: int, until: str, value: Any = None) -> list[float]:
    """How long it takes to open, each time anew."""
    found = []
    for _ in range(rounds):
        tab.do("goto", "about:blank")
        tab.do("goto", url)
        found.append(float(tab.do("evaluate", until, value)))
    return found


def told(name: str, entries: int, times: list[float], plain: list[float]) -> dict[str, Any]:
    """The figures of opening, beside those of a page without scripts in the same run."""
    middle, reference = statistics.median(times), statistics.median(plain)
    return {
        "page": name,
        "entries": entries,
        "open_ms": round(middle, 1),
        "open_worst_ms": round(max(times), 1),
        "static_ms": round(reference, 1),
        "of_static": round(middle / reference, 2),
    }


def plain(tab: Tab, folder: Path, rows: int, text: str, rounds: int) -> list[float]:
    """How long a file with all rows in it takes, which asks for nothing and has no script."""
    said = text.replace("&", "&amp;").replace("<", "&lt;")
    row = f"<li><details><summary><time>12:34:56</time> <bdi>{said}</bdi></summary></details></li>"
    file = folder / "static.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><ol>{row * rows}</ol>", encoding="utf-8")
    return opened(tab, file.as_uri(), rounds, DRAWN)


def scrolled(tab: Tab) -> dict[str, Any]:
    """The figures of scrolling."""
    gaps = sorted(float(gap) for gap in tab.do("evaluate", SCROLLED))
    return {
        "frame_p50_ms": round(gaps[len(gaps) // 2], 1),
        "frame_p99_ms": round(gaps[int(len(gaps) * 0.99)], 1),
        "frame_worst_ms": round(gaps[-1], 1),
        "nodes": tab.do("evaluate", "() => document.querySelectorAll('*').length"),
    }


def gateways(browser: Browser, folder: Path, entries: int, rounds: int) -> dict[str, Any]:
    """The figures of a gateway's session with so many entries."""
    command = [sys.executable, str(ROOT / "tests/kit/gateway/agents.py"), "talkative"]
    gateway = Gateway(folder, command)
    try:
        with ViewerClient(gateway, capabilities=TYPED) as viewer:
            session = viewer.new(gateway.root)
            viewer.answer(viewer.prompt(session, f"{entries - 8} 0 100"))
        tab = browser.tab()
        tab.log_in(gateway)
        url = f"http://127.0.0.1:{gateway.port}/#/session/{session}"
        times = opened(tab, url, rounds, OPENED, LAST)
        frames = scrolled(tab)
        reference = plain(tab, folder, entries, f"Read 1234 {HOSTILE}", rounds)
        tab.do("close")
    finally:
        gateway.close()
    return told("gateway", entries, times, reference) | frames


def records(browser: Browser, folder: Path, entries: int, rounds: int) -> dict[str, Any]:
    """The figures of a recorded session with about so many entries."""
    book = Book()
    book.created("s1")
    for turn in range(1, (entries - 1) // (len(TURN) + 1) + 1):
        for kind, facts in TURN:
            book.note(kind, "s1", turn, **facts)
        if turn % 4:
            book.note(Kind.ANSWER, "s1", turn, stop_reason="end_turn", by="agent")
        else:
            book.note(Kind.ERROR, "s1", turn, type="rate_limit", retryable=True)
    count = len(book.rows)
    write(folder, book)
    with LogWeb(folder, "--last") as served:
        tab = browser.tab()
        tab.do("goto", served.link)
        url = tab.do("evaluate", "() => location.href")
        times = opened(tab, url, rounds, FILTERED, f"{count:,} entries.")
        chosen = float(tab.do("evaluate", CHOSEN))
        tab.do("goto", "about:blank")
        tab.do("goto", url)
        tab.do("evaluate", FILTERED, f"{count:,} entries.")
        frames = scrolled(tab)
        reference = plain(tab, folder, count, "The agent tries again: Rate limited", rounds)
        tab.do("close")
    return told("record", count, times, reference) | {"filter_ms": round(chosen, 1)} | frames


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, action="append", help="of a session (100, 10,000)")
    parser.add_argument("--rounds", type=int, default=7, help="how often one is opened")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    options = parser.parse_args()
    found = []
    with Browser() as browser:
        for entries in options.entries or [100, 10_000]:
            for measure in (gateways, records):
                with tempfile.TemporaryDirectory(prefix="lw-page-") as folder:
                    each = measure(browser, Path(folder), entries, options.rounds)
                    print("  ".join(f"{name} {value}" for name, value in each.items()), flush=True)
                    found.append(each)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
