"""`lastword gateway` whose leases, and its holders', end sooner: tests wait for that."""

from __future__ import annotations

import os
import sys

import tests.kit.fleet.hasty_holder  # noqa: F401 - before what reads the times
from lastword.cli import main
from lastword.gateway.front import holders
from tests.kit.places import ROOT

if __name__ == "__main__":
    holders.HOLDER = "tests.kit.fleet.hasty_holder"
    # A holder is started without its working directory in front of its path.
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    sys.exit(main(["gateway", *sys.argv[1:]]))
