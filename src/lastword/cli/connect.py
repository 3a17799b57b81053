"""`lastword connect`: a session behind a gateway, for an editor that starts a command.

Owns the command line, its error messages, and the exit status: 0 once the editor has closed its
end, 2 if the command cannot be started as it was asked.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from lastword.cli.parser import CommandParser
from lastword.errors import missing_extra

if TYPE_CHECKING:
    from collections.abc import Sequence


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
        metavar="URL",
        help="of the gateway, such as http://127.0.0.1:7780 or https://host/team/",
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
    return made


def main(arguments: Sequence[str]) -> int:
    """Serve an editor; return the exit status."""
    options = parser().read(arguments)
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
