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


def test_a_url_means_a_websocket_address() -> None:
    for given, meant in (
        ("http://127.0.0.1:7780", "ws://127.0.0.1:7780/acp"),
        ("http://127.0.0.1:7780/", "ws://127.0.0.1:7780/acp"),
        ("https://host/x/acp?node=1", "wss://host/x/acp?node=1"),
        ("https://host/x/?node=1", "wss://host/x/acp?node=1"),
        ("https://host/x", "wss://host/x"),
        ("ws://[::1]:7780/acp", "ws://[::1]:7780/acp"),
    ):
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


def test_connect_refuses_to_start_without_a_token_or_with_an_option_that_is_empty(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LASTWORD_GATEWAY_TOKEN", raising=False)
    assert main(["http://127.0.0.1:7780"]) == 2
    assert "a token is missing" in capsys.readouterr().err
    monkeypatch.setenv("LASTWORD_GATEWAY_TOKEN", "t")
    for option in ("ssh", "folder", "session", "token", "token-file"):
        with pytest.raises(SystemExit, match="2"):
            main(["http://127.0.0.1:9", f"--{option}", ""])
        assert f"--{option} is empty" in capsys.readouterr().err


def test_a_token_is_the_options_before_the_variables_and_a_file_is_read_each_time(
    tmp_path: Path,
) -> None:
    environment = {"LASTWORD_GATEWAY_TOKEN": "v"}
    assert dial.token_source("o", "", environment).take() == "o"
    assert dial.token_source("", "", environment).take() == "v"
    with pytest.raises(dial.AddressError, match="characters"):
        dial.token_source("a\r\nb", "", {})
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


def test_what_ended_a_link_is_its_status_its_code_or_its_text() -> None:
    response = Response(429, "Too Many", Headers({"Retry-After": "7"}))
    assert dial.failed(InvalidStatus(response)) == reconnect.Refused(429, "7")
    refused = ConnectionRefusedError(111, "Connection refused")
    assert dial.failed(refused) == reconnect.ConnectFailed("Connection refused")
    assert dial.failed(EOFError()) == reconnect.ConnectFailed("EOFError")
    closed = ConnectionClosedError(Close(1012, "restart"), None)
    assert dial.ended(closed) == reconnect.Closed(1012, "restart")
    assert dial.ended(ConnectionClosedError(None, None)) == reconnect.Closed(1006)


def test_each_line_replaces_the_one_before_on_a_terminal_and_stands_by_itself_on_a_pipe() -> None:
    shown = {}
    for is_terminal in (True, False):
        stream = io.StringIO()
        stream.isatty = lambda here=is_terminal: here  # type: ignore[method-assign]
        status = StatusLine(stream)
        for line in ("Connecting.", "Connecting.", "Reconnected after 3 s."):
            status.show(line)
        if not is_terminal:
            status.show("")
        status.say("stays")
        status.close()
        shown[is_terminal] = stream.getvalue()
    assert shown[False] == (
        "lastword: Connecting.\nlastword: Reconnected after 3 s.\nlastword: stays\n"
    )
    assert shown[True] == (
        f"{CLEAR}lastword: Connecting.{CLEAR}lastword: Reconnected after 3 s."
        f"{CLEAR}lastword: stays\nlastword: Reconnected after 3 s.\n"
    )
