"""The file of `lastword run --frames`: its lines, its size, its rights."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from lastword.cli import record_access
from lastword.core.link.effects import AGENT, CLIENT
from lastword.sidecar.frames import MAX_FRAME_BYTES, Frames
from tests.kit.recording import lastword


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "frames.jsonl"


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def ways_of(file: Path) -> list[tuple[str, str | None]]:
    return [(line["from"], line["to"]) for line in lines_of(file) if "from" in line]


def test_a_long_message_is_cut_and_invalid_json_is_kept_as_text(file: Path) -> None:
    frames = Frames(str(file))
    long = json.dumps({"id": 1, "result": "x" * MAX_FRAME_BYTES}).encode()
    frames.note(AGENT, long + b"\nnot JSON \xff\n", [long], [])
    _, first, second = lines_of(file)
    assert first["bytes"] == len(long)
    assert len(first["text"]) < MAX_FRAME_BYTES
    assert (second["to"], second["text"], second["bytes"]) == (None, "not JSON \ufffd", 10)


def test_a_full_file_makes_room_for_another(file: Path) -> None:
    frames = Frames(str(file), max_bytes=2000)
    line = json.dumps({"id": 1, "method": "m", "params": "x" * 300}).encode()
    for _ in range(12):
        frames.note(CLIENT, line + b"\n", [], [line])
    first = file.with_name(f"{file.name}.1")
    assert 0 < file.stat().st_size <= 2000
    assert 0 < first.stat().st_size <= 2000
    assert {way for each in (first, file) for way in ways_of(each)} == {("client", "agent")}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_two_processes_write_one_file_and_follow_each_other_to_the_next(file: Path) -> None:
    file.touch(mode=0o644)
    one, other = Frames(str(file), max_bytes=1000), Frames(str(file), max_bytes=1000)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600  # it was open to others, and is no longer
    line = json.dumps({"id": 1, "method": "m", "params": "x" * 100}).encode()
    for _ in range(5):
        one.note(CLIENT, line + b"\n", [], [line])
        other.note(AGENT, line + b"\n", [line], [])
    assert set(ways_of(file)) == {("client", "agent"), ("agent", "client")}
    assert file.stat().st_size <= 1000
    assert all(line["pid"] == os.getpid() for line in lines_of(file))


def test_no_agent_is_started_if_the_frames_cannot_be_written(tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.symlink(tmp_path / "elsewhere", tmp_path / "link")
    os.mkfifo(tmp_path / "queue")
    for path, why in (
        (tmp_path, "is a directory"),
        (tmp_path / "absent" / "file", "no such file or directory"),
        (tmp_path / "link", "too many levels of symbolic links"),
        (tmp_path / "queue", "a queue, which would wait for its reader"),
        (Path("/dev/null"), "not a file of yours"),
    ):
        done = lastword("run", "--frames", str(path), "--", "touch", str(started), state=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"lastword: --frames cannot be {path}: {why}\n"
    assert not started.exists()


def test_the_page_gets_whole_lines_and_starts_again_with_a_new_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_access, "READ_BYTES", 40)
    file.write_text('{"at": 1}\nnonsense\n{"at": 2}\n{"at": 3}\n{"at"')
    first = record_access.frame_lines(str(file), None)
    assert (first["frames"], first["unreadable"]) == ([{"at": 1}, {"at": 2}, {"at": 3}], 1)
    assert first["more"]
    rest = record_access.frame_lines(str(file), first["next"])
    assert (rest["frames"], rest["more"], rest["next"]) == ([], False, first["next"])
    file.write_text('{"at": 4}\n')
    again = record_access.frame_lines(str(file), first["next"])
    assert (again["frames"], again["anew"]) == ([{"at": 4}], True)


def test_the_page_gets_the_trace_of_another_program_as_frames(file: Path) -> None:
    line = {"ts": 1500, "direction": "fromClient", "json": '{"jsonrpc": "2.0", "id": 1}'}
    file.write_text(f"{json.dumps(line)}\n[]\n")
    assert record_access.has_frames(str(file))
    shown = record_access.frame_lines(str(file), None)
    frame = {"jsonrpc": "2.0", "id": 1}
    assert shown["frames"] == [{"at": 1.5, "from": "client", "to": "agent", "frame": frame}]
    assert shown["unreadable"] == 1
