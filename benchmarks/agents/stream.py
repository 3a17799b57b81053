"""An agent whose turn streams a file of frames, floods stderr, or hangs until it is killed.

Run as ``python -I -S stream.py COMMAND``, where COMMAND is one of ``bulk FILE``, ``frame FILE``,
``flood MEGABYTES``, ``quiet`` and ``hang [grandchild]``.
Every other request gets an empty result, so that ``hang`` also serves ping-pong; and a prompt that
says `GO_ON` ends at once and names the process, so that the next one can be killed in its turn.
It is not the kit's agent, and loads nothing of lastword: its own start is a part of every start-up,
crash and restart that is measured, and what it writes is not to wait for a lock or an encoder.
"""

import json
import os
import sys
import time

SESSION = "sess_01hv5m2c9dq8w0"
BLOCK = 1 << 20
STAMP_EVERY_SECONDS = 0.002
GO_ON = "Go on."


def send(message: dict[str, object]) -> None:
    """Write one frame."""
    write_all(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n")


def write_all(data: bytes | memoryview) -> None:
    """Write `data`, however many calls that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def chunk(text: str) -> None:
    """Send one piece of the agent's message."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send({"method": "session/update", "params": {"sessionId": SESSION, "update": update}})


def flood(megabytes: int) -> None:
    """Fill stderr from a child while this process stamps a frame with the clock now and then."""
    child = os.fork()
    if child == 0:
        block = (b"retrying: 429 Too Many Requests, attempt 3 of 6".ljust(79) + b"\n") * 819
        left = megabytes * 1_000_000
        while left > 0:
            left -= os.write(2, block)
        os._exit(0)
    number = 0
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        stamp(number)
        number += 1


def stamp(number: int) -> None:
    """Send a frame with a number and the clock in it, and wait a little."""
    chunk(f"{number}@{time.monotonic_ns()}")
    time.sleep(STAMP_EVERY_SECONDS)


def prompt(command: str, argument: str) -> bool:
    """Do what this agent's turn does; True if the turn ends by itself."""
    if command == "bulk":
        for start in range(0, len(DATA), BLOCK):
            write_all(DATA[start : start + BLOCK])
    elif command == "frame":
        write = os.write
        for line in LINES:
            if write(1, line) != len(line):
                raise SystemExit("short write")
    elif command == "flood":
        flood(int(argument))
    elif command == "quiet":
        for number in range(300):
            stamp(number)
    else:
        for number in range(3):
            chunk(f"Looking at part {number} of the question.")
        return False
    return True


def main(command: str, argument: str) -> None:
    """Answer requests until stdin ends."""
    grandchild = 0
    if argument == "grandchild":
        grandchild = os.fork()
        if grandchild == 0:  # holds stdout open, for a bounded time, and does nothing else
            time.sleep(30)
            os._exit(0)
    meta = {"pid": os.getpid(), "grandchild": grandchild}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        result: dict[str, object] = {}
        if request["method"] == "initialize":
            result = {
                "protocolVersion": 1,
                "agentCapabilities": {"loadSession": True},
                "agentInfo": {"name": "benchmark", "version": "1"},
                "authMethods": [],
                "_meta": meta,
            }
        elif request["method"] == "session/new":
            result = {"sessionId": SESSION}
        elif request["method"] == "session/prompt":
            text = request["params"]["prompt"][0]["text"]
            if text == GO_ON:
                chunk(f"pid {os.getpid()}")
            elif not prompt(command, argument):
                continue
            result = {"stopReason": "end_turn"}
        send({"id": request["id"], "result": result})


if __name__ == "__main__":
    COMMAND, ARGUMENT = [*sys.argv[1:], ""][:2]
    if COMMAND in {"bulk", "frame"}:
        with open(ARGUMENT, "rb") as file:
            CONTENT = file.read()
        DATA = memoryview(CONTENT)
        LINES = CONTENT.splitlines(keepends=True) if COMMAND == "frame" else []
        del CONTENT
    main(COMMAND, ARGUMENT)
