"""The observer's hooks within this process, and mutants of them in which one function fails."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = Path(__file__).resolve().parents[3] / "src" / "lastword" / "observer" / "python"
FILES = ("_lastword_observer.py", "_lastword_request.py", "_lastword_hooks.py")
HOOKS = ("_lastword_hooks", "_lastword_request")
MODEL_PATH = "/chat/completions$"

PASSING_ON = {"original", "execute", "function", "_inner"}
"""What a function names that runs the agent's own code, or makes one that does."""

TRIVIAL = {"find_spec"}
"""Runs at each import, and does nothing but to look into a set."""


@contextlib.contextmanager
def observed(report: Callable[[dict[str, Any]], object], folder: Path = FOLDER) -> Iterator[None]:
    """Report the requests of this process; afterwards its libraries are as before."""
    # Other tests of this process may have hooks of their own, which stay.
    before, path = _methods(), list(sys.meta_path)
    modules = {name: sys.modules.pop(name) for name in HOOKS if name in sys.modules}
    sys.meta_path[:] = [each for each in path if type(each).__name__ != "_LastwordFinder"]
    for cls, name, method in before:
        code = getattr(method, "__code__", None)
        if code and Path(code.co_filename).parent == FOLDER:
            setattr(cls, name, method.__wrapped__)
    spec: Any = importlib.util.spec_from_file_location("observer_in_test", folder / FILES[0])
    observer: Any = importlib.util.module_from_spec(spec)
    with contextlib.suppress(RuntimeError):  # a mutant, as the start of Python suppresses it
        spec.loader.exec_module(observer)
        observer.observe(report, MODEL_PATH)
    try:
        yield
    finally:
        sys.meta_path[:] = path
        for name in HOOKS:
            sys.modules.pop(name, None)
        sys.modules.update(modules)
        for cls, name, method in before:
            if vars(cls).get(name) is not method:
                setattr(cls, name, method)


def _methods() -> list[tuple[type, str, Any]]:
    classes = {
        value
        for module in list(sys.modules)
        if module.partition(".")[0] in {"http", "urllib3", "httpcore", "httpcore2", "aiohttp"}
        for value in list(vars(sys.modules[module]).values())
        if isinstance(value, type)
    }
    return [
        (cls, name, method)
        for cls in classes
        for name, method in list(vars(cls).items())
        if callable(method) and not name.startswith("__")
    ]


def mutants(folder: Path) -> Iterator[tuple[str, Path]]:
    """Make copies of the observer, in each of which another function raises an error at once."""
    sources = {file: (FOLDER / file).read_text(encoding="utf-8") for file in FILES}
    for file in FILES:
        tree = ast.parse(sources[file])
        for number, function in enumerate(_callbacks(tree)):
            place = folder / f"{Path(file).stem}-{number}"
            place.mkdir()
            error: Any = ast.parse('raise RuntimeError("a mutant")').body
            function.body[:0] = error
            for each in FILES:
                text = ast.unparse(tree) if each == file else sources[each]
                (place / each).write_text(text, encoding="utf-8")
            del function.body[0]
            yield f"{file}: {function.name}", place


def _callbacks(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in TRIVIAL:
            names = {
                each.attr if isinstance(each, ast.Attribute) else each.id
                for statement in node.body
                if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
                for each in ast.walk(statement)
                if isinstance(each, (ast.Name, ast.Attribute)) and isinstance(each.ctx, ast.Load)
            }
            if not names & PASSING_ON:
                yield node
