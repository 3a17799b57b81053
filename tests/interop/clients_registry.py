"""The client programs of the interop table, each one line in `CLIENTS`.

Owns what each is called, which SDK and version it stands on, how to get its command, and what it
can say of itself. All keep to one contract: `PROGRAM [options] -- AGENT…`, JSON lines on stdout.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tests.interop import toolchain, toolchain_native
from tests.kit.installs import require_packages

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent
OLD_PYTHON_SDK = HERE / "old_python_sdk"
ALL_RUNGS = None
TYPED_RUNGS = ("typed", "typed_stop_reason")


@dataclass(frozen=True, slots=True)
class Program:
    """One client program.

    Attributes:
        key: Its short name, in the ids of tests.
        words: What the table calls it, without a version.
        version: The version of what it stands on; may skip the test where it cannot be had.
        command: Its command line, up to its options; may skip as well.
        negotiates: Can its author put something into the client's `_meta`?
        own_rung: It negotiates `agent_error` by itself, whatever it is told.
        rungs: The only rungs worth a row, where another row has the rest.
    """

    key: str
    words: str
    version: Callable[[], str]
    command: Callable[[], list[str]]
    protocols: tuple[int, ...] = (1,)
    negotiates: bool = True
    own_rung: bool = False
    rungs: tuple[str, ...] | None = ALL_RUNGS

    def title(self) -> str:
        name, _, rest = self.words.partition(",")
        version = self.version()
        return name + (f" {version}" if version else "") + (f",{rest}" if rest else "")


def python(program: str, *options: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, str(HERE / program), *options]


def old_python() -> list[str]:
    """The same program, on the SDK of early 2026."""
    return [str(require_packages(OLD_PYTHON_SDK)), str(HERE / "client_py.py")]


def node(program: str, *options: str) -> Callable[[], list[str]]:
    def command() -> list[str]:
        toolchain.require_node()
        return [shutil.which("node") or "node", str(HERE / program), *options]

    return command


def acpx() -> list[str]:
    """The adapter to the command-line client.

    `package.json` overrides its one native package, which it can do without, so that the lock is
    whole on registries that serve a single platform of it.
    """
    toolchain.require_node()
    return [sys.executable, str(HERE / "client_acpx.py")]


def pypi(name: str) -> Callable[[], str]:
    """The version of a package that is installed with us."""
    return lambda: version(name)


def locked(name: str) -> Callable[[], str]:
    """The version of a package that `requirements.in` of the old SDK names."""
    wanted = f"{name}=="
    lines = (OLD_PYTHON_SDK / "requirements.in").read_text().splitlines()
    return lambda: next(line.removeprefix(wanted) for line in lines if line.startswith(wanted))


def npm(name: str) -> Callable[[], str]:
    def installed() -> str:
        manifest = toolchain.require_node() / name / "package.json"
        found: str = json.loads(manifest.read_text())["version"]
        return found

    return installed


def native(language: str) -> Callable[[], str]:
    return lambda: toolchain_native.SDKS[language].version


def none() -> str:
    return ""


SDK, TS, TS_2 = "agent-client-protocol", "@agentclientprotocol/sdk", "client_ts.mjs"
TS_014 = "client_ts_014.mjs"
CLIENTS = [
    Program("py", "Python SDK", pypi(SDK), python("client_py.py")),
    Program("py-old", "Python SDK", locked(SDK), old_python),
    Program(
        "lastword",
        "`lastword.client.acp` on the Python SDK",
        pypi(SDK),
        python("client_lastword.py"),
        own_rung=True,
    ),
    Program("ts", "TypeScript SDK", npm(TS), node(TS_2)),
    Program(
        "ts-stream",
        "TypeScript SDK, with a stream of the client's own in front",
        npm(TS),
        node(TS_2, "--own-stream"),
        rungs=TYPED_RUNGS,
    ),
    Program("ts-014", "TypeScript SDK", npm("sdk-0-14"), node(TS_014)),
    Program(
        "ts-014-stream",
        "TypeScript SDK, with a stream of the client's own in front",
        npm("sdk-0-14"),
        node(TS_014, "--own-stream"),
        rungs=TYPED_RUNGS,
    ),
    Program("ts-v2", "TypeScript SDK, `experimental/v2`", npm(TS), node("client_ts_v2.mjs"), (2,)),
    Program("acpx", "acpx", npm("acpx"), acpx, negotiates=False),
    Program("raw", "strict JSON, no SDK", none, python("client_raw.py"), (1, 2)),
    Program(
        "zed",
        "strict JSON, by the name `zed`",
        none,
        python("client_raw.py", "--name", "zed"),
        rungs=("error_with_meta",),
    ),
    Program("rust", "Rust SDK", native("rust"), toolchain_native.require_rust, (1, 2)),
    Program(
        "rust-untyped",
        "Rust SDK, with an untyped handler in front",
        native("rust"),
        lambda: [*toolchain_native.require_rust(), "--read"],
        rungs=TYPED_RUNGS,
    ),
    Program("go", "Go SDK", native("go"), toolchain_native.require_go),
    Program("kotlin", "Kotlin SDK", native("kotlin"), toolchain_native.require_kotlin),
]
