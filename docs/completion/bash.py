"""The script for bash 3.2 (the one on macOS) and later; it uses bash-completion if installed."""

from __future__ import annotations

from docs.completion.command_line import commands

_HEAD = """\
# Completion of lastword for bash, made by `lastword completion bash`. To install it:
#   mkdir -p ~/.local/share/bash-completion/completions
#   lastword completion bash > ~/.local/share/bash-completion/completions/lastword
# or, without the package bash-completion, in ~/.bashrc:
#   eval "$(lastword completion bash)"

"""

_BODY = r"""
_lastword_fill() {
  local word
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <("$@" 2>/dev/null)
}

_lastword() {
  local cur=${COMP_WORDS[COMP_CWORD]} flag='' before='' command=${COMP_WORDS[1]} agent=0 i
  local kind='' word='' words='' flags='' argument='' runs_agent=''
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _lastword_fill compgen -W "$_lastword_commands --help --version" -- "$cur"
    return
  fi
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      agent=$i
      break
    fi
  done
  local pair="$command/${COMP_WORDS[2]}"
  if ((COMP_CWORD > 2)) && [[ " $_lastword_commands_of_two " == *" $pair "* ]]; then
    command="$command ${COMP_WORDS[2]}"
  fi
  _lastword_command "$command"
  if ((agent)); then
    [[ $runs_agent ]] || return
    if ((COMP_CWORD > agent + 1)) && declare -F _comp_command_offset >/dev/null; then
      _comp_command_offset $((agent + 1))
    elif ((COMP_CWORD > agent + 1)) && declare -F _command_offset >/dev/null; then
      _command_offset $((agent + 1))
    elif ((COMP_CWORD > agent + 1)) || [[ $cur == */* ]]; then
      compopt -o filenames 2>/dev/null
      _lastword_fill compgen -f -- "$cur"
    else
      _lastword_fill compgen -c -- "$cur"
    fi
    return
  fi
  # bash makes three words of --option=value, unless = is taken out of COMP_WORDBREAKS.
  if [[ $cur == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 1]}
    cur=''
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $cur == --*=* ]]; then
    flag=${cur%%=*}
    before="$flag="
    cur=${cur#*=}
  else
    flag=${COMP_WORDS[COMP_CWORD - 1]}
  fi
  _lastword_value "$command $flag"
  if [[ ! $kind && $cur == -* ]]; then
    [[ $runs_agent ]] && flags="$flags --"
    _lastword_fill compgen -W "$flags" -- "$cur"
    return
  fi
  [[ $kind ]] || _lastword_value "$command $argument"
  case $kind in
    words) _lastword_fill compgen -P "$before" -W "$words" -- "$cur" ;;
    file)
      compopt -o filenames 2>/dev/null
      _lastword_fill compgen -P "$before" -f -- "$cur"
      ;;
    folder)
      compopt -o filenames 2>/dev/null
      _lastword_fill compgen -P "$before" -d -- "$cur"
      ;;
    session)
      while IFS= read -r word; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("$before$word")
      done < <(lastword completion sessions 2>/dev/null | cut -f1)
      ;;
  esac
}

complete -F _lastword lastword
"""


def script() -> str:
    """Return the script."""
    every = commands()
    of_two = [command.name.replace(" ", "/") for command in every if " " in command.name]
    of_one = [command.name for command in every if " " not in command.name]
    flags, values = [], []
    for command in every:
        names = " ".join(name for flag in command.flags for name in flag.names)
        runs_agent = "yes" if command.runs_agent else ""
        argument = " argument='ARGUMENT'" if command.argument else ""
        flags.append(
            f"    '{command.name}') flags='{names}' runs_agent='{runs_agent}'{argument} ;;\n"
        )
        for words, value in command.values:
            choices = f" words='{' '.join(value.words)}'" if value.words else ""
            patterns = "|".join(f"'{word}'" for word in words)
            values.append(f"    {patterns}) kind={value.kind}{choices} ;;\n")
    lines = [f"_lastword_commands='{' '.join(of_one)}'\n"]
    lines += [f"_lastword_commands_of_two='{' '.join(of_two)}'\n\n"]
    lines += ["_lastword_command() {\n  case $1 in\n", *flags, "  esac\n}\n\n"]
    lines += ["_lastword_value() {\n  case $1 in\n", *values, "  esac\n}\n"]
    return _HEAD + "".join(lines) + _BODY
