"""Agents whose process ends, or does not end, when it should not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from traceback import print_exc

from lastword.kit.agent.plain import die, hang, start_child, write_all
from tests.kit.agents.acp_agent import CANCEL, at_prompt, at_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.kit.agents.acp_agent import Agent

FRAME = {"jsonrpc": "2.0", "method": "session/update"}


# --- dies


@at_start
def dies_at_once(_agent: Agent) -> None:
    """Exits 3 before it reads anything, with a word on stderr."""
    write_all(2, b"fatal: no model configured\n")
    os._exit(3)


@at_prompt
def exits_0(agent: Agent, _prompt: object) -> None:
    """Exits 0 in mid-turn, after some text."""
    agent.say("Half an answer.")
    os._exit(0)


@at_prompt
def exits_3(_agent: Agent, _prompt: object) -> None:
    """Exits 3 in mid-turn without a word."""
    os._exit(3)


@at_prompt
def kills_itself(_agent: Agent, _prompt: object) -> None:
    """Dies of SIGKILL, as by the kernel's hand when memory runs out."""
    die(signal.SIGKILL)


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


# --- lives on


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


@at_prompt
def closes_stdout(agent: Agent, _prompt: object) -> None:
    """Shows some text, closes its stdout and lives on."""
    agent.say("Half an answer.")
    os.close(1)
    hang()


@at_prompt
def closes_stdin(agent: Agent, _prompt: object) -> None:
    """Shows some text, closes its stdin and lives on."""
    agent.say("Half an answer.")
    os.close(0)
    hang()


@at_prompt
def stops_reading(agent: Agent, _prompt: object) -> None:
    """Shows some text, then neither reads nor writes."""
    agent.say("Half an answer.")
    hang()


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
