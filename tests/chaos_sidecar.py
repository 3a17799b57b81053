"""`lastword run` whose agent may be started again at once, however often it has crashed.

For `chaos.py`: what waits between two starts, and what counts as a crash loop, are rules of the
core that have their own tests; here they would turn thousands of crashes into days.
"""

from __future__ import annotations

import sys

from lastword.cli import run
from lastword.core import revival

revival.FIRST_BACKOFF_SECONDS = 0.0
revival.LOOP_CRASHES = revival.LOOP_SHORT_LIVES = sys.maxsize

sys.exit(run.main(sys.argv[1:]))
