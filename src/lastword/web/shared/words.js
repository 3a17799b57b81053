// Generated from protocol/words.json by protocol/generate_words.py.
// What became of a link to a gateway, as words, with what to tell a person.

/** @typedef {{word: string, type: string, loss: string, codes: number[], statuses: number[], sentence: string, advice: string, action: string, aliases: string[]}} TransportWord */

/** @type {readonly TransportWord[]} */
export const TRANSPORT_WORDS = [
  {"word": "session_ended", "type": "network", "loss": "final", "codes": [1000, 4410], "statuses": [], "sentence": "This session has ended.", "advice": "Start a new session.", "action": "fix_configuration", "aliases": ["session-ended"]},
  {"word": "gateway_stops", "type": "network", "loss": "patient", "codes": [1001], "statuses": [], "sentence": "The gateway shuts down.", "advice": "It is tried again by itself; start the gateway if it stays away.", "action": "retry", "aliases": []},
  {"word": "gateway_restarts", "type": "network", "loss": "patient", "codes": [1012], "statuses": [], "sentence": "The gateway restarts.", "advice": "It is tried again by itself.", "action": "retry", "aliases": ["restarts"]},
  {"word": "agent_lost", "type": "network", "loss": "patient", "codes": [], "statuses": [], "sentence": "The process that held this session has died.", "advice": "It is brought back by itself.", "action": "retry", "aliases": ["agent-lost"]},
  {"word": "closed_1005", "type": "network", "loss": "cut", "codes": [1005], "statuses": [], "sentence": "The connection was closed without a word.", "advice": "It is tried again by itself.", "action": "retry", "aliases": []},
  {"word": "closed_1006", "type": "network", "loss": "cut", "codes": [1006], "statuses": [], "sentence": "The connection was cut.", "advice": "It is tried again by itself; check the network if it stays away.", "action": "retry", "aliases": ["cut"]},
  {"word": "closed_1015", "type": "network", "loss": "cut", "codes": [1015], "statuses": [], "sentence": "The connection could not be encrypted.", "advice": "It is tried again by itself; check what is between.", "action": "retry", "aliases": []},
  {"word": "no_heartbeat", "type": "network", "loss": "now", "codes": [4408], "statuses": [408], "sentence": "The connection gave no sign of life.", "advice": "It is tried again at once.", "action": "retry", "aliases": ["no-heartbeat", "keepalive ping timeout"]},
  {"word": "stalled", "type": "network", "loss": "now", "codes": [], "statuses": [], "sentence": "The connection took nothing more for a minute.", "advice": "It is tried again at once, and goes on where it was.", "action": "retry", "aliases": []},
  {"word": "superseded", "type": "network", "loss": "final", "codes": [4409], "statuses": [], "sentence": "This session is open in another window.", "advice": "Go on there.", "action": "continue", "aliases": []},
  {"word": "session_unknown", "type": "invalid_request", "loss": "permanent", "codes": [4404], "statuses": [404, 410], "sentence": "This session no longer exists on the gateway.", "advice": "Start a new session.", "action": "fix_configuration", "aliases": ["session-unknown"]},
  {"word": "unauthorized", "type": "auth", "loss": "refresh", "codes": [4401], "statuses": [401], "sentence": "The gateway refused the token twice.", "advice": "Log in again.", "action": "login", "aliases": ["gateway_unauthorized"]},
  {"word": "forbidden", "type": "auth", "loss": "permanent", "codes": [1008, 4403], "statuses": [403], "sentence": "The gateway allows no access here.", "advice": "Ask its owner, or check its address.", "action": "fix_configuration", "aliases": ["gateway_forbidden"]},
  {"word": "host", "type": "auth", "loss": "permanent", "codes": [], "statuses": [], "sentence": "The gateway is not known by the name that it was called by.", "advice": "Allow the name with --allow-host.", "action": "fix_configuration", "aliases": []},
  {"word": "origin", "type": "auth", "loss": "permanent", "codes": [], "statuses": [], "sentence": "Pages of this origin may not use the gateway.", "advice": "Allow the origin with --allow-origin.", "action": "fix_configuration", "aliases": []},
  {"word": "too_many", "type": "network", "loss": "transient", "codes": [4429], "statuses": [429], "sentence": "The gateway has too much to do for this.", "advice": "Try again in a moment.", "action": "wait", "aliases": ["too-many"]},
  {"word": "too_many_failures", "type": "auth", "loss": "transient", "codes": [], "statuses": [], "sentence": "Too many wrong tokens came from here.", "advice": "Wait a minute, and check the token.", "action": "wait", "aliases": ["too-many-failures"]},
  {"word": "overloaded", "type": "network", "loss": "patient", "codes": [1013], "statuses": [], "sentence": "The gateway has too much to do.", "advice": "It is tried again by itself.", "action": "wait", "aliases": []},
  {"word": "too_early", "type": "network", "loss": "transient", "codes": [4425], "statuses": [425], "sentence": "The gateway is not ready yet.", "advice": "Try again in a moment.", "action": "wait", "aliases": []},
  {"word": "misdirected", "type": "network", "loss": "transient", "codes": [], "statuses": [421], "sentence": "The request came to another gateway.", "advice": "It is tried again by itself.", "action": "retry", "aliases": []},
  {"word": "gateway_error", "type": "internal", "loss": "transient", "codes": [1011, 1014], "statuses": [500, 502, 503, 504], "sentence": "The gateway failed.", "advice": "It is tried again by itself; look at its log if it stays.", "action": "retry", "aliases": []},
  {"word": "protocol", "type": "protocol_error", "loss": "permanent", "codes": [1002, 1003, 1007, 4400], "statuses": [], "sentence": "Gateway and viewer misunderstand each other.", "advice": "Report this as a bug.", "action": "report", "aliases": ["gateway_protocol"]},
  {"word": "frame_too_large", "type": "invalid_request", "loss": "permanent", "codes": [1009], "statuses": [], "sentence": "A message was larger than the gateway takes.", "advice": "Send less at once, or see --frame-limit.", "action": "shorten", "aliases": []},
  {"word": "initialize_first", "type": "protocol_error", "loss": "permanent", "codes": [], "statuses": [], "sentence": "Something was sent before initialize.", "advice": "Report this as a bug.", "action": "report", "aliases": ["initialize first", "no initialize"]},
  {"word": "refused", "type": "invalid_request", "loss": "permanent", "codes": [], "statuses": [], "sentence": "The gateway refused the connection.", "advice": "Check its address.", "action": "fix_configuration", "aliases": ["gateway_refused"]},
  {"word": "redirected", "type": "invalid_request", "loss": "permanent", "codes": [], "statuses": [301, 302, 303, 307, 308], "sentence": "The gateway is at another address.", "advice": "Set the new address.", "action": "fix_configuration", "aliases": ["gateway_redirected"]},
  {"word": "certificate", "type": "network", "loss": "permanent", "codes": [], "statuses": [], "sentence": "The gateway's certificate is not trusted.", "advice": "Check it, and this clock.", "action": "fix_configuration", "aliases": ["gateway_certificate"]},
  {"word": "gateway_unreachable", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway cannot be reached.", "advice": "Check that the gateway runs.", "action": "retry", "aliases": []},
  {"word": "gateway_not_found", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "There is no gateway at this address.", "advice": "Check its path, which is /acp unless set.", "action": "fix_configuration", "aliases": []},
  {"word": "gateway_forgot", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway no longer knows this connection.", "advice": "Look whether the turn is still running before you try again.", "action": "confirm_retry", "aliases": []},
  {"word": "asked_to_wait", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway asks to wait.", "advice": "Try again after that.", "action": "wait", "aliases": []},
  {"word": "gap", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "A part of this session is no longer kept.", "advice": "Nothing has to be done; what still matters of it is shown.", "action": "continue", "aliases": []},
  {"word": "log_reset", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "This session's log begins anew.", "advice": "Nothing has to be done; all that is kept is shown again.", "action": "continue", "aliases": []},
  {"word": "log_unwritable", "type": "internal", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway cannot write this session's log.", "advice": "Look whether its disk is full.", "action": "report", "aliases": []},
  {"word": "log_unreadable", "type": "internal", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway cannot read this session's log.", "advice": "Try again, and look at the gateway's machine if it stays.", "action": "report", "aliases": []},
  {"word": "restored_without_history", "type": "agent_crash", "loss": "none", "codes": [], "statuses": [], "sentence": "The agent was started again and knows nothing of what was said.", "advice": "Tell it what it has to know, or start a new session.", "action": "continue", "aliases": []},
  {"word": "not_restored", "type": "agent_crash", "loss": "none", "codes": [], "statuses": [], "sentence": "The agent could not take this session up again.", "advice": "Start a new session.", "action": "restart", "aliases": []},
  {"word": "holder_died", "type": "agent_crash", "loss": "none", "codes": [], "statuses": [], "sentence": "The agent's process ended unexpectedly.", "advice": "Send the prompt again.", "action": "retry", "aliases": []},
  {"word": "observer", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This connection may watch the session and not steer it.", "advice": "Use a controller's token.", "action": "fix_configuration", "aliases": []},
  {"word": "one_session", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This token is for one session alone.", "advice": "Use a token for all sessions.", "action": "fix_configuration", "aliases": []},
  {"word": "turn_open", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "Another window's turn is running in this session.", "advice": "Wait for its end, or cancel it.", "action": "wait", "aliases": []},
  {"word": "too_many_requests", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "Too many requests of this connection wait for their answers.", "advice": "Wait for one of them.", "action": "wait", "aliases": []},
  {"word": "too_many_viewers", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "As many viewers are at this session as there may be.", "advice": "Close one, or see --viewers.", "action": "wait", "aliases": []},
  {"word": "too_many_sessions", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This agent has as many sessions as it may.", "advice": "Close one of them.", "action": "wait", "aliases": []},
  {"word": "too_many_agents", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway runs as many agents as it may.", "advice": "Close a session, or see --sessions.", "action": "wait", "aliases": []},
  {"word": "outside_root", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "A folder that was named is outside of the gateway's root.", "advice": "Name one below it, or see --root.", "action": "fix_configuration", "aliases": []},
  {"word": "session_elsewhere", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "Another gateway of this user has this session.", "advice": "Use that gateway, or stop it.", "action": "fix_configuration", "aliases": []},
  {"word": "bad_request", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "The request cannot be read.", "advice": "Look at /v1/openapi.json for what it takes.", "action": "fix_configuration", "aliases": []},
  {"word": "bad_cursor", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This is no position in the session's log.", "advice": "Begin without a position.", "action": "fix_configuration", "aliases": []},
  {"word": "not_acceptable", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "The answer has none of the types that were asked for.", "advice": "Ask for application/json.", "action": "fix_configuration", "aliases": []},
  {"word": "not_found", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "There is nothing at this path.", "advice": "Look at /v1/openapi.json for what there is.", "action": "fix_configuration", "aliases": ["not-found"]},
  {"word": "method_not_allowed", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "This path does not take that method.", "advice": "Look at /v1/openapi.json for what it takes.", "action": "fix_configuration", "aliases": []},
  {"word": "too_large", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "The body is too large.", "advice": "Send less.", "action": "shorten", "aliases": []},
  {"word": "connection_unknown", "type": "invalid_request", "loss": "none", "codes": [], "statuses": [], "sentence": "There is no such connection.", "advice": "Begin a new one with initialize.", "action": "retry", "aliases": []},
  {"word": "stream_unread", "type": "network", "loss": "none", "codes": [], "statuses": [], "sentence": "Another stream of this connection is not read.", "advice": "Read it, and try again in a moment.", "action": "wait", "aliases": []},
  {"word": "internal", "type": "internal", "loss": "none", "codes": [], "statuses": [], "sentence": "The gateway failed at this.", "advice": "Look at its stderr, and report it as a bug.", "action": "report", "aliases": []},
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
