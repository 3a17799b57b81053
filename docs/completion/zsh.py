"""The script for zsh, as a function of its completion system."""

from __future__ import annotations

from docs.completion.command_line import commands
from lastword.cli.commands import GROUPS

_HEAD = """\
#compdef lastword
# Completion of lastword for zsh, made by `lastword completion zsh`. To install it:
#   mkdir -p ~/.zfunc && lastword completion zsh > ~/.zfunc/_lastword
# and in ~/.zshrc, before compinit:
#   fpath=(~/.zfunc $fpath)
# or, after compinit:
#   source <(lastword completion zsh)

"""

_BODY = r"""
_lastword_sessions() {
  local -a sessions
  local id when
  lastword completion sessions 2>/dev/null | while IFS=$'\t' read -r id when; do
    sessions+=("${id//:/\\:}:$when")
  done
  _describe -V session sessions
}

_lastword() {
  local command=$words[2] flag='' kind='' argument='' runs_agent=''
  local -a flags values
  local -i agent=0 i
  if (( CURRENT == 2 )); then
    _lastword_commands
    return
  fi
  for (( i = 3; i < CURRENT; i++ )); do
    if [[ $words[i] == -- ]]; then
      agent=$i
      break
    fi
  done
  if (( CURRENT > 3 )) && _lastword_command "$command $words[3]"; then
    command="$command $words[3]"
  fi
  flags=()
  _lastword_command $command || return
  if (( agent )); then
    [[ -n $runs_agent ]] || return
    words=("${(@)words[agent+1,-1]}")
    (( CURRENT -= agent ))
    _normal
    return
  fi
  if [[ $PREFIX == --*=* ]]; then
    flag=${PREFIX%%=*}
    compset -P '*='
  else
    flag=$words[CURRENT-1]
  fi
  _lastword_value "$command $flag"
  if [[ -z $kind && $PREFIX == -* ]]; then
    [[ -n $runs_agent ]] && flags+=('--:the agent'\''s command follows')
    _describe -o option flags
    return
  fi
  [[ -n $kind ]] || _lastword_value "$command $argument"
  case $kind in
    words) compadd -a values ;;
    file) _files ;;
    folder) _files -/ ;;
    session) _lastword_sessions ;;
  esac
}

if [[ $funcstack[1] == _lastword ]]; then
  _lastword "$@"
else
  compdef _lastword lastword
fi
"""


def script() -> str:
    """Return the script."""
    listed = [(name, about) for group in GROUPS.values() for name, about in group.items()]
    lines = ["_lastword_commands() {\n  local -a commands=(\n"]
    lines += [f"    {_described(name, about)}\n" for name, about in listed]
    lines.append("  )\n  _describe command commands\n}\n\n")
    flags, values = [], []
    for command in commands():
        described = [
            _described(name, flag.in_short) for flag in command.flags for name in flag.names
        ]
        flags.append(f"    '{command.name}')\n      flags=({' '.join(described)})\n")
        flags.append(f"      argument={'ARGUMENT' if command.argument else repr('')}")
        flags.append(f" runs_agent={'yes' if command.runs_agent else repr('')}\n      ;;\n")
        for words, value in command.values:
            choices = f" values=({' '.join(value.words)})" if value.words else ""
            patterns = "|".join(f"'{word}'" for word in words)
            values.append(f"    {patterns}) kind={value.kind}{choices} ;;\n")
    lines += ["_lastword_command() {\n  case $1 in\n", *flags, "    *) return 1 ;;\n  esac\n}\n\n"]
    lines += ["_lastword_value() {\n  case $1 in\n", *values, "  esac\n}\n"]
    return _HEAD + "".join(lines) + _BODY


def _described(name: str, about: str) -> str:
    """Return a word and its description, quoted for `_describe`."""
    text = f"{name}:{about}".replace("'", "'\\''")
    return f"'{text}'"
