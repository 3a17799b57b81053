"""The judgement of looks at a silent agent, on tables of processes and connections."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.link.evidence import SilentTurn
from lastword.core.link.facts import Cause
from lastword.platform.process_tree import Process
from lastword.platform.tcp_sockets import SYN_SENT, TcpSocket
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
def test_connections(sockets: list[Row], expected: tuple[Cause, float] | None) -> None:
    assert judged(look(104.0, sockets), look(106.0, sockets)) == expected


def test_one_look_proves_nothing() -> None:
    assert judged(look(106.0, [REQUEST])) is None


def test_a_process_that_cannot_be_seen_has_no_cause() -> None:
    assert judged(Look(104.0), Look(106.0)) is None


def test_an_answer_that_is_still_coming_in_accuses_nobody() -> None:
    streams = ANSWERED | {"received_bytes": 3200}
    hangs = REQUEST | {"inode": 8}
    assert judged(look(104.0, [ANSWERED, hangs]), look(106.0, [streams, hangs])) is None


def test_what_a_connection_sent_before_the_prompt_is_not_the_request() -> None:
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
def test_a_small_request_to_the_agents_own_process_waits_for_a_server_if_it_is_one(
    words: tuple[str, ...], expected: tuple[Cause, float] | None
) -> None:
    ends = [
        {"inode": 7, "local_port": 5, "remote_port": 9, "sent_bytes": 400, "sent": 101.0},
        {"inode": 8, "local_port": 9, "remote_port": 5, "pid": 2},
    ]
    sockets = [end | {"loopback": True} for end in ends]
    child = {"pid": 2, "words": words, "age_seconds": 500.0}
    assert judged(look(104.0, sockets, [child]), look(106.0, sockets, [child])) == expected


def test_a_connection_to_a_process_of_the_agents_own_is_not_the_providers() -> None:
    ends = [
        REQUEST | {"loopback": True, "local_port": 5, "remote_port": 6},
        {"inode": 8, "pid": 2, "loopback": True, "local_port": 6, "remote_port": 5},
    ]
    looks = [look(at, ends, [{"pid": 2, "started": 1.0}]) for at in (104.0, 106.0)]
    assert judged(*looks) is None


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
    ],
)
def test_tries_are_counted_where_each_was_answered_with_an_errors_size(
    requests: list[tuple[int, int]], tries: int | None
) -> None:
    judge = Judge()
    cause = None
    for at, (sent, received) in enumerate(requests):
        moment = 101.0 + 2 * at
        row = {"sent_bytes": sent, "received_bytes": received}
        cause = judge.judge(look(moment, [row | {"sent": moment - 0.5, "received": moment}]), TURN)
    assert (cause.tries if cause else None) == tries


@pytest.mark.parametrize(
    ("requests", "tries"),
    [
        ([(7, 50_000, 300), (7, 100_000, 600), (8, 50_000, 300)], 3),
        # With TLS, which comes ahead of a connection's first request.
        ([(7, 51_800, 3000), (7, 101_800, 3570), (8, 51_800, 3000), (8, 101_800, 3570)], 4),
        ([(7, 50_000, 300), (7, 100_500, 600), (8, 50_000, 300)], None),
        ([(7, 50_000, 300), (7, 90_000, 600), (8, 50_000, 300)], None),
        ([(7, 50_000, 40_000), (7, 100_000, 40_300), (8, 50_000, 300)], None),
    ],
)
def test_tries_on_a_connection_used_again_and_on_new_ones_are_counted_together(
    requests: list[tuple[int, int, int]], tries: int | None
) -> None:
    judge = Judge()
    cause = None
    sockets: dict[int, Row] = {}
    for at, (inode, sent, received) in enumerate(requests):
        moment = 101.0 + 2 * at
        row = {"inode": inode, "sent_bytes": sent, "received_bytes": received}
        sockets[inode] = row | {"sent": moment - 0.5, "received": moment}
        cause = judge.judge(look(moment, list(sockets.values())), TURN)
    assert (cause.tries if cause else None) == tries


def test_an_answer_that_is_read_by_a_later_look_belongs_to_its_request() -> None:
    judge = Judge()
    cause = None
    for at, (sent, received) in enumerate([(50_000, 0), (50_000, 9), (100_000, 18), (150_000, 27)]):
        row = {"sent_bytes": sent, "received_bytes": received}
        moment = 101.0 + 2 * at
        cause = judge.judge(look(moment, [row | {"sent": moment - 0.5, "received": moment}]), TURN)
    assert cause is not None
    assert (cause.cause, cause.tries) == (Cause.TRIES, 3)


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
