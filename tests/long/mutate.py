"""Small faults, put one by one into the source: how many of them do the tests notice?

    python -m tests.long.mutate --rooms core/link gateway/holder --mutants 40 --seed 1

Draws the same faults from a seed on every machine, for each room alone, and plays tests on a copy
of the repository. First all are played without a fault, to see which of them come to which line;
then for each fault those that come to its line, and of tests that start processes the whole file,
as these may share one. Prints each survivor as `FILE:LINE  what was changed`, and a score for each
room. Owns the kinds of faults, and which tests can notice one.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coverage import CoverageData

from tests.kit.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest

SOURCE = Path("src", "lastword")
ROOMS = (
    *("core/link", "core/failure", "core/restart", "gateway/holder", "gateway/log"),
    *("gateway/viewing", "sidecar", "inprocess", "record"),
)
WITHOUT_PROCESSES, WITH_PROCESSES = ("tests/unit", "tests/contract"), ("tests/process",)
WORKERS = 6
LIMIT_SECONDS, FAULT_SECONDS = 1800, 600
"""How long all tests may take, and those of one fault: one that makes them hang is noticed, too."""

MEASURED = """[run]
source = lastword
data_file = {folder}/.coverage
parallel = true
context = ${{PYTEST_CURRENT_TEST}}
patch = execv
"""
"""What each process notes, a test's own among them: the lines that it came to for a test."""

_OPPOSED: tuple[tuple[type[ast.cmpop], type[ast.cmpop]], ...] = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq)),
    *((ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
)
COMPARISONS = dict(_OPPOSED) | {other: one for one, other in _OPPOSED}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """One fault: where it is, where its statement begins, what it changes, and the file with it."""

    file: Path
    line: int
    begins: int
    change: str
    text: str


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what may stand in a node's place, each with what to call it."""
    changed = copy.deepcopy(node)
    match changed:
        case ast.Compare(ops=[op, *_]) if type(op) in COMPARISONS:
            changed.ops[0] = COMPARISONS[type(op)]()
            yield "comparison", changed
        case ast.BoolOp():
            changed.op = ast.Or() if isinstance(changed.op, ast.And) else ast.And()
            yield "and/or", changed
        case ast.UnaryOp(op=ast.Not()):
            yield "not", changed.operand
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            changed.op = ARITHMETIC[type(op)]()
            yield "arithmetic", changed
        case ast.If() | ast.IfExp() | ast.While():
            changed.test = ast.UnaryOp(ast.Not(), changed.test)
            yield "condition", changed
        case ast.Return(value=value) if value is not None:
            is_none = isinstance(value, ast.Constant) and value.value is None
            changed.value = ast.Constant(1 if is_none else None)
            yield "return", changed
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant", ast.Constant(value + 1)
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Assign() | ast.AugAssign():
            yield "statement", ast.Pass()


def functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the outermost functions of a module: its tables have tests of their own."""
    todo: list[ast.AST] = [tree]
    while todo:
        for child in ast.iter_child_nodes(todo.pop(0)):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield child
            elif isinstance(child, ast.ClassDef | ast.If):
                todo.append(child)


def sites(tree: ast.Module) -> list[tuple[ast.AST, str, int | None, int]]:
    """Return the places for a fault: the parent, the field, the place in its list, the line.

    The line is that where the innermost statement begins.
    """
    found: list[tuple[ast.AST, str, int | None, int]] = []

    def walk(node: ast.AST, begins: int) -> None:
        for name, value in ast.iter_fields(node):
            if name in {"decorator_list", "annotation", "returns", "args"} and not isinstance(
                node, ast.Call
            ):
                continue  # types, and how a function is called
            for place, child in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(child, ast.AST):
                    line = child.lineno if isinstance(child, ast.stmt) else begins
                    if any(changes(child)):
                        found.append((node, name, place if isinstance(value, list) else None, line))
                    walk(child, line)

    for function in functions(tree):
        walk(function, 0)
    return found


def drawn(room: str, number: int, seed: int) -> list[Mutant]:
    every = [
        (file, place)
        for file in sorted((ROOT / SOURCE / room).rglob("*.py"))
        for place in range(len(sites(ast.parse(file.read_text(encoding="utf-8")))))
    ]
    chosen = random.Random(f"{seed} {room}").sample(every, min(number, len(every)))
    return [mutant(file, place) for file, place in chosen]


def mutant(file: Path, place: int) -> Mutant:
    """Return a file with the fault at one of its places."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    parent, name, index, begins = sites(tree)[place]
    value = getattr(parent, name)
    node = value if index is None else value[index]
    kind, other = next(changes(node))
    if index is None:
        setattr(parent, name, other)
    else:
        value[index] = other
    line: int = getattr(node, "lineno", 0)
    before, after = (ast.unparse(ast.fix_missing_locations(one))[:60] for one in (node, other))
    told = f"{kind}: {before.splitlines()[0]} -> {after.splitlines()[0]}"
    text = ast.unparse(ast.fix_missing_locations(tree))
    return Mutant(file.relative_to(ROOT), line, begins, told, text)


def play(copied: Path, tests: Iterable[str], *options: str, seconds: float = LIMIT_SECONDS) -> bool:
    """Play tests in the copy until one fails; return whether none has, and they have ended."""
    listed = copied / "tests-to-play"
    listed.write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", f"@{listed}"]
    process = subprocess.Popen(
        [*command, "--hypothesis-seed=0", *options],
        cwd=copied,
        env={**os.environ, "PYTHONPATH": str(copied / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.wait()


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin of pytest, have the processes measured that a worker's tests start."""
    if hasattr(config, "workerinput"):
        os.environ["COVERAGE_PROCESS_START"] = str(config.getoption("--cov-config"))


def measure(copied: Path) -> CoverageData:
    """Play all tests; return which of them came to which line.

    Raises:
        RuntimeError: They fail without a fault.
    """
    config = copied / "measured.ini"
    config.write_text(MEASURED.format(folder=copied), encoding="utf-8")
    options = ["--cov=lastword", f"--cov-config={config}", "--cov-context=test"]
    options += ["--cov-report=", "--cov-fail-under=0", "-p", "tests.long.mutate"]
    for tests, workers in ((WITHOUT_PROCESSES, 2), (WITH_PROCESSES, WORKERS)):
        if not play(copied, tests, f"-n{workers}"):
            raise RuntimeError("the tests fail without a fault")
        # Some do not bear to be measured: of a process that they count the descriptors, say.
        play(copied, tests, f"-n{workers}", "--maxfail=0", "--cov-append", *options)
    data = CoverageData(str(copied / ".coverage"))
    data.read()
    return data


def tests_of(copied: Path, one: Mutant, data: CoverageData) -> tuple[list[str], list[str]]:
    """Return the tests that came to a fault, and the files of those that start processes."""
    names = {
        context.partition("|")[0].partition(" (")[0]
        for line, contexts in data.contexts_by_lineno(str(copied / one.file)).items()
        if one.begins <= line <= one.line
        for context in contexts
        if context
    }
    files = {name.partition("::")[0] for name in names if name.startswith(WITH_PROCESSES)}
    return sorted(name for name in names if not name.startswith(WITH_PROCESSES)), sorted(files)


def notices(one: Mutant, copied: Path, data: CoverageData) -> int | None:
    """Return which tests notice a fault: 0 for those without processes, 1 with, `None` neither."""
    file = copied / one.file
    original = file.read_text(encoding="utf-8")
    file.write_text(one.text, encoding="utf-8")
    try:
        for kind, tests in enumerate(tests_of(copied, one, data)):
            workers = min(WORKERS, len(tests)) if kind else int(len(tests) > 200) * 2
            if tests and not play(copied, tests, f"-n{workers}", seconds=FAULT_SECONDS):
                return kind
        return None
    finally:
        file.write_text(original, encoding="utf-8")


def score(room: str, mutants: list[Mutant], copied: Path, data: CoverageData) -> str:
    """Play a room's mutants; return its line of the result."""
    by = Counter[int | None]()
    for one in mutants:
        by[kind := notices(one, copied, data)] += 1
        if kind is None:
            print(f"{one.file}:{one.line}  {one.change}", flush=True)
    noticed = f"{100 * (by[0] + by[1]) / len(mutants):.1f} % of {len(mutants)}"
    return f"{room} {noticed} ({by[0]} without processes, {by[1]} with)"


def main(arguments: list[str] | None = None) -> int:
    """Print the survivors and the scores; the status is 1 where the tests fail by themselves."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.mutate", description=__doc__)
    parser.add_argument("--rooms", nargs="+", default=ROOMS, help="folders of src/lastword")
    parser.add_argument("--mutants", type=int, default=40, help="of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the mutants and play nothing")
    given = parser.parse_args(arguments)
    if none := [room for room in given.rooms if not (ROOT / SOURCE / room).is_dir()]:
        parser.error(f"no room of src/lastword: {', '.join(none)}")
    drawn_by_room = {room: drawn(room, given.mutants, given.seed) for room in given.rooms}
    if given.list:
        for one in (mutant for mutants in drawn_by_room.values() for mutant in mutants):
            print(f"{one.file}:{one.line}  {one.change}")
        return 0
    with tempfile.TemporaryDirectory(prefix="lastword-mutants-") as folder:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            target = Path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
        try:
            data = measure(Path(folder))
            for room, mutants in drawn_by_room.items():
                print(score(room, mutants, Path(folder), data), flush=True)
        except RuntimeError as error:
            print(error)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
