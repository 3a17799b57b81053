"""Chromium with the page in it, as a test has it.

Owns the process that drives the browser (`drive.mjs`), one for all tests, and the folder of
screenshots, which is kept to be looked at.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.interop import toolchain
from tests.interop.reconnect.chromium import require_chromium
from tests.kit.installs import require_node_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from tests.kit.gateway.serving import Gateway

    Serve: TypeAlias = Callable[..., Gateway]

HERE = Path(__file__).resolve().parent
SCREENSHOTS = HERE.parent / ".screenshots"
FUSE_SECONDS = 60
LISTEN = """
  (place) => {
    window.heard = "";
    const note = (node) => (window.heard += `${node.textContent}\\n`);
    new MutationObserver((changes) => {
      for (const each of changes) [...each.addedNodes, ...each.removedNodes].forEach(note);
    }).observe(document.querySelector(place), { childList: true, subtree: true });
  }
"""


class StepError(AssertionError):
    """A step in the browser failed."""


class Browser:
    def __init__(self) -> None:
        """Start it; skips (fails in CI) where there is none."""
        toolchain.require_plain_node()
        command = require_chromium()
        require_node_packages(HERE)
        SCREENSHOTS.mkdir(exist_ok=True)
        self._tabs: list[Tab] = []
        self._process = subprocess.Popen(
            ["node", str(HERE / "drive.mjs"), command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(FUSE_SECONDS)
            finally:
                process.kill()

    def do(self, page: int, step: str, *values: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"page": page, "do": step, "with": values}) + "\n")
        stdin.flush()
        told = json.loads(stdout.readline())
        if "error" in told:
            raise StepError(f"{step} {values}: {told['error']}")
        return told["value"]

    def tab(self, **how: Any) -> Tab:
        """A tab, in a browser of its own unless it is `like` another."""
        self._tabs.append(Tab(self, self.do(0, "tab", how)))
        return self._tabs[-1]

    def close_tabs(self) -> None:
        for tab in self._tabs:
            tab.do("close")
        self._tabs.clear()


class Tab:
    def __init__(self, browser: Browser, number: int) -> None:
        self._browser = browser
        self.number = number

    def do(self, step: str, *values: Any) -> Any:
        return self._browser.do(self.number, step, *values)

    def log_in(
        self, gateway: Gateway, place: str = "", *, host: str = "127.0.0.1", **grant: str
    ) -> None:
        options = [word for name, value in grant.items() for word in (f"--{name}", value)]
        url = f"http://{host}:{gateway.port}"
        self.do("goto", gateway.link(url, *options) + place)

    def see(self, *texts: str) -> None:
        for text in texts:
            try:
                self.do("see", text)
            except StepError as error:
                shown = self.do("text", "body")
                raise StepError(f"{text!r} is not shown: {error}\n\n{shown}") from None

    def listen(self, place: str) -> None:
        """Note from now on what a place shows, however short."""
        self.do("evaluate", LISTEN, place)

    def hear(self, *texts: str) -> None:
        for text in texts:
            self.do("until", f"() => window.heard.includes({text!r})")

    def session(self, gateway: Gateway, session: str, **how: Any) -> None:
        self.log_in(gateway, f"#/session/{session}", **how)

    def say(self, text: str) -> None:
        self.do("wait", "button[type=submit]:enabled")
        self.do("fill", "Prompt", text)
        self.do("press", "Enter")

    def shot(self, name: str) -> None:
        self.do("shot", str(SCREENSHOTS / f"{name}.png"))

    @contextlib.contextmanager
    def without_errors(self) -> Iterator[None]:
        yield
        errors = self.do("errors")
        assert errors == [], errors
