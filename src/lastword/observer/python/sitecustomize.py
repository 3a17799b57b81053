"""Python's start in an agent that lastword observes: removes lastword from the environment again.

Python imports it from PYTHONPATH before the agent's own code. It removes what lastword has added,
loads `_lastword_observer` if this process is the agent itself, and imports the `sitecustomize` that
it has hidden. Valid in every Python since 2.7, as an agent may start any; so without functions.
"""

import os
import sys

_folder = os.path.dirname(__file__)
try:
    _settings = os.environ.pop("LASTWORD_OBSERVER", "")
    _node = os.path.join(os.path.dirname(_folder), "node.cjs")
    for _name, _part, _between in (
        ("NODE_OPTIONS", '--require "' + _node + '"', " "),
        ("BUN_OPTIONS", "--preload=" + _node, " "),
        ("BUN_OPTIONS", '"--preload=' + _node + '"', " "),
        ("PYTHONPATH", _folder, os.pathsep),
    ):
        _old = _between + os.environ.get(_name, "") + _between
        _new = _old.replace(_between + _part + _between, _between, 1)
        if _new != _old:
            os.environ[_name] = _new[1:-1]
            if _new == _between:
                del os.environ[_name]
    for _name, _fd in (("stdin", 0), ("stdout", 1)):
        try:
            _stat = os.fstat(_fd)
        except OSError:
            continue
        _end = '"' + _name + '":[' + str(_stat.st_dev) + "," + str(_stat.st_ino) + "]"
        if _end in _settings.replace(" ", "") and sys.version_info >= (3, 9):
            import _lastword_observer  # type: ignore[import-not-found]

            _lastword_observer.start(_settings)
            break
except Exception:  # noqa: BLE001, S110 - it must never harm the agent
    pass

# From now on, neither this file nor its folder hides anything. Without another `sitecustomize` the
# import fails, as it does without lastword: `site` expects that.
sys.path[:] = [_path for _path in sys.path if _path != _folder]
sys.path_importer_cache.pop(_folder, None)
_self = sys.modules.pop("sitecustomize", None)
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401
