"""`lastword run` whose agent may be started again at once, however often it has crashed.

For `chaos.py`: what waits between two starts, and what counts as a crash loop, are rules of the
core that have their own tests; here they would turn thousands of crashes into days.
"""

from __future__ import annotations

import sys

from lastword.cli.run import command
from lastword.core.restart import state

state.FIRST_BACKOFF_SECONDS = 0.0
state.LOOP_CRASHES = state.LOOP_SHORT_LIVES = sys.maxsize

sys.exit(command.main(sys.argv[1:]))
