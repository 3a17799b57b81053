"""The pipe through which an agent's runtime reports its requests, and the agent's environment.

Each report is one line of JSON, written at once and dropped if nobody has read those before it.
What is put into the environment is taken out again by the runtime that loads the observer, before
the agent's own code runs, so that no tool inherits it. It is loaded before the agent is spawned,
and so imports next to nothing.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLE = "LASTWORD_OBSERVER"
"""The pipe's name, and the streams by which a process knows itself to be the agent."""

MODEL_PATH = (
    "(/chat/completions|/completions|/responses|/v1/messages|:(stream)?generateContent"
    "|:(stream)?rawPredict|/converse(-stream)?|/invoke(-with-response-stream)?"
    "|/api/(chat|generate)|/v[12]/chat)$"
)
"""The paths of model APIs, as OpenAI, Anthropic, Google, Bedrock, Vertex, Ollama, Cohere and what
speaks like them have them. A POST elsewhere proves nothing: an MCP server answers with an event
stream, too. No backslash in it: it is written into JSON as it is."""

FOLDER = os.path.dirname(os.path.abspath(__file__))
NODE_FILE = os.path.join(FOLDER, "node.cjs")
BUN_OPTION = f'"--preload={NODE_FILE}"' if " " in NODE_FILE else f"--preload={NODE_FILE}"
"""Bun (1.4) has quotes around a whole option, or none."""

PYTHON_FOLDER = os.path.join(FOLDER, "python")

READ_BYTES = 16 * 1024
"""How much is read at once: a refusal takes up to 2 ms, and the agent's frames wait meanwhile."""

MAX_LINE_BYTES = 4096
"""What a pipe takes in one piece on Linux; the observer's lines are shorter."""

OUTSIDE = frozenset(
    {
        *("bwrap", "docker", "doas", "firejail", "flatpak", "flatpak-spawn", "nsenter", "podman"),
        *("sandbox-exec", "snap", "ssh", "su", "sudo", "unshare", "wsl"),
        *("apptainer", "chroot", "distrobox", "gosu", "lxc", "machinectl", "nerdctl", "pkexec"),
        *("proot", "runuser", "setpriv", "singularity", "srt", "su-exec", "systemd-run", "toolbox"),
    }
)
"""Programs that run another where this machine's files may be missing: Node does not start if it
cannot read what it is to load. The observer's variable names them, for a launcher's children."""


def may_observe(command: Sequence[str]) -> bool:
    """Return whether what this command starts can read the observer's files."""
    if os.name != "posix" or any(char in FOLDER for char in '"\\:\n'):
        return False
    if not os.access(NODE_FILE, os.R_OK):  # an update replaces it, or nothing has unpacked it
        return False
    # With Node's permissions it may not read a file that they do not name.
    words = (*command, os.environ.get("NODE_OPTIONS", ""))
    if any("--permission" in word or "--experimental-permission" in word for word in words):
        return False
    # Behind `env` or `nice`, or in a shell's own line.
    programs = (os.path.basename(part) for word in command for part in word.split())
    return OUTSIDE.isdisjoint(programs)


class ObserverPipe:
    """A named pipe that is read here, and that the agent's processes open by its name."""

    __slots__ = ("_part", "fd", "path")

    def __init__(self, fd: int = -1) -> None:
        """Make it, or continue with the one that this process had before it replaced itself.

        Raises OSError.
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
            # For writing as well: it does not end when a process of the agent's does.
            flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
            self.fd = os.open(self.path, flags)
        except OSError:
            os.unlink(self.path)
            raise

    def environment(self, stdin: int, stdout: int) -> dict[str, str]:
        """Return this process's environment with the observer in it.

        Args:
            stdin: The agent's stdin; a process that has neither this nor `stdout` is a tool's.
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
        """Remove its name, once the agent's processes have opened it."""
        path, self.path = self.path, ""
        if path:
            try:
                os.unlink(path)
            except OSError:
                return

    def close(self) -> None:
        """Close it: what is reported from now on is dropped."""
        self.hide()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
