"""`python -m tests.kit.attribution [--list]`: the corpus played through the core, as a table.

With `--list` each problem is printed as well.
"""

from __future__ import annotations

import sys

from tests.kit.attribution import table

sys.stdout.write(table.render(table.measure(), listed="--list" in sys.argv[1:]))
