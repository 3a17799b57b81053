"""What the tests of the page have in common: one browser, and a gateway before a scripted agent."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from tests.interop.page.browser import Browser
from tests.interop.page.script import SCRIPT
from tests.kit.gateway.serving import Gateway, agent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.page.browser import Serve


@pytest.fixture(scope="session")
def _browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(_browser: Browser) -> Iterator[Browser]:
    """The browser, which every test has tabs of its own in; they close with the test."""
    yield _browser
    _browser.close_tabs()


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda *words, **more: stack.enter_context(closing(Gateway(*words, **more)))


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway before an agent that plays `SCRIPT`; of a test's own is the session."""
    folder = tmp_path_factory.mktemp("gateway")
    (folder / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
    command = agent(str(folder / "script.json"))
    gateway = Gateway(folder, command, "--allow-host", "gateway.test")
    yield gateway
    gateway.close()
