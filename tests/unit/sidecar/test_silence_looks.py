"""Looks at a silent agent: how often, whose connections, and what a refusal leaves."""

from __future__ import annotations

import pytest

from lastword.core.link.evidence import SilentTurn
from lastword.core.link.facts import Cause
from lastword.platform.process_tree import Process, TcpSocket
from lastword.sidecar import silence
from lastword.sidecar.silence import LOOK_SECONDS, SilenceLooks

TURN = SilentTurn("s", 100.0, 100.0)


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


class Clock:
    """The time of a thread, as a list of readings."""

    def __init__(self, readings: list[float]) -> None:
        self._readings = readings

    def thread_time(self) -> float:
        return self._readings.pop(0)


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> System:
    return System(monkeypatch)


def look(looks: SilenceLooks, system: System, at: float, **more: int) -> Cause | None:
    system.now = at
    cause = looks.look(more.pop("root", 1), [TURN], at, **more)
    return None if cause is None else cause.cause


def test_two_looks_prove_a_cause_and_descriptors_are_read_once(system: System) -> None:
    looks = SilenceLooks()
    assert look(looks, system, 104.0) is None
    assert not looks.is_due(104.0 + LOOK_SECONDS - 0.1)
    assert looks.is_due(104.0 + 30)
    assert look(looks, system, 106.0) is Cause.PROVIDER
    assert system.descriptors_read == 2
    system.inodes.append(9)
    look(looks, system, 108.0)
    assert system.descriptors_read == 4


def test_a_look_before_a_timer_may_follow_a_costly_one(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silence, "time", Clock([0.0, 0.02]))
    looks = SilenceLooks()
    look(looks, system, 104.0)
    assert not looks.is_due(104.0 + LOOK_SECONDS)
    assert looks.is_due(104.0 + LOOK_SECONDS, for_timer=True)
    assert not looks.is_due(104.0 + LOOK_SECONDS - 0.1, for_timer=True)


def test_the_event_streams_connection_is_ignored(system: System) -> None:
    looks = SilenceLooks()
    look(looks, system, 104.0, port=7)
    assert look(looks, system, 106.0, port=7) is None


def test_a_cause_is_given_to_none_of_several_turns(system: System) -> None:
    looks = SilenceLooks()
    looks.look(1, [TURN, TURN], 104.0)
    assert looks.look(1, [TURN, TURN], 106.0) is None


def test_a_refusal_leaves_the_processes(system: System) -> None:
    system.refuses = True
    looks = SilenceLooks()
    assert look(looks, system, 104.0) is None
    system.refuses = False
    assert look(looks, system, 106.0) is None
    assert system.descriptors_read == 0


def test_another_agent_is_examined_from_the_start(system: System) -> None:
    looks = SilenceLooks()
    look(looks, system, 104.0)
    assert look(looks, system, 106.0, root=5) is None
