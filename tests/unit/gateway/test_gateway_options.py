"""The command line of the gateway."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
import pytest

from lastword.cli.gateway.options import read, token_parser
from lastword.cli.run.options import UsageError
from lastword.gateway.settings.values import HolderSettings, servers_of
from lastword.outbox.report import TargetOptions
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path


def test_the_defaults_are_loopback_and_those_in_the_help() -> None:
    settings = read(["--", "./agent", "--acp"])
    assert (settings.listen, settings.path) == (("127.0.0.1", 7780), "/acp")
    assert settings.holder.command == [os.path.abspath("agent"), "--acp"]
    assert settings.holder.options == []
    assert settings.holder.unattended_seconds == 86400.0
    assert settings.holder.log_limit_bytes == 64 * 1024**2
    assert {settings.behind_proxy, settings.compress, settings.holder.client_fs} == {False}


def test_the_options_of_run_are_checked_and_passed_on() -> None:
    settings = read(["--idle-timeout", "30", "--sessions", "4", "--no-record", "--", "agent"])
    assert settings.holder.options == ["--idle-timeout", "30", "--no-record"]
    assert settings.sessions == 4
    with pytest.raises(UsageError, match="idle-timeout"):
        read(["--idle-timeout", "soon", "--", "agent"])


def test_the_report_address_is_passed_on_only_from_the_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LASTWORD_REPORT_FORMAT", "webhook")
    settings = read(["--report-to", "http://c", "--", "agent"])
    assert settings.holder.report == TargetOptions("http://c", "webhook")
    monkeypatch.setenv("LASTWORD_REPORT_TO", "http://u:password@c")
    assert read(["--", "agent"]).holder.report == TargetOptions("", "webhook")
    assert os.environ["LASTWORD_REPORT_TO"]
    assert read(["--report-to=", "--", "agent"]).holder.report.url == ""
    assert "LASTWORD_REPORT_TO" not in os.environ
    monkeypatch.setenv("LASTWORD_REPORT_HEADERS", "none")
    with pytest.raises(UsageError, match="LASTWORD_REPORT_HEADERS"):
        read(["--report-to", "http://c", "--", "agent"])
    assert read(["--", "agent"]).holder.report == TargetOptions("", "webhook")


def test_a_value_is_read_as_its_option_defines() -> None:
    for text, address in (
        ("[::1]:80", ("::1", 80)),
        ("localhost:0", ("localhost", 0)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),
    ):
        assert read(["--listen", text, "--", "agent"]).listen == address
    for text, seconds in (("90", 90.0), ("1.5m", 90.0), ("2h", 7200.0), ("7d", 604800.0)):
        words = ["--log-age", text, "--idle-close", text, "--detach-grace", text]
        settings = read([*words, "--", "a"])
        assert settings.log_age_seconds == seconds
        assert settings.holder.idle_close_seconds == seconds
        assert settings.holder.detach_grace_seconds == seconds
    assert read(["--unattended", "reject", "--", "a"]).holder.unattended_seconds is None
    assert read(["--unattended-timeout", "5", "--", "a"]).holder.unattended_seconds == 5.0
    words = ["--allow-host", "a, b", "--allow-host", "c", "--allow-origin", "https://x"]
    settings = read([*words, "--", "agent"])
    assert (settings.hosts, settings.origins) == (["a", "b", "c"], ["https://x"])


@every(
    ("option", "text", "takes"),
    [
        *(
            ("--listen", text, ": it takes HOST:PORT")
            for text in ("7780", ":1", "host:", "host:x", "host:70000", "host:²", "[]:1")
        ),
        ("--log-age", "soon", ": it takes a duration"),
        ("--detach-grace", "-1", ": it takes a duration"),
        ("--allow-host", "https://a.example", ": it takes a host name, such as"),
        *(
            ("--allow-origin", text, ": it takes an origin, such as https://app.example")
            for text in ("foo", "https://", "https://a.example/app", "https://a,b")
        ),
        ("--viewers", "0", ": it takes a number from 1 up"),
        ("--viewers", "--", ""),
        *(("--fleet-node", text, "") for text in ("a..b", "-a", "a b", "a.", "x" * 64, "a/b", "*")),
    ],
)
def test_an_invalid_value_is_reported_with_what_its_option_takes(
    option: str, text: str, takes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        read([f"{option}={text}", "--", "agent"])
    assert f"{option} cannot be {text!r}{takes}" in capsys.readouterr().err


def test_options_that_only_a_single_agent_can_have_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for option in ("--frames=f", "--passthrough"):
        with pytest.raises(UsageError, match="lastword run"):
            read([option, "--", "agent"])
    monkeypatch.setenv("LASTWORD_PASSTHROUGH", "1")
    with pytest.raises(UsageError, match="unset LASTWORD_PASSTHROUGH"):
        read(["--", "agent"])


@pytest.mark.parametrize("text", ["", "gw.example", "ftp://gw.example", "http://", "http://[::1"])
def test_a_link_leads_to_a_page_that_a_browser_can_open(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert token_parser().read(["--link", "https://gw.example/"]).link == "https://gw.example"
    with pytest.raises(SystemExit):
        token_parser().read(["--link", text])
    assert f"--link cannot be {text!r}: it takes an address" in capsys.readouterr().err


def test_a_token_is_for_a_session_whose_id_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert token_parser().read(["--session", "sesión 1"]).session == "sesión 1"
    with pytest.raises(SystemExit):
        token_parser().read(["--session", "\udcff"])
    assert "--session cannot be '\\udcff'" in capsys.readouterr().err


@pytest.mark.parametrize("by_variable", [False, True])
def test_a_webhooks_secret_is_found_from_the_folder_of_the_start(
    by_variable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text("whsec_c2VjcmV0IG9mIGEgd2ViaG9vaw==")
    sent = ["--report-to", "http://127.0.0.1:9", "--report-format", "webhook"]
    if by_variable:
        monkeypatch.setenv("LASTWORD_REPORT_SECRET_FILE", "secret")
    else:
        sent += ["--report-secret-file", "secret"]
    options = read([*sent, "--", "a"]).holder.options
    assert options[-1] == f"--report-secret-file={tmp_path / 'secret'}"


def test_the_record_is_where_lastword_run_stores_it_and_logs_are_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def folders(*words: str) -> tuple[str, str]:
        holder = read([*words, "--", "a"]).holder
        return holder.record_folder, holder.state_folder

    def passed_on(*words: str) -> str:
        return read([*words, "--", "a"]).holder.options[-1]

    assert passed_on("--record", "kept") == f"--record={os.path.abspath('kept')}"
    assert passed_on("--record", "/kept") == "/kept"
    assert passed_on("--no-record", "--record", "kept") == "kept"
    usual, here = os.environ["LASTWORD_STATE_DIR"], str(tmp_path)
    assert folders() == (usual, usual)
    assert folders("--record", here) == (here, here)
    assert folders("--no-record")[0] == ""
    monkeypatch.setenv("LASTWORD_RECORD", here)
    assert folders()[0] == here
    monkeypatch.setenv("LASTWORD_NO_RECORD", "1")
    assert folders()[0] == ""


KEY = ["--fleet-key-file", "fleet.key"]


def test_a_fleet_has_its_servers_its_key_and_the_name_of_its_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read([*KEY, "--fleet-replicas", "1", "--", "a"]).holder.fleet is None  # no servers
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("socket.gethostname", lambda: "box_1.example.org.")
    urls = "nats://u:secret@a:4222, tls://b"
    holder = read(["--fleet", urls, *KEY, "--", "a"]).holder
    fleet = holder.fleet
    assert fleet is not None
    assert fleet.urls == ["nats://u:secret@a:4222", "tls://b"]
    assert fleet.key_file == str(tmp_path / "fleet.key")
    assert (fleet.node, fleet.replicas, fleet.on_loss) == ("box-1-example-org", 3, "hold")
    assert (fleet.credentials_file, fleet.workspace) == ("", "")
    assert "secret" not in repr(fleet)
    assert servers_of([*fleet.urls, "nats://[::1]:1"]) == "a:4222, b:4222, [::1]:1"
    again = msgspec.json.decode(msgspec.json.encode(holder), type=HolderSettings)
    assert again.fleet == fleet
    monkeypatch.setenv("LASTWORD_FLEET", "nats://a,nats://b")
    fleet = read([*KEY, "--", "a"]).holder.fleet
    assert fleet is not None
    assert fleet.urls == ["nats://a", "nats://b"]


def test_a_fleet_without_a_key_is_refused_with_the_line_that_makes_one() -> None:
    with pytest.raises(UsageError, match=r"--fleet-key-file.*openssl rand"):
        read(["--fleet", "nats://a", "--", "a"])


@pytest.mark.parametrize(
    "url", ["http://u:secret@a", "secret", "nats://u:secret@", "nats://u:secret@a:port"]
)
def test_an_invalid_server_address_is_refused_without_its_password(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        read(["--fleet", f"nats://a,{url}", *KEY, "--", "a"])
    said = capsys.readouterr().err
    assert "--fleet cannot be this: it takes addresses of NATS servers" in said
    assert "secret" not in said
