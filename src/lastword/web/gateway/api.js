/**
 * The events API, used with the cookie, and reports of errors in this page, which contain words
 * and numbers but no content.
 * @module
 */
import { button, h } from "./dom.js";

/** A refusal, or no answer at all (`status` 0), in a sentence. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} reason
   * @param {string} message
   */
  constructor(status, reason, message) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 */
export async function ask(path, init = {}) {
  let answer;
  try {
    answer = await fetch(path, { cache: "no-store", ...init });
  } catch {
    throw new ApiError(0, "gateway_unreachable", "The gateway cannot be reached. Check that it is running.");
  }
  const body = await answer.json().catch(() => ({}));
  if (answer.ok) return body;
  const message = typeof body.error === "string" ? body.error : `The gateway answered HTTP ${answer.status}.`;
  throw new ApiError(answer.status, String(body.reason ?? ""), message);
}

/** @param {string} id */
export const sessionPath = (id) => `/v1/sessions/${encodeURIComponent(id)}`;

/** @type {Promise<{path: string, root: string, role: string, version: string}> | null} */
let loading = null;

/** What the gateway tells the page of itself. */
export function settings() {
  loading ??= ask("/page/settings.json").catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

/** May this window steer sessions, and see what was said? */
export const controls = async () => (await settings()).role === "controller";

/**
 * All events of a session, part by part.
 * @param {string} id
 * @param {string} query
 * @param {number} most
 * @returns {Promise<{events: any[], more: boolean, gap: any, epoch: string}>}
 */
export async function events(id, query, most) {
  /** @type {any[]} */
  const all = [];
  let after = "";
  let gap = null;
  for (;;) {
    const page = await ask(`${sessionPath(id)}/events?limit=1000${query}${after}`);
    all.push(...page.events);
    gap ??= page.gap ?? null;
    if (!page.more || all.length >= most) {
      return { events: all, more: page.more, gap, epoch: page.epoch };
    }
    after = `&after=${encodeURIComponent(page.next)}`;
  }
}

/** @type {object[]} */
const waiting = [];
let sent = 0;
let minute = 0;

/**
 * Report an error of this page's own; what cannot be sent now is sent with a later one.
 * @param {string} word
 * @param {{session_id?: string, code?: number, status?: number, tries?: number, lasted_ms?: number}} [members]
 */
export function report(word, members = {}) {
  const code = members.code ?? 1000;
  if (code < 1000 || code > 4999) delete members.code;
  if (waiting.length < 20) waiting.push({ source: "page", word, ...members });
  void sendReports();
}

/** Send what waits; the gateway takes 60 a minute. */
export async function sendReports() {
  const now = Math.floor(Date.now() / 60_000);
  if (now !== minute) [minute, sent] = [now, 0];
  while (waiting.length && sent < 20) {
    const one = waiting.shift();
    sent += 1;
    const body = JSON.stringify(one);
    try {
      const headers = { "content-type": "application/json" };
      await ask("/v1/client-events", { method: "POST", headers, body, keepalive: true });
    } catch (error) {
      if (one && error instanceof ApiError && !error.status) waiting.unshift(one);
      return;
    }
  }
}

/**
 * A refusal as a card: what is wrong, and how to go on.
 * @param {unknown} error
 * @param {() => void} again
 */
export function problem(error, again) {
  const message = error instanceof Error ? error.message : "Something went wrong in this page.";
  const isLogin = error instanceof ApiError && error.status === 401;
  return h(
    "section",
    { class: "card failure", "aria-label": "Problem" },
    h("h2", {}, isLogin ? "No longer logged in" : "This did not work"),
    h("p", {}, message),
    isLogin ? loginHelp() : null,
    h("p", { class: "buttons" }, button("Try again", again)),
  );
}

/** How somebody whose login is over goes on. */
export function loginHelp() {
  return h(
    "p",
    {},
    "Type ",
    h("code", {}, "lastword gateway token --link"),
    " on the gateway's machine, and open the link that it prints. Sessions go on meanwhile.",
  );
}
