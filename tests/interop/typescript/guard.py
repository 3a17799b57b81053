"""The guard in TypeScript, compiled once a session, and its rules played step by step."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.kit.installs import require_node_packages
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import PROTOCOL
from tests.kit.programs import run_program
from tests.kit.vector_format import CHECKS, Matching, Vector, step_kind

HERE = Path(__file__).resolve().parent
SOURCE = PROTOCOL / "typescript"
PLAYED = {"client", "agent", "time"}


def compile_ts(*words: str, folder: Path | None = None) -> None:
    compiler = require_node_packages(HERE) / "typescript" / "bin" / "tsc"
    limit = 4 * FUSE_SECONDS  # it computes, which other tests do, too
    done = run_program(["node", str(compiler), *words], check=False, timeout=limit, cwd=folder)
    assert done.returncode == 0, done.stdout


def build(folder: Path) -> Path:
    """Compile the package strictly into this folder, as its own `tsconfig.json` says."""
    copied = Path(shutil.copytree(SOURCE, folder / "package"))
    (folder / "node_modules").symlink_to(require_node_packages(HERE))
    compile_ts("-p", str(copied))
    return copied


class Player:
    """One Node process, in which all vectors are played one after the other."""

    def __init__(self, package: Path) -> None:
        self._process = subprocess.Popen(
            ["node", str(HERE / "guard_lines.mjs"), str(package / "dist")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        self._process.communicate(timeout=60)

    def step(self, **what: Any) -> dict[str, list[Any]]:
        """Play a step, and return what came out on either side."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        out: dict[str, list[Any]] = json.loads(self._process.stdout.readline())
        return out

    def play(self, vector: Vector) -> None:
        """Play a vector; raise `MismatchError` where something else came out."""
        matching = Matching()
        self.step(begin={camel(name): value for name, value in vector.options.items()})
        out: dict[str, list[Any]] = {"client": [], "agent": []}
        for number, step in enumerate(vector.steps):
            kind = step_kind(step, vector.id)
            if kind in CHECKS:
                side = kind.removeprefix("to_")
                lines = [json.dumps(frame).encode() for frame in out[side]]
                out[side] = []
                matching.check(step[kind], lines, f"{vector.id} step {number} {kind}")
                continue
            for _ in range(step.get("times", 1)):
                for side, came in self.step(**{kind: matching.fill(step[kind])}).items():
                    out[side] += came
        lines = [json.dumps(frame).encode() for frame in out["client"]]
        matching.check([], lines, f"{vector.id} at the end")


def camel(name: str) -> str:
    """Return the name of an option as the guard has it."""
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


def needs(vector: Vector) -> frozenset[str]:
    """Return what a vector plays that no guard in the agent's own process can meet."""
    return frozenset(step_kind(step, vector.id) for step in vector.steps) - CHECKS - PLAYED
