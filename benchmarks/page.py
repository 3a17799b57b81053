"""How fast the gateway's page opens a long session in Chromium, and whether it scrolls.

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
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.interop.page.browser import Browser  # noqa: E402 - found from here
from tests.kit.gateway.serving import Gateway  # noqa: E402
from tests.kit.gateway.talkative_agent import LAST  # noqa: E402
from tests.kit.gateway.viewing import TYPED, ViewerClient  # noqa: E402

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


def opened(tab: Tab, url: str, rounds: int) -> list[float]:
    """How long it takes to open, each time anew."""
    found = []
    for _ in range(rounds):
        tab.do("goto", "about:blank")
        tab.do("goto", url)
        found.append(float(tab.do("evaluate", OPENED, LAST)))
    return found


def measured(entries: int, rounds: int) -> dict[str, float]:
    """The figures of a session with so many entries."""
    with tempfile.TemporaryDirectory(prefix="lw-page-") as folder, Browser() as browser:
        command = [sys.executable, str(ROOT / "tests/kit/gateway/talkative_agent.py")]
        gateway = Gateway(Path(folder), command)
        try:
            with ViewerClient(gateway, capabilities=TYPED) as viewer:
                session = viewer.new(gateway.root)
                viewer.answer(viewer.prompt(session, f"{entries - 8} 0 100"))
            tab = browser.tab()
            tab.log_in(gateway)
            url = f"http://127.0.0.1:{gateway.port}/#/session/{session}"
            times = opened(tab, url, rounds)
            gaps = sorted(float(gap) for gap in tab.do("evaluate", SCROLLED))
            nodes = tab.do("evaluate", "() => document.querySelectorAll('*').length")
        finally:
            gateway.close()
    return {
        "entries": entries,
        "open_ms": round(statistics.median(times), 1),
        "open_worst_ms": round(max(times), 1),
        "frame_p50_ms": round(gaps[len(gaps) // 2], 1),
        "frame_p99_ms": round(gaps[int(len(gaps) * 0.99)], 1),
        "frame_worst_ms": round(gaps[-1], 1),
        "nodes": nodes,
    }


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, action="append", help="of a session (100, 10,000)")
    parser.add_argument("--rounds", type=int, default=7, help="how often one is opened")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    options = parser.parse_args()
    found = [measured(each, options.rounds) for each in options.entries or [100, 10_000]]
    for each in found:
        print("  ".join(f"{name} {value}" for name, value in each.items()))
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
