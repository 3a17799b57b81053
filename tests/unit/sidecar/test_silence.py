"""Why an agent is silent: when it is looked at, what the looks show, and what its runtime adds."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from lastword.core.link.evidence import SilentTurn
from lastword.core.link.facts import Cause, SilenceCause
from lastword.platform.process_tree import SYN_SENT, Process, TcpSocket
from lastword.sidecar import silence
from lastword.sidecar.silence import (
    LOOK_SECONDS,
    Judge,
    Look,
    OwnSocket,
    SilenceLooks,
    is_server,
    program_of,
    starts_others,
)
from lastword.sidecar.sources import Sources
from tests.kit.rows import every

TURN = SilentTurn("s", 100.0, 100.0)
ROOT = {"pid": 1, "age_seconds": 1000.0, "words": ("node", "agent.js")}
Row = dict[str, Any]


def look(at: float, sockets: list[Row] | None = None, processes: list[Row] | None = None) -> Look:
    """Make a look; a process's `started` and a connection's `sent` and `received` are moments."""
    made = []
    for row in [ROOT, *(processes or [])]:
        members = dict(row)
        if (started := members.pop("started", None)) is not None:
            members["age_seconds"] = at - started
        made.append(Process(**{"parent": 1, **members}))
    return Look(at, tuple(made), tuple(_socket(at, dict(row)) for row in sockets or []))


def _socket(at: float, row: Row) -> OwnSocket:
    pid = row.pop("pid", 1)
    row["sent_ago"] = at - row.pop("sent", at)
    row["received_ago"] = at - row.pop("received", 50.0)
    return OwnSocket(pid, TcpSocket(**{"inode": 7, "remote_port": 443, **row}))


def judged(*looks: Look, turn: SilentTurn = TURN) -> tuple[Cause, float] | None:
    judge = Judge()
    cause = None
    for each in looks:
        cause = judge.judge(each, turn)
    return None if cause is None else (cause.cause, round(cause.since, 3))


REQUEST = {"sent_bytes": 47_222, "sent": 100.5}
ANSWERED = REQUEST | {"received_bytes": 3000, "received": 101.5}
PROVIDER = (Cause.PROVIDER, 100.5)


@every(
    ("sockets", "expected"),
    [
        ([REQUEST], PROVIDER),
        ([REQUEST | {"loopback": True}], PROVIDER),
        # What arrives within one round trip was sent before the request: a session's ticket.
        ([REQUEST | {"received_bytes": 5000, "received": 100.52, "rtt_seconds": 0.02}], PROVIDER),
        ([ANSWERED], None),
        ([REQUEST | {"received_bytes": 200, "received": 100.52, "loopback": True}], None),
        ([REQUEST | {"sent": 99.0}], None),
        ([REQUEST | {"sent_bytes": 900}], None),
        ([ANSWERED, REQUEST | {"inode": 8, "sent": 103.0}], (Cause.PROVIDER, 103.0)),
        ([REQUEST | {"retransmits": 4}], (Cause.UNREACHABLE, 100.5)),
        ([REQUEST | {"state": SYN_SENT, "sent_bytes": 0}], (Cause.UNREACHABLE, 104.0)),
        ([ANSWERED, {"inode": 8, "state": SYN_SENT}], None),
        (
            [{"loopback": True, "sent_bytes": 400, "sent": 101.0, "remote_port": 9000}],
            (Cause.MCP_SERVER, 101.0),
        ),
        ([{"sent_bytes": 400, "sent": 101.0}], None),
    ],
)
def test_connections_show_the_cause(
    sockets: list[Row], expected: tuple[Cause, float] | None
) -> None:
    assert judged(look(104.0, sockets), look(106.0, sockets)) == expected


HANGS = REQUEST | {"inode": 8}
OWN = [
    REQUEST | {"loopback": True, "local_port": 5, "remote_port": 6},
    {"inode": 8, "pid": 2, "loopback": True, "local_port": 6, "remote_port": 5},
]
CHILD = [{"pid": 2, "started": 1.0}]


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([look(106.0, [REQUEST])], id="one look proves nothing"),
        pytest.param([Look(104.0), Look(106.0)], id="a process that cannot be seen has no cause"),
        pytest.param(
            [
                look(104.0, [ANSWERED, HANGS]),
                look(106.0, [ANSWERED | {"received_bytes": 3200}, HANGS]),
            ],
            id="an answer that is still coming in accuses nobody",
        ),
        pytest.param(
            [look(104.0, OWN, CHILD), look(106.0, OWN, CHILD)],
            id="a connection to a process of the agent's own is not the provider's",
        ),
    ],
)
def test_no_cause_is_given_without_proof(looks: list[Look]) -> None:
    assert judged(*looks) is None


def test_bytes_sent_before_the_prompt_are_not_the_request() -> None:
    judge = Judge()
    before = SilentTurn("s", 10.0, 10.0)
    judge.judge(look(90.0, [{"sent_bytes": 60_000, "sent": 20.0}]), before)
    pinged = {"sent_bytes": 60_017, "sent": 101.0}
    judge.judge(look(104.0, [pinged]), TURN)
    assert judge.judge(look(106.0, [pinged]), TURN) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [(("node", "worker.js"), None), (("node", "mcp-server.js"), (Cause.MCP_SERVER, 101.0))],
)
def test_a_small_local_request_waits_for_a_server_only_if_it_is_one(
    words: tuple[str, ...], expected: tuple[Cause, float] | None
) -> None:
    ends = [
        {"inode": 7, "local_port": 5, "remote_port": 9, "sent_bytes": 400, "sent": 101.0},
        {"inode": 8, "local_port": 9, "remote_port": 5, "pid": 2},
    ]
    sockets = [end | {"loopback": True} for end in ends]
    child = {"pid": 2, "words": words, "age_seconds": 500.0}
    assert judged(look(104.0, sockets, [child]), look(106.0, sockets, [child])) == expected


@every(
    ("requests", "tries"),
    [
        ([(50_000, 3000), (100_000, 3570), (150_000, 4140)], 3),
        # Two between two looks.
        ([(50_000, 3000), (100_000, 3570), (200_000, 4710)], 4),
        ([(50_000, 3000), (100_000, 3570)], None),
        ([(50_000, 3000), (100_000, 3570), (153_000, 4140)], None),
        ([(50_000, 3000), (100_000, 3570), (150_000, 40_000)], None),
        ([(50_000, 3000), (100_000, 3000), (150_000, 3000)], None),
        # Two or three between any two looks.
        ([(50_000, 300), (150_000, 900), (300_000, 1800)], 6),
        ([(50_000, 300), (150_000, 900), (300_700, 1800)], None),
        # A look while the next one was sent, or before it was answered.
        ([(50_000, 300), (80_000, 300), (100_000, 600), (150_000, 900)], 3),
        ([(50_000, 300), (100_000, 300), (150_000, 900), (200_000, 1200)], 4),
        # An answer that is read by a later look belongs to its request.
        ([(50_000, 0), (50_000, 9), (100_000, 18), (150_000, 27)], 3),
        # A connection that is used again and a new one are counted together.
        ([(50_000, 300), (100_000, 600), (50_000, 300, 8)], 3),
        # With TLS, which comes ahead of a connection's first request.
        ([(51_800, 3000), (101_800, 3570), (51_800, 3000, 8), (101_800, 3570, 8)], 4),
        ([(50_000, 300), (90_000, 600), (50_000, 300, 8)], None),
        ([(50_000, 40_000), (100_000, 40_300), (50_000, 300, 8)], None),
        # A long answer of which each look shows a part.
        ([(50_000, 300), (100_000, 600), (100_000, 40_000), (150_000, 40_300)], None),
    ],
)
def test_tries_are_counted_if_each_answer_has_an_errors_size(
    requests: list[tuple[int, ...]], tries: int | None
) -> None:
    judge = Judge()
    cause = None
    sockets: dict[int, Row] = {}
    for at, (sent, received, *others) in enumerate(requests):
        moment = 101.0 + 2 * at
        inode = others[0] if others else 7
        row = {"inode": inode, "sent_bytes": sent, "received_bytes": received}
        sockets[inode] = row | {"sent": moment - 0.5, "received": moment}
        cause = judge.judge(look(moment, list(sockets.values())), TURN)
    assert (cause and (cause.cause, cause.tries)) == (tries and (Cause.TRIES, tries))


SLEEP = {"pid": 2, "started": 102.0, "words": ("sleep", "600")}


@every(
    ("sockets", "processes", "program"),
    [
        ([], [SLEEP], "sleep"),
        ([ANSWERED], [SLEEP], "sleep"),
        # A tool's own connection is not the agent's.
        ([ANSWERED, REQUEST | {"inode": 8, "pid": 2, "sent": 103.0}], [SLEEP], "sleep"),
        # What was started before the model had answered is a part of the agent.
        ([ANSWERED], [SLEEP | {"started": 100.2}], None),
        ([], [SLEEP | {"started": 50.0}], None),
        ([], [SLEEP | {"state": "Z"}], None),
        ([], [SLEEP | {"words": ()}], None),
        ([], [SLEEP | {"words": ("node", "/x/mcp-server/index.js")}], None),
        ([ANSWERED | {"pid": 2}], [SLEEP], None),
        # A worker of the agent's own, and what it runs.
        ([], [SLEEP | {"words": ("node", "/opt/agent.js", "worker")}], None),
        (
            [],
            [
                SLEEP | {"words": ("node", "/opt/agent.js", "worker")},
                {"pid": 3, "parent": 2, "started": 102.1, "words": ("make",)},
            ],
            "make",
        ),
        (
            [],
            [
                SLEEP | {"words": ("/bin/sh", "-c", "npm test")},
                {"pid": 3, "parent": 2, "started": 102.1, "words": ("npm test",)},
            ],
            "npm test",
        ),
        ([], [SLEEP | {"words": ("bash", "-c", "read")}], "bash"),
    ],
)
def test_a_tool_is_a_program_started_once_the_model_has_answered(
    sockets: list[Row], processes: list[Row], program: str | None
) -> None:
    judge = Judge()
    judge.judge(look(104.0, sockets, processes), TURN)
    cause = judge.judge(look(106.0, sockets, processes), TURN)
    assert (cause.program if cause else None) == program
    if cause and program == "sleep":
        assert (cause.cause, cause.since) == (Cause.TOOL, 102.0)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"cpu_seconds": 5.0}, {"cpu_seconds": 7.0}, Cause.BUSY),
        ({"cpu_seconds": 5.0}, {"cpu_seconds": 5.5}, None),
        ({"cpu_seconds": 5.0}, {"cpu_seconds": 5.5, "queued_seconds": 1.3}, Cause.BUSY),
        ({"state": "T"}, {"state": "T"}, Cause.STOPPED),
        ({"state": "D"}, {"state": "D"}, Cause.DISK),
        ({"state": "S"}, {"state": "D"}, None),
    ],
)
def test_states_of_the_agents_own_process(first: Row, second: Row, expected: Cause | None) -> None:
    worker = {"pid": 2, "started": 50.0}
    looks = look(104.0, [], [worker | first]), look(106.0, [], [worker | second])
    result = judged(*looks)
    assert (result[0] if result else None) == expected
    assert result is None or result[1] == 104.0


# --- the looks


class System:
    """A system with an agent of two processes, and one connection."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 104.0
        self.refuses = False
        self.descriptors_read = 0
        self.inodes = [7, 8]
        monkeypatch.setattr(silence, "read_tree", self.tree)
        monkeypatch.setattr(silence, "read_tcp_sockets", self.sockets)
        monkeypatch.setattr(silence, "sockets_of", self.sockets_of)

    def tree(self, root: int) -> list[Process]:
        return [Process(pid=root, age_seconds=99.0), Process(pid=root + 1, parent=root)]

    def sockets(self) -> list[TcpSocket]:
        if self.refuses:
            raise PermissionError(1, "refused")
        ago = {"sent_ago": self.now - 101.0, "received_ago": self.now - 50.0}
        return [
            TcpSocket(inode=inode, sent_bytes=9000, local_port=inode, **ago)
            for inode in self.inodes
        ]

    def sockets_of(self, pid: int) -> list[int]:
        self.descriptors_read += 1
        return [7] if pid == 1 else [99]

    def look(self, looks: SilenceLooks, at: float, root: int = 1, **more: int) -> Cause | None:
        self.now = at
        cause = looks.look(root, [TURN], at, **more)
        return None if cause is None else cause.cause


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> System:
    return System(monkeypatch)


def test_two_looks_prove_a_cause_and_descriptors_are_read_once(system: System) -> None:
    looks = SilenceLooks()
    assert system.look(looks, 104.0) is None
    assert not looks.is_due(104.0 + LOOK_SECONDS - 0.1)
    assert looks.is_due(104.0 + 30)
    assert system.look(looks, 106.0) is Cause.PROVIDER
    assert system.descriptors_read == 2
    system.inodes.append(9)
    system.look(looks, 108.0)
    assert system.descriptors_read == 4


def test_a_look_before_a_timer_may_follow_a_costly_one(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = iter([0.0, 0.02])
    monkeypatch.setattr(silence, "time", SimpleNamespace(thread_time=lambda: next(readings)))
    looks = SilenceLooks()
    system.look(looks, 104.0)
    assert not looks.is_due(104.0 + LOOK_SECONDS)
    assert looks.is_due(104.0 + LOOK_SECONDS, for_timer=True)
    assert not looks.is_due(104.0 + LOOK_SECONDS - 0.1, for_timer=True)


def test_no_cause_is_found_in_the_event_streams_connection_for_several_turns_or_another_agent(
    system: System,
) -> None:
    looks = SilenceLooks()
    system.look(looks, 104.0, port=7)
    assert system.look(looks, 106.0, port=7) is None
    looks = SilenceLooks()
    looks.look(1, [TURN, TURN], 104.0)
    assert looks.look(1, [TURN, TURN], 106.0) is None
    looks = SilenceLooks()
    system.look(looks, 104.0)
    assert system.look(looks, 106.0, root=5) is None


def test_a_refusal_leaves_the_processes(system: System) -> None:
    system.refuses = True
    looks = SilenceLooks()
    assert system.look(looks, 104.0) is None
    system.refuses = False
    assert system.look(looks, 106.0) is None
    assert system.descriptors_read == 0


# --- names of programs


@every(
    ("words", "name"),
    [
        (["npm", "test", "--token=x"], "npm test"),
        (["npm run test"], "npm run"),
        (["node", "/usr/lib/npm-cli.js", "test"], "npm test"),
        (["node", "/app/server.js", "secret"], "server"),
        (["python3", "-m", "pytest", "-k", "x"], "python3 -m pytest"),
        (["python3.12", "-c", "import x"], "python3.12"),
        (["python", "build.py"], "build"),
        (["python", "-m"], "python"),
        (["/usr/bin/git", "-C", "/home", "push"], "git"),
        (["git", "push", "https://user:pass@host"], "git push"),
        (["docker", "Secret1"], "docker"),
        (["-bash"], "bash"),
        (["PASSWORD=x y"], None),
        (["§"], None),
        ([], None),
    ],
)
def test_a_programs_name_has_no_arguments_except_a_plain_command(
    words: list[str], name: str | None
) -> None:
    assert program_of(words) == name


def test_servers_and_shells_are_recognised() -> None:
    assert is_server(["node", "/x/mcp-server.js"])
    assert is_server(["typescript-language-server", "--stdio"])
    assert not is_server(["sh", "-c", "grep mcp"])
    assert not is_server(["npm", "test"])
    assert starts_others(["/bin/sh", "-c", "x"])
    assert starts_others(["bwrap", "--ro-bind", "/", "/", "--", "make"])
    assert starts_others(["/opt/agent/agent-linux-sandbox", "--", "make"])
    assert not starts_others([])


# --- an observed agent

SENT = 100.0
OPEN = {"event": "request", "pid": 7, "id": 1, "path": "/v1/messages", "model": True}


class Observed(Sources):
    """Sources of an agent that has one request open, and nothing else to look at."""

    def __init__(self, seen: SilenceCause | None) -> None:
        self.causes: list[Cause | None] = []
        self.lines = [OPEN]
        observer = SimpleNamespace(read=self._lines, close=print)
        start: Any = SimpleNamespace(port=None, group=1, observer=observer)
        turn = SilentTurn("s", SENT - 1, SENT - 1, number=1)
        connection: Any = SimpleNamespace(
            receive_hint=lambda *_: [],
            expects_hints=lambda **_: None,
            silent_turns=lambda *_: [turn],
            receive_silence=lambda cause, _: self.causes.append(cause and cause.cause),
        )
        loop: Any = SimpleNamespace(relay=SimpleNamespace(apply=lambda _: None))
        console: Any = SimpleNamespace(say=pytest.fail)
        super().__init__(connection, loop, start, console, lambda _: None, enabled=True)
        self.may_look = True
        looks: Any = SimpleNamespace(
            is_due=lambda *_, **__: self.may_look, look=lambda *_, **__: seen
        )
        self._silences = looks
        self.read_observer(SENT)
        self.look_at_processes(SENT + 5)

    def _lines(self) -> list[bytes]:
        lines, self.lines = self.lines, []
        return [json.dumps(line).encode() for line in lines]

    def look_at_processes(self, now: float) -> None:
        self._look_at_processes(now, 1.0, for_timer=False)


@every(
    ("tool_since", "cause"),
    [
        (None, Cause.PROVIDER),
        (SENT - 1, Cause.PROVIDER),
        # The open request was for a title, say: the turn goes on.
        (SENT + 1, Cause.TOOL),
    ],
)
def test_a_program_started_since_the_open_request_is_the_cause(
    tool_since: float | None, cause: Cause
) -> None:
    tool = None if tool_since is None else SilenceCause(cause=Cause.TOOL, since=tool_since)
    assert Observed(tool).causes == [cause]


def test_an_ended_request_is_not_a_cause_until_the_processes_are_read() -> None:
    observed = Observed(None)
    observed.lines = [{**OPEN, "event": "error", "name": "TypeError"}]
    observed.read_observer(SENT + 6)
    observed.may_look = False
    for _ in range(2):
        observed.look_at_processes(SENT + 7)
    assert observed.causes == [Cause.PROVIDER, None]
