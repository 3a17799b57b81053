"""The examination of a program's file as Windows starts it.

Owns the reasons why Windows cannot run a file that PATH leads to: it goes by a file's suffix, and
reads no #! line.
"""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

from lastword.kit.doctor.findings import Observation, note, problem

if TYPE_CHECKING:
    from collections.abc import Mapping

STEP = "command"
HEAD_BYTES = 4096
PROGRAM, ELF, MACH_O = b"MZ", b"\x7fELF", (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
MACHINES = {0x14C: "x86", 0x8664: "amd64", 0xAA64: "arm64"}
"""Of a program's header (winnt.h, `IMAGE_FILE_MACHINE_*`)."""

_RUNS_TOO = {"amd64": {"x86"}, "arm64": {"x86", "amd64"}}
_STORE = os.path.join("microsoft", "windowsapps")


def examine(path: str, _environment: Mapping[str, str]) -> list[Observation]:
    """Return what keeps Windows from running a file that is there, or may."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".ps1":
        sentence = f"{path} is a script of PowerShell, which no editor starts by itself."
        do = f"Start it with PowerShell: powershell -NoProfile -File {path}"
        return [problem(STEP, sentence, do)]
    if _STORE in path.lower().replace("/", os.sep) and os.path.basename(path).lower().startswith(
        "python"
    ):
        sentence = f"{path} is the Microsoft Store's alias, which may only open the Store."
        do = (
            "If the agent does not start, give the full path of python.exe, or turn the alias off "
            "in Settings > Apps > Advanced app settings > App execution aliases"
        )
        return [note(STEP, sentence, do)]
    if suffix in {".cmd", ".bat"}:
        return []
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return []  # a program may be executable and not readable
    return format_of(path, head)


def format_of(path: str, head: bytes) -> list[Observation]:
    """Return what is wrong with a program that begins with these bytes."""
    if head.startswith(PROGRAM):
        return _architecture(path, head)
    if head.startswith((ELF, *MACH_O)):
        system = "Linux" if head.startswith(ELF) else "macOS"
        sentence = f"{path} is a program for {system}."
        return [problem(STEP, sentence, "Install the one for Windows")]
    if head.startswith(b"#!"):
        sentence = f"{path} is a script, and Windows reads no #! line."
        do = "Give its interpreter in front of it, as in: python my-agent.py"
        return [problem(STEP, sentence, do)]
    if not head:
        return [problem(STEP, f"{path} is empty.", "Install it again")]
    sentence = f"{path} is not a program of Windows."
    return [problem(STEP, sentence, "Give the .exe or .cmd of the agent")]


def _architecture(path: str, head: bytes) -> list[Observation]:
    at = int.from_bytes(head[0x3C:0x40], "little")
    if head[at : at + 4] != b"PE\0\0":
        return []
    number = int.from_bytes(head[at + 4 : at + 6], "little")
    own = platform.machine().lower()
    built_for = MACHINES.get(number, f"machine {number:#x}")
    runs = {own, *_RUNS_TOO.get(own, ())}
    if own not in MACHINES.values() or built_for in runs:
        return []
    sentence = f"{path} is built for {built_for}, and this machine is {own}."
    return [problem(STEP, sentence, f"Install the one for {own}", built_for=built_for)]
