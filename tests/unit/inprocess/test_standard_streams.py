"""Stdin and stdout, which one agent of a process has at a time."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from lastword.core.link.connection import LinkOptions
from lastword.errors import MisuseError
from lastword.inprocess import stdio
from lastword.inprocess.sdk.agent import GuardedTransport

ON_STDOUT = SimpleNamespace(
    _sender=SimpleNamespace(
        _writer=SimpleNamespace(
            transport=SimpleNamespace(
                get_extra_info=lambda _: SimpleNamespace(fileno=lambda: stdio.STDOUT)
            )
        )
    )
)
"""The SDK's transport, as far as it shows where it writes to."""


async def closed() -> None:
    """Nothing to close."""


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_authors_own_streams_on_stdout_are_one_agents_at_a_time() -> None:
    transport = SimpleNamespace(**vars(ON_STDOUT), close=closed)
    options = LinkOptions(in_process=True)
    first = GuardedTransport(transport, options, own_cancel_seconds=0.0)
    with pytest.raises(MisuseError, match="in its own process"):
        GuardedTransport(transport, options, own_cancel_seconds=0.0)
    await first.close()
    with stdio.claimed():
        pass  # the first has ended


def test_a_fork_of_an_agent_may_serve_another_client(monkeypatch: pytest.MonkeyPatch) -> None:
    with stdio.claimed():
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with stdio.claimed():
            pass
