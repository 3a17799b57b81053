"""An editor whose agent works on another machine, in that machine's folders and files.

Owns what is changed in the editor's messages for it: the folders and the files that they name, and
what the agent may ask of the editor. Nothing that the agent says is changed.
"""

from __future__ import annotations

import ntpath
import posixpath
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

import msgspec
from msgspec import Raw

from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import raw_members

if TYPE_CHECKING:
    from collections.abc import Callable

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
        if (separator and not _is_absolute(here)) or not posixpath.isabs(there):
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
            return self._with(line, "clientCapabilities", self._capabilities)
        if method == acp.PROMPT:
            return self._with(line, "prompt", self._blocks) if _FILE_URL in line else line
        if method is None or not method.startswith("session/"):
            return line
        line = self._with(line, "cwd", self._cwd)
        line = self._with(line, "additionalDirectories", self._folders_of)
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
            return line  # the agent says what is wrong with it
        members["params"] = Raw(msgspec.json.encode(params))
        return msgspec.json.encode(members)

    def _capabilities(self, raw: Raw) -> object:
        return {name: raw for name, raw in raw_members(raw).items() if name not in _OWN_MACHINE}

    def _cwd(self, raw: Raw) -> object:
        return self._folders.folder(msgspec.json.decode(raw, type=str))

    def _folders_of(self, raw: Raw) -> object:
        return [self._folders.path(each) for each in msgspec.json.decode(raw, type=list[str])]

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
        return [self._block(block) for block in msgspec.json.decode(raw, type=list[Raw])]

    def _block(self, raw: Raw) -> object:
        block = raw_members(raw)
        if "resource" in block:
            block["resource"] = Raw(msgspec.json.encode(self._moved(block["resource"])))
        return self._moved(block)

    def _moved(self, block: Raw | dict[str, Raw]) -> dict[str, Raw]:
        members = block if isinstance(block, dict) else raw_members(block)
        if "uri" in members:
            url = msgspec.json.decode(members["uri"], type=str)
            members["uri"] = Raw(msgspec.json.encode(self._folders.url(url)))
        return members


def _is_absolute(path: str) -> bool:
    return posixpath.isabs(path) or ntpath.isabs(path)
