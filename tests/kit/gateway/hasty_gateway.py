"""`lastword gateway` that waits a second where it waits a minute, for tests of those waits."""

from __future__ import annotations

import sys

from lastword.cli import main
from lastword.gateway.front import abortable
from lastword.gateway.front import socket as viewer_socket

if __name__ == "__main__":
    viewer_socket.STALL_SECONDS = viewer_socket.INITIALIZE_SECONDS = 1.0
    abortable.STALL_SECONDS = abortable.REQUEST_SECONDS = 1.0
    sys.exit(main(["gateway", *sys.argv[1:]]))
