"""`lastword agent` as a process: a client that leaves, a terminal, an interrupt."""

from __future__ import annotations

import signal
import sys

from tests.kit.client import Client
from tests.kit.command import at_a_terminal, in_a_process


def test_a_client_that_leaves_without_a_word_is_not_a_failure() -> None:
    done = in_a_process("agent", "healthy")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_person_at_a_terminal_sees_what_the_command_expects() -> None:
    command = [sys.executable, "-m", "lastword", "agent", "healthy"]
    done = at_a_terminal(command, b"hello\n\x04")
    assert done.returncode == 0
    assert b"reading ACP messages from stdin" in done.stderr
    assert b"is not valid JSON" in done.stdout


def test_an_interrupt_ends_the_agent_quietly() -> None:
    client = Client([sys.executable, "-m", "lastword", "agent", "healthy"])
    try:
        client.initialize()
        client.signal(signal.SIGINT)
        assert (client.wait(), client.said) == (0, "")
    finally:
        client.kill()
