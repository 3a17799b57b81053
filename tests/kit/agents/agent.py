"""`agent [--memory FOLDER] MODE [ARGUMENT...]`: an ACP agent that misbehaves in one way.

`--list` names the modes. With a memory it brings its session back when it is started again.
"""

from __future__ import annotations

import sys

from tests.kit.agents import faults_process, faults_streams, faults_turn
from tests.kit.agents.acp_agent import AT_PROMPT, AT_START, Agent, Memory

__all__ = ["faults_process", "faults_streams", "faults_turn"]


def main() -> int:
    words = sys.argv[1:]
    memory = None
    if words[0] == "--memory":
        memory, words = Memory(words[1]), words[2:]
    name, arguments = words[0], words[1:]
    if name == "--list":
        for mode, function in sorted((AT_START | AT_PROMPT).items()):
            sys.stdout.write(f"{mode:28} {(function.__doc__ or '').splitlines()[0]}\n")
        return 0
    agent = Agent(arguments, memory)
    if name in AT_START:
        AT_START[name](agent)
    else:
        agent.on_fail = AT_PROMPT[name]
    agent.run()
    return agent.exit_status


sys.exit(main())
