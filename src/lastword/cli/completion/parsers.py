"""The parser of `lastword completion`."""

from __future__ import annotations

from lastword.cli.completion import FILES
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


def parser() -> CommandParser:
    """Return the parser."""
    made = CommandParser("completion", usage="bash | zsh | fish | man", about=ABOUT, ends=ENDS)
    made.add_argument(
        "form",
        metavar="SHELL",
        choices=tuple(FILES),
        help="the shell (bash, zsh, fish), or man for the manual page",
    )
    return made
