"""The clock of a played fleet: what happens next, and when."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    """Acts in the order of their times."""

    def __init__(self) -> None:
        self.now = 1.0
        self._acts: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0

    @property
    def now_ms(self) -> int:
        return int(self.now * 1000)

    def later(self, seconds: float, act: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._acts, (self.now + max(0.0, seconds), self._count, act))

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self._acts and self._acts[0][0] <= until:
            self.now, _, act = heapq.heappop(self._acts)
            act()
        self.now = until
