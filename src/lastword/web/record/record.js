/**
 * A session of the record: its timeline with a filter, wherever its entries come from.
 * @module
 */
import { add, h, plural, span } from "./dom.js";
import { FILTERS, KINDS, RECORD_KINDS } from "./session_events.js";
import { Timeline } from "./timeline.js";

/** What the filter offers: a name, and the kinds that it shows; all of them without. */
/** @type {[string, string[]][]} */
const OFFERED = [["Everything", []], ...FILTERS];

/**
 * What happened, in a line, of a kind that only the record has; null of all others.
 * @param {any} event
 */
function ownWords({ kind, facts: about }) {
  if (!RECORD_KINDS.includes(kind)) return null;
  const what = KINDS[kind];
  const detail = ownAbout(kind, about);
  return detail ? `${what}: ${String(detail).replaceAll("_", " ")}` : (what ?? null);
}

/**
 * @param {string} kind
 * @param {any} about
 */
function ownAbout(kind, about) {
  switch (kind) {
    case "client_attached":
    case "agent_ready":
      return [about.name, about.version].filter((each) => typeof each === "string" && each).join(" ");
    case "agent_exited":
      return about.exit_signal ?? (about.exit_code === undefined ? "" : `exit status ${about.exit_code}`);
    case "silence":
      return about.silent_seconds && span(about.silent_seconds);
    case "stderr":
      return about.bytes && plural(about.bytes, "byte");
    case "omitted":
      return about.count;
    default:
      return about.outcome ?? about.how ?? about.why ?? about.reason ?? about.program ?? about.signal;
  }
}

/**
 * The order of two events in time, and in that of their writing where it is one moment.
 * @param {any} one
 * @param {any} other
 */
const order = (one, other) => one.at_epoch_ms - other.at_epoch_ms || one.seq - other.seq;

/** A session's timeline with its filter; it takes entries as they come. */
export class RecordLog {
  constructor() {
    /** @type {any[]} */
    this.events = [];
    this.filter = h(
      "select",
      { id: "filter", onchange: () => this.#show() },
      ...OFFERED.map(([name], place) => h("option", { value: place }, name)),
    );
    this.status = h("p", { role: "status", class: "quiet" });
    this.place = h("div", { class: "log" });
    this.element = h("div", {}, h("p", { class: "bar" }, h("label", { for: "filter" }, "Show"), " ", this.filter), this.status, this.place);
    this.timeline = this.#newTimeline();
    this.#show();
  }

  /** @param {any[]} events */
  add(events) {
    const last = this.events.at(-1);
    const isLate = last && events.some((event) => order(event, last) < 0);
    this.events.push(...events);
    if (isLate) {
      // Two processes write a gateway's record, each as it comes to it: this belongs further up.
      this.events.sort(order);
      this.#show();
      return;
    }
    this.timeline.add(events);
    this.#tell();
  }

  /**
   * Open an incident, among all entries where the filter hides it.
   * @param {string | null} incident
   */
  open(incident) {
    if (!incident || this.timeline.open(incident)) return;
    this.filter.value = "0";
    this.#show();
    this.timeline.open(incident);
  }

  #newTimeline() {
    const kinds = OFFERED[Number(this.filter.value)]?.[1] ?? [];
    return new Timeline({
      start: "Before the first turn",
      turn: (event, number) => `Turn ${event.turn ?? number}`,
      words: ownWords,
      shows: (event) => !kinds.length || kinds.includes(event.kind),
    });
  }

  #show() {
    this.timeline = this.#newTimeline();
    this.timeline.add(this.events);
    this.place.replaceChildren(this.timeline.element);
    this.#tell();
  }

  #tell() {
    const count = plural(this.timeline.shown, "entry");
    const sentence = this.timeline.shown || !this.events.length ? `${count}.` : "Nothing of this kind is in the record.";
    if (this.status.textContent !== sentence) this.status.textContent = sentence;
  }
}

/**
 * An answer in a sentence: what went wrong, and how to go on.
 * @param {string} message
 * @param {...(Node | string)} more
 */
export function trouble(message, ...more) {
  const card = h("section", { class: "card failure", "aria-label": "Problem" }, h("h2", {}, "This did not work"), h("p", {}, message));
  add(card, ...more);
  return card;
}
