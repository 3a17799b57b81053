"""Editors before a real `lastword run` with the scripted agent behind it, and what is recorded.

Owns the clients that play such turns. What the agent does is a scenario's; what should be told of
it is each test's.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import zipfile
from typing import TYPE_CHECKING, ClassVar

from tests.kit import left_behind
from tests.kit.client import RETRY, Client, Frame
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import lastword
from tests.kit.sidecar import patiently

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCRIPTED = (sys.executable, "-m", "lastword", "agent", "--bare")
RUN = (sys.executable, "-m", "lastword", "run")


class Editor(Client):
    """A client of a sidecar before the scripted agent; it allows what it is asked for."""

    info: ClassVar[Frame] = {"name": "an-editor", "version": "1"}

    def __init__(
        self,
        state: Path,
        *options: str,
        agent: Sequence[str] = (*SCRIPTED, "healthy"),
        under: Sequence[str] = (),
        params: Frame | None = None,
        environment: Frame | None = None,
    ) -> None:
        """Start the sidecar, `under` something, and open a session with further `params`."""
        words = [*(under or patiently()), *RUN, *options, "--", *agent]
        more = {"LASTWORD_STATE_DIR": str(state)} | (environment or {})
        super().__init__(words, environment=os.environ | more, session="")
        self.peer.replies = True
        self.call("initialize", protocolVersion=1, clientCapabilities=RETRY, clientInfo=self.info)
        opened = self.call("session/new", **({"cwd": "/tmp", "mcpServers": []} | (params or {})))
        self.session = opened["result"]["sessionId"]

    def play(self, scenario: str) -> Frame:
        """One whole turn of this scenario; gives its answer."""
        prompt = self.prompt(f"SECRET-WORDS-OF-MINE /scenario {scenario}")
        return self.answer(prompt, fuse=FUSE_SECONDS)

    def leave(self) -> int:
        """Close the pipes, and wait for the sidecar's end and its recorder's; gives its status."""
        self.close_stdin()
        status = self.wait(fuse=FUSE_SECONDS)
        left_behind.wait_for_none(self.mark)
        self.peer.release()
        return status

    def kill(self) -> None:
        """Kill the sidecar alone: its recorder lives on."""
        self.signal(signal.SIGKILL)
        self.wait(fuse=FUSE_SECONDS)
        self.peer.release()


class Desk(Editor):
    words: ClassVar[str] = "SECRET-WORDS-OF-MINE"

    def __init__(
        self,
        folder: Path,
        script: Frame,
        *options: str,
        params: Frame | None = None,
        under: Sequence[str] = (),
        **environment: str,
    ) -> None:
        """Start the sidecar; the scenario file is put into the folder, and the state is there."""
        file = folder / "scenario.json"
        file.write_text(json.dumps(script))
        self.state = folder / "state"
        self._begun = 0
        super().__init__(
            self.state,
            *options,
            agent=(*SCRIPTED, "--file", str(file)),
            under=under,
            params=params,
            environment=environment,
        )

    @property
    def lines(self) -> list[bytes]:
        return bytes(self.stdout.data).splitlines(keepends=True)

    def prompt(self, text: str = words, session: str | None = None) -> int:
        self._begun = len(self.frames)
        return super().prompt(text, session)

    def until(self, kind: str) -> None:
        """Read on until an update of this kind has come since the prompt."""
        self.expect(
            lambda f: f.get("params", {}).get("update", {}).get("sessionUpdate") == kind,
            since=self._begun,
        )


def members(state: Path, folder: Path) -> dict[str, str]:
    """The members of the same session's export, as texts."""
    file = folder / "export.zip"
    done = lastword("export", "--last", "--force", "-o", str(file), state=state)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}
