"""The page "The fleet": its commands, typed as they are there on one machine, at other ports."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from http.cookiejar import CookieJar
from typing import TYPE_CHECKING
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

from tests.kit.doc_blocks import blocks
from tests.kit.fleet.servers import free_port, require_server
from tests.kit.gateway.serving import agent, until
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINES = [
    line
    for block in blocks("sh")
    if block.page == "docs/fleet.md"
    for line in block.text.splitlines()
]
AGENT = "opencode acp"
PORTS = ("4222", "7781", "7782")


class Terminal:
    """The user's terminals: one folder, and what is typed goes to the ports of this run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = {port: str(free_port()) for port in PORTS}
        (folder / "home" / "src").mkdir(parents=True)
        (folder / "run").mkdir(mode=0o700)
        self._environment = {
            "PATH": os.defpath,
            "HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "PYTHONPATH": str(SOURCE),
        }

    def line(self, begins: str) -> str:
        """The page's line that begins like this, for this run."""
        (line,) = [line for line in LINES if line.startswith(begins)]
        for port, here in self._ports.items():
            assert port in "".join(LINES)
            line = line.replace(port, here)
        line = line.replace(AGENT, shlex.join(agent("healthy")))
        program = shlex.join((sys.executable, "-m", "lastword"))
        return line.replace("lastword ", f"{program} ", 1).replace(
            "nats-server ", f"{require_server()} ", 1
        )

    def run(self, begins: str) -> str:
        """What a line prints that ends."""
        done = subprocess.run(
            ["bash", "-c", self.line(begins)],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=FUSE_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextlib.contextmanager
    def going(self, begins: str, ready: str) -> Iterator[None]:
        """A line that goes on, once it has printed that it is ready."""
        log = self._folder / f"log-{len(list(self._folder.iterdir()))}"
        with (
            log.open("wb") as file,
            subprocess.Popen(
                ["bash", "-c", f"exec {self.line(begins)}"],
                cwd=self._folder,
                env=self._environment,
                stdout=file,
                stderr=file,
            ) as process,
        ):

            def is_ready() -> bool:
                assert process.poll() is None, log.read_text()
                return ready in log.read_text()

            try:
                until(ready, is_ready)
                yield
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(FUSE_SECONDS)


def test_the_commands_of_the_page_create_a_fleet_of_two_on_one_machine(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    one, two = (line for line in LINES if "--fleet nats" in line)
    with terminal.going("nats-server", "Server is ready"):
        terminal.run("(umask 077")
        with terminal.going(one, "serving at"), terminal.going(two, "serving at"):
            browser = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))
            link = terminal.run("lastword gateway token").strip()
            with browser.open(link, timeout=FUSE_SECONDS) as page:
                assert "<!doctype html>" in page.read().decode().lower()

            def both() -> bool:
                printed = terminal.run("lastword gateway status")
                return all(
                    re.search(rf"^.*\b{name}\b", printed, re.MULTILINE) for name in ("one", "two")
                )

            until("the status shows both nodes", both)
