/**
 * A timeline: events turn by turn, each a row that opens. The caller supplies the events.
 * @module
 */
import { failureCard, mark } from "./cards.js";
import { LongText, add, clock, copyButton, facts, h, line, plural, span, when } from "./dom.js";
import { KINDS, TITLES } from "./session_events.js";
import { wordOfClose } from "./words.js";

/**
 * @typedef {{
 *   start: string,
 *   turn: (prompt: any, number: number) => string,
 *   more?: (event: any) => {buttons: Node[], place: Node},
 *   shows?: (event: any) => boolean,
 * }} TimelineAbout `start` heads what is before the first turn, `more` adds to an opened row,
 *   `shows` filters
 */

/** @typedef {{events: any[], section: HTMLElement, list: HTMLElement, about: HTMLElement}} Group */

/** Rows that are made at once; the rest follow by themselves, so that what can be seen is there. */
const AT_ONCE = 200;

/** The events of a session, which may go on. */
export class Timeline {
  /** @param {TimelineAbout} about */
  constructor(about) {
    this.about = about;
    this.element = h("div");
    this.turns = 0;
    this.shown = 0;
    /** @type {Group | null} */
    this.group = null;
    /** @type {number | undefined} */
    this.run = undefined;
    /** @type {[Group, any][]} what is still to become a row */
    this.waiting = [];
    this.timer = 0;
  }

  /** @param {any[]} events */
  add(events) {
    /** @type {Set<Group>} */
    const touched = new Set();
    for (const event of events) {
      const group = this.#groupOf(event);
      group.events.push(event);
      touched.add(group);
      if (this.about.shows && !this.about.shows(event)) continue;
      this.shown += 1;
      this.waiting.push([group, event]);
    }
    for (const group of touched) group.about.textContent = turnAbout(group.events);
    if (!this.timer) this.fill(AT_ONCE);
  }

  /**
   * Make rows of what waits for it.
   * @param {number} most
   */
  fill(most) {
    clearTimeout(this.timer);
    for (const [group, event] of this.waiting.splice(0, most)) {
      group.list.append(row(event, this.about));
      if (!group.section.parentNode) this.element.append(group.section);
    }
    this.timer = this.waiting.length ? setTimeout(() => this.element.isConnected && this.fill(AT_ONCE), 16) : 0;
  }

  /**
   * Open the row of an incident; false where there is none.
   * @param {string | null} incident
   */
  open(incident) {
    if (!incident) return false;
    if (this.waiting.some(([, event]) => event.facts.incident_id === incident)) this.fill(Infinity);
    const details = [...this.element.querySelectorAll("details")].find((each) => each.dataset["incident"] === incident);
    if (!details) return false;
    details.open = true;
    details.scrollIntoView({ block: "center" });
    details.querySelector("summary")?.focus({ preventScroll: true });
    return true;
  }

  /**
   * @param {any} event
   * @returns {Group}
   */
  #groupOf(event) {
    if (event.kind === "prompt") {
      this.turns += 1;
      const first = this.group;
      if (this.turns === 1 && first && !first.section.querySelector("h2")) first.section.prepend(h("h2", {}, this.about.start));
      this.group = newGroup(this.about.turn(event, this.turns));
    } else if (event.run !== this.run && this.run !== undefined) this.group = newGroup(`Run ${event.run}`);
    this.run = event.run;
    this.group ??= newGroup("");
    return this.group;
  }
}

/**
 * @param {string} title
 * @returns {Group}
 */
function newGroup(title) {
  const about = h("small");
  const list = h("ol");
  const heading = title ? h("h2", {}, title, about) : null;
  return { events: [], section: h("section", { class: "turn-log" }, heading, list), list, about };
}

/** A duration that is over; it is not rounded up, as a wait is. @param {number} ms */
function took(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : span(ms / 1000);
}

/** @param {any[]} events */
function turnAbout(events) {
  const [first] = events;
  if (first?.kind !== "prompt") return "";
  const find = (/** @type {string} */ kind) => events.find((event) => event.turn === first.turn && event.kind === kind);
  const end = find("error") ?? find("answer");
  if (!end) return " has not ended";
  const how = end.kind === "error" ? "failed" : end.facts.stop_reason === "cancelled" ? "cancelled" : "ended well";
  return ` ${how} after ${took(end.at_epoch_ms - first.at_epoch_ms)}`;
}

/**
 * @param {any} event
 * @param {TimelineAbout} about
 */
function row(event, about) {
  const sign = event.level === "error" ? mark("failed") : event.level === "warning" ? mark("warning") : null;
  const summary = h("summary", {}, h("time", {}, clock(event.at_epoch_ms)), " ", sign, h("bdi", {}, inWords(event)));
  const made = h("details", { class: `row ${event.level}`, "data-incident": event.facts.incident_id ?? null }, summary);
  made.addEventListener("toggle", () => {
    if (made.open && made.children.length === 1) made.append(opened(event, about));
  });
  return h("li", {}, made);
}

/**
 * What happened, in a line: the event's label, and the facts that belong beside it.
 * @param {any} event
 */
function inWords({ kind, facts: about }) {
  const label = KINDS[kind] ?? kind;
  if (kind === "error") return `${TITLES[about.type] ?? label}. ${about.sentence ?? ""}`;
  const detail = detailOf(kind, about);
  return detail ? `${label}: ${detail}` : label;
}

/** @param {unknown} word */
const plain = (word) => String(word ?? "").replaceAll("_", " ");

/**
 * Why an agent was silent, where `plain` does not say it.
 * @type {Record<string, string>}
 */
const CAUSES = { provider: "no answer from the provider", unreachable: "no connection" };

/**
 * @param {string} kind
 * @param {any} about
 * @returns {string}
 */
function detailOf(kind, about) {
  const code = about.code ? ` (${about.code})` : "";
  switch (kind) {
    case "limit_wait":
    case "retry": {
      const tries = about.attempt ? `, attempt ${about.attempt}${about.max_attempts ? ` of ${about.max_attempts}` : ""}` : "";
      const waits = about.wait_seconds ? `, in ${span(about.wait_seconds)}` : "";
      return `${TITLES[about.type] ?? "a failure"}${tries}${waits}`;
    }
    case "viewer_left": {
      if (about.code === 1000) return "";
      if (about.cause === "tab_closed" || about.cause === "went_away") return `its tab or program was closed${code}`;
      const word = wordOfClose(about.code ?? 0, about.cause ?? about.reason ?? "");
      return `${word ? word.sentence.replace(/\.$/, "") : "closed"}${code}`;
    }
    case "viewer_came":
      return `${about.client || "unnamed"} (${about.role ?? "controller"})`;
    case "answer":
      return about.stop_reason === "end_turn" ? "" : plain(about.stop_reason);
    case "agent_exited":
    case "supervisor_exited":
      return about.exit_signal ?? (about.exit_code === undefined ? "" : `exit status ${about.exit_code}`);
    case "agent_ready":
    case "client_attached":
      return `${about.name ?? ""} ${about.version ?? ""}`.trim();
    case "silence":
      return `${about.silent_seconds ? span(about.silent_seconds) : ""} ${about.program ?? CAUSES[about.cause] ?? plain(about.cause)}`.trim();
    case "model_request":
      return `${about.host}, ${about.status ? `HTTP ${about.status}` : "no answer"}, ${span(about.total_seconds)}`;
    case "stderr":
      return about.bytes ? plural(about.bytes, "byte") : "";
    case "tool_started":
    case "tool_ended":
      return about.tool ?? about.status ?? "other";
    case "question_decided":
      return plain(`${about.outcome ?? ""} ${about.how ? `(${about.how})` : ""}`.trim());
    case "client_error":
      return `${plain(about.word)}${code}`;
    case "session_restored":
      return about.history === "none" ? "without its history" : "";
    default: {
      const { method, update, word, count, text, what, outcome, how, why, reason, cause, program, signal, amount, currency } = about;
      return plain(method ?? update ?? word ?? count ?? text ?? what ?? outcome ?? how ?? why ?? reason ?? cause ?? program ?? signal ?? (currency && `${amount} ${currency}`));
    }
  }
}

/**
 * @param {any} event
 * @param {TimelineAbout} about
 */
function opened(event, about) {
  const place = h("div", { class: "body" });
  const { sentence, ...rest } = event.facts;
  if (event.kind === "error") {
    const error = { ...rest, message: rest.message || (sentence ?? "") };
    const { card } = failureCard(error, { received: event.at_epoch_ms });
    add(place, card);
  }
  const rows = Object.entries(rest).map(([name, value]) => {
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    const shown = text.length > 200 || text.includes("\n") ? new LongText(text, 2000).element : line(text);
    return /** @type {[string, any]} */ ([name.replaceAll("_", " "), shown]);
  });
  add(place, facts([["When", when(event.at_epoch_ms)], ["Entry", event.seq], ["Viewer", event.viewer], ...(event.kind === "error" ? [] : rows)]));
  const more = about.more?.(event);
  const copies = event.kind === "error" ? [] : [copyButton("Copy", () => JSON.stringify(event, null, 2))];
  const buttons = [...(more?.buttons ?? []), ...copies];
  add(place, buttons.length ? h("p", { class: "buttons" }, ...buttons) : null, more?.place);
  return place;
}
