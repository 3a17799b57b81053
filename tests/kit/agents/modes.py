"""The table of modes. A mode is a function; its name is the mode's, its docstring what it does."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.agents.acp_agent import Agent

AT_START: dict[str, Callable[[Agent], None]] = {}
"""Run once, before the first message is read."""

AT_PROMPT: dict[str, Callable[[Agent, object], None]] = {}
"""Run at a prompt that says `fail`, with its id."""


def at_start(mode: Callable[[Agent], None]) -> Callable[[Agent], None]:
    """Register a mode that prepares the agent, or takes its place."""
    AT_START[_name(mode)] = mode
    return mode


def at_prompt(mode: Callable[[Agent, object], None]) -> Callable[[Agent, object], None]:
    """Register a mode whose fault is in the turn."""
    AT_PROMPT[_name(mode)] = mode
    return mode


def _name(mode: Callable[..., None]) -> str:
    return mode.__name__.replace("_", "-")
