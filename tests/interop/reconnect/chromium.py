"""Chromium, as the tests start it. `.ci/run` installs Debian's; where there is none they skip."""

from __future__ import annotations

import shutil

from tests.kit.installs import give_up

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-proxy-server"),
)


def require_chromium() -> str:
    """Return the browser's command, or skip (fail in CI)."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or give_up("Chromium is not on PATH.")
