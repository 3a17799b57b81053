"""`lastword connect` in Windows' Python, under Wine, to a gateway on this machine."""

from __future__ import annotations

import json
import subprocess
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tests.kit.gateway.serving import Gateway, agent
from tests.kit.installs import or_skip
from tests.kit.patience import FUSE_SECONDS
from tests.windows import environment

if TYPE_CHECKING:
    from pathlib import Path


class Editor:
    """An editor in front of `lastword connect`."""

    def __init__(self, gateway: Gateway) -> None:
        connect = ["-m", "lastword", "connect", gateway.url, "--token", gateway.token()]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            ["wine", str(environment.PYTHON), *connect],
            stdin=pipe, stdout=pipe, stderr=pipe, env=environment.environment(),
        )  # fmt: skip
        self._fuse = threading.Timer(FUSE_SECONDS, self.process.kill)
        self._fuse.start()
        self._number = 0

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Return the answer to a request."""
        self._number += 1
        frame = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(frame).encode() + b"\r\n")
        stdin.flush()
        for line in stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number:
                return answer
        raise AssertionError("it ended")

    def close(self) -> None:
        """End it."""
        self._fuse.cancel()
        self.process.kill()
        self.process.communicate(timeout=FUSE_SECONDS)


def test_a_session_goes_on_over_a_gateway_that_was_killed(tmp_path: Path) -> None:
    or_skip(environment.require_environment)
    with (
        closing(Gateway(tmp_path, agent("healthy"))) as gateway,
        closing(Editor(gateway)) as editor,
    ):
        editor.ask("initialize", protocolVersion=1, clientCapabilities={})
        begun = editor.ask("session/new", cwd=str(gateway.root), mcpServers=[])
        session = begun["result"]["sessionId"]
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}
        assert editor.ask("session/prompt", **prompt)["result"]["stopReason"] == "end_turn"
        gateway.kill_front()
        gateway.start()
        assert editor.ask("session/prompt", **prompt)["result"]["stopReason"] == "end_turn"
        assert editor.process.stdin is not None
        editor.process.stdin.close()
        assert editor.process.wait(FUSE_SECONDS) == 0
        assert editor.process.stderr is not None
        assert f"session {session} stays on the gateway" in editor.process.stderr.read().decode()
        editor.process.stdin = None
