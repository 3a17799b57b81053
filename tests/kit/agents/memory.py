"""What an agent keeps on disk: its session's prompts, and the processes that it has been.

Owns one folder. With it an agent that is started again can bring its session back, and a test can
see how often it was started.
"""

from __future__ import annotations

import os

LIVES = "lives"
PROMPTS = "prompts"


class Memory:
    """The folder of one agent."""

    def __init__(self, folder: str) -> None:
        self._lives = os.path.join(folder, LIVES)
        self._prompts = os.path.join(folder, PROMPTS)

    def begin_life(self) -> int:
        """Note that a process has begun; gives the how manieth it is."""
        _append(self._lives, str(os.getpid()))
        return len(_lines(self._lives))

    def pids(self) -> list[int]:
        """The processes that there have been, oldest first."""
        return [int(line) for line in _lines(self._lives)]

    def note(self, prompt: str) -> None:
        """Keep a prompt of the session."""
        _append(self._prompts, prompt)

    def prompts(self) -> list[str]:
        """The session's prompts, oldest first."""
        return _lines(self._prompts)

    def forget(self) -> None:
        if os.path.exists(self._prompts):
            os.remove(self._prompts)


def _append(path: str, line: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(line.replace("\n", " ") + "\n")


def _lines(path: str) -> list[str]:
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()
