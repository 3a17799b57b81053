"""The recorder's process of a run, found by what it has that no other child of the run has."""

from __future__ import annotations

import os

_NICE = 5
"""How `record.process` has its recorder run."""


def recorders_of(run: int) -> list[int]:
    """The recorders of a run, by its process id."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            fields = _fields(int(name))
            # After the name: state, parent, … , nice (the 19th field of all).
            if fields and int(fields[1]) == run and int(fields[16]) == _NICE and fields[0] != "Z":
                found.append(int(name))
    return found


def _fields(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []
