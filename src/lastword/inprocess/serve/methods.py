"""An author's handlers: which ones are required, and which params each of them takes.

Owns the check of what is passed to `serve`, and the messages that say what is wrong with it.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from lastword.core.protocol import acp

Handler: TypeAlias = Callable[..., Awaitable[Any]]

REQUIRED = ("session/new", acp.PROMPT)

_CUTOFF = 0.85
"""How alike a name is that is misspelled: `session/load` is not `session/new`."""

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEAM = re.compile(r"(?<=[A-Za-z0-9])_([a-z0-9])")
_BY_NAME = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY})
_BY_PLACE = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY})


class Method:
    """A handler, and what it takes.

    Attributes:
        handler: What the author wrote.
        needed: The params without which it cannot be called, in snake_case.
    """

    __slots__ = ("_accepts_all", "_first", "_names", "handler", "needed")

    def __init__(self, name: str, handler: Handler) -> None:
        """Raise TypeError, naming the method, for what cannot be called as a handler is."""
        if not _is_async(handler):
            what = "an asynchronous generator" if inspect.isasyncgenfunction(handler) else handler
            raise TypeError(f'the handler of "{name}" is an `async def` function, not {what!r}')
        first, *rest = inspect.signature(handler).parameters.values() or (None,)
        by_place = _BY_PLACE | {inspect.Parameter.VAR_POSITIONAL}
        unfit = [p.name for p in rest if p.kind is p.POSITIONAL_ONLY and p.default is p.empty]
        if first is None or first.kind not in by_place or unfit:
            raise TypeError(
                f'the handler of "{name}" takes the client as its first argument, and the '
                "message's params by name: async def handler(client, session_id)"
            )
        self.handler: Handler = handler
        self._first = first.name if first.kind is first.POSITIONAL_OR_KEYWORD else ""
        self._names = frozenset(p.name for p in rest if p.kind in _BY_NAME)
        self._accepts_all = any(p.kind is p.VAR_KEYWORD for p in rest)
        self.needed: tuple[str, ...] = tuple(
            p.name for p in rest if p.kind in _BY_NAME and p.default is p.empty
        )

    def arguments(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of a message's params with which the handler is called."""
        named = {snake_case(key): value for key, value in params.items()}
        # A param named like the first argument would be passed twice.
        named.pop(self._first, None)
        if self._accepts_all:
            return named
        return {name: value for name, value in named.items() if name in self._names}


def read(methods: Mapping[str, Handler]) -> dict[str, Method]:
    """Check what an author passed to `serve`.

    Raises:
        TypeError: It is not a mapping of names to asynchronous functions.
        ValueError: A method is missing without which no turn is possible.
    """
    if not isinstance(methods, Mapping):
        raise TypeError(
            "serve takes a mapping of ACP method names to `async def` functions, not "
            f"{type(methods).__name__}"
        )
    for name in methods:
        if not isinstance(name, str):
            raise TypeError(f"the name of a method is a str, not {name!r}")
    missing = [name for name in REQUIRED if name not in methods]
    if missing:
        words = " and ".join(f'"{name}"' for name in missing)
        near = (difflib.get_close_matches(name, methods, 1, _CUTOFF) for name in missing)
        meant = "".join(f'; is "{name}" misspelled?' for names in near for name in names)
        raise ValueError(
            f"serve needs a handler of {words}: without it no turn can be taken{meant}"
        )
    own = {name: Method(name, handler) for name, handler in methods.items()}
    return {acp.INITIALIZE: Method(acp.INITIALIZE, initialize)} | own


async def initialize(_: object) -> dict[str, Any]:
    """Answer for an agent that says nothing about itself."""
    return {"protocolVersion": acp.V1.version, acp.V1.agent_capabilities: {}}


def snake_case(key: str) -> str:
    """Return a name as handlers take it: `sessionId` becomes `session_id`."""
    return _WORD.sub("_", key).lower()


def camel_case(name: str) -> str:
    """Return a name as it is sent: `session_id` becomes `sessionId`. A leading `_` stays."""
    return _SEAM.sub(lambda letter: letter[1].upper(), name)


def _is_async(handler: object) -> bool:
    if inspect.iscoroutinefunction(handler):
        return True
    return callable(handler) and inspect.iscoroutinefunction(type(handler).__call__)
