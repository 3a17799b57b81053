"""The action for workflows: its script, run as a runner runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.places import AGENTS, ROOT

if TYPE_CHECKING:
    from pathlib import Path

ACTION = ROOT / ".github" / "actions" / "check"
INSTALL_TIMEOUT_SECONDS = 300.0
AGENT = AGENTS / "obliging.py"


@pytest.mark.matrix
def test_the_actions_step_checks_an_agent_and_leaves_the_results_where_configured(
    tmp_path: Path,
) -> None:
    yaml = pytest.importorskip("yaml")
    action: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text())
    given = {
        "command": f"'{sys.executable}' 'my agent.py'",
        "options": "--only initialize,unknown-method",
        "baseline": "known.toml",
    }
    inputs = {
        name: given.get(name, row.get("default", "")) for name, row in action["inputs"].items()
    }
    (step,) = action["runs"]["steps"]
    filled = {f"${{{{ inputs.{name} }}}}": value for name, value in inputs.items()}
    filled["${{ github.action_path }}/../../.."] = str(ROOT)
    shutil.copy(AGENT, tmp_path / "my agent.py")
    (tmp_path / "known.toml").write_text('[known]\nunknown-method = "a stub"\n')
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={
            **os.environ,
            "RUNNER_TEMP": str(tmp_path / "runner"),
            **{name: filled[value] for name, value in step["env"].items()},
        },
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 known to fail" in done.stdout
    for name, output in action["outputs"].items():
        path = tmp_path / output["value"].replace("${{ inputs.folder }}", inputs["folder"])
        assert path.stat().st_size, name
    (run,) = json.loads((tmp_path / inputs["folder"] / "check.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["AGT-5"]
