"""`meddler.py MODE -- CMD…`: an agent that is well, with one thing made wrong on its way out or in.

`MODES` names them: each breaks one requirement of an agent that keeps them all, so that a check
which finds it finds that.
"""

from __future__ import annotations

import sys

from tests.process.conformance import meddles
from tests.process.conformance.meddling import IN, OUT, WHOLE, Meddler

__all__ = ["MODES", "meddles"]

MODES = {*OUT, *IN, *WHOLE}


if __name__ == "__main__":
    at = sys.argv.index("--")
    sys.exit(Meddler(sys.argv[1]).run(sys.argv[at + 1 :]))
