"""Holds what a unit test is: it starts no process, and connects to nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.starts import STARTS

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = f"{Path(__file__).resolve().parent}{os.sep}"
FORBIDDEN = STARTS | {"os.exec", "socket.bind", "socket.connect"}
RUNNING: list[str] = []
"""The unit test that is running. A hook cannot be taken back, and other tests may do all that."""


def _look(
    event: str,
    _arguments: tuple[Any, ...],
    # The interpreter's end empties this module, and is looked at to the last.
    forbidden: frozenset[str] = FORBIDDEN,
) -> None:
    if event in forbidden and RUNNING:
        raise AssertionError(f"{event} in a unit test: {RUNNING[0]}")


sys.addaudithook(_look)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Look while a test of this folder runs; this hook is called for every other, too."""
    if str(item.path).startswith(HERE):
        RUNNING[:] = [item.nodeid]
    try:
        return (yield)
    finally:
        RUNNING.clear()
