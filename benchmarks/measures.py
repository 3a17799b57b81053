"""What is measured: each function runs every relay in turn, round after round, and returns samples.

The rounds are interleaved because the machine's speed drifts: a ratio is taken within a round, and
the figure is the median of the rounds.
"""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from link import Link, Relay, frame
from traffic import Traffic

Row = dict[str, float]
Table = dict[str, Row]


@dataclass(frozen=True)
class Bench:
    """The relays under test, and where the lastword among them may keep its records."""

    relays: Sequence[Relay]
    state: Path

    def start(
        self, relay: Relay, agent: Sequence[str], extra: dict[str, str] | None = None
    ) -> Link:
        """Start an agent behind a relay."""
        return Link.start(relay, agent, self.state, extra)

    def without(self, *names: str) -> list[Relay]:
        """The relays but for these."""
        return [relay for relay in self.relays if relay.name not in names]

    def typing(self) -> list[Relay]:
        """The relays that make a typed failure of an agent's end, and relay its stderr."""
        return [relay for relay in self.without("direct", "cat") if not relay.plain]


def p99(samples: Sequence[float]) -> float:
    """The 99th percentile, or for few samples what comes nearest to it."""
    return quantiles(samples, n=100, method="inclusive")[98]


def throughput(bench: Bench, agent: Sequence[str], traffic: Traffic, rounds: int) -> Table:
    """Seconds for one turn with this traffic, and `cat`'s time over the relay's own."""
    seconds: dict[str, list[float]] = {relay.name: [] for relay in bench.relays}
    cpu: dict[str, list[float]] = {relay.name: [] for relay in bench.relays}
    for _ in range(rounds):
        for relay in bench.relays:
            with bench.start(relay, agent) as link:
                before = _cpu_ns(link.open_session())
                seconds[relay.name].append(link.stream(traffic.data))
                cpu[relay.name].append((_cpu_ns(link) - before) / traffic.frames)
    table: Table = {}
    for name, all_ in seconds.items():
        ratios = [cat / own for cat, own in zip(seconds["cat"], all_, strict=True)]
        middle = median(all_)
        table[name] = {"s": middle, "s_min": min(all_), "s_max": max(all_)}
        table[name] |= {"ratio": median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios)}
        table[name] |= {"frames_per_s": traffic.frames / middle}
        table[name] |= {"cpu_ns_per_frame": median(cpu[name])}
    return table


def turns(
    bench: Bench, agent: Sequence[str], traffic: Traffic, prompts: Mapping[str, str], rounds: int
) -> dict[str, Table]:
    """Microseconds of CPU for one turn with this traffic, for each of these prompts.

    All relays are up at the same time and take turns, `TURNS_AT_ONCE` each. The agent's own time is
    not in it, nor the client's.
    """
    tables: dict[str, Table] = {}
    with ExitStack() as stack:
        links = {
            relay.name: stack.enter_context(bench.start(relay, agent)).open_session()
            for relay in bench.without("direct")
        }
        for name, text in prompts.items():
            samples: dict[str, list[float]] = {each: [] for each in links}
            for round_ in range(rounds + 1):
                for each, link in links.items():
                    before = _cpu_ns(link)
                    for _ in range(TURNS_AT_ONCE):
                        link.stream(traffic.data, text)
                    time.sleep(SETTLE_SECONDS)  # what is written down afterwards is part of it
                    if round_:  # the first loads what a first turn needs
                        samples[each].append((_cpu_ns(link) - before) / 1e3 / TURNS_AT_ONCE)
            tables[name] = {
                each: {"cpu_us": median(all_), "cpu_us_min": min(all_), "cpu_us_max": max(all_)}
                for each, all_ in samples.items()
            }
    return tables


TURNS_AT_ONCE = 200
SETTLE_SECONDS = 0.3


def _cpu_ns(link: Link) -> int:
    """What the relay and its helpers have spent on a CPU; steadier than time."""
    return sum(
        int(thread.joinpath("schedstat").read_text().split()[0])
        for pid in tree(link)
        for thread in Path(f"/proc/{pid}/task").iterdir()
    )


@contextmanager
def one_cpu(*, pinned: bool) -> Iterator[None]:
    """Keep this process, and what it starts, on one CPU."""
    if not pinned:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def ping_pong(bench: Bench, agent: Sequence[str], trips: int, *, pinned: bool) -> Table:
    """Microseconds that a relay adds to a request and its answer while a turn is open.

    All relays are up at the same time and take turns, 250 round trips each.
    """
    samples: dict[str, list[float]] = {relay.name: [] for relay in bench.relays}
    with one_cpu(pinned=pinned), ExitStack() as stack:
        links = {}
        for relay in bench.relays:
            link = stack.enter_context(bench.start(relay, agent)).open_session()
            link.prompt()
            link.line()
            links[relay.name] = link
        for start in range(0, trips, 250):
            for name, link in links.items():
                new = _round_trips(link, start + 10, 250)
                samples[name] += new if start else []  # the first batch warms up
    direct = samples["direct"]
    table: Table = {}
    for name, all_ in samples.items():
        table[name] = {"p50_us": median(all_), "p99_us": p99(all_)}
        table[name] |= {"added_p50_us": median(all_) - median(direct)}
        table[name] |= {"added_p99_us": p99(all_) - p99(direct)}
    return table


def _round_trips(link: Link, first_id: int, count: int) -> list[float]:
    params = {"sessionId": link.session, "modeId": "code"}
    requests = [frame("session/set_mode", params, first_id + n) for n in range(count)]
    samples, clock, read, write = [], time.perf_counter_ns, os.read, os.write
    into, out = link.input, link.output
    for request in requests:
        start = clock()
        write(into, request)
        answer = read(out, 65536)
        samples.append((clock() - start) / 1e3)
        assert answer.endswith(b'"result":{}}\n'), answer
    return samples


def start_up(bench: Bench, agent: Sequence[str], runs: int) -> Table:
    """Milliseconds from the spawn to the answer to `initialize`, and of CPU up to then."""
    samples: dict[str, list[float]] = {relay.name: [] for relay in bench.relays}
    cpu: dict[str, list[float]] = {relay.name: [] for relay in bench.relays}
    for run in range(runs + 1):
        for relay in bench.relays:
            with bench.start(relay, agent) as link:
                milliseconds, spent = link.initialize() / 1e6, _cpu_ns(link) / 1e6
            if run:  # the first fills the page cache
                samples[relay.name].append(milliseconds)
                cpu[relay.name].append(spent)
    direct = median(samples["direct"])
    return {
        name: {
            "ms": median(all_),
            "ms_p90": quantiles(all_, n=10)[8],
            "added_ms": median(all_) - direct,
            "cpu_ms": median(cpu[name]),
        }
        for name, all_ in samples.items()
    }


def status(pid: int, field: str) -> float:
    """A field of ``/proc/PID/status`` or ``smaps_rollup`` in MB."""
    name = "smaps_rollup" if field == "Pss" else "status"
    found = re.search(
        rf"^{field}:\s+(\d+) kB", Path(f"/proc/{pid}/{name}").read_text(), re.MULTILINE
    )
    return int(found[1]) / 1e3 if found else 0.0


def tree(link: Link) -> list[int]:
    """The relay's processes (lastword's guardian, `cat`'s other half), without the agent's own."""
    found, left = [], [link.process.pid]
    while left:
        pid = left.pop()
        if pid != link.agent_pid:
            found.append(pid)
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                left += map(int, children.read_text().split())
    return found


def _memory_row(link: Link) -> Row:
    pid, every = link.process.pid, tree(link)
    row = {f"{field.lower()}_mb": status(pid, field) for field in ("VmRSS", "VmHWM", "Pss")}
    row |= {
        f"all_{field.lower()}_mb": sum(status(each, field) for each in every)
        for field in ("VmRSS", "Pss")
    }
    return row | {"processes": len(every)}


def memory(bench: Bench, agent: Sequence[str], traffic: Traffic, turns: int) -> Table:
    """Megabytes of the relay, and of all its processes, fresh and after `turns` turns."""
    table: Table = {}
    for relay in bench.without("direct"):
        with bench.start(relay, agent) as link:
            link.open_session()
            fresh = status(link.process.pid, "VmRSS")
            for _ in range(turns):
                link.stream(traffic.data)
            table[relay.name] = {"fresh_vmrss_mb": fresh} | _memory_row(link)
    return table


def flood(bench: Bench, agents: Mapping[str, Sequence[str]], megabytes: int) -> Table:
    """The hop of a stdout frame while the agent floods stderr, without it, and the memory after it.

    Only for relays that relay stderr, too.
    """
    table: Table = {}
    for relay in bench.typing():
        row: Row = {}
        for name, agent in agents.items():
            with bench.start(relay, agent, {"LASTWORD_STDERR_LIMIT": "0"}) as link:
                hops, seconds = _stamped_hops(link.open_session())
                row |= {f"{name}_hop_p50_us": median(hops), f"{name}_hop_p99_us": p99(hops)}
                if name == "flood":
                    row |= {"gb_per_s": megabytes / 1e3 / seconds} | _memory_row(link)
        table[relay.name] = row
    return table


def _stamped_hops(link: Link) -> tuple[list[float], float]:
    """Microseconds from each frame's writing to its arrival, and the seconds of the whole turn."""
    id_ = link.prompt()
    start, hops = time.perf_counter(), []
    while stamp := re.search(rb'"(\d+)@(\d+)"', line := link.line()):
        now = time.monotonic_ns()
        assert int(stamp[1]) == len(hops), "a frame is missing"
        hops.append((now - int(stamp[2])) / 1e3)
    answer = json.loads(line)
    assert answer == {"jsonrpc": "2.0", "id": id_, "result": {"stopReason": "end_turn"}}, answer
    return hops, time.perf_counter() - start


def crash(bench: Bench, agents: Mapping[str, Sequence[str]], runs: int) -> Table:
    """Milliseconds from SIGKILL of the agent in mid-turn to the prompt's error answer."""
    table: Table = {}
    for relay in bench.typing():
        samples: dict[str, list[float]] = {name: [] for name in agents}
        for _ in range(runs):
            for name, agent in agents.items():
                with bench.start(relay, agent) as link:
                    samples[name].append(_time_to_answer(link))
        table[relay.name] = {
            f"{name}_{label}_ms": measure(all_)
            for name, all_ in samples.items()
            for label, measure in _SUMMARY.items()
        }
    return table


_SUMMARY: dict[str, Callable[[Sequence[float]], float]] = {"p50": median, "p99": p99, "max": max}


def _time_to_answer(link: Link) -> float:
    link.open_session()
    return _kill_in_turn(link, link.agent_pid)


def _kill_in_turn(link: Link, agent_pid: int) -> float:
    """Milliseconds from SIGKILL in mid-turn to the typed answer."""
    id_ = link.prompt()
    for _ in range(3):
        link.line()
    start = time.perf_counter_ns()
    with suppress(ProcessLookupError):
        os.kill(agent_pid, signal.SIGKILL)
    answer = link.answer(id_)
    milliseconds = (time.perf_counter_ns() - start) / 1e6
    assert "agent_crash" in json.dumps(answer), answer
    return milliseconds


def restart(bench: Bench, agent: Sequence[str], runs: int, crashes: int) -> Table:
    """Milliseconds from a crash to the typed answer, and to the end of the turn that is sent then.

    `crashes` in one session, one after the other; the first of each session is counted apart.
    """
    table: Table = {}
    for relay in bench.typing():
        samples: dict[str, list[float]] = {"first": [], "later": [], "answered": []}
        for _ in range(runs):
            with bench.start(relay, agent) as link:
                link.open_session()
                pid = link.agent_pid
                for crash_number in range(crashes):
                    typed = _kill_in_turn(link, pid)
                    samples["later" if crash_number else "first"].append(typed)
                    start = time.perf_counter_ns()
                    pid = _go_on(link)
                    samples["answered"].append(typed + (time.perf_counter_ns() - start) / 1e6)
        table[relay.name] = {
            f"{name}_{label}_ms": measure(all_)
            for name, all_ in samples.items()
            if all_
            for label, measure in (("p50", median), ("max", max))
        }
    return table


def _go_on(link: Link) -> int:
    """A turn of the agent that was started again; gives its pid."""
    id_ = link.prompt("Go on.")
    while not (said := re.search(rb'"pid (\d+)"', link.line())):
        pass
    answer = link.answer(id_)
    assert answer["result"] == {"stopReason": "end_turn"}, answer
    return int(said[1])
