"""Programs that are run to their end, under the tests' fuse."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def run_program(
    command: Sequence[str],
    *,
    stdin: str | None = None,
    check: bool = True,
    timeout: float = FUSE_SECONDS,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a program under a fuse, and return what it wrote, as text."""
    source: dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    return subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        check=check,
        timeout=timeout,
        **source,
        **options,
    )


_FORKS = """
import os, sys
for line in sys.stdin:
    folder = line.rstrip()
    if os.fork() == 0:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT), number)
        exec(open(f"{folder}/code").read())
        sys.exit()
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


class BareInterpreter:
    """A Python that has loaded nothing but what a start loads, and forks for each program."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _FORKS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=FUSE_SECONDS)

    def run(self, code: str) -> subprocess.CompletedProcess[str]:
        """Run a program, and return what it wrote."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "code").write_text(code, encoding="utf-8")
            self._process.stdin.write(f"{folder}\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
            out, err = ((folder / each).read_text(encoding="utf-8") for each in ("out", "err"))
        return subprocess.CompletedProcess(code, status, out, err)
