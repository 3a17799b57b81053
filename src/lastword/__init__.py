"""No ACP turn ends in silence: typed errors between coding agents and their editors."""

from lastword._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lastword.public import (
        Action,
        AgentError,
        ErrorType,
        Origin,
        Phase,
        RetrySafety,
        TurnFacts,
        classify,
    )
else:

    def __getattr__(name: str) -> object:
        """Load a public name when it is first asked for.

        `lastword run` imports this package before it spawns the agent that an editor waits for;
        what is behind these names takes 33 ms to load (`typing` and msgspec are half of that).
        """
        if name not in __all__:
            raise AttributeError(f"module 'lastword' has no attribute {name!r}")
        from lastword import public  # noqa: PLC0415  (the figure above)

        value: object = getattr(public, name)
        globals()[name] = value
        return value


__all__ = [
    "Action",
    "AgentError",
    "ErrorType",
    "Origin",
    "Phase",
    "RetrySafety",
    "TurnFacts",
    "__version__",
    "classify",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
