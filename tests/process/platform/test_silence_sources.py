"""Connections and processes as Linux has them, each made here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest

from lastword.platform.process_tree import read_tcp_sockets, read_tree

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="Linux has it")


@linux_only
def test_a_connection_of_this_process_is_listed_with_its_counters() -> None:
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            server = socket.create_server((host, 0), family=family)
        except OSError:
            continue
        with server, socket.create_connection(server.getsockname()[:2]) as near:
            far, _ = server.accept()
            began = time.monotonic()
            near.sendall(b"x" * 5000)
            while len(far.recv(65_536, socket.MSG_PEEK)) < 5000:
                pass
            inode = os.fstat(near.fileno()).st_ino
            (tcp,) = [each for each in read_tcp_sockets() if each.inode == inode]
            far.close()
        assert (tcp.sent_bytes, tcp.received_bytes, tcp.loopback) == (5000, 0, True)
        assert tcp.sent_ago <= time.monotonic() - began + 1


@linux_only
def test_descendants_follow_their_parents() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            (found,) = [process for process in read_tree(os.getpid()) if process.pid == child.pid]
            assert found.parent == os.getpid()
        finally:
            child.kill()
