"""The options of `pytest --pyargs lastword.conformance`.

Owns their registration. pytest loads this module in every run where lastword is installed, so it
imports nothing. It registers the options only for the conformance tests, so their names stay free
in all other runs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest

_OPTIONS = {
    "--agent": "the agent's command, as one word for a shell",
    "--preset": "a recipe that points the agent to the kit's provider (opencode, claude, …)",
    "--scenario-prompts": "a prompt with {name} in it, by which the agent plays a scenario",
    "--prompt": "the text of every other prompt",
    "--protocol": "the protocol version to speak: 1 or 2",
    "--only": "the checks to run, by name or requirement, with commas between",
    "--answer-limit": "how long an answer that needs no model may take: 30, 90s or 5m",
    "--turn-limit": "how long a failing turn may take to end: 30, 90s or 5m",
}


def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    """Register the options, before the command line is finally parsed."""
    ours = {"lastword.conformance", "lastword.conformance.test_agent"}
    if ours.isdisjoint(word.partition("::")[0] for word in args):
        return
    group = parser.getgroup("lastword", "conformance of an ACP agent")
    for name, what in _OPTIONS.items():
        group.addoption(name, default=None, help=what)
    group.addoption(
        "--provider-env",
        action="append",
        default=[],
        help="a variable that points the agent to the kit's provider: NAME or NAME=TEMPLATE",
    )
