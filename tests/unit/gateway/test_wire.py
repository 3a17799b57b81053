"""What fronts and holders have in common: names, folders, cursors, and ids."""

from __future__ import annotations

import os
import socket
import sys
import tempfile

import pytest
from websockets.frames import Frame as WebSocketFrame
from websockets.frames import Opcode
from websockets.streams import StreamReader

from lastword.errors import StoreError
from lastword.gateway import wire
from lastword.gateway.front.folders import run_folder_of
from lastword.gateway.log.entries import Cursor
from lastword.gateway.settings.values import HolderSettings
from lastword.gateway.viewing.frames import (
    number_of,
    question_id,
    read_question_id,
    session_key,
    text_frames,
)
from lastword.gateway.viewing.reader import CursorError, cursor_of
from tests.kit.rows import every


def test_a_file_name_is_short_for_any_session_id() -> None:
    names = {wire.name_of(name) for name in ("a", "a/b", "../..", "\ud800", "x" * 10_000)}
    assert len(names) == 5
    assert all(len(name) == 24 and name.isalnum() for name in names)


def test_the_user_at_the_other_end_of_a_unix_socket_is_known_on_linux_and_macos(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert wire.peer_user(ours) == os.getuid()
        monkeypatch.setattr(wire.sys, "platform", "freebsd14")
        assert wire.peer_user(ours) is None


TMPDIR = "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T"
LONG = "/Users/" + "n" * 60 + "/.local/state/lastword"


def test_a_long_state_folder_and_macos_tmpdir_leave_a_run_folder_in_tmp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: TMPDIR)
    monkeypatch.setattr(sys, "platform", "darwin")
    folder = run_folder_of(LONG, 7780)
    assert folder.startswith(f"/tmp/lastword-{os.getuid()}/7780-")
    assert len(f"{folder}/") + 37 <= 103
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(StoreError, match="set XDG_RUNTIME_DIR to a shorter folder"):
        run_folder_of(LONG, 7780)


def test_a_questions_id_names_its_session_and_its_number() -> None:
    key = session_key("s1")
    assert read_question_id(question_id(key, 12)) == (key, 12)
    for other in (None, b"12", b'"lastword:zz:1"', b'"x"', question_id(key, 10**16)):
        assert read_question_id(other) == ("", 0)


def test_only_a_number_towards_the_agent_is_read_as_one() -> None:
    assert number_of(b"12") == 12
    for other in (None, b"", b'"12"', b"-1", b"1.5", b"9" * 5000, "٣".encode()):
        assert number_of(other) == 0


@every(
    "value",
    [None, [], {}, {"epoch": "e"}, {"epoch": "", "seq": 1}, {"epoch": 1, "seq": 1}]
    + [{"epoch": "e", "seq": seq} for seq in (-1, 1.0, True, "1", 2**53)],
)
def test_a_cursor_is_read_and_an_invalid_one_refused_in_words(value: object) -> None:
    assert cursor_of({"epoch": "e", "seq": 0}) == Cursor("e", 0)
    with pytest.raises(CursorError, match="cursor"):
        cursor_of(value)


def test_the_agent_gets_the_clients_capabilities_without_its_files() -> None:
    client = {
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": {"readTextFile": True},
            "terminal": True,
            "_meta": {"agent_error": {"version": 0}, "mine": 1},
        },
    }
    told = HolderSettings().initialize_params(client)["clientCapabilities"]
    assert "fs" not in told
    assert "terminal" not in told
    assert told["_meta"] == {"mine": 1, "agent_error": {"version": 1, "retry": True}}
    told = HolderSettings(client_fs=True).initialize_params(client)["clientCapabilities"]
    assert told["terminal"] is True


def test_frames_are_whole_in_every_block() -> None:
    texts = [b"", b"x" * 125, b"x" * 126, b"x" * 65_535, b"x" * 65_536, b"x" * 200_000, b"y"]
    blocks = list(text_frames(texts))
    assert len(blocks) > 3
    found: list[bytes] = []
    for block in blocks:
        reader = StreamReader()
        reader.feed_data(block)
        while reader.buffer:
            parsing = WebSocketFrame.parse(reader.read_exact, mask=False)
            with pytest.raises(StopIteration) as parsed:
                next(parsing)
            frame = parsed.value.value
            assert (frame.opcode, frame.fin) == (Opcode.TEXT, True)
            found.append(bytes(frame.data))
    assert found == texts
