"""The old path of `python -m tests.long.fuzz_text`."""

import os
import sys
from pathlib import Path

root = str(Path(__file__).resolve().parents[1])
os.environ["PYTHONPATH"] = os.pathsep.join((root, *filter(None, [os.environ.get("PYTHONPATH")])))
os.execv(sys.executable, [sys.executable, "-m", "tests.long.fuzz_text", *sys.argv[1:]])
