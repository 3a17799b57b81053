"""`lastword gateway` that waits a second where it waits a minute, for tests of those waits."""

from __future__ import annotations

import sys

from lastword.cli import main
from lastword.gateway.front import abortable
from lastword.gateway.front import socket as viewer_socket
from lastword.gateway.viewing import slow_viewers

if __name__ == "__main__":
    slow_viewers.STALL_SECONDS = 1.0
    viewer_socket.INITIALIZE_SECONDS = abortable.REQUEST_SECONDS = 1.0
    sys.exit(main(["gateway", *sys.argv[1:]]))
