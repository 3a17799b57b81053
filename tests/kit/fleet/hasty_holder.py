"""A holder's program whose leases end sooner."""

from __future__ import annotations

import sys

import tests.kit.fleet.haste  # noqa: F401 - before what reads the times
from lastword.cli.gateway.holder import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
