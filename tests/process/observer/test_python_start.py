"""Python's start with the observer: for whom it works, what it leaves, and that it harms nobody."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from lastword.observer import pipe
from tests.kit.observed import provider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.real_start
FUSE_SECONDS = 60

POST = """
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], data=b"{}", headers={"x-answer": "stream"})
answer = urllib.request.urlopen(request)
answer.read(1)
"""
NAMES = ("LASTWORD_OBSERVER", "NODE_OPTIONS", "BUN_OPTIONS", "PYTHONPATH")


class Agent:
    """An agent in Python that lastword observes, with stdin and stdout of its own."""

    def __init__(self) -> None:
        self.pipe = pipe.ObserverPipe()
        self.stdin = os.pipe()
        self.stdout = os.pipe()
        self.environment = self.pipe.environment(self.stdin[0], self.stdout[1])

    def run(
        self,
        code: str,
        *arguments: str,
        tool: bool = False,
        options: tuple[str, ...] = (),
        once_started: Callable[[], None] | None = None,
    ) -> tuple[str, str]:
        """Run code to its end, and return what is on stdout and on stderr."""
        with subprocess.Popen(
            [sys.executable, *options, "-c", textwrap.dedent(code), *arguments],
            stdin=subprocess.DEVNULL if tool else self.stdin[0],
            stdout=subprocess.PIPE if tool else self.stdout[1],
            stderr=subprocess.PIPE,
            env=self.environment,
            text=True,
        ) as process:
            if once_started:
                select.select([self.pipe.fd], [], [], FUSE_SECONDS)
                once_started()
                os.write(self.stdin[1], b"\n")
            out, err = process.communicate(timeout=FUSE_SECONDS)
        if not tool:
            os.write(self.stdout[1], b"\0")  # so that there is something to read
            out = os.read(self.stdout[0], 1 << 16)[:-1].decode()
        return out, err

    def events(self) -> list[dict[str, Any]]:
        """Return what has been reported."""
        lines: list[bytes] = []
        while more := self.pipe.read():
            lines += more
        assert all(len(line) < pipe.MAX_LINE_BYTES for line in lines)
        return [json.loads(line) for line in lines]

    def close_pipe(self) -> None:
        """Leave nobody who reads, as lastword's end does."""
        os.close(self.pipe.fd)
        self.pipe.fd = -1

    def close(self) -> None:
        """Close all."""
        self.pipe.close()
        for end in (*self.stdin, *self.stdout):
            os.close(end)


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    made = Agent()
    yield made
    made.close()


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    server, address = provider.start()
    yield address
    server.shutdown()
    server.server_close()


def test_the_agent_is_observed_and_its_tools_see_no_trace_of_it(agent: Agent, model: str) -> None:
    code = """
        import os, subprocess
        subprocess.run([sys.executable, "-c", "import os; print(dict(os.environ))"])
        print([name for name in os.environ if name in %r])
        print([path for path in sys.path if "observer" in path])
    """
    out, err = agent.run(POST + textwrap.dedent(code) % (NAMES,), model)
    assert err == ""
    assert out.endswith("[]\n[]\n")
    assert not any(name in out for name in NAMES)
    start, *events = agent.events()
    version = ".".join(map(str, sys.version_info[:3]))
    process = {"pid": start["pid"], "runtime": "python", "version": version, "script": "-c"}
    assert start == {"event": "start", **process}
    assert [each["event"] for each in events] == ["request", "status", "end"]
    assert {each["pid"] for each in events} == {start["pid"]}


def test_a_users_options_and_path_stay_unchanged(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {"NODE_OPTIONS": "--a  --b", "BUN_OPTIONS": "-x", "PYTHONPATH": f"{tmp_path}::/gone"}
    for name, value in theirs.items():
        monkeypatch.setenv(name, value)
    agent.environment = agent.pipe.environment(agent.stdin[0], agent.stdout[1])
    out, err = agent.run(f"import os; print([os.environ.get(name) for name in {NAMES}])")
    assert (out, err) == (f"{[None, *theirs.values()]}\n", "")


@pytest.mark.parametrize(
    "theirs", ["print('theirs')", "raise OSError('theirs')", "import gone", ""]
)
def test_a_users_sitecustomize_behaves_as_without_the_observer(
    theirs: str, agent: Agent, tmp_path: Path
) -> None:
    agent.environment["PYTHONPATH"] += f":{tmp_path}"
    if theirs:
        (tmp_path / "sitecustomize.py").write_text(theirs)
    shown = "import sys; print(getattr(sys.modules.get('sitecustomize'), '__file__', None))"
    with_observer = agent.run(shown)
    assert agent.events()[0]["event"] == "start"
    plain = {**os.environ, "PYTHONPATH": str(tmp_path)}
    agent.environment = plain
    assert agent.run(shown) == with_observer


def test_a_tool_with_separate_pipes_is_not_observed(agent: Agent, model: str) -> None:
    out, err = agent.run(POST + "print(sorted(sys.modules))", model, tool=True)
    assert "_lastword" not in out
    assert err == ""
    assert agent.events() == []


@pytest.mark.parametrize("case", ["no reader", "full", "lastword ends", "closed by the agent"])
def test_a_pipe_that_accepts_nothing_harms_no_program(
    case: str, agent: Agent, model: str, tmp_path: Path
) -> None:
    code = "import os, signal, sys\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
    once_started = None
    if case == "no reader":
        agent.close_pipe()
    elif case == "full":
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(agent.pipe.fd, b"x" * 512)
    elif case == "closed by the agent":  # and another file has its number
        own = str(tmp_path / "own")
        code += f"os.closerange(3, 64); files = [open({own!r}, 'w') for _ in range(9)]\n"
    else:
        code += "sys.stdin.readline()\n"
        once_started = agent.close_pipe
    out, err = agent.run(code + POST + "print('done')", model, once_started=once_started)
    assert (out, err) == ("done\n", "")
    if case == "closed by the agent":
        assert (tmp_path / "own").read_text() == ""


def test_the_observer_prints_nothing_with_all_warnings_as_errors(agent: Agent, model: str) -> None:
    out, err = agent.run(
        POST + "answer.close(); print('done')", model, options=("-X", "dev", "-W", "error", "-bb")
    )
    assert (out, err) == ("done\n", "")
    assert len(agent.events()) == 4


def test_a_forked_child_reports_with_its_own_pid(agent: Agent, model: str) -> None:
    code = "import os\nchild = os.fork()\n" + POST + "if child: os.waitpid(child, 0)\n"
    assert agent.run(code, model) == ("", "")
    start, *events = agent.events()
    pids = {each["pid"] for each in events if each["event"] == "request"}
    assert len(pids) == 2
    assert start["pid"] in pids


def test_a_long_refusal_is_cut_to_a_line(agent: Agent, model: str) -> None:
    code = """
        import sys
        report = next(each for each in sys.meta_path if hasattr(each, "observers")).observers[0][0]
        report({"event": "body", "pid": 1, "id": 1, "text": "\\x00é" * 4096})
        headers = {f"ratelimit-{n}": "x" * 200 for n in range(24)}
        report({"event": "status", "pid": 1, "id": 1, "status": 429, "headers": headers})
    """
    assert agent.run(code, model) == ("", "")
    body, status = agent.events()[1:]
    assert len(body["text"]) > 900
    assert len(status["headers"]) > 12
