# Completion of lastword for bash, made by `lastword completion bash`. To install it:
#   mkdir -p ~/.local/share/bash-completion/completions
#   lastword completion bash > ~/.local/share/bash-completion/completions/lastword
# or, without the package bash-completion, in ~/.bashrc:
#   eval "$(lastword completion bash)"

_lastword_commands='demo doctor setup config run log export stats explain agent check gateway connect outbox help completion'
_lastword_commands_of_two='gateway/token gateway/status gateway/reload gateway/restart gateway/stop'

_lastword_command() {
  case $1 in
    'demo') flags='-h --help --frames' runs_agent='' ;;
    'doctor') flags='-h --help --client --timeout --json' runs_agent='yes' ;;
    'setup') flags='-h --help --list --write --remove --wrap --host --port --folder --name --file --create --force --overnight --json' runs_agent='yes' argument='ARGUMENT' ;;
    'config') flags='-h --help --json' runs_agent='' argument='ARGUMENT' ;;
    'run') flags='-h --help --first-update-timeout --idle-timeout --tool-timeout --turn-timeout --spend-limit --cancel-grace --stderr-limit --line-limit --fallback --silent-success --warn-after --show-retries --evidence --restart --retry --retry-wait-limit --fallback-model --fallback-stays --continue-at-reset --continue-with --ask-reminder --ask-timeout --record --no-record --record-text --report-to --report-format --report-secret-file --notify --notify-events --notify-format --notify-template --notify-secret-file --notify-content --notify-question-after --config --no-config --passthrough --verbose --frames' runs_agent='yes' ;;
    'log') flags='-h --help --last --errors --follow --since --limit --all --json --web --frames --no-open --port --record' runs_agent='' argument='ARGUMENT' ;;
    'export') flags='-h --help --last -o --output --html --force --json --record' runs_agent='' argument='ARGUMENT' ;;
    'stats') flags='-h --help --days --json --record' runs_agent='' ;;
    'explain') flags='-h --help --status --header --body --exit-code --exit-signal --json --jsonl' runs_agent='' argument='ARGUMENT' ;;
    'agent') flags='-h --help --file --fallback --bare --list --rungs --script --json' runs_agent='' argument='ARGUMENT' ;;
    'check') flags='-h --help --preset --provider-env --scenario-prompts --prompt --keep-home --protocol --only --timeout --turn-limit --list --json --junit --sarif --badge --baseline --fail-on --keep' runs_agent='yes' ;;
    'gateway') flags='-h --help --listen --path --allow-origin --allow-host --public-url --behind-proxy --proxy-address --sessions --unattended --root --viewers --client-fs --idle-close --detach-grace --notify-link --log-limit --unattended-timeout --log-age --ping --pong-timeout --frame-limit --compress --fleet --fleet-key-file --fleet-credentials --fleet-ca --fleet-node --fleet-on-loss --fleet-replicas --workspace-id --first-update-timeout --idle-timeout --tool-timeout --turn-timeout --spend-limit --cancel-grace --stderr-limit --line-limit --fallback --silent-success --warn-after --show-retries --evidence --restart --retry --retry-wait-limit --fallback-model --fallback-stays --continue-at-reset --continue-with --ask-reminder --ask-timeout --record --no-record --record-text --report-to --report-format --report-secret-file --notify --notify-events --notify-format --notify-template --notify-secret-file --notify-content --notify-question-after --config --no-config --passthrough --verbose --frames' runs_agent='yes' argument='ARGUMENT' ;;
    'gateway token') flags='-h --help --role --session --expires --link --fleet-key-file --record' runs_agent='' ;;
    'gateway status') flags='-h --help --fleet --json --port --record' runs_agent='' ;;
    'gateway reload') flags='-h --help --port --record' runs_agent='' ;;
    'gateway restart') flags='-h --help --port --record' runs_agent='' ;;
    'gateway stop') flags='-h --help --agents --port --record' runs_agent='' ;;
    'connect') flags='-h --help --ssh --folder --session --token --token-file --insecure --config --no-config' runs_agent='' argument='ARGUMENT' ;;
    'outbox') flags='-h --help --send --test --redirect --clear-dead --json --report-to --report-format --report-secret-file --notify --notify-format --notify-template --notify-secret-file --record' runs_agent='' ;;
    'help') flags='-h --help' runs_agent='' argument='ARGUMENT' ;;
    'completion') flags='-h --help' runs_agent='' argument='ARGUMENT' ;;
  esac
}

_lastword_value() {
  case $1 in
    'doctor --client') kind=words words='zed acpx jetbrains typed older v2' ;;
    'doctor --timeout') kind=nothing ;;
    'setup --wrap') kind=nothing ;;
    'setup --host') kind=nothing ;;
    'setup --port') kind=nothing ;;
    'setup --folder') kind=nothing ;;
    'setup --name') kind=nothing ;;
    'setup --file') kind=file ;;
    'setup ARGUMENT') kind=words words='zed jetbrains codecompanion avante agent-shell toad acpx vscode vscode-acp-plugin claude codex zed-codex gemini opencode qwen kimi kimi-code vibe cline pi goose copilot auggie kilo kiro cursor' ;;
    'config ARGUMENT') kind=words words='path check' ;;
    'run --first-update-timeout') kind=nothing ;;
    'run --idle-timeout') kind=nothing ;;
    'run --tool-timeout') kind=nothing ;;
    'run --turn-timeout') kind=nothing ;;
    'run --spend-limit') kind=nothing ;;
    'run --cancel-grace') kind=nothing ;;
    'run --stderr-limit') kind=nothing ;;
    'run --line-limit') kind=nothing ;;
    'run --fallback') kind=words words='auto typed v2 air error error_with_meta result text' ;;
    'run --silent-success') kind=words words='error pass' ;;
    'run --warn-after') kind=nothing ;;
    'run --show-retries') kind=words words='auto off' ;;
    'run --evidence') kind=words words='auto inside beside wire' ;;
    'run --restart') kind=words words='on-crash never' ;;
    'run --retry') kind=nothing ;;
    'run --retry-wait-limit') kind=nothing ;;
    'run --fallback-model') kind=nothing ;;
    'run --continue-at-reset') kind=nothing ;;
    'run --continue-with') kind=nothing ;;
    'run --ask-reminder') kind=nothing ;;
    'run --ask-timeout') kind=nothing ;;
    'run --record') kind=folder ;;
    'run --report-to') kind=nothing ;;
    'run --report-format') kind=words words='otlp webhook' ;;
    'run --report-secret-file') kind=file ;;
    'run --notify') kind=nothing ;;
    'run --notify-events') kind=nothing ;;
    'run --notify-format') kind=words words='webhook ntfy' ;;
    'run --notify-template') kind=file ;;
    'run --notify-secret-file') kind=file ;;
    'run --notify-question-after') kind=nothing ;;
    'run --config') kind=file ;;
    'run --frames') kind=file ;;
    'log --since') kind=nothing ;;
    'log --limit') kind=nothing ;;
    'log --frames') kind=file ;;
    'log --port') kind=nothing ;;
    'log --record') kind=folder ;;
    'log ARGUMENT') kind=session ;;
    'export -o'|'export --output') kind=file ;;
    'export --record') kind=folder ;;
    'export ARGUMENT') kind=session ;;
    'stats --days') kind=nothing ;;
    'stats --record') kind=folder ;;
    'explain --status') kind=nothing ;;
    'explain --header') kind=nothing ;;
    'explain --body') kind=nothing ;;
    'explain --exit-code') kind=nothing ;;
    'explain --exit-signal') kind=nothing ;;
    'explain ARGUMENT') kind=file ;;
    'agent --file') kind=file ;;
    'agent --fallback') kind=words words='auto typed v2 air error error_with_meta result text' ;;
    'agent ARGUMENT') kind=words words='healthy healthy_tool slow retried permission two_questions max_tokens refusal cancelled talks_afterwards works_on silence_warned rate_limit budget provider_unavailable context_overflow auth model_not_found invalid_request content_filter timeout network unknown internal protocol_error wait_unknown wait_too_long reset_later retried_in_vain third_time_lucky login_needed prompt_refused typed_agent after_thought after_text after_read_tool after_tool tool_open permission_open terminal_open stream_cut auth_after_tool agent_stalled never_answered stalled_tool runaway cancel_ignored late_frames silent_success stderr_overflow hang agent_crash crash_after_text crash_after_edit crash_with_dialog crash_with_terminal crash_out_of_memory crash_traceback exits_well restarted restarted_by_load context_lost crash_loop fails_to_start error_data_null error_empty error_without_message error_code_text error_is_text error_http_code stop_reason_unknown stop_reason_error result_null id_as_text id_null id_wrong answered_twice stdout_garbage stdout_values stdout_not_utf8 stdout_glued stdout_huge_line stderr_loud answer_cut stdout_held stdout_closed prose_as_error' ;;
    'check --preset') kind=words words='opencode claude kimi codex qwen' ;;
    'check --provider-env') kind=nothing ;;
    'check --scenario-prompts') kind=nothing ;;
    'check --prompt') kind=nothing ;;
    'check --protocol') kind=words words='1 2' ;;
    'check --only') kind=words words='AGT-1 AGT-10 AGT-11 AGT-12 AGT-13 AGT-14 AGT-15 AGT-16 AGT-17 AGT-18 AGT-19 AGT-2 AGT-20 AGT-21 AGT-22 AGT-23 AGT-24 AGT-25 AGT-26 AGT-27 AGT-28 AGT-29 AGT-3 AGT-30 AGT-31 AGT-32 AGT-33 AGT-34 AGT-35 AGT-36 AGT-4 AGT-5 AGT-6 AGT-7 AGT-8 AGT-9 CAN-1 CLOSE-1 FAIL-3 G1 G2 G3 LAD-2 LAD-3 LAD-4 LAD-5 LAD-6 NEG-3 NEG-6 PAY-1 PAY-2 PAY-3 PAY-4 PAY-5 PAY-8 RTY-1 TERM-1 TERM-10 TERM-11 TERM-12 TERM-2 TERM-7 TERM-8 UPD-1 UPD-2 UPD-4 VOC-1 VOC-2 VOC-4 advertisement agent-info agent-killed bad-params before-initialize cancel cancel-in-question cancel-is-no-failure cancel-while-silent carrier consent consent-kept error-data error-members error-shape exit exit-in-turn exit-status failing-turn-code failing-turn-ends failing-turn-no-prose failing-turn-told failing-turn-typed frame-size framing future-version healthy-turn idle-cancel ids initialize junk-blank junk-scalars junk-text junk-utf8 large-ids late-content login-code malformed-advertisement no-refusal not-negotiated nothing-after nothing-left one-answer open-tools opens-session payload-closed-sets payload-detail payload-in-time payload-message payload-no-null payload-read payload-required payload-stop-reason payload-type payload-waits prompt-after-cancel resend-code retries-asked-for rung-of-older-clients schema secrets session-burst session-close session-goes-on session-list session-load session-resume sessions standard-updates stderr-amount stdout taken-words two-questions typed-update unadvertised-method unknown-method unknown-notification unoffered-calls unread-stderr update-and-answer' ;;
    'check --timeout') kind=nothing ;;
    'check --turn-limit') kind=nothing ;;
    'check --junit') kind=file ;;
    'check --sarif') kind=file ;;
    'check --badge') kind=file ;;
    'check --baseline') kind=file ;;
    'check --fail-on') kind=words words='fail warn never' ;;
    'check --keep') kind=folder ;;
    'gateway --listen') kind=nothing ;;
    'gateway --path') kind=nothing ;;
    'gateway --allow-origin') kind=nothing ;;
    'gateway --allow-host') kind=nothing ;;
    'gateway --public-url') kind=nothing ;;
    'gateway --proxy-address') kind=nothing ;;
    'gateway --sessions') kind=nothing ;;
    'gateway --unattended') kind=words words='hold reject' ;;
    'gateway --root') kind=folder ;;
    'gateway --viewers') kind=nothing ;;
    'gateway --idle-close') kind=nothing ;;
    'gateway --detach-grace') kind=nothing ;;
    'gateway --notify-link') kind=words words='off observer controller' ;;
    'gateway --log-limit') kind=nothing ;;
    'gateway --unattended-timeout') kind=nothing ;;
    'gateway --log-age') kind=nothing ;;
    'gateway --ping') kind=nothing ;;
    'gateway --pong-timeout') kind=nothing ;;
    'gateway --frame-limit') kind=nothing ;;
    'gateway --compress') kind=words words='off on' ;;
    'gateway --fleet') kind=nothing ;;
    'gateway --fleet-key-file') kind=file ;;
    'gateway --fleet-credentials') kind=file ;;
    'gateway --fleet-ca') kind=file ;;
    'gateway --fleet-node') kind=nothing ;;
    'gateway --fleet-on-loss') kind=words words='hold local' ;;
    'gateway --fleet-replicas') kind=nothing ;;
    'gateway --workspace-id') kind=nothing ;;
    'gateway --first-update-timeout') kind=nothing ;;
    'gateway --idle-timeout') kind=nothing ;;
    'gateway --tool-timeout') kind=nothing ;;
    'gateway --turn-timeout') kind=nothing ;;
    'gateway --spend-limit') kind=nothing ;;
    'gateway --cancel-grace') kind=nothing ;;
    'gateway --stderr-limit') kind=nothing ;;
    'gateway --line-limit') kind=nothing ;;
    'gateway --fallback') kind=words words='auto typed v2 air error error_with_meta result text' ;;
    'gateway --silent-success') kind=words words='error pass' ;;
    'gateway --warn-after') kind=nothing ;;
    'gateway --show-retries') kind=words words='auto off' ;;
    'gateway --evidence') kind=words words='auto inside beside wire' ;;
    'gateway --restart') kind=words words='on-crash never' ;;
    'gateway --retry') kind=nothing ;;
    'gateway --retry-wait-limit') kind=nothing ;;
    'gateway --fallback-model') kind=nothing ;;
    'gateway --continue-at-reset') kind=nothing ;;
    'gateway --continue-with') kind=nothing ;;
    'gateway --ask-reminder') kind=nothing ;;
    'gateway --ask-timeout') kind=nothing ;;
    'gateway --record') kind=folder ;;
    'gateway --report-to') kind=nothing ;;
    'gateway --report-format') kind=words words='otlp webhook' ;;
    'gateway --report-secret-file') kind=file ;;
    'gateway --notify') kind=nothing ;;
    'gateway --notify-events') kind=nothing ;;
    'gateway --notify-format') kind=words words='webhook ntfy' ;;
    'gateway --notify-template') kind=file ;;
    'gateway --notify-secret-file') kind=file ;;
    'gateway --notify-question-after') kind=nothing ;;
    'gateway --config') kind=file ;;
    'gateway --frames') kind=file ;;
    'gateway ARGUMENT') kind=words words='token status reload restart stop' ;;
    'gateway token --role') kind=words words='controller observer' ;;
    'gateway token --session') kind=nothing ;;
    'gateway token --expires') kind=nothing ;;
    'gateway token --link') kind=nothing ;;
    'gateway token --fleet-key-file') kind=file ;;
    'gateway token --record') kind=folder ;;
    'gateway status --port') kind=nothing ;;
    'gateway status --record') kind=folder ;;
    'gateway reload --port') kind=nothing ;;
    'gateway reload --record') kind=folder ;;
    'gateway restart --port') kind=nothing ;;
    'gateway restart --record') kind=folder ;;
    'gateway stop --port') kind=nothing ;;
    'gateway stop --record') kind=folder ;;
    'connect --ssh') kind=nothing ;;
    'connect --folder') kind=nothing ;;
    'connect --session') kind=nothing ;;
    'connect --token') kind=nothing ;;
    'connect --token-file') kind=file ;;
    'connect --config') kind=file ;;
    'connect ARGUMENT') kind=nothing ;;
    'outbox --redirect') kind=nothing ;;
    'outbox --report-to') kind=nothing ;;
    'outbox --report-format') kind=words words='otlp webhook' ;;
    'outbox --report-secret-file') kind=file ;;
    'outbox --notify') kind=nothing ;;
    'outbox --notify-format') kind=words words='webhook ntfy' ;;
    'outbox --notify-template') kind=file ;;
    'outbox --notify-secret-file') kind=file ;;
    'outbox --record') kind=folder ;;
    'help ARGUMENT') kind=words words='demo doctor setup config run log export stats explain agent check gateway connect outbox help completion' ;;
    'completion ARGUMENT') kind=words words='bash zsh fish man' ;;
  esac
}

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
