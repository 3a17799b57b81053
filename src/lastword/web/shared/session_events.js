// Generated from core/timeline/session_events.py by protocol/generate_events.py.
// What may happen to a session: what it is called, and which filter shows it.

/** @type {Record<string, string>} */
export const KINDS = {
  client_attached: "The client connected",
  client_detached: "The client disconnected",
  client_gone: "The client disappeared",
  shutdown: "lastword was told to stop",
  agent_started: "The agent's process started",
  agent_ready: "The agent is ready",
  agent_exited: "The agent's process ended",
  agent_restarted: "The agent was restarted",
  session_created: "The session started",
  session_resumed: "The session was restored",
  context_lost: "The session could not be restored",
  prompt: "Prompt",
  first_progress: "First sign of work",
  first_output: "First output",
  tool_started: "Tool starts",
  tool_ended: "Tool ends",
  delegated: "The agent asks the client to act",
  asked: "The agent asks",
  user_answered: "Answer to a question",
  retry: "The agent tries again",
  limit_wait: "Waits for a limit",
  continued: "Goes on",
  cost: "Cost",
  spend_limit: "Spending limit",
  silence: "Silence",
  stderr: "The agent's stderr",
  cancel: "Cancel",
  answer: "The turn ends",
  error: "Failure",
  frame_dropped: "A message was withheld",
  frame_repaired: "A message was repaired",
  quarantined: "The agent is still working on an ended turn",
  released: "The agent has finished the ended turn",
  omitted: "Entries omitted",
  session_held: "The gateway holds the session",
  question_decided: "A question was settled",
  viewer_came: "A viewer connected",
  viewer_left: "A viewer disconnected",
  viewer_lags: "A viewer is behind",
  viewer_caught_up: "A viewer has caught up",
  gap_told: "A viewer missed entries",
  question_held: "A question is waiting for a viewer",
  holder_died: "The session's process died",
  session_restored: "The session was restored",
  session_not_restored: "The session could not be restored",
  supervisor_exited: "The agent's process ended",
  log_reset: "The log was started again",
  session_ended: "The session ended",
  update: "Update from the agent",
  request: "Request",
  result: "Answer to a request",
  waits: "A wait was announced",
  client_error: "A viewer reports an error",
  life: "News",
};

/** What a gateway's log has. */
export const LOG_KINDS = ["prompt", "tool_started", "tool_ended", "delegated", "asked", "retry", "limit_wait", "continued", "cancel", "answer", "error", "question_decided", "viewer_came", "viewer_left", "viewer_lags", "viewer_caught_up", "gap_told", "question_held", "holder_died", "session_restored", "session_not_restored", "supervisor_exited", "log_reset", "session_ended", "update", "request", "result", "waits", "client_error", "life"];

/** What the pages' filters offer: a name, and the kinds that it shows. */
/** @type {[string, string[]][]} */
export const FILTERS = [
  ["Failures", ["client_gone", "agent_exited", "context_lost", "error", "holder_died", "session_not_restored", "supervisor_exited", "log_reset", "client_error"]],
  ["Failures and retries", ["client_gone", "agent_exited", "agent_restarted", "context_lost", "retry", "limit_wait", "continued", "spend_limit", "silence", "error", "holder_died", "session_not_restored", "supervisor_exited", "log_reset", "waits", "client_error"]],
  ["Turns", ["prompt", "cost", "cancel", "answer", "error"]],
  ["Tools and questions", ["tool_started", "tool_ended", "delegated", "asked", "user_answered", "question_decided", "question_held"]],
  ["Connections", ["client_attached", "client_detached", "client_gone", "viewer_came", "viewer_left", "viewer_lags", "viewer_caught_up", "gap_told", "holder_died", "session_restored", "client_error"]],
];
