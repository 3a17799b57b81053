"""`lastword log --web` as a process, and a browser's requests to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from tests.kit.gateway.api import ask
from tests.kit.gateway.serving import until
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import lastword

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.gateway.api import ApiAnswer


def wait_until_recorded(state: Path, turns: int) -> None:
    def ended() -> bool:
        listed = json.loads(lastword("log", "--json", state=state).stdout).get("sessions", [])
        found = [each for shown in listed for each in shown["turns"]]
        return sum(each["outcome"] != "open" for each in found) >= turns

    until(f"{turns} turns are recorded", ended)


class LogWeb:
    def __init__(self, state: Path, *options: str, opens: bool = False, **environment: str) -> None:
        """Start it, and read its link."""
        words = [sys.executable, "-P", "-m", "lastword", "log", "--web", *options]
        self._process = subprocess.Popen(
            words if opens else [*words, "--no-open"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"LASTWORD_STATE_DIR": str(state)} | environment,
        )
        assert self._process.stdout is not None
        self.link = self._process.stdout.readline().strip()
        self.port = urlsplit(self.link).port or 0
        self.cookie = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.kill()

    def said(self) -> str:
        assert self._process.stderr is not None
        return self._process.stderr.readline()

    def stop(self) -> tuple[int, str]:
        """Press Ctrl-C; gives the exit status and what it said since."""
        self._process.send_signal(signal.SIGINT)
        _, said = self._process.communicate(timeout=FUSE_SECONDS)
        return self._process.returncode, said

    def ask(self, path: str, method: str = "GET", **headers: str) -> ApiAnswer:
        """Send a request with the cookie, where there is one; follow nothing."""
        known = {"cookie": self.cookie} if self.cookie else {}
        return ask(self.port, method, path, known | headers)

    def follow(self) -> ApiAnswer:
        answered = self.ask(f"/?{urlsplit(self.link).query}")
        self.cookie = answered.headers.get("set-cookie", "").partition(";")[0]
        return answered
