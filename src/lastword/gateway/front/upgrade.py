"""An upgrade of lastword while the gateway runs.

Owns noticing that another version is installed where this one was, and that it starts. What this
process has not loaded yet would come from that version.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from lastword import _version

LOOK_SECONDS = 60.0
"""How often to look; an installation that is the same at two looks is complete."""

START_SECONDS = 60.0
"""How long the other version may take to show its help."""

_FILE = Path(_version.__file__)


async def another_version() -> None:
    """Wait until another version is installed, and starts."""
    refused = before = running = _installed()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = _installed()
        if now == before and now not in {b"", running, refused}:
            if await _starts():
                return
            refused = now
            sys.stderr.write(
                "lastword: another version is installed, which does not start; the gateway keeps "
                "running this one\n"
            )
        before = now


def _installed() -> bytes:
    """Return what tells the installed version from others; empty if there is none now."""
    try:
        return _FILE.read_bytes()
    except OSError:
        return b""


async def _starts() -> bool:
    words = ("-P", "-m", "lastword", "gateway", "--help")
    nowhere = asyncio.subprocess.DEVNULL
    trial = await asyncio.create_subprocess_exec(
        sys.executable, *words, stdin=nowhere, stdout=nowhere, stderr=nowhere
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            return await trial.wait() == 0
    except TimeoutError:
        return False
    finally:
        if trial.returncode is None:
            trial.kill()
            await trial.wait()
