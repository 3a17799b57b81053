"""`lastword agent`: its help, its list, its mistakes."""

from __future__ import annotations

import json
import os

import pytest

from lastword import client
from lastword.core.failure.ladder import Rung
from lastword.core.failure.taxonomy import ErrorType
from lastword.kit.agent.scenarios import SCENARIOS
from tests.kit.command import command


def agent(*arguments: str, **environment: str) -> tuple[int, str, str]:
    done = command("agent", *arguments, environment=os.environ | environment)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("columns", ["20", "80", "200"])
def test_the_list_names_every_scenario_within_the_terminals_width(columns: str) -> None:
    status, out, err = agent("--list", COLUMNS=columns)
    assert (status, err) == (0, "")
    first_words = {line.split()[0].rstrip("~") for line in out.splitlines() if line.strip()}
    assert set(SCENARIOS) <= first_words
    for error_type in ErrorType:
        assert f"\n{error_type.value}  [{error_type.value}]\n" in out
    assert max(map(len, out.splitlines())) <= max(int(columns), 60)


def test_the_list_describes_what_a_good_client_does_for_each() -> None:
    _, out, _ = agent("--list", COLUMNS="100")
    assert out.count("\n    sees    ") == out.count("\n    client  ") == len(SCENARIOS)
    assert 'offer "Continue"; no automatic resend' in out


def test_the_list_marks_the_scenarios_that_need_a_separate_process() -> None:
    _, out, _ = agent("--list")
    marked = {line.split()[0] for line in out.splitlines() if line.split()[:1][0:] and "~" in line}
    assert {"crash_loop~", "fails_to_start~", "silence_warned~"} <= marked
    assert "agent_crash~" not in marked
    assert "\n~ needs its own process" in out


def test_the_list_is_also_available_as_json() -> None:
    status, out, err = agent("--list", "--json")
    listed = json.loads(out)["scenarios"]
    assert (status, err) == (0, "")
    assert [entry["name"] for entry in listed] == list(SCENARIOS)
    assert {entry["error_type"] for entry in listed} >= {word.value for word in ErrorType}
    for entry in listed:
        assert entry["client"]
        assert entry["sees"]
        assert entry["script"]["turns"]
        assert entry["error"] is None or entry["error"]["type"] == entry["error_type"]


def test_the_rungs_are_the_ladders_own() -> None:
    status, out, err = agent("--rungs", "--json")
    told = {entry["rung"]: entry for entry in json.loads(out)["rungs"]}
    assert (status, err) == (0, "")
    assert set(told) == {rung.value for rung in Rung}
    for entry in told.values():
        read = [client.read_error(frame) for frame in entry["frames"]]
        assert any(error and error.type is ErrorType.RATE_LIMIT for error in read)
    status, out, _ = agent("--rungs", COLUMNS="80")
    assert status == 0
    for rung in Rung:
        assert f"{rung.value}: " in out


def test_help_shows_how_to_put_it_into_a_clients_settings() -> None:
    status, out, err = agent("--help")
    assert (status, err) == (0, "")
    assert "command: lastword    arguments: agent rate_limit" in out
    assert "agent --bare id_null" in out
