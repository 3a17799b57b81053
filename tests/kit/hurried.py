"""`hurried.py MODULE.NAME=VALUE... python -m lastword run ...`: lastword with other limits.

For waits of minutes that no option sets, and that no test of a real process can sit through. What
stands before one of `COMMANDS` is left out: it is this process that runs it.
"""

from __future__ import annotations

import importlib
import sys

import lastword.cli

COMMANDS = ("run", "gateway", "connect")


def main(words: list[str]) -> int:
    """Set the limits, then run the rest of the command line."""
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        module_name, _, attribute = name.rpartition(".")
        module = importlib.import_module(f"lastword.{module_name}")
        assert hasattr(module, attribute), name
        setattr(module, attribute, int(value) if value.isdecimal() else float(value))
    begins = next(number for number, word in enumerate(words) if word in COMMANDS)
    return lastword.cli.main(words[begins:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
