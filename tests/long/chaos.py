"""Crashes by the thousand: a real sidecar whose agents die in every way, over and over.

    python -m tests.long.chaos --cycles 5000 --seed 1

Owns what a cycle is (turns that stream, a death among them, what is asked next), and the count of
what a sidecar holds before and after. Every prompt has to be answered exactly once, each with what
was to be expected; the last line says how many were, and what was left: descriptors, zombies,
orphans, threads, memory. The exit status is 1 where anything is not as it should be.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.kit import children, left_behind
from tests.kit.patience import patient
from tests.kit.places import AGENTS
from tests.kit.sidecar import OUR_SOURCE, SidecarClient, hurried

if TYPE_CHECKING:
    from tests.kit.client import Frame

AGENT = (sys.executable, "-I", "-S", str(AGENTS / "chaos_agent.py"))
AT_ONCE = {"FIRST_BACKOFF_SECONDS": 0.0}
AT_ONCE |= {"LOOP_CRASHES": sys.maxsize, "LOOP_SHORT_LIVES": sys.maxsize}
"""What waits between two starts, and what counts as a crash loop, are rules of the core that have
their own tests; here they would turn thousands of crashes into days."""

COMMON = ("sigkill", "exit_0", "exit_1", "sigsegv", "traceback", "mid_frame")
DEATHS = dict.fromkeys(COMMON, 4) | {"stderr_flood": 2, "grandchild": 2}
DEATHS |= {"exit_0_with_worker": 2, "stubborn_grandchild": 1, "closes_stdout": 1}
"""How an agent dies, and how often of each: the last take a second or a quarter of one."""

ENDS_WELL = ("exit_0", "exit_0_with_worker")
"""An agent that leaves with status 0 when nothing waits for it has ended on its own terms."""

LARGE_CHARS = 400_000
"""Of a prompt that fills the agent's pipe, and with others what may wait for the next agent."""

SESSIONS = ["s1", "s2", "s3", "s4"]
CHILDREN = 2
"""The agent and its guardian."""

QUIET_SECONDS = 8.0
"""How long what a dead agent left may take to be gone: a second before it is killed, and slack."""

WARM_CYCLES = 60
"""From when on memory is counted: by then the classifier is loaded, and each death was seen."""

GROWTH_LIMIT_MB = 4.0


class Holding(NamedTuple):
    """What a sidecar holds while its agent is up and nothing is going on."""

    fds: int
    threads: int
    rss_mb: float
    children: int
    zombies: int
    orphans: int


class Client(SidecarClient):
    """A client of several sessions that does not keep what it has seen."""

    def __init__(self) -> None:
        rules = {f"core.restart.state.{name}": value for name, value in AT_ONCE.items()}
        super().__init__(AGENT, under=hurried(rules))

    def ask(self, session: str, text: str) -> int:
        prompt = [{"type": "text", "text": text}]
        return self.request("session/prompt", sessionId=session, prompt=prompt)

    def forget(self) -> Counter[Any]:
        """Drop all frames; gives how often each request was answered in them."""
        assert OUR_SOURCE not in self.said, self.story("a traceback of ours")
        answers = Counter(frame["id"] for frame in self.frames if "method" not in frame)
        self.peer.forget()
        return answers


COUNTED = ("cycles", "answered", "leaked_fds", "zombies", "orphans", "threads")


class Chaos:
    def __init__(self, cycles: int, seed: int) -> None:
        self._cycles = cycles
        self._random = random.Random(seed)
        self._asked: list[int] = []
        self.counts: Counter[str] = Counter()
        self.rss_growth_mb = 0.0
        self.problems: list[str] = []

    def __str__(self) -> str:
        counts = " ".join(f"{name}={self.counts[name]}" for name in COUNTED)
        return f"{counts} rss_growth_mb={self.rss_growth_mb:.1f}"

    @property
    def is_clean(self) -> bool:
        left = any(self.counts[name] for name in COUNTED[2:])
        return not (self.problems or left or self.rss_growth_mb > GROWTH_LIMIT_MB)

    def run(self) -> None:
        client = self._client = Client()
        try:
            client.initialize()
            for _ in SESSIONS:
                client.answer(client.request("session/new", cwd="/", mcpServers=[]))
            self._recover(SESSIONS)
            first = warm = self._at_rest(None)
            for number in range(self._cycles):
                if number == min(WARM_CYCLES, self._cycles // 2):
                    warm = self._at_rest(first)
                self._cycle()
                self.counts["cycles"] += 1
            self._count(first, warm, self._at_rest(first))
        except AssertionError as problem:
            self.problems.append(str(problem))
        try:
            client.finish()
        except AssertionError as problem:
            self.problems.append(str(problem))
        self.counts["orphans"] += len(left_behind.processes(client.mark))

    def _ask(self, session: str, text: str) -> int:
        request_id = self._client.ask(session, text)
        self._asked.append(request_id)
        return request_id

    def _cycle(self) -> None:
        """Turns under way, a death among them, and everything asked again."""
        roll, sessions = self._random.random, self._random.sample(SESSIONS, len(SESSIONS))
        (how,) = self._random.choices([*DEATHS], [*DEATHS.values()])
        victim, others = sessions[0], sessions[1:]
        failing = [self._ask(s, "stream") for s in others[: self._random.randrange(len(SESSIONS))]]
        idle = how not in ENDS_WELL and roll() < 0.2
        dying = self._ask(victim, f"{'answer_and_die' if idle else 'die'} {how}")
        racing = None
        if len(failing) < len(others) and roll() < 0.3:
            # Sent while the agent dies: it may be lost with it, or wait for the next one.
            racing = self._ask(others[-1], self._hello())
        for request_id in failing:
            self._expect_crash(request_id, how)
        if not idle:
            self._expect_crash(dying, how)
        else:
            assert "result" in self._answer(dying), "an answered turn is answered"
        if racing is not None:
            answer = self._answer(racing)
            assert "result" in answer or is_crash(answer), answer
        self._recover(sessions[: 1 + self._random.randrange(len(SESSIONS))], raced=idle)
        self._settle()

    def _hello(self) -> str:
        large = self._random.random() < 0.1
        return "hello" + " " * LARGE_CHARS if large else "hello"

    def _recover(self, sessions: list[str], *, raced: bool = False) -> None:
        """Prompts to these sessions, which all have to come back."""
        waiting = {session: self._ask(session, self._hello()) for session in sessions}
        for session, request_id in waiting.items():
            answer = self._answer(request_id)
            if raced and is_crash(answer):
                # It was still thought alive: the next one is not.
                answer = self._answer(self._ask(session, "hello"))
            assert answer.get("result") == {"stopReason": "end_turn"}, answer

    def _answer(self, request_id: int) -> Frame:
        return self._client.answer(request_id)

    def _expect_crash(self, request_id: int, how: str) -> None:
        answer = self._answer(request_id)
        assert is_crash(answer), f"after {how}: {answer}"

    def _settle(self) -> None:
        """Each prompt of this cycle was answered, and once."""
        answers = self._client.forget()
        for request_id in self._asked:
            times = answers[request_id]
            assert times == 1, f"prompt {request_id} was answered {times} times"
        self.counts["answered"] += len(self._asked)
        self._asked.clear()

    # --- what is held

    def _at_rest(self, wanted: Holding | None) -> Holding:
        """What the sidecar holds once it is quiet, and at most what is wanted; else what it has."""
        self._recover(SESSIONS)
        self._settle()
        deadline = time.monotonic() + patient(QUIET_SECONDS)
        while True:
            self._client.listen(0.05)
            held = holding(self._client)
            fds = wanted.fds if wanted else held.fds
            calm = held.children == CHILDREN and not held.orphans and not held.zombies
            if (calm and held.fds <= fds) or time.monotonic() > deadline:
                return held

    def _count(self, first: Holding, warm: Holding, last: Holding) -> None:
        self.counts["leaked_fds"] = last.fds - first.fds
        self.counts["threads"] = last.threads - first.threads
        self.counts.update(zombies=last.zombies, orphans=last.orphans)
        self.rss_growth_mb = max(0.0, last.rss_mb - warm.rss_mb)
        if last.children != CHILDREN:
            self.problems.append(f"{last.children} children; with the agent there are {CHILDREN}")


def is_crash(answer: Frame) -> bool:
    data = answer.get("error", {}).get("data", {})
    return bool(data.get("agent_error", {}).get("type") == "agent_crash")


def holding(client: Client) -> Holding:
    proc = Path(f"/proc/{client.pid}")
    status = dict(
        line.split(":", 1) for line in (proc / "status").read_text().splitlines() if ":" in line
    )
    children = (proc / "task" / proc.name / "children").read_text().split()
    known = {client.pid, *map(int, children)}
    return Holding(
        fds=len(list((proc / "fd").iterdir())),
        threads=int(status["Threads"]),
        rss_mb=int(status["VmRSS"].split()[0]) / 1024,
        children=len(children),
        zombies=sum(_is_zombie(child) for child in children),
        orphans=len(left_behind.processes(client.mark).keys() - known),
    )


def _is_zombie(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False  # gone while we looked


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    children.prepare()
    # A death by SIGSEGV is to be quick, and to leave no file.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    chaos = Chaos(options.cycles, options.seed)
    chaos.run()
    for problem in chaos.problems:
        sys.stdout.write(f"{problem}\n\n")
    sys.stdout.write(f"{chaos}\n")
    return 0 if chaos.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
