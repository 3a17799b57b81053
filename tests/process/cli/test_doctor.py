"""`lastword doctor`: agents that can and cannot be started here, and what it leaves behind."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lastword.cli import doctor as doctor_command
from lastword.core.failure.ladder import Rung
from lastword.kit import diagnosis
from lastword.kit import doctor as examining
from lastword.kit.diagnosis import ConversationResult, diagnose
from lastword.platform.process import Exit
from lastword.quirks.clients import RULES
from tests.kit.client import clean_environment
from tests.kit.command import command, in_a_process
from tests.kit.gateway.serving import is_running, until
from tests.kit.patience import FUSE_SECONDS, patient
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AGENT = [sys.executable, "-m", "lastword", "agent"]
SESSION = '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
HELLO = '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'


def doctor(*arguments: str, **environment: str) -> tuple[int, str, str]:
    done = command("doctor", *arguments, environment=clean_environment(**environment))
    return done.returncode, done.stdout, done.stderr


def report(*arguments: str, **environment: str) -> tuple[int, dict[str, Any]]:
    status, out, err = doctor("--json", *arguments, **environment)
    assert err == ""
    told = json.loads(out)
    assert told["ok"] is (status == 0)
    return status, told


def finding(told: dict[str, Any], step: str) -> dict[str, Any]:
    found: dict[str, Any] = next(f for f in reversed(told["findings"]) if f["step"] == step)
    return found


def sources(told: dict[str, Any]) -> list[dict[str, Any]]:
    """What is found of the agent's logs and events; its connections are another matter."""
    found = [f for f in told["findings"] if f["step"] == "sources"]
    return [each for each in found if "connections" not in each["says"]]


def problems(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [f for f in told["findings"] if f["verdict"] == "problem"]


def script(folder: Path, text: str, *, name: str = "agent.sh", mode: int = 0o755) -> str:
    file = folder / name
    file.write_text(text)
    file.chmod(mode)
    return str(file)


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def answering(folder: Path, *answers: str, then: str = "cat >/dev/null") -> str:
    """A program that answers its first requests, each in one line."""
    said = "".join(f"read line\necho '{answer}'\n" for answer in answers)
    return script(folder, f"#!/bin/sh\n{said}{then}\n")


@pytest.fixture
def well(tmp_path: Path) -> str:
    """An agent that is well, and starts at once."""
    return answering(tmp_path, HELLO, SESSION)


@pytest.fixture
def told_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Gives the program of an agent that says this, and need not be started for it."""

    def told_by(name: str = "x", program: str = "agent", **session: Any) -> str:
        def converse(*_: object, version: int = 1, **__: object) -> ConversationResult:
            hello = {"protocolVersion": 1, "agentInfo": {"name": name, "version": "1"}}
            if version != 1:
                return ConversationResult(hello={"result": hello})
            opened = {"result": {"sessionId": "s"} | session}
            return ConversationResult(hello={"result": hello}, session=opened, leave_seconds=0.1)

        monkeypatch.setattr(doctor_command, "converse", converse)
        return script(tmp_path, "#!/bin/sh\n", name=program)

    return told_by


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time that an agent has for its leave passes at once."""
    monkeypatch.setattr(diagnosis, "LEAVE_SECONDS", 0.1)


@pytest.fixture(scope="module")
def examined() -> dict[str, Any]:
    """What a real doctor says of the scripted agent."""
    words = ("doctor", "--json", "--", *AGENT, "--bare", "healthy")
    done = in_a_process(*words, environment=clean_environment())
    assert (done.returncode, done.stderr) == (0, "")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


# --- an agent that is well


def test_a_healthy_agent_is_reported_step_by_step(examined: dict[str, Any]) -> None:
    told = examined
    steps = [f["step"] for f in told["findings"]]
    own = ["command", "initialize", "capabilities", "login", "agent_error", "session", "exit"]
    assert [step for step in steps if step in own] == own
    hello = finding(told, "initialize")["facts"]
    assert hello["agent"]["name"] == "lastword-agent"
    assert hello["protocol_version"] == 1
    assert 0 < hello["seconds"] < FUSE_SECONDS
    assert finding(told, "capabilities")["facts"]["resume"] is True
    assert finding(told, "agent_error")["facts"] == {"speaks": False}
    assert finding(told, "version 2")["verdict"] == "ok"
    # Each kind of client gets the rung that the ladder chooses.
    rungs = {row["client"]: row["rung"] for row in told["clients"]}
    assert set(rungs) == {*RULES, "jetbrains", "typed", "older", "v2"}
    assert rungs["typed"] == "typed"
    assert rungs["older"] == "error_with_meta"
    assert rungs["v2"] == "v2"
    assert rungs["zed"] == RULES["zed"].rung
    assert all(row["means"] for row in told["clients"])


def test_an_agent_behind_lastword_speaks_agent_error_and_its_login_is_named() -> None:
    _, told = report("--", *AGENT, "login_needed")
    assert finding(told, "agent_error")["facts"] == {"speaks": True}
    assert finding(told, "login")["facts"] == {"methods": ["Log in"]}


def test_one_client_can_be_selected(told_by: Callable[..., str]) -> None:
    for name, expected in (("typed", "typed"), ("my-own", "error_with_meta")):
        _, told = report("--client", name, "--", told_by())
        assert [(row["client"], row["rung"]) for row in told["clients"]] == [(name, expected)]


def test_a_rung_that_the_environment_forces_is_reported(told_by: Callable[..., str]) -> None:
    _, told = report("--", told_by(), LASTWORD_FALLBACK="text")
    (older,) = [row for row in told["clients"] if row["client"] == "older"]
    assert (older["rung"], older["forced"]) == ("text", True)
    rows = {row.client: row for row in diagnosis.table(None, option="text", speaks_v2=True)}
    assert (rows["v2"].rung, rows["v2"].forced) == (Rung.V2, False)


KEEPER = [sys.executable, "-m", "tests.process.conformance.keeper"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zed", "Zed shows waits and reminders as"),
        ("sublime", "lastword does not know sublime; such a client gets waits and reminders as"),
    ],
)
def test_an_unknown_client_is_called_so(name: str, said: str) -> None:
    [row] = diagnosis.table(name, option="auto", speaks_v2=False)
    title = "Zed" if name == "zed" else name
    assert diagnosis.shown_by(row, title).sentence.startswith(said)


def test_an_agent_of_version_1_gives_a_client_of_version_2_the_first() -> None:
    rows = {row.client: row for row in diagnosis.table(None, option="auto", speaks_v2=False)}
    assert rows["v2"].rung is Rung.ERROR_WITH_META
    assert "only version 1" in rows["v2"].about
    # One that repeats any version does not speak it.
    told = report("--", *KEEPER, "echoes")[1]
    assert finding(told, "version 2")["verdict"] == "note"


def test_the_report_fits_80_columns(told_by: Callable[..., str]) -> None:
    well = told_by()
    status, out, err = doctor("--client", "jetbrains", "--", well, COLUMNS="80")
    assert (status, err) == (0, "")
    path_free = [line for line in out.splitlines() if os.sep not in line]
    assert max(map(len, path_free)) <= 80
    assert not re.search("error_with_meta|sessionFailure|negotiate", out)
    *_, first, run, second, setup, _, shown, end = out.splitlines()
    assert first == "This agent can be used here. In the editor's settings, start it as"
    assert re.match(r"  (/\S+/)?lastword run -- /", run)
    assert second == "or let lastword write the settings:"
    assert re.match(r"  (/\S+/)?lastword setup jetbrains --write -- ", setup)
    assert (
        shown == 'During a rate limit, JetBrains IDEs would show: "The model provider is limiting'
    )
    assert end == 'requests. Try again in 20 seconds."'


def test_doctor_names_the_installed_editor_when_no_client_is_given(
    told_by: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / ".config" / "zed").mkdir(parents=True)
    well = told_by()
    out = doctor("--", well, HOME=str(tmp_path))[1]
    assert "lastword setup zed --write" in out
    assert "During a rate limit, Zed would show:" in out
    out = doctor("--", well, HOME=str(tmp_path / "nobody"))[1]
    assert "lastword setup EDITOR --write" in out
    assert "During a rate limit, your editor would show:" in out


def test_doctor_shows_what_the_editor_displays_when_an_agent_does_not_start() -> None:
    initialize = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,'
        '"clientInfo":{"name":"zed","version":"1"},"clientCapabilities":{}}}\n'
    )
    for agent in ("no-such-agent", "true"):
        sent = in_a_process("run", "--", agent, stdin=initialize).stdout
        message = json.loads(sent)["error"]["message"]
        out = " ".join(doctor("--client", "zed", "--", agent)[1].split())
        assert out.endswith(f'Until then, Zed shows: "{message}"')
    out = " ".join(doctor("--", *python("raise SystemExit('no key')"))[1].split())
    assert "Until then, your editor shows: \"The agent's process ended unexpectedly." in out


# --- what cannot be started


def test_a_missing_command_is_reported(tmp_path: Path) -> None:
    status, told = report("--", "no-such-agent", "acp")
    assert status == 1
    assert "none of the" in problems(told)[0]["says"]
    assert "Install" in problems(told)[0]["do"]
    assert "no such file" in problems(report("--", str(tmp_path / "no"))[1])[0]["says"]
    status, out, _ = doctor("--", "no-such-agent")
    assert (status, "PROBLEM" in out) == (1, True)


def test_a_non_executable_file_is_reported(tmp_path: Path) -> None:
    text = script(tmp_path, "#!/bin/sh\n", mode=0o644)
    assert problems(report("--", text)[1])[0]["do"] == f"chmod +x {text}"
    on_path = problems(report("--", "agent.sh", PATH=str(tmp_path))[1])[0]
    assert on_path["do"] == f"chmod +x {text}"
    assert "is a directory" in problems(report("--", str(tmp_path))[1])[0]["says"]


CANNOT_RUN = (
    ("#!/no/such/interp\n", "needs /no/such/interp"),
    ("#!/usr/bin/env no-such-interp\n", "needs no-such-interp"),
    ("#!/usr/bin/env -S no-such-interp -u\n", "needs no-such-interp"),
    ("#!/bin/sh\r\n", "ends in a carriage return"),
    ("#!\n", "names no program"),
    ("", "is empty"),
    ("MZ\0\0", "program for Windows"),
)


def test_a_file_that_this_machine_cannot_run_is_reported(tmp_path: Path) -> None:
    for line, missing in CANNOT_RUN:
        status, told = report("--", script(tmp_path, line))
        assert status == 1
        assert missing in problems(told)[0]["says"]


def test_a_program_built_for_another_machine_is_reported_and_a_native_one_passes(
    tmp_path: Path,
) -> None:
    machine = next(n for n, name in examining.MACHINES.items() if name == "riscv64")
    head = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x02\0" + machine.to_bytes(2, "little")
    file = tmp_path / "agent"
    file.write_bytes(head + b"\0" * 100)
    file.chmod(0o755)
    assert "built for riscv64" in problems(report("--", str(file))[1])[0]["says"]
    path = os.path.realpath("/bin/sh")
    assert [f.verdict.value for f in examining.examine(path, os.environ)] == ["ok"]


# --- what starts, and goes wrong


HELLO_1: dict[str, Any] = {"result": {"protocolVersion": 1}}
TOO_OLD = {"code": -32602, "message": "Unsupported protocol version"}
NO_LOGIN = {"code": -32000, "message": "Authentication required"}
EXITED = {"code": -32603, "message": "Internal error", "data": {"details": "X exited with 1"}}
DIED: dict[str, Any] = {"exited_early": True}
WRONG: tuple[tuple[dict[str, Any], str, str, list[str]], ...] = (
    # What came of the conversation, the step that tells of it, the verdict and the words.
    ({}, "initialize", "problem", ["did not answer initialize within 3 s"]),
    ({"echoes": True}, "initialize", "problem", ["not an ACP agent"]),
    ({"hello": {"result": None}}, "initialize", "problem", []),
    ({"hello": {"result": {"protocolVersion": "1"}}}, "initialize", "problem", []),
    ({"hello": {"error": TOO_OLD}}, "initialize", "problem", ["speak different versions of the"]),
    ({"hello": HELLO_1, "session": {"result": None}}, "session", "problem", []),
    ({"hello": HELLO_1, "session": {"result": {"sessionId": 7}}}, "session", "problem", []),
    ({"hello": HELLO_1, "session": {"error": NO_LOGIN}}, "session", "note", ["asks for a login"]),
    (
        {"hello": HELLO_1, "session": {"error": EXITED}, "stderr": b"\nno settings\n"},
        "session",
        "problem",
        ["session/new fails", 'It said: "X exited with 1".', 'stderr ends with "no settings".'],
    ),
    (DIED | {"exit": Exit(None, signal.SIGKILL)}, "start", "problem", ["by signal 9"]),
    (
        DIED | {"exit": Exit(3, None), "hello": HELLO_1},
        "session",
        "problem",
        ["with status 3 at session/new"],
    ),
)


@every("came, step, verdict, words", WRONG)
def test_an_agents_mistake_is_reported(
    came: dict[str, Any], step: str, verdict: str, words: list[str]
) -> None:
    findings = diagnose(ConversationResult(**came), timeout_seconds=3)
    (found,) = [found for found in findings if found.step == step and found.verdict != "ok"]
    assert found.verdict == verdict
    assert [text for text in words if text not in found.sentence] == []
    # An agent of another version is not told as a provider's address.
    assert "address" not in found.sentence


def test_an_answer_under_another_id_does_not_count(tmp_path: Path) -> None:
    under = [HELLO.replace('"id":1', f'"id":{other}') for other in ("true", '"1"')]
    lines = "'\necho '".join([*under, '{"jsonrpc":"2.0","id":1,"method":[]}'])
    status, told = report("--timeout", "0.3", "--", answering(tmp_path, lines))
    assert status == 1
    assert "did not answer initialize" in finding(told, "initialize")["says"]


def test_a_crash_at_the_start_is_explained_with_its_last_words_without_secrets() -> None:
    secret = "sk-ant-api03-" + "a1B2c3D4" * 8
    status, told = report("--", *python(f"raise KeyError('model {secret}')"))
    died = problems(told)[0]
    assert (status, died["step"], died["facts"]["reason"]) == (1, "start", "uncaught_exception")
    assert "status 1" in died["says"]
    assert "KeyError: 'model " in died["facts"]["stderr"]
    assert secret[:24] not in json.dumps(told)


def test_a_banner_on_stdout_is_only_a_note_with_lastword(tmp_path: Path, well: str) -> None:
    text = f"#!/bin/sh\necho 'Welcome to the agent!'\nexec {well}\n"
    status, told = report("--", script(tmp_path, text, name="banner.sh"))
    noise = finding(told, "stdout")
    assert (status, noise["verdict"]) == (0, "note")
    assert noise["facts"]["lines"] == ["Welcome to the agent!"]
    assert "stderr" in noise["do"]


@pytest.mark.usefixtures("impatient")
def test_a_stubborn_agent_leaves_no_process_behind(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import os, signal, subprocess, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"child = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}} {{child.pid}} ')\n"
        "time.sleep(60)\n"
    )
    status, told = report("--timeout", str(patient(1)), "--", *python(code))
    assert (status, bool(problems(told))) == (1, True)
    for pid in map(int, pids.read_text().split()):
        until("it has ended", lambda pid=pid: not is_running(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="waits for a process by its descriptor")
def test_a_doctor_that_is_stopped_ends_the_agent(tmp_path: Path) -> None:
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)
    agent = script(tmp_path, f"#!/bin/sh\nread hello\necho $$ > {fifo}\nexec sleep 60\n")
    with subprocess.Popen(
        [sys.executable, "-m", "lastword", "doctor", "--", agent],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        running = os.pidfd_open(int(fifo.read_text()))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=FUSE_SECONDS)
    assert b"Traceback" not in err
    assert process.returncode == -signal.SIGTERM
    # A descriptor of a process is ready once it is gone.
    gone, _, _ = select.select([running], [], [], FUSE_SECONDS)
    os.close(running)
    assert gone


@pytest.mark.usefixtures("impatient")
def test_an_agent_that_stays_after_its_stdin_closed_is_noted(tmp_path: Path) -> None:
    status, told = report("--", answering(tmp_path, HELLO, SESSION, then="exec sleep 60"))
    assert status == 0
    assert finding(told, "exit")["verdict"] == "note"


# --- lastword's own surroundings

SURROUNDINGS = (
    ({"LASTWORD_IDLE_TIMEOUT": "soon"}, 1, ["LASTWORD_IDLE_TIMEOUT cannot be 'soon'"]),
    ({"LASTWORD_SPEND_LIMIT": "5 usd/day"}, 0, ["--spend-limit is 5USD/day", "the agent states"]),
    (
        {"LASTWORD_IDLE_TIMEOUT": "5", "LASTWORD_IDEL_TIMEOUT": "5", "LASTWORD_ELSEWHERE": "5"},
        0,
        [
            "LASTWORD_IDLE_TIMEOUT=5 is set",
            "Did you mean LASTWORD_IDLE_TIMEOUT?",
            "LASTWORD_ELSEWHERE is set, but is not an option of",
        ],
    ),
    (
        {"LASTWORD_GATEWAY_TOKEN": "v1.secret"},
        0,
        ["LASTWORD_GATEWAY_TOKEN is set: `lastword connect`"],
    ),
    (
        {"LASTWORD_STATE_DIR": "/dev/null", "LASTWORD_RECORD_DAYS": "a week"},
        1,
        [
            "LASTWORD_RECORD_DAYS cannot be 'a week': it takes a number of days",
            "LASTWORD_STATE_DIR cannot be '/dev/null': that is not a folder.",
        ],
    ),
)


def test_the_environments_settings_are_checked(told_by: Callable[..., str]) -> None:
    for variables, expected, words in SURROUNDINGS:
        status, told = report("--", told_by(), **variables)
        says = " ".join(found["says"] for found in told["findings"])
        assert status == expected, variables
        assert [text for text in words if text not in says] == []
        assert bool(problems(told)) is bool(expected)
        assert "v1.secret" not in str(told)


def test_a_path_without_lastword_is_noted() -> None:
    _, told = report("--", "/bin/cat", PATH="/usr/bin:/bin")
    assert finding(told, "PATH")["verdict"] == "note"
    assert finding(told, "lastword")["facts"]["platform"] == sys.platform


# --- the sources beside its pipes


def test_a_journal_is_named_with_what_it_reports(
    tmp_path: Path, told_by: Callable[..., str]
) -> None:
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    environment = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": ""}
    status, told = report("--", told_by("claude-agent-acp"), **environment)
    assert status == 0
    found = sources(told)[-1]
    assert found["verdict"] == "ok"
    assert "journal ~/.claude/projects can be read" in found["says"]
    assert "while the agent tries again" in found["says"]
    # One that is not there yet is a note.
    _, told = report("--", told_by("Kimi Code CLI"), KIMI_SHARE_DIR=str(tmp_path / "kimi"))
    found = sources(told)[-1]
    assert found["verdict"] == "note"
    assert f"journal {tmp_path}/kimi/logs/kimi.log does not exist yet" in found["says"]
    assert "given up" in found["says"]


@pytest.mark.skipif(sys.platform != "linux", reason="a free port is found in /proc")
def test_events_are_reported_only_where_lastword_reads_them(
    tmp_path: Path, told_by: Callable[..., str]
) -> None:
    program = told_by("OpenCode", "opencode")
    _, told = report("--", program, "acp", XDG_DATA_HOME=str(tmp_path))
    says = [found["says"] for found in sources(told)]
    assert [" ".join(words.split()[:2]) for words in says] == ["Its journal", "lastword gives"]
    _, told = report("--", program, "acp", "--port", "1", XDG_DATA_HOME=str(tmp_path))
    assert not sources(told)[-1]["says"].startswith("lastword gives it a port")


def test_an_agent_without_sources_and_a_user_who_disabled_them_are_noted(
    told_by: Callable[..., str],
) -> None:
    _, told = report("--", told_by("somebody's agent"))
    assert "lastword knows no log of this agent" in sources(told)[-1]["says"]
    _, told = report("--", told_by("claude"), LASTWORD_EVIDENCE="wire")
    assert "nothing but the agent's pipes" in sources(told)[-1]["says"]


def test_an_agents_models_are_listed_by_the_ids_that_the_option_accepts(
    told_by: Callable[..., str],
) -> None:
    models = [{"modelId": f"m{number}", "name": "M"} for number in range(21)]
    offered = {"currentModelId": "m0", "availableModels": models}
    status, told = report("--", told_by(models=offered))
    found = finding(told, "models")
    names = [model["modelId"] for model in models]
    assert (status, found["facts"]["models"]) == (0, names)
    assert found["says"].endswith("by these ids: " + ", ".join(names[:20]) + " and more.")
