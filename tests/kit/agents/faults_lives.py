"""Agents whose fault depends on which of their lives they are in. All need a memory."""

from __future__ import annotations

import json
import signal
import subprocess

from lastword.kit.agent.plain import die, start_child, write_all
from tests.kit.agents.acp_agent import ignore
from tests.kit.agents.faults_order import ask_permission
from tests.kit.agents.modes import at_prompt, at_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.kit.agents.acp_agent import Agent


@at_start
def forgets(agent: Agent) -> None:
    """Dies of SIGKILL at a prompt, and does not know its session afterwards."""
    agent.on_fail = _die
    error = {"code": -32602, "message": "unknown session"}
    agent.requests["session/load"] = lambda load, _params: agent.answer(load, error=error)


@at_start
def silent_at_later_starts(agent: Agent) -> None:
    """Dies of SIGKILL at a prompt; later lives read, and do not answer `initialize`."""
    agent.on_fail = _die
    if agent.life > 1:
        agent.requests["initialize"] = ignore


@at_start
def asks_and_dies_once(agent: Agent) -> None:
    """Asks for a permission and dies; in later lives it says in its text what it was answered."""
    agent.on_fail = _ask_and_die if agent.life == 1 else _ask_and_tell


def _ask_and_die(agent: Agent, _prompt: object) -> None:
    ask_permission(agent)
    die(signal.SIGKILL)


def _ask_and_tell(agent: Agent, prompt: object) -> None:
    answer = agent.await_answer(ask_permission(agent))
    agent.say(json.dumps(answer["result"]))
    agent.end_turn(prompt)


@at_prompt
def leaves_stubborn_child(agent: Agent, _prompt: object) -> None:
    """Dies of SIGKILL and leaves a child in its group that ignores SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    start_child(60, stdout=subprocess.DEVNULL)
    _die(agent, None)


@at_start
def says_its_life(agent: Agent) -> None:
    """Writes the number of its life to stderr, and dies of SIGKILL at a prompt that says fail."""
    write_all(2, f"life {agent.life}\n".encode())
    agent.on_fail = _die


@at_start
def many_frames_in_first_life(agent: Agent) -> None:
    """Sends 1.5 MB of frames at a prompt and dies of SIGKILL; its later lives are well."""
    if agent.life == 1:
        agent.on_fail = _many_frames


def _many_frames(agent: Agent, _prompt: object) -> None:
    for number in range(1500):
        agent.say(f"{number:08}" + "y" * 900)
    _die(agent, None)


def _die(_agent: Agent, _prompt: object) -> None:
    die(signal.SIGKILL)
