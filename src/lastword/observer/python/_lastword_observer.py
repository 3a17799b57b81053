"""The observer of a Python process: hooks HTTP libraries as they are imported, and reports.

Owns when a library is hooked and the pipe into which is reported. `_lastword_request` has what is
reported and `_lastword_hooks` where, both loaded with the first library. No error of ours may reach
the agent. Runs in every Python since 3.9.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_LINE_BYTES = 4000
LIBRARIES = {
    *("http.client", "urllib3.connectionpool", "httpcore", "httpcore2"),
    *("aiohttp.client", "aiohttp.streams"),
}


def quiet(function: "Callable[..., Any]") -> "Callable[..., Any]":
    """Return the function with its errors suppressed: it returns None instead."""

    def call(*args: "Any", **kwargs: "Any") -> "Any":
        try:
            return function(*args, **kwargs)
        except Exception:  # noqa: BLE001 - it must never harm the agent
            return None

    return call


class _LastwordFinder:
    """Has the other finders find modules, and hooks those that they load."""

    def __init__(self) -> None:
        self.observers: list[tuple[Any, str]] = []

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        return self._spec_of(name, path, target) if name in LIBRARIES else None

    @quiet
    def _spec_of(self, *args: "Any") -> "Any":
        others = [finder for finder in sys.meta_path if finder is not self]
        spec: Any = next(filter(None, (finder.find_spec(*args) for finder in others)))
        loader, execute = spec.loader, spec.loader.exec_module

        def exec_module(module: "Any") -> None:
            loader.__dict__.pop("exec_module", None)
            execute(module)
            self.hook(module)

        loader.__dict__["exec_module"] = exec_module
        return spec

    @quiet
    def hook(self, module: "Any") -> None:
        if "_lastword_hooks" not in sys.modules:
            request = _load("_lastword_request", {"quiet": quiet, "observers": self.observers})
            _load("_lastword_hooks", vars(request))
        for owner, name, wrapper, *parts in sys.modules["_lastword_hooks"].HOOKS[module.__name__]:
            cls = getattr(module, owner)
            setattr(cls, name, wrapper(getattr(cls, name), *map(quiet, parts)))


def _load(name: str, names: "dict[str, Any]") -> "Any":
    """Load a file from this folder, which is not on the path, with these names defined in it."""
    module = type(sys)(name)
    module.__file__ = os.path.join(os.path.dirname(__file__), name + ".py")
    module.__dict__.update({key: names[key] for key in names if key[:2] != "__"})
    # Not by importlib.util, which adds five milliseconds to a start.
    loader: Any = type(__spec__.loader)
    loader(name, module.__file__).exec_module(module)
    sys.modules[name] = module
    return module


@quiet
def observe(report: "Callable[[dict[str, Any]], object]", model_path: str) -> "Callable[[], None]":
    """Report this process's requests to a model, and return what ends that.

    Args:
        report: Is called with each event, in the context in which the request was made.
        model_path: A regular expression that finds a model API in a request's path.
    """
    # By its name, since another copy of this file may be active.
    finders: Any = [each for each in sys.meta_path if type(each).__name__ == "_LastwordFinder"]
    if not finders:
        finders = [_LastwordFinder()]
        sys.meta_path[:0] = finders
        for name in LIBRARIES & sys.modules.keys():
            finders[0].hook(sys.modules[name])
    observers, entry = finders[0].observers, (report, model_path)
    observers.append(entry)
    return lambda: observers.remove(entry) if entry in observers else None


@quiet
def start(settings: str) -> None:
    """Report this process, which is the agent's, and its requests through lastword's pipe."""
    import json  # only the agent pays for it, not its tools

    if sys.platform == "win32":
        return
    options = json.loads(settings)
    has_reader = os.open(options["pipe"], os.O_WRONLY | os.O_NONBLOCK)
    # Also for reading: without a reader, a write raises SIGPIPE, which may end the agent.
    fd = os.open(options["pipe"], os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    os.close(has_reader)
    pipe = os.fstat(fd)[:3]

    def report(event: "dict[str, Any]") -> None:
        line = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        if len(line) > MAX_LINE_BYTES and "headers" in event:
            event["headers"].popitem()
            return report(event)
        if len(line) > MAX_LINE_BYTES:
            end = len(event["text"]) * MAX_LINE_BYTES // len(line) - 1
            return report({**event, "text": event["text"][:end]})
        # The agent may have closed it with all others, and have opened its own file.
        if os.fstat(fd)[:3] == pipe:
            os.write(fd, line)
        return None

    names = getattr(sys, "orig_argv", []) if sys.argv[:1] == ["-m"] else []
    script = names[names.index("-m") + 1] if names else os.path.basename(sys.argv[0])
    version = ".".join(map(str, sys.version_info[:3]))
    runtime = {"runtime": "python", "version": version, "script": script[:300]}
    quiet(report)({"event": "start", "pid": os.getpid(), **runtime})
    observe(report, options["model_path"])
