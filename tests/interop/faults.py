"""The old path of `python -m tests.interop.faults_table`."""

import os
import sys
from pathlib import Path

root = str(Path(__file__).resolve().parents[2])
os.environ["PYTHONPATH"] = os.pathsep.join((root, *filter(None, [os.environ.get("PYTHONPATH")])))
os.execv(sys.executable, [sys.executable, "-m", "tests.interop.faults_table", *sys.argv[1:]])
