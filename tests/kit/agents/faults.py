"""Agents that misbehave in one way each: what the process, its streams or its turns do wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from traceback import print_exc

from lastword.kit.agent.plain import die, hang, start_child, write_all
from tests.kit.agents.acp_agent import (
    AT_PROMPT,
    CANCEL,
    GO,
    SESSION,
    Agent,
    at_prompt,
    at_start,
    ignore,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


@at_start
def healthy(_agent: Agent) -> None:
    """Does everything right."""


# --- turns that are a text, if any, and then what is here

HALF, WHOLE = "Half an answer.", "Here is the answer."
FAILED = {"code": -32603, "message": "503 Service Unavailable"}
LIMITED = {"statusCode": 429, "responseHeaders": {"retry-after": "20"}}
ENDED = {"stopReason": "end_turn"}
SHOWN: dict[str, tuple[str, Callable[[Agent, object], object]]] = {
    "exits-0": (HALF, lambda *_: os._exit(0)),
    "exits-3": ("", lambda *_: os._exit(3)),
    "kills-itself": ("", lambda *_: die(signal.SIGKILL)),
    "closes-stdout": (HALF, lambda *_: (os.close(1), hang())),
    "closes-stdin": (HALF, lambda *_: (os.close(0), hang())),
    "stops-reading": (HALF, lambda *_: hang()),
    # These confirm a cancel.
    "silence": ("", ignore),
    "silence-after-text": (HALF, ignore),
    "silent-success": ("", lambda agent, prompt: agent.end_turn(prompt)),
    "unknown-stop-reason": (HALF, lambda agent, prompt: agent.end_turn(prompt, "exploded")),
    "null-result": (HALF, lambda agent, prompt: agent.answer(prompt, result=None)),
    "id-as-text": (WHOLE, lambda agent, prompt: agent.wire.frame(id=str(prompt), result=ENDED)),
    "id-null": ("", lambda agent, _: agent.wire.frame(id=None, error=FAILED)),
    "foreign-id": (HALF, lambda agent, _: agent.wire.frame(id=987654, result=ENDED)),
    "twice": (WHOLE, lambda agent, prompt: _answer(agent, prompt, ENDED, FAILED, ENDED)),
    "error-twice": ("", lambda agent, prompt: _answer(agent, prompt, FAILED, ENDED, FAILED)),
    "http-429": (
        "",
        lambda agent, prompt: agent.answer(
            prompt, error={"code": -32603, "message": "429 Too Many Requests", "data": LIMITED}
        ),
    ),
    "string-code": (
        "",
        lambda agent, prompt: agent.answer(
            prompt, error={"code": "ECONNRESET", "message": "read ECONNRESET"}
        ),
    ),
    "no-message": ("", lambda agent, prompt: agent.answer(prompt, error={"code": -32603})),
}


def _answer(agent: Agent, prompt: object, *answers: dict[str, object]) -> None:
    for answer in answers:
        agent.answer(prompt, **{"error" if "code" in answer else "result": answer})


def _shown(text: str, then: Callable[[Agent, object], object]) -> Callable[[Agent, object], None]:
    def mode(agent: Agent, prompt: object) -> None:
        if text:
            agent.say(text)
        then(agent, prompt)

    return mode


AT_PROMPT |= {name: _shown(text, then) for name, (text, then) in SHOWN.items()}


@at_prompt
def error_after_text(agent: Agent, prompt: object) -> None:
    """Shows some text and a tool call, then answers with an error."""
    agent.say("I begin.")
    agent.update("tool_call", toolCallId="t1", title="edit", kind="edit", status="in_progress")
    agent.answer(prompt, error={"code": -32603, "message": "socket hang up"})


@at_prompt
def answer_on_go(agent: Agent, prompt: object) -> None:
    """Shows some text, waits to be told, then ends the turn well."""
    agent.say("I begin.")
    agent.notifications[GO] = lambda _params: agent.serve(prompt)


@at_prompt
def runaway(agent: Agent, _prompt: object) -> None:
    """Repeats one sentence for ever (200 times), and confirms a cancel."""
    for _ in range(200):
        agent.say("Let me look at that file once more.")


# --- asks, answers and tells too late, twice, or in the wrong order


@at_prompt
def permission(agent: Agent, prompt: object) -> None:
    """Asks for a permission, and ends the turn well when it has it."""
    option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
    call = {"toolCallId": "t1"}
    asked = agent.ask("session/request_permission", toolCall=call, options=[option])
    agent.read_until(lambda m: "method" not in m and m.get("id") == asked)
    agent.serve(prompt)


@at_start
def ignores_cancel_and_sigterm(agent: Agent) -> None:
    """Shows some text, then nothing more, and reacts neither to a cancel nor to SIGTERM."""
    agent.on_fail = AT_PROMPT["silence-after-text"]
    agent.notifications[CANCEL] = ignore
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


# --- silent for one reason each; the modes' first argument is a port on loopback

REQUEST = b"x" * 40_000


def _connect(agent: Agent) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(agent.arguments[0])))


@at_prompt
def waits_for_provider(agent: Agent, prompt: object) -> None:
    """Sends 40 KB, and ends the turn well once there is an answer."""
    with _connect(agent) as provider:
        provider.sendall(REQUEST)
        agent.say(provider.recv(4096).decode())
    agent.end_turn(prompt)


@at_prompt
def runs_child(_agent: Agent, _prompt: object) -> None:
    """Runs a program that takes long, in a shell, with a secret as its argument."""
    subprocess.run(["sh", "-c", "sleep 600; : sk-secret"], check=False, stdin=subprocess.DEVNULL)


# --- writes the key which it was given where others read it


@at_prompt
def leaks_the_key(agent: Agent, prompt: object) -> None:
    """Answers with an error that holds the key it was given, in message and data."""
    key = os.environ["FOO_API_KEY"]
    data = {"request": {"headers": {"x-test": key}}, "text": f"key={key}"}
    agent.answer(prompt, error={"code": -32603, "message": f"Bad key {key}.", "data": data})


@at_prompt
def leaks_the_key_and_dies(agent: Agent, _prompt: object) -> None:
    """Writes the key that it was given to stderr, and dies."""
    write_all(2, f"Error: provider refused {os.environ['FOO_API_KEY']}\n".encode())
    os._exit(1)


@at_prompt
def floods_with_the_key_and_dies(agent: Agent, _prompt: object) -> None:
    """Writes the key that it was given to stderr some thousand times, and dies."""
    for _ in range(500):
        write_all(2, f"{os.environ['FOO_API_KEY']}\n".encode() * 10)
    os._exit(1)


@at_prompt
def leaks_the_key_and_says_nothing(agent: Agent, prompt: object) -> None:
    """Writes the key that it was given to stderr, and says end_turn with nothing shown."""
    write_all(2, f"401 Unauthorized: {os.environ['FOO_API_KEY']}\n".encode())
    agent.end_turn(prompt)


# --- processes that end, or do not end, when they should not

FRAME = {"jsonrpc": "2.0", "method": "session/update"}


@at_start
def dies_at_once(_agent: Agent) -> None:
    """Exits 3 before it reads anything, with a word on stderr."""
    write_all(2, b"fatal: no model configured\n")
    os._exit(3)


@at_prompt
def segfaults(_agent: Agent, _prompt: object) -> None:
    """Dies of SIGSEGV."""
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    die(signal.SIGSEGV)


@at_prompt
def traceback(agent: Agent, _prompt: object) -> None:
    """Raises: a traceback on stderr, exit status 1."""
    agent.update("tool_call", toolCallId="t1", title="edit", kind="edit", status="in_progress")
    try:
        _read_answer()
    except ValueError:
        print_exc()  # without the kit's frames: tests take those for a traceback of ours
        sys.exit(1)


def _read_answer() -> None:
    raise ValueError("the model's answer makes no sense")


@at_prompt
def dies_in_frame(agent: Agent, _prompt: object) -> None:
    """Dies in the middle of an update."""
    agent.say("Half an answer.")
    agent.wire.write(json.dumps(FRAME).encode()[:-5])
    os._exit(1)


@at_prompt
def dies_in_answer(agent: Agent, prompt: object) -> None:
    """Dies in the middle of its answer."""
    agent.say("Half an answer.")
    agent.wire.write(f'{{"jsonrpc":"2.0","id":{prompt},"result":{{"stopReason":"end_t'.encode())
    os._exit(1)


@at_prompt
def dies_before_newline(agent: Agent, prompt: object) -> None:
    """Dies between a whole answer and its line end."""
    agent.say("Here is the answer.")
    agent.wire.write(
        f'{{"jsonrpc":"2.0","id":{prompt},"result":{{"stopReason":"end_turn"}}}}'.encode()
    )
    os._exit(1)


@at_prompt
def dies_after_answer(agent: Agent, prompt: object) -> None:
    """Answers well and exits 3 at once."""
    agent.serve(prompt)
    os._exit(3)


@at_prompt
def exits_0_after_answer(agent: Agent, prompt: object) -> None:
    """Answers well and exits 0 at once."""
    agent.serve(prompt)
    os._exit(0)


@at_start
def exits_at_end(agent: Agent) -> None:
    """Exits with the status that is its argument when its input ends."""
    agent.exit_status = int(agent.argument)


@at_start
def dies_by_signal_at_end(agent: Agent) -> None:
    """Sends itself the signal that is its argument when its input ends."""
    agent.on_end = lambda agent: os.kill(os.getpid(), int(agent.argument))


@at_prompt
def dies_on_cancel(agent: Agent, _prompt: object) -> None:
    """Shows some text, then nothing; exits 1 when it is cancelled."""
    agent.say("Half an answer.")
    agent.notifications[CANCEL] = lambda _params: os._exit(1)


@at_prompt
def grandchild_holds_stdout(agent: Agent, _prompt: object) -> None:
    """Dies of SIGKILL and leaves a child that keeps its stdout and stderr open."""
    start_child(60)
    agent.say("Half an answer.")
    die(signal.SIGKILL)


@at_prompt
def grandchild_floods_stderr(agent: Agent, _prompt: object) -> None:
    """Exits 1 and leaves children that write to its stderr for ever."""
    _leave("yes >&2 & yes >&2 & yes >&2", stdout=subprocess.DEVNULL)


def _leave(script: str, **streams: int) -> None:
    # In a session of its own, so that it is not ended with the group while it floods; it ends
    # itself when nobody reads any more.
    subprocess.Popen(
        ["sh", "-c", script], stdin=subprocess.DEVNULL, start_new_session=True, **streams
    )
    os._exit(1)


@at_start
def ignores_end(agent: Agent) -> None:
    """Behaves well, but stays when its input ends."""
    agent.on_end = lambda _agent: hang()


@at_start
def stubborn(agent: Agent) -> None:
    """Stays when its input ends and ignores SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ignores_end(agent)


@at_start
def has_child(agent: Agent) -> None:
    """Has a sleeping child in its group; exits 0 after a turn.

    With `daemon`, the child has a session of its own; with `job`, a shell with job control has it.
    """
    if agent.argument == "job":
        subprocess.Popen(["bash", "-c", "set -m; sleep 60 & disown; wait"])
    else:
        start_child(60, apart=agent.argument == "daemon", stdin=None)
    agent.on_fail = exits_0_after_answer


@at_start
def stubborn_with_stubborn_child(agent: Agent) -> None:
    """Ignores end of input and SIGTERM, and has a child that ignores SIGTERM too."""
    stubborn(agent)
    # Inherited over exec: what is ignored stays ignored.
    start_child(60, stdin=None)


@at_start
def cannot_be_woken(agent: Agent) -> None:
    """Stops itself (SIGSTOP) at a prompt that says fail."""
    agent.on_fail = lambda _agent, _prompt: os.kill(os.getpid(), signal.SIGSTOP)


# --- tells


@at_start
def tells(agent: Agent) -> None:
    """Says in each turn what it was started as: arguments, environment, directory, pid, group."""
    agent.on_fail = _tell


def _tell(agent: Agent, prompt: object) -> None:
    facts = {
        "arguments": agent.arguments,
        "environment": dict(os.environ),
        "directory": os.getcwd(),
        "pid": os.getpid(),
        "group": os.getpgid(0),
        "parent": os.getppid(),
        "descriptors": sorted(int(fd) for fd in os.listdir("/dev/fd")),
    }
    agent.say(json.dumps(facts))
    agent.end_turn(prompt)


@at_start
def names_its_pid(_agent: Agent) -> None:
    """No agent: prints its pid, and exits 7."""
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    os._exit(7)


@at_start
def tells_signals(agent: Agent) -> None:
    """Says the name of each signal it gets in a text of its session; exits 5 on INT and TERM."""
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: _say_signal(agent, number))


def _say_signal(agent: Agent, number: int) -> None:
    agent.say(signal.Signals(number).name)
    if number in (signal.SIGINT, signal.SIGTERM):
        os._exit(5)


# --- has several lives, for which it needs a memory


@at_start
def forgets(agent: Agent) -> None:
    """Dies of SIGKILL at a prompt, and does not know its session afterwards."""
    agent.on_fail = _die
    error = {"code": -32602, "message": "unknown session"}
    agent.requests["session/load"] = lambda load, _params: agent.answer(load, error=error)


@at_prompt
def leaves_stubborn_child(agent: Agent, _prompt: object) -> None:
    """Dies of SIGKILL and leaves a child in its group that ignores SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    start_child(60, stdout=subprocess.DEVNULL)
    _die(agent, None)


@at_start
def says_its_life(agent: Agent) -> None:
    """Writes the number of its life to stderr, and dies of SIGKILL at a prompt that says fail."""
    write_all(2, f"life {agent.life}\n".encode())
    agent.on_fail = _die


@at_start
def many_frames_in_first_life(agent: Agent) -> None:
    """Sends 1.5 MB of frames at a prompt and dies of SIGKILL; its later lives are well."""
    if agent.life == 1:
        agent.on_fail = _many_frames


def _many_frames(agent: Agent, _prompt: object) -> None:
    for number in range(1500):
        agent.say(f"{number:08}" + "y" * 900)
    _die(agent, None)


def _die(_agent: Agent, _prompt: object) -> None:
    die(signal.SIGKILL)


# --- the wrong bytes, or too many of them, on stdout or stderr

NOISE = (
    b"Debugger attached.\n",
    b"\x1b[33mwarning\x1b[0m: [not json]\n",
    b"42\n",
    b'"a string"\n',
    b"null\n",
    b"[1, 2, 3]\n",
    b'[{"jsonrpc": "2.0", "method": "session/update"}]\n',
    b"{}\n",
    b'{"no": "message"}\n',
    b"{'jsonrpc': '2.0'}\n",
    b"\n   \n\r\n",
    b"\xff\xfe\x00 no text\n",
    b"[" * 5000 + b"\n",
)


def _chunk(text: bytes) -> bytes:
    """A frame whose text is these very bytes, inside the quotes."""
    head = f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{SESSION}",'
    tail = b'"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'
    return head.encode() + tail + text + b'"}}}}\n'


@at_start
def noise(agent: Agent) -> None:
    """Prints lines that are no messages, before its first answer and between a turn's frames."""
    agent.wire.write(b"Welcome to the agent!\n" + b"".join(NOISE))
    agent.on_fail = _noisy_turn


def _noisy_turn(agent: Agent, prompt: object) -> None:
    for line in NOISE:
        agent.wire.write(line)
        agent.say("Something.")
    agent.end_turn(prompt)


@at_prompt
def invalid_utf8(agent: Agent, prompt: object) -> None:
    """Has a byte in a text that is no UTF-8."""
    agent.wire.write(_chunk(b"broken \xff here"))
    agent.end_turn(prompt)


@at_prompt
def lone_surrogate(agent: Agent, prompt: object) -> None:
    """Has half a surrogate pair in a text, escaped, as JavaScript writes it."""
    agent.wire.write(_chunk(rb"broken \ud83d here"))
    agent.end_turn(prompt)


@at_start
def byte_order_mark(agent: Agent) -> None:
    """Begins its stdout with a byte order mark, as some runtimes do."""
    agent.wire.write(b"\xef\xbb\xbf")


@at_prompt
def wide_characters(agent: Agent, prompt: object) -> None:
    """Writes a line in UTF-16, then goes on in UTF-8."""
    agent.say("I begin.")
    agent.wire.write(_chunk(b"wide").decode().encode("utf-16-le"))
    agent.wire.write(b"\n")
    agent.serve(prompt)


@at_prompt
def not_a_number(agent: Agent, prompt: object) -> None:
    """Writes NaN and Infinity, which are no JSON, into an update and into its answer."""
    agent.say("Here is the answer.")
    agent.update("usage_update", used=float("nan"), size=float("-inf"))
    agent.answer(prompt, result={"stopReason": "end_turn", "_meta": {"cost": float("nan")}})


@at_prompt
def two_frames_on_a_line(agent: Agent, prompt: object) -> None:
    """Puts two frames on one line, among good ones, as two threads without a lock do."""
    agent.say("I begin.")
    agent.wait_for_go()
    glued = _chunk(b"c").strip() + _chunk(b"d")
    agent.wire.write(_chunk(b"a") + _chunk(b"b") + glued + _chunk(b"e"))
    agent.wait_for_go()
    agent.serve(prompt)


@at_prompt
def frame_on_two_lines(agent: Agent, prompt: object) -> None:
    """Breaks one frame over two lines, among good ones, as pretty-printing does."""
    agent.say("I begin.")
    agent.wait_for_go()
    broken = _chunk(b"c").replace(b'"update"', b'\n"update"')
    agent.wire.write(_chunk(b"a") + _chunk(b"b") + broken + _chunk(b"e"))
    agent.wait_for_go()
    agent.serve(prompt)


@at_prompt
def long_line(agent: Agent, prompt: object) -> None:
    """Sends a text of N bytes (its argument) in one frame, then ends the turn well."""
    agent.wire.write(_chunk(b"x" * int(agent.argument)))
    agent.end_turn(prompt)


@at_prompt
def long_answer(agent: Agent, prompt: object) -> None:
    """Sends an answer of N bytes (its argument)."""
    agent.say("Here is the answer.")
    meta = {"x": "x" * int(agent.argument)}
    agent.answer(prompt, result={"stopReason": "end_turn", "_meta": meta})


@at_prompt
def many_frames(agent: Agent, prompt: object) -> None:
    """Sends N frames (its argument) of 1 KB, all different, then ends the turn well."""
    frames = [_chunk(b"%08d" % number + b"y" * 900) for number in range(100)]
    for number in range(int(agent.argument)):
        agent.wire.write(frames[number % 100])
    agent.end_turn(prompt)


@at_prompt
def stderr_flood(agent: Agent, prompt: object) -> None:
    """Writes N bytes (its argument) to stderr, then ends the turn well."""
    _flood(agent, b"a warning that nobody reads\n" * 2000)
    agent.serve(prompt)


@at_prompt
def stderr_flood_without_lines(agent: Agent, prompt: object) -> None:
    """Writes N bytes (its argument) to stderr without a line end, then ends the turn well."""
    _flood(agent, b"." * 64000)
    agent.serve(prompt)


@at_prompt
def stderr_flood_then_dies(agent: Agent, _prompt: object) -> None:
    """Writes N bytes (its argument) to stderr, and exits 1."""
    _flood(agent, b"a warning that nobody reads\n" * 2000)
    os._exit(1)


@at_prompt
def stderr_flood_beside_text(agent: Agent, prompt: object) -> None:
    """Lets a child write N bytes (its argument) to stderr, and numbers texts meanwhile."""
    child = os.fork()
    if child == 0:
        _flood(agent, b"a warning that nobody reads\n" * 2000)
        os._exit(0)
    number = 0
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        agent.say(f"{number} ")
        number += 1
        time.sleep(0.001)
    agent.end_turn(prompt)


@at_prompt
def talkative(agent: Agent, prompt: object) -> None:
    """Writes N bytes (its argument) to stderr before each of its 20 frames."""
    for _ in range(20):
        _flood(agent, b"a log line\n" * 5000)
        agent.say("Something.")
    agent.end_turn(prompt)


def _flood(agent: Agent, piece: bytes) -> None:
    left = int(agent.argument)
    while left > 0:
        write_all(2, piece[:left])
        left -= len(piece)


@at_prompt
def warns(agent: Agent, prompt: object) -> None:
    """Writes one line to stderr and ends the turn well."""
    write_all(2, "warning: the cache is cold \u2603\n".encode())
    agent.serve(prompt)


@at_start
def cat(agent: Agent) -> None:
    """No agent: writes its input back."""
    while data := os.read(0, 65536):
        agent.wire.write(data)
    os._exit(0)


@at_start
def tape(agent: Agent) -> None:
    """Plays the file of its 1st argument at a prompt; keeps all of its input in that of the 2nd."""
    with open(agent.arguments[0], "rb") as played, open(agent.arguments[1], "wb") as heard:
        frames = played.read()
        for line in sys.stdin.buffer:
            heard.write(line)
            heard.flush()
            message = json.loads(line.decode("utf-8", "replace"))
            method = message.get("method")
            if method == "initialize":
                agent.answer(message["id"], result={"protocolVersion": 1})
            elif method == "session/prompt":
                agent.wire.write(frames)
    os._exit(0)
