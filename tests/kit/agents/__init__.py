"""Agents that misbehave on purpose, each the kit's healthy agent but for one thing."""

import sys

MISBEHAVING_AGENT = (sys.executable, "-m", "tests.kit.agents.agent")
"""The command, up to the mode."""
