"""`lastword connect`: a session behind a gateway, for an editor that starts a command.

Owns the command line, what is wrong with it, and the exit status: 0 once the editor has closed its
end, 2 where there is nothing to begin with.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from typing import TYPE_CHECKING

from lastword.errors import missing_extra

if TYPE_CHECKING:
    from collections.abc import Sequence


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="lastword connect",
        description="Speaks ACP on stdin and stdout for a session that runs behind a gateway, and "
        "hides every drop of the link from the editor.",
        epilog="The token is read from --token, --token-file or LASTWORD_GATEWAY_TOKEN; a file is "
        "read anew at each attempt. The session outlives the editor.",
        allow_abbrev=False,
    )
    made.add_argument("url", metavar="URL", help="of the gateway, as http://127.0.0.1:7780/acp")
    made.add_argument(
        "--session", default="", metavar="ID", help="the editor's first new session is this one"
    )
    made.add_argument("--token", default="", metavar="TOKEN", help="others can see it in `ps`")
    made.add_argument("--token-file", default="", metavar="FILE", help="where the token is")
    made.add_argument(
        "--insecure",
        action="store_true",
        help="send the token in clear to a host that is not this one",
    )
    return made


def main(arguments: Sequence[str]) -> int:
    """Serve an editor; gives the exit status."""
    options = parser().parse_args(list(arguments))
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
        status.say(f"session {session_id} stays on the gateway; --session {session_id} goes on")
    return 0


def _complain(said: str) -> int:
    sys.stderr.write(f"lastword: {said}\n")
    return 2
