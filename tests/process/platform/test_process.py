"""Real children: how they are started, watched, stopped, and not left behind."""

from __future__ import annotations

import asyncio
import errno
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.front.process import UNWATCHED_SECONDS, WATCHED_SECONDS, FolderWatch
from lastword.platform import signals
from lastword.platform.process import Agent, Exit, spawn
from lastword.platform.signals import SignalInbox
from lastword.sidecar.child import SIGNALLED_GRACE_SECONDS, TERM_GRACE_SECONDS, StopSequence
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


READY = b"ready\n"


def until(seen: Callable[[], object], what: str) -> None:
    """Wait for something, under a fuse."""
    deadline = time.monotonic() + FUSE_SECONDS
    while not seen():
        assert time.monotonic() < deadline, f"not within {FUSE_SECONDS} s: {what}"
        time.sleep(0.005)


def read(fd: int, size: int = 4096) -> bytes:
    """Read from a descriptor that does not block, under a fuse."""
    assert select.select([fd], [], [], FUSE_SECONDS)[0]
    return os.read(fd, size)


@pytest.fixture
def shell() -> Iterator[Callable[..., Agent]]:
    """Starts a shell script; it and its group are gone when the test is over."""
    agents: list[Agent] = []

    def start(script: str, *arguments: str) -> Agent:
        agents.append(spawn(["sh", "-c", script, "sh", *arguments]))
        return agents[-1]

    yield start
    for agent in agents:
        agent.signal_group(signal.SIGKILL)
        if agent.exit is None:
            until(agent.poll, "its end")
        agent.end_group(signal.SIGKILL)
        agent.reap()
        for fd in (agent.stdin, agent.stdout, agent.stderr):
            try:
                os.close(fd)
            except OSError:
                continue


def ended(agent: Agent) -> Exit:
    """How it ended, once it has."""
    until(agent.poll, "its end")
    assert agent.exit is not None
    return agent.exit


def test_an_exit_has_the_status_that_a_shell_gives_it() -> None:
    ends = {(0, None): 0, (3, None): 3, (None, 9): 137, (None, 15): 143, (None, None): 1}
    assert {(code, number): Exit(code, number).status for code, number in ends} == ends
    assert [Exit(*each).clean for each in ends] == [True, False, False, False, False]


def test_a_child_has_its_arguments_three_pipes_and_a_separate_group(
    shell: Callable[..., Agent],
) -> None:
    script = "read line; printf '%s|' \"$line\" \"$@\"; echo 'on stderr' >&2; cat"
    agent = shell(script, "", "two words", "*", "\u2603", "--")
    os.write(agent.stdin, b"a word\n")
    assert read(agent.stderr) == b"on stderr\n"
    assert read(agent.stdout).decode() == "a word||two words|*|\u2603|--|"
    assert os.getpgid(agent.pid) == agent.pid
    assert os.getpgid(0) != agent.pid


def test_a_child_has_no_terminal_that_would_stop_it() -> None:
    script = (
        "import os, pty\n"
        "from lastword.platform.process import spawn\n"
        "ours, theirs = os.pipe()\n"
        "if pty.fork()[0]:\n"
        "    os.close(theirs)\n"
        "    print(os.read(ours, 99).decode())\n"
        "else:\n"
        "    agent = spawn(['sh', '-c', 'read password </dev/tty || echo no terminal'])\n"
        "    os.set_blocking(agent.stdout, True)\n"
        "    os.write(theirs, os.read(agent.stdout, 99))\n"
    )
    assert _python(script).strip() == "no terminal"


def test_our_ends_of_the_pipes_are_non_blocking_and_not_inherited(
    shell: Callable[..., Agent],
) -> None:
    agent = shell("cat")
    for fd in (agent.stdin, agent.stdout, agent.stderr):
        assert os.get_blocking(fd) is False
        assert os.get_inheritable(fd) is False
    # With our end closed a child that reads sees the end of its input, whatever else was started.
    other = shell("cat")
    os.close(agent.stdin)
    assert ended(agent).code == 0
    assert other.poll() is None


def test_a_child_can_write_its_last_half_megabyte_to_each_pipe(shell: Callable[..., Agent]) -> None:
    # Nobody reads, and it ends all the same: 512 KiB wait in each pipe.
    agent = shell("head -c 524288 /dev/zero; head -c 524288 /dev/zero >&2")
    assert ended(agent).code == 0


def test_an_exit_has_its_code_or_its_signal(shell: Callable[..., Agent]) -> None:
    for script, code, number in (
        ("exit 3", 3, None),
        ("kill -KILL $$", None, signal.SIGKILL),
        ("ulimit -c 0; kill -SEGV $$", None, signal.SIGSEGV),
    ):
        exit_ = ended(shell(script))
        assert (exit_.code, exit_.signal) == (code, number)


def test_an_exit_is_noticed_while_a_grandchild_keeps_the_pipes_open(
    shell: Callable[..., Agent],
) -> None:
    agent = shell("sleep 60 & exit 4")
    assert ended(agent).code == 4
    assert select.select([agent.stdout], [], [], 0)[0] == []
    agent.reap()
    assert agent.group_alive()


def test_an_ended_child_keeps_its_pid_until_reaped_and_later_signals_are_harmless(
    shell: Callable[..., Agent],
) -> None:
    agent = shell("exit 4")
    first = ended(agent)
    os.kill(agent.pid, 0)
    assert agent.poll() is first
    for _ in range(2):
        agent.reap()
    assert agent.poll() is first
    until(lambda: not agent.group_alive(), "the end of its group")
    agent.signal_group(signal.SIGKILL)
    agent.end_group(signal.SIGKILL)


def test_a_child_whose_status_the_kernel_discarded_still_counts_as_ended() -> None:
    script = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from lastword.platform.process import spawn\n"
        "agent = spawn(['sh', '-c', 'exit 4'])\n"
        "while agent.poll() is None: time.sleep(0.005)\n"
        "agent.reap()\n"
        "print(agent.exit.code, agent.exit.signal, agent.exit.status)\n"
    )
    assert _python(script) == "None None 1\n"


def test_a_signal_goes_to_the_whole_group(shell: Callable[..., Agent]) -> None:
    wait = "while :; do sleep 0.01; done"
    child = f"trap 'echo child' USR1; echo ready; {wait}"
    agent = shell(f"trap 'echo parent' USR1; sh -c \"$1\" & {wait}", child)
    assert read(agent.stdout) == READY
    agent.signal_group(signal.SIGUSR1)
    said = b""
    while said.count(b"\n") < 2:
        said += read(agent.stdout)
    assert sorted(said.split()) == [b"child", b"parent"]


def test_a_failed_spawn_raises_and_leaves_no_descriptor(tmp_path: Path) -> None:
    foreign = tmp_path / "program"
    foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    foreign.chmod(0o755)
    before = _descriptors()
    for name, number in (
        ("no-such-program-anywhere", errno.ENOENT),
        ("/", errno.EACCES),
        ("/dev/null/program", errno.ENOTDIR),
        (str(foreign), errno.ENOEXEC),
    ):
        with pytest.raises(OSError, match=r".") as caught:
            spawn([name])
        assert caught.value.errno == number
    assert _descriptors() == before


def test_a_childs_pipes_work_without_standard_streams() -> None:
    script = (
        "import os\n"
        "from lastword.platform.process import spawn\n"
        "out = os.dup(1)\n"
        "for fd in (0, 1, 2): os.close(fd)\n"
        "agent = spawn(['sh', '-c', 'read x; echo \"got $x\"; echo oops >&2'])\n"
        "for fd in (agent.stdin, agent.stdout, agent.stderr):\n"
        "    assert fd > 2\n"
        "    os.set_blocking(fd, True)\n"
        "os.write(agent.stdin, b'it\\n')\n"
        "os.write(out, os.read(agent.stdout, 99) + os.read(agent.stderr, 99))\n"
    )
    assert _python(script) == "got it\noops\n"


ORPHANS = """\
import os, sys
import lastword.platform.posix_process as patched
patched.SHELL, patched.GUARDIAN_GRACE_SECONDS = {shell!r}, {grace}
from lastword.platform.process import Guardian, spawn
agent = spawn(["sh", "-c", sys.argv[1]])
guardian = Guardian.start(agent.pid, "temporary")
os.set_blocking(agent.stdout, True)
os.read(agent.stdout, 99)
print(agent.pid, flush=True)
{end}
"""

GUARDIANS = pytest.mark.parametrize(
    "guardian", ["/bin/sh", "/nowhere"], ids=["a shell", "a fork where there is no shell"]
)


def _orphans(guardian: str, end: str, grace: float = FUSE_SECONDS) -> str:
    return ORPHANS.format(shell=guardian, grace=grace, end=end)


def _left_by_a_killed_owner(code: str, script: str, folder: Path) -> int:
    """Run an owner that is killed; return its agent's id."""
    done = subprocess.run(
        [sys.executable, "-c", code, script],
        stdout=subprocess.PIPE,
        cwd=folder,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    return int(done.stdout)


KILLED = "os.kill(os.getpid(), 9)"


@GUARDIANS
@pytest.mark.parametrize(
    ("script", "grace"),
    [
        # Ready once the child has begun: a shell's fork still ignores what the shell traps.
        ("trap ': > told; exit' TERM; sh -c 'echo ready; exec sleep 60' & wait", FUSE_SECONDS),
        ("trap '' TERM; echo ready; sleep 60", 0.5),
    ],
    ids=["is told, and has a child", "ignores SIGTERM"],
)
def test_the_guardian_signals_and_ends_the_group_of_a_killed_owner(
    guardian: str, script: str, grace: float, tmp_path: Path
) -> None:
    (tmp_path / "temporary").touch()
    pid = _left_by_a_killed_owner(_orphans(guardian, KILLED, grace), script, tmp_path)
    until(lambda: not _runs(pid), "the end of the group")
    until(lambda: not (tmp_path / "temporary").exists(), "the end of the file")
    assert (tmp_path / "told").exists() == ("told" in script)


@GUARDIANS
def test_a_disarmed_guardian_a_shell_where_one_exists_ends_and_leaves_the_group_alone(
    guardian: str,
) -> None:
    end = (
        "copy = os.dup(guardian._fd)\n"  # the end of its pipe does not reach it
        "if sys.platform == 'linux':\n"  # which alone says what program a process is
        "    print(os.path.samefile(f'/proc/{guardian._pid}/exe', '/bin/sh'))\n"
        "guardian.disarm()\n"
        "os.kill(agent.pid, 0)\n"
        "try: os.waitpid(-1, os.WNOHANG) == (0, 0) or sys.exit('another child has ended')\n"
        "finally: os.killpg(agent.pid, 9)\n"
    )
    pid, *is_shell = _python(_orphans(guardian, end), "echo ready; sleep 60").split()
    assert pid.isdigit()
    if sys.platform == "linux":
        assert is_shell == [str(guardian == "/bin/sh")]


@GUARDIANS
def test_a_killed_guardian_can_be_disarmed(guardian: str) -> None:
    end = (
        "os.kill(guardian._pid, 9)\n"
        "os.waitid(os.P_PID, guardian._pid, os.WEXITED | os.WNOWAIT)\n"
        "guardian.disarm()\n"
        "os.killpg(agent.pid, 9)\n"
    )
    assert _python(_orphans(guardian, end), "echo ready; sleep 60").strip().isdigit()


def test_an_agent_that_exits_by_itself_is_not_signalled(shell: Callable[..., Agent]) -> None:
    agent = shell("trap 'echo told' TERM; cat")
    shutdown = StopSequence(agent)
    shutdown.after(2.0, 100.0)
    assert shutdown.due(100.0) == 102.0
    os.close(agent.stdin)
    ended(agent)
    shutdown.agent_ended(100.1, leave_group=True)
    shutdown.run(110.0)
    assert not shutdown.group_left
    assert shutdown.due(110.0) is None


def test_an_agent_that_stays_is_signalled_once_and_killed_a_second_later(
    shell: Callable[..., Agent],
) -> None:
    script = "trap 'echo $0' {}; echo ready; while :; do read x || sleep 0.01; done"
    agent = shell(script.format("TERM"))
    assert read(agent.stdout) == READY
    shutdown = StopSequence(agent)
    shutdown.after(2.0, 100.0)
    shutdown.after(2.0, 101.0)
    shutdown.run(101.9)
    assert shutdown.due(101.9) == 102.0
    shutdown.run(102.0)
    assert read(agent.stdout) == b"sh\n"
    assert shutdown.due(102.0) == 102.0 + TERM_GRACE_SECONDS
    shutdown.run(102.0 + TERM_GRACE_SECONDS)
    assert ended(agent).signal == signal.SIGKILL
    agent = shell("trap '' TERM; " + script.format("INT"))
    assert read(agent.stdout) == READY
    shutdown = StopSequence(agent)
    shutdown.pass_signal(signal.SIGINT, 100.0)
    assert read(agent.stdout) == b"sh\n"
    assert shutdown.due(100.0) == 100.0 + SIGNALLED_GRACE_SECONDS
    shutdown.run(100.5)
    assert agent.poll() is None
    shutdown.run(101.0)
    assert ended(agent).signal == signal.SIGKILL


def test_a_killed_group_is_not_waited_for(shell: Callable[..., Agent]) -> None:
    agent = shell("trap '' TERM; sleep 60 & echo ready; wait")
    assert read(agent.stdout) == READY
    shutdown = StopSequence(agent)
    shutdown.pass_signal(signal.SIGTERM, 100.0)
    shutdown.run(101.0)
    ended(agent)
    # The whole group was sent SIGKILL. What is seen of it now are zombies that wait for init.
    shutdown.agent_ended(101.0, leave_group=False)
    assert not shutdown.group_left


def _python(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _descriptors() -> list[str]:
    folder = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    return sorted(os.listdir(folder))


def _runs(pgid: int) -> bool:
    """Is there a process in the group that is no zombie?"""
    return any(int(group) == pgid and not state.startswith("Z") for state, group in _states())


def _states() -> Iterator[tuple[str, str]]:
    """State and group of every process."""
    if sys.platform != "linux":
        command = ["ps", "-A", "-o", "stat=,pgid="]
        for line in subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.splitlines():
            state, group = line.split()
            yield state, group
        return
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                state, _parent, group, *_ = stat.read().rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
        yield state, group


def test_a_failed_start_without_descriptors_leaves_none_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    real = os.pipe

    def pipe() -> tuple[int, int]:
        if len(made) == 4:
            raise OSError(errno.EMFILE, "Too many open files")
        made.extend(ends := real())
        return ends

    monkeypatch.setattr(os, "pipe", pipe)
    with pytest.raises(OSError, match="Too many open files"):
        spawn(["true"])
    for fd in made:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


def test_a_signal_that_arrives_during_a_read_is_not_delayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later = [signal.SIGTERM]
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(signal, "set_wakeup_fd", lambda *_, **__: -1)
    inbox = SignalInbox()
    # The byte of either is read with the first, so that nothing wakes a loop for the second.
    monkeypatch.setattr(signals, "read", lambda *_: later and inbox._note(later.pop(), None))
    inbox._note(signal.SIGUSR1, None)
    assert inbox.drain() == [signal.SIGUSR1, signal.SIGTERM]
    assert inbox.drain() == []
    os.close(inbox.fd)
    os.close(inbox._write_end)


# --- a watch on a folder


def test_a_deleted_file_and_a_renewed_folder_are_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    async def play() -> None:
        folder.mkdir()
        (folder / "socket").touch()
        deleted = asyncio.Event()
        watch = FolderWatch(str(folder), deleted.set)
        assert watch.look_seconds in {WATCHED_SECONDS, UNWATCHED_SECONDS}
        if watch.look_seconds == UNWATCHED_SECONDS:
            return  # nothing is reported here: whoever needs to know looks
        for _ in range(2):
            shutil.rmtree(folder)
            async with asyncio.timeout(FUSE_SECONDS):
                await deleted.wait()
            deleted.clear()
            folder.mkdir()
            (folder / "socket").touch()
            watch.renew()
        watch.close()
        assert watch.look_seconds == UNWATCHED_SECONDS

    asyncio.run(play())
