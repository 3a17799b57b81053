"""The place of an editor's settings on this machine, and the way in which it finds programs.

Owns expanding the table of `quirks.setup`, the message for an unknown name, and the guess which
part of this terminal's PATH an editor has.
"""

from __future__ import annotations

import difflib
import ntpath
import os
import re
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lastword._installation import lasting_commands, uvx_command
from lastword.platform.program_folders import is_a_script_of_env, located_off_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lastword.quirks.setup import Editor


_VARIABLE = re.compile(r"\{([A-Z_]++)\}")
_WINDOWS_SUFFIX = re.compile(r"\.(?:exe|cmd|bat|com)$", re.IGNORECASE)
_RUNNERS = {"npx", "bunx", "pnpx", "uvx", "node", "python", "python3", "env", "deno", "bun"}
SUFFIX = "-lastword"
"""The end of a new entry's name, to distinguish it from the agent without lastword."""


def candidates(editor: Editor, environment: Mapping[str, str], system: str = "") -> list[str]:
    """Return the possible paths of an editor's settings, the likeliest first."""
    system = system or sys.platform
    own = {"darwin": editor.places_on_macos, "win32": editor.places_on_windows}
    places = own.get(system) or editor.places
    home = home_of(environment, system)
    variables = dict(environment)
    if not os.path.isabs(variables.get("XDG_CONFIG_HOME", "")):
        variables["XDG_CONFIG_HOME"] = os.path.join(home, ".config")
    paths = []
    for place in places:
        names = _VARIABLE.findall(place)
        if all(variables.get(name) for name in names):
            path = _VARIABLE.sub(lambda match: variables[match[1]], place)
            path = home + path[1:] if path.startswith("~") else path
            paths.append(ntpath.normpath(path) if system == "win32" else path)
    return paths


def config_folder(system: str = "") -> str:
    """Return the folder of programs' settings as people write it: VS Code's relatives use it."""
    system = system or sys.platform
    return {"darwin": '"$HOME/Library/Application Support"', "win32": "$env:APPDATA"}.get(
        system, "~/.config"
    )


def home_of(environment: Mapping[str, str], system: str = "") -> str:
    """Return the user's home, by the variables of a process."""
    # Git's shell sets HOME on Windows, but editors ignore it.
    variable = "USERPROFILE" if (system or sys.platform) == "win32" else "HOME"
    return environment.get(variable) or os.path.expanduser("~")


def settings_paths(editor: Editor, environment: Mapping[str, str]) -> list[str]:
    """Return the settings files that exist, or else the one that would be created."""
    places = candidates(editor, environment)
    there = [place for place in places if os.path.lexists(place)]
    folders = [place for place in places if os.path.isdir(os.path.dirname(place))]
    return there or folders[:1] or places[:1]


def shown(path: str, environment: Mapping[str, str]) -> str:
    home = home_of(environment)
    inside = home != os.sep and path.startswith(home + os.sep)
    return "~" + path[len(home) :] if inside else path


def default_name(command: Sequence[str]) -> str:
    """Return an agent's default name, from its command: `opencode acp` is `opencode-lastword`."""
    words = [word for word in command if not word.startswith("-")] or ["agent"]
    first = _WINDOWS_SUFFIX.sub("", os.path.basename(words[0]))
    program = words[1] if first in _RUNNERS and len(words) > 1 else words[0]
    name = os.path.basename(program.rstrip("/")).lstrip("@").partition("@")[0]
    stem = re.sub(r"\.(?:py|js|mjs|cjs|ts|sh)$", "", _WINDOWS_SUFFIX.sub("", name))
    return re.sub(r"[^\w.-]", "-", stem or "agent") + SUFFIX


def unknown(kind: str, name: str, choices: Iterable[str]) -> str:
    """Return the message for an unknown name."""
    names = list(choices)
    like = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    meant = f"; did you mean {like[0]}?" if like else "."
    return f"there is no {kind} {name!r}{meant} There are: {', '.join(names)}"


OURS = "lastword"
_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*|node|deno|bun|tsx|ruby|perl|php|(?:ba|z|da)?sh")
"""Programs whose first argument is the script that they run."""

_PASSING = (
    *("/uv/archive-", "/.cache/pipx/", "/pipx/.cache/"),
    *("/uv/cache/archive-", "/Caches/pipx/", "/pipx/Cache/"),
)
"""Parts of the paths of programs that `uvx` and `pipx run` install for one run."""


@dataclass(frozen=True, slots=True)
class NamedCommand:
    """A command as an editor's settings should have it, and notes for the user."""

    words: list[str]
    note: str


def lasting_path(environment: Mapping[str, str]) -> str:
    """Return PATH without the parts of this terminal only: virtual environments, and `.`."""
    active = environment.get("VIRTUAL_ENV")
    passing = os.path.realpath(active) + os.sep if active else None
    folders = [
        folder
        for folder in environment.get("PATH", os.defpath).split(os.pathsep)
        if os.path.isabs(folder)
        and not (passing and (os.path.realpath(folder) + os.sep).startswith(passing))
        and not os.path.exists(os.path.join(folder, os.pardir, "pyvenv.cfg"))
    ]
    return os.pathsep.join(dict.fromkeys(folders))


def typed_command(environment: Mapping[str, str]) -> list[str]:
    """Return how lastword is called in this terminal, for a command that the user types."""
    located = shutil.which(OURS, path=environment.get("PATH", os.defpath))
    if located and "/uv/" in located and _is_passing(located):
        return uvx_command()  # which puts it on the PATH of this process only
    return [OURS] if located else _beside_python()


def _beside_python() -> list[str]:
    folder = os.path.dirname(sys.executable)
    if sys.platform == "win32":
        # Beside the Python of a virtual environment; otherwise in the folder of scripts.
        path = os.pathsep.join((folder, os.path.join(folder, "Scripts")))
        beside = shutil.which(OURS, path=path)
        return [beside] if beside else [sys.executable, "-P", "-m", OURS]
    beside = os.path.join(folder, OURS)
    return [beside] if os.access(beside, os.X_OK) else [sys.executable, "-P", "-m", OURS]


def _is_passing(path: str) -> bool:
    return any(mark in path.replace("\\", "/") for mark in _PASSING)


def has_folder(program: str) -> bool:
    """Return whether a program is named with its folder, so that no PATH is searched."""
    return os.path.dirname(program) != ""


def uses_whole_paths(editor: Editor) -> bool:
    """Return whether an editor's settings should name programs by their full paths.

    From macOS' Dock and from Windows' start menu an editor has another PATH than a terminal.
    """
    return editor.whole_paths or sys.platform in {"darwin", "win32"}


def path_for(
    editor: Editor, words: Sequence[str], environment: Mapping[str, str], system: str = ""
) -> str:
    """Return the PATH that the settings give the agent; empty for the editor's own.

    Args:
        editor: The editor.
        words: The agent's command, as the settings have it.
        environment: The variables of this process.
        system: The platform, if not this one.
    """
    system = system or sys.platform
    if system == "win32":
        return ""  # an editor has the user's PATH there
    needs_it = system == "darwin" and is_a_script_of_env(words[0])
    return lasting_path(environment) if editor.whole_paths or needs_it else ""


def own_command(environment: Mapping[str, str], *, whole: bool) -> NamedCommand:
    """Return lastword's own command: its bare name if an editor finds it by that.

    Args:
        environment: the variables with PATH.
        whole: the editor needs an absolute path.
    """
    located = shutil.which(OURS, path=lasting_path(environment))
    if located and not _is_passing(located):
        if whole:
            return NamedCommand([located], f"`lastword` is {located}.")
        note = f"If the editor does not find `lastword`, give it the whole path: {located}"
        return NamedCommand([OURS], note)
    words = _beside_python()
    if _is_passing(words[0]):
        note = f"{words[0]} is a temporary installation that may be deleted at any time."
    else:
        note = "lastword is not on the PATH that editors have, so the settings name its whole path."
    uv, pipx = lasting_commands()
    return NamedCommand(words, f"{note} `{uv}` or `{pipx}` puts it on PATH for good.")


def agent_command(
    command: Sequence[str], environment: Mapping[str, str], install: str, *, whole: bool
) -> NamedCommand:
    """Return the agent's command, with absolute paths if they are needed.

    Args:
        command: the command of the command line.
        environment: the variables with PATH.
        install: the command that installs a missing program.
        whole: the editor needs absolute paths.
    """
    program, *given = command
    # Arguments that name a file of this folder get its whole path. A word without a separator or a
    # suffix, as in `opencode acp`, is a file only if it is an interpreter's script.
    rest = []
    for at, word in enumerate(given):
        is_first = all(before.startswith("-") for before in given[:at])
        is_script = is_first and _INTERPRETER.fullmatch(_stem(program))
        names_file = has_folder(word) or os.path.splitext(word)[1] or is_script
        is_option = word.startswith("-") or os.path.isabs(word)
        is_file = names_file and not is_option and os.path.isfile(word)
        rest.append(os.path.abspath(word) if is_file else word)
    note = ""
    if rest != given:
        moved = [word for word, before in zip(rest, given, strict=True) if word != before]
        note = f"An editor starts the agent in another folder, so the settings name {moved[0]}."
    located = shutil.which(program, path=lasting_path(environment))
    here = shutil.which(program, path=environment.get("PATH", os.defpath))
    if here is not None and located is None:
        # Only on the PATH of this terminal, like the Python of a virtual environment.
        return NamedCommand([os.path.abspath(here), *rest], note)
    if located is None and has_folder(program):
        note = f"There is no program {os.path.abspath(program)} that can be run."
        return NamedCommand([os.path.abspath(program), *rest], note)
    elsewhere = located_off_path(program, environment) if located is None else None
    if elsewhere is not None:
        note = f"`{program}` is not on PATH, so the settings name its whole path: {elsewhere}."
        return NamedCommand([elsewhere, *rest], note)
    if located is None:
        hint = f" To get it: {install}." if install else " Install it, or give its whole path."
        return NamedCommand([program, *rest], f"`{program}` was not found on PATH.{hint}")
    # A given path must be valid in any folder; it is not looked up on PATH.
    is_path = has_folder(program)
    return NamedCommand([os.path.abspath(located) if whole or is_path else program, *rest], note)


def own_command_of(words: Sequence[str]) -> str:
    """Return which command of lastword these words start; empty if they start another program."""
    bare = len(words) > 1 and _stem(words[0]) == OURS
    # Earlier settings lack the -P.
    start = 2 if list(words[1:2]) == ["-P"] else 1
    as_module = list(words[start : start + 2]) == ["-m", OURS]
    command = words[1:2] if bare else words[start + 2 : start + 3] if as_module else []
    return command[0] if command else ""


def is_ours(words: Sequence[str]) -> bool:
    """Return whether this command is lastword's: in front of an agent, or of a gateway."""
    command = own_command_of(words)
    return (command == "run" and "--" in words) or (command == "connect" and "--ssh" in words)


def _stem(program: str) -> str:
    """Return a program's name, without its folder and the suffix that Windows needs."""
    if sys.platform != "win32":
        return os.path.basename(program)
    return re.sub(r"\.(?:exe|cmd|bat|com)$", "", os.path.basename(program).lower())


def behind(words: Sequence[str]) -> list[str]:
    """Return the agent's command behind lastword's."""
    return list(words[words.index("--") + 1 :])
