/**
 * A session of the record: its timeline with a filter, wherever its entries come from.
 * @module
 */
import { h, plural } from "./dom.js";
import { FILTERS } from "./session_events.js";
import { Timeline } from "./timeline.js";

/** What the filter offers: a name, and the kinds that it shows; all of them without. */
/** @type {[string, string[]][]} */
const OFFERED = [["Everything", []], ...FILTERS];

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
    this.#count();
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
      shows: (event) => !kinds.length || kinds.includes(event.kind),
    });
  }

  #show() {
    this.timeline = this.#newTimeline();
    this.timeline.add(this.events);
    this.place.replaceChildren(this.timeline.element);
    this.#count();
  }

  #count() {
    const count = plural(this.timeline.shown, "entry");
    const sentence = this.timeline.shown || !this.events.length ? `${count}.` : "Nothing of this kind is in the record.";
    if (this.status.textContent !== sentence) this.status.textContent = sentence;
  }
}
