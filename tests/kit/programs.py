"""Programs that are run to their end, under the tests' fuse."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence


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
