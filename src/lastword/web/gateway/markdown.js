/**
 * Markdown in what an agent says. The library only reads it; elements are made here, of a list of
 * tags, and text becomes text nodes. It is loaded with the first text that looks like Markdown.
 * @module
 */
import { LongText, copyButton, h } from "./dom.js";

const LIBRARY = "/page/markdown-it.js";

/** Of a message at most this many characters and parts become elements; the rest is shown as it came. */
const MAX_CHARS = 100_000;
const MAX_PARTS = 4000;

/** The library leaves out what is nested deeper; such a block is shown as it came. */
const MAX_NESTING = 40;

/** Between two readings passes this many times what the last one took, while text still comes. */
const PAUSES = 10;

/** Characters that a mark may be away from where a piece of text begins. */
const OVERLAP = 100;

const LOOKS_LIKE = /(?:^|\n) {0,3}(?:#{1,6} |[-*+] |\d{1,9}[.)] |>|\||~~~)|[\x60*_]\S|\]\(|^ {0,3}(?:---|\*\*\*)$/m;

/** @type {Promise<any> | null} */
let loading = null;
/** @type {any} */
let loaded = null;

/** The library's reader; it is asked for again where it could not be loaded. */
function load() {
  loading ??= import(LIBRARY).then(
    (module) => (loaded = module.default({ html: false, maxNesting: MAX_NESTING })),
    (error) => {
      loading = null;
      throw error;
    },
  );
  return loading;
}

/** A text that may grow, and may be Markdown: of it, the blocks that are over are read once. */
export class RichText {
  /**
   * @param {string} text
   * @param {() => void} changed is called once more of it is shown
   */
  constructor(text, changed) {
    this.text = "";
    this.changed = changed;
    this.plain = new LongText("");
    this.element = h("div", { class: "rich", dir: "auto" }, this.plain.element);
    /** @type {any} */
    this.reader = null;
    this.isWanted = false;
    this.blocks = h("div");
    this.last = h("div");
    /** Where the block begins that may still grow. */
    this.done = 0;
    this.parts = 0;
    this.isFull = false;
    this.references = {};
    this.timer = 0;
    this.readyAt = 0;
    this.append(text);
  }

  /** @param {string} text */
  append(text) {
    const from = Math.max(0, this.text.length - OVERLAP);
    this.text += text;
    if (this.isFull || !this.reader) this.plain.append(text);
    if (this.isFull) return;
    if (this.reader) this.#plan();
    else if (!this.isWanted && LOOKS_LIKE.test(this.text.slice(from, from + MAX_CHARS))) {
      this.isWanted = true;
      if (loaded) return this.#begin(loaded);
      const begin = (/** @type {any} */ reader) => {
        this.#begin(reader);
        this.changed();
      };
      load().then(begin, () => (this.isWanted = false));
    }
  }

  /** @param {any} reader */
  #begin(reader) {
    this.reader = reader;
    this.plain.element.remove();
    this.element.append(this.blocks, this.last);
    this.#read();
  }

  #plan() {
    if (performance.now() >= this.readyAt) return this.#read();
    this.timer ||= setTimeout(() => {
      this.#read();
      this.changed();
    }, this.readyAt - performance.now());
  }

  #read() {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.isFull) return;
    const began = performance.now();
    const isLong = this.text.length > MAX_CHARS;
    const end = isLong ? this.text.lastIndexOf("\n", MAX_CHARS) + 1 || MAX_CHARS : this.text.length;
    const source = this.text.slice(this.done, end);
    const groups = grouped(this.reader.parse(source, this.references), source);
    const open = isLong ? null : groups.pop();
    const begin = this.done;
    for (const group of groups) if (!this.#keep(group, begin)) return;
    if (isLong) return this.#stop(end);
    if (!open) return;
    this.done = begin + open.from;
    if (this.parts + open.parts > MAX_PARTS) return this.#stop(this.done);
    this.last.replaceChildren(elementOf(open));
    this.readyAt = performance.now() + PAUSES * (performance.now() - began);
  }

  /**
   * @param {Group} group
   * @param {number} begin
   */
  #keep(group, begin) {
    if (this.parts + group.parts > MAX_PARTS) return this.#stop(begin + group.from), false;
    this.parts += group.parts;
    this.blocks.append(elementOf(group));
    return true;
  }

  /**
   * From here on the text is shown as it came.
   * @param {number} from
   */
  #stop(from) {
    this.isFull = true;
    this.last.remove();
    this.plain = new LongText(this.text.slice(from));
    this.element.append(this.plain.element);
  }
}

/** @typedef {{tokens: any[], source: string, from: number, parts: number, isDeep: boolean}} Group */

/**
 * The blocks of a text, each with its tokens and source.
 * @param {any[]} tokens
 * @param {string} source
 */
function grouped(tokens, source) {
  /** @type {Group[]} */
  const groups = [];
  const ends = /\r\n?|\n/g;
  let line = 0;
  let at = 0;
  for (const token of tokens) {
    let group = groups.at(-1);
    if (token.level === 0 && token.nesting >= 0) {
      for (; line < (token.map?.[0] ?? 0); line += 1) at = ends.exec(source) ? ends.lastIndex : source.length;
      if (group) group.source = source.slice(group.from, at);
      group = { tokens: [], source: source.slice(at), from: at, parts: 0, isDeep: false };
      groups.push(group);
    }
    if (!group) continue;
    group.tokens.push(token);
    group.parts += 1 + (token.children?.length ?? 0);
    group.isDeep ||= token.level >= MAX_NESTING - 1;
  }
  return groups;
}

/** @param {Group} group */
function elementOf(group) {
  if (group.isDeep) return new LongText(group.source).element;
  const place = document.createDocumentFragment();
  build(group.tokens, place);
  return place;
}

/** @type {Record<string, keyof HTMLElementTagNameMap>} */
const TAGS = {
  bullet_list: "ul", ordered_list: "ol", list_item: "li", blockquote: "blockquote", paragraph: "p", strong: "strong", em: "em", s: "s",
  table: "table", thead: "thead", tbody: "tbody", tr: "tr", th: "th", td: "td",
};

/**
 * @param {any[]} tokens
 * @param {Node} place
 */
function build(tokens, place) {
  /** @type {Node[]} */
  const open = [place];
  for (const token of tokens) {
    const here = /** @type {Node} */ (open[open.length - 1]);
    if (token.nesting < 0) {
      open.pop();
      continue;
    }
    if (token.nesting === 0) {
      leaf(token, here);
      continue;
    }
    const made = opened(token);
    here.appendChild(made.outer ?? made.inner);
    open.push(made.inner);
  }
}

/**
 * @param {any} token
 * @returns {{inner: Node, outer?: Node}}
 */
function opened(token) {
  const name = token.type.replace(/_open$/, "");
  if (name === "heading") return { inner: h("p", { class: `heading ${token.tag}` }) };
  if (name === "paragraph" && token.hidden) return { inner: h("span") };
  if (name === "link") return { inner: link(token.attrGet("href") ?? "") };
  const inner = h(TAGS[name] ?? "span");
  if (name === "ordered_list" && token.attrGet("start") !== null) inner.setAttribute("start", String(Number(token.attrGet("start"))));
  if (name === "table") return { inner, outer: h("div", { class: "wide", tabindex: 0, role: "group", "aria-label": "Table" }, inner) };
  return { inner };
}

/**
 * @param {any} token
 * @param {Node} place
 */
function leaf(token, place) {
  switch (token.type) {
    case "inline":
      return build(token.children, place);
    case "fence":
    case "code_block":
      return void place.appendChild(code(token.content, token.info ?? ""));
    case "code_inline":
      return void place.appendChild(h("code", {}, token.content));
    case "hardbreak":
      return void place.appendChild(h("br"));
    case "softbreak":
      return void place.appendChild(document.createTextNode("\n"));
    case "hr":
      return void place.appendChild(h("hr"));
    case "image": {
      // Nothing is fetched for it: where it lies would learn of it.
      const shown = link(token.attrGet("src") ?? "");
      shown.append(`Picture: ${token.content || token.attrGet("src")}`);
      return void place.appendChild(shown);
    }
    default:
      place.appendChild(document.createTextNode(token.content));
  }
}

/**
 * A link to somewhere else in a tab of its own; any other target than a page or an address is text.
 * @param {string} href
 */
function link(href) {
  if (!/^(?:https?|mailto):/i.test(href)) return h("span", { title: href });
  return h("a", { href, title: href, dir: "auto", rel: "noopener noreferrer", target: "_blank" });
}

/**
 * @param {string} text
 * @param {string} info
 */
function code(text, info) {
  const language = info.trim().split(/\s/, 1)[0]?.slice(0, 30) ?? "";
  const copies = copyButton("Copy", () => text);
  const head = h("p", { class: "label" }, h("bdi", {}, language), copies);
  const shown = new LongText(text.replace(/\n$/, "")).element;
  shown.setAttribute("dir", "ltr");
  return h("div", { class: "code" }, head, shown);
}
