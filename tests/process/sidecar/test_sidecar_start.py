"""How a run begins, or does not: commands that cannot be started, terminals, the command line."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit import left_behind
from tests.kit.patience import FUSE_SECONDS
from tests.kit.rows import every
from tests.kit.sidecar import SIDECAR, agent_command
from tests.process.sidecar.failing_turn import payload_of

if TYPE_CHECKING:
    from tests.process.sidecar.conftest import Start


@pytest.mark.parametrize(
    ("why", "status", "word"),
    [
        ("missing", 127, "not found"),
        ("forbidden", 126, "permission denied"),
        ("foreign", 126, "exec format error"),
        ("moved", 127, "'/old/venv/bin/python -I', the interpreter of "),
    ],
)
def test_a_command_that_cannot_start_gets_a_typed_answer_and_a_sentence(
    start: Start, tmp_path: Path, why: str, status: int, word: str
) -> None:
    program = tmp_path / "program"
    if why != "missing":
        content = b"#! /old/venv/bin/python -I\n" if why == "moved" else b"\x7fELF\x02\x01\x01"
        program.write_bytes(content.ljust(64, b"\0"))
        program.chmod(0o644 if why == "forbidden" else 0o755)
    client = start.command([str(program)])
    payload = payload_of(client.initialize())
    assert (payload["type"], payload["reason"]) == ("agent_crash", "spawn_failed")
    assert (payload["phase"], payload["retryable"]) == ("startup", False)
    assert payload["action"] == "fix_configuration"
    assert "error" in client.call("session/new", cwd="/", mcpServers=[])
    assert client.end() == status
    client.listen(0.1)
    assert f"{program}: " in client.said
    assert f"{program}: " in payload["detail"]["text"]
    assert word in client.said
    assert client.said.count("\n") == 1


@pytest.mark.parametrize("options", [(), ("--passthrough",)], ids=["relay", "passthrough"])
def test_a_script_without_an_interpreter_line_is_run_by_sh(
    start: Start, tmp_path: Path, options: tuple[str, ...]
) -> None:
    script = tmp_path / "plain-script"
    words = " ".join(f"'{word}'" for word in agent_command("exits-at-end", 6))
    script.write_text(f'test "$1" = "a b" && exec {words}\n', encoding="utf-8")
    script.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    client = start.command(["plain-script", "a b"], options=options, environment={"PATH": path})
    client.open()
    assert client.end() == 6


SHADOWED = ("json", "logging", "msgspec", "select", "signal", "sqlite3")


def test_a_projects_own_modules_are_not_mistaken_for_pythons(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SHADOWED:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    # An empty part is the working directory: `PYTHONPATH=$PYTHONPATH:/more` where there was none.
    # No agent: the one of the tests would be the next to take them.
    environment = {"PYTHONPATH": f"{os.pathsep}/more"}
    client = start.command(["no-such-agent-anywhere"], environment=environment)
    assert payload_of(client.initialize())["reason"] == "spawn_failed"
    assert client.end() == 127


LEAVES = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {"protocolVersion": 1} if asked["method"] == "initialize" else {"sessionId": "s"}
    result["_meta"] = {"pid": os.getpid()}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
    if asked["method"] == sys.argv[2]:
        sys.exit(int(sys.argv[1]))
"""
"""An agent that exits with a status after it has answered a request."""


@every(
    ("after", "status", "restart"),
    [("initialize", 0, "never"), ("session/new", 0, "on-crash"), ("session/new", 1, "never")],
)
def test_an_agent_that_exits_early_leaves_no_request_unanswered(
    start: Start, after: str, status: int, restart: str
) -> None:
    agent = [sys.executable, "-c", LEAVES, str(status), after]
    client = start.command(agent, options=(f"--restart={restart}",))
    answer = client.initialize()
    if after == "session/new":
        answer = client.call("session/new", cwd="/", mcpServers=[])
    left = Path(f"/proc/{answer['result']['_meta']['pid']}")
    client.read_until_true(lambda: not left.exists(), "the agent's end")
    if after == "session/new":
        answer = client.call("session/prompt", sessionId="s", prompt=[])
    else:
        answer = client.call("session/new", cwd="/", mcpServers=[])
    assert payload_of(answer)["type"] == "agent_crash"
    assert client.end() in {0, status}


ODD_BYTES = b'{"jsonrpc":"2.0"}\r\nno json \xff\xfe\n[1]\n\n{"id": 1 , "result":{}}\nno line end'


def test_passthrough_relays_every_byte_and_the_exit_status_however_wrong_the_rest_is() -> None:
    wrong = {"LASTWORD_IDLE_TIMEOUT": "banana", "LASTWORD_FALLBACK": "none of these"}
    done = subprocess.run(
        [*SIDECAR, "--", "sh", "-c", "cat; echo over there >&2; exit 77"],
        input=ODD_BYTES,
        capture_output=True,
        env=os.environ | wrong | {"LASTWORD_PASSTHROUGH": "1"},
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == (ODD_BYTES, b"over there\n", 77)


def test_passthrough_becomes_the_agent_or_explains_in_a_sentence_why_not(start: Start) -> None:
    program = start.program(agent_command("names-its-pid"), options=["--passthrough"])
    assert program.read_to_end() == b"%d\n" % program.pid
    assert program.wait() == 7
    program = start.program(["no-such-agent-anywhere"], options=["--passthrough"])
    assert program.wait() == 127
    program.listen(0.1)
    assert program.said.startswith("lastword: ")
    assert program.said.count("\n") == 1


@pytest.mark.parametrize("terminal", ["stdin", "stdout"])
def test_the_sidecar_becomes_the_agent_at_a_terminal(terminal: str) -> None:
    ours, theirs = pty.openpty()
    mark = left_behind.new_mark()
    try:
        process = subprocess.Popen(
            [*SIDECAR, "--", *agent_command("names-its-pid")],
            stdin=theirs if terminal == "stdin" else subprocess.DEVNULL,
            stdout=theirs if terminal == "stdout" else subprocess.PIPE,
            env={**os.environ, left_behind.VARIABLE: mark},
        )
        with process:
            fd = ours if process.stdout is None else process.stdout.fileno()
            said = b""
            while not said.endswith(b"\n"):
                assert select.select([fd], [], [], FUSE_SECONDS)[0]
                said += os.read(fd, 100)
            assert int(said) == process.pid
            assert process.wait(FUSE_SECONDS) == 7
    finally:
        left_behind.kill_all(mark)
        os.close(ours)
        os.close(theirs)
    assert left_behind.wait_for_none(mark) == {}
