"""A pipe in front of an agent that keeps every byte.

Owns: relaying stdin and stdout of the command after `--` unchanged, with a copy of each direction
in PREFIX.in (towards the agent) and PREFIX.out (from it). Does not own: framing, signals, stderr.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

READ_BYTES = 64 * 1024


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def copy(source: int, sink: int, log_path: str) -> None:
    """Relay until the end of the source, logging before passing on; then close the sink."""
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        while chunk := os.read(source, READ_BYTES):
            write_all(log, chunk)
            write_all(sink, chunk)
    except OSError:
        pass
    finally:
        os.close(log)
        os.close(sink)


def main() -> None:
    """Run the command between two copies, and end as it ends."""
    at = sys.argv.index("--")
    prefix, command = sys.argv[1], sys.argv[at + 1 :]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    inward = (0, os.dup(child.stdin.fileno()), f"{prefix}.in")
    child.stdin.close()
    outward = threading.Thread(target=copy, args=(child.stdout.fileno(), 1, f"{prefix}.out"))
    threading.Thread(target=copy, args=inward, daemon=True).start()
    outward.start()
    status = child.wait()
    outward.join(timeout=2)
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
