"""`lastword check` and its pytest form as a person and a build server meet them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from itertools import filterfalse
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from lastword.kit.check.checks import CHECKS
from lastword.kit.peer import Peer
from tests.kit.agents import MISBEHAVING_AGENT
from tests.kit.command import command
from tests.kit.gateway.serving import until
from tests.kit.places import AGENTS, ROOT, SOURCE
from tests.kit.programs import run_program
from tests.kit.rows import every
from tests.process.conformance.test_faults_found import meddled

HEALTHY = [sys.executable, "-m", "lastword", "agent", "healthy"]
FAULTY = list(meddled("dies-of-scalars"))
TRACEBACK = [*MISBEHAVING_AGENT, "traceback"]
FUSE_SECONDS = 120
STEP = re.compile(r"(Checking|Starting).* \.\.\.$")


def check(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Return the status, stdout, and stderr without the steps that lasted."""
    done = run_check(*arguments, **environment)
    lines = done.stderr.splitlines(keepends=True)
    return done.returncode, done.stdout, "".join(filterfalse(STEP.match, lines))


def run_check(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lastword", "check", *arguments]
    return run_program(command, check=False, timeout=FUSE_SECONDS, env=os.environ | environment)


def test_an_agent_without_the_fault_exits_with_0_and_what_was_not_played_shares_a_line() -> None:
    only = "AGT-9,AGT-24,AGT-23,AGT-25"
    status, out, err = check("--only", only, "--", *HEALTHY, COLUMNS="300")
    assert (status, err) == (0, "")
    assert out.count("pass  AGT-9") == 4
    assert "4 passed" in out
    assert out.count("n/r") == 3  # the line, the count, and what to do
    words = " ".join(out.split())
    assert "n/r a failing provider could not be played" in words
    assert "(3): failing-turn-ends, failing-turn-told, failing-turn-no-prose" in words


def test_a_failure_is_reported_with_its_evidence_and_what_to_do() -> None:
    status, out, err = check("--only", "junk-scalars", "--", *FAULTY, COLUMNS="20")
    assert (status, err) == (1, "")
    assert "FAIL  AGT-9" in out
    words = " ".join(out.split())
    assert "it exited with status 1" in words
    assert "→ 42 → {" in words
    assert "`lastword run --` in front corrects it" in words
    assert max(map(len, out.splitlines())) <= 32


def test_the_agents_stderr_is_shown_beside_the_frame() -> None:
    arguments = ("--only", "healthy-turn", "--prompt", "fail")
    status, out, _ = check(*arguments, "--", *TRACEBACK)
    words = " ".join(out.split())
    assert status == 1
    assert '"method": "session/prompt"' in words
    assert "stderr: Traceback (most recent call last):" in words


def test_rows_are_printed_as_they_come() -> None:
    # `initialize` and `exit` look at the first act, and `framing` at one that begins after it.
    out = check("--only", "initialize,framing,exit", "--", *HEALTHY)[1]
    shown = [line.split()[1] for line in out.splitlines() if line[:4] == "pass"]
    assert shown == ["AGT-1", "AGT-13", "AGT-8"]


def test_running_behind_lastword_is_not_advised_where_it_already_does() -> None:
    in_front = (sys.executable, "-m", "lastword", "run", "--", *FAULTY)
    (row,) = json.loads(check("--only", "junk-scalars", "--json", "--", *in_front)[1])["checks"]
    assert "in front" not in row["mend"]


def test_an_agent_that_cannot_be_judged_does_not_pass() -> None:
    only = ("--only", "AGT-9,AGT-12,AGT-17")
    status, out, _ = check(*only, "--", *MISBEHAVING_AGENT, "dies-at-once")
    assert status == 1
    assert "it exited with status 3" in " ".join(out.split())
    assert " passed" not in out


def test_all_results_are_available_for_machines(tmp_path: Path) -> None:
    report, kept = tmp_path / "report" / "junit.xml", tmp_path / "kept"
    only = ("--only", "junk-scalars,AGT-24,AGT-1,AGT-13")
    status, out, _ = check(
        *only, "--json", "--junit", str(report), "--keep", str(kept), "--", *FAULTY
    )
    told: dict[str, Any] = json.loads(out)
    assert status == 1
    assert told["summary"]["fail"] == 1
    assert told["agent"] == FAULTY
    names = [row["name"] for row in told["checks"]]
    assert names == [name for name in CHECKS if name in names]
    by_name = {row["name"]: row for row in told["checks"]}
    assert by_name["junk-scalars"]["verdict"] == "fail"
    assert by_name["junk-scalars"]["frames"]
    assert by_name["failing-turn-told"]["verdict"] == "unreached"
    cases = {case.get("name"): case for case in ET.parse(report).iter("testcase")}
    failure = cases["AGT-9 junk-scalars"].find("failure")
    assert failure is not None
    assert "it exited with status 1" in str(failure.get("message"))
    assert cases["AGT-24 failing-turn-told"].find("skipped") is not None
    assert list(cases["AGT-1 initialize"]) == []
    assert [path.name for path in report.parent.iterdir()] == [report.name]
    lines = (kept / "healthy.jsonl").read_text().splitlines()
    assert '"method": "initialize"' in json.loads(lines[0])["line"]


def test_played_failures_are_in_no_record_and_in_no_telemetry(tmp_path: Path) -> None:
    told, kept = tmp_path / "told", tmp_path / "kept"
    script = f'env > {told}; exec "$@"'
    agent = ["sh", "-c", script, "sh", sys.executable, "-m", "lastword", "run", "--", *HEALTHY]
    words = ("--scenario-prompts", "Please: /scenario {name}", "--only", "healthy-turn")
    asked = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "LASTWORD_RECORD": str(kept)}
    status, _, err = check(*words, "--", *agent, **asked)
    assert (status, err) == (0, "")
    assert not kept.exists()
    assert "OTEL_SDK_DISABLED=true" in told.read_text().splitlines()


def test_an_agent_that_writes_one_endless_line_fills_no_memory() -> None:
    limit = f"ulimit -v {2 * 1024 * 1024}"
    line = f'{limit}; exec "$@"'
    words = [sys.executable, "-m", "lastword", "check", "--timeout", "2", "--only", "initialize"]
    command = ["sh", "-c", line, "sh", *words, "--", "cat", "/dev/zero"]
    done = run_program(command, check=False, timeout=FUSE_SECONDS)
    assert done.returncode == 1
    assert not re.sub(r"(?m)^.* \.\.\.\n", "", done.stderr)
    assert "1 failed" in done.stdout


def test_a_line_that_was_cut_is_called_too_long_and_not_kept() -> None:
    script = "print('{\"a\": \"' + 'a' * (64 << 20) + '\"}')"
    with Peer([sys.executable, "-c", script]) as peer:
        line = peer.find(lambda event: not event.sent, FUSE_SECONDS)
    assert line is not None
    assert line.problem == "it is longer than 64 MiB"
    assert len(line.raw) < 1 << 20


def test_an_interrupted_run_leaves_no_agent(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"echo $$ >> {pids}; trap '' HUP TERM; cat > /dev/null; while :; do sleep 1; done"
    line = [sys.executable, "-m", "lastword", "check", "--", "sh", "-c", script]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until("two agents run", lambda: pids.exists() and len(pids.read_text().split()) >= 2)
        process.send_signal(signal.SIGHUP)
        _, err = process.communicate(timeout=FUSE_SECONDS)
        assert process.returncode == 130
    assert b"stopped" in err
    assert b"Traceback" not in err
    for pid in pids.read_text().split():
        until("the agent is gone", lambda pid=pid: not Path(f"/proc/{pid}").exists())


# --- pytest


def under_pytest(*arguments: str, folder: Path) -> tuple[int, str]:
    installed = importlib.metadata.entry_points(group="pytest11").names
    plugin = [] if "lastword" in installed else ["-p", "lastword.conformance.pytest_plugin"]
    done = run_program(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", *plugin, *arguments],
        check=False,
        timeout=FUSE_SECONDS,
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST") and k != "CI"}
        | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(SOURCE)))},
    )
    return done.returncode, done.stdout + done.stderr


PYARGS = ("--pyargs", "lastword.conformance")


def test_under_pytest_each_check_is_a_test(tmp_path: Path) -> None:
    agent = " ".join(FAULTY)
    only = "AGT-1,junk-scalars,AGT-24"
    status, out = under_pytest(*PYARGS, "--agent", agent, "--only", only, folder=tmp_path)
    assert status == 1, out
    assert "1 failed, 1 passed, 1 skipped" in out
    assert "AGT-9: a JSON scalar or array" in out
    assert "could not be played" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say which agent"),
        (("--agent", "my 'agent"), "--agent: no closing quotation"),
        (("--agent", "cat", "--turn-limit", "soon"), "--turn-limit cannot be 'soon'"),
    ],
)
def test_under_pytest_a_mistake_is_one_sentence(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    status, out = under_pytest(*PYARGS, *arguments, folder=tmp_path)
    assert status not in {0, 1}
    assert words in out
    assert "Traceback" not in out


def test_another_plugin_may_define_the_same_pytest_options(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--agent')\n"
    )
    (tmp_path / "test_x.py").write_text("def test_x():\n    pass\n")
    status, out = under_pytest("--agent", "007", "test_x.py", folder=tmp_path)
    assert status == 0, out


def test_lasting_steps_are_reported_without_a_terminal(tmp_path: Path) -> None:
    said = tmp_path / "said"
    slow = f"while ! test -e {said}; do sleep 0.01; done; exec "
    agent = ("sh", "-c", slow + shlex.join([*HEALTHY[:-1], "--bare", "healthy"]))
    line = [sys.executable, "-m", "lastword", "check", "--only", "opens-session", "--json", "--"]
    with subprocess.Popen([*line, *agent], stdin=-3, stdout=-1, stderr=-1) as process:
        assert process.stderr is not None
        assert any(b"Checking, 0 of 1 checks done" in each for each in process.stderr)
        said.touch()
        process.communicate(timeout=FUSE_SECONDS)


# --- what it publishes: SARIF, JUnit and a badge; and what a baseline says is known


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
