"""Every command line of README and `docs/`: it is run, or at least read by its own parser."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lastword.cli.gateway import options as gateway_options
from lastword.core.timeline.entry import Kind
from tests.kit.collector import Collector
from tests.kit.command import command
from tests.kit.doc_blocks import commands, scenarios
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import ROOT
from tests.kit.recording import Book, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINES = commands()
AGENTS = (
    *("opencode", "claude-agent-acp", "codex-acp", "gemini", "qwen", "kimi", "vibe-acp", "cline"),
    *("pi-acp", "my-agent"),
)
"""Programs that the pages name."""

AGENT = """\
read hello || exit 0
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read session || exit 0
echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
exec cat >/dev/null"""
"""What each of them is here: well, as far as `lastword doctor` asks, and there at once."""

HELLO = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'

OWN = {"type": "custom", "command": "my-agent", "args": []}
"""An agent that the user's settings have already."""

UNTIL_STOPPED = ("lastword log --follow", "lastword log --web")
"""What goes on until Ctrl-C."""

FRAMES = """\
{"at":1795813098.6,"pid":1,"lastword":"lastword/0.3.0"}
{"at":1795813098.7,"pid":1,"from":"client","to":"agent","frame":{"jsonrpc":"2.0","id":1,"method":"x"}}
"""


STATUS = {
    "lastword setup zed claude --host": 1,  # no `ssh`; tests/interop/remote/test_setup_host.py
    "lastword gateway status --fleet": 2,  # no gateway of a fleet is there
    "lastword gateway status": 1,  # no gateway is there
    "lastword gateway reload": 1,
    "lastword gateway stop": 1,
}
"""Exit statuses other than 0."""

OTHERS = re.compile(
    r"(?P<pip>uv tool install|pipx install|pip install) (?P<what>\S+)"
    r"|command -v lastword|\./prepare .*|docker compose .*|pytest --pyargs lastword\.conformance .*"
    r"|python3 -m venv .*|toad acp .*|alias toad-\w+=.*|acpx [\w-]+ .*"
    r"|nats-server .*|\(umask 077; openssl rand .*"  # tests/interop/fleet/test_fleet_page.py
    r"|curl -H \"Authorization: Bearer .*"  # tests/process/gateway/test_events.py
    r"|npm (install|pkg) .*"  # tests/interop/typescript
)
"""Lines of other programs. Those of README that set everything up are run by `.ci/run`."""


def ours() -> list[str]:
    """The lines in which a command of lastword's is run."""
    return [line for line in LINES if re.match(r"(echo .*\| *|\(umask 077; )?lastword\b", line)]


def words(line: str) -> list[str]:
    return shlex.split(line, comments=True)


def is_parsed_only(line: str) -> bool:
    return (
        line.startswith("lastword check")
        or (line.startswith("lastword gateway") and " -- " in line)
    ) and "--list" not in words(line)


def desk_in(tmp_path: Path) -> Path:
    """A user's folder: a home with a record, the files that the lines name, and a PATH."""
    programs = tmp_path / "bin"
    programs.mkdir(parents=True)
    python = shlex.quote(sys.executable)
    script(programs / "lastword", f'exec {python} -P -m lastword "$@"')
    for agent in AGENTS:
        script(programs / agent, AGENT)
    for name in ("sh", "bash", "env", "cat", "sleep"):
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gateway-token").write_text("a.b.c")
    (home / ".hook-secret").write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    (home / "frames.jsonl").write_text(FRAMES)
    (home / "src").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "fleet.key").touch(0o600)
    (tmp_path / "here" / "fleet.key").write_text("a fleet's key, as long as it should be")
    zed = home / ".config" / "zed"
    zed.mkdir(parents=True)
    for place in (".jetbrains", ".acpx", ".config/Code/User"):
        (home / place).mkdir(parents=True)
    (zed / "settings.json").write_text(json.dumps({"agent_servers": {"My Agent": OWN}}))
    book = Book()
    book.created("3f2a9c")
    book.ok("3f2a9c", 1)
    book.failed("3f2a9c", 2, retryable=True, message="Limited.")
    book.note(Kind.SHUTDOWN, reason="client_closed")
    write(tmp_path / "state", book)
    here = tmp_path / "here"
    (here / "mine.yaml").write_text(scenarios()[0].text)
    (here / "crash.log").write_text("Error: 529 Overloaded\n")
    (here / "failures.jsonl").write_text('{"id": "1", "message": "429 Too Many Requests"}\n')
    return tmp_path


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def environment(desk: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    return kept | {
        "PATH": str(desk / "bin"),
        "HOME": str(desk / "home"),
        "LASTWORD_STATE_DIR": str(desk / "state"),
        "LASTWORD_GATEWAY_TOKEN": "a.b.c",
        "BROWSER": "true",
    }


def test_every_command_line_in_the_docs_is_run_or_parsed() -> None:
    assert len(ours()) > 40
    for line, place in LINES.items():
        if line in ours() or line.startswith("SSL_CERT_FILE"):
            continue
        found = OTHERS.fullmatch(line)
        assert found, f"{place}: nothing here tries `{line}`"


def test_each_line_does_what_its_page_says(tmp_path: Path) -> None:
    failures, known = [], set()
    # What differs from another line by its agent alone is that line.
    lines = {line.partition(" -- ")[0]: line for line in ours() if not is_parsed_only(line)}
    for number, line in enumerate(lines.values()):
        named = line.split()[1]
        status, told = played(desk_in(tmp_path / str(number)), line, is_first=named not in known)
        known.add(named)
        expected = next((code for start, code in STATUS.items() if line.startswith(start)), 0)
        if line.startswith("lastword gateway token"):
            expected = 0
        if status != expected:
            failures.append(f"{LINES[line]}: {line}\nstatus {status}\n{told}")
    assert not failures, "\n".join(failures)


def played(desk: Path, line: str, *, is_first: bool) -> tuple[int, str]:
    """Run a line, in bash if it is the first of its command, needs a shell or starts an agent."""
    with Collector() as collector:
        ready = line.replace("https://collector.example:4318", collector.url)
        topic = f"{collector.url}/my-topic --notify-format ntfy"
        ready = ready.replace("ntfy://ntfy.sh/my-topic", topic)
        if line.startswith(UNTIL_STOPPED):
            return until_stopped(desk, ready)
        steps = [ready]
        if "--remove" in line:  # what was written before
            steps.insert(0, ready.replace("--remove", "--write"))
        for step in steps:
            status, told = run(desk, step, in_bash=is_first or NEEDS_BASH.search(line) is not None)
            if status:
                break
        return status, told


STARTS_AN_AGENT = re.compile(r"lastword (run .*-- |agent (?!--list|--help|.* --script))")
NEEDS_BASH = re.compile(
    r"^(?!lastword )|^lastword (run |connect |doctor |agent (?!--help|.* --script))|[|&;<>$`(*]"
)


def run(desk: Path, line: str, *, in_bash: bool) -> tuple[int, str]:
    here, variables = desk / "here", environment(desk)
    if not in_bash:
        given = [re.sub("^~/", f"{desk / 'home'}/", word) for word in words(line)]
        done = command(*given[1:], cwd=here, environment=variables)
        return done.returncode, done.stdout + done.stderr
    with subprocess.Popen(
        ["bash", "-c", line],
        cwd=here,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        first = ""
        if STARTS_AN_AGENT.match(line):  # one that a client leaves before it is there is ended
            process.stdin.write(HELLO)
            process.stdin.flush()
            first = process.stdout.readline()
        rest, _ = process.communicate(timeout=2 * FUSE_SECONDS)
        status = process.returncode
    if STARTS_AN_AGENT.match(line) and status == 128 + signal.SIGTERM:
        status = (
            0  # one that took too long to leave was told to, which is for a busy machine to say
        )
    return status, first + rest


def until_stopped(desk: Path, line: str) -> tuple[int, str]:
    """Run what goes on, wait for its first word, and press Ctrl-C."""
    options = ["--no-open"] if "--web" in line else []
    with subprocess.Popen(
        [*words(line.replace("~", str(desk / "home"))), *options],
        cwd=desk / "here",
        env=environment(desk),
        executable=str(desk / "bin" / "lastword"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=FUSE_SECONDS)
        status = process.returncode
    assert re.match("http://127.0.0.1|lastword log: (?:follow|wait)", first), first + rest
    return (0 if status in (0, 130, -signal.SIGINT) else status), first + rest


def test_each_line_that_is_not_run_is_read_by_its_own_parser(tmp_path: Path) -> None:
    desk, failures = desk_in(tmp_path), []
    for line in filter(is_parsed_only, ours()):
        given = words(line)
        if given[1] == "gateway":
            options = ["--root", str(desk), *options_of(given)]
            assert gateway_options.read(options).holder.command, line
            continue
        # `--list` reads every other option, and starts nothing.
        listed = line.replace("lastword check", "lastword check --list", 1)
        status, told = run(desk, listed, in_bash=False)
        if status:
            failures.append(f"{LINES[line]}: {line}\n{told}")
    assert not failures, "\n".join(failures)


def options_of(given: list[str]) -> list[str]:
    """The words after `lastword gateway`, with a folder that is there for one that may not be."""
    replaced = [word.replace("~/src", ".") for word in given[2:]]
    return [*replaced[: replaced.index("--")], "--", sys.executable]


def test_every_extra_and_program_that_a_page_names_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in LINES:
        if "install" in line.split(" "):
            for extra in re.findall(r"\[(\w+)\]", line):
                assert extra in project["optional-dependencies"], line
    for page, text in texts():
        for extra in re.findall(r"pip install '(?:lastword|\.)\[(\w+)\]'", text):
            assert extra in project["optional-dependencies"], page
        for module in re.findall(r"python -m (tests\.[\w.]+|docs\.\w+)", text):
            assert find_spec(module), f"{page}: {module}"


def texts() -> Iterator[tuple[str, str]]:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        yield str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
