"""`agent.py MODE [ARGUMENT...]`: an ACP agent that misbehaves in one way; `--list` names them."""

from __future__ import annotations

import sys

import faults_process
import faults_streams
import faults_turn
from acp_agent import Agent
from modes import AT_PROMPT, AT_START

__all__ = ["faults_process", "faults_streams", "faults_turn"]


def main() -> int:
    """Run a mode."""
    name, arguments = sys.argv[1], sys.argv[2:]
    if name == "--list":
        for mode, function in sorted((AT_START | AT_PROMPT).items()):
            sys.stdout.write(f"{mode:28} {(function.__doc__ or '').splitlines()[0]}\n")
        return 0
    agent = Agent(arguments)
    if name in AT_START:
        AT_START[name](agent)
    else:
        agent.on_fail = AT_PROMPT[name]
    return agent.run()


sys.exit(main())
