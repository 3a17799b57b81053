/**
 * The conversation: messages and actions, in order. Owns its items, of which only the newest are
 * in the document. New content is drawn once a frame, however much it is.
 * @module
 */
import { LongText, button, everySecond, h, line, minute, plural, when } from "./dom.js";
import { failureCard, mark, waitWords } from "./cards.js";
import { RichText } from "./markdown.js";
import { picture } from "./picture.js";
import { blockText, toolAbout } from "./tools.js";

const SHOWN = 300;
const MAX_SHOWN = 900;
const MAX_ITEMS = 50_000;
const MAX_TOOL_PARTS = 200;

/** Characters of all pictures that are kept; the log has the others. */
const MAX_PICTURES = 60_000_000;

/**
 * @typedef {{
 *   kind: string,
 *   text?: string,
 *   at: number,
 *   tool?: any,
 *   node?: HTMLElement | undefined,
 *   draw: () => HTMLElement,
 *   redraw?: () => void,
 *   settle?: () => void,
 * }} Item
 */

/** @type {Record<string, [string, "running" | "ok" | "failed" | "gone"]>} */
const TOOL_STATES = {
  pending: ["waits", "running"],
  in_progress: ["runs", "running"],
  completed: ["done", "ok"],
  failed: ["failed", "failed"],
  cancelled: ["cancelled", "gone"],
};

/** @type {Record<string, [string, "running" | "ok" | "gone"]>} */
const PLAN_STATES = { pending: ["to do", "gone"], in_progress: ["under way", "running"], completed: ["done", "ok"] };

export class Transcript {
  /** @type {Item[]} */
  #items = [];
  #first = 0;
  #drawn = 0;
  /** @type {Map<string, Item>} */
  #tools = new Map();
  /** @type {Set<Item>} */
  #changed = new Set();
  /** @type {Item | null} */
  #failure = null;
  /** @type {Item | null} */
  #retry = null;
  #isPlanned = false;
  #isKeeping = false;
  #isCatchingUp = false;
  #isAtEnd = true;
  #dropped = 0;
  /** @type {{block: any}[]} */
  #pictures = [];
  #pictureSize = 0;
  /** When what arrives now has happened; null while that is now. @type {number | null} */
  at = null;

  /** @param {string} logUrl */
  constructor(logUrl) {
    this.logUrl = logUrl;
    this.lastPrompt = "";
    this.list = h("div", { class: "items" });
    this.earlier = button("", () => this.#showEarlier(), { class: "earlier", hidden: true });
    this.empty = h("p", { class: "quiet" }, "There are no messages yet.");
    this.element = h("section", { class: "transcript", "aria-label": "Conversation" }, this.earlier, this.empty, this.list);
    const over = new AbortController();
    const listen = { passive: true, signal: over.signal };
    addEventListener("scroll", () => (this.#isAtEnd = isAtEnd()), listen);
    addEventListener("resize", () => this.keepEnd(), listen);
    this.close = () => over.abort();
  }

  /** Whoever was at the end stays there, though there is more or less room now. */
  keepEnd() {
    if (this.#isAtEnd) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  }

  /** The same with the next frame: what one frame draws may call for it many times. */
  #keepSoon() {
    if (this.#isKeeping) return;
    this.#isKeeping = true;
    requestAnimationFrame(() => {
      this.#isKeeping = false;
      this.keepEnd();
    });
  }

  /**
   * While the past arrives it is drawn now and then, and most of it never; its end at once.
   * @param {boolean} is
   */
  catchUp(is) {
    this.#isCatchingUp = is;
    if (!is) this.#draw();
  }

  get now() {
    return this.at ?? Date.now();
  }

  get length() {
    return this.#items.length;
  }

  clear() {
    this.#items = [];
    this.#first = this.#drawn = this.#dropped = 0;
    this.#pictures = [];
    this.#pictureSize = 0;
    this.#tools.clear();
    this.#changed.clear();
    this.#failure = this.#retry = null;
    this.list.replaceChildren();
    this.#plan();
  }

  /**
   * @param {string} text
   * @param {boolean} isNew begin a prompt, and do not go on with one
   */
  user(text, isNew) {
    const last = this.#items[this.#items.length - 1];
    if (!isNew && last?.kind === "user") {
      this.lastPrompt = cutPrompt(`${this.lastPrompt}\n${text}`);
      return this.#grow(last, text);
    }
    this.settle();
    this.lastPrompt = cutPrompt(text);
    this.#text("user", "You", text);
  }

  /**
   * Take in an update of the session's; gives whether it is a part of a turn.
   * @param {any} update
   */
  update(update) {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        this.#block("agent", "Agent", update.content);
        return true;
      case "agent_thought_chunk":
        this.#block("thought", "Thought", update.content);
        return true;
      case "tool_call":
      case "tool_call_update":
        this.#over();
        this.#tool(update);
        return true;
      case "plan":
        this.#planned(update.entries);
        return true;
      default:
        return false;
    }
  }

  /**
   * A line of the page's own, between what was said.
   * @param {string} text
   * @param {"info" | "warning"} [level]
   * @param {number} [at]
   */
  note(text, level = "info", at = this.now) {
    this.#add({
      kind: "note",
      at,
      draw: () =>
        h("p", { class: `note ${level}` }, mark(level === "info" ? "gone" : "warning"), h("span", {}, text), when(at)),
    });
  }

  /**
   * The agent tries its model call again: one line, replaced in place.
   * @param {string} sentence
   * @param {any} retry
   */
  retry(sentence, retry) {
    const due = typeof retry.wait_seconds === "number" ? this.now + retry.wait_seconds * 1000 : null;
    const tries = retry.attempt ? `attempt ${retry.attempt}${retry.max_attempts ? ` of ${retry.max_attempts}` : ""}` : "another attempt";
    const item = this.#retry ?? { kind: "retry", at: this.now, draw: () => h("p") };
    item.draw = () => {
      const left = h("span", { class: "countdown" });
      const made = h("p", { class: "note warning" }, mark("warning"), h("span", { dir: "auto" }, `${sentence} `), left);
      const tick = () => {
        const seconds = due === null ? 0 : (due - Date.now()) / 1000;
        const now = this.#retry === item;
        const how = due !== null && seconds > 0 ? waitWords(item.at, due) : " now";
        left.textContent = now ? `The agent tries again${how}, ${tries}.` : `The agent tried again at ${minute(due ?? item.at)}, ${tries}.`;
        return now && seconds > 0;
      };
      item.redraw = () => void tick();
      everySecond(made, tick);
      return made;
    };
    if (this.#retry) this.#replace(item);
    else {
      this.#add(item);
      this.#retry = item;
    }
  }

  /**
   * The turn has failed.
   * @param {any} error
   * @param {{received: number, again: (() => void) | null, edit: (() => void) | null}} about
   */
  failed(error, about) {
    this.#over();
    /** @type {Item} */
    const item = {
      kind: "failure",
      at: about.received,
      draw: () => {
        const current = this.#failure === item;
        const made = failureCard(error, {
          received: about.received,
          logUrl: `${this.logUrl}${error.incident_id ? `?incident=${encodeURIComponent(error.incident_id)}` : ""}`,
          again: current ? about.again : null,
          edit: current ? about.edit : null,
        });
        item.settle = made.settle;
        return made.card;
      },
    };
    this.#failure = item;
    this.#add(item);
  }

  /** What could be done about the last failure is no more to be done: something new has begun. */
  settle() {
    this.#over();
    const failure = this.#failure;
    this.#failure = null;
    failure?.settle?.();
  }

  #over() {
    const retry = this.#retry;
    this.#retry = null;
    retry?.redraw?.();
  }

  /**
   * @param {string} kind
   * @param {string} who
   * @param {any} block
   */
  #block(kind, who, block) {
    if (block?.type !== "image") return this.#message(kind, who, blockText(block));
    this.#over();
    this.picture(who, block);
  }

  /**
   * @param {string} who
   * @param {any} block
   */
  picture(who, block) {
    /** @type {{block: any}} */
    const holder = { block };
    this.#pictures.push(holder);
    this.#pictureSize += String(block.data ?? "").length;
    while (this.#pictureSize > MAX_PICTURES) {
      const oldest = this.#pictures.shift();
      this.#pictureSize -= String(oldest?.block.data ?? "").length;
      if (oldest) oldest.block = null;
    }
    const shown = () => (holder.block ? picture(holder.block, () => this.#keepSoon()) : h("span", { class: "quiet" }, "(A picture; the log has it.)"));
    this.#add({
      kind: "picture",
      at: this.now,
      draw: () => h("article", { class: "item", "aria-label": who }, h("p", { class: "who" }, who), shown()),
    });
  }

  /**
   * @param {string} kind
   * @param {string} who
   * @param {string} text
   */
  #message(kind, who, text) {
    this.#over();
    const last = this.#items[this.#items.length - 1];
    if (last?.kind === kind) this.#grow(last, text);
    else this.#text(kind, who, text);
  }

  /**
   * @param {string} kind
   * @param {string} who
   * @param {string} text
   */
  #text(kind, who, text) {
    /** @type {LongText | RichText | null} */
    let shown = null;
    /** @type {Item} */
    const item = {
      kind,
      text,
      at: this.now,
      draw: () => {
        const all = item.text ?? "";
        shown = kind === "user" ? new LongText(all) : new RichText(all, () => this.#keepSoon());
        const label = h("p", { class: "who" }, who, kind === "user" ? " at " : null, kind === "user" ? when(item.at) : null);
        if (kind !== "thought") return h("article", { class: `item ${kind}`, "aria-label": who }, label, shown.element);
        return h("details", { class: "item thought" }, h("summary", {}, who), shown.element);
      },
      redraw: () => {
        const all = item.text ?? "";
        const length = shown?.text.length ?? 0;
        shown?.append(all.slice(length));
      },
    };
    this.#add(item);
  }

  /**
   * @param {Item} item
   * @param {string} text
   */
  #grow(item, text) {
    item.text = (item.text ?? "") + text;
    this.#change(item);
  }

  /** @param {any} update */
  #tool(update) {
    const id = String(update.toolCallId);
    const before = this.#tools.get(id);
    const isOver = ["completed", "failed", "cancelled"].includes(before?.tool.status);
    // An id used again.
    const existing = update.sessionUpdate === "tool_call" && isOver ? undefined : before;
    const given = Object.fromEntries(Object.entries(update).filter(([, value]) => value !== null && value !== undefined));
    if (Array.isArray(given["content"])) given["content"] = given["content"].slice(0, MAX_TOOL_PARTS);
    if (existing) {
      Object.assign(existing.tool, given);
      return this.#change(existing);
    }
    /** @type {Item} */
    const item = {
      kind: "tool",
      at: this.now,
      tool: given,
      draw: () => {
        const name = h("summary");
        const body = h("div", { class: "body" });
        const made = h("details", { class: "item tool" }, name, body);
        const fill = () => body.replaceChildren(toolAbout(item.tool) ?? h("p", { class: "quiet" }, "The agent gave no details."));
        made.addEventListener("toggle", () => made.open && fill());
        item.redraw = () => {
          const [word, sign] = TOOL_STATES[item.tool.status] ?? ["", "running"];
          made.dataset["status"] = item.tool.status ?? "";
          name.replaceChildren(mark(sign), line(item.tool.title ?? item.tool.toolCallId, 300), h("small", {}, ` ${word}`));
          if (made.open) fill();
        };
        item.redraw();
        return made;
      },
    };
    this.#tools.set(id, item);
    this.#add(item);
  }

  /** @param {any} entries */
  #planned(entries) {
    const steps = Array.isArray(entries) ? entries.slice(0, 200) : [];
    const last = this.#items[this.#items.length - 1];
    /** @type {Item} */
    const item = last?.kind === "plan" ? last : { kind: "plan", at: this.now, draw: () => h("p") };
    item.draw = () =>
      h(
        "details",
        { class: "item plan", open: true },
        h("summary", {}, `Plan: ${plural(steps.length, "step")}, ${steps.filter((one) => one?.status === "completed").length} done`),
        h("ol", {}, ...steps.map(planStep)),
      );
    if (item === last) this.#replace(item);
    else this.#add(item);
  }

  /** @param {Item} item */
  #add(item) {
    this.#items.push(item);
    if (this.#items.length > MAX_ITEMS) this.#forget();
    this.#plan();
  }

  /** Let go of the oldest tenth; the log has them. */
  #forget() {
    const gone = this.#items.splice(0, MAX_ITEMS / 10);
    for (const item of gone) {
      item.node?.remove();
      if (item.tool) this.#tools.delete(String(item.tool.toolCallId));
    }
    this.#dropped += gone.length;
    this.#first = Math.max(0, this.#first - gone.length);
    this.#drawn = Math.max(0, this.#drawn - gone.length);
  }

  /** @param {Item} item */
  #change(item) {
    this.#changed.add(item);
    this.#plan();
  }

  /** @param {Item} item */
  #replace(item) {
    if (!item.node) return;
    const made = item.draw();
    item.node.replaceWith(made);
    item.node = made;
  }

  #plan() {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    const draw = () => {
      this.#isPlanned = false;
      this.#draw();
    };
    if (document.hidden || this.#isCatchingUp) setTimeout(draw, 400);
    else requestAnimationFrame(draw);
  }

  #draw() {
    const wasAtEnd = this.#isAtEnd;
    for (const item of this.#changed) if (item.node) item.redraw?.();
    this.#changed.clear();
    if (this.#items.length - this.#drawn > SHOWN && wasAtEnd) {
      for (const item of this.#items.slice(this.#first, this.#drawn)) item.node = undefined;
      this.list.replaceChildren();
      this.#first = this.#drawn = this.#items.length - SHOWN;
    }
    const made = document.createDocumentFragment();
    for (; this.#drawn < this.#items.length; this.#drawn += 1) made.append(this.#node(this.#drawn));
    this.list.append(made);
    if (wasAtEnd && this.#drawn - this.#first > MAX_SHOWN) this.#shorten();
    this.#label();
    this.#isAtEnd = wasAtEnd;
    this.keepEnd();
  }

  /** @param {number} place */
  #node(place) {
    const item = /** @type {Item} */ (this.#items[place]);
    item.node = item.draw();
    return item.node;
  }

  #shorten() {
    const first = this.#drawn - SHOWN;
    for (; this.#first < first; this.#first += 1) {
      const item = this.#items[this.#first];
      item?.node?.remove();
      if (item) item.node = undefined;
    }
  }

  #label() {
    this.empty.hidden = this.#items.length > 0;
    const more = this.#first;
    this.earlier.hidden = more === 0 && this.#dropped === 0;
    this.earlier.disabled = more === 0;
    this.earlier.textContent = more ? `Show earlier (${plural(more, "more entry")})` : "What came before is in the log.";
  }

  #showEarlier() {
    const from = Math.max(0, this.#first - SHOWN);
    const made = document.createDocumentFragment();
    for (let place = from; place < this.#first; place += 1) made.append(this.#node(place));
    this.#first = from;
    this.#isAtEnd = false;
    const before = document.documentElement.scrollHeight;
    this.list.prepend(made);
    this.#label();
    scrollBy({ top: document.documentElement.scrollHeight - before, behavior: "instant" });
  }
}

/** @param {any} step */
function planStep(step) {
  const [word, sign] = PLAN_STATES[step?.status] ?? ["", "gone"];
  const urgent = step?.priority === "high" ? ", of high priority" : "";
  return h("li", {}, mark(sign), line(step?.content, 300), h("small", {}, ` ${word}${urgent}`));
}

/** @param {string} text */
const cutPrompt = (text) => text.slice(0, 1_000_000);

function isAtEnd() {
  const page = document.documentElement;
  return page.scrollHeight - page.clientHeight - page.scrollTop < 80;
}
