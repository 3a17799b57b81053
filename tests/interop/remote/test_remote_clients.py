"""Official clients, unmodified, at a gateway: over WebSocket and over HTTP."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.toolchain import require_node
from tests.kit.client import clean_environment
from tests.kit.installs import require_packages

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
FUSE_SECONDS = 120.0
SERVING = re.compile(r"serving at ws://127\.0\.0\.1:(\d+)/acp")
SDKS = ("ts", "py")
TRANSPORTS = ("ws", "http")


class Gateway:
    """A gateway in front of an agent."""

    def __init__(self, folder: Path, *command: str) -> None:
        self._environment = clean_environment(
            LASTWORD_STATE_DIR=str(folder / "state"), XDG_RUNTIME_DIR=str(folder / "run")
        )
        (folder / "run").mkdir(mode=0o700)
        self.root = folder / "work"
        self.root.mkdir()
        arguments = ["gateway", "--listen", "127.0.0.1:0", "--root", str(self.root), "--", *command]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lastword", *arguments],
            env=self._environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        found = None
        while found is None:
            line = self._process.stderr.readline()
            assert line, "the gateway has ended"
            found = SERVING.search(line)
        self.port = found[1]
        self.token = self._lastword("gateway", "token").strip()

    def _lastword(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "lastword", *arguments],
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=FUSE_SECONDS,
            check=True,
        )
        return done.stdout

    def close(self) -> None:
        """End it, with its agents."""
        self._lastword("gateway", "stop", "--agents", "--port", self.port)
        try:
            self._process.communicate(timeout=FUSE_SECONDS)
        except subprocess.TimeoutExpired:
            os.kill(self._process.pid, signal.SIGKILL)
            raise


@pytest.fixture
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """A gateway in front of the scripted agent that a test names."""
    with tempfile.TemporaryDirectory(prefix="gw") as folder:  # a socket's path has to be short
        command = [sys.executable, "-m", "lastword", "agent", request.param]
        gateway = Gateway(Path(folder), *command)
        yield gateway
        gateway.close()


def converse(gateway: Gateway, sdk: str, transport: str) -> list[dict[str, Any]]:
    """What a client was given, in order."""
    scheme = "ws" if transport == "ws" else "http"
    url = f"{scheme}://127.0.0.1:{gateway.port}/acp"
    if sdk == "ts":
        require_node()
        program = ["node", "--experimental-websocket", str(HERE / "client_ts.mjs")]
    else:
        program = [str(require_packages(HERE)), str(HERE / "client_py.py")]
    done = subprocess.run(
        [*program, transport, url, gateway.token, str(gateway.root)],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        timeout=FUSE_SECONDS,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def of(events: list[dict[str, Any]], name: str, event: str = "update") -> list[dict[str, Any]]:
    return [each for each in events if each["event"] == event and each.get("name") == name]


@pytest.mark.parametrize("gateway", ["permission"], indirect=True)
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("sdk", SDKS)
def test_a_session_is_opened_prompted_asked_and_loaded(
    gateway: Gateway, sdk: str, transport: str
) -> None:
    events = converse(gateway, sdk, transport)
    (answer,) = (each["result"] for each in events if each["event"] == "answer")
    assert answer["stopReason"] == "end_turn"
    assert len(of(events, "first", "permission")) == 1
    # Who loads is told what was said, and is not asked what has been answered.
    assert of(events, "second", "permission") == []
    told = [each["update"]["sessionUpdate"] for each in of(events, "second")]
    assert told == ["user_message_chunk", "agent_message_chunk"]
    first = [each["update"]["content"] for each in of(events, "first")]
    assert first == [each["update"]["content"] for each in of(events, "second")[1:]]
    assert "loaded" in [each["event"] for each in events]


@pytest.mark.parametrize("gateway", ["rate_limit"], indirect=True)
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("sdk", SDKS)
def test_a_failure_is_typed(gateway: Gateway, sdk: str, transport: str) -> None:
    events = converse(gateway, sdk, transport)
    (refused,) = (each for each in events if each["event"] == "refused")
    assert refused["data"]["agent_error"]["type"] == "rate_limit"
    assert refused["data"]["agent_error"]["retryable"] is True
