"""The modules that only a failing turn needs, each loaded at its first use.

Owns the list: a module is named as an attribute of this one, as in `late.wording.compose(...)`, and
is loaded when that is evaluated. A start and a healthy turn load none of them
(`benchmarks/late_imports.json` has the figures).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lastword.core import classify
    from lastword.core.classify import agents, prose, writers
    from lastword.core.failure import payload, phrases, sentences, wording
    from lastword.core.link import costs, limits
    from lastword.core.protocol import peek
    from lastword.core.redact import redactor
    from lastword.core.timeline import session_events
else:

    def __getattr__(name: str) -> object:
        """Load a module and keep it as an attribute: the next use finds it there."""
        if name not in MODULES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        module = globals()[name] = import_module(MODULES[name])
        return module


__all__ = [
    "agents",
    "classify",
    "costs",
    "limits",
    "payload",
    "peek",
    "phrases",
    "prose",
    "redactor",
    "sentences",
    "session_events",
    "wording",
    "writers",
]

MODULES: Final = {
    "agents": "lastword.core.classify.agents",
    "classify": "lastword.core.classify",
    "costs": "lastword.core.link.costs",
    "limits": "lastword.core.link.limits",
    "payload": "lastword.core.failure.payload",
    "peek": "lastword.core.protocol.peek",
    "phrases": "lastword.core.failure.phrases",
    "prose": "lastword.core.classify.prose",
    "redactor": "lastword.core.redact.redactor",
    "sentences": "lastword.core.failure.sentences",
    "session_events": "lastword.core.timeline.session_events",
    "wording": "lastword.core.failure.wording",
    "writers": "lastword.core.classify.writers",
}
"""The attributes, with the modules that they name."""
