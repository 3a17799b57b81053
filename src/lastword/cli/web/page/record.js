/**
 * A session of the record: its timeline with a filter, wherever its entries come from.
 * @module
 */
import { add, h, plural } from "./dom.js";
import { KINDS, Timeline, openIncident } from "./timeline.js";

/** @type {Record<string, string>} */
const OWN_KINDS = {
  client_attached: "The client came",
  client_detached: "The client said goodbye",
  client_gone: "The client is gone",
  shutdown: "lastword was told to stop",
  agent_started: "The agent's process began",
  agent_ready: "The agent is ready",
  agent_restarted: "The agent was started again",
  session_created: "The session began",
  first_progress: "First sign of work",
  first_output: "First output",
  silence: "Silence",
  stderr: "The agent's stderr",
  frame_dropped: "A message was kept back",
  frame_repaired: "A message was mended",
  quarantined: "The agent still works on a turn that was ended for it",
  released: "The agent has finished that turn",
  omitted: "Entries left out",
};

/** What the filter offers: a name, and the kinds that it leaves; all of them without. */
/** @type {[string, string[]][]} */
const FILTERS = [
  ["Everything", []],
  ["Failures", ["error", "agent_exited", "context_lost", "client_gone"]],
  ["Failures and retries", ["error", "retry", "silence", "agent_exited", "agent_restarted", "context_lost", "client_gone"]],
  ["Turns", ["prompt", "answer", "error", "cancel"]],
  ["Tools and questions", ["tool_started", "tool_ended", "asked", "user_answered", "delegated"]],
];

/** A session's timeline with its filter; it takes entries as they come. */
export class RecordLog {
  constructor() {
    /** @type {any[]} */
    this.events = [];
    this.filter = h(
      "select",
      { id: "filter", onchange: () => this.#show() },
      ...FILTERS.map(([name], place) => h("option", { value: place }, name)),
    );
    this.says = h("p", { role: "status", class: "quiet" });
    this.place = h("div", { class: "log" });
    this.element = h("div", {}, h("p", { class: "bar" }, h("label", { for: "filter" }, "Show"), " ", this.filter), this.says, this.place);
    this.timeline = this.#newTimeline();
    this.#show();
  }

  /** @param {any[]} events */
  add(events) {
    this.events.push(...events);
    this.timeline.add(events);
    this.#tell();
  }

  /**
   * Open an incident, among all entries where the filter hides it.
   * @param {string | null} incident
   */
  open(incident) {
    if (!incident || openIncident(this.place, incident)) return;
    this.filter.value = "0";
    this.#show();
    openIncident(this.place, incident);
  }

  #newTimeline() {
    const kinds = FILTERS[Number(this.filter.value)]?.[1] ?? [];
    return new Timeline({
      kinds: { ...KINDS, ...OWN_KINDS },
      start: "Before the first turn",
      turn: (event, number) => `Turn ${event.turn ?? number}`,
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
    const told = plural(this.timeline.shown, "entry").replace("entrys", "entries");
    const said = this.timeline.shown || !this.events.length ? `${told}.` : "Nothing of this kind is in the record.";
    if (this.says.textContent !== said) this.says.textContent = said;
  }
}

/**
 * An answer in a sentence: what went wrong, and how to go on.
 * @param {string} said
 * @param {...(Node | string)} more
 */
export function trouble(said, ...more) {
  const card = h("section", { class: "card failure", "aria-label": "Problem" }, h("h2", {}, "This did not work"), h("p", {}, said));
  add(card, ...more);
  return card;
}
