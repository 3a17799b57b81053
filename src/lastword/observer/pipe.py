"""The pipe through which an agent's runtime reports its requests, and the agent's environment.

Each report is one line of JSON, written at once and dropped if the pipe is full. The runtime that
loads the observer removes our environment variables before the agent's own code runs, so that no
tool inherits them. This module is loaded before the agent is spawned, and so imports next to
nothing.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLE = "LASTWORD_OBSERVER"
"""The variable with the pipe's name, and the streams by which the agent's process is recognised."""

MODEL_PATH = (
    "(/chat/completions|/completions|/responses|/v1/messages|:(stream)?generateContent"
    "|:(stream)?rawPredict|/converse(-stream)?|/invoke(-with-response-stream)?"
    "|/api/(chat|generate)|/v[12]/chat)$"
)
"""The API paths of OpenAI, Anthropic, Google, Bedrock, Vertex, Ollama, Cohere and compatible
providers. A POST to another path proves nothing, since an MCP server answers with an event stream,
too. It has no backslash, since it is written into JSON unescaped."""

FOLDER = os.path.dirname(os.path.abspath(__file__))
NODE_FILE = os.path.join(FOLDER, "node.cjs")
BUN_OPTION = f'"--preload={NODE_FILE}"' if " " in NODE_FILE else f"--preload={NODE_FILE}"
"""Bun (1.4) accepts quotes only around a whole option."""

PYTHON_FOLDER = os.path.join(FOLDER, "python")

READ_BYTES = 16 * 1024
"""The limit of one read: a refusal takes up to 2 ms, during which the agent's frames wait."""

MAX_LINE_BYTES = 4096
"""The atomic size of a pipe on Linux; the observer's lines are shorter."""

OUTSIDE = frozenset(
    {
        *("bwrap", "docker", "doas", "firejail", "flatpak", "flatpak-spawn", "nsenter", "podman"),
        *("sandbox-exec", "snap", "ssh", "su", "sudo", "unshare", "wsl"),
        *("apptainer", "chroot", "distrobox", "gosu", "lxc", "machinectl", "nerdctl", "pkexec"),
        *("proot", "runuser", "setpriv", "singularity", "srt", "su-exec", "systemd-run", "toolbox"),
    }
)
"""Programs that run another where this machine's files may be missing; Node does not start if it
cannot read a file to load. The observer's variable names them, for a launcher's children."""


def may_observe(command: Sequence[str]) -> bool:
    """Return whether the process that a command starts can read the observer's files."""
    if os.name != "posix" or any(char in FOLDER for char in '"\\:\n'):
        return False
    if not os.access(NODE_FILE, os.R_OK):  # during an update, or not unpacked
        return False
    # Node's permissions would forbid reading the file.
    words = (*command, os.environ.get("NODE_OPTIONS", ""))
    if any("--permission" in word or "--experimental-permission" in word for word in words):
        return False
    # The program may follow `env` or `nice`, or be in a shell's command.
    programs = (os.path.basename(part) for word in command for part in word.split())
    return OUTSIDE.isdisjoint(programs)


class ObserverPipe:
    """A named pipe to which the agent's processes write, and which is read here."""

    __slots__ = ("_part", "fd", "path")

    def __init__(self, fd: int = -1) -> None:
        """Create it, or continue with the one from before this process replaced itself.

        Raises:
            OSError: It cannot be created.
        """
        self._part = b""
        self.fd: int = fd
        self.path: str = ""
        if fd >= 0:
            return
        folder = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - its name cannot be guessed
        if any(char in folder for char in '"\\\n'):
            raise OSError("a folder whose name JSON would have to quote")
        if sys.platform == "win32":
            raise OSError("Windows has no named pipes of this kind")
        self.path = os.path.join(folder, f"lastword-{os.urandom(12).hex()}")
        os.mkfifo(self.path, 0o600)
        try:
            # Also for writing, so that it does not end with one of the agent's processes.
            flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
            self.fd = os.open(self.path, flags)
        except OSError:
            os.unlink(self.path)
            raise

    def environment(self, stdin: int, stdout: int) -> dict[str, str]:
        """Return this process's environment with the observer in it.

        Args:
            stdin: The agent's stdin. A process without this and `stdout` belongs to a tool.
            stdout: The agent's stdout.
        """
        environment = dict(os.environ)
        ends = [f"[{file.st_dev},{file.st_ino}]" for file in map(os.fstat, (stdin, stdout))]
        environment[VARIABLE] = (
            f'{{"pipe":"{self.path}","stdin":{ends[0]},"stdout":{ends[1]},'
            f'"model_path":"{MODEL_PATH}","outside":"{" ".join(sorted(OUTSIDE))}"}}'
        )
        for name, own, between in (
            ("NODE_OPTIONS", f'--require "{NODE_FILE}"', " "),
            ("BUN_OPTIONS", BUN_OPTION, " "),
            ("PYTHONPATH", PYTHON_FOLDER, ":"),
        ):
            users = environment.get(name)
            environment[name] = f"{own}{between}{users}" if users else own
        return environment

    def read(self) -> list[bytes]:
        """Return the lines that have arrived."""
        try:
            data = self._part + os.read(self.fd, READ_BYTES)
        except BlockingIOError:
            return []
        *lines, self._part = data.split(b"\n")
        if len(self._part) > MAX_LINE_BYTES:
            self._part = b""
        return lines

    def hide(self) -> None:
        """Remove its name, after the agent's processes have opened it."""
        path, self.path = self.path, ""
        if path:
            try:
                os.unlink(path)
            except OSError:
                return

    def close(self) -> None:
        """Close it; later reports are dropped."""
        self.hide()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
