"""Both event loops, and a shell around a handler for a client that has negotiated."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

from tests.kit.in_process import Json, Shell

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    ShellFor: TypeAlias = Callable[[Callable[[Shell], Awaitable[None]]], Shell]

TYPED: Json = {"_meta": {"agent_error": {"version": 1, "retry": True}}}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shell_for(monkeypatch: pytest.MonkeyPatch) -> ShellFor:
    return lambda handler: Shell(handler, TYPED, monkeypatch)
