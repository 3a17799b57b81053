"""An agent that works on another machine: `ssh` to it, and its folders in the editor's messages.

Owns the command line of `ssh`, what its errors mean for a user, and what is changed in the editor's
messages: the folders and files that they name, and what the agent may ask of the editor. Nothing
that the agent says is changed. The user's own `ssh` and its configuration are used, so that a host
that `ssh HOST` reaches without a question is reached here. Needs only the standard library.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote, urlsplit

import msgspec
from msgspec import Raw

from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import raw_members

if TYPE_CHECKING:
    from collections.abc import Callable


CONNECT_SECONDS = 15
ALIVE_SECONDS = 5
"""Three without an answer end a connection: the next one costs nothing but a second."""

BAD_REQUEST, FORBIDDEN = 400, 403
HOST_EXPECTS = "a host, as `ssh` does"
MISSING = "there is no `ssh` on PATH here: install OpenSSH's client"
ON_WINDOWS = (
    "a connection through ssh works on Linux and macOS alone; on Windows keep "
    "`ssh -N -L 7780:127.0.0.1:7780 HOST` running, and connect to http://127.0.0.1:7780"
)
_OPTIONS = (
    "BatchMode=yes",  # nobody can answer a question
    f"ConnectTimeout={CONNECT_SECONDS}",
    f"ServerAliveInterval={ALIVE_SECONDS}",
    "ServerAliveCountMax=3",
    "ForwardX11=no",
)

OWN, SHARED = "ControlPath=none", "ControlMaster=no"
"""Its own connection, or through one that the user has open (`ControlMaster`).

Its own comes first, since a shared connection that has died would delay every attempt. The shared
one is for hosts that ask for a password or a code, which the user has entered in a terminal.
"""


class _Meaning(NamedTuple):
    """What an error of `ssh` means.

    Attributes:
        pattern: what its words contain.
        sentence: what happened and what to do, with `{host}`.
        status: the HTTP status of the same meaning, if the next attempt would end alike; else 0.
        is_refused: whether the machine asks for a login.
    """

    pattern: str
    sentence: str
    status: int = 0
    is_refused: bool = False


_MEANINGS = (
    _Meaning(
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "the host key of {host} has changed. If its owner says so, remove the old key with "
        "`ssh-keygen -R {host}` and accept the new one with `ssh {host}`; otherwise someone may "
        "be intercepting the connection",
        FORBIDDEN,
    ),
    _Meaning(
        r"Host key verification failed|No \S+ host key is known",
        "the host key of {host} is not known here: run `ssh {host}` once, and accept it",
        FORBIDDEN,
    ),
    _Meaning(
        r"Permission denied|Too many authentication failures",
        "{host} does not let you in without a password: `ssh {host}` has to work without a "
        "question, by a key in ssh-agent or one without a passphrase, or through a connection that "
        "you have open (ControlMaster)",
        FORBIDDEN,
        is_refused=True,
    ),
    _Meaning(
        r"administratively prohibited",
        "{host} forbids connections through ssh (AllowTcpForwarding in its sshd_config)",
        FORBIDDEN,
    ),
    _Meaning(
        r"Bad configuration option|Bad owner or permissions",
        "ssh cannot read its configuration here: `ssh {host}` says why",
        BAD_REQUEST,
    ),
    _Meaning(
        r"open failed: connect failed|stdio forwarding failed",
        "ssh reaches {host}, but nothing listens at that address there: start the gateway",
    ),
    _Meaning(
        r"Could not resolve hostname|Name or service not known|nodename nor servname",
        "the name {host} cannot be resolved: check it, and the network",
    ),
    _Meaning(r"Connection refused", "{host} refuses ssh connections: check that sshd runs there"),
    _Meaning(
        r"timed out|No route to host|Network is unreachable|Network is down|not responding",
        "{host} cannot be reached: check that it is on, and the network",
    ),
)

_OWN_LINES = re.compile(
    r"^(?:Warning: Permanently added|\*\* WARNING|\*\* This session|\*\* The s)"
)


class SshError(OSError):
    """`ssh` has failed; the text says why and what to do, without a full stop.

    Attributes:
        status: the HTTP status of the same meaning, if another attempt would end alike; else 0.
        is_refused: whether the machine asks for a login.
    """

    def __init__(self, text: str, status: int = 0, *, is_refused: bool = False) -> None:
        super().__init__(text)
        self.status: int = status
        self.is_refused: bool = is_refused


def is_host(text: str) -> bool:
    """Return whether a text can be a host: one word that cannot be taken for an option."""
    return bool(text) and text[0] != "-" and text.isprintable() and not re.search(r"\s", text)


def command(host: str, *options: str, way: str = OWN, script: str = "") -> list[str]:
    """Return the command line.

    Args:
        host: The machine, as `ssh` takes it: a name, USER@NAME, or a `Host` of its configuration.
        way: `OWN` or `SHARED`.
        options: More options of `ssh`.
        script: What to run there, in the user's own shell; empty for none.
    """
    settings = [word for option in (*_OPTIONS, way) for word in ("-o", option)]
    return ["ssh", "-T", *settings, *options, "--", host, *([script] if script else [])]


def error_of(host: str, output: str, status: int | None) -> SshError:
    """Return what `ssh` meant.

    Args:
        host: The machine.
        output: What it wrote on stderr.
        status: Its exit status, if it has one.
    """
    shown = shlex.quote(host)
    for each in _MEANINGS:
        if re.search(each.pattern, output):
            sentence = each.sentence.format(host=shown)
            return SshError(sentence, each.status, is_refused=each.is_refused)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    own = [line for line in lines if not _OWN_LINES.match(line)]
    how = own[-1] if own else f"it ended with status {status}" if status else "it ended"
    return SshError(f"ssh to {shown} failed: {how}")


FOLDER_EXPECTS = (
    "a whole path there, such as /home/me/src, or HERE=THERE, such as /Users/me=/home/me"
)
_FILE_URL = b"file:"
_OWN_MACHINE = ("fs", "terminal")
"""Capabilities with which an agent works on the editor's machine."""


class FolderMap(msgspec.Struct, frozen=True):
    """Folders here, and those that stand for them on the other machine.

    Attributes:
        here: the folder here; empty for any.
        there: the folder there; empty if paths are the same on both machines.
    """

    here: str = ""
    there: str = ""

    @classmethod
    def read(cls, text: str) -> FolderMap | None:
        """Return what `--folder` means: `THERE`, or `HERE=THERE`; `None` if it cannot be used."""
        here, separator, there = text.rpartition("=")
        is_relative = separator and not posixpath.isabs(here) and not ntpath.isabs(here)
        if is_relative or not posixpath.isabs(there):
            return None
        return cls(here.rstrip("/\\") or here, there.rstrip("/") or there)

    def folder(self, path: str) -> str:
        """Return the folder there for a session's folder here."""
        if not self.there:
            return path
        return self.there if not self.here else self.path(path)

    def path(self, path: str) -> str:
        """Return the path there of a file here; one outside the folder stays as it is."""
        if not self.here or not self.there:
            return path
        rules = ntpath if "\\" in self.here else posixpath
        here, normal = rules.normcase(self.here), rules.normcase(rules.normpath(path))
        if normal == here:
            return self.there
        if not normal.startswith(here.rstrip(rules.sep) + rules.sep):
            return path
        rest = rules.normpath(path)[len(here.rstrip(rules.sep)) + 1 :]
        return posixpath.join(self.there, *rest.split(rules.sep))

    def url(self, text: str) -> str:
        """Return the `file:` URL there of a file here."""
        parts = urlsplit(text)
        if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
            return text
        path = unquote(parts.path)
        moved = self.path(path[1:] if "\\" in self.here else path)
        if moved == path:
            return text
        return parts._replace(path=quote(moved)).geturl()


class Elsewhere:
    """Another machine, and the changes for it in one editor's messages."""

    def __init__(self, host: str, folders: FolderMap) -> None:
        """Begin.

        Args:
            host: The machine to go through with `ssh`; empty to connect from here.
            folders: Folders here and there.
        """
        self.host: str = host
        self._folders = folders
        self.left_out: list[str] = []
        """MCP servers that were left out since the last look: they are commands of this machine."""

    def changed(self, line: bytes) -> bytes:
        """Return the editor's message for the other machine."""
        frame = jsonrpc.decode(line)
        method = frame.message.method if isinstance(frame, jsonrpc.Frame) else None
        if method == acp.INITIALIZE:
            return self._with(
                line,
                "clientCapabilities",
                lambda raw: {
                    name: each
                    for name, each in raw_members(raw).items()
                    if name not in _OWN_MACHINE
                },
            )
        if method == acp.PROMPT:
            return self._with(line, "prompt", self._blocks) if _FILE_URL in line else line
        if method is None or not method.startswith("session/"):
            return line
        folders, decode = self._folders, msgspec.json.decode
        line = self._with(line, "cwd", lambda raw: folders.folder(decode(raw, type=str)))
        line = self._with(
            line,
            "additionalDirectories",
            lambda raw: [folders.path(each) for each in decode(raw, type=list[str])],
        )
        return self._with(line, "mcpServers", self._servers)

    def _with(self, line: bytes, name: str, change: Callable[[Raw], object]) -> bytes:
        """Return the line with a changed parameter, byte for byte the same if it has none."""
        if f'"{name}"'.encode() not in line:
            return line
        try:
            members = msgspec.json.decode(line, type=dict[str, Raw])
            params = raw_members(members.get("params"))
            if name not in params:
                return line
            params[name] = Raw(msgspec.json.encode(change(params[name])))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return line  # the agent reports what is wrong with it
        members["params"] = Raw(msgspec.json.encode(params))
        return msgspec.json.encode(members)

    def _servers(self, raw: Raw) -> object:
        remaining = []
        for server in msgspec.json.decode(raw, type=list[Raw]):
            members = raw_members(server)
            if "command" in members:
                name = jsonrpc.loads(members.get("name", Raw(b'""')))
                self.left_out.append(name if isinstance(name, str) else "")
            else:
                remaining.append(server)
        return remaining

    def _blocks(self, raw: Raw) -> object:
        blocks = []
        for each in msgspec.json.decode(raw, type=list[Raw]):
            block = raw_members(each)
            if "resource" in block:
                moved = self._moved(raw_members(block["resource"]))
                block["resource"] = Raw(msgspec.json.encode(moved))
            blocks.append(self._moved(block))
        return blocks

    def _moved(self, block: dict[str, Raw]) -> dict[str, Raw]:
        if "uri" in block:
            url = msgspec.json.decode(block["uri"], type=str)
            block["uri"] = Raw(msgspec.json.encode(self._folders.url(url)))
        return block
