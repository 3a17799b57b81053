/**
 * Cards: a failure with its advice.
 * @module
 */
import { LongText, add, button, copyButton, everySecond, facts, h, line, minute, span, when } from "./dom.js";
import { TITLES } from "./session_events.js";

/**
 * When a wait is over, in milliseconds since 1970; null if none was stated.
 * @param {any} error
 * @param {number} received
 */
export function waitEnds(error, received) {
  if (typeof error.retry_after_seconds === "number") return received + error.retry_after_seconds * 1000;
  return typeof error.reset_at_epoch_ms === "number" ? error.reset_at_epoch_ms : null;
}

/**
 * May it be tried again, and must the user agree first? The rules of `VOC-5`.
 * @param {any} error
 * @param {number | null} ends
 */
export function retryRule(error, ends) {
  const byWord = error.retryable && error.retry_safety !== "never";
  const isLimit = error.type === "rate_limit" || error.type === "budget";
  const can = byWord || (isLimit && ends !== null && ends <= Date.now());
  const harmless = error.retry_safety === "auto" || error.retry_safety === "offer_continue";
  return { can, confirm: can && !(byWord && harmless) };
}

/**
 * @typedef {{
 *   received: number,
 *   logUrl?: string,
 *   again?: (() => void) | null,
 *   edit?: (() => void) | null,
 * }} FailureAbout
 */

/**
 * A failure: what happened and what to do first, then what can be done here, then the details.
 * @param {any} error as `readError` gives it
 * @param {FailureAbout} about
 */
export function failureCard(error, about) {
  const title = TITLES[error.type] ?? TITLES["unknown"] ?? "";
  const ends = waitEnds(error, about.received);
  const sentence = h("p", { class: "sentence", dir: "auto" });
  const hasWait = tellSentence(sentence, error.message, about.received, ends);
  const card = h(
    "section",
    { class: "card failure", "aria-label": `Failure: ${title}` },
    h("h2", {}, mark("failed"), title, h("small", {}, " at ", when(about.received))),
    sentence,
  );
  const countdown = h("p", { class: "countdown" });
  const buttons = h("p", { class: "buttons" });
  add(card, countdown, buttons);
  const again = about.again;
  const place = h("span", { class: "buttons" });
  if (again) add(buttons, place);
  everySecond(card, () => {
    const left = ends === null ? 0 : (ends - Date.now()) / 1000;
    const rule = retryRule(error, ends);
    if (again && !hasWait && ends !== null) countdown.textContent = left > 0 ? `${rule.can ? "Try again" : "It resets"}${waitWords(about.received, ends)}.` : "";
    if (again && rule.can && !place.firstChild) offerRetry(place, again, rule.confirm);
    return left > 0;
  });
  if (again && about.edit && !retryRule(error, ends).can) add(buttons, button("Edit the prompt", about.edit));
  add(
    buttons,
    copyButton("Copy the details", () => failureText(error, about.received)),
    about.logUrl ? h("a", { href: about.logUrl }, "Session log") : null,
  );
  add(card, failureDetails(error));
  return { card, settle: () => (countdown.remove(), buttons.querySelector("span.buttons")?.remove()) };
}

/** A wait as lastword words it, at the end of its sentence. */
const WAIT = / in (\d+) (second|minute|hour|day)s?(?=\.)/g;

/** @type {Record<string, number>} */
const UNITS = { second: 1, minute: 60, hour: 3600, day: 86_400 };

/** @param {string} sentence */
function waitIn(sentence) {
  return [...sentence.matchAll(WAIT)].at(-1); // what stands before may be quoted
}

/**
 * When the wait that a sentence states is over; null where it states none.
 * @param {string} sentence
 * @param {number} since
 */
export function statedEnd(sentence, since) {
  const wait = waitIn(sentence);
  return wait ? since + Number(wait[1]) * (UNITS[wait[2] ?? ""] ?? 0) * 1000 : null;
}

/**
 * A wait and when it is over: what is left of it, then how long it was.
 * @param {number} since
 * @param {number} ends
 */
export function waitWords(since, ends) {
  const left = (ends - Date.now()) / 1000;
  if (left > 0) return ` in ${span(left)} (at ${minute(ends)})`;
  return ends - since < 120_000 ? ` (${span((ends - since) / 1000)} after ${minute(since)})` : ` (at ${minute(ends)})`;
}

/**
 * A failure's sentence. It says how long the wait was at first; here the wait runs. Returns whether
 * the sentence states one.
 * @param {HTMLElement} place
 * @param {string} sentence
 * @param {number} since
 * @param {number | null} [ends]
 */
export function tellSentence(place, sentence, since, ends = statedEnd(sentence, since)) {
  const wait = ends === null ? undefined : waitIn(sentence);
  if (ends === null || !wait) {
    add(place, sentence);
    return false;
  }
  const within = h("span", { class: "countdown" });
  add(place, sentence.slice(0, wait.index), within, sentence.slice(wait.index + wait[0].length));
  everySecond(within, () => {
    within.textContent = waitWords(since, ends);
    return ends > Date.now();
  });
  return true;
}

/**
 * @param {Element} place
 * @param {() => void} again
 * @param {boolean} confirm
 */
function offerRetry(place, again, confirm) {
  if (!confirm) {
    place.append(button("Try again", again, { class: "first" }));
    return;
  }
  const ask = button("Try again…", () => {
    const sure = button("Send it again", again, { class: "first" });
    const no = button("Leave it", () => {
      place.replaceChildren(ask);
      ask.focus();
    });
    const warning = "The agent may already have done part of it, and would repeat that.";
    place.replaceChildren(h("span", { role: "status" }, warning), sure, no);
    sure.focus();
  });
  place.append(ask);
}

/** @param {any} error */
export function failureDetails(error) {
  const text = error.detail?.text;
  return h(
    "details",
    {},
    h("summary", {}, "Details"),
    facts([
      ["Type", error.type],
      ["Reason", line(error.reason).textContent],
      ["Whose fault", error.origin],
      ["When in the turn", String(error.phase ?? "").replaceAll("_", " ")],
      ["To do", String(error.action ?? "").replaceAll("_", " ")],
      ["HTTP status", error.http_status],
      ["Provider's code", error.provider_code && line(error.provider_code)],
      ["Provider's request", error.request_id && line(error.request_id)],
      ["Tries", error.attempts],
      ["Exit status", error.exit_code],
      ["Signal", error.exit_signal],
      ["Incident", error.incident_id && h("code", {}, line(error.incident_id))],
    ]),
    typeof text === "string" && text ? new LongText(text, 2000).element : null,
  );
}

/**
 * A failure as lines, for a report or a colleague.
 * @param {any} error
 * @param {number} received
 */
export function failureText(error, received) {
  const { message, detail, ...rest } = error;
  const members = Object.entries(rest).filter(([, value]) => typeof value !== "object");
  const lines = members.map(([name, value]) => `${name}: ${value}`);
  const text = typeof detail?.text === "string" ? ["", detail.text] : [];
  return [message, `at: ${new Date(received).toISOString()}`, ...lines, ...text].join("\n");
}

const MARKS = { failed: "✕", ok: "✓", running: "…", waits: "?", gone: "–", warning: "!" };

/**
 * A sign beside a word; the word says it, too.
 * @param {keyof typeof MARKS} name
 */
export function mark(name) {
  return h("span", { class: `mark ${name}`, "aria-hidden": "true" }, MARKS[name]);
}
