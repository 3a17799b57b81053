"""What `lastword connect` dials and says of it, what `ssh` means, folders on another machine."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.frames import Close
from websockets.http11 import Response

from lastword.cli.connect import main
from lastword.client import reconnect
from lastword.core.failure.taxonomy import Action, ErrorType
from lastword.gateway.connecting import dial, failures, ssh
from lastword.gateway.connecting.ssh import Elsewhere, FolderMap
from lastword.gateway.connecting.status_line import CLEAR, StatusLine
from tests.kit.rows import every

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
    path.write_text("two\n", encoding="utf-16")  # as `>` of PowerShell 5 writes it
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


@pytest.mark.parametrize(
    ("host", "proxy", "cause"),
    [
        ("a..b", "", dial.UNUSABLE),
        ("host", "ftp://me:secret@proxy", dial.UNUSABLE),
        ("host", "http://me:secret#@proxy:1", dial.UNUSABLE),
        ("host", "socks5://127.0.0.1:1", "connecting through a SOCKS proxy requires python-socks"),
    ],
)
def test_a_name_or_a_proxy_that_cannot_be_used_ends_the_attempt_at_once(
    host: str, proxy: str, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)
    if proxy:
        monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(dial.FAILURES) as failed:
        asyncio.run(dial.dial(f"wss://{host}/acp", "token"))
    assert dial.failed(failed.value) == reconnect.ConnectFailed(cause)


def test_each_line_replaces_the_one_before_on_a_terminal_and_stands_by_itself_on_a_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = {}
    for is_terminal in (True, False):
        monkeypatch.setattr("os.isatty", lambda _, here=is_terminal: here)
        reading, writing = os.pipe()
        status = StatusLine(writing)
        for line in ("Connecting.", "Connecting.", "Reconnected\x1b[2J after 3 s."):
            status.show(line)
        if not is_terminal:
            status.show("")
        status.say("stays")
        status.close(["last"])
        shown[is_terminal] = os.read(reading, 4096).decode()
        os.close(reading)
        status.say("to nobody")
        os.close(writing)
    assert shown[False] == (
        "lastword: Connecting.\nlastword: Reconnected after 3 s.\nlastword: stays\nlastword: last\n"
    )
    assert shown[True] == (
        f"{CLEAR}lastword: Connecting.{CLEAR}lastword: Reconnected after 3 s."
        f"{CLEAR}lastword: stays\nlastword: Reconnected after 3 s.\nlastword: last\n"
    )


def test_a_line_that_nobody_reads_is_left_out() -> None:
    reading, writing = os.pipe()
    status = StatusLine(writing)
    for _ in range(1000):  # more than any pipe holds
        status.say("x" * 3000)
    os.read(reading, 1_000_000)
    status.say("seen")
    assert os.read(reading, 1_000_000).endswith(b"lastword: seen\n")
    os.close(reading)
    os.close(writing)


def read(text: str) -> FolderMap:
    folders = FolderMap.read(text)
    assert folders is not None
    return folders


@pytest.mark.parametrize("text", ["", "src", "src=/x", "/x=y", "~/x", "/x=", "=/x"])
def test_a_folder_is_a_whole_path_there_or_one_for_another(text: str) -> None:
    assert FolderMap.read(text) is None


@every(
    ("text", "here", "there"),
    [
        ("/srv/app", "/anything", "/srv/app"),
        ("/Users/me=/home/me", "/Users/me/src/app", "/home/me/src/app"),
        ("/Users/me/=/home/me/", "/Users/me", "/home/me"),
        ("/Users/me=/home/me", "/Users/me/a/../b", "/home/me/b"),
        ("/Users/me=/home/me", "/Users/meta/a", "/Users/meta/a"),
        ("/Users/me=/home/me", "/Users/me/../you", "/Users/me/../you"),
        ("/=/srv", "/a/b", "/srv/a/b"),
        ("/a=b=/srv", "/a=b/c", "/srv/c"),
        (r"C:\Users\me=/home/me", r"c:\users\Me\src\App", "/home/me/src/App"),
        (r"C:\Users\me=/home/me", r"D:\src", r"D:\src"),
    ],
)
def test_a_session_works_in_the_mapped_folder(text: str, here: str, there: str) -> None:
    assert read(text).folder(here) == there


def test_the_urls_of_files_lead_there() -> None:
    folders = read("/Users/me=/home/me")
    assert folders.url("file:///Users/me/a%20b.py#L3") == "file:///home/me/a%20b.py#L3"
    for other in ("file:///etc/hosts", "https://x/Users/me", "file://box/Users/me/a", "zed:///x"):
        assert folders.url(other) == other
    windows = read(r"C:\Users\me=/home/me")
    assert windows.url("file:///C:/Users/me/a.py") == "file:///home/me/a.py"
    assert read("/srv").url("file:///Users/me/a.py") == "file:///Users/me/a.py"


def message(method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


@every(
    "line",
    [
        b"not JSON",
        b'{"jsonrpc":"2.0","id":1,"result":{"cwd":"/Users/me"}}',
        message("session/new", {"cwd": 1}),
        message("session/new", ["cwd"]),
        message("session/new", {"cwd": "/Users/me", "mcpServers": "none"}).replace(b"cwd", b"cwx"),
        message("session/prompt", {"prompt": [{"type": "text", "text": "/Users/me"}]}),
        message("session/prompt", {"prompt": "file:"}),
        message("session/prompt", {"prompt": [{"uri": ["file:"]}]}),
        message("session/cancel", {"sessionId": "s"}),
        message("initialize", {"clientCapabilities": None, "fs": {}}).replace(b"null", b"7"),
    ],
)
def test_an_unaffected_message_stays_byte_for_byte(line: bytes) -> None:
    assert Elsewhere("box", read("/Users/me=/home/me")).changed(line) == line


def test_changing_a_path_leaves_the_rest_of_the_message_alone() -> None:
    there = Elsewhere("box", read("/Users/me=/home/me"))
    resource = {"type": "resource", "resource": {"uri": "file:///Users/me/a", "text": "é"}, "x": 1}
    line = there.changed(message("session/prompt", {"prompt": [resource], "_meta": {"n": 1.50}}))
    params = json.loads(line)["params"]
    assert params["prompt"][0]["resource"] == {"uri": "file:///home/me/a", "text": "é"}
    assert b'"n": 1.5' in line or b'"n":1.5' in line
    listed = there.changed(message("session/list", {"cwd": "/Users/me/a"}))
    assert json.loads(listed)["params"] == {"cwd": "/home/me/a"}
    place = {"cwd": "/Users/me", "additionalDirectories": ["/Users/me/b", "/x"], "mcpServers": []}
    loaded = json.loads(there.changed(message("session/load", place)))["params"]
    assert loaded["additionalDirectories"] == ["/home/me/b", "/x"]


@every(
    ("said", "means", "lasts"),
    [
        ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key", "has changed", True),
        ("No ED25519 host key is known for box", "is not known here", True),
        ("me@box: Permission denied (publickey).", "without a password", True),
        ("channel 0: open failed: administratively prohibited: x", "AllowTcpForwarding", True),
        ("channel 0: open failed: connect failed: Connection refused", "nothing listens", False),
        ("ssh: Could not resolve hostname box: x", "cannot be resolved", False),
        ("ssh: connect to host box port 22: Connection refused", "refuses ssh connections", False),
        ("ssh: connect to host box port 22: Network is unreachable", "cannot be reached", False),
        ("Timeout, server box not responding.", "cannot be reached", False),
        ("** WARNING: x\nkex_exchange_identification: x", "failed: kex_exchange", False),
        ("", "it ended with status 7", False),
    ],
)
def test_an_error_of_ssh_becomes_a_sentence_with_what_to_do(
    said: str, means: str, lasts: bool
) -> None:
    error = ssh.error_of("box", said, 7)
    assert means in str(error)
    assert bool(error.status) is lasts
    state, _ = reconnect.step(reconnect.initial(0), reconnect.Signal.TICK, 0, 0.5)
    tries, ends = 0, []
    while not ends:
        tries += 1
        state, actions = reconnect.step(state, dial.failed(error), tries * 60_000, 0.5)
        ends = [each for each in actions if isinstance(each, reconnect.GiveUp)]
        state, _ = reconnect.step(state, reconnect.Signal.TICK, tries * 60_000 + 40_000, 0.5)
    assert (tries == 1) is lasts
    message = failures.of_end(dial.end_of(ends[0], error)).message
    assert message.endswith(f"No connection through ssh: {error}.")
    assert message.startswith("No connection" if lasts else "Gave up after 6 tries.")


def test_a_message_over_the_gateways_limit_is_named_as_the_cause() -> None:
    state = reconnect.initial(0)
    for event in (reconnect.Signal.TICK, reconnect.Signal.OPENED):
        state, _ = reconnect.step(state, event, 0, 0.5)
    _, actions = reconnect.step(state, reconnect.Closed(1009, "frame with 20 bytes"), 0, 0.5)
    (end,) = [each for each in actions if isinstance(each, reconnect.GiveUp)]
    error = failures.of_end(dial.end_of(end, None))
    assert (error.type, error.reason, error.action) == (
        ErrorType.INVALID_REQUEST,
        "frame_too_large",
        Action.SHORTEN,
    )
    assert error.message.startswith("A message was larger than the gateway accepts. Send smaller")


def test_a_host_is_one_word_and_no_option() -> None:
    for text in ("box", "me@box.example", "ssh://me@box:22", "fe80::1%eth0"):
        assert ssh.is_host(text)
    for text in ("", "-oProxyCommand=x", "a b", "a\n"):
        assert not ssh.is_host(text)
    assert ssh.command("box", script="x")[-3:] == ["--", "box", "x"]
