"""This process's own requests to model providers, and the turns to which they belong.

Owns the hooks in HTTP libraries (those of `observer/python`), which are set only for
`evidence="inside"`. A request belongs to the turn in whose context it is made. So silent retries of
a handler's HTTP client are recognised even if other turns run at the same time.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Any

from lastword.core.protocol import acp
from lastword.inprocess.request import CURRENT
from lastword.observer.pipe import MODEL_PATH, PYTHON_FOLDER
from lastword.observer.requests import ModelRequests

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.inprocess.request import Request

MODULE = "_lastword_observer"


class TurnRequests:
    """The model requests of one turn."""

    __slots__ = ("requests", "session_id")

    def __init__(self, session_id: str | None) -> None:
        self.session_id: str | None = session_id
        self.requests: ModelRequests = ModelRequests()


class TurnObserver:
    """Receives reports of this process's model requests, and finds their turns."""

    def __init__(self, note: Callable[[Request, TurnRequests, dict[str, Any]], None]) -> None:
        """Begin to observe.

        Args:
            note: Called with every report, in the thread of the request.
        """
        self._note = note
        self.turns: dict[bytes, TurnRequests] = {}
        """By the prompt's id."""
        if MODULE not in sys.modules:
            # The module with the hooks is outside the package.
            path = os.path.join(PYTHON_FOLDER, f"{MODULE}.py")
            loader = SourceFileLoader(MODULE, path)
            spec = ModuleSpec(MODULE, loader, origin=path)
            spec.has_location = True
            module = module_from_spec(spec)
            loader.exec_module(module)
            sys.modules[MODULE] = module
        hooks: Any = sys.modules[MODULE]
        self.stop: Callable[[], object] = hooks.observe(self._report, MODEL_PATH)
        """Stops the reports; the hooks stay."""

    @property
    def due(self) -> float | None:
        """When to report a refusal without its body."""
        dues = [turn.requests.due for turn in list(self.turns.values())]
        return min((due for due in dues if due is not None), default=None)

    def _report(self, report: dict[str, Any]) -> None:
        request = CURRENT.get()
        if request is None or request.method != acp.PROMPT or request.over:
            return
        turn = self.turns.get(request.request_id)
        if turn is None:
            turn = self.turns[request.request_id] = TurnRequests(request.session_id)
        self._note(request, turn, report)
