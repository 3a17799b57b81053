"""Relays made of others' software: the official SDKs back to back, and the Rust conductor.

Each is what one would start from to put a program of one's own between client and agent. None of
them knows a failing turn. What the machine lacks is left out, with a sentence on how to get it.
"""

import importlib.util
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from link import Relay

HERE = Path(__file__).parent
RELAYS = HERE / "relays"
BUILT = HERE / ".built"
TYPESCRIPT_SDK = HERE.parent / "tests" / "interop" / "node_modules" / "@agentclientprotocol" / "sdk"
CONDUCTOR = "agent-client-protocol-conductor"
CONDUCTOR_VERSION = "5.0.0"

Say = Callable[[str], None]


def plain_relays(say: Say) -> list[Relay]:
    """Those of them that this machine can start."""
    return [*_python_sdk(say), *_typescript_sdk(say), *_conductor(say)]


def _python_sdk(say: Say) -> Iterator[Relay]:
    if importlib.util.find_spec("acp") is None:
        say("the Python SDK is missing: pip install agent-client-protocol")
        return
    command = shlex.join([sys.executable, str(RELAYS / "python_sdk.py")])
    # It escapes every character beyond ASCII.
    yield Relay("Python SDK", f"{command} {{agent}}", plain=True, verbatim=False)


def _typescript_sdk(say: Say) -> Iterator[Relay]:
    node = shutil.which("node")
    if node is None or not TYPESCRIPT_SDK.exists():
        say("the TypeScript SDK is missing: npm ci --prefix tests/interop --ignore-scripts")
        return
    command = shlex.join([node, str(RELAYS / "typescript_sdk.mjs"), str(TYPESCRIPT_SDK)])
    yield Relay("TypeScript SDK", f"{command} {{agent}}", plain=True)


def _conductor(say: Say) -> Iterator[Relay]:
    """The conductor with nothing between client and agent; built once, which takes minutes."""
    binary = BUILT / "bin" / CONDUCTOR
    if not binary.exists():
        cargo = shutil.which("cargo")
        if cargo is None:
            say("cargo is missing: no Rust conductor")
            return
        say("building the Rust conductor, once")
        install = [cargo, "install", "--quiet", "--locked", "--root", str(BUILT), CONDUCTOR]
        subprocess.run([*install, "--version", CONDUCTOR_VERSION], check=True)
    # It wants the agent's command in one word.
    script = shlex.quote(f'exec {shlex.quote(str(binary))} agent "$*"')
    yield Relay("Rust conductor", f"sh -c {script} sh {{agent}}", plain=True)
