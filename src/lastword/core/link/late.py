"""The modules that only a failing turn needs, each loaded at its first use.

Owns the list: a module is named as an attribute of this one, as in `late.wording.compose(...)`, and
is loaded when that is evaluated. A start and a healthy turn load none of them
(`docs/late-imports.md` has the figures).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lastword.core import classify
    from lastword.core.classify import agents, prose, writers
    from lastword.core.failure import durations, payload, wording
    from lastword.core.link import (
        account_limits,
        activity,
        costs,
        models,
        open_question,
        reset_wait,
        silence,
    )
    from lastword.core.protocol import peek
    from lastword.core.redact import redactor
else:

    def __getattr__(name: str) -> object:
        """Load a module and keep it as an attribute: the next use finds it there."""
        if name not in MODULES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        module = globals()[name] = import_module(MODULES[name])
        return module


__all__ = [
    "account_limits",
    "activity",
    "agents",
    "classify",
    "costs",
    "durations",
    "models",
    "open_question",
    "payload",
    "peek",
    "prose",
    "redactor",
    "reset_wait",
    "silence",
    "wording",
    "writers",
]

MODULES: Final = {
    "activity": "lastword.core.link.activity",
    "account_limits": "lastword.core.link.account_limits",
    "agents": "lastword.core.classify.agents",
    "classify": "lastword.core.classify",
    "costs": "lastword.core.link.costs",
    "durations": "lastword.core.failure.durations",
    "models": "lastword.core.link.models",
    "open_question": "lastword.core.link.open_question",
    "payload": "lastword.core.failure.payload",
    "peek": "lastword.core.protocol.peek",
    "prose": "lastword.core.classify.prose",
    "redactor": "lastword.core.redact.redactor",
    "reset_wait": "lastword.core.link.reset_wait",
    "silence": "lastword.core.link.silence",
    "wording": "lastword.core.failure.wording",
    "writers": "lastword.core.classify.writers",
}
"""The attributes, with the modules that they name."""
