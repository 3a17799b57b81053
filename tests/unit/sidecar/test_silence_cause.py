"""The judgement of looks at a silent agent, on tables of processes and connections."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.link.evidence import SilentTurn
from lastword.core.link.facts import Cause
from lastword.platform.process_tree import SYN_SENT, Process, TcpSocket
from lastword.sidecar.silence import Judge, Look, OwnSocket
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
        ([REQUEST | {"received_bytes": 5000, "received": 100.3}], PROVIDER),
        # What arrives within one round trip was sent before the request: a session's ticket.
        ([REQUEST | {"received_bytes": 5000, "received": 100.52, "rtt_seconds": 0.02}], PROVIDER),
        ([ANSWERED], None),
        ([REQUEST | {"received_bytes": 200, "received": 100.52, "loopback": True}], None),
        ([REQUEST | {"sent": 99.0}], None),
        ([REQUEST | {"sent_bytes": 900}], None),
        ([ANSWERED, REQUEST | {"inode": 8, "sent_bytes": 9000}], None),
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
        ([(50_000, 300), (100_000, 600), (150_000, 900), (200_000, 900)], 3),
        ([(50_000, 300), (80_000, 300), (100_000, 600), (150_000, 900)], 3),
        ([(50_000, 300), (100_000, 300), (150_000, 900), (200_000, 1200)], 4),
        # An answer that is read by a later look belongs to its request.
        ([(50_000, 0), (50_000, 9), (100_000, 18), (150_000, 27)], 3),
        # A connection that is used again and a new one are counted together.
        ([(50_000, 300), (100_000, 600), (50_000, 300, 8)], 3),
        # With TLS, which comes ahead of a connection's first request.
        ([(51_800, 3000), (101_800, 3570), (51_800, 3000, 8), (101_800, 3570, 8)], 4),
        ([(50_000, 300), (100_500, 600), (50_000, 300, 8)], None),
        ([(50_000, 300), (90_000, 600), (50_000, 300, 8)], None),
        ([(50_000, 40_000), (100_000, 40_300), (50_000, 300, 8)], None),
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


def test_a_tools_own_connection_is_not_the_agents() -> None:
    upload = REQUEST | {"inode": 8, "pid": 2, "sent": 103.0}
    looks = [look(at, [ANSWERED, upload], [SLEEP]) for at in (104.0, 106.0)]
    assert judged(*looks) == (Cause.TOOL, 102.0)


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
