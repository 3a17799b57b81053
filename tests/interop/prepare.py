"""Installs and builds what the interop tests need, ahead of them and side by side.

`python -m tests.interop.prepare` has what CI plays, with `--matrix` all there is. What is there
already is left as it is, and what cannot be had is told by the test that needs it.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from _pytest.outcomes import OutcomeException

from tests.interop import toolchain, toolchain_native
from tests.kit.fleet.servers import require_server
from tests.kit.installs import require_node_packages, require_packages

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = toolchain.HERE
WORKERS = 2


def node(folder: str) -> Callable[[], object]:
    """Return what installs a folder's packages of Node."""
    return lambda: require_node_packages(HERE / folder)


def python(folder: str) -> Callable[[], object]:
    """Return what installs a folder's packages of Python."""
    return lambda: require_packages(HERE / folder)


IN_CI: tuple[Callable[[], object], ...] = (
    *(toolchain_native.require_rust, toolchain.require_node, require_server),
    *map(node, ("page", "typescript", "observer")),
    *map(python, ("providers", "sdk", "otel", "observer_python")),
)
BY_THE_MATRIX: tuple[Callable[[], object], ...] = (
    *(toolchain_native.require_kotlin, toolchain_native.require_go),
    *(toolchain.require_kimi, node("observer/versions")),
    *map(python, ("exceptions", "old_python_sdk", "remote", "openapi", "deployment")),
)


def main() -> None:
    wanted = [*IN_CI, *(BY_THE_MATRIX if "--matrix" in sys.argv else ())]
    with ThreadPoolExecutor(WORKERS) as pool:
        for job in [pool.submit(prepare) for prepare in wanted]:
            try:
                job.result()
            except OutcomeException as missing:
                print(missing, file=sys.stderr)


if __name__ == "__main__":
    main()
