"""`python -m lastword`."""

import sys

from lastword.cli import main

sys.exit(main())
