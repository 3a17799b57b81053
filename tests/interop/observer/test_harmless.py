"""The observer changes nothing in a program, whatever becomes of its pipe and of its own code."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

import pytest

from tests.interop.observer.observed import HERE, OBSERVER, Pipe, Run, Unread, run
from tests.interop.observer.runtimes import Runtime

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.observer.server import Server

CASES = r"^(?!.*-(stream|piped|read)$)"
"""The cases of requests.cjs that do not wait for a stream to go on."""

FEW = "^(fetch|http)-(ok|limited|kept|refused)$"

BROKEN = """
const broken = (work, failed) => guard(function () {
  %s
  throw new Error('broken on purpose');
}, failed);
"""
AT_ONCE, IN_THE_END = "", "work.apply(this, arguments);"
"""When a broken function throws."""


@pytest.fixture(scope="module")
def environment(server: Server) -> Iterator[dict[str, str]]:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and nobody listens
        server.enough.set()
        yield {"BASE": server.url, "CLOSED": f"http://127.0.0.1:{closed.getsockname()[1]}"}


class Full(Pipe):
    """A FIFO that takes nothing more."""

    def __enter__(self) -> Self:
        self._ours = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        for size in (4096, 1):
            try:
                while True:
                    os.write(self._ours, b"x" * size)
            except BlockingIOError:
                continue
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._ours)


class Left(Pipe):
    """A FIFO whose reader leaves after the first line."""

    def _read(self) -> None:
        os.close(self._ours)
        with self._file as file:
            self.lines.append(file.readline().decode())

    def __enter__(self) -> Self:
        self._file = open(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK), "rb")
        os.set_blocking(self._file.fileno(), True)
        super().__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.join()


class RegularFile(Unread):
    def __post_init__(self) -> None:
        self.path.touch()


def test_a_program_needs_no_reader(
    runtime: Runtime, environment: dict[str, str], tmp_path: Path
) -> None:
    command = [runtime.program(), HERE / "requests.cjs", FEW]
    plain = run(command, environment).shown
    for kind in (Unread, Full, Left, RegularFile):
        with kind(tmp_path / kind.__name__) as pipe:
            assert run(command, environment, pipe).shown == plain, kind
    assert (tmp_path / "RegularFile").read_bytes() == b""


def harm(runtime: Runtime, kind: str, environment: dict[str, str], pipe: Pipe | None = None) -> Run:
    return run([runtime.program(), HERE / "harm.cjs", kind], environment, pipe)


def test_without_a_reader_a_program_gets_the_users_environment_at_once(
    runtime: Runtime, environment: dict[str, str], tmp_path: Path
) -> None:
    with Unread(tmp_path / "fifo") as pipe:
        seen = harm(runtime, "environment", environment, pipe)
    assert seen.output == "undefined undefined undefined\n"


@pytest.mark.parametrize("kind", ["rejection", "replaced", "resources", "inheritance"])
def test_a_program_sees_no_trace_of_the_observer(
    kind: str, runtime: Runtime, environment: dict[str, str], tmp_path: Path
) -> None:
    with Pipe(tmp_path / "fifo") as pipe:
        observed = harm(runtime, kind, environment, pipe)
    assert observed.shown == harm(runtime, kind, environment).shown
    assert pipe.lines
    assert (observed.code == 0) is (kind != "rejection")


def test_a_descriptor_that_the_program_closed_is_no_longer_written_to(
    runtime: Runtime, environment: dict[str, str], tmp_path: Path
) -> None:
    with Pipe(tmp_path / "fifo") as pipe:
        result = harm(runtime, "descriptor", environment | {"FILE": str(tmp_path / "own")}, pipe)
    assert result.shown == (" true\n", "", 0)
    assert [json.loads(line)["event"] for line in pipe.lines[:3]] == ["start", "request", "status"]
    assert len(pipe.lines) == (3 if runtime.is_bun else 4)


def test_a_thread_of_the_programs_is_not_observed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with Pipe(tmp_path / "fifo") as pipe:
        result = harm(Runtime("node"), "thread", environment, pipe)
    result.lines = pipe.lines
    assert result.shown == ("", "", 0)
    assert [event["event"] for event in result.events].count("start") == 1
    assert [event["event"] for event in result.events].count("request") == 1


@contextmanager
def mutated(folder: Path, site: int | None, when: str) -> Iterator[Path]:
    """Yield a copy of the observer in which one guarded function throws, or each of them."""
    folder.mkdir()
    number = -1
    for file in OBSERVER.parent.glob("*.cjs"):

        def change(match: re.Match[str]) -> str:
            nonlocal number
            number += 1
            return "broken(" if site in {None, number} else match[0]

        text = re.sub(r"\bguard\((?!\))", change, file.read_text())
        anchor = re.search(r"(?m)^const define =|^  const size =", text)
        assert anchor
        at = anchor.start()
        (folder / file.name).write_text(text[:at] + BROKEN % when + text[at:])
    yield folder / OBSERVER.name
    shutil.rmtree(folder)


def sites() -> int:
    files = OBSERVER.parent.glob("*.cjs")
    return sum(len(re.findall(r"\bguard\((?!\))", file.read_text())) for file in files)


@pytest.mark.parametrize(
    "when",
    [
        pytest.param(AT_ONCE, id="at once"),
        pytest.param(IN_THE_END, id="in the end", marks=pytest.mark.matrix),
    ],
)
def test_the_programs_output_is_the_same_with_any_function_of_the_observer_broken(
    when: str,
    runtime: Runtime,
    environment: dict[str, str],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    # One guard is around them all: CI breaks some of them alone, and all of them at once.
    alone = range(0, sites(), 1 if request.config.getoption("--matrix") else 5)
    command = [runtime.program(), HERE / "requests.cjs", CASES]
    environment = environment | {"WITHOUT": " ".join(runtime.left_out)}
    plain = run(command, environment)

    def play(site: int | None) -> tuple[int | None, Run]:
        folder = tmp_path / f"{site}"
        with mutated(folder, site, when) as file, Pipe(tmp_path / f"fifo-{site}") as pipe:
            result = run(command, environment, pipe, file)
        result.lines = pipe.lines
        return site, result

    with ThreadPoolExecutor(2) as pool:
        for site, result in pool.map(play, [None, *alone]):
            assert result.shown == plain.shown, site
            assert (when, site) != (AT_ONCE, None) or not result.lines
