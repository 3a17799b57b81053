"""`agent [--memory FOLDER] MODE [ARGUMENT...]`: an ACP agent that misbehaves in one way.

With a memory it brings its session back when it is started again.
"""

from __future__ import annotations

import sys

from tests.kit.agents import faults
from tests.kit.agents.acp_agent import AT_START, Agent, Memory


def main(words: list[str]) -> int:
    memory = None
    if words[0] == "--memory":
        memory, words = Memory(words[1]), words[2:]
    name, *arguments = words
    agent = Agent(arguments, memory)
    if name in AT_START:
        AT_START[name](agent)
    else:
        agent.on_fail = faults.AT_PROMPT[name]
    agent.run()
    return agent.exit_status


sys.exit(main(sys.argv[1:]))
