"""`lastword connect` with a policy that comes back at once, as often as the environment says.

For links that are cut more often in a second than the policy takes for a gateway that is there.
"""

from __future__ import annotations

import os
import sys

from lastword.cli import main
from lastword.client import reconnect

if __name__ == "__main__":
    reconnect.TRIES = reconnect.PATIENT_TRIES = int(os.environ["LASTWORD_TEST_TRIES"])
    reconnect.FIRST_DELAY = reconnect.MAX_DELAY = 20
    reconnect.PROBE_EVERY = reconnect.PROBE_FUSE = 2_000
    sys.exit(main(["connect", *sys.argv[1:]]))
