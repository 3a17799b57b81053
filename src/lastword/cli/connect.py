"""`lastword connect`: a session behind a gateway, for an editor that starts a command.

Owns the command line, its error messages, and the exit status: 0 once the editor has closed its
end, 2 if the command cannot be started as it was asked.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from lastword.cli.config.errors import ConfigError
from lastword.cli.config.user_file import use
from lastword.cli.parser import CommandParser
from lastword.core.link.option_table import BY_KEY
from lastword.errors import missing_extra

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

TOKEN_VARIABLE = "LASTWORD_GATEWAY_TOKEN"  # noqa: S105 - a variable's name

ABOUT = """\
Speaks ACP on stdin and stdout for a session that runs behind a gateway, and
hides every drop of the link from the editor, which starts it in place of the
agent. The session outlives the editor.

Needs `pip install 'lastword[gateway]'`.
"""

ENDS = """\
The token is read from --token, from --token-file, which is read again at each
attempt, or from LASTWORD_GATEWAY_TOKEN. `lastword gateway token` prints one.

examples:
  lastword connect http://127.0.0.1:7780
  lastword connect --token-file ~/.gateway-token https://gateway.example
  lastword connect --session s-42 http://127.0.0.1:7780

exit status: 0 once the editor has closed its end, 2 for arguments that cannot
be used.
"""


def parser() -> CommandParser:
    """Return the parser."""
    made = CommandParser("connect", usage="[options] URL", about=ABOUT, ends=ENDS)
    made.add_argument(
        "url",
        nargs="?",
        default="",
        metavar="URL",
        help="of the gateway, such as http://127.0.0.1:7780 or https://host/team/ (default: url "
        "in [connect] of the configuration file)",
    )
    made.add_argument(
        "--session",
        default="",
        metavar="ID",
        help="go on with this session where the editor asks for a new one (default: a new one)",
    )
    made.add_argument(
        "--token",
        default="",
        metavar="TOKEN",
        help="the token; other users of this machine can see it in `ps` (default: none)",
    )
    made.add_argument(
        "--token-file", default="", metavar="FILE", help="the file with the token (default: none)"
    )
    made.add_argument(
        "--insecure",
        action="store_true",
        help="send the token to another machine without TLS, in a network that is encrypted itself",
    )
    for key in ("config", "no_config"):
        option = BY_KEY[key]
        if option.kind == "flag":
            made.add_argument(f"--{option.name}", action="store_true", help=option.about)
        else:
            made.add_argument(
                f"--{option.name}",
                metavar="FILE",
                help=f"{option.about} (default: ~/.config/lastword/config.toml)",
            )
    return made


_TOKEN = ("token", "token-file")
"""Where the token is, is said once: by the command line, the environment or the file."""


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line, and the file for what it leaves open.

    Raises:
        ConfigError: The file cannot be used.
    """
    made = parser()
    options = made.read(arguments)
    files = use(arguments, "connect")
    words = files.words("connect", arguments) if files is not None else []
    if options.token or options.token_file or os.environ.get(TOKEN_VARIABLE):
        words = [word for word in words if word[2:].partition("=")[0] not in _TOKEN]
    url = next((word for word in words if word.startswith("--url=")), "").partition("=")[2]
    options = made.read([*(word for word in words if not word.startswith("--url=")), *arguments])
    options.url = options.url or url
    if not options.url:
        made.error("the following arguments are required: URL")
    return options


def main(arguments: Sequence[str]) -> int:
    """Serve an editor; return the exit status."""
    try:
        options = _read(arguments)
    except ConfigError as error:
        return _complain(str(error))
    try:
        from lastword.gateway.connecting import dial  # noqa: PLC0415
        from lastword.gateway.connecting.shell import ConnectShell  # noqa: PLC0415
    except ImportError as error:
        told = missing_extra("lastword connect", "gateway", error)
        if told is error:
            raise
        return _complain(str(told))
    from lastword.gateway.connecting.core import Connector  # noqa: PLC0415
    from lastword.gateway.connecting.status_line import StatusLine  # noqa: PLC0415

    try:
        url = dial.address(options.url, insecure=options.insecure)
        tokens = dial.token_source(options.token, options.token_file, os.environ)
    except dial.AddressError as error:
        return _complain(str(error))
    connector = Connector(session=options.session)
    status = StatusLine(sys.stderr)
    asyncio.run(ConnectShell(connector, url, tokens, status).run())
    status.close()
    for session_id in connector.session_ids:
        status.say(
            f"session {session_id} stays on the gateway; --session {session_id} continues it"
        )
    return 0


def _complain(said: str) -> int:
    sys.stderr.write(f"lastword: {said}\n")
    return 2
