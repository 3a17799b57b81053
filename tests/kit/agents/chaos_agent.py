"""An agent that is quick to start and dies in the way that a prompt names: `python -I -S` and this.

Owns one process's part of `tests.long.chaos`: sessions that can be loaded again, turns that stream
and stay open, and the deaths. It starts some thousand times in a run, so it imports nothing that
is not loaded anyway, and picks the few members that it needs out of a line without decoding it.
"""

import os
import signal
import sys

FLOOD_BYTES = 1_000_000
STREAMED_UPDATES = 20


def member(line: bytes, name: bytes) -> bytes:
    """A member's value as JSON text; a text's without its quotes. What is sent here has no more."""
    at = line.find(b'"' + name + b'"')
    if at < 0:
        return b""
    rest = line[line.index(b":", at) + 1 :].lstrip()
    if rest.startswith(b'"'):
        return rest[1 : rest.index(b'"', 1)]
    return rest.split(b",")[0].split(b"}")[0].strip()


def write(data: bytes, fd: int = 1) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def answer(request_id: bytes, result: bytes) -> None:
    write(b'{"jsonrpc":"2.0","id":%s,"result":%s}\n' % (request_id, result))


def chunk(session: bytes, number: int) -> bytes:
    content = b'{"type":"text","text":"part %d "}' % number
    update = b'{"sessionUpdate":"agent_message_chunk","content":%s}' % content
    params = b'{"sessionId":"%s","update":%s}' % (session, update)
    return b'{"jsonrpc":"2.0","method":"session/update","params":%s}\n' % params


def stream(session: bytes, count: int) -> None:
    for number in range(count):
        write(chunk(session, number))


def die(number: int) -> None:
    os.kill(os.getpid(), number)
    signal.pause()


def leave_a_child(*, stubborn: bool = False) -> None:
    """A child that holds our pipes, and if it is stubborn also its ground."""
    told, tell = os.pipe()
    if os.fork() == 0:
        if stubborn:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(tell, b"x")
        while True:
            signal.pause()
    os.read(told, 1)


def fail(how: bytes) -> None:
    if how == b"exit_1":
        os._exit(1)
    elif how == b"sigsegv":
        die(signal.SIGSEGV)
    elif how == b"traceback":
        write(b'Traceback (most recent call last):\n  File "agent.py", line 1\n', 2)
        write(b"ValueError: the model said something odd\n", 2)
        os._exit(1)
    elif how == b"mid_frame":
        write(b'{"jsonrpc":"2.0","method":"session/upd')
        die(signal.SIGKILL)
    elif how == b"stderr_flood":
        write((b"retrying: 429 Too Many Requests".ljust(79) + b"\n") * (FLOOD_BYTES // 80), 2)
        os._exit(1)
    elif how == b"closes_stdout":
        os.close(1)
        while sys.stdin.buffer.readline():
            pass
        os._exit(0)
    elif how in {b"grandchild", b"stubborn_grandchild"}:
        leave_a_child(stubborn=how == b"stubborn_grandchild")
        die(signal.SIGKILL)
    elif how == b"exit_0_with_worker":
        leave_a_child()
        os._exit(0)
    elif how == b"exit_0":
        os._exit(0)
    else:
        die(signal.SIGKILL)


def prompt(line: bytes, request_id: bytes) -> None:
    session, words = member(line, b"sessionId"), member(line, b"text").split()
    if words[0] == b"stream":
        stream(session, STREAMED_UPDATES)
        return
    stream(session, 2)
    if words[0] == b"die":
        fail(words[1])
    answer(request_id, b'{"stopReason":"end_turn"}')
    if words[0] == b"answer_and_die":
        fail(words[1])


def main() -> None:
    sessions = 0
    for line in sys.stdin.buffer:
        method, request_id = member(line, b"method"), member(line, b"id")
        if not request_id:
            continue
        if b'"id":"' in line or b'"id": "' in line:
            request_id = b'"' + request_id + b'"'
        if method == b"initialize":
            info = b'{"name":"chaos","version":"1"}'
            able = b'{"loadSession":true}'
            result = b'{"protocolVersion":1,"agentInfo":%s,"agentCapabilities":%s}' % (info, able)
            answer(request_id, result)
        elif method == b"session/new":
            sessions += 1
            answer(request_id, b'{"sessionId":"s%d"}' % sessions)
        elif method == b"session/load":
            stream(member(line, b"sessionId"), 3)
            answer(request_id, b"null")
        elif method == b"session/prompt":
            prompt(line, request_id)


if __name__ == "__main__":
    main()
