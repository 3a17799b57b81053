"""The checks as tests, for `pytest --pyargs lastword.conformance --agent "CMD"`.

This is the only module of lastword that imports pytest, and only pytest imports it.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from lastword.core.failure.option_values import DURATION_EXAMPLES, seconds_of
from lastword.kit.check.checks import Check, CheckVerdict
from lastword.kit.check.hooks import PROMPT, HookError, Hooks, find
from lastword.kit.check.run import CheckRun, CheckSettings, UnknownCheckError, chosen, words
from lastword.kit.check.stage import WaitLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _option(config: pytest.Config, name: str) -> str:
    return str(config.getoption(name, default=None) or "")


def _seconds(config: pytest.Config, name: str, usual: float) -> float:
    text = _option(config, name)
    seconds = seconds_of(text) if text else usual
    if not seconds:
        raise ValueError(
            f"{name} cannot be {text!r}: it takes a duration above 0, {DURATION_EXAMPLES}"
        )
    return seconds


def _settings(config: pytest.Config) -> CheckSettings:
    try:
        command = tuple(shlex.split(_option(config, "--agent")))
    except ValueError as error:
        raise pytest.UsageError(f"--agent: {str(error).lower()}") from error
    if not command:
        raise pytest.UsageError(
            'say which agent: pytest --pyargs lastword.conformance --agent "CMD"'
        )
    try:
        find(command)
        hooks = Hooks(
            preset=_option(config, "--preset"),
            provider_env=tuple(config.getoption("--provider-env", default=None) or ()),
            scenario_prompts=_option(config, "--scenario-prompts"),
            prompt=_option(config, "--prompt") or PROMPT,
            protocol=int(_option(config, "--protocol") or 1),
        )
        usual = WaitLimits()
        limits = WaitLimits(
            _seconds(config, "--answer-limit", usual.answer_seconds),
            _seconds(config, "--turn-limit", usual.turn_seconds),
        )
    except (HookError, ValueError) as error:
        raise pytest.UsageError(str(error)) from error
    return CheckSettings(command, hooks, limits)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each requested check."""
    if "check" in metafunc.fixturenames:
        try:
            rows = chosen(_option(metafunc.config, "--only").split(","))
        except UnknownCheckError as error:
            raise pytest.UsageError(str(error)) from error
        _settings(metafunc.config)
        metafunc.parametrize("check", rows, ids=[f"{r.requirement}-{r.name}" for r in rows])


@pytest.fixture(scope="session")
def conformance(request: pytest.FixtureRequest) -> Iterator[CheckRun]:
    """Play the acts that the selected tests need."""
    rows: list[Check] = [
        item.callspec.params["check"]  # type: ignore[misc]
        for item in request.session.items
        if isinstance(item, pytest.Function) and "conformance" in item.fixturenames
    ]
    with CheckRun(_settings(request.config), rows) as run:
        yield run


def test_agent(
    conformance: CheckRun, check: Check, record_property: Callable[[str, object], None]
) -> None:
    """Test what the check's title states."""
    finding = conformance.finding(check)
    record_property("requirement", check.requirement)
    if finding.verdict in {CheckVerdict.NOT_APPLICABLE, CheckVerdict.UNREACHED}:
        pytest.skip(f"{check.requirement} {finding.verdict}: {finding.evidence}")
    if finding.verdict is CheckVerdict.FAIL:
        report = "\n".join(words(check, finding, conformance.command))
        pytest.fail(f"{check.requirement}: {report}", pytrace=False)
    if finding.verdict is CheckVerdict.WARN:
        record_property("warning", finding.evidence)
