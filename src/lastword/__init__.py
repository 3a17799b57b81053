"""No ACP turn ends in silence: typed errors between coding agents and their editors.

The public names are those in `__all__` of this module and of `lastword.client`,
`lastword.client.acp`, `lastword.client.model`, `lastword.client.reconnect`, `lastword.errors` and
`lastword.testing`. Every other module is private, and may change in any version.
"""

from lastword._version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lastword.core.link.options import Options
    from lastword.inprocess.public import (
        Action,
        AgentError,
        ErrorType,
        Origin,
        Phase,
        RetrySafety,
        TurnFacts,
        classify,
    )
    from lastword.inprocess.retry import Retry, retry
    from lastword.inprocess.sdk import guard, run_agent
    from lastword.inprocess.serve.server import serve
    from lastword.inprocess.turn import CurrentTurn, current_turn
else:
    _HOMES = {
        "CurrentTurn": "lastword.inprocess.turn",
        "Options": "lastword.core.link.options",
        "Retry": "lastword.inprocess.retry",
        "current_turn": "lastword.inprocess.turn",
        "guard": "lastword.inprocess.sdk",
        "retry": "lastword.inprocess.retry",
        "run_agent": "lastword.inprocess.sdk",
        "serve": "lastword.inprocess.serve.server",
    }

    def __getattr__(name: str) -> object:
        """Import a public name on first use.

        `lastword run` imports this package before it spawns the agent for which an editor waits;
        the modules behind these names take 33 ms to import (half of it `typing` and msgspec).
        """
        if name not in __all__ and name not in _HOMES:
            raise AttributeError(f"module 'lastword' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415  (the figure above)

        value: object = getattr(import_module(_HOMES.get(name, "lastword.inprocess.public")), name)
        globals()[name] = value
        return value


__all__ = [
    "Action",
    "AgentError",
    "CurrentTurn",
    "ErrorType",
    "Options",
    "Origin",
    "Phase",
    "Retry",
    "RetrySafety",
    "TurnFacts",
    "classify",
    "current_turn",
    "guard",
    "retry",
    "run_agent",
    "serve",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
