"""The command line as a whole: what is listed, and what was probably meant."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.kit.command import command

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


def lastword(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return command(*arguments, environment=os.environ | environment)


def test_the_commands_are_listed_when_none_is_given(tmp_path: Path) -> None:
    done = command(cwd=tmp_path, environment={"HOME": str(tmp_path), "PATH": "/nowhere"})
    assert done.returncode == 2
    assert done.stdout == ""
    assert "lastword run -- opencode acp" in done.stderr


def test_a_known_editor_without_a_command_gets_the_next_one_printed(tmp_path: Path) -> None:
    (tmp_path / ".config" / "zed").mkdir(parents=True)
    done = command(cwd=tmp_path, environment={"HOME": str(tmp_path), "PATH": "/nowhere"})
    assert done.returncode == 0
    assert "setup zed --write -- CMD" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments",
    [("run", "--retri", "2", "--", "no-agent"), ("connect", "--retri"), ("connect", "ftp://host")],
)
def test_a_mistake_in_an_editors_entry_is_the_answer_to_its_first_request(
    arguments: tuple[str, ...],
) -> None:
    first = {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {"protocolVersion": 1}}
    done = command(*arguments, stdin=json.dumps(first) + "\n")
    silent = command(*arguments)
    assert (silent.returncode, silent.stdout) == (2, "")
    assert (done.returncode, done.stderr) == (2, silent.stderr)
    answer = json.loads(done.stdout)
    assert (answer["id"], answer["error"]["code"]) == ("a", -32603)
    assert answer["error"]["message"] == done.stderr.strip().replace("`", "").replace("  ", " ")
    payload = answer["error"]["data"]["agent_error"]
    assert (payload["origin"], payload["phase"]) == ("lastword", "startup")
    assert (payload["action"], payload["retryable"]) == ("fix_configuration", False)


@pytest.mark.parametrize("sent", ["no JSON\n", '{"jsonrpc":"2.0","method":"session/cancel"}\n'])
def test_what_is_no_request_gets_no_answer(sent: str) -> None:
    done = command("run", "--retri", "--", "no-agent", stdin=sent)
    assert (done.returncode, done.stdout) == (2, "")


MISTAKES = (
    (("nonsense",), "there is no command 'nonsense'; `lastword --help` lists them all"),
    (("exprot", "3f"), "there is no command 'exprot'. Did you mean export?"),
    (("stat",), "there is no command 'stat'. Did you mean stats?"),
    (("--hlep",), "there is no option --hlep. Did you mean --help?"),
    (("sh", "-c", "x y"), "lastword run -- sh -c 'x y'"),
    (("--", "sh"), "lastword run -- sh"),
    (("stats", "--dasy", "3"), "there is no option --dasy. Did you mean --days?"),
    (("log", "--limt=3"), "there is no option --limt. Did you mean --limit?"),
    (("stats", "--days", "three"), "--days cannot be 'three': it takes whole days"),
    (("stats", "--days", "0"), "it takes whole days, such as 7, 7d or 4w"),
    (("stats", "--days", "1.5"), "it takes whole days, such as 7, 7d or 4w"),
    (("stats", "--days", "99999"), "at most 3650 days"),
    (("log", "--no-open"), "--no-open, --port and --frames need --web"),
    (("log", "--port", "80"), "--no-open, --port and --frames need --web"),
    (("log", "--web", "--json"), "--web shows all of it as it happens; leave --json out"),
    (("log", "--web", "--follow"), "leave --follow out"),
    (("log", "--web", "--port", "0"), "it takes a whole number from 1 up"),
    (("log", "--web", "--port", "65536"), "a port is at most 65535"),
    (
        ("log", "--web", "--frames", "absent"),
        "--frames cannot be absent: no such file or directory",
    ),
    (("log", "--web", "--frames", "absent", "s1"), "leave the session out"),
    (("export", "-o"), "--output needs a value (FILE)"),
    (("stats", "--json=yes"), "--json takes no value"),
    (("outbox", "--send", "--test"), "--test cannot be used with --send"),
    (("outbox", "--report-format", "oltp"), "'oltp'. Did you mean otlp?"),
    (("connect",), "URL is missing"),
    (("explain", "a", "b"), "'b'"),
    (("explain", "--status", "x"), "--status cannot be 'x': it takes a whole number"),
    (("gateway", "tokn"), "did you mean `lastword gateway token`?"),
    (("gateway", "--lisen", "x", "--", "true"), "Did you mean --listen?"),
    (("gateway", "--idle-timeot", "5", "--", "true"), "Did you mean --idle-timeout?"),
    (("gateway", "--compress", "zip", "--", "true"), "it takes one of off, on"),
    (("doctor", "--client", "zedd", "--", "true"), "'zedd'. Did you mean zed?"),
    (("check", "--only", "opens-sesion"), "Did you mean opens-session?"),
    (("check", "--preset", "opncode", "--", "true"), "Did you mean opencode?"),
    (("check", "--timeout", "0", "--", "true"), "a duration above 0"),
    (("agent", "rate-limit"), "did you mean rate_limit?"),
    (("agent", "crash"), "agent_crash"),
    (("agent", "zzzzzz"), 'no scenario "zzzzzz"; see `lastword agent --list`'),
    (("agent",), "a scenario is missing"),
    (("agent", "--json"), "--json needs --list or --rungs"),
    (("agent", "healthy", "--json"), "--json needs --list or --rungs"),
    (("agent", "--bare", "--fallback", "text", "auth"), "--fallback is an option of lastword"),
    (("agent", "--fallback", "loud", "auth"), "--fallback cannot be 'loud': it takes one of auto"),
    (("agent", "./none.json"), "./none.json: no such file or directory"),
    (("agent", "--nonsense"), "there is no option --nonsense"),
    (("agent", "--fallback", "txt", "auth"), "Did you mean text?"),
    (("completion", "bahs"), "Did you mean bash?"),
    (("run", "--silent-success", "eror", "--", "true"), "Did you mean error?"),
    (("run", "opencode", "acp"), "lastword run -- opencode acp"),
    (("run", "--retry", "2", "pi", "-x"), "lastword run --retry 2 -- pi -x"),
    (("run", "--", "--retry", "2", "pi"), "lastword run --retry 2 -- pi"),
    (("doctor",), "the agent's command is missing"),
    (("doctor", "--", ""), "the agent's command is missing"),
    (("doctor", "--timeout", "0", "--", "cat"), "a duration above 0"),
    (("doctor", "--timeout", "soon", "--", "cat"), "it takes a duration"),
    (("doctor", "--json", "pi", "-x"), "lastword doctor --json -- pi -x"),
    (("doctor", "--", "--client", "zed", "pi"), "lastword doctor --client zed -- pi"),
    (("check", "--protocol", "2", "pi"), "lastword check --protocol 2 -- pi"),
    (("gateway", "--retry", "2", "pi"), "lastword gateway --retry 2 -- pi"),
    (("gateway", "--", "--verbose"), "lastword gateway --verbose -- CMD"),
)


def test_a_mistake_is_answered_in_one_line_with_a_suggestion() -> None:
    failures = []
    for arguments, said in MISTAKES:
        done = lastword(*arguments)
        told = done.stderr
        expected = ""
        if "--json" in arguments:
            error = {"message": told.split(": ", 1)[1].rstrip(), "exit_status": 2}
            expected = json.dumps({"version": 1, "error": error}, indent=2) + "\n"
        is_one_line = told.startswith("lastword") and told.count("\n") == 1
        if done.returncode != 2 or said not in told or not is_one_line or done.stdout != expected:
            failures.append((arguments, done))
    assert not failures


def test_a_secret_in_a_command_line_is_not_repeated() -> None:
    key = "sk-ant-api03-" + "x7" * 40
    done = lastword("run", "pi", "--key", key)
    assert "lastword run -- pi --key" in done.stderr
    assert key not in done.stderr
