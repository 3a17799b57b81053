"""`lastword check` without an agent: its list, its rows, what cannot be run."""

from __future__ import annotations

import json
import os
import re

import pytest

from lastword.cli.check import _rounded, new_page, show_summary
from lastword.kit.check import run
from lastword.kit.check.checks import CHECKS, CheckVerdict, Finding
from lastword.kit.check.checks.model import JUDGES
from lastword.kit.check.hooks import Hooks
from lastword.kit.check.probes import Played
from lastword.kit.check.stage import Transcript, WaitLimits
from tests.kit.command import command
from tests.kit.places import ROOT
from tests.kit.rows import every

REFUSED = (
    ([], "an agent is missing: lastword check -- CMD"),
    (["--", "no-such-agent"], "no-such-agent: not found; is the agent installed"),
    (["--", "/dev/null"], "/dev/null: not an executable file"),
    (["--only", "AGT-999", "--", "cat"], "there is no check 'AGT-999'"),
    (["--preset", "foo", "--", "cat"], "--preset cannot be 'foo': it takes one of opencode"),
    (["--provider-env", "FOO", "--", "cat"], "--provider-env FOO={openai}"),
    (["--provider-env", "={openai}", "--", "cat"], "--provider-env NAME={openai}"),
    (["--scenario-prompts", "x", "--", "cat"], "needs {name}"),
    (["--preset", "kimi", "--keep-home", "--", "cat"], "its own home folder"),
    (["--timeout", "0", "--", "cat"], "--timeout"),
    (["--junit", "/dev/null/x", "--", "cat"], "/dev/null"),
    (["--sarif", "/dev/null", "--", "cat"], "/dev/null: is not a regular file"),
    (["--badge", "/", "--", "cat"], "/: is not a regular file"),
)


@every("arguments, words", REFUSED)
def test_an_unusable_command_gets_one_sentence_and_status_2(
    arguments: list[str], words: str
) -> None:
    done = command("check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_the_list_is_available_as_text_and_json() -> None:
    done = command("check", "--list", environment=os.environ | {"COLUMNS": "80"})
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    listed = json.loads(command("check", "--list", "--json").stdout)
    assert {row["name"] for row in listed["checks"]} == set(CHECKS)


def test_an_agent_that_answers_nothing_is_soon_waited_for_less_and_no_model_is_advised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = []

    def play(
        name: str, _command: object, _hooks: object, limits: WaitLimits, **_: object
    ) -> Played:
        waits.append(limits.answer_seconds)
        return Played(Transcript(name, notes={"initialized": None}), unreached="no answer")

    monkeypatch.setattr(run, "play", play)
    settings = run.CheckSettings(("agent",), Hooks(), WaitLimits(30.0), plays=1)
    rows = list(run.findings(settings, run.chosen(())))
    assert waits[: run.MUTE_ACTS] == [30.0] * run.MUTE_ACTS
    assert set(waits[2 * run.MUTE_ACTS :]) == {3.0}
    page = new_page()
    show_summary(page, rows, 1.0, {})
    shown = page.drain()
    assert "failed" in shown
    assert "need a model" not in shown


def test_every_check_has_a_requirement_and_every_agent_requirement_a_check() -> None:
    requirements = json.loads((ROOT / "protocol" / "requirements.json").read_text())
    ids = {row["id"] for row in requirements}
    checked = {row.requirement for row in CHECKS.values()}
    assert checked <= ids
    assert {name for name in ids if name.startswith("AGT-")} <= checked


def test_every_function_that_judges_a_check_has_a_row_of_it() -> None:
    assert JUDGES.keys() == CHECKS.keys()


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "5 s"), (42, "40 s"), (61, "2 min")])
def test_the_time_that_is_left_is_rounded(seconds: float, words: str) -> None:
    assert _rounded(seconds) == words


def test_a_finding_names_the_requirement_of_acp_tck_that_tests_the_same() -> None:
    ids = [name for row in CHECKS.values() for name in row.tck]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"ACP-[A-Z]+-\d{3}", name) for name in ids)
    check, finding = CHECKS["unknown-method"], Finding(CheckVerdict.FAIL, "no answer")
    assert run.described(check)["tck"] == ["ACP-JSONRPC-004"]
    assert "in acp-tck: ACP-JSONRPC-004" in run.words(check, finding, ["agent"])
    log = json.loads(run.sarif(["agent"], [(check, finding)], {}))
    [rule] = log["runs"][0]["tool"]["driver"]["rules"]
    assert rule["properties"] == {"tags": ["ACP-JSONRPC-004"]}
