"""Configuration files through real processes: what counts, what is refused, and who says so."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.client import RETRY
from tests.kit.collector import Collector
from tests.kit.command import command, in_a_process
from tests.kit.gateway.serving import Gateway, agent
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.json_glossary import problems_in
from tests.kit.programs import run_program
from tests.kit.recording import is_recorded
from tests.kit.rows import every
from tests.process.sidecar.conftest import Start, start

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.kit.sidecar import SidecarClient


LASTWORD = (sys.executable, "-P", "-m", "lastword")


class ConfigDesk:
    """A home folder beside a repository; commands work in a folder of the repository."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.user = self.home / ".config" / "lastword" / "config.toml"
        self.repository = folder / "repository"
        self.project = self.repository / ".lastword.toml"
        self.cwd = self.repository / "src"
        self.user.parent.mkdir(parents=True)
        (self.repository / ".git").mkdir(parents=True)
        self.cwd.mkdir()

    @property
    def environment(self) -> dict[str, str]:
        own = {key: text for key, text in os.environ.items() if not key.startswith("LASTWORD_")}
        own.pop("XDG_CONFIG_HOME", None)
        return own | {"HOME": str(self.home), "LASTWORD_STATE_DIR": str(self.home / "state")}

    def run(
        self, *words: str, stdin: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of lastword's; one that starts an agent has a process for it."""
        begin = in_a_process if words[0] == "run" else command
        return begin(*words, stdin=stdin, cwd=self.cwd, environment=self.environment | variables)


__all__ = ["start"]

ACME = "Acme points are used up for this desk"
RULE = """[[classify.rule]]
name = "acme-points"
type = "budget"
message = "acme points are used up"
"""
IT_RUNS = "import os, sys; sys.stderr.write('it runs'); sys.exit(7)"
ECHO = ("run", "--", sys.executable, "-c", IT_RUNS)


@pytest.fixture
def desk(tmp_path: Path) -> ConfigDesk:
    return ConfigDesk(tmp_path)


def failing(folder: Path, **failure: Any) -> list[str]:
    """The command of an agent whose turns fail so."""
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": [[{"fail": failure}]]}))
    return agent(str(script))


def sidecar(start: Start, desk: ConfigDesk, command: list[str], *options: str) -> SidecarClient:
    """A `lastword run` of this desk's user, in the project."""
    under = ["sh", "-c", 'cd -- "$0" && exec "$@"', str(desk.cwd)]
    clean = {name: "" for name in os.environ if name.startswith("LASTWORD_")}
    environment = clean | {"XDG_CONFIG_HOME": ""} | {
        name: desk.environment[name] for name in ("HOME", "LASTWORD_STATE_DIR")
    }  # fmt: skip
    return start.command(command, under=under, options=options, environment=environment)


# --- lastword run


def test_a_run_uses_the_users_values_and_the_projects_take_precedence(
    start: Start, desk: ConfigDesk
) -> None:
    desk.user.write_text("[run]\nfirst-update-timeout = 3600\nrecord = 'rec'\n")
    desk.project.write_text("[run]\nfirst-update-timeout = '0.3s'\n")
    client = sidecar(start, desk, agent("never_answered"))
    client.open()
    error = client.turn("x").error
    assert error["type"] == "agent_stalled"
    client.end()
    assert is_recorded(desk.user.parent / "rec")
    listed = desk.run("log", "--json")
    assert json.loads(listed.stdout)["sessions"], listed.stderr


def test_the_environment_overrides_the_files_and_the_command_line_overrides_it(
    desk: ConfigDesk,
) -> None:
    desk.user.write_text("[run]\nretry = 1\nidle-timeout = '5m'\nfallback = 'text'\n")
    desk.project.write_text("[run]\nidle-timeout = '6m'\ntool-timeout = '3h'\n")
    done = desk.run("config", "--json", LASTWORD_RETRY="3", LASTWORD_TOOL_TIMEOUT="9")
    document = json.loads(done.stdout)
    assert problems_in(document, "config") == []
    found = {row["option"]: row for row in document["options"] if row["table"] == "run"}
    place = {"file": str(desk.project), "line": 2}
    assert found["idle-timeout"] == {
        "table": "run",
        "option": "idle-timeout", "value": 360.0, "set_by": "project", **place,
    }  # fmt: skip
    assert (found["retry"]["value"], found["retry"]["variable"]) == (3, "LASTWORD_RETRY")
    assert (found["tool-timeout"]["value"], found["tool-timeout"]["set_by"]) == (9, "environment")
    assert (found["fallback"]["value"], found["fallback"]["line"]) == ("text", 4)
    assert found["warn-after"]["set_by"] == "default"


def test_a_wrong_users_file_starts_no_agent_and_prints_one_line(desk: ConfigDesk) -> None:
    desk.user.write_text("[run]\nretry = -1\n")
    done = desk.run(*ECHO)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"lastword: {desk.user}:2:")
    for way in (("run", "--no-config"), ("run", "--passthrough"), ("run", "--config", os.devnull)):
        assert desk.run(*way, *ECHO[1:]).returncode == 7


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[run]\nreport-to = 'http://127.0.0.1:9'\n", "cannot set report-to; your own file can"),
        (RULE, "[classify] belongs in your own file"),
        ("#" * 2_000_000, "larger than 4 KiB"),
    ],
)
def test_a_wrong_projects_file_is_ignored_with_a_warning(
    text: str, says: str, desk: ConfigDesk
) -> None:
    desk.project.write_text(text)
    done = desk.run(*ECHO)
    assert (done.returncode, done.stdout) == (7, "")
    warning, rest = done.stderr.splitlines()
    assert warning.startswith(
        f"lastword: the project's configuration file is ignored: {desk.project}"
    )
    assert says in warning
    assert rest == "it runs"


def test_a_users_rule_types_a_failing_turn_and_explain_names_it(
    start: Start, desk: ConfigDesk
) -> None:
    desk.user.write_text(RULE)
    client = sidecar(start, desk, failing(desk.home, http=429, message=ACME))
    client.open(**RETRY)
    assert client.turn("x").error["type"] == "budget"
    page = desk.run("explain", stdin=f"429 {ACME}").stdout
    assert "Decided by a rule of your configuration file" in page
    assert "config:acme-points" in page
    assert '"429 Acme points are used up for this desk" = budget' in page
    plain = desk.run("explain", "--json", stdin=f"429 {ACME}", LASTWORD_NO_CONFIG="1").stdout
    assert "config:" not in plain


# --- the gateway, and connect


def test_a_gateway_uses_its_table_passes_the_rest_on_and_reloads_with_a_right_one_alone(
    desk: ConfigDesk,
) -> None:
    work = desk.home / "work"
    with Collector() as collector:
        run = f"[run]\nreport-to = '{collector.url}'\nretry = 0\nfirst-update-timeout = '1h'\n"
        own = "[gateway]\npath = '/elsewhere'\nroot = '/nowhere'\n"
        desk.user.write_text(run + own + RULE)
        gateway = Gateway(
            desk.home,
            failing(desk.home, http=429, message=ACME),
            variables={"HOME": str(desk.home), "LASTWORD_NO_CONFIG": "", "XDG_CONFIG_HOME": ""},
        )
        try:
            assert gateway.url.endswith("/elsewhere")
            with ViewerClient(gateway) as viewer:
                answer = viewer.answer(viewer.prompt(viewer.new(work)))
                assert answer["error"]["data"]["agent_error"]["type"] == "budget"
            collector.expect(1)
            desk.user.write_text(f"{run}{own}ping = 'never'\n{RULE}")
            refused = gateway.tell("reload")
            assert (refused.returncode, "ping cannot be 'never'" in refused.stderr) == (2, True)
            assert gateway.front.poll() is None
            desk.user.write_text(f"{run}{own}ping = '7s'\n{RULE}")
            gateway.reload()
            with ViewerClient(gateway) as viewer:
                viewer.new(work)
        finally:
            gateway.close()


def test_connect_reads_the_address_and_the_token_from_its_table(desk: ConfigDesk) -> None:
    assert "URL is missing" in desk.run("connect").stderr
    desk.user.write_text("[connect]\nurl = 'ftp://x'\ntoken-file = 'token'\n")
    assert "URL cannot be 'ftp://x'" in desk.run("connect").stderr
    assert "URL cannot be 'y'" in desk.run("connect", "y").stderr
    desk.user.write_text("[connect]\nurl = 'http://127.0.0.1:1'\ntoken-file = 'token'\n")
    assert str(desk.user.parent / "token") in desk.run("connect").stderr
    assert "/other" in desk.run("connect", "--token-file", "/other").stderr


# --- the other commands, and config itself


def test_a_wrong_file_gives_one_line_and_status_2_but_help_still_works(desk: ConfigDesk) -> None:
    desk.user.write_text("[run]\nidle-timout = 5\nretry = -1\n")
    for words in (("log",), ("stats",), ("export",), ("outbox",), ("explain",)):
        done = desk.run(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            f"lastword: {desk.user}:2: there is no option 'idle-timout'. Did you mean "
            "idle-timeout? `lastword config` lists them all (and 1 more; `lastword config check` "
            "lists them)\n"
        )
        assert desk.run(*words, "--help").returncode == 0
    assert desk.run("--version").returncode == 0


def test_the_outbox_sends_to_the_collector_in_the_users_file(desk: ConfigDesk) -> None:
    with Collector() as collector:
        desk.user.write_text(f"[run]\nreport-to = '{collector.url}'\n")
        done = desk.run("outbox", "--test")
        assert done.returncode == 0, done.stderr
        collector.expect(1)


def test_config_shows_each_value_and_no_secret(desk: ConfigDesk) -> None:
    desk.user.write_text(
        "[run]\nreport-to = 'http://me:hunter2hunter2@127.0.0.1/x'\n[connect]\ntoken = 'tok-4711'\n"
    )
    page = desk.run("config", COLUMNS="80")
    assert page.returncode == 0
    assert "your file, line 2" in page.stdout
    assert max(map(len, page.stdout.splitlines())) <= 80 + len(str(desk.user))
    for done in (page, desk.run("config", "--json")):
        assert "hunter2" not in done.stdout
        assert "4711" not in done.stdout


def test_config_warns_of_a_variable_that_cannot_be_used(desk: ConfigDesk) -> None:
    done = desk.run("config", LASTWORD_RETRY="x", LASTWORD_RECORD_DAYS="soon")
    assert done.returncode == 0
    retry, days = done.stderr.splitlines()
    assert retry.startswith("lastword config: LASTWORD_RETRY cannot be 'x': it takes a whole")
    assert days.startswith("lastword config: LASTWORD_RECORD_DAYS cannot be 'soon': it takes a")


@every(
    "address",
    [
        *("ntfy://ntfy.sh/my-4711-topic", "https://ntfy.sh/my-4711-topic"),
        *("https://h.example?x=4711", "https://me:4711@hook.example"),
        "https://discord.example/api/webhooks/1/4711",
    ],
)
def test_config_shows_where_notifications_go_without_the_topic(
    desk: ConfigDesk, address: str
) -> None:
    desk.user.write_text(f"[run]\nnotify = '{address}'\n")
    for done in (desk.run("config"), desk.run("config", "--json")):
        assert address.partition("://")[0] + "://" in done.stdout
        assert "4711" not in done.stdout


def test_config_path_is_the_path_to_edit(desk: ConfigDesk) -> None:
    assert desk.run("config", "path").stdout == f"{desk.user}\n"
    assert desk.run("config", "path", LASTWORD_CONFIG="/x/y.toml").stdout == "/x/y.toml\n"
    assert desk.run("config", "path", XDG_CONFIG_HOME="/x").stdout == "/x/lastword/config.toml\n"


def test_config_check_lists_all_that_is_wrong_with_each_file(desk: ConfigDesk) -> None:
    assert desk.run("config", "check").stdout.startswith("there is no configuration file here")
    desk.user.write_text("[run]\nretry = -1\n[gateway]\nping = 'x'\n")
    desk.project.write_text("[run]\nidle-timeout = 1\n")
    done = desk.run("config", "check")
    assert done.returncode == 1
    first, second, third = done.stdout.splitlines()
    assert first.startswith(f"{desk.user}:2: retry cannot be")
    assert second.startswith(f"{desk.user}:4: ping cannot be")
    assert third == f"{desk.project}: no problems found"
    named = desk.run("config", "check", "--json", str(desk.user))
    document = json.loads(named.stdout)
    assert problems_in(document, "config") == []
    assert [each["line"] for each in document["files"][0]["problems"]] == [2, 4]
    assert desk.run("config", "check", "none.toml").returncode == 2
    assert desk.run("config", "path", "x").returncode == 2


def test_doctor_reports_a_refused_run_and_the_file_that_sets_the_rung(
    desk: ConfigDesk,
) -> None:
    desk.user.write_text("[run]\nretry = -1\n")
    done = desk.run("doctor", "--json", "--", "/nonexistent-agent")
    assert done.returncode == 1
    (finding,) = [row for row in json.loads(done.stdout)["findings"] if "retry" in row["says"]]
    assert finding["verdict"] == "problem"
    desk.user.write_text("[run]\nfallback = 'text'\n")
    done = desk.run("doctor", "--", *agent("healthy"))
    assert "set by your files" in " ".join(done.stdout.split())
    assert "LASTWORD_FALLBACK" not in done.stdout


def test_a_start_without_a_file_loads_no_parser_for_it(desk: ConfigDesk) -> None:
    probe = [sys.executable, "-X", "importtime", *LASTWORD[1:], "run", "--", "true"]

    def loaded() -> set[str]:
        done = run_program(probe, cwd=desk.cwd, env=desk.environment)
        return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}

    heavy = {"tomllib", "lastword.cli.config.settings"}
    assert not heavy & loaded()
    desk.user.write_text(f"[run]\nretry = 1\n[gateway]\nping = 5\n{RULE}")
    with_file = loaded()
    assert heavy <= with_file
    assert not {"argparse", "lastword.cli.gateway.options"} & with_file


# --- commands that start a `lastword run` of their own


def test_configuration_files_do_not_affect_a_scenario(start: Start, desk: ConfigDesk) -> None:
    desk.user.write_text("[run\n")
    desk.project.write_text("[run]\nfirst-update-timeout = '0.1s'\n")
    client = sidecar(start, desk, [*LASTWORD, "agent", "rate_limit"], "--passthrough")
    client.open()
    error = client.turn("x").error
    assert error["type"] == "rate_limit"
    client.end()
