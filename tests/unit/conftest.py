"""Holds what a unit test is: it starts no process, and connects to nothing."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.starts import STARTS, tell_before

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = f"{Path(__file__).resolve().parent}{os.sep}"
FORBIDDEN = (
    *STARTS,
    *((os, name) for name in ("execv", "execve")),
    *((socket.socket, name) for name in ("bind", "connect", "connect_ex")),
)
RUNNING: list[str] = []
"""The unit test that is running: other tests may do all that."""


def _refuse(name: str) -> None:
    if RUNNING:
        raise AssertionError(f"{name} in a unit test: {RUNNING[0]}")


tell_before(FORBIDDEN, _refuse)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Look while a test of this folder runs; this hook is called for every other, too."""
    if str(item.path).startswith(HERE):
        RUNNING[:] = [item.nodeid]
    try:
        return (yield)
    finally:
        RUNNING.clear()
