"""What stands between a client and its servers, and lets through what a test says.

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
    from collections.abc import Callable, Coroutine
    from typing import Any


class Partition:
    """A way to servers at these ports, which passes everything until it is cut."""

    def __init__(self, *ports: int, bytes_per_second: int = 0) -> None:
        self._loop = asyncio.new_event_loop()
        # Python 3.11 reports the connections that are cancelled at the end.
        self._loop.set_exception_handler(lambda *_: None)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._whole = self._plan = Plan(bytes_per_second=bytes_per_second)
        self._proxies = [FaultProxy(port, lambda _: self._plan) for port in ports]

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
    def port(self) -> int:
        return self._proxies[0].port

    @property
    def option(self) -> str:
        """The way to a fleet's servers as the value of `--fleet`."""
        return ",".join(f"nats://{USER}:{PASSWORD}@127.0.0.1:{p.port}" for p in self._proxies)

    def cut(self) -> None:
        """Let nothing pass any more, without a word to either end."""
        self._run(self._each(Plan(Fault.BLACK_HOLE), FaultProxy.swallow))

    def reset(self) -> None:
        """End the connections that there are; those after them get through."""
        self._run(self._each(self._whole, FaultProxy.cut))

    async def _each(self, plan: Plan, act: Callable[[FaultProxy], None]) -> None:
        self._plan = plan
        for proxy in self._proxies:
            act(proxy)


async def _closed() -> None:
    """Let what was closed be closed: a transport says so some rounds of the loop later."""
    for _ in range(10):
        await asyncio.sleep(0.01)
