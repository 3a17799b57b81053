"""One cell of the interop table: a client, a rung, and every kind of failure in one session.

Owns the client programs, each one entry of `CLIENTS`: its SDK and version, how to get its command,
and what it can say of itself (all keep to one contract: `PROGRAM [options] -- AGENT…`, JSON lines
on stdout); the rungs and the kinds; and playing a cell through the real sidecar. Does not own what
to make of it (`clients_verdicts`).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.interop import toolchain, toolchain_native
from tests.interop.clients_agent import CRASH_BETWEEN
from tests.interop.runs import Run, prompting, run, sidecar
from tests.kit import left_behind
from tests.kit.installs import require_packages

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent
OLD_PYTHON_SDK = HERE / "old_python_sdk"
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
    rungs: tuple[str, ...] | None = None

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
    return lambda: toolchain_native.SDKS[language]


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


# --- cells ---------------------------------------------------------------------------------------

AGENT = [sys.executable, "-m", "tests.interop.clients_agent"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("LASTWORD_")}
"""Read once: cells are played in threads, and pytest changes `os.environ` meanwhile."""
SIDECAR_OPTIONS = (
    *("--first-update-timeout", "10", "--idle-timeout", "10", "--cancel-grace", "0.5"),
    *("--stderr-limit", "2MiB"),
)
TURN_LIMIT_SECONDS = 120.0
HEALTHY_PROMPT = "hello"
TYPED = {"agent_error": {"version": 1}}
TYPED_STOP_REASON = {"agent_error": {"version": 1, "stop_reason": True}}
AIR = {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}

KINDS = (
    (
        *("rate_limit", "budget", "provider_unavailable", "context_overflow", "auth"),
        *("model_not_found", "invalid_request", "content_filter", "timeout", "network"),
        *("unknown", "internal", "protocol_error", "silent_success"),
        *("agent_stalled", "stderr_overflow", "crash_after_text"),
    ),
    ("agent_crash", CRASH_BETWEEN),
)
"""What is played in one process each: three crashes within seconds would be a crash loop."""

NOT_IN_VERSION_2 = ("protocol_error",)
"""An end without a stop reason is legal there."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One way in which a failure can reach a client.

    Attributes:
        by: How a client comes to it.
        meta: What the client says in its capabilities' `_meta`.
        option: What `--fallback` is given, where it takes a configuration to get there.
        default: Every client that says nothing gets it.
    """

    key: str
    title: str
    by: str
    meta: dict[str, Any] | None = field(default=None, hash=False)
    option: str | None = None
    protocol: int = 1
    default: bool = False


def _says(meta: dict[str, Any]) -> str:
    return f"the client says `clientCapabilities._meta = {json.dumps(meta)}`"


RUNGS = (
    Rung("typed", "`typed`", _says(TYPED), meta=TYPED),
    Rung(
        "typed_stop_reason",
        '`typed`, with `"stop_reason": true`',
        _says(TYPED_STOP_REASON),
        meta=TYPED_STOP_REASON,
    ),
    Rung(
        "v2",
        "`v2`",
        f"the client speaks version 2 and says `capabilities._meta = {json.dumps(TYPED)}`",
        meta=TYPED,
        protocol=2,
    ),
    Rung("air", "`air`", _says(AIR), meta=AIR),
    Rung(
        "error_with_meta", "`error_with_meta`, the default", "the client says nothing", default=True
    ),
    Rung("error", "`error`", "`--fallback error`", option="error"),
    Rung("text", "`text`", "`--fallback text`", option="text"),
    Rung("result", "`result`", "`--fallback result`", option="result"),
)


@dataclass(frozen=True, slots=True)
class Cell:
    client: Program
    rung: Rung

    def __str__(self) -> str:
        return f"{self.client.key}-{self.rung.key}"


@dataclass(frozen=True, slots=True)
class Turns:
    """What one process of a cell left: its kinds, the client's report, the sidecar's frames.

    Attributes:
        kinds: What went wrong in the turns 0, 2, 4 and so on; the others were healthy.
        sent: For each turn what the sidecar sent in it, the frame that ended it last.
        translated: The client hands out one shape, whatever the carrier.
    """

    kinds: tuple[str, ...]
    report: Run
    sent: list[list[dict[str, Any]]]
    translated: bool


def possible(client: Program, rung: Rung) -> bool:
    if rung.protocol not in client.protocols:
        return False
    if rung.meta is not None and not client.negotiates:
        return False
    if client.own_rung and rung.key == "air":
        return False
    return client.rungs is None or rung.key in client.rungs


def cells() -> list[Cell]:
    return [Cell(client, rung) for rung in RUNGS for client in CLIENTS if possible(client, rung)]


def groups(rung: Rung) -> list[tuple[str, ...]]:
    """The kinds of failure that are played on a rung, a process each."""
    absent = NOT_IN_VERSION_2 if rung.protocol > 1 else ()
    return [tuple(kind for kind in kinds if kind not in absent) for kinds in KINDS]


def expected_type(kind: str) -> str | None:
    """The error type that the contract names for a kind; `None` where the turn succeeds."""
    if kind == CRASH_BETWEEN:
        return None
    return {"silent_success": "unknown", "crash_after_text": "agent_crash"}.get(kind, kind)


def _client(cell: Cell, kinds: tuple[str, ...]) -> list[str]:
    rung = cell.rung
    meta = [] if rung.meta is None else ["--meta", json.dumps(rung.meta)]
    texts = [t for kind in kinds for t in (f"please /scenario {kind}", HEALTHY_PROMPT)]
    limits = ["--turn-timeout", str(TURN_LIMIT_SECONDS)]
    options = [*meta, "--protocol", str(rung.protocol), *limits, *prompting(*texts)]
    return [*cell.client.command(), *options]


def play(cell: Cell, kinds: tuple[str, ...], folder: Path) -> Turns:
    """Run one process of a cell, in a folder of its own, in which these things go wrong."""
    home = folder / f"{cell}-{kinds[0]}"
    cwd = home / "project"
    cwd.mkdir(parents=True)
    forced = cell.rung.option or (cell.rung.key if cell.client.own_rung else None)
    if cell.rung.meta is not None:
        forced = None
    options = (*SIDECAR_OPTIONS, *(("--fallback", forced) if forced else ()))
    tee = [sys.executable, str(HERE / "tee.py"), str(home / "frames"), "--"]
    env = ENVIRONMENT | {left_behind.VARIABLE: left_behind.new_mark()}
    command = [*tee, *sidecar(AGENT, options)]
    report = run(_client(cell, kinds), command, env, cwd)
    sent = _turns(_frames(home / "frames.in"), _frames(home / "frames.out"))
    return Turns(kinds, report, sent, cell.client.own_rung)


def _frames(path: Path) -> list[dict[str, Any]]:
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.startswith(b"{") and line.endswith(b"}")]


def _turns(asked: list[dict[str, Any]], told: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """What was sent in each turn: a turn ends with its answer, or, in version 2, with idleness."""
    prompts = {frame["id"] for frame in asked if frame.get("method") == "session/prompt"}
    by_state = any(is_idle(frame) for frame in told)
    turns: list[list[dict[str, Any]]] = [[]]
    for frame in told:
        turns[-1].append(frame)
        answer = "method" not in frame and frame.get("id") in prompts
        if is_idle(frame) if by_state else answer:
            turns.append([])
    return turns


def update_of(frame: dict[str, Any]) -> dict[str, Any]:
    if frame.get("method") != "session/update":
        return {}
    update: dict[str, Any] = frame["params"]["update"]
    return update


def is_idle(frame: dict[str, Any]) -> bool:
    return update_of(frame).get("state") == "idle"
