"""The clients in compiled languages, built on demand and once.

Owns: `.built` in `rust`, `go` and `kotlin`, stamped like the folders of `toolchain`, and the two
locks that the languages' own tools do not keep in a form that names no registry: `crates.lock` is
Cargo's lock without its `source` lines, `jars.lock` holds the jars' hashes. Go's `go.sum` serves as
it is. The crate of `protocol/rust` is built and tested with the client that uses it. Does not own:
what the clients do.

Of what Maven fetches, its own plugin that fetches the rest runs unverified but for the checksum
that the registry itself gives. Everything else is compared with `jars.lock` before it runs.

`python -m tests.interop.toolchain_native` writes both locks anew, after a change of Cargo.toml or
pom.xml.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.kit.installs import MissingError, fingerprint_of, installed, or_skip, run
from tests.kit.places import PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HERE = Path(__file__).resolve().parent
RUST, GO, KOTLIN = HERE / "rust", HERE / "go", HERE / "kotlin"
CRATE_NAME, CRATE_SOURCES = "agent-error", PROTOCOL / "rust" / "src"
BUILT = ".built"
CARGO_MINIMUM = (1, 88)
GO_MINIMUM = (1, 23)
JAVA_MINIMUM = (17,)
MAVEN_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:resolve"
KOTLIN_COMPILER = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"
RESOLVED_JAR = re.compile(r"^ +([\w.-]+):([\w.-]+):jar:([\w.-]+):(compile|runtime|provided)\b")
SOURCE_LINE = re.compile(r'^source = ".*"\n', re.MULTILINE)
CHECKSUM_LINE = re.compile(r"^(?=checksum = )", re.MULTILINE)


SDKS = {"rust": "5.2.0", "go": "0.13.0", "kotlin": "0.10.5"}
"""The versions of the SDKs that the clients are built on, by their languages."""


def require_rust(program: str = "interop-client") -> list[str]:
    """Return the command of a program in Rust, or skip (fail in CI)."""
    return [str(_require_rust() / "debug" / program)]


def require_rust_remote() -> list[str]:
    """Return the command of the client over a network, or skip (fail in CI)."""
    program = require_rust("remote")
    or_skip(lambda: cargo_build("--features", "remote", "--bin", "remote"))
    return program


def require_crate_tests() -> list[str]:
    """Return the command that runs the tests of the crate, or skip (fail in CI)."""
    cargo = tool("cargo", "--version", CARGO_MINIMUM)
    client = ["--manifest-path", str(RUST / "Cargo.toml"), "--target-dir", str(_require_rust())]
    return [cargo, "test", "--locked", "--offline", "--quiet", *client, "--package", CRATE_NAME]


def _require_rust() -> Path:
    return _require(RUST, build_rust, CRATE_SOURCES)


def require_go() -> list[str]:
    """Return the command of the client on the Go SDK, or skip (fail in CI)."""
    return [str(_require(GO, build_go) / "client")]


def require_kotlin(main: str = "MainKt") -> list[str]:
    """Return the command of a client on the Kotlin SDK, or skip (fail in CI)."""
    built = _require(KOTLIN, build_kotlin)
    jars = [built / "client.jar", *(jar.path for jar in locked_jars() if jar.scope != "provided")]
    # The second compiler would cost more than a session of a second gives back.
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", _classpath(jars), f"interop.{main}"]


def _require(folder: Path, build: Callable[[], None], *others: Path) -> Path:
    """The folder's `.built`, made anew where sources (also in others), its lock or this changed."""

    def fingerprint() -> str:
        places = (folder, *others)
        names = sorted(p for place in places for p in place.rglob("*") if _is_source(place, p))
        contents = [part for path in names for part in (path.name.encode(), path.read_bytes())]
        made_by = f"{platform.system()} {platform.machine()}".encode()
        return fingerprint_of(made_by, Path(__file__).read_bytes(), *contents)

    return or_skip(lambda: installed(folder / BUILT, fingerprint, build))


def _is_source(folder: Path, path: Path) -> bool:
    made = path.name == "Cargo.lock" or BUILT in path.relative_to(folder).parts
    return path.is_file() and not made and not path.name.startswith(".")


def tool(name: str, version_option: str, minimum: tuple[int, ...]) -> str:
    """Return the tool's path, if it is there and new enough."""
    path = shutil.which(name)
    wanted = ".".join(map(str, minimum))
    if path is None:
        msg = f"{name} is not on PATH. Install {name} {wanted} or newer."
        raise MissingError(msg)
    found = re.search(r"\d+(?:\.\d+)*", run([path, version_option], f"Asking {name} its version"))
    if found is None or tuple(map(int, found[0].split("."))) < minimum:
        msg = f"{name} {found[0] if found else '?'} is too old. Install {wanted} or newer."
        raise MissingError(msg)
    return path


# --- Rust ----------------------------------------------------------------------------------------


def build_rust() -> None:
    """Build the client on the Rust SDK, and the crate that it reads with."""
    cargo = tool("cargo", "--version", CARGO_MINIMUM)
    lock = (RUST / "crates.lock").read_text()
    (RUST / "Cargo.lock").write_text(CHECKSUM_LINE.sub(_source_line(cargo, lock), lock))
    cargo_build()


def cargo_build(*options: str) -> None:
    """Build unoptimised, which takes less time: a client only waits."""
    cargo = tool("cargo", "--version", CARGO_MINIMUM)
    command = [cargo, "build", "--locked", "--quiet", "--target-dir", str(RUST / BUILT), *options]
    run(command, "Building the clients in Rust", RUST)


def _source_line(cargo: str, lock: str) -> str:
    """What this machine's Cargo writes in a lock for the place that a crate came from.

    With it, and with each crate's checksum from our lock, Cargo refuses any other content.
    """
    found = re.search(r'name = "(itoa)"\nversion = "([^"]+)"', lock)
    if found is None:
        raise MissingError("crates.lock has lost the small crate that stands for all of them.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        package = '[package]\nname = "one"\nversion = "0.0.0"\nedition = "2024"\n'
        manifest = f'{package}[lib]\npath = "lib.rs"\n[dependencies]\n{found[1]} = "={found[2]}"\n'
        (folder / "Cargo.toml").write_text(manifest)
        (folder / "lib.rs").touch()
        run([cargo, "generate-lockfile", "--quiet"], "Asking cargo for a lock", folder)
        source = SOURCE_LINE.search((folder / "Cargo.lock").read_text())
    if source is None:
        raise MissingError("cargo wrote a lock that does not say where a crate came from.")
    return source[0].replace("\\", "\\\\")


def _lock_rust() -> None:
    run(["cargo", "generate-lockfile"], "Locking the crates", RUST)
    (RUST / "crates.lock").write_text(SOURCE_LINE.sub("", (RUST / "Cargo.lock").read_text()))


# --- Go ------------------------------------------------------------------------------------------


def build_go() -> None:
    go = tool("go", "version", GO_MINIMUM)
    command = [go, "build", "-mod=readonly", "-trimpath", "-o", f"{BUILT}/client", "."]
    run(command, "Building the client in Go", GO)


# --- Kotlin --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Jar:
    """A jar of the lock; `provided` is what compiles the client and does not run with it."""

    scope: str
    name: str
    sha256: str

    @property
    def path(self) -> Path:
        """Where Maven puts it in the repository that it fills for us alone."""
        group, artifact, version = self.name.split(":")
        folder = KOTLIN / BUILT / "repository" / Path(*group.split("."), artifact, version)
        return folder / f"{artifact}-{version}.jar"


def locked_jars() -> list[Jar]:
    """The jars of the lock, in the order of a class path."""
    lines = (KOTLIN / "jars.lock").read_text().splitlines()
    return [Jar(*line.split()) for line in lines]


def _classpath(jars: Iterable[Path]) -> str:
    return os.pathsep.join(map(str, jars))


def _resolved_jars() -> list[Jar]:
    """What Maven makes of pom.xml, fetched, with the hashes found."""
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingError("mvn is not on PATH. Install Maven 3.8 or newer.")
    resolved = KOTLIN / BUILT / "resolved.txt"
    repository = f"-Dmaven.repo.local={KOTLIN / BUILT / 'repository'}"
    quietly = ["--batch-mode", "--quiet", "--strict-checksums"]
    command = [maven, *quietly, repository, MAVEN_PLUGIN, f"-DoutputFile={resolved}"]
    run(command, "Fetching the Kotlin SDK", KOTLIN)
    jars = []
    for line in resolved.read_text().splitlines():
        if found := RESOLVED_JAR.match(line):
            group, artifact, version, scope = found.groups()
            path = Jar(scope, f"{group}:{artifact}:{version}", "").path
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            jars.append(Jar(scope, f"{group}:{artifact}:{version}", digest))
    return jars


def build_kotlin() -> None:
    """Fetch and check the jars, then compile the client on the Kotlin SDK."""
    java = tool("java", "--version", JAVA_MINIMUM)
    jars = locked_jars()
    if wrong := {jar.name for jar in set(jars) ^ set(_resolved_jars())}:
        msg = f"Not what jars.lock holds, so none of it was run: {', '.join(sorted(wrong))}."
        raise MissingError(msg)
    runtime = _classpath(jar.path for jar in jars if jar.scope != "provided")
    compiler = [java, "-cp", _classpath(jar.path for jar in jars), KOTLIN_COMPILER]
    options = ["-no-stdlib", "-no-reflect", "-jvm-target", "17", "-cp", runtime]
    sources = sorted(path.name for path in KOTLIN.glob("*.kt"))
    target = str(KOTLIN / BUILT / "client.jar")
    run([*compiler, *options, "-d", target, *sources], "Compiling the client in Kotlin", KOTLIN)


def _lock_kotlin() -> None:
    lines = [f"{jar.scope} {jar.name} {jar.sha256}\n" for jar in _resolved_jars()]
    (KOTLIN / "jars.lock").write_text("".join(lines))


if __name__ == "__main__":
    try:
        _lock_rust()
        _lock_kotlin()
    except MissingError as missing:
        sys.exit(str(missing))
