/**
 * The events API, used with the cookie, and reports of errors in this page, which contain words
 * and numbers but no content.
 * @module
 */
import { h } from "./dom.js";
import { RequestError, problemCard, request } from "./requests.js";

/**
 * @param {string} path
 * @param {RequestInit} [init]
 */
export const get = (path, init) => request(path, "The gateway cannot be reached. Check that it is running.", init);

/** @param {string} id */
export const sessionPath = (id) => `/v1/sessions/${encodeURIComponent(id)}`;

/** @type {Promise<{path: string, root: string, role: string, version: string}> | null} */
let loading = null;

/** What the gateway tells the page of itself. */
export function settings() {
  loading ??= get("/page/settings.json").catch((error) => {
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
    const page = await get(`${sessionPath(id)}/events?limit=1000${query}${after}`);
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
      await get("/v1/client-events", { method: "POST", headers, body, keepalive: true });
    } catch (error) {
      if (one && error instanceof RequestError && !error.status) waiting.unshift(one);
      return;
    }
  }
}

/**
 * An error as a card, which says how to log in again where that is needed.
 * @param {unknown} error
 * @param {() => void} retry
 */
export function problem(error, retry) {
  const isLogin = error instanceof RequestError && error.status === 401;
  return isLogin ? problemCard(error, retry, "You are logged out", loginHelp()) : problemCard(error, retry);
}

/** How somebody whose login is over goes on. */
export function loginHelp() {
  return h(
    "p",
    {},
    "Type ",
    h("code", {}, `lastword gateway token --link ${new URL(".", location.href)}`),
    " on the gateway's machine, and open the link that it prints. Sessions go on meanwhile.",
  );
}

/**
 * Offer notifications of this browser's own, if it can show any.
 * @param {Element} place
 * @param {string} session the only session that they are about; empty for all
 */
export function offerPush(place, session) {
  if (!isSecureContext || !("PushManager" in window)) return;
  void import("./push.js").then((push) => push.offer(place, session)).catch(() => undefined);
}
