"""A running gateway is asked by its socket."""

from __future__ import annotations

import asyncio
import os
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lastword.gateway.front import control
from lastword.gateway.run_folder import PidFile

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

HOLDERS = [{"sessions": []}]


async def _statuses() -> list[dict[str, Any]]:
    return HOLDERS


def test_a_reloading_gateway_is_asked_until_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.new_event_loop()
    socket = control.ControlSocket(SimpleNamespace(run_folder=str(tmp_path), statuses=_statuses))  # type: ignore[arg-type]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def until_served(_seconds: float) -> None:
        asyncio.run_coroutine_threadsafe(socket.make(), loop).result()

    monkeypatch.setattr(control.time, "sleep", until_served)
    pid_file = PidFile(str(tmp_path))
    try:
        assert control.ask(str(tmp_path), control.STATUS) == {"holders": HOLDERS}
    finally:
        asyncio.run_coroutine_threadsafe(socket.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        os.close(pid_file.number)


def test_asking_does_not_wait_where_no_gateway_is_running(tmp_path: Path) -> None:
    assert control.ask(str(tmp_path), control.STATUS) == {}
