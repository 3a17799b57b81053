"""A link that a test cuts when it wants to: the fault proxy, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from typing import Self

from tests.kit.gateway.fault_proxy import FaultProxy, Plan


class CutLink:
    def __init__(self, port: int, *, bytes_per_second: int = 0) -> None:
        self._to = port
        self._plan = Plan(bytes_per_second=bytes_per_second)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._proxy: FaultProxy | None = None
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()

        async def start() -> FaultProxy:
            return await FaultProxy(self._to, lambda _: self._plan).__aenter__()

        self._proxy = asyncio.run_coroutine_threadsafe(start(), self._loop).result()
        self.port = self._proxy.port
        return self

    def cut(self) -> None:
        """Cut every connection that is open; new ones are taken."""
        assert self._proxy is not None
        proxy = self._proxy

        async def strike() -> None:
            proxy.cut()

        asyncio.run_coroutine_threadsafe(strike(), self._loop).result()

    def __exit__(self, *_: object) -> None:
        assert self._proxy is not None
        asyncio.run_coroutine_threadsafe(self._proxy.__aexit__(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
