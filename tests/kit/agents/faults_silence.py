"""Turns that are silent for one reason each; the modes' first argument is a port on loopback."""

from __future__ import annotations

import socket
import subprocess

from tests.kit.agents.modes import at_prompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.kit.agents.acp_agent import Agent

REQUEST = b"x" * 40_000


def _connect(agent: Agent) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(agent.arguments[0])))


@at_prompt
def waits_for_provider(agent: Agent, prompt: object) -> None:
    """Sends 40 KB, and ends the turn well once there is an answer."""
    with _connect(agent) as provider:
        provider.sendall(REQUEST)
        agent.say(provider.recv(4096).decode())
    agent.end_turn(prompt)


@at_prompt
def runs_child(_agent: Agent, _prompt: object) -> None:
    """Runs a program that takes long, in a shell, with a secret as its argument."""
    subprocess.run(["sh", "-c", "sleep 600; : sk-secret"], check=False, stdin=subprocess.DEVNULL)
