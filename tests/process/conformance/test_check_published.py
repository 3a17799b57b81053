"""What `lastword check` publishes: SARIF, JUnit and a badge; and what a baseline says is known."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from tests.kit.command import command
from tests.kit.places import AGENTS
from tests.kit.programs import run_program
from tests.kit.rows import every

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

AGENT = AGENTS / "obliging.py"


class Checked:
    """One run of the command in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copy(AGENT, folder / "agent.py")

    def __call__(self, *options: str) -> subprocess.CompletedProcess[str]:
        only = ("--only", "initialize,unknown-method")
        agent = (sys.executable, "agent.py")
        return run_program(
            [sys.executable, "-m", "lastword", "check", *only, *options, "--", *agent],
            check=False,
            cwd=self.folder,
        )

    def baseline(self, text: str) -> str:
        """Write a baseline; return its option."""
        (self.folder / "known.toml").write_text(text)
        return "--baseline=known.toml"

    def sarif(self) -> dict[str, Any]:
        """Return the one run that the log has."""
        (run,) = json.loads((self.folder / "out" / "check.sarif").read_text())["runs"]
        assert isinstance(run, dict)
        return run


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    return Checked(tmp_path)


KNOWN = '[known]\nunknown-method = "it is a stub; issue 12"\n'


def test_a_failure_is_an_alert_at_the_agents_file_and_red_on_the_badge(checked: Checked) -> None:
    done = checked("--sarif=out/check.sarif", "--badge=out/badge.svg", "--junit=out/junit.xml")
    assert done.returncode == 1, done.stderr
    run = checked.sarif()
    (result,) = run["results"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert (result["ruleId"], result["level"]) == (rule["id"], "error") == ("AGT-5", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "agent.py"
    assert "suppressions" not in result
    badge = (checked.folder / "out" / "badge.svg").read_text()
    assert "1 failed" in "".join(ET.fromstring(badge).itertext())
    assert ET.parse(checked.folder / "out" / "junit.xml").getroot().get("failures") == "1"


def test_a_known_failure_does_not_count_and_is_shown_with_its_reason(checked: Checked) -> None:
    done = checked(
        checked.baseline(KNOWN + 'initialize = "it was slow"\n'),
        *("--sarif=out/check.sarif", "--badge=out/badge.svg", "--junit=out/junit.xml"),
    )
    assert done.returncode == 0, done.stdout
    assert "because: it is a stub; issue 12" in done.stdout
    assert "1 passed, 1 known to fail" in done.stdout
    assert "No longer needed in the baseline, since it passes: initialize." in done.stdout
    (result,) = checked.sarif()["results"]
    assert result["suppressions"][0]["justification"] == "it is a stub; issue 12"
    assert "1 passed" in (checked.folder / "out" / "badge.svg").read_text()
    suite = ET.parse(checked.folder / "out" / "junit.xml").getroot()
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")


def test_failures_may_be_allowed_to_pass_the_run(checked: Checked) -> None:
    assert checked("--fail-on=never").returncode == 0


UNUSABLE = (
    ("known = 1\n", "it needs one table, [known]"),
    ("[known]\nids = ''\n", "ids needs a reason"),
    ("[known]\nno-such = 'x'\n", "unknown check no-such"),
    ("[known\n", "not TOML"),
    (None, "known.toml: no such file"),
)


@every("text, said", UNUSABLE)
def test_an_unusable_baseline_is_explained(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "known.toml").write_text(text)
    done = command("check", "--baseline=known.toml", "--", "cat", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
