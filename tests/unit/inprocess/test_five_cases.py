"""The five ways to fail that matter most, on both event loops, frame by frame.

The clock is the test's, and nothing is left to chance: the same frames in every run.
"""

from __future__ import annotations

import pytest

from lastword.core.link.facts import Facts
from tests.kit.five_cases import CASES, LIMIT_SECONDS, PLAIN, TYPED, Case, expected_end
from tests.kit.in_process import CANCEL, Json, Shell
from tests.kit.rows import every

pytestmark = pytest.mark.anyio

FACTS = Facts.__slots__


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["typed", "plain"])
def capabilities(request: pytest.FixtureRequest) -> Json:
    return TYPED if request.param == "typed" else PLAIN


async def play(case: Case, shell: Shell) -> None:
    """Take the turn."""
    async with shell.turn():
        if case.cancel:
            shell.client(CANCEL)
        elif case.options:
            shell.pass_time(LIMIT_SECONDS * 0.9)
            assert not shell.answered.is_set()
            shell.pass_time(LIMIT_SECONDS * 0.2)


@every("name", CASES)
async def test_it_ends_in_exactly_these_frames(
    name: str, capabilities: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    shell = Shell(case.handler, capabilities, monkeypatch, **case.options)
    await play(case, shell)
    assert shell.frames[case.shown :] == expected_end(case, capabilities, "t-1")
    assert {name for name in FACTS if getattr(shell.facts, name)} == case.facts
    assert shell.cancelled is bool(case.cancel or case.options)


@every("name", [name for name in CASES if not CASES[name].options])
async def test_what_comes_after_the_end_reaches_no_client(
    name: str, capabilities: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    shell = Shell(case.handler, capabilities, monkeypatch, **case.options)
    await play(case, shell)
    frames = list(shell.frames)
    shell.pass_time(100_000)
    shell.link.handler_left()
    assert shell.frames == frames
    assert shell.request.over
    assert shell.link.open_requests == []
