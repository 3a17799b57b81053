"""The scripted agent: what comes of each scenario, in both versions, with lastword and without.

`expected.json` holds every turn in short words, as `scenario_play.py` writes them: no change of a
scenario goes unnoticed. What the list says of each is held against the same turns.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lastword import client
from lastword.core.failure.taxonomy import ErrorType
from lastword.kit.agent.scenarios import SCENARIOS
from tests.kit.rows import every
from tests.process.scenarios.scenario_play import BARE, EXPECTED, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = json.loads(EXPECTED.read_text())


@pytest.fixture(scope="module", params=[1, 2])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    made = Stage(request.param, all_names=bool(request.config.getoption("--matrix")))
    yield made
    made.close()


def test_every_scenario_has_an_expectation_and_every_type_its_scenario() -> None:
    assert list(WORDS) == list(SCENARIOS)
    assert [name for name, told in WORDS.items() if "bare" in told] == BARE
    for error_type in ErrorType:
        assert SCENARIOS[error_type.value].error_type is error_type


@every("name", SCENARIOS)
def test_a_scenario_plays_as_expected_and_fails_as_listed(stage: Stage, name: str) -> None:
    if name not in stage.names:
        return
    seen = stage.play(name)
    assert seen.words == WORDS[name][f"v{stage.version}"]
    told = SCENARIOS[name].failure_in(stage.version)
    if told is None or told.type is ErrorType.CANCELLED:
        assert seen.error is None
        stop_reason = str(seen.words[-2:])
        assert ("cancelled" in stop_reason) is (told is not None)
        return
    assert seen.error is not None
    listed = told.error.payload()
    del listed["message"]
    assert listed.items() <= seen.error.items()
    waits = {"retry_after_seconds", "reset_at_epoch_ms"} & seen.error.keys()
    assert bool(waits) is (told.resets or told.wait_seconds is not None)
    if stage.version == 1:
        # A client reads the same failure from the answer, and shows the button that is listed.
        assert seen.answer is not None
        read = client.read_error(seen.answer)
        assert read is not None
        payload = {key: value for key, value in seen.error.items() if key != "stopReason"}
        assert read.payload() == payload
        assert f'"{client.describe(read).button}"' in SCENARIOS[name].advice


def test_a_wire_fault_is_sent_raw_without_lastword() -> None:
    stage = Stage(1)
    for name in BARE:
        seen = stage.play(name, bare=True)
        assert seen.words == WORDS[name]["bare"], name
        assert "agent_error" not in str(seen.frames)
    stage.close()
