"""Runs a script as lastword starts an agent: with pipes of its own, an observer and a FIFO."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import lastword
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

HERE = Path(__file__).resolve().parent
OBSERVER = Path(lastword.__file__).parent / "observer" / "node.cjs"
MODEL_PATH = r"/v1/(chat|messages)\b"
VARIABLE = "LASTWORD_OBSERVER"
LINE_BYTES = 4000
_OVER = b'{"event": "over"}\n'


@dataclass
class Run:
    """What came of a run."""

    output: str = ""
    errors: str = ""
    code: int = 0
    lines: list[str] = field(default_factory=list)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    @property
    def shown(self) -> tuple[str, str, int]:
        return self.output, self.errors, self.code


@dataclass
class Pipe:
    """A FIFO and who reads it; a subclass may read otherwise."""

    path: Path
    on_event: Callable[[dict[str, Any]], object] = lambda _: None

    def __post_init__(self) -> None:
        os.mkfifo(self.path)

    def __enter__(self) -> Self:
        self._ours = os.open(self.path, os.O_RDWR)  # to write, too: it never ends
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self._ours, _OVER)
        self._reader.join(FUSE_SECONDS)
        os.close(self._ours)

    def _read(self) -> None:
        with os.fdopen(os.dup(self._ours), "rb") as file:
            for line in file:
                if line == _OVER:
                    return
                assert len(line) <= LINE_BYTES
                self.lines.append(line.decode())
                self.on_event(json.loads(line))


@dataclass
class Unread(Pipe):
    def __enter__(self) -> Self:
        self.lines = []
        return self

    def __exit__(self, *_: object) -> None:
        return


def run(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    pipe: Pipe | None = None,
    observer: Path = OBSERVER,
) -> Run:
    """Run a command with the observer where there is a pipe for it, and without it otherwise."""
    env = {**os.environ, **environment}
    stdin, keep = os.pipe()
    output, stdout = os.pipe()
    if pipe is not None:
        env |= additions(pipe.path, env, observer, stdin, stdout)
    process = subprocess.Popen(
        [str(word) for word in command], env=env, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE
    )
    os.close(stdin)
    os.close(stdout)
    fuse = threading.Timer(FUSE_SECONDS, process.kill)
    fuse.start()
    result = Run()
    errors = process.stderr
    assert errors is not None
    other = threading.Thread(target=lambda: setattr(result, "errors", errors.read().decode()))
    other.start()
    with os.fdopen(output, "rb") as file:
        result.output = file.read().decode()
    other.join()
    errors.close()
    result.code = process.wait()
    fuse.cancel()
    os.close(keep)
    return result


def additions(
    fifo: Path, env: Mapping[str, str], observer: Path, stdin: int, stdout: int
) -> dict[str, str]:
    """Return what lastword adds to an agent's environment."""

    def place(fd: int) -> list[int]:
        status = os.fstat(fd)
        return [status.st_dev, status.st_ino]

    spec = {"pipe": str(fifo), "stdin": place(stdin), "stdout": place(stdout), "outside": "sudo"}
    ours = {"NODE_OPTIONS": f'--require "{observer}"', "BUN_OPTIONS": f"--preload={observer}"}
    python = str(observer.parent / "python")
    return {
        VARIABLE: json.dumps({**spec, "model_path": MODEL_PATH}),
        "PYTHONPATH": f"{python}:{env['PYTHONPATH']}" if "PYTHONPATH" in env else python,
        **{name: f"{part} {env[name]}" if name in env else part for name, part in ours.items()},
    }
