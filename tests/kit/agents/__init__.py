"""Agents that misbehave on purpose, on the standard library alone and quick to start."""

import sys

MISBEHAVING_AGENT = (sys.executable, "-S", "-m", "tests.kit.agents.agent")
"""The command, up to the mode; with `--list` it names the modes."""
