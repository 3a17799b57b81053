"""`lastword doctor`: its findings, and the examination of the agent's command and surroundings.

Owns the shape of a finding; the search on the PATH, as the system does it; and the reasons why a
file cannot be run: it is a directory, is not executable, lacks its interpreter, or is for another
kind of machine. Windows has its own, since it goes by a file's suffix and reads no #! line. The
surroundings are environment variables, the platform and the PATH. `kit.diagnosis` has the
conversation with the agent, and what clients would get. Nothing here prints.
"""

from __future__ import annotations

import difflib
import os
import platform
import shutil
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from lastword._version import __version__
from lastword.platform.program_folders import is_beyond_the_dock, located_off_path
from lastword.platform.terminal import allows_long_paths, code_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Health(StrEnum):
    """The result. Only a problem makes the doctor's exit status 1."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


class Observation(msgspec.Struct, frozen=True):
    """One finding.

    Attributes:
        step: What was examined, in a word or two.
        verdict: The result.
        sentence: The finding, in one sentence.
        action: What to do about it; empty if there is nothing to do.
        facts: The details, for programs.
    """

    step: str
    verdict: Health
    sentence: str
    action: str = ""
    facts: dict[str, Any] = {}

    def as_json(self) -> dict[str, Any]:
        """Return the finding for programs; `says` and `do` are older names."""
        return {
            "step": self.step,
            "verdict": self.verdict.value,
            "sentence": self.sentence,
            "says": self.sentence,
            **({"advice": self.action, "do": self.action} if self.action else {}),
            **({"facts": self.facts} if self.facts else {}),
        }


def ok(step: str, sentence: str, /, **facts: Any) -> Observation:
    """Return a finding without a problem."""
    return Observation(step, Health.OK, sentence, "", facts)


def note(step: str, sentence: str, action: str = "", /, **facts: Any) -> Observation:
    """Return a finding that is worth knowing, but no problem for lastword."""
    return Observation(step, Health.NOTE, sentence, action, facts)


def problem(step: str, sentence: str, action: str, /, **facts: Any) -> Observation:
    """Return a finding that must be fixed."""
    return Observation(step, Health.PROBLEM, sentence, action, facts)


# --- lastword's surroundings

PREFIX = "LASTWORD_"
NOTIFY = "LASTWORD_NOTIFY"
"""Its value is a secret: anyone who knows an ntfy topic can read it."""

GATEWAY_TOKEN = "LASTWORD_GATEWAY_TOKEN"  # noqa: S105 - a variable's name
PLATFORMS = {
    "linux": "tested",
    "darwin": "tested on Linux, without what macOS lacks",
    "win32": "tested in Wine",
}
"""How lastword is tested on each platform; docs/platforms.md has the details."""

UTF8_CODE_PAGE = 65001
_BEYOND_THE_DOCK = " An editor from the Dock has another PATH; `lastword setup` writes this path."


def examine_surroundings(
    environment: Mapping[str, str], complaint: Callable[[str, str], str | None], names: list[str]
) -> list[Observation]:
    """Examine what lastword itself depends on.

    Args:
        environment: The environment.
        complaint: Returns what is wrong with the value of one of our variables, if anything.
        names: The names of all our variables.
    """
    tested = PLATFORMS.get(sys.platform)
    python = platform.python_version()
    if tested is None:
        sentence = f"lastword runs on Linux, macOS and Windows; this is {sys.platform}."
        findings = [problem("lastword", sentence, "Use it there")]
    else:
        sentence = f"lastword {__version__} on Python {python}, {sys.platform} ({tested})."
        facts = {"version": __version__, "python": python, "platform": sys.platform}
        findings = [ok("lastword", sentence, **facts)]
    variables = [name for name in sorted(environment) if name.startswith(PREFIX)]
    for name in variables:
        value = environment[name]
        if not value:
            continue
        if name == GATEWAY_TOKEN:  # a secret
            sentence = f"{name} is set: `lastword connect` uses it as its token."
            findings.append(ok("environment", sentence, name=name))
        elif name not in names:
            words = [own.removeprefix(PREFIX) for own in names]
            like = difflib.get_close_matches(name.removeprefix(PREFIX), words, n=1, cutoff=0.75)
            hint = f" Did you mean {PREFIX}{like[0]}?" if like else ""
            sentence = f"{name} is set, but is not an option of `lastword run`.{hint}"
            findings.append(note("environment", sentence))
        elif wrong := complaint(name, value):
            do = f"Correct or unset {name}"
            findings.append(problem("environment", f"{wrong}.", do, name=name))
        else:
            setting = name if name == NOTIFY else f"{name}={value}"
            findings.append(ok("environment", f"{setting} is set.", name=name))
    if len(findings) == 1:
        findings.append(ok("environment", "No LASTWORD_ variable is set."))
    path = shutil.which("lastword", path=environment.get("PATH", os.defpath))
    folder = os.path.dirname(sys.executable)
    beside = os.pathsep.join((folder, os.path.join(folder, "Scripts")))
    own = shutil.which("lastword", path=beside) or os.path.join(folder, "lastword")
    if path is None:
        whole = own if os.path.exists(own) else "the full path of lastword"
        do = f"In the editor's settings, write its full path: {whole}"
        findings.append(note("PATH", "The command lastword is not on the PATH here.", do))
    elif sys.prefix != sys.base_prefix and os.path.dirname(path) == os.path.dirname(own):
        sentence = f"lastword is on the PATH only in this virtual environment ({path})."
        do = "An editor started elsewhere does not find it: write this full path in its settings"
        findings.append(note("PATH", sentence, do, path=path))
    else:
        sentence = f"lastword is on the PATH here: {path}."
        if is_beyond_the_dock(path):
            sentence += _BEYOND_THE_DOCK
        findings.append(ok("PATH", sentence, path=path))
    return [*findings, *_console(code_page(), allows_long=allows_long_paths())]


def _console(page: int | None, *, allows_long: bool | None) -> list[Observation]:
    """Return what may be wrong with a console's settings; both are `None` except on Windows."""
    findings = []
    if page is not None and page != UTF8_CODE_PAGE:
        sentence = (
            f"The console's code page is {page}: lastword and its pipes use UTF-8 all the same, "
            "but what is sent to a file or another program with | or > uses the system's."
        )
        findings.append(ok("console", sentence, code_page=page))
    if allows_long is False:
        sentence = "On Windows, most programs cannot use paths of more than 260 characters."
        do = (
            "If an agent fails in deep folders, have an administrator set LongPathsEnabled to 1: "
            "New-ItemProperty HKLM:\\SYSTEM\\CurrentControlSet\\Control\\FileSystem "
            "LongPathsEnabled -Value 1 -PropertyType DWORD -Force"
        )
        findings.append(note("long paths", sentence, do))
    return findings


# --- the command on Windows

WINDOWS_HEAD_BYTES = 4096
WINDOWS_MACHINES = {0x14C: "x86", 0x8664: "amd64", 0xAA64: "arm64"}
"""The machine in a program's header (winnt.h, `IMAGE_FILE_MACHINE_*`)."""

_WINDOWS_RUNS_TOO = {"amd64": {"x86"}, "arm64": {"x86", "amd64"}}
_STORE = os.path.join("microsoft", "windowsapps")


def examine_on_windows(path: str, _environment: Mapping[str, str]) -> list[Observation]:
    """Return what may keep Windows from running an existing file."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".ps1":
        sentence = f"{path} is a PowerShell script, which no editor starts by itself."
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
            head = file.read(WINDOWS_HEAD_BYTES)
    except OSError:
        return []  # an executable may be unreadable
    return windows_format_of(path, head)


def windows_format_of(path: str, head: bytes) -> list[Observation]:
    """Return what is wrong with a program that begins with these bytes."""
    if head.startswith(WINDOWS):
        at = int.from_bytes(head[0x3C:0x40], "little")
        if head[at : at + 4] != b"PE\0\0":
            return []
        number = int.from_bytes(head[at + 4 : at + 6], "little")
        own = platform.machine().lower()
        built_for = WINDOWS_MACHINES.get(number, f"machine {number:#x}")
        runs = {own, *_WINDOWS_RUNS_TOO.get(own, ())}
        if own not in WINDOWS_MACHINES.values() or built_for in runs:
            return []
        sentence = f"{path} is built for {built_for}, and this machine is {own}."
        return [problem(STEP, sentence, f"Install the one for {own}", built_for=built_for)]
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
    sentence = f"{path} is not a Windows program."
    return [problem(STEP, sentence, "Give the .exe or .cmd of the agent")]


# --- the command

STEP = "command"
HEAD_BYTES = 512
MACHINES = {0x03: "x86", 0x28: "arm", 0x3E: "x86_64", 0xB7: "aarch64", 0xF3: "riscv64"}
"""An ELF file's `e_machine`, by `uname -m`'s names."""

ALIASES = {"amd64": "x86_64", "arm64": "aarch64", "i386": "x86", "i686": "x86", "armv7l": "arm"}
RUNS_TOO = {"x86_64": {"x86"}, "aarch64": {"arm"}}
ELF, WINDOWS, MACH_O = b"\x7fELF", b"MZ", (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")

INSTALL = "Install the agent, or give the full path of its program; an editor's PATH may be shorter"


def examine(program: str, environment: Mapping[str, str]) -> list[Observation]:
    """Look at the program of a command; the last finding is the problem, if there is one."""
    if os.path.dirname(program) == "":
        path = _on_path(program, environment)
    else:  # on Windows a path may lack its suffix, as a name may
        path = shutil.which(program) or program
    if path is None:
        entries = [each for each in environment.get("PATH", os.defpath).split(os.pathsep) if each]
        idle = [file for each in entries if os.path.isfile(file := os.path.join(each, program))]
        if idle:
            return [problem(STEP, f"{idle[0]} is not executable.", f"chmod +x {idle[0]}")]
        elsewhere = located_off_path(program, environment)
        if elsewhere is not None:
            sentence = f"{program} is not on the PATH, but there is {elsewhere}."
            do = "Give this full path; `lastword setup` writes it into an editor's settings"
            return [problem(STEP, sentence, do, path=elsewhere)]
        if os.path.isfile(program):
            sentence = f"{program} is in this directory, but not on the PATH."
            return [problem(STEP, sentence, f"Write {os.path.join('.', program)}")]
        sentence = f"{program} is in none of the {len(entries)} directories on the PATH."
        return [problem(STEP, sentence, INSTALL, searched=entries)]
    if not os.path.exists(path):
        hint = "It is a broken link." if os.path.islink(path) else "There is no such file."
        return [problem(STEP, f"{path} was not found. {hint}", "Correct the path, or install it")]
    if os.path.isdir(path):
        return [problem(STEP, f"{path} is a directory.", "Give the program in it")]
    if not os.access(path, os.X_OK):
        return [problem(STEP, f"{path} is not executable.", f"chmod +x {path}")]
    sentence = f"Found as {os.path.abspath(path)}."
    if is_beyond_the_dock(path):
        sentence += _BEYOND_THE_DOCK
    examined = examine_on_windows if sys.platform == "win32" else _format
    return [
        ok(STEP, sentence, path=os.path.abspath(path)),
        *examined(path, environment),
    ]


def _on_path(program: str, environment: Mapping[str, str]) -> str | None:
    return shutil.which(program, path=environment.get("PATH", os.defpath))


def _format(path: str, environment: Mapping[str, str]) -> list[Observation]:
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return []  # an executable may be unreadable
    if head.startswith(b"#!"):
        line = head[2:].split(b"\n", 1)[0]
        if line.endswith(b"\r"):
            sentence = f"The #! line of {path} ends in a carriage return."
            return [problem(STEP, sentence, f"Give it Unix line endings: sed -i 's/\\r$//' {path}")]
        words = line.decode("utf-8", "replace").split()
        if not words:
            return [problem(STEP, f"The #! line of {path} names no program.", "Write #!/bin/sh")]
        needed = words[0]
        is_there = os.access(needed, os.X_OK) and not os.path.isdir(needed)
        if is_there and os.path.basename(needed) == "env":
            programs = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
            needed = programs[0] if programs else needed
            is_there = not programs or _on_path(needed, environment) is not None
        if is_there:
            return []
        sentence = f"The #! line of {path} needs {needed}, which is not here."
        do = f"Install {os.path.basename(needed)}, or correct the line"
        return [problem(STEP, sentence, do)]
    if head.startswith(ELF):
        number = int.from_bytes(head[18:20], "little" if head[5:6] == b"\x01" else "big")
        own = ALIASES.get(platform.machine().lower(), platform.machine().lower())
        built_for = MACHINES.get(number, f"machine {number}")
        if built_for == own or built_for in RUNS_TOO.get(own, ()) or own not in MACHINES.values():
            return []
        sentence = f"{path} is built for {built_for}, and this machine is {own}."
        return [problem(STEP, sentence, f"Install the one for {own}", built_for=built_for)]
    if head.startswith(WINDOWS) or (head.startswith(MACH_O) and sys.platform != "darwin"):
        system = "Windows" if head.startswith(WINDOWS) else "macOS"
        return [
            problem(STEP, f"{path} is a program for {system}.", "Install the one for this system")
        ]
    if not head:
        return [problem(STEP, f"{path} is empty.", "Install it again")]
    if b"\0" not in head:
        sentence = f"{path} has no #! line, so a shell runs it, whatever its language."
        return [note(STEP, sentence, "Begin it with #!/bin/sh, or with its interpreter")]
    return []
