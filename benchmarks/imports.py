"""What the imports inside functions take, which `late_imports.json` lists.

Run as ``python benchmarks/imports.py`` to see the list with figures of this machine, with
``--write`` to put them there. A figure is CPU time, the fewest of several new processes, once the
module is loaded that the import stands in.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

LIST = Path(__file__).with_name("late_imports.json")
"""Who is spared, the module with the import, what it loads, and the milliseconds."""
LOADED_BEFORE = {"lastword.core.link.late": "lastword.core.link.connection"}
"""What is loaded by then for a list of modules, in place of the list's own module."""

CODE = """
import sys, time
sys.argv = [{importer!r}]
import {importer}
began = time.process_time()
import {imported}
print((time.process_time() - began) * 1000)
"""


def milliseconds(importer: str, imported: str, rounds: int) -> float:
    """What the import takes once its importer is loaded: the fewest of so many processes."""
    before = LOADED_BEFORE.get(importer, importer)
    command = [sys.executable, "-c", CODE.format(importer=before, imported=imported)]
    # With bytecode that is cached, as an installer leaves it; the first of them may write it.
    cached = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    taken = [
        subprocess.run(command, capture_output=True, check=True, env=cached) for _ in range(rounds)
    ]
    return min(float(done.stdout) for done in taken)


def main() -> None:
    """Measure each row of the list, and print it or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="put the figures into the list")
    options = parser.parse_args()

    groups = json.loads(LIST.read_text(encoding="utf-8"))
    for importers in groups.values():
        for importer, modules in importers.items():
            for imported in modules:
                modules[imported] = round(milliseconds(importer, imported, options.rounds), 1)
                if not options.write:
                    print(f"{modules[imported]:6.1f} ms  {importer}: {imported}", flush=True)
    if options.write:
        LIST.write_text(json.dumps(groups, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
