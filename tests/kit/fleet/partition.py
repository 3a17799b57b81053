"""What stands between one node and the broker, and lets through what a test says.

Owns a proxy in front of each server, in a thread of its own.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Self

from tests.kit.fleet.servers import PASSWORD, USER
from tests.kit.gateway.fault_proxy import Fault, FaultProxy, Plan
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from tests.kit.fleet.servers import Cluster


class Partition:
    """A node's way to the servers, which passes everything until it is cut."""

    def __init__(self, cluster: Cluster) -> None:
        self._loop = asyncio.new_event_loop()
        # Python 3.11 reports the connections that are cancelled at the end.
        self._loop.set_exception_handler(lambda *_: None)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._plan = Plan()
        self._proxies = [
            FaultProxy(server.port, lambda _: self._plan) for server in cluster.servers
        ]

    def __enter__(self) -> Self:
        self._thread.start()
        for proxy in self._proxies:
            self._run(proxy.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        for proxy in self._proxies:
            self._run(proxy.__aexit__())
        self._run(_closed())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(FUSE_SECONDS)
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(FUSE_SECONDS)

    @property
    def option(self) -> str:
        return ",".join(
            f"nats://{USER}:{PASSWORD}@127.0.0.1:{proxy.port}" for proxy in self._proxies
        )

    def cut(self) -> None:
        """Let nothing pass any more, without a word to either end."""
        self._run(self._cut())

    def heal(self) -> None:
        """End what is cut; the connections after that get through."""
        self._run(self._heal())

    async def _cut(self) -> None:
        self._plan = Plan(Fault.BLACK_HOLE)
        for proxy in self._proxies:
            proxy.swallow()

    async def _heal(self) -> None:
        self._plan = Plan()
        for proxy in self._proxies:
            proxy.cut()


async def _closed() -> None:
    """Let what was closed be closed: a transport says so some rounds of the loop later."""
    for _ in range(10):
        await asyncio.sleep(0.01)
