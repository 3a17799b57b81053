"""What is known of an agent's processes."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """One process of an agent's tree.

    Attributes:
        pid: its id.
        parent: its parent's id.
        state: its state's letter: R runs, S sleeps, D waits for a disk, T is stopped, Z has ended;
            S where the system does not tell.
        cpu_seconds: how long it has been on a processor.
        queued_seconds: how long its main thread has waited for a processor that others had.
        age_seconds: how long ago it was started.
        name: its short name.
        words: its command line, or its program alone; its first words alone may be shown.
    """

    pid: int
    parent: int = 0
    state: str = "S"
    cpu_seconds: float = 0.0
    queued_seconds: float = 0.0
    age_seconds: float = 0.0
    name: str = ""
    words: tuple[str, ...] = ()


class Writers(NamedTuple):
    """Who has a file open for writing.

    Attributes:
        own: A process of the agent.
        others: A process that is not the agent's.
    """

    own: bool
    others: bool
