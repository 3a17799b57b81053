"""The examples and pictures of README and `docs/` are run, and do what their page says of them.

Those that call a model's provider are run in `tests/interop/providers`, where its package is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from docs import editor_pictures
from docs.editor_pictures import EDITORS, FAILURES, FOLDER, Editor
from tests.kit.client import TYPED, Client, clean_environment
from tests.kit.doc_blocks import GIVEN, Block, blocks, calls_a_model, given
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import AGENTS, ROOT
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


FAILED = (
    '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "x", "data": {"agent_error": '
    '{"version": 1, "type": "rate_limit", "message": "The provider is limiting requests.", '
    '"retryable": True, "retry_after_seconds": 20, "retry_safety": "auto", "action": "wait"}}}}'
)
NOW = "arrived = time.time() + 60"
"""By a clock that went back: all of the wait is left, however long the example's imports take."""


def python(program: str, folder: Path) -> list[str]:
    """Return the command that runs a program."""
    file = folder / "shown.py"
    file.write_text(program)
    return [sys.executable, str(file)]


def printed(block: Block, folder: Path, *, before: str = "", after: str = "") -> str:
    """Run an example between two lines of our own; return what it printed."""
    source = given(block).replace(block.text, f"{before}\n{block.text}\n{after}")
    done = subprocess.run(
        python(source, folder),
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
        env=clean_environment(),
    )
    assert done.returncode == 0, f"{block.name}\n{done.stderr}"
    return done.stdout


def a_limit_is_typed(block: Block, folder: Path) -> None:
    client = Client(python(given(block), folder), environment=clean_environment())
    client.open(**TYPED)
    assert client.turn("Hi").error["type"] == "rate_limit"
    assert client.end() == 0


def the_timeline_is_collected(block: Block, folder: Path) -> None:
    client = Client(python(given(block), folder), environment=clean_environment())
    client.open(**TYPED)
    client.turn("Hi")
    client.peer.takes_noise = True  # stdout is the program's own again
    assert client.end() == 0
    assert client.stdout.data.endswith(b"\nfailed rate_limit\n")


def an_agent_says_hello(block: Block, folder: Path) -> None:
    client = Client(python(given(block), folder), environment=clean_environment())
    client.open(**TYPED)
    turn = client.turn("Hi")
    assert turn.text.startswith("Hi from /")
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert client.end() == 0


def a_connection_is_guarded(block: Block, folder: Path) -> None:
    serve = """
async def main() -> None:
    server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
    asked = [
        ("initialize", {"protocolVersion": 1, "clientCapabilities": TYPED}),
        ("session/new", {"cwd": "/", "mcpServers": []}),
        ("session/prompt", {"sessionId": "1", "prompt": [{"type": "text", "text": "Hi"}]}),
    ]
    with subprocess.Popen(
        python(given(block) + serve, folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
    ) as agent:
        try:
            assert agent.stdout is not None
            there = ("127.0.0.1", int(agent.stdout.readline()))
            with socket.create_connection(there, timeout=FUSE_SECONDS) as link:
                for number, (method, params) in enumerate(asked):
                    frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                    link.sendall(json.dumps(frame).encode() + b"\n")
                answers = link.makefile("rb")
                last = next(line for line in map(json.loads, answers) if line.get("id") == 2)
        finally:
            agent.kill()
    assert last["error"]["data"]["agent_error"]["type"] == "rate_limit"


def a_failure_is_shown(block: Block, folder: Path) -> None:
    told = printed(block, folder, before=f"message = {FAILED}\n{NOW}")
    assert "limiting requests." in told
    assert "retry in 20 s" in told
    assert ("20\n" in told) == ("retry_after_seconds" in block.text)


def nothing_is_shown_where_nothing_failed(block: Block, folder: Path) -> None:
    well = '{"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}}'
    assert printed(block, folder, before=f"message = {well}\n{NOW}") == ""


def a_client_is_read(block: Block, folder: Path) -> None:
    a_failure_is_shown(block, folder)
    nothing_is_shown_where_nothing_failed(block, folder)


def the_names_are_there(block: Block, folder: Path) -> None:
    shown = "print(callable(connect_to_agent), callable(spawn_agent_process))"
    assert printed(block, folder, after=shown) == "True True\n"


def an_exception_is_classified(block: Block, folder: Path) -> None:
    told = printed(
        block,
        folder,
        before="exception = LimitError('Too many requests')",
        after="print(error.type, error.retryable, error.retry_safety)",
    )
    assert told == "rate_limit True offer_continue\n"


def a_handler_fails_in_its_own_words(block: Block, folder: Path) -> None:
    told = printed(
        block,
        folder,
        after="""
from lastword.testing import take_turn

class Answering(MyAgent):
    async def prompt(self, session_id: str, **_: object) -> acp.PromptResponse:
        await fill_cache()

turn = asyncio.run(take_turn(Answering(), "Hi"))
print(turn.error_type, turn.error.message, turn.error.action, turn.error.retry_safety)
""",
    )
    assert told == "budget Your team's budget is used up. Ask Ada. report never\n"


DOES: dict[tuple[str, str], Callable[[Block, Path], None]] = {
    ("README.md", "asyncio.run(lastword.run_agent(MyAgent()))"): a_limit_is_typed,
    ("README.md", "from lastword import client"): a_client_is_read,
    ("docs/agent.md", "asyncio.run(lastword.run_agent(MyAgent()))"): a_limit_is_typed,
    ("docs/agent.md", "async def serve_one"): a_connection_is_guarded,
    ("docs/agent.md", "sessions: dict"): an_agent_says_hello,
    ("docs/agent.md", "async def fill_cache"): a_handler_fails_in_its_own_words,
    ("docs/agent.md", "options = lastword.Options"): a_limit_is_typed,
    ("docs/client.md", "from lastword import client, errors"): a_client_is_read,
    ("docs/client.md", "from lastword.client.acp"): the_names_are_there,
    ("docs/explain.md", "error = lastword.classify"): an_exception_is_classified,
    ("docs/testing.md", "from lastword.testing import capture"): the_timeline_is_collected,
}
"""What an example does, by its page and how it begins."""

SHOWN = [block for block in blocks("python") if not calls_a_model(block)]
TESTS = [block for block in SHOWN if "\ndef test_" in block.text]
"""Those are run by pytest, below."""


def what_it_does(block: Block) -> list[tuple[str, str]]:
    """Return the rows for an example."""
    return [row for row in DOES if row[0] == block.page and block.text.startswith(row[1])]


def test_every_example_has_its_row_and_every_row_its_example() -> None:
    rows = [row for block in SHOWN if block not in TESTS for row in what_it_does(block)]
    assert sorted(rows) == sorted(DOES)
    assert len(rows) == len(SHOWN) - len(TESTS)


@pytest.mark.parametrize(
    "block", [block for block in SHOWN if block not in TESTS], ids=lambda block: block.name
)
def test_an_example_does_what_its_page_says(block: Block, tmp_path: Path) -> None:
    (row,) = what_it_does(block)
    DOES[row](block, tmp_path)


# --- types, tests and what is printed


def test_the_python_examples_pass_a_type_checker(tmp_path: Path) -> None:
    found = blocks("python")
    assert len(found) >= 12
    files = {}
    for number, block in enumerate(found):
        file = tmp_path / f"example_{number}.py"
        file.write_text(given(block))
        files[str(file)] = block
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", "--check-untyped-defs", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=10 * FUSE_SECONDS,
    )
    told = done.stdout + done.stderr
    for name, block in files.items():
        told = told.replace(name, f"{block.name} after {GIVEN.count(chr(10))} lines")
    assert "Success" in told, told


def test_each_test_that_is_shown_passes(tmp_path: Path) -> None:
    shown = [block for block in blocks("python") if "\ndef test_" in block.text]
    for block in shown:
        (tmp_path / f"test_{re.sub(r'[^a-z0-9]', '_', block.name)}.py").write_text(given(block))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=5 * FUSE_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    assert len(re.findall(r"(?m)^test_\w+\.py \.", done.stdout)) == len(shown)


@every("block", blocks("console"))
def test_a_page_shows_the_output_that_its_command_prints(block: Block, tmp_path: Path) -> None:
    runs = re.split(r"^\$ (.+)\n", block.text, flags=re.MULTILINE)[1:]
    for line, shown in zip(runs[::2], runs[1::2], strict=True):
        if not re.search(r"\blastword\b", line):
            continue
        done = subprocess.run(
            ["bash", "-c", line.replace("lastword", f"{sys.executable} -m lastword")],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=FUSE_SECONDS,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "COLUMNS": "80"},
        )
        assert done.stdout.rstrip() == shown.rstrip(), block.name


# --- the action for workflows: its script, run as a runner runs it


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


# --- the pictures of what editors show: each is what an agent that is run gives today


@pytest.mark.parametrize(
    "editor",
    [
        editor if editor.name == "zed" else pytest.param(editor, marks=pytest.mark.matrix)
        for editor in EDITORS
    ],
    ids=lambda editor: editor.name,
)
def test_each_picture_shows_what_its_editor_shows_today(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(editor_pictures, "EDITORS", (editor,))
    made = editor_pictures.pictures()
    assert len(made) == 2
    for path, picture in made.items():
        is_same = path.read_text(encoding="utf-8") == picture
        assert is_same, f"{path.name}: make it anew with `python -m docs.editor_pictures --write`"
        assert picture.count("without") >= len(FAILURES)


def test_each_picture_is_on_its_editor_s_page() -> None:
    for editor in EDITORS:
        page = (FOLDER / f"{editor.name}.md").read_text(encoding="utf-8")
        for theme in ("light", "dark"):
            assert f"{editor.name}-{theme}.svg#only-{theme}" in page
