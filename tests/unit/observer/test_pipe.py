"""The pipe by which a runtime reports, and what is put into an agent's environment."""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from lastword.observer.pipe import (
    BUN_OPTION,
    MAX_LINE_BYTES,
    MODEL_PATH,
    NODE_FILE,
    OUTSIDE,
    PYTHON_FOLDER,
    VARIABLE,
    ObserverPipe,
    may_observe,
)
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObserverPipe]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    made = ObserverPipe()
    yield made
    made.close()


def _write(pipe: ObserverPipe, data: bytes) -> None:
    writer = os.open(pipe.path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(writer, data)
    os.close(writer)


def test_whole_lines_are_read_a_part_waits_for_its_rest_and_a_long_one_is_dropped(
    pipe: ObserverPipe,
) -> None:
    assert pipe.read() == []
    _write(pipe, b"one\ntw")
    assert pipe.read() == [b"one"]
    _write(pipe, b"o\n")
    assert pipe.read() == [b"two"]
    _write(pipe, b"x" * (MAX_LINE_BYTES + 1))
    assert pipe.read() == []
    _write(pipe, b"\nnext\n")
    assert pipe.read() == [b"", b"next"]


def test_the_pipe_is_private_and_leaves_no_file_behind(
    pipe: ObserverPipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert os.stat(pipe.path).st_mode & 0o777 == 0o600
    pipe.hide()
    assert list(tmp_path.iterdir()) == []
    pipe.hide()
    pipe.close()
    pipe.close()
    assert pipe.fd == -1
    # A folder that would have to be quoted is refused.
    for folder in ('a"b', "a\\b"):
        (tmp_path / folder).mkdir()
        monkeypatch.setenv("TMPDIR", str(tmp_path / folder))
        with pytest.raises(OSError, match="quote"):
            ObserverPipe()


@every(
    ("name", "own", "between"),
    [
        ("NODE_OPTIONS", f'--require "{NODE_FILE}"', " "),
        ("BUN_OPTIONS", BUN_OPTION, " "),
        ("PYTHONPATH", PYTHON_FOLDER, ":"),
    ],
)
def test_the_users_own_variable_is_appended(
    name: str, own: str, between: str, pipe: ObserverPipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(name, raising=False)
    assert pipe.environment(0, 1)[name] == own
    monkeypatch.setenv(name, "the user's")
    assert pipe.environment(0, 1)[name] == f"{own}{between}the user's"


def test_the_agent_learns_the_pipe_and_its_own_streams(pipe: ObserverPipe) -> None:
    reader, writer = os.pipe()
    told = json.loads(pipe.environment(reader, writer)[VARIABLE])
    ends = [[os.fstat(fd).st_dev, os.fstat(fd).st_ino] for fd in (reader, writer)]
    assert told == {
        "pipe": pipe.path,
        "stdin": ends[0],
        "stdout": ends[1],
        "model_path": MODEL_PATH,
        "outside": " ".join(sorted(OUTSIDE)),
    }
    os.close(reader)
    os.close(writer)


@every(
    ("command", "may"),
    [
        ("gemini --acp", True),
        ("/usr/bin/docker run gemini", False),
        ("sudo gemini", False),
        ("env CI=1 /usr/bin/bwrap --ro-bind / / gemini", False),
        ("sh -c 'exec nice apptainer exec gemini.sif gemini --acp'", False),
        # Node's permissions would keep it from reading the file, and from starting.
        ("node --permission agent.js", False),
    ],
)
def test_an_agent_that_may_not_find_the_files_is_not_observed(
    command: str, may: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert may_observe(shlex.split(command)) is may
    with monkeypatch.context() as patched:
        patched.setenv("NODE_OPTIONS", "--experimental-permission --allow-fs-read=/srv")
        assert not may_observe(shlex.split(command))
    monkeypatch.setattr("lastword.observer.pipe.NODE_FILE", str(tmp_path / "node.cjs"))
    assert not may_observe(shlex.split(command))


@every(
    ("path", "is_model"),
    [
        ("/v1/chat/completions", True),
        ("/backend-api/codex/responses", True),
        ("/anthropic/v1/messages", True),
        ("/v1beta/models/gemini-3-pro:streamGenerateContent", True),
        ("/model/anthropic.claude/converse-stream", True),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict", True),
        ("/api/chat", True),
        ("/v1/messages/count_tokens", False),
        ("/v1beta/models/gemini-3-pro:countTokens", False),
        ("/messages", False),
        ("/mcp", False),
        ("/v1/models", False),
        ("/api/event_logging/batch", False),
        ("/v1/traces", False),
    ],
)
def test_a_request_to_a_model_is_recognised_by_its_path(path: str, is_model: bool) -> None:
    assert (re.search(MODEL_PATH, path, re.IGNORECASE) is not None) is is_model
