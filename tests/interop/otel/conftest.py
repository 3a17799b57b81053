"""Fixtures of the tests of telemetry: packages of their own, a receiver, a traced client."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.kit.installs import require_packages
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import SOURCE
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).resolve().parent

Told = dict[str, Any]


class Receiver:
    """The receiver's process, and what it has told so far."""

    def __init__(self, python: Path) -> None:
        self._process = subprocess.Popen(
            [str(python), str(HERE / "receiver.py")], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{self._process.stdout.readline().strip()}"
        self._told: list[Told] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(FUSE_SECONDS)
        self._reader.join(FUSE_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._news:
                self._told.append(json.loads(line))
                self._news.notify_all()

    @property
    def spans(self) -> list[Told]:
        with self._news:
            return [told for told in self._told if "span" in told]

    def expect_spans(self, count: int) -> list[Told]:
        """So many spans, once they are there, by when they began."""
        self._wait(lambda: len([told for told in self._told if "span" in told]) >= count)
        return sorted(self.spans, key=lambda span: (span["started"], -span["ended"]))

    def expect_point(self, metric: str, **attributes: str) -> Told:
        """The first point of a metric with these attributes (`error_type` is `error.type`)."""
        wanted = {name.replace("_", ".", 1): value for name, value in attributes.items()}.items()

        def found() -> Told | None:
            named = (told for told in self._told if told.get("metric") == metric)
            return next((told for told in named if wanted <= told["attributes"].items()), None)

        self._wait(lambda: found() is not None)
        point = found()
        assert point is not None
        return point

    @property
    def text(self) -> str:
        with self._news:
            return json.dumps(self._told)

    def _wait(self, seen: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(seen, FUSE_SECONDS), self._told


@pytest.fixture(scope="session")
def packages_python() -> Path:
    """The Python that has OpenTelemetry's SDK and exporter."""
    return require_packages(HERE)


@pytest.fixture
def receiver(packages_python: Path) -> Iterator[Receiver]:
    with Receiver(packages_python) as receiver:
        yield receiver


@pytest.fixture
def environment(receiver: Receiver, tmp_path: Path) -> dict[str, str]:
    """The environment of whoever sends to the receiver."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "LASTWORD_"))}
    return kept | {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "LASTWORD_STATE_DIR": str(tmp_path / "state"),
        "PYTHONPATH": str(SOURCE),
        "NO_PROXY": "127.0.0.1",
    }


@pytest.fixture
def take_turns(packages_python: Path, environment: dict[str, str]) -> Callable[..., list[Told]]:
    """A function that has the traced client take these turns; gives the frames that it got."""

    def take_turns(*prompts: str, command: list[str], **changes: str) -> list[Told]:
        python = str(packages_python)
        done = run_program(
            [python, str(HERE / "traced_client.py"), *prompts, "--", python, *command],
            check=False,
            env=environment | changes,
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return take_turns
