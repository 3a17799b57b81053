"""A server, and each runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.interop.observer.runtimes import IN_CI, RUNTIMES, Runtime
from tests.interop.observer.server import Server, serving
from tests.interop.selection import in_ci

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module", params=in_ci(RUNTIMES, IN_CI.__contains__))
def runtime(request: pytest.FixtureRequest) -> Runtime:
    return Runtime(request.param)
