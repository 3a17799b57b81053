"""Runs `lastword check` with the inputs of the action, which its variables have."""

import os
import shlex
import sys

from lastword.cli import main

get = os.environ.__getitem__
folder = get("FOLDER")
baseline = ["--baseline", get("BASELINE")] if get("BASELINE") else []
sys.exit(
    main(
        [
            *("check", *shlex.split(get("OPTIONS")), "--fail-on", get("FAIL_ON"), *baseline),
            *("--sarif", f"{folder}/check.sarif", "--junit", f"{folder}/junit.xml"),
            *("--badge", f"{folder}/badge.svg", "--", *shlex.split(get("AGENT"))),
        ]
    )
)
