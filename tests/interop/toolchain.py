"""The real agents, as registries have them.

Owns: `node_modules` (from the lock file, by npm), virtual environments from hashed requirements
(`.kimi`, `.vibe`), and one more `node_modules`, in `agents`, which only the agents' table needs.
Does not own: how the agents are configured (`real_agents`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.kit.installs import (
    MissingError,
    fingerprint_of,
    give_up,
    installed,
    or_skip,
    require_node_packages,
    run,
)
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).resolve().parent
MORE_AGENTS = HERE / "agents"
KIMI = HERE / ".kimi"
VIBE = HERE / ".vibe"
OPENCODE = "opencode-linux-x64-baseline"
NODE_MINIMUM = 20
AGENTS_PYTHON_MINIMUM = (3, 12)
PYTHON_NAMES = ("python3.13", "python3.12", "python3.14", "python3", "python")


def require_node() -> Path:
    """Return `node_modules`, installing it first where needed, or skip (fail in CI)."""
    require_plain_node()
    return require_node_packages(HERE, "--include=optional")


def require_plain_node() -> Path:
    """Return Node's command, without any package, or skip (fail in CI)."""
    return or_skip(_find_node)


def require_opencode() -> Path:
    """Return opencode's binary: the one that its launcher package would link to.

    The platform package is locked directly, because a lock of the launcher is only whole where a
    registry serves all eleven platforms.
    """
    binary = require_node() / OPENCODE / "bin" / "opencode"
    if not binary.exists():
        give_up("opencode is locked for Linux on x86-64 only, and this is another platform.")
    return binary


def require_more_agents() -> Path:
    """Return the `node_modules` of the table's further agents, or skip (fail in CI)."""
    return require_node_packages(MORE_AGENTS)


def require_kimi() -> Path:
    """Return kimi's virtual environment, made first where needed, or skip (fail in CI)."""
    return _require_venv(KIMI)


def require_vibe() -> Path:
    """Return vibe's virtual environment, made first where needed, or skip (fail in CI)."""
    return _require_venv(VIBE)


# --- node ----------------------------------------------------------------------------------------


def _find_node() -> Path:
    node = shutil.which("node")
    if node is None or _node_major() < NODE_MINIMUM:
        msg = f"node {NODE_MINIMUM} or newer is not on PATH."
        raise MissingError(msg)
    return Path(node)


def _node_major() -> int:
    done = run_program(["node", "--version"], check=False, timeout=30)
    major = done.stdout.strip().removeprefix("v").partition(".")[0]
    return int(major) if major.isdigit() else 0


# --- python --------------------------------------------------------------------------------------


def _require_venv(venv: Path) -> Path:
    name = venv.name.removeprefix(".")
    requirements = HERE / f"{name}-requirements.txt"

    def install() -> None:
        shutil.rmtree(venv, ignore_errors=True)
        run([_newer_python(), "-m", "venv", str(venv)], f"Making {name}'s virtual environment")
        pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        pip += ["--disable-pip-version-check", "--require-hashes"]
        run([*pip, "-r", str(requirements)], f"Installing {name}")

    return or_skip(
        lambda: installed(venv, lambda: fingerprint_of(requirements.read_bytes()), install)
    )


def _newer_python() -> str:
    """The first interpreter new enough for these agents; the one that runs us where it is."""
    for candidate in python_candidates():
        if python_version(candidate) >= AGENTS_PYTHON_MINIMUM:
            return candidate
    wanted = ".".join(map(str, AGENTS_PYTHON_MINIMUM))
    msg = f"The agent needs Python {wanted} or newer, and none was found beside this one."
    raise MissingError(msg)


def python_candidates(names: Iterable[str] = PYTHON_NAMES) -> Iterator[str]:
    """Yield this interpreter and others: on PATH by these names, and installed beside this one."""
    yield sys.executable
    yield from filter(None, map(shutil.which, names))
    # Version managers keep one folder a version: look at the neighbours of the one that runs us.
    own = Path(sys.base_prefix)
    neighbours = sorted(own.parent.glob("*/bin/python3"), reverse=True)
    yield from (str(path) for path in neighbours if own not in path.parents)


def python_version(python: str) -> tuple[int, ...]:
    """The interpreter's version, or () where it does not run (a version manager's shim)."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = run_program([python, "-c", code], check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(int(part) for part in done.stdout.split()) if done.returncode == 0 else ()
