"""What `lastword connect` changes for an agent on another machine, and what `ssh` means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.client import reconnect
from lastword.gateway.connecting import dial, failures, ssh
from lastword.gateway.connecting.ssh import Elsewhere, FolderMap
from tests.kit.rows import every


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
        ("ssh: connect to host box port 22: Connection refused", "refuses connections", False),
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


def test_a_host_is_one_word_and_no_option() -> None:
    for text in ("box", "me@box.example", "ssh://me@box:22", "fe80::1%eth0"):
        assert ssh.is_host(text)
    for text in ("", "-oProxyCommand=x", "a b", "a\n"):
        assert not ssh.is_host(text)
    assert ssh.command("box", script="x")[-3:] == ["--", "box", "x"]
