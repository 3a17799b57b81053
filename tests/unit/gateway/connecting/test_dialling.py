"""What `lastword connect` dials, with which token, and what it says of it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.frames import Close
from websockets.http11 import Response

from lastword.cli.connect import main
from lastword.client import reconnect
from lastword.gateway.connecting import dial
from lastword.gateway.connecting.status_line import CLEAR, StatusLine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://127.0.0.1:7780", "ws://127.0.0.1:7780/acp"),
        ("http://127.0.0.1:7780/", "ws://127.0.0.1:7780/acp"),
        ("https://host/x/acp?node=1", "wss://host/x/acp?node=1"),
        ("https://host/x/?node=1", "wss://host/x/acp?node=1"),
        ("https://host/x", "wss://host/x"),
        ("ws://[::1]:7780/acp", "ws://[::1]:7780/acp"),
    ],
)
def test_a_url_means_a_websocket_address(given: str, meant: str) -> None:
    assert dial.address(given) == meant


@pytest.mark.parametrize(
    "given",
    ["", "127.0.0.1:7780", "ftp://host", "http://", "http://host:port", "http://[x",
     "http://u:p@h"],
)  # fmt: skip
def test_an_undialable_url_is_refused_with_the_expected_form(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([given, "--token", "t"]) == 2
    assert capsys.readouterr().err.startswith("lastword: URL ")


@pytest.mark.parametrize("given", ["http://host:7780", "ws://192.0.2.1/acp", "ws://[2001:db8::1]"])
def test_a_token_is_sent_unencrypted_to_another_machine_only_on_request(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([given, "--token", "secret"]) == 2
    said = capsys.readouterr().err
    assert "--insecure" in said
    assert "secret" not in said
    assert dial.address(given, insecure=True).startswith("ws://")
    assert dial.address(given.replace("http:", "https:").replace("ws:", "wss:"))


def test_connect_refuses_to_start_without_a_token(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LASTWORD_GATEWAY_TOKEN", raising=False)
    assert main(["http://127.0.0.1:7780"]) == 2
    assert "a token is missing" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["ssh", "folder", "session", "token", "token-file"])
def test_an_option_that_is_empty_is_refused_and_not_left_out(
    option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LASTWORD_GATEWAY_TOKEN", "t")
    with pytest.raises(SystemExit, match="2"):
        main(["http://127.0.0.1:9", f"--{option}", ""])
    assert f"--{option} is empty" in capsys.readouterr().err


def test_a_token_file_is_read_each_time(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n", encoding="utf-8")
    source = dial.token_source("", str(path), {})
    path.write_text("two\n", encoding="utf-8")
    assert source.take() == "two"
    path.write_text("", encoding="utf-8")
    with pytest.raises(dial.AddressError, match="there is no token"):
        source.take()
    path.unlink()
    with pytest.raises(dial.AddressError, match="no such file"):
        source.take()


def test_the_option_counts_more_than_the_variable() -> None:
    environment = {"LASTWORD_GATEWAY_TOKEN": "v"}
    assert dial.token_source("o", "", environment).take() == "o"
    assert dial.token_source("", "", environment).take() == "v"
    with pytest.raises(dial.AddressError, match="characters"):
        dial.token_source("a\r\nb", "", {})


def test_a_refused_upgrade_gives_its_status_and_any_other_failure_its_text() -> None:
    response = Response(429, "Too Many", Headers({"Retry-After": "7"}))
    assert dial.failed(InvalidStatus(response)) == reconnect.Refused(429, "7")
    assert dial.failed(ConnectionRefusedError(111, "Connection refused")) == (
        reconnect.ConnectFailed("Connection refused")
    )
    assert dial.failed(EOFError()) == reconnect.ConnectFailed("EOFError")


def test_a_closed_socket_gives_its_code_and_a_cut_one_1006() -> None:
    closed = ConnectionClosedError(Close(1012, "restart"), None)
    assert dial.ended(closed) == reconnect.Closed(1012, "restart")
    assert dial.ended(ConnectionClosedError(None, None)) == reconnect.Closed(1006)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_line_replaces_the_one_before_on_a_terminal() -> None:
    stream = _Terminal()
    status = StatusLine(stream)
    for line in ("Connecting.", "Connecting.", "Reconnected after 3 s."):
        status.show(line)
    status.say("stays")
    status.close()
    shown = f"{CLEAR}lastword: Connecting.{CLEAR}lastword: Reconnected after 3 s."
    assert stream.getvalue() == f"{shown}{CLEAR}lastword: stays\nlastword: Reconnected after 3 s.\n"


def test_each_line_stands_by_itself_on_a_pipe() -> None:
    stream = io.StringIO()
    status = StatusLine(stream)
    for line in ("Connecting.", "Connecting.", ""):
        status.show(line)
    status.say("stays")
    status.close()
    assert stream.getvalue() == "lastword: Connecting.\nlastword: stays\n"
