#compdef lastword
# Completion of lastword for zsh, made by `lastword completion zsh`. To install it:
#   mkdir -p ~/.zfunc && lastword completion zsh > ~/.zfunc/_lastword
# and in ~/.zshrc, before compinit:
#   fpath=(~/.zfunc $fpath)
# or, after compinit:
#   source <(lastword completion zsh)

_lastword_commands() {
  local -a commands=(
    'demo:compare failing turns without and with lastword, side by side'
    'doctor:check that an agent starts here, and what an editor would show'
    'setup:add lastword to an editor'\''s settings:  lastword setup zed claude'
    'config:show every option, its value, and where the value comes from'
    'run:run an agent behind lastword:  lastword run -- opencode acp'
    'log:show recorded sessions as a list, a timeline, or a web page'
    'export:write a session to one file for a bug report, without secrets'
    'stats:count failures by type, agent and day, and show turn durations'
    'explain:explain an error, and whether to retry:  explain error.log'
    'agent:run an agent that fails on purpose, to test a client with'
    'check:test an agent against the protocol and the contract'
    'gateway:serve an agent'\''s sessions at a URL, where they outlive connections'
    'connect:use such a session from an editor'
    'outbox:show the reports that --report-to has not delivered yet'
    'help:show the help of a command:  help run'
    'completion:print a shell completion script, or the manual page'
  )
  _describe command commands
}

_lastword_command() {
  case $1 in
    'demo')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--frames:also show every received message as JSON')
      argument='' runs_agent=''
      ;;
    'doctor')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--client:show how failures reach this client only: zed, acpx, jetbrains, typed, older, v2, or any other client'\''s name' '--timeout:how long the agent may take for each answer' '--json:print the findings as JSON')
      argument='' runs_agent=yes
      ;;
    'setup')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--list:list the known editors and agents' '--write:change the settings file' '--remove:remove the entry again' '--wrap:put lastword in front of an agent that is in the settings' '--host:the agent works on another machine, which `ssh HOST` reaches' '--port:with --host: the gateway'\''s port there' '--folder:with --host: the folder there in which sessions work, or with HERE= the one that stands for HERE' '--name:the agent'\''s name in the editor' '--file:another settings file' '--create:with --write: create the folder of the settings file if it does not exist' '--force:replace or remove an entry that lastword did not write' '--overnight:with the options of `lastword run` for unattended sessions: continue when a limit resets, retry, remind you of questions, and finally reject them' '--json:print the same as JSON')
      argument=ARGUMENT runs_agent=yes
      ;;
    'config')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--json:print the same as JSON')
      argument=ARGUMENT runs_agent=''
      ;;
    'run')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--first-update-timeout:end a turn that has produced no output at all after this time' '--idle-timeout:end a turn whose output pauses for this long' '--tool-timeout:the same limit while a tool call is in progress' '--turn-timeout:end every turn after this time, whatever it is doing' '--spend-limit:end the turn once the agent reports that it has cost this much, and refuse further prompts' '--cancel-grace:how long the agent may take to confirm a cancel' '--stderr-limit:end the turn of an agent that floods stderr with more than this and sends nothing else' '--line-limit:the longest message to read, in either direction' '--fallback:how a failure reaches the client' '--silent-success:what to do with a turn that succeeds without any output: report an error, or let it pass' '--warn-after:warn the user after this much silence, if the client can show it' '--show-retries:show a line in the conversation while the agent retries' '--evidence:where to look for the cause of a failure: wire is the agent'\''s output alone' '--restart:restart a crashed agent when it is next needed, and resume its sessions' '--retry:send a prompt again, up to this many times, if it failed before anything happened' '--retry-wait-limit:the longest wait before such a retry' '--fallback-model:when the model or its provider fails, and not just briefly, continue the turn with this model of the agent' '--fallback-stays:keep using that model in later turns' '--continue-at-reset:when a turn hits a limit that resets at a known time, wait for the reset and continue' '--continue-with:the prompt that continues the turn' '--ask-reminder:remind the user of the agent'\''s question after this time, and a few times more' '--ask-timeout:answer the agent'\''s question after this time if nobody has: reject it, or cancel it' '--record:keep the record in this folder' '--no-record:do not record this run' '--record-text:also record the text of errors, without secrets, so that failures that lastword does not recognise can be looked into' '--report-to:send a report of each failure, without content, to this address' '--report-format:send reports to an OpenTelemetry collector, or signed to a webhook' '--report-secret-file:the file with the secret that signs reports to a webhook' '--notify:notify you while you are away, by a webhook or a topic of ntfy' '--notify-events:the events to send: ask, failed, ended, limit, continued, separated by commas' '--notify-format:the format that the address of --notify expects' '--notify-template:the body of a request to the webhook, with fields such as {title} and {sentence}' '--notify-secret-file:the file with ntfy'\''s access token, or with the secret that signs requests to the webhook' '--notify-content:also send what it is about: a question'\''s title, and the text of an error, without secrets' '--notify-question-after:send a question once it has been open for this long' '--config:read this configuration file instead of the user'\''s own' '--no-config:read no configuration file, neither the user'\''s nor a project'\''s' '--passthrough:run the agent without lastword, to see whether lastword causes a problem' '--verbose:log to stderr what lastword sees and does, for a bug report' '--frames:write every message in both directions to this file, without secrets, for a bug report')
      argument='' runs_agent=yes
      ;;
    'log')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--last:the latest session, or the latest start that failed' '--errors:show each failure, and what to do about it' '--follow:show entries as they are recorded, until Ctrl-C' '--since:show only what began since then: 30m, 2h, 3d or 1w ago, 2026-11-20, 2026-11-20T14:30' '--limit:show at most this many sessions' '--all:show all sessions, failures or turns, not only the latest' '--json:print the same as JSON' '--web:show the record in a browser on this machine' '--frames:with --web: show this file of `lastword run --frames`, or a trace of ACP Inspector, the Rust conductor or acp.el' '--no-open:with --web: print the link without opening a browser' '--port:with --web: the port to serve on' '--record:the record'\''s folder, if `lastword run --record DIR` was given one')
      argument=ARGUMENT runs_agent=''
      ;;
    'export')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--last:the latest session, or the latest start that failed' '-o:write to this file or folder' '--output:write to this file or folder' '--html:write one web page instead of a zip file' '--force:overwrite an existing file' '--json:print the file'\''s path and manifest as JSON' '--record:the record'\''s folder, if `lastword run --record DIR` was given one')
      argument=ARGUMENT runs_agent=''
      ;;
    'stats')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--days:summarise the last N days, and compare them with the N days before' '--json:print the same as JSON' '--record:the record'\''s folder, if `lastword run --record DIR` was given one')
      argument='' runs_agent=''
      ;;
    'explain')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--status:the status, from 100 to 599' '--header:a header' '--body:the body' '--exit-code:the exit status, from 0 to 255, or -N' '--exit-signal:the signal that ended it, such as SIGKILL or 9' '--json:print the result as JSON, with rule and evidence' '--jsonl:read one error per line of FILE, and print one JSON object for each')
      argument=ARGUMENT runs_agent=''
      ;;
    'agent')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--file:a scenario file with any name, instead of SCENARIO' '--fallback:how failures reach the client' '--bare:run without lastword, to see what a client gets then' '--list:list the scenarios, and what a client does with each' '--rungs:show the messages of one failure on each rung' '--script:print the scenario as a scenario file, to edit' '--json:with --list or --rungs: print JSON')
      argument=ARGUMENT runs_agent=''
      ;;
    'check')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--preset:configure a known agent to use lastword'\''s model: opencode, claude, kimi, codex, qwen' '--provider-env:set a variable that points the agent to lastword'\''s model' '--scenario-prompts:the prompt that makes the agent itself play the failure {name}' '--prompt:the text of all other prompts' '--keep-home:run the agent in your home folder, with your login, instead of an empty one' '--protocol:the version of ACP to speak' '--only:run only these checks, by requirement or name, separated by commas' '--timeout:how long an answer that needs no model, or a healthy turn, may take' '--turn-limit:how long a failing turn may take to end' '--list:list the checks without running them' '--json:print everything as JSON' '--junit:also write the results as JUnit XML' '--sarif:also write what failed as SARIF, for a code host'\''s alerts' '--badge:also write a badge as SVG' '--baseline:known failures, each with a reason, which do not count' '--fail-on:what makes the exit status 1' '--keep:also write every message to this folder, with secrets removed')
      argument='' runs_agent=yes
      ;;
    'gateway')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--listen:the address to listen on' '--path:the path of ACP'\''s WebSocket and HTTP transport' '--allow-origin:allow web pages from this origin, such as https://app.example' '--allow-host:a host name of the gateway, for example behind a proxy' '--public-url:the URL by which browsers reach it, behind a proxy or outside a container' '--behind-proxy:a proxy in front terminates TLS, and its X-Forwarded headers are trusted' '--proxy-address:with --behind-proxy: the proxy'\''s IP address or network, such as 10.0.0.0/24' '--sessions:the maximum number of agents that run at once' '--unattended:keep such a question until a viewer comes, or answer no at once' '--root:the folder in or below which sessions work' '--viewers:the maximum number of viewers of one session at once' '--client-fs:let the agent use the files and terminals of the client that opened the session' '--idle-close:end a session after this long without a viewer or a turn' '--detach-grace:end a session this long after its last viewer leaves' '--notify-link:with --notify and --public-url: notifications have a link that works once and opens their session in this role, and questions have buttons' '--log-limit:keep at most this much of a session'\''s log, the latest part' '--unattended-timeout:with hold: answer no after this time' '--log-age:keep a session'\''s log for this long after the session ends' '--ping:ping each viewer at this interval' '--pong-timeout:close a connection whose pong takes longer than this' '--frame-limit:the largest message that a viewer may send' '--compress:offer compression to viewers with slow links' '--fleet:form a fleet with the other gateways that use these NATS servers' '--fleet-key-file:the fleet'\''s secret, the same on every node: at least 32 random bytes' '--fleet-credentials:the credentials for the NATS servers, as their tools write them' '--fleet-ca:the certificates that sign those of the NATS servers' '--fleet-node:this node'\''s name in the fleet' '--fleet-on-loss:while no NATS server can be reached: keep output back, or continue with this machine'\''s copy alone' '--fleet-replicas:on how many NATS servers each entry is kept' '--workspace-id:a name for the files below --root, if other nodes with the same name have them too' '--first-update-timeout:end a turn that has produced no output at all after this time' '--idle-timeout:end a turn whose output pauses for this long' '--tool-timeout:the same limit while a tool call is in progress' '--turn-timeout:end every turn after this time, whatever it is doing' '--spend-limit:end the turn once the agent reports that it has cost this much, and refuse further prompts' '--cancel-grace:how long the agent may take to confirm a cancel' '--stderr-limit:end the turn of an agent that floods stderr with more than this and sends nothing else' '--line-limit:the longest message to read, in either direction' '--fallback:how a failure reaches the client' '--silent-success:what to do with a turn that succeeds without any output: report an error, or let it pass' '--warn-after:warn the user after this much silence, if the client can show it' '--show-retries:show a line in the conversation while the agent retries' '--evidence:where to look for the cause of a failure: wire is the agent'\''s output alone' '--restart:restart a crashed agent when it is next needed, and resume its sessions' '--retry:send a prompt again, up to this many times, if it failed before anything happened' '--retry-wait-limit:the longest wait before such a retry' '--fallback-model:when the model or its provider fails, and not just briefly, continue the turn with this model of the agent' '--fallback-stays:keep using that model in later turns' '--continue-at-reset:when a turn hits a limit that resets at a known time, wait for the reset and continue' '--continue-with:the prompt that continues the turn' '--ask-reminder:remind the user of the agent'\''s question after this time, and a few times more' '--ask-timeout:answer the agent'\''s question after this time if nobody has: reject it, or cancel it' '--record:keep the record in this folder' '--no-record:do not record this run' '--record-text:also record the text of errors, without secrets, so that failures that lastword does not recognise can be looked into' '--report-to:send a report of each failure, without content, to this address' '--report-format:send reports to an OpenTelemetry collector, or signed to a webhook' '--report-secret-file:the file with the secret that signs reports to a webhook' '--notify:notify you while you are away, by a webhook or a topic of ntfy' '--notify-events:the events to send: ask, failed, ended, limit, continued, separated by commas' '--notify-format:the format that the address of --notify expects' '--notify-template:the body of a request to the webhook, with fields such as {title} and {sentence}' '--notify-secret-file:the file with ntfy'\''s access token, or with the secret that signs requests to the webhook' '--notify-content:also send what it is about: a question'\''s title, and the text of an error, without secrets' '--notify-question-after:send a question once it has been open for this long' '--config:read this configuration file instead of the user'\''s own' '--no-config:read no configuration file, neither the user'\''s nor a project'\''s' '--passthrough:run the agent without lastword, to see whether lastword causes a problem' '--verbose:log to stderr what lastword sees and does, for a bug report' '--frames:write every message in both directions to this file, without secrets, for a bug report')
      argument=ARGUMENT runs_agent=yes
      ;;
    'gateway token')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--role:what its bearer may do: everything, or only watch' '--session:limit it to this session' '--expires:how long it is valid' '--link:print a link to the page of the gateway at URL, which works once, and on a terminal a QR code of it, unless URL is this machine'\''s own' '--fleet-key-file:for all gateways of the fleet with this secret' '--record:the record'\''s folder, if `lastword gateway --record DIR` was given one')
      argument='' runs_agent=''
      ;;
    'gateway status')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--fleet:show the nodes and the sessions of the gateway'\''s fleet too' '--json:print the same as JSON, for programs' '--port:the port that the gateway listens on' '--record:the record'\''s folder, if `lastword gateway --record DIR` was given one')
      argument='' runs_agent=''
      ;;
    'gateway reload')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--port:the port that the gateway listens on' '--record:the record'\''s folder, if `lastword gateway --record DIR` was given one')
      argument='' runs_agent=''
      ;;
    'gateway restart')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--port:the port that the gateway listens on' '--record:the record'\''s folder, if `lastword gateway --record DIR` was given one')
      argument='' runs_agent=''
      ;;
    'gateway stop')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--agents:end the sessions too' '--port:the port that the gateway listens on' '--record:the record'\''s folder, if `lastword gateway --record DIR` was given one')
      argument='' runs_agent=''
      ;;
    'connect')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--ssh:go through `ssh HOST`, to the URL as HOST sees it' '--folder:the folder on the gateway'\''s machine in which sessions work, in place of the editor'\''s' '--session:continue this session when the editor asks for a new one' '--token:the token' '--token-file:the file with the token' '--insecure:send the token to another machine without TLS, on a network that is itself encrypted' '--config:read this configuration file instead of the user'\''s own' '--no-config:read no configuration file, neither the user'\''s nor a project'\''s')
      argument=ARGUMENT runs_agent=''
      ;;
    'outbox')
      flags=('-h:show this help and exit' '--help:show this help and exit' '--send:send waiting reports now, for up to 60 s' '--test:send one test report, to check the address' '--redirect:send reports that wait for another address to --report-to instead: OLD is that address as `lastword outbox` shows it, or `all`' '--clear-dead:delete the reports that were permanently refused' '--json:print the outbox as JSON' '--report-to:with --send, --test and --redirect: the address' '--report-format:the receiver: an OpenTelemetry collector or a webhook' '--report-secret-file:the file with the secret that signs reports to a webhook' '--notify:send a test notification to this address, and no report' '--notify-format:what the address takes' '--notify-template:the body of a request to the webhook' '--notify-secret-file:the file with ntfy'\''s access token or the webhook'\''s secret' '--record:the record'\''s folder, if `lastword run --record DIR` was given one')
      argument='' runs_agent=''
      ;;
    'help')
      flags=('-h:show this help and exit' '--help:show this help and exit')
      argument=ARGUMENT runs_agent=''
      ;;
    'completion')
      flags=('-h:show this help and exit' '--help:show this help and exit')
      argument=ARGUMENT runs_agent=''
      ;;
    *) return 1 ;;
  esac
}

_lastword_value() {
  case $1 in
    'doctor --client') kind=words values=(zed acpx jetbrains typed older v2) ;;
    'doctor --timeout') kind=nothing ;;
    'setup --wrap') kind=nothing ;;
    'setup --host') kind=nothing ;;
    'setup --port') kind=nothing ;;
    'setup --folder') kind=nothing ;;
    'setup --name') kind=nothing ;;
    'setup --file') kind=file ;;
    'setup ARGUMENT') kind=words values=(zed jetbrains codecompanion avante agent-shell toad acpx vscode vscode-acp-plugin claude codex zed-codex gemini opencode qwen kimi kimi-code vibe cline pi goose copilot auggie kilo kiro cursor) ;;
    'config ARGUMENT') kind=words values=(path check) ;;
    'run --first-update-timeout') kind=nothing ;;
    'run --idle-timeout') kind=nothing ;;
    'run --tool-timeout') kind=nothing ;;
    'run --turn-timeout') kind=nothing ;;
    'run --spend-limit') kind=nothing ;;
    'run --cancel-grace') kind=nothing ;;
    'run --stderr-limit') kind=nothing ;;
    'run --line-limit') kind=nothing ;;
    'run --fallback') kind=words values=(auto typed v2 air error error_with_meta result text) ;;
    'run --silent-success') kind=words values=(error pass) ;;
    'run --warn-after') kind=nothing ;;
    'run --show-retries') kind=words values=(auto off) ;;
    'run --evidence') kind=words values=(auto inside beside wire) ;;
    'run --restart') kind=words values=(on-crash never) ;;
    'run --retry') kind=nothing ;;
    'run --retry-wait-limit') kind=nothing ;;
    'run --fallback-model') kind=nothing ;;
    'run --continue-at-reset') kind=nothing ;;
    'run --continue-with') kind=nothing ;;
    'run --ask-reminder') kind=nothing ;;
    'run --ask-timeout') kind=nothing ;;
    'run --record') kind=folder ;;
    'run --report-to') kind=nothing ;;
    'run --report-format') kind=words values=(otlp webhook) ;;
    'run --report-secret-file') kind=file ;;
    'run --notify') kind=nothing ;;
    'run --notify-events') kind=nothing ;;
    'run --notify-format') kind=words values=(webhook ntfy) ;;
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
    'agent --fallback') kind=words values=(auto typed v2 air error error_with_meta result text) ;;
    'agent ARGUMENT') kind=words values=(healthy healthy_tool slow retried permission two_questions max_tokens refusal cancelled talks_afterwards works_on silence_warned rate_limit budget provider_unavailable context_overflow auth model_not_found invalid_request content_filter timeout network unknown internal protocol_error wait_unknown wait_too_long reset_later retried_in_vain third_time_lucky login_needed prompt_refused typed_agent after_thought after_text after_read_tool after_tool tool_open permission_open terminal_open stream_cut auth_after_tool agent_stalled never_answered stalled_tool runaway cancel_ignored late_frames silent_success stderr_overflow hang agent_crash crash_after_text crash_after_edit crash_with_dialog crash_with_terminal crash_out_of_memory crash_traceback exits_well restarted restarted_by_load context_lost crash_loop fails_to_start error_data_null error_empty error_without_message error_code_text error_is_text error_http_code stop_reason_unknown stop_reason_error result_null id_as_text id_null id_wrong answered_twice stdout_garbage stdout_values stdout_not_utf8 stdout_glued stdout_huge_line stderr_loud answer_cut stdout_held stdout_closed prose_as_error) ;;
    'check --preset') kind=words values=(opencode claude kimi codex qwen) ;;
    'check --provider-env') kind=nothing ;;
    'check --scenario-prompts') kind=nothing ;;
    'check --prompt') kind=nothing ;;
    'check --protocol') kind=words values=(1 2) ;;
    'check --only') kind=words values=(AGT-1 AGT-10 AGT-11 AGT-12 AGT-13 AGT-14 AGT-15 AGT-16 AGT-17 AGT-18 AGT-19 AGT-2 AGT-20 AGT-21 AGT-22 AGT-23 AGT-24 AGT-25 AGT-26 AGT-27 AGT-28 AGT-29 AGT-3 AGT-30 AGT-31 AGT-32 AGT-33 AGT-34 AGT-35 AGT-36 AGT-4 AGT-5 AGT-6 AGT-7 AGT-8 AGT-9 CAN-1 CLOSE-1 FAIL-3 G1 G2 G3 LAD-2 LAD-3 LAD-4 LAD-5 LAD-6 NEG-3 NEG-6 PAY-1 PAY-2 PAY-3 PAY-4 PAY-5 PAY-8 RTY-1 TERM-1 TERM-10 TERM-11 TERM-12 TERM-2 TERM-7 TERM-8 UPD-1 UPD-2 UPD-4 VOC-1 VOC-2 VOC-4 advertisement agent-info agent-killed bad-params before-initialize cancel cancel-in-question cancel-is-no-failure cancel-while-silent carrier consent consent-kept error-data error-members error-shape exit exit-in-turn exit-status failing-turn-code failing-turn-ends failing-turn-no-prose failing-turn-told failing-turn-typed frame-size framing future-version healthy-turn idle-cancel ids initialize junk-blank junk-scalars junk-text junk-utf8 large-ids late-content login-code malformed-advertisement no-refusal not-negotiated nothing-after nothing-left one-answer open-tools opens-session payload-closed-sets payload-detail payload-in-time payload-message payload-no-null payload-read payload-required payload-stop-reason payload-type payload-waits prompt-after-cancel resend-code retries-asked-for rung-of-older-clients schema secrets session-burst session-close session-goes-on session-list session-load session-resume sessions standard-updates stderr-amount stdout taken-words two-questions typed-update unadvertised-method unknown-method unknown-notification unoffered-calls unread-stderr update-and-answer) ;;
    'check --timeout') kind=nothing ;;
    'check --turn-limit') kind=nothing ;;
    'check --junit') kind=file ;;
    'check --sarif') kind=file ;;
    'check --badge') kind=file ;;
    'check --baseline') kind=file ;;
    'check --fail-on') kind=words values=(fail warn never) ;;
    'check --keep') kind=folder ;;
    'gateway --listen') kind=nothing ;;
    'gateway --path') kind=nothing ;;
    'gateway --allow-origin') kind=nothing ;;
    'gateway --allow-host') kind=nothing ;;
    'gateway --public-url') kind=nothing ;;
    'gateway --proxy-address') kind=nothing ;;
    'gateway --sessions') kind=nothing ;;
    'gateway --unattended') kind=words values=(hold reject) ;;
    'gateway --root') kind=folder ;;
    'gateway --viewers') kind=nothing ;;
    'gateway --idle-close') kind=nothing ;;
    'gateway --detach-grace') kind=nothing ;;
    'gateway --notify-link') kind=words values=(off observer controller) ;;
    'gateway --log-limit') kind=nothing ;;
    'gateway --unattended-timeout') kind=nothing ;;
    'gateway --log-age') kind=nothing ;;
    'gateway --ping') kind=nothing ;;
    'gateway --pong-timeout') kind=nothing ;;
    'gateway --frame-limit') kind=nothing ;;
    'gateway --compress') kind=words values=(off on) ;;
    'gateway --fleet') kind=nothing ;;
    'gateway --fleet-key-file') kind=file ;;
    'gateway --fleet-credentials') kind=file ;;
    'gateway --fleet-ca') kind=file ;;
    'gateway --fleet-node') kind=nothing ;;
    'gateway --fleet-on-loss') kind=words values=(hold local) ;;
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
    'gateway --fallback') kind=words values=(auto typed v2 air error error_with_meta result text) ;;
    'gateway --silent-success') kind=words values=(error pass) ;;
    'gateway --warn-after') kind=nothing ;;
    'gateway --show-retries') kind=words values=(auto off) ;;
    'gateway --evidence') kind=words values=(auto inside beside wire) ;;
    'gateway --restart') kind=words values=(on-crash never) ;;
    'gateway --retry') kind=nothing ;;
    'gateway --retry-wait-limit') kind=nothing ;;
    'gateway --fallback-model') kind=nothing ;;
    'gateway --continue-at-reset') kind=nothing ;;
    'gateway --continue-with') kind=nothing ;;
    'gateway --ask-reminder') kind=nothing ;;
    'gateway --ask-timeout') kind=nothing ;;
    'gateway --record') kind=folder ;;
    'gateway --report-to') kind=nothing ;;
    'gateway --report-format') kind=words values=(otlp webhook) ;;
    'gateway --report-secret-file') kind=file ;;
    'gateway --notify') kind=nothing ;;
    'gateway --notify-events') kind=nothing ;;
    'gateway --notify-format') kind=words values=(webhook ntfy) ;;
    'gateway --notify-template') kind=file ;;
    'gateway --notify-secret-file') kind=file ;;
    'gateway --notify-question-after') kind=nothing ;;
    'gateway --config') kind=file ;;
    'gateway --frames') kind=file ;;
    'gateway ARGUMENT') kind=words values=(token status reload restart stop) ;;
    'gateway token --role') kind=words values=(controller observer) ;;
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
    'outbox --report-format') kind=words values=(otlp webhook) ;;
    'outbox --report-secret-file') kind=file ;;
    'outbox --notify') kind=nothing ;;
    'outbox --notify-format') kind=words values=(webhook ntfy) ;;
    'outbox --notify-template') kind=file ;;
    'outbox --notify-secret-file') kind=file ;;
    'outbox --record') kind=folder ;;
    'help ARGUMENT') kind=words values=(demo doctor setup config run log export stats explain agent check gateway connect outbox help completion) ;;
    'completion ARGUMENT') kind=words values=(bash zsh fish man) ;;
  esac
}

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
