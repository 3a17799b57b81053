"""Puts lastword into every agent of the official SDK that this interpreter, or a child, runs.

Found by Python itself where this folder is on PYTHONPATH. What is exchanged is what an author
would: `acp.run_agent` for `lastword.run_agent`, and the agent that a connection is given for
`lastword.guard` of it. It is done when `acp` is imported, since many a child never does that.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

RECORDS = "LASTWORD_TEST_AGENTS"
"""The variable that names a folder for what was guarded: a file a process, a line an agent."""

PASSED_ON = ("PYTHONPATH", "PYTEST_CURRENT_TEST", "LASTWORD_SILENT_SUCCESS", RECORDS)
"""What children need; the SDK starts its agents with few variables of the environment."""


def exchange() -> None:
    # Only once `acp` is there, which is when this is called.
    import acp.core  # noqa: PLC0415
    import acp.transports  # noqa: PLC0415

    import lastword  # noqa: PLC0415
    import lastword.inprocess.sdk.agent  # noqa: PLC0415

    connection = acp.core.AgentSideConnection
    begin = connection.__init__

    def guarded(self: Any, to_agent: Any, *args: Any, **kwargs: Any) -> None:
        # `lastword.run_agent` makes a connection itself, of an agent that it has guarded.
        ours = lastword.inprocess.sdk.agent.__name__ in (
            type(to_agent).__module__,
            _module(to_agent),
        )
        record()
        begin(self, to_agent if ours else lastword.guard(to_agent), *args, **kwargs)

    connection.__init__ = guarded  # type: ignore[method-assign]
    acp.run_agent = acp.core.run_agent = lastword.run_agent
    acp.transports.DEFAULT_INHERITED_ENV_VARS.extend(PASSED_ON)


def record() -> None:
    if RECORDS in os.environ:
        where, _, _ = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")
        file, _, test = where.partition("::")
        module = file.removesuffix(".py").replace("/", ".")
        with Path(os.environ[RECORDS], str(os.getpid())).open("a") as records:
            records.write(f"{module}::{test}\n")


def _module(value: Any) -> str | None:
    return getattr(value, "__module__", None)


class _WhenImported(importlib.abc.MetaPathFinder):
    """Finds `acp` where it is, and exchanges once it is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "acp":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        loader = spec.loader if spec is not None else None
        if loader is not None:
            load = loader.exec_module

            def then_exchange(module: ModuleType) -> None:
                load(module)
                exchange()

            loader.exec_module = then_exchange  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _WhenImported())
