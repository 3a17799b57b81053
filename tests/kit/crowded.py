"""A process that has more descriptors than `select` can take."""

from __future__ import annotations

import sys

CROWDED = (
    *(sys.executable, "-c"),
    """
import os, resource, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard < 4096 else 4096, hard))
for _ in range(1100):
    os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
os.execvp(sys.argv[1], sys.argv[1:])
""",
)
"""What to put before a command that is to inherit so many."""
