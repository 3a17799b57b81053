"""`lastword completion`: print a script for a shell, the manual page, or the recorded sessions.

Owns the exit status. The scripts and the page are files beside this, made from the parsers by
`python -m docs.completion --write` in the source repository. A script may be loaded whenever a
shell starts, and asks for the sessions at each TAB: neither needs a parser.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.cli.parser import CommandParser

ABOUT = """\
Prints a shell completion script for lastword's commands, options and values:
scenarios, clients and checks by name, recorded sessions, and programs after --.
With man, prints the manual page, which pip also installs.
"""

ENDS = """\
To install it, run one of these once, and open a new shell:

  bash    mkdir -p ~/.local/share/bash-completion/completions
          lastword completion bash \\
              > ~/.local/share/bash-completion/completions/lastword
  zsh     mkdir -p ~/.zfunc && lastword completion zsh > ~/.zfunc/_lastword
          and in ~/.zshrc, before compinit: fpath=(~/.zfunc $fpath)
  fish    lastword completion fish > ~/.config/fish/completions/lastword.fish

or load it whenever a shell starts:

  eval "$(lastword completion bash)"    in ~/.bashrc
  source <(lastword completion zsh)     in ~/.zshrc, after compinit
  lastword completion fish | source     in ~/.config/fish/config.fish

examples:
  lastword completion bash
  lastword completion man | man -l -

exit status: 0, 2 for invalid arguments.
"""

FILES = {
    "bash": "lastword.bash",
    "zsh": "lastword.zsh",
    "fish": "lastword.fish",
    "man": "lastword.1",
}
"""The file that each word prints."""


def main(arguments: Sequence[str]) -> int:
    """Print a file or the sessions; return the exit status."""
    if list(arguments) == ["sessions"]:
        from lastword.cli.completion.sessions import lines  # noqa: PLC0415

        sys.stdout.writelines(f"{line}\n" for line in lines())
        return 0
    form = arguments[0] if len(arguments) == 1 else ""
    if form not in FILES:
        form = parser().read(arguments).form
    sys.stdout.write(path_of(form).read_text(encoding="utf-8"))
    return 0


def parser() -> CommandParser:
    # Printing a script or the sessions needs no parser.
    from lastword.cli.parser import CommandParser  # noqa: PLC0415

    made = CommandParser("completion", usage="bash | zsh | fish | man", about=ABOUT, ends=ENDS)
    made.add_argument(
        "form",
        metavar="SHELL",
        choices=tuple(FILES),
        help="the shell (bash, zsh, fish), or man for the manual page",
    )
    return made


def path_of(form: str) -> Path:
    """Return the path of a script, or of the manual page."""
    return Path(__file__).with_name(FILES[form])
