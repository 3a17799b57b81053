/**
 * The messages of both sides in time, and what lastword made of them, from a file of `--frames`.
 * @module
 */
import { h, line, plural } from "./dom.js";

/** @typedef {{ at?: number | null, from?: string, to?: string | null, frame?: any, was?: any, text?: string, bytes?: number, lastword?: string }} Frame */

const MAX_ROWS = 20_000;

/** What the filter offers: a name, and whether a frame is shown. */
/** @type {[string, (frame: Frame) => boolean][]} */
const OFFERED = [
  ["Everything", () => true],
  ["What lastword changed, added or held back", (frame) => changeOf(frame) !== ""],
  ["What the client got", (frame) => frame.to === "client"],
  ["What the agent got", (frame) => frame.to === "agent"],
];

/**
 * What lastword did with a message; nothing for one that passed.
 * @param {Frame} frame
 */
function changeOf(frame) {
  if (frame.to === null) return "held back";
  if (frame.from === "lastword") return "added";
  return "was" in frame ? "changed" : "";
}

/** @param {any} value */
const written = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/**
 * What a message is, on one line: a method or an answer, and what it is about.
 * @param {Frame} frame
 */
function titleOf(frame) {
  const value = frame.frame;
  if (value === null || typeof value !== "object") return frame.text ?? written(value ?? "");
  const kind = value.method ?? (value.error ? `error ${value.error.code ?? ""}` : "result");
  const about = value.params?.update?.sessionUpdate ?? value.result?.stopReason ?? value.error?.message ?? "";
  return [kind, "id" in value ? `id ${JSON.stringify(value.id)}` : "", about].filter(Boolean).join(" · ");
}

/**
 * Two forms of a message, with the lines marked that only one of them has.
 * @param {any} before
 * @param {any} after
 */
function compared(before, after) {
  const [old, now] = [written(before).split("\n"), written(after).split("\n")];
  const [kept, fresh] = [new Set(now), new Set(old)];
  return h(
    "pre",
    { class: "text" },
    ...old.filter((each) => !kept.has(each)).map((each) => h("del", {}, `- ${each}\n`)),
    ...now.map((each) => (fresh.has(each) ? `  ${each}\n` : h("ins", {}, `+ ${each}\n`))),
  );
}

/** The frames of a file, with a filter; it takes them as they come. */
export class FrameList {
  constructor() {
    /** @type {Frame[]} */
    this.frames = [];
    this.first = 0;
    this.filter = h("select", { id: "filter", onchange: () => this.#show() }, ...OFFERED.map(([name], place) => h("option", { value: place }, name)));
    this.search = h("input", { id: "search", type: "search", oninput: () => this.#show() });
    this.status = h("p", { role: "status", class: "quiet" });
    this.rows = h("ol", { class: "frames" });
    this.element = h(
      "div",
      {},
      h("p", { class: "bar" }, h("label", { for: "filter" }, "Show"), " ", this.filter, " ", h("label", { for: "search" }, "with the words"), " ", this.search),
      this.status,
      this.rows,
    );
    this.#show();
  }

  clear() {
    this.frames = [];
    this.#show();
  }

  /** @param {Frame[]} frames */
  add(frames) {
    this.frames.push(...frames);
    this.first = Number(this.frames[0]?.at ?? 0);
    if (this.frames.length > MAX_ROWS) {
      this.frames.splice(0, this.frames.length - MAX_ROWS);
      this.#show();
      return;
    }
    this.rows.append(...frames.filter((frame) => this.#isShown(frame)).map((frame) => this.#row(frame)));
    this.#count();
  }

  /** @param {Frame} frame */
  #isShown(frame) {
    const words = this.search.value.toLowerCase();
    const fits = OFFERED[Number(this.filter.value)]?.[1] ?? (() => true);
    return fits(frame) && (!words || JSON.stringify(frame).toLowerCase().includes(words));
  }

  #show() {
    this.rows.replaceChildren(...this.frames.filter((frame) => this.#isShown(frame)).map((frame) => this.#row(frame)));
    this.#count();
  }

  #count() {
    const shown = this.rows.childElementCount;
    this.status.textContent = `${plural(this.frames.length, "message")}${shown < this.frames.length ? `, ${shown} shown` : ""}`;
  }

  /** @param {Frame} frame */
  #row(frame) {
    const seconds = h("time", {}, typeof frame.at === "number" ? `${(frame.at - this.first).toFixed(3)} s` : "");
    if (frame.lastword !== undefined) return h("li", { class: "row quiet" }, seconds, " ", line(`${frame.lastword} begins`, 60));
    const change = changeOf(frame);
    const way = [frame.from, frame.from && "→", frame.to].filter(Boolean).join(" ");
    const details = h(
      "details",
      {
        ontoggle: () => {
          if (details.childElementCount > 1) return;
          const now = frame.frame ?? frame.text ?? "";
          details.append("was" in frame ? compared(frame.was, now) : h("pre", { class: "text" }, written(now)));
        },
      },
      h("summary", {}, seconds, " ", h("span", { class: "way" }, way), " ", change ? h("strong", {}, change) : null, change ? " " : null, line(titleOf(frame), 160)),
    );
    const side = frame.from === "lastword" ? (frame.to ?? "client") : (frame.from ?? "client");
    return h("li", { class: `row frame ${side}${change ? " meddled" : ""}` }, details);
  }
}
