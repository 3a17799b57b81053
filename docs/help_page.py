"""The page with the help of every command, as the commands print it.

Owns `docs/reference/help.md`, which is not in git: `.ci/docs` writes it for the site, by
`python -m docs.help_page --write`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "reference" / "help.md"

HEAD = """\
# The help of every command

What `lastword COMMAND --help` prints. [Commands](commands.md) says what each of them is for.
"""

OF_THE_GATEWAY = ("token", "status", "reload", "stop")


def printed(*words: str) -> str:
    """Return what a command prints, 80 columns wide and without colours."""
    known = {"COLUMNS": "80", "NO_COLOR": "1", "HOME": "/nonexistent"}
    kept = {name: text for name, text in os.environ.items() if not name.startswith("LASTWORD_")}
    command = [sys.executable, "-P", "-m", "lastword", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=kept | known)
    return done.stdout


def commands() -> list[tuple[str, ...]]:
    """Return every command, by its words."""
    names = re.findall(r"^  (\w+) {2,}\S", printed("--help"), re.MULTILINE)
    return [*((name,) for name in names), *(("gateway", name) for name in OF_THE_GATEWAY)]


def page() -> str:
    """Return the whole page."""
    sections = [
        f"\n## `lastword {' '.join(words)}`\n\n```text\n{printed(*words, '--help').rstrip()}\n```\n"
        for words in sorted(commands())
    ]
    return HEAD + "".join(sections)


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())
