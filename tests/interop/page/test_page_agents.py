"""opencode behind the page, its provider failing and then well again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.kit.provider.server import Provider, ProviderScenario
from lastword.kit.provider.target import Target
from tests.interop.agents_registry import AGENTS
from tests.kit.gateway.serving import Gateway
from tests.kit.places import SOURCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.page.browser import Browser


@pytest.mark.matrix
def test_a_failing_turn_of_opencode_is_seen_understood_and_tried_again(
    browser: Browser, tmp_path: Path
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    program = AGENTS["opencode"]
    tab = browser.tab()
    with Provider(ProviderScenario.UNAUTHORIZED) as provider:
        target = Target(provider.url, f"{provider.url}/v1")
        environment = program.environment(target, home) | {"PYTHONPATH": str(SOURCE)}
        gateway = Gateway(tmp_path, program.command(work), environment=environment)
        try:
            with tab.without_errors():
                tab.log_in(gateway)
                tab.do("click", "New session")
                tab.do("click", "Start")
                tab.say("What is the answer?")
                tab.see("Login needed", "The turn failed: Login needed.")
                tab.shot("opencode-failed")
                provider.scenario = ProviderScenario.HEALTHY
                tab.do("click", "Edit the prompt")
                tab.do("press", "Enter")
                tab.do("wait", ".item.agent")
                tab.do("wait", "button[type=submit]:enabled")
                tab.shot("opencode-answers")
                assert tab.do("count", ".item.user") == 2
        finally:
            tab.do("close")
            gateway.close()
