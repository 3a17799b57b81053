/**
 * Reconnect policy of a viewer of a lastword gateway, and the classifier of close codes.
 *
 * One pure function, `step(state, event, now, random)`: a shell owns the socket, one timer and the
 * line on the screen; it reports events and carries out the actions returned. No import, no build;
 * browsers and Node 20 or newer. The contract is in README.md beside this file (RCN-1 and on), and
 * vectors.json has what every implementation comes to; `lastword.client.reconnect` is the same in
 * Python. Moments and durations are whole milliseconds of a clock that does not go back.
 *
 *     let [state, actions] = step(initial(now), { event: "tick" }, now, Math.random());
 *
 * @module
 */

/** @typedef {"waiting" | "connecting" | "attaching" | "attached" | "gave_up" | "ended"} Phase */
/** @typedef {"transient" | "cut" | "now" | "patient" | "refresh" | "permanent" | "final"} Kind */
/**
 * @typedef {"unreachable" | "asked_to_wait" | "unauthorized" | "forbidden" | "session_unknown"
 *   | "protocol" | "refused" | "redirected" | "certificate" | "session_ended" | "superseded"
 *   | "closed"} Why
 */
/**
 * What the end of a connection, or of an attempt at one, means: what to do, what happened, why
 * there is no further attempt (else null), the shortest wait that was asked for (else null).
 * @typedef {Readonly<{kind: Kind, cause: string, why: Why | null, wait: number | null}>} Loss
 */
/**
 * @typedef {Readonly<
 *   | {event: "opened" | "frame" | "offline" | "online" | "hidden" | "visible" | "tick"}
 *   | {event: "retry" | "close"}
 *   | {event: "attached", updates?: number, probes?: boolean}
 *   | {event: "closed", code: number, reason?: string}
 *   | {event: "refused", status: number, retry_after?: number | string | null}
 *   | {event: "failed" | "token_failed", kind?: string}>} Event
 */
/**
 * @typedef {Readonly<
 *   | {action: "connect", fetch_token: boolean}
 *   | {action: "close", code: number, reason: string}
 *   | {action: "probe"}
 *   | {action: "show", line: string, cause: string}
 *   | {action: "give_up", why: Why, line: string, advice: string, button: string, cause: string}
 *   | {action: "wait", until: number | null}>} Action
 */
/**
 * All that the policy remembers; README.md says what each member means.
 * @typedef {Readonly<{phase: Phase, due: number | null, tries: number, budget: number,
 *   earliest: number, lost: number | null, tell: number | null, returning: boolean,
 *   probes: boolean, unanswered: number | null, stable: number | null, heard: boolean,
 *   refused: boolean, online: boolean, hidden: number | null, line: string,
 *   news: string, cause: string, why: Why | null}>} State
 */
/** @typedef {[State, readonly Action[]]} Step */

const FIRST_DELAY = 1_000;
const MAX_DELAY = 30_000;
const JITTER = 0.25;
const TRIES = 6;
const PATIENT_TRIES = 20;
const FUSE = 10_000;
const STABLE_AFTER = 30_000;
const PROBE_EVERY = 30_000;
const PROBE_FUSE = 10_000;
const QUICK_PROBE_FUSE = 5_000;
const HIDDEN_LONG = 30_000;
const QUIET = 2_000;
const SERVER_JITTER = 1_000;
const MAX_SERVER_WAIT = 300_000;

// --- what a loss means -------------------------------------------------------------------------

/** @type {Readonly<Record<number, readonly [Kind, Why | null]>>} */
const CODES = {
  1000: ["final", "session_ended"],
  1001: ["patient", null],
  1002: ["permanent", "protocol"],
  1003: ["permanent", "protocol"],
  1005: ["cut", null],
  1006: ["cut", null],
  1007: ["permanent", "protocol"],
  1008: ["permanent", "forbidden"],
  1009: ["permanent", "protocol"],
  1012: ["patient", null],
  1013: ["patient", null],
  1015: ["cut", null],
  4000: ["now", null],
  4001: ["refresh", "unauthorized"],
  4400: ["permanent", "protocol"],
  4401: ["refresh", "unauthorized"],
  4403: ["permanent", "forbidden"],
  4404: ["permanent", "session_unknown"],
  4408: ["now", null],
  4409: ["final", "superseded"],
  4410: ["final", "session_ended"],
  4425: ["transient", null],
  4429: ["transient", null],
};

/** @type {Readonly<Record<number, readonly [Kind, Why | null]>>} */
const STATUSES = {
  401: ["refresh", "unauthorized"],
  403: ["permanent", "forbidden"],
  404: ["permanent", "session_unknown"],
  408: ["transient", null],
  410: ["permanent", "session_unknown"],
  421: ["transient", null],
  425: ["transient", null],
  429: ["transient", null],
};

const STATUS_IN_WORDS = /Unexpected server response: ([1-5][0-9]{2})(?![0-9])/;
const RETRY_IN_REASON = /retry["=: ]{1,3}([0-9]{1,9})(?![0-9])/;
const CERTIFICATE = /[Cc]ertificate|CERT|UNABLE_TO_VERIFY/;
const NOT_SHOWN =
  /[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu; // halves alone

/**
 * What a closed connection means. `retry=N` in the reason is the shortest wait, in seconds.
 * @param {number} code 1005 or 1006 where none came
 * @param {string} [reason]
 * @returns {Loss}
 */
export function classifyClose(code, reason = "") {
  const status = STATUS_IN_WORDS.exec(reason);
  if (status && (code === 1005 || code === 1006 || code === 1015)) {
    return classifyUpgrade(Number(status[1]));
  }
  const [kind, why] = CODES[code] ?? (isRefusal(code) ? ["permanent", "refused"] : UNKNOWN);
  const asked = RETRY_IN_REASON.exec(reason);
  return {
    kind,
    cause: plain(reason ? `closed ${code}: ${reason}` : `closed ${code}`),
    why,
    wait: asked && why === null ? Number(asked[1]) * 1000 : null,
  };
}

/**
 * What an HTTP answer means if it does not switch to WebSocket.
 * @param {number} status
 * @param {number | string | null} [retryAfter] seconds; a date counts as absent
 * @returns {Loss}
 */
export function classifyUpgrade(status, retryAfter = null) {
  const [kind, why] = STATUSES[status] ?? statusRange(status);
  return { kind, cause: `HTTP ${status}`, why, wait: why === null ? wait(retryAfter) : null };
}

/**
 * What an attempt means that failed before there was an answer.
 * @param {string} text a word, or the library's own error text
 * @returns {Loss}
 */
export function classifyFailure(text) {
  const status = STATUS_IN_WORDS.exec(text);
  if (status) return classifyUpgrade(Number(status[1]));
  if (CERTIFICATE.test(text)) {
    return { kind: "permanent", cause: plain(text), why: "certificate", wait: null };
  }
  return transient(plain(text));
}

/** @type {readonly [Kind, Why | null]} */
const UNKNOWN = ["transient", null];

/** @param {number} code */
function isRefusal(code) {
  return (code >= 3500 && code <= 3999) || (code >= 4400 && code <= 4499);
}

/**
 * @param {number} status
 * @returns {readonly [Kind, Why | null]}
 */
function statusRange(status) {
  if (status >= 300 && status <= 399) return ["permanent", "redirected"];
  if (status >= 400 && status <= 499) return ["permanent", "refused"];
  return UNKNOWN;
}

/** @param {number | string | null} retryAfter */
function wait(retryAfter) {
  if (typeof retryAfter === "string") {
    const text = retryAfter.replace(/^ +| +$/g, "");
    retryAfter = /^[0-9]{1,9}$/.test(text) ? Number(text) : null;
  }
  return retryAfter === null || retryAfter < 0 ? null : retryAfter * 1000;
}

/** @param {string} text */
function plain(text) {
  const shown = Array.from(text.replace(NOT_SHOWN, " ")).slice(0, 200).join("");
  return shown.replace(/^ +| +$/g, "");
}

/**
 * @param {string} cause
 * @returns {Loss}
 */
const transient = (cause) => ({ kind: "transient", cause, why: null, wait: null });

// --- what is said ------------------------------------------------------------------------------

/**
 * @typedef {{line: string, advice: string, button: string, wakes?: boolean}} End
 * @type {Readonly<Record<Exclude<Why, "closed">, End>>}
 */
const ENDS = {
  unreachable: {
    line: "Gave up after {tries} tries.",
    advice: "Check that the gateway is running.",
    button: "Retry",
    wakes: true,
  },
  asked_to_wait: {
    line: "The gateway asks for a wait of {wait}.",
    advice: "Try again after the wait.",
    button: "Retry",
    wakes: true,
  },
  unauthorized: {
    line: "The gateway refused the token twice.",
    advice: "Log in again.",
    button: "Retry",
    wakes: true,
  },
  forbidden: {
    line: "The gateway allows no access here.",
    advice: "Ask its owner, or check its address.",
    button: "Retry",
  },
  session_unknown: {
    line: "This session no longer exists on the gateway.",
    advice: "Start a new session.",
    button: "",
  },
  protocol: {
    line: "The gateway and the viewer do not understand each other.",
    advice: "Report this as a bug.",
    button: "Retry",
  },
  refused: {
    line: "The gateway refused the connection.",
    advice: "Check its address.",
    button: "Retry",
  },
  redirected: {
    line: "The gateway is at another address.",
    advice: "Set the new address.",
    button: "Retry",
  },
  certificate: {
    line: "The gateway's certificate is not trusted.",
    advice: "Check the certificate, and this machine's clock.",
    button: "Retry",
  },
  session_ended: { line: "This session has ended.", advice: "Start a new session.", button: "" },
  superseded: {
    line: "This session is open in another window.",
    advice: "Continue there.",
    button: "Use it here",
  },
};

const CONNECTING = "Connecting.";
const OFFLINE = "Offline. Waits for the network.";

/**
 * @param {State} state
 * @param {number} now
 */
function progressLine(state, now) {
  let doing = "Connecting";
  if (state.phase === "waiting" && state.due !== null) {
    if (!state.online) return OFFLINE;
    doing = `Retrying in ${span(Math.max(state.due - now, 1))}`;
  }
  if (state.tries === 0) return `${doing}.`;
  const what = state.returning ? "Connection lost." : "No connection.";
  return `${what} ${doing} (${state.tries} of ${state.budget}).`;
}

/**
 * @param {State} state
 * @param {number} updates
 * @param {number} now
 */
function successLine(state, updates, now) {
  const word = state.returning ? "Reconnected" : "Connected";
  const after = state.lost === null ? "" : ` after ${span(now - state.lost)}`;
  const caughtUp = updates ? `, ${updates} update${updates === 1 ? "" : "s"} caught up` : "";
  return `${word}${after}${caughtUp}.`;
}

/** @param {number} duration */
function span(duration) {
  const seconds = Math.ceil(duration / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}

// --- the policy --------------------------------------------------------------------------------

/**
 * The state before the first connection, which the first tick begins.
 * @param {number} now
 * @returns {State}
 */
export function initial(now) {
  return {
    phase: "waiting",
    due: now,
    tries: 0,
    budget: TRIES,
    earliest: 0,
    lost: now,
    tell: now + QUIET,
    returning: false,
    probes: false,
    unanswered: null,
    stable: null,
    heard: false,
    refused: false,
    online: true,
    hidden: null,
    line: "",
    news: "",
    cause: "",
    why: null,
  };
}

/**
 * The moment at which the state wants a tick; null where it waits for something else.
 * @param {State} state
 * @returns {number | null}
 */
export function timer(state) {
  const due = state.phase === "waiting" && !state.online ? null : state.due;
  const moments = [state.unanswered, state.tell, due, state.probes ? null : state.stable];
  const first = Math.min(...moments.map((moment) => moment ?? Infinity));
  return first === Infinity ? null : first;
}

/**
 * Take in what happened; the state after, and what to do, in this order.
 * @param {State} state
 * @param {Event} event one that cannot happen in this state changes nothing
 * @param {number} now milliseconds
 * @param {number} random from 0 to below 1, new at each call
 * @returns {Step}
 */
export function step(state, event, now, random) {
  const [received, done] = receive(state, event, now, random);
  if (received === state && event.event !== "tick") return [state, []];
  const [after, shown] = told(received, now);
  const actions = [...done, ...shown];
  const until = timer(after);
  if (until !== timer(state)) actions.push({ action: "wait", until });
  return [after, actions];
}

/** @param {State} state */
const isAttempting = (state) => state.phase === "connecting" || state.phase === "attaching";

/** @param {State} state */
const hasSocket = (state) => isAttempting(state) || state.phase === "attached";

/**
 * @param {State} state
 * @param {Event} event
 * @param {number} now
 * @param {number} random
 * @returns {Step}
 */
function receive(state, event, now, random) {
  switch (event.event) {
    case "opened":
      return state.phase === "connecting"
        ? [{ ...state, phase: "attaching", due: now + FUSE, heard: false }, []]
        : [state, []];
    case "attached":
      return isAttempting(state)
        ? attached(state, event.updates ?? 0, event.probes ?? false, now)
        : [state, []];
    case "frame":
      return frame(state, now);
    case "closed":
      return hasSocket(state)
        ? lost(state, classifyClose(event.code, event.reason), now, random)
        : [state, []];
    case "refused":
      return notAttached(state, classifyUpgrade(event.status, event.retry_after), now, random);
    case "failed":
      return notAttached(state, classifyFailure(event.kind ?? ""), now, random);
    case "token_failed":
      return notAttached(state, noToken(event.kind), now, random);
    case "offline":
      return wentOffline(state, now);
    case "online":
      return wentOnline(state, now);
    case "hidden":
      return [state.hidden === null ? { ...state, hidden: now } : state, []];
    case "visible":
      return becameVisible(state, now);
    case "tick":
      return tick(state, now, random);
    case "retry": // whatever network and gateway said; under way, there is nothing to do
      return hasSocket(state) ? [state, []] : anew(state, now);
    case "close":
      return closedByUser(state);
  }
}

/** @param {string} [kind] */
const noToken = (kind) => transient(plain(kind ? `no token: ${kind}` : "no token"));

/**
 * Begin an attempt.
 * @param {State} state
 * @param {number} now
 * @returns {Step}
 */
function connect(state, now) {
  return [
    { ...state, phase: "connecting", due: now + FUSE, heard: false },
    [{ action: "connect", fetch_token: state.refused }],
  ];
}

/**
 * @param {State} state
 * @param {number} updates
 * @param {boolean} probes
 * @param {number} now
 * @returns {Step}
 */
function attached(state, updates, probes, now) {
  const wasTold = state.tell === null; // the end of a loss that was not shown is not shown either
  return [
    {
      ...state,
      phase: "attached",
      due: probes ? now + PROBE_EVERY : null,
      lost: wasTold ? state.lost : null,
      tell: wasTold ? now + QUIET : null,
      returning: true,
      probes,
      unanswered: null,
      stable: now + STABLE_AFTER,
      news: wasTold ? successLine(state, updates, now) : "",
      cause: "",
    },
    [],
  ];
}

/**
 * @param {State} state
 * @param {number} now
 * @returns {Step}
 */
function frame(state, now) {
  if (state.phase === "attaching" && !state.heard) return [{ ...state, heard: true }, []];
  if (state.phase !== "attached") return [state, []];
  const answered = state.unanswered === null ? state : { ...state, unanswered: null };
  const holds = state.stable !== null && now >= state.stable;
  return holds ? settled(answered) : [answered, []];
}

/**
 * Count the link as one that holds.
 * @param {State} state
 * @returns {Step}
 */
function settled(state) {
  return [
    {
      ...state,
      tries: 0,
      budget: TRIES,
      earliest: 0,
      lost: null,
      tell: null,
      stable: null,
      refused: false,
      line: "",
      news: "",
    },
    state.line ? [{ action: "show", line: "", cause: "" }] : [],
  ];
}

/**
 * @param {State} state
 * @param {number} now
 * @param {number} random
 * @returns {Step}
 */
function tick(state, now, random) {
  if (state.phase === "attached") return lookedAfter(state, now, random);
  if (state.due === null || now < state.due) return [state, []];
  if (state.phase === "waiting") return state.online ? connect(state, now) : [state, []];
  if (state.heard) return [{ ...state, due: now + FUSE, heard: false }, []]; // a long replay
  const cause = state.phase === "attaching" ? "no answer in 10 s" : "no connection in 10 s";
  const [after, actions] = lost(state, transient(cause), now, random);
  return [after, [{ action: "close", code: 4408, reason: cause }, ...actions]];
}

/**
 * Do what is due while attached.
 * @param {State} state
 * @param {number} now
 * @param {number} random
 * @returns {Step}
 */
function lookedAfter(state, now, random) {
  if (state.unanswered !== null && now >= state.unanswered) {
    /** @type {Loss} */
    const loss = { kind: "now", cause: "no heartbeat", why: null, wait: null };
    const [after, actions] = lost(state, loss, now, random);
    return [after, [{ action: "close", code: 4408, reason: "no-heartbeat" }, ...actions]];
  }
  if (!state.probes && state.stable !== null && now >= state.stable) return settled(state);
  if (state.due !== null && now >= state.due) return probe(state, now, PROBE_FUSE);
  return [state, []];
}

/**
 * Ask for a sign of life; a probe that is out keeps its fuse where that ends sooner.
 * @param {State} state
 * @param {number} now
 * @param {number} fuse
 * @returns {Step}
 */
function probe(state, now, fuse) {
  const unanswered = Math.min(now + fuse, state.unanswered ?? Infinity);
  return [{ ...state, unanswered, due: now + PROBE_EVERY }, [{ action: "probe" }]];
}

/**
 * Plan what follows the end of a link, or of an attempt.
 * @param {State} before
 * @param {Loss} loss
 * @param {number} now
 * @param {number} random
 * @returns {Step}
 */
function lost(before, loss, now, random) {
  const wasStable =
    before.phase === "attached" &&
    (before.stable === null || (!before.probes && now >= before.stable));
  const [state, settling] = wasStable ? settled(before) : [before, []];
  const since = state.lost ?? now;
  const [after, actions] = afterLoss(
    {
      ...state,
      budget: loss.kind === "patient" ? PATIENT_TRIES : state.budget,
      lost: since,
      tell: Math.max(now, since + QUIET),
      probes: false,
      unanswered: null,
      stable: null,
      news: "",
      cause: loss.cause,
    },
    loss,
    now,
    random,
    wasStable,
  );
  return [after, [...settling, ...actions]];
}

/**
 * The same for what can only end an attempt; a socket that is open by then is closed.
 * @param {State} state
 * @param {Loss} loss
 * @param {number} now
 * @param {number} random
 * @returns {Step}
 */
function notAttached(state, loss, now, random) {
  if (!isAttempting(state)) return [state, []];
  const [after, actions] = lost(state, loss, now, random);
  if (state.phase === "connecting") return [after, actions];
  return [after, [{ action: "close", code: 1000, reason: "not attached" }, ...actions]];
}

/**
 * @param {State} state
 * @param {Loss} loss
 * @param {number} now
 * @param {number} random
 * @param {boolean} wasStable
 * @returns {Step}
 */
function afterLoss(state, loss, now, random, wasStable) {
  if (loss.kind === "refresh" && !state.refused) {
    const refused = { ...state, refused: true };
    return state.online ? connect(refused, now) : waiting(refused, now);
  }
  if (loss.why !== null) return ended(state, loss.why);
  return nextTry(state, loss, now, random, wasStable);
}

/**
 * @param {State} before
 * @param {Loss} loss
 * @param {number} now
 * @param {number} random
 * @param {boolean} wasStable
 * @returns {Step}
 */
function nextTry(before, loss, now, random, wasStable) {
  const earliest = Math.max(before.earliest, loss.wait === null ? 0 : now + loss.wait);
  const state = { ...before, earliest };
  if (earliest - now > MAX_SERVER_WAIT) {
    return ended(state, "asked_to_wait", span(earliest - now));
  }
  if (!state.online) return waiting(state, now);
  if (state.tries === state.budget) return ended(state, "unreachable");
  const mean = Math.min(FIRST_DELAY * 2 ** state.tries, MAX_DELAY);
  const delay = mean + Math.floor(mean * (random * 2 - 1) * JITTER);
  const isFirst = state.tries === 0;
  const next = { ...state, tries: state.tries + 1 };
  const atOnce = loss.kind === "now" || (loss.kind === "cut" && wasStable);
  if (atOnce && isFirst && now >= earliest) return connect(next, now);
  if (earliest > now + delay) return waiting(next, earliest + Math.floor(random * SERVER_JITTER));
  return waiting(next, now + delay);
}

/**
 * @param {State} state
 * @param {number} due
 * @returns {Step}
 */
function waiting(state, due) {
  return [{ ...state, phase: "waiting", due }, []];
}

/**
 * @param {State} state
 * @param {Why} why
 * @param {string} [waits]
 * @returns {Step}
 */
function ended(state, why, waits = "") {
  const end = ENDS[/** @type {keyof typeof ENDS} */ (why)];
  const line = end.line.replace("{tries}", String(state.tries)).replace("{wait}", waits);
  const isFinal = why === "session_ended" || why === "superseded";
  return [
    { ...state, phase: isFinal ? "ended" : "gave_up", due: null, tell: null, line, why },
    [
      {
        action: "give_up",
        why,
        line,
        advice: end.advice,
        button: end.button,
        cause: state.cause,
      },
    ],
  ];
}

/**
 * Begin a new round at once, and say so: somebody waits for it.
 * @param {State} state
 * @param {number} now
 * @returns {Step}
 */
function anew(state, now) {
  const round = { tries: 0, budget: TRIES, lost: state.lost ?? now, tell: null, why: null };
  const [after, actions] = connect({ ...state, ...round, line: CONNECTING }, now);
  return [after, [...actions, { action: "show", line: CONNECTING, cause: "" }]];
}

/**
 * Hold the next try; a socket that is open may well go on working, and stays.
 * @param {State} state
 * @param {number} now
 * @returns {Step}
 */
function wentOffline(state, now) {
  if (!state.online) return [state, []];
  const held = { ...state, online: false };
  return [state.phase === "waiting" ? tellAnew(held, now) : held, []];
}

/**
 * @param {State} before
 * @param {number} now
 * @returns {Step}
 */
function wentOnline(before, now) {
  const state = { ...before, online: true };
  if (state.phase === "attached" && state.probes) return probe(state, now, QUICK_PROBE_FUSE);
  if (state.phase !== "waiting") return woken(state, now);
  const renewed = tellAnew(state, now);
  return now >= state.earliest ? connect(renewed, now) : [{ ...renewed, due: state.earliest }, []];
}

/**
 * @param {State} before
 * @param {number} now
 * @returns {Step}
 */
function becameVisible(before, now) {
  if (before.hidden === null) return [before, []];
  const state = { ...before, hidden: null };
  if (state.phase === "attached" && state.probes && now - before.hidden >= HIDDEN_LONG) {
    return probe(state, now, QUICK_PROBE_FUSE);
  }
  return woken(state, now);
}

/**
 * Begin anew where it was given up and may do better now.
 * @param {State} state
 * @param {number} now
 * @returns {Step}
 */
function woken(state, now) {
  if (state.phase !== "gave_up" || !state.online || now < state.earliest) return [state, []];
  const end = ENDS[/** @type {keyof typeof ENDS} */ (state.why)];
  return end.wakes ? anew(state, now) : [state, []];
}

/**
 * @param {State} state
 * @returns {Step}
 */
function closedByUser(state) {
  if (state.why === "closed") return [state, []];
  /** @type {Action[]} */
  const actions = [];
  if (hasSocket(state)) {
    actions.push({ action: "close", code: 1000, reason: "closed by the user" });
  }
  if (state.line) actions.push({ action: "show", line: "", cause: "" });
  return [
    {
      ...state,
      phase: "ended",
      due: null,
      tell: null,
      probes: false,
      unanswered: null,
      stable: null,
      line: "",
      news: "",
      cause: "",
      why: "closed",
    },
    actions,
  ];
}

/**
 * Have the line renewed, still not within the quiet time.
 * @param {State} state
 * @param {number} now
 * @returns {State}
 */
function tellAnew(state, now) {
  return { ...state, tell: Math.max(now, (state.lost ?? now) + QUIET) };
}

/**
 * Show the line for this try, or for its success, once it is due.
 * @param {State} state
 * @param {number} now
 * @returns {Step}
 */
function told(state, now) {
  if (state.tell === null || now < state.tell) return [state, []];
  const isBack = state.phase === "attached";
  const line = isBack ? state.news : progressLine(state, now);
  const shown = { ...state, tell: null, line, ...(isBack ? { lost: null, news: "" } : {}) };
  return [shown, line === state.line ? [] : [{ action: "show", line, cause: state.cause }]];
}
