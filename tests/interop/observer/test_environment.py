"""The observer leaves a process's environment as it was before lastword's part, when it is due."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.observer.observed import HERE, OBSERVER, VARIABLE, Pipe, additions, run
from tests.interop.observer.runtimes import Runtime
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.observer.server import Server

USERS = {
    "NODE_OPTIONS": "--no-deprecation --stack-trace-limit=20",
    "BUN_OPTIONS": "--smol",
    "PYTHONPATH": "/a folder:/another",
}
"""What the user had in the variables."""


@pytest.fixture(scope="module")
def family(
    runtime: Runtime, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    command = [runtime.program(), HERE / "family.cjs", "launcher"]
    with Pipe(tmp_path_factory.mktemp("observer") / "fifo") as pipe:
        result = run(command, {**USERS, "BASE": server.url}, pipe)
    assert (result.code, result.errors) == (0, "")
    result.lines = pipe.lines
    return json.loads(result.output), result.events


def test_a_launcher_and_its_agent_are_observed_and_no_tool(
    family: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    _, events = family
    launcher, agent = (event["pid"] for event in events if event["event"] == "start")
    rest = [(event["event"], event["pid"]) for event in events if event["event"] != "start"]
    assert launcher != agent
    # Bun does not say when an answer ends.
    assert rest[:2] == [("request", agent), ("status", agent)]
    assert rest[2:] in ([("end", agent)], [])


def test_a_tool_has_the_users_environment_before_a_request_and_after_it(
    family: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    users = [None, *USERS.values()]
    printed, _ = family
    shell = sorted(f"{name}={value}" for name, value in USERS.items())
    assert printed == {"before": users, "after": users, "own": users, "shell": shell}


TOOLS = """
const { spawnSync } = require('child_process');
for (const [word, ...words] of JSON.parse(process.argv[1])) {
  const ended = spawnSync(word, words, { encoding: 'utf-8' });
  if (ended.status) throw new Error(ended.stdout + ended.stderr);
  process.stdout.write((ended.stdout.match(/shown:.*/) || [ended.stdout])[0] + '\\n');
}
"""
"""A program that runs commands as an agent's tools, and prints what they show."""

SHOWN = ("NODE_OPTIONS", "BUN_OPTIONS", "PYTHONPATH", VARIABLE)


def test_npm_pytest_and_a_script_have_the_users_environment_as_tools(
    server: Server, tmp_path: Path
) -> None:
    users = {"NODE_OPTIONS": "--no-deprecation", "PYTHONPATH": str(tmp_path / "libraries")}
    script = tmp_path / "script.js"
    script.write_text(f"console.log('shown:' + {json.dumps(SHOWN)}.map((n) => process.env[n]));")
    package = {"scripts": {"test": "node script.js"}}
    (tmp_path / "package.json").write_text(json.dumps(package))
    (tmp_path / "test_tool.py").write_text(
        "import os\n\n"
        "def test_tool():\n"
        f"    print('shown:' + ','.join(os.environ.get(name, '') for name in {SHOWN}))\n"
    )
    quiet = ("-p", "no:cacheprovider", "-s", "--rootdir", str(tmp_path))
    tools = [
        ["npm", "--prefix", str(tmp_path), "test"],
        ["node", str(script)],
        [sys.executable, "-m", "pytest", *quiet, "-c", os.devnull, str(tmp_path / "test_tool.py")],
        ["sh", "-c", f"echo shown:$NODE_OPTIONS,$BUN_OPTIONS,$PYTHONPATH,${VARIABLE}"],
    ]
    program = Runtime("node").program()
    with Pipe(tmp_path / "fifo") as pipe:
        done = run([program, "-e", TOOLS, json.dumps(tools)], users, pipe)
    expected = f"shown:{users['NODE_OPTIONS']},,{users['PYTHONPATH']},"
    assert (done.errors, done.output.splitlines()) == ("", [expected] * len(tools))
    assert [json.loads(line)["event"] for line in pipe.lines] == ["start"]


LAUNCH = """
const words = [process.execPath, '-e', '0', process.argv[1]];
require('child_process').spawnSync('env', words, { stdio: 'inherit' });
"""


@pytest.mark.parametrize(("word", "starts"), [("plain", 2), ("/usr/bin/sudo", 1)])
def test_a_child_that_may_not_see_the_observers_files_is_not_observed(
    word: str, starts: int, runtime: Runtime, tmp_path: Path
) -> None:
    with Pipe(tmp_path / "fifo") as pipe:
        assert run([runtime.program(), "-e", LAUNCH, word], {}, pipe).shown == ("", "", 0)
    assert [json.loads(line)["event"] for line in pipe.lines] == ["start"] * starts


@pytest.mark.matrix
def test_an_old_version_of_node_runs_the_program_unobserved(server: Server, tmp_path: Path) -> None:
    command = [Runtime("node-16").program(), "-p", "process.env.NODE_OPTIONS.length > 0"]
    with Pipe(tmp_path / "fifo") as pipe:
        assert run(command, {"NODE_OPTIONS": "--no-warnings"}, pipe).shown == ("true\n", "", 0)
    assert pipe.lines == []
    code = "".join(file.read_text() for file in OBSERVER.parent.glob("*.cjs"))
    assert not re.search(r"\?\.[A-Za-z([]|\?\?|catch \{|#\w+ in|'node:", code)


def ours(folder: Path) -> tuple[str, str]:
    """Return our option as it is, and by a link to the file."""
    link = folder / "linked"
    link.symlink_to(OBSERVER.parent)
    return f'--require "{OBSERVER}"', f'--require "{link / OBSERVER.name}"'


def test_the_users_options_stay_in_any_form(server: Server, tmp_path: Path) -> None:
    option, linked = ours(tmp_path)
    (tmp_path / "it's own.cjs").write_text("")
    own = f'--require "{tmp_path}/it\'s own.cjs"'
    shapes = {
        option: None,
        f"{option} ": None,
        f"{option} --no-warnings": "--no-warnings",
        f"--no-warnings {option}": "--no-warnings",
        f"--no-warnings {option} {own}": f"--no-warnings {own}",
        f"{option} {option}  {own}": f" {own}",
        f"{linked} {own} --no-warnings": f"{own} --no-warnings",
    }
    program = Runtime("node").program()
    stdin, stdout = os.pipe()
    part = additions(tmp_path / "fifo", {}, OBSERVER, stdin, stdout)
    os.close(stdin)
    os.close(stdout)
    preload = f'"--preload={OBSERVER}"'  # as a path with a blank needs it
    variables = f"['NODE_OPTIONS', 'BUN_OPTIONS', '{VARIABLE}']"
    seen = {}
    for shape in shapes:
        printed = subprocess.run(
            [program, "-p", f"JSON.stringify({variables}.map((name) => process.env[name]))"],
            env={**os.environ, **part, "NODE_OPTIONS": shape, "BUN_OPTIONS": f"{preload} --smol"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=FUSE_SECONDS,
            check=True,
        )
        seen[shape], *others = json.loads(printed.stdout)
        assert others == ["--smol", None]
    assert seen == shapes
