"""Schedules through `reconnect.js` in Chromium: a page that a server on loopback serves.

Owns the browser's process and its profile. `.ci/run` installs Debian's `chromium`; where there is
none the tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from tests.kit.installs import give_up
from tests.kit.reconnect_data import FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
NAMES = ("chromium", "chromium-browser", "google-chrome")
FUSE_SECONDS = 120
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-proxy-server"),
)


def require_chromium() -> str:
    """Return the browser's command, or skip (fail in CI)."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or give_up("Chromium is not on PATH.")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, asked: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages = {
            "/": ("text/html", (HERE / "page.html").read_bytes()),
            "/reconnect.js": ("text/javascript", (FOLDER / "reconnect.js").read_bytes()),
            "/play.mjs": ("text/javascript", (HERE / "play.mjs").read_bytes()),
            "/asked": ("text/plain; charset=utf-8", asked.encode()),
        }
        self.told = ""
        self.done = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        kind, body = self.server.pages.get(self.path, ("", b""))
        self.send_response(200 if kind else 404)
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
        self.server.told = body.decode()
        self.server.done.set()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def told_by_chromium(lines: Sequence[str], profile: Path) -> list[str]:
    """What a page in the browser answers to these lines, once it has."""
    browser = require_chromium()
    with _Server("".join(f"{line}\n" for line in lines)) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        url = f"http://127.0.0.1:{server.server_port}/"
        with (profile / "log").open("wb") as log:
            process = subprocess.Popen(
                [browser, *FLAGS, f"--user-data-dir={profile / 'data'}",
                 "--remote-debugging-port=0", url],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            try:
                came = server.done.wait(FUSE_SECONDS)
            finally:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(FUSE_SECONDS)
                server.shutdown()
    said = (profile / "log").read_text(errors="replace")[-2000:]
    assert came, f"the page did not answer: {said}"
    return server.told.split("\n")[:-1]
