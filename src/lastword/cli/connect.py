"""`lastword connect`: a session behind a gateway, for an editor that starts a command.

Owns where the values come from, and the exit status: 0 when the editor closes its
end, 2 for invalid arguments.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from lastword.cli.config.discovery import ConfigError
from lastword.cli.config.user_file import use
from lastword.cli.connect_parser import TOKEN_VARIABLE, parser
from lastword.cli.words import refuse
from lastword.errors import missing_extra
from lastword.gateway.connecting import ssh
from lastword.gateway.connecting.status_line import StatusLine

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

DEFAULT_URL = "http://127.0.0.1:7780"
AT_A_TERMINAL = (
    "lastword connect: reading ACP messages from stdin; it connects to {url} at the first message. "
    "An editor normally starts this command. Press Ctrl-D to stop it.\n"
)

_TOKEN = ("token", "token-file")
"""Options whose value in the file counts only if the command line and the environment have no
token."""


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    made = parser()
    options = made.read(arguments)
    files = use(arguments, "connect")
    words = files.words("connect", arguments) if files is not None else []
    if options.token or options.token_file or os.environ.get(TOKEN_VARIABLE):
        words = [word for word in words if word[2:].partition("=")[0] not in _TOKEN]
    url = next((word for word in words if word.startswith("--url=")), "").partition("=")[2]
    options = made.read([*(word for word in words if not word.startswith("--url=")), *arguments])
    if options.url is None:
        options.url = url or None
    for name in ("ssh", "folder", "session", "token", "token_file"):
        value = getattr(options, name)
        if value == "":  # perhaps an unset variable; much would differ without the option
            made.error(f"--{name.replace('_', '-')} is empty: give it a value, or leave it out")
        setattr(options, name, value or "")
    if options.url is None and options.ssh:
        options.url = DEFAULT_URL
    if options.url is None:
        made.error("the following arguments are required: URL")
    return options


def main(arguments: Sequence[str]) -> int:
    """Serve an editor; return the exit status."""
    try:
        options = _read(arguments)
    except ConfigError as error:
        return refuse("", error)
    try:
        from lastword.gateway.connecting import dial  # noqa: PLC0415
        from lastword.gateway.connecting.shell import ConnectShell  # noqa: PLC0415
    except ImportError as error:
        problem = missing_extra("lastword connect", "gateway", error)
        if problem is error:
            raise
        return refuse("", problem)
    from lastword.gateway.connecting.core import Connector  # noqa: PLC0415

    if options.ssh and sys.platform == "win32":
        return refuse("", ssh.ON_WINDOWS)
    if options.ssh and not ssh.is_host(options.ssh):
        return refuse("", f"--ssh cannot be {options.ssh!r}: it takes {ssh.HOST_EXPECTS}")
    elsewhere: ssh.Elsewhere | None = None
    if options.ssh or options.folder:
        folders = ssh.FolderMap.read(options.folder) if options.folder else ssh.FolderMap()
        if folders is None:
            expected = f"it takes {ssh.FOLDER_EXPECTS}"
            return refuse("", f"--folder cannot be {options.folder!r}: {expected}")
        elsewhere = ssh.Elsewhere(options.ssh, folders)
    try:
        url = dial.address(options.url, insecure=options.insecure)
        tokens = dial.token_source(options.token, options.token_file, os.environ)
    except dial.AddressError as error:
        return refuse("", error)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(AT_A_TERMINAL.format(url=options.url))
    connector = Connector(session=options.session)
    status = StatusLine(2)
    shell = ConnectShell(connector, url, tokens, status, elsewhere=elsewhere)
    asyncio.run(shell.run())
    status.close(
        f"session {session_id} stays on the gateway; --session {session_id} continues it"
        for session_id in connector.session_ids
    )
    return 0
