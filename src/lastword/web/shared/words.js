// Generated from protocol/words.json by protocol/generate_words.py.
// What became of a link to a gateway, as words, with what to tell a person.

/** @typedef {{word: string, type: string, loss: string, codes: number[], statuses: number[], sentence: string, advice: string, action: string, aliases: string[]}} TransportWord */

/** @type {readonly TransportWord[]} */
export const TRANSPORT_WORDS = [
  {"word": "session_ended", "type": "network", "loss": "final", "codes": [1000, 4410], "statuses": [], "sentence": "This session has ended.", "advice": "Start a new session.", "action": "fix_configuration", "aliases": ["session-ended"]},
  {"word": "gateway_stops", "type": "network", "loss": "patient", "codes": [1001], "statuses": [], "sentence": "The gateway is shutting down.", "advice": "It is retried automatically; start the gateway if this continues.", "action": "retry", "aliases": []},
  {"word": "gateway_restarts", "type": "network", "loss": "patient", "codes": [1012], "statuses": [], "sentence": "The gateway is restarting.", "advice": "It is retried automatically.", "action": "retry", "aliases": ["restarts"]},
  {"word": "agent_lost", "type": "network", "loss": "patient", "codes": [], "statuses": [], "sentence": "The agent that held this session has ended.", "advice": "It is brought back automatically.", "action": "retry", "aliases": ["agent-lost"]},
  {"word": "closed_1005", "type": "network", "loss": "cut", "codes": [1005], "statuses": [], "sentence": "The connection was closed without a reason.", "advice": "It is retried automatically.", "action": "retry", "aliases": []},
  {"word": "closed_1006", "type": "network", "loss": "cut", "codes": [1006], "statuses": [], "sentence": "The connection was cut.", "advice": "It is retried automatically; check the network if this continues.", "action": "retry", "aliases": ["cut"]},
  {"word": "closed_1015", "type": "network", "loss": "cut", "codes": [1015], "statuses": [], "sentence": "The connection could not be encrypted.", "advice": "It is retried automatically; check any proxy on the way.", "action": "retry", "aliases": []},
  {"word": "no_heartbeat", "type": "network", "loss": "now", "codes": [4408], "statuses": [408], "sentence": "The connection stopped responding.", "advice": "It is retried at once.", "action": "retry", "aliases": ["no-heartbeat", "keepalive ping timeout"]},
  {"word": "stalled", "type": "network", "loss": "now", "codes": [], "statuses": [], "sentence": "The connection accepted no data for a minute.", "advice": "It is retried at once and continues where it was.", "action": "retry", "aliases": []},
  {"word": "superseded", "type": "network", "loss": "final", "codes": [4409], "statuses": [], "sentence": "This session is open in another window.", "advice": "Continue there.", "action": "continue", "aliases": []},
  {"word": "session_unknown", "type": "invalid_request", "loss": "permanent", "codes": [4404], "statuses": [404, 410], "sentence": "This session no longer exists on the gateway.", "advice": "Start a new session.", "action": "fix_configuration", "aliases": ["session-unknown"]},
  {"word": "unauthorized", "type": "auth", "loss": "refresh", "codes": [4401], "statuses": [401], "sentence": "The gateway refused the token twice.", "advice": "Log in again.", "action": "login", "aliases": ["gateway_unauthorized"]},
  {"word": "forbidden", "type": "auth", "loss": "permanent", "codes": [1008, 4403], "statuses": [403], "sentence": "The gateway allows no access here.", "advice": "Ask its owner, or check its address.", "action": "fix_configuration", "aliases": ["gateway_forbidden"]},
  {"word": "host", "type": "auth", "loss": "permanent", "codes": [], "statuses": [], "sentence": "The gateway does not accept this host name.", "advice": "Allow the name with --allow-host.", "action": "fix_configuration", "aliases": []},
  {"word": "origin", "type": "auth", "loss": "permanent", "codes": [], "statuses": [], "sentence": "Pages of this origin may not use the gateway.", "advice": "Allow the origin with --allow-origin.", "action": "fix_configuration", "aliases": []},
  {"word": "too_many", "type": "network", "loss": "transient", "codes": [4429], "statuses": [429], "sentence": "The gateway is too busy for this.", "advice": "Try again in a moment.", "action": "wait", "aliases": ["too-many"]},
  {"word": "too_many_failures", "type": "auth", "loss": "transient", "codes": [], "statuses": [], "sentence": "Too many wrong tokens came from here.", "advice": "Wait a minute, and check the token.", "action": "wait", "aliases": ["too-many-failures"]},
  {"word": "overloaded", "type": "network", "loss": "patient", "codes": [1013], "statuses": [], "sentence": "The gateway is overloaded.", "advice": "It is retried automatically.", "action": "wait", "aliases": []},
  {"word": "too_early", "type": "network", "loss": "transient", "codes": [4425], "statuses": [425], "sentence": "The gateway is not ready yet.", "advice": "Try again in a moment.", "action": "wait", "aliases": []},
  {"word": "misdirected", "type": "network", "loss": "transient", "codes": [], "statuses": [421], "sentence": "The request reached another gateway.", "advice": "It is retried automatically.", "action": "retry", "aliases": []},
  {"word": "gateway_error", "type": "internal", "loss": "transient", "codes": [1011, 1014], "statuses": [500, 502, 503, 504], "sentence": "The gateway failed.", "advice": "It is retried automatically; check the gateway's log if this continues.", "action": "retry", "aliases": []},
  {"word": "protocol", "type": "protocol_error", "loss": "permanent", "codes": [1002, 1003, 1007, 4400], "statuses": [], "sentence": "The gateway and the viewer do not understand each other.", "advice": "Report this as a bug.", "action": "report", "aliases": ["gateway_protocol"]},
  {"word": "frame_too_large", "type": "invalid_request", "loss": "permanent", "codes": [1009], "statuses": [], "sentence": "A message was larger than the gateway accepts.", "advice": "Send smaller messages, or see --frame-limit.", "action": "shorten", "aliases": []},
  {"word": "initialize_first", "type": "protocol_error", "loss": "permanent", "codes": [], "statuses": [], "sentence": "A message was sent before initialize.", "advice": "Report this as a bug.", "action": "report", "aliases": ["initialize first", "no initialize"]},
  {"word": "refused", "type": "invalid_request", "loss": "permanent", "codes": [], "statuses": [], "sentence": "The gateway refused the connection.", "advice": "Check its address.", "action": "fix_configuration", "aliases": ["gateway_refused"]},
  {"word": "redirected", "type": "invalid_request", "loss": "permanent", "codes": [], "statuses": [301, 302, 303, 307, 308], "sentence": "The gateway is at another address.", "advice": "Set the new address.", "action": "fix_configuration", "aliases": ["gateway_redirected"]},
  {"word": "certificate", "type": "network", "loss": "permanent", "codes": [], "statuses": [], "sentence": "The gateway's certificate is not trusted.", "advice": "Check the certificate, and this machine's clock.", "action": "fix_configuration", "aliases": ["gateway_certificate"]},
  {"word": "gateway_unreachable", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway cannot be reached.", "advice": "Check that the gateway is running.", "action": "retry", "aliases": []},
  {"word": "gateway_not_found", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "There is no gateway at this address.", "advice": "Check its path, which is /acp unless set.", "action": "fix_configuration", "aliases": []},
  {"word": "gateway_forgot", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway no longer knows this connection.", "advice": "Check whether the turn is still running before you try again.", "action": "confirm_retry", "aliases": []},
  {"word": "asked_to_wait", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway asks for a wait.", "advice": "Try again after the wait.", "action": "wait", "aliases": []},
  {"word": "gap", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "Part of this session is no longer kept.", "advice": "No action is needed; what still matters of it is shown.", "action": "continue", "aliases": []},
  {"word": "log_reset", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "This session's log has started again.", "advice": "No action is needed; everything that is kept is shown again.", "action": "continue", "aliases": []},
  {"word": "log_unwritable", "type": "internal", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway cannot write this session's log.", "advice": "Check whether its disk is full.", "action": "report", "aliases": []},
  {"word": "log_unreadable", "type": "internal", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway cannot read this session's log.", "advice": "Try again, and check the gateway's machine if this continues.", "action": "report", "aliases": []},
  {"word": "restored_without_history", "type": "agent_crash", "loss": "none", "codes": [], "statuses": [], "sentence": "The agent was restarted and remembers nothing of the conversation.", "advice": "Tell it what it needs to know, or start a new session.", "action": "continue", "aliases": []},
  {"word": "not_restored", "type": "agent_crash", "loss": "none", "codes": [], "statuses": [], "sentence": "The agent could not resume this session.", "advice": "Start a new session.", "action": "restart", "aliases": []},
  {"word": "holder_died", "type": "agent_crash", "loss": "none", "codes": [], "statuses": [], "sentence": "The agent or its gateway stopped.", "advice": "Send the prompt again.", "action": "retry", "aliases": []},
  {"word": "observer", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This connection may watch the session but not control it.", "advice": "Use a controller's token.", "action": "fix_configuration", "aliases": []},
  {"word": "one_session", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This token is for a single session.", "advice": "Use a token for all sessions.", "action": "fix_configuration", "aliases": []},
  {"word": "turn_open", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "A turn from another window is running in this session.", "advice": "Wait until it ends, or cancel it.", "action": "wait", "aliases": []},
  {"word": "too_many_requests", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "Too many requests on this connection are waiting for answers.", "advice": "Wait for one of them.", "action": "wait", "aliases": []},
  {"word": "too_many_viewers", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This session has reached its limit of viewers.", "advice": "Close one, or see --viewers.", "action": "wait", "aliases": []},
  {"word": "too_many_sessions", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This agent has reached its limit of sessions.", "advice": "Close one of them.", "action": "wait", "aliases": []},
  {"word": "too_many_agents", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway has reached its limit of agents.", "advice": "Close a session, or see --sessions.", "action": "wait", "aliases": []},
  {"word": "outside_root", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "A folder is outside the gateway's root.", "advice": "Choose one below it, or see --root.", "action": "fix_configuration", "aliases": []},
  {"word": "session_elsewhere", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "Another gateway of this user holds this session.", "advice": "Use that gateway, or stop it.", "action": "fix_configuration", "aliases": []},
  {"word": "bad_request", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "The request cannot be read.", "advice": "See /v1/openapi.json for what it accepts.", "action": "fix_configuration", "aliases": []},
  {"word": "expired", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This button or link has expired.", "advice": "Open the session.", "action": "continue", "aliases": []},
  {"word": "bad_cursor", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This is not a position in the session's log.", "advice": "Start without a position.", "action": "fix_configuration", "aliases": []},
  {"word": "not_acceptable", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "The answer is not available in any of the requested types.", "advice": "Ask for application/json.", "action": "fix_configuration", "aliases": []},
  {"word": "not_found", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "There is nothing at this path.", "advice": "See /v1/openapi.json for what there is.", "action": "fix_configuration", "aliases": ["not-found"]},
  {"word": "method_not_allowed", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This path does not accept that method.", "advice": "See /v1/openapi.json for what it accepts.", "action": "fix_configuration", "aliases": []},
  {"word": "too_large", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "The body is too large.", "advice": "Send less.", "action": "shorten", "aliases": []},
  {"word": "connection_unknown", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This connection does not exist.", "advice": "Start a new one with initialize.", "action": "retry", "aliases": []},
  {"word": "stream_unread", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "Another stream of this connection is not being read.", "advice": "Read it, and try again in a moment.", "action": "wait", "aliases": []},
  {"word": "internal", "type": "internal", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway failed at this request.", "advice": "Check its stderr, and report it as a bug.", "action": "report", "aliases": []},
];

/**
 * The word of a close: its reason's, else its code's; null where neither has one.
 * @param {number} code
 * @param {string} [reason]
 * @returns {TransportWord | null}
 */
export function wordOfClose(code, reason = "") {
  const said = reason.startsWith("{") ? named(reason) : (reason.split(" retry=")[0] ?? "");
  for (const each of TRANSPORT_WORDS) {
    if (each.word === said || each.aliases.includes(said)) return each;
  }
  const same = { 4000: 4408, 4001: 4401 }[code] ?? code;
  return TRANSPORT_WORDS.find((each) => each.codes.includes(same)) ?? null;
}

/** @param {string} text */
function named(text) {
  try {
    const told = JSON.parse(text).reason;
    return typeof told === "string" ? told : "";
  } catch {
    return "";
  }
}
