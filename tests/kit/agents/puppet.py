"""`puppet SOCKET`: an agent that hands its three streams to a test, and dies as it is told to."""

from __future__ import annotations

import os
import socket
import sys


def main() -> None:
    link = socket.socket(socket.AF_UNIX)
    link.connect(sys.argv[1])
    socket.send_fds(link, [b"%d" % os.getpid()], [0, 1, 2])
    while order := link.recv(100).split():
        if order[0] == b"close":
            os.close(1)
        elif order[0] == b"exit":
            os._exit(int(order[1]))
        else:
            os.kill(os.getpid(), int(order[1]))


main()
