"""What `lastword check` publishes: SARIF, JUnit and a badge; and what a baseline says is known."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from tests.kit.command import command
from tests.kit.places import AGENTS
from tests.kit.programs import run_program
from tests.kit.rows import every

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

AGENT = AGENTS / "obliging.py"


def checked(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """One run of the command, with a copy of the agent, in this folder."""
    shutil.copy(AGENT, folder / "agent.py")
    only = ("--only", "initialize,unknown-method")
    kinds = ("--sarif=out/check.sarif", "--badge=out/badge.svg", "--junit=out/junit.xml")
    agent = ("--", sys.executable, "agent.py")
    return run_program(
        [sys.executable, "-m", "lastword", "check", *only, *kinds, *options, *agent],
        check=False,
        cwd=folder,
    )


def published(folder: Path) -> tuple[dict[str, Any], str, ET.Element]:
    """The one run of the SARIF log, the badge, and the JUnit suite."""
    (run,) = json.loads((folder / "out" / "check.sarif").read_text())["runs"]
    badge = (folder / "out" / "badge.svg").read_text()
    return run, badge, ET.parse(folder / "out" / "junit.xml").getroot()


KNOWN = '[known]\nunknown-method = "it is a stub; issue 12"\ninitialize = "it was slow"\n'


def test_a_failure_is_an_alert_at_the_agents_file_and_red_on_the_badge(tmp_path: Path) -> None:
    done = checked(tmp_path, "--fail-on=never")
    assert done.returncode == 0, done.stderr
    run, badge, suite = published(tmp_path)
    (result,) = run["results"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert (result["ruleId"], result["level"]) == (rule["id"], "error") == ("AGT-5", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "agent.py"
    assert "suppressions" not in result
    assert "1 failed" in "".join(ET.fromstring(badge).itertext())
    assert suite.get("failures") == "1"


def test_a_known_failure_does_not_count_and_is_shown_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(KNOWN)
    done = checked(tmp_path, "--baseline=known.toml")
    assert done.returncode == 0, done.stdout
    assert "because: it is a stub; issue 12" in done.stdout
    assert "1 passed, 1 known to fail" in done.stdout
    assert "No longer needed in the baseline, since it passes: initialize." in done.stdout
    run, badge, suite = published(tmp_path)
    (result,) = run["results"]
    assert result["suppressions"][0]["justification"] == "it is a stub; issue 12"
    assert "1 passed" in badge
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")


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
