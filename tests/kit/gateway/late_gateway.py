"""`lastword gateway` whose holders have a store that commits late."""

from __future__ import annotations

import os
import sys

from lastword.cli import main
from lastword.gateway.front import holders
from tests.kit.places import ROOT

if __name__ == "__main__":
    holders.HOLDER = "tests.kit.gateway.late_holder"
    # A holder is started without its working directory in front of its path.
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    sys.argv.insert(1, "gateway")  # as its restart reads it
    sys.exit(main(sys.argv[1:]))
