/**
 * The list of sessions, and opening a new one.
 * @module
 */
import { controls, get, offerPush, problem, settings } from "./api.js";
import { mark, tellSentence } from "./cards.js";
import { add, button, h, line, plural, when } from "./dom.js";
import { TITLES } from "./session_events.js";

const EVERY_MS = 5000;
const AUTH_REQUIRED = -32000;

/** @type {Record<string, [string, "running" | "ok" | "failed" | "gone" | "waits" | "warning"]>} */
const STATES = {
  idle: ["Ready", "ok"],
  running: ["Working", "running"],
  waiting_for_answer: ["Waiting for an answer", "waits"],
  failed: ["Last turn failed", "failed"],
  ended: ["Ended", "gone"],
  lost: ["Its agent has ended; opening it starts a new one", "warning"],
};

/** @returns {import("./main.js").View} */
export function sessionsView() {
  const list = h("div");
  const fresh = h("div");
  const element = h("div", {}, h("h1", {}, "Sessions"), fresh, list);
  let shown = "";
  let isOver = false;
  let timer = 0;

  async function look() {
    clearTimeout(timer);
    try {
      const listing = await get(`/v1/sessions${(await controls()) ? "?content=1" : ""}`);
      const text = JSON.stringify(listing);
      if (text !== shown) keepFocus(list, () => list.replaceChildren(...sessionList(listing)));
      shown = text;
    } catch (error) {
      shown = "";
      list.replaceChildren(problem(error, look));
    }
    if (!isOver) timer = setTimeout(() => (document.hidden ? wait() : look()), EVERY_MS);
  }
  const wait = () => document.addEventListener("visibilitychange", () => !isOver && look(), { once: true });

  void look();
  const push = h("p", { class: "buttons" });
  element.append(push);
  void controls().then((may) => may && offerPush(push, ""), () => undefined);
  void settings().then((config) => config.root && fresh.append(newSession(config)), () => undefined);
  return {
    element,
    title: "Sessions",
    close: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

/**
 * @param {Element} place
 * @param {() => void} change
 */
function keepFocus(place, change) {
  const focused = document.activeElement;
  const link = focused && place.contains(focused) ? focused.getAttribute("href") : null;
  change();
  if (!link) return;
  for (const each of place.querySelectorAll("a")) if (each.getAttribute("href") === link) return each.focus();
}

/** @param {any} listing */
function sessionList(listing) {
  if (!listing.sessions.length) return [h("p", { class: "quiet" }, "There is no session yet.")];
  const items = listing.sessions.map(sessionItem);
  const more = listing.more ? [h("p", { class: "quiet" }, `${plural(listing.more, "more")} have ended.`)] : [];
  return [h("ul", { class: "sessions" }, ...items), ...more];
}

/** @param {any} session */
function sessionItem(session) {
  const [word, sign] = STATES[session.state] ?? [session.state, "gone"];
  const place = `#/session/${encodeURIComponent(session.id)}`;
  const viewers = session.viewers.controllers + session.viewers.observers;
  const agent = session.agent ? `${session.agent.name} ${session.agent.version ?? ""}`.trim() : "";
  const failure = session.last_failure;
  const about = h("p", { class: "quiet" }, "Since ", when(session.since_epoch_ms));
  if (agent) add(about, " · ", line(agent, 80));
  if (session.node) add(about, " · on ", line(session.node, 63));
  add(about, ` · ${viewers === 1 ? "1 viewer" : `${viewers} viewers`} · `, h("a", { href: `${place}/log` }, "Log"));
  return h(
    "li",
    { class: "card", "data-state": session.state },
    h("h2", {}, h("a", { href: session.state === "ended" ? `${place}/log` : place }, line(session.title || session.id, 120))),
    h("p", {}, mark(sign), word, session.activity ? ` · in the background: ${session.activity}` : null),
    failure ? failureLine(failure, place, session.state !== "failed") : null,
    about,
  );
}

/**
 * A session's last failure: when it was, and whether the session has recovered since.
 * @param {any} failure
 * @param {string} place
 * @param {boolean} isOver
 */
function failureLine(failure, place, isOver) {
  const title = TITLES[failure.type] ?? "Failure";
  const href = `${place}/log${failure.incident_id ? `?incident=${encodeURIComponent(failure.incident_id)}` : ""}`;
  const more = h("a", { href }, "What happened");
  const isPast = failure.recovered || isOver;
  const sentence = h("span");
  // What was to be done about it no longer is.
  if (isPast) add(sentence, failure.sentence.split(/(?<=\.)\s/, 1)[0]);
  else tellSentence(sentence, failure.sentence, failure.at_epoch_ms);
  return h(
    "p",
    { class: isPast ? "quiet" : "sentence" },
    failure.recovered ? "Recovered from: " : isOver ? "Its last turn failed: " : null,
    h("strong", {}, title),
    " at ", when(failure.at_epoch_ms), ". ", sentence, " ", more,
  );
}

/** @param {{path: string, root: string}} config */
function newSession(config) {
  const field = h("input", { id: "folder", value: config.root, autocomplete: "off", spellcheck: "false" });
  const status = h("p", { role: "status" });
  const send = h("button", { type: "submit", class: "first" }, "Start");
  const form = h(
    "form",
    { class: "card" },
    h("label", { for: "folder" }, "Working folder"),
    field,
    status,
    h("p", { class: "buttons" }, send),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    status.textContent = "Starting the agent…";
    try {
      location.hash = `#/session/${encodeURIComponent(await open(config.path, field.value))}`;
    } catch (error) {
      status.textContent = error instanceof Error ? error.message : "That failed.";
    }
    send.disabled = false;
  });
  const shown = h("div", { hidden: true }, form);
  const more = button("New session", () => {
    shown.hidden = !shown.hidden;
    more.setAttribute("aria-expanded", String(!shown.hidden));
    if (!shown.hidden) field.focus();
  }, { "aria-expanded": "false" });
  return h("div", { class: "fresh" }, more, shown);
}

/**
 * Open a session; gives its id.
 * @param {string} path
 * @param {string} cwd
 * @returns {Promise<string>}
 */
function open(path, cwd) {
  return new Promise((resolve, reject) => {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}${path}`, ["acp.lastword.v1"]);
    /**
     * @param {string} id
     * @param {object} params
     */
    const send = (id, params) => socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: id, params }));
    socket.onopen = () =>
      send("initialize", { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: "lastword page", version: "1" } });
    socket.onmessage = (message) => {
      const frame = JSON.parse(String(message.data));
      if (frame.method) return;
      if (frame.error) reject(new Error(refusal(frame.error)));
      else if (frame.id === "initialize") return send("session/new", { cwd, mcpServers: [] });
      else resolve(String(frame.result.sessionId));
      socket.close(1000);
    };
    socket.onclose = () => reject(new Error("The gateway cannot be reached. Check that it is running."));
  });
}

/**
 * Why no session was opened. This page cannot log in to an agent.
 * @param {any} error
 */
function refusal({ code, message }) {
  if (code !== AUTH_REQUIRED) return String(message);
  return `The agent asks for a login (${message}). Log in to it on the gateway's machine, then try again.`;
}
