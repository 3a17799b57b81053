/**
 * Elements, texts and times. Text from agents only ever becomes text nodes. Long texts are cut,
 * with a button to show more.
 * @module
 */

/** @typedef {Node | string | number | null | false | undefined} Child */

/**
 * An element. Members that begin with `on` are listeners; `class` and names with a dash are
 * attributes, and so is everything else that is not `false` or `null`.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [members]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, members = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(members)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, ...children);
  return element;
}

/**
 * @param {Element} element
 * @param {...Child} children
 */
export function add(element, ...children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "number" ? String(child) : child);
  }
}

/**
 * @param {string} label
 * @param {() => void} press
 * @param {Record<string, any>} [members]
 */
export function button(label, press, members = {}) {
  return h("button", { type: "button", onclick: press, ...members }, label);
}

/**
 * A text's beginning, cut between two characters.
 * @param {string} text
 * @param {number} limit
 */
export function cut(text, limit) {
  if (text.length <= limit) return text;
  const code = text.charCodeAt(limit - 1);
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? limit - 1 : limit);
}

/**
 * One line of a peer's, for a heading or a label: short, and isolated from the text around it.
 * @param {unknown} text
 * @param {number} [limit]
 */
export function line(text, limit = 200) {
  const whole = typeof text === "string" ? text : "";
  const start = cut(whole.slice(0, limit * 4).replace(/\s+/gu, " ").trim(), limit);
  return h("bdi", {}, start.length < whole.trim().length ? `${start}…` : start);
}

const MORE = 200_000;

/** A text of a peer's that may grow, and be of any length. */
export class LongText {
  /**
   * @param {string} text
   * @param {number} [limit] characters that are shown at first
   */
  constructor(text, limit = 20_000) {
    this.text = "";
    this.limit = limit;
    this.shown = document.createTextNode("");
    this.element = h("div", { class: "text", dir: "auto" }, this.shown);
    /** @type {HTMLButtonElement | null} */
    this.more = null;
    this.append(text);
  }

  /** @param {string} text */
  append(text) {
    const space = this.limit - this.text.length;
    this.text += text;
    if (space >= text.length) this.shown.appendData(text);
    else this.#show();
  }

  #show() {
    const start = cut(this.text, this.limit);
    if (this.shown.data !== start) this.shown.data = start;
    const left = this.text.length - start.length;
    if (!left) {
      this.more?.remove();
      this.more = null;
      return;
    }
    this.more ??= button("", () => {
      this.limit += Math.max(MORE, this.limit);
      this.#show();
    });
    const all = left <= Math.max(MORE, this.limit);
    this.more.textContent = `Show ${all ? "all" : "more"} (${count(left)} more characters)`;
    this.element.append(this.more);
  }
}

/** @param {number} number */
export const count = (number) => number.toLocaleString("en");

/**
 * @param {number} number
 * @param {string} one
 */
export const plural = (number, one) => `${count(number)} ${number === 1 ? one : `${one}s`.replace(/ys$/, "ies")}`;

/** @param {number} number */
const two = (number) => String(number).padStart(2, "0");

/** @param {number} ms */
export function dayOf(ms) {
  const at = new Date(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** @param {number} ms */
export function clock(ms) {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/**
 * A moment to the minute, with its day unless that is today.
 * @param {number} ms
 */
export function minute(ms) {
  const isToday = new Date(ms).toDateString() === new Date().toDateString();
  return `${isToday ? "" : `${dayOf(ms)} `}${clock(ms).slice(0, -3)}`;
}

/**
 * @param {number} ms
 * @param {string} [text]
 */
export function when(ms, text = minute(ms)) {
  const at = new Date(ms);
  return h("time", { datetime: Number.isNaN(at.getTime()) ? null : at.toISOString() }, text);
}

/**
 * A duration in words; it is rounded up.
 * @param {number} seconds
 */
export function span(seconds) {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole < 120) return `${whole} s`;
  if (whole < 7200) return `${Math.ceil(whole / 60)} min`;
  return whole < 172_800 ? `${Math.ceil(whole / 3600)} h` : `${Math.ceil(whole / 86_400)} days`;
}

/**
 * Call each second, first at once, as long as the element is there.
 * @param {Element} element
 * @param {() => boolean} tick gives whether to go on
 */
export function everySecond(element, tick) {
  if (!tick()) return;
  const timer = setInterval(() => {
    if (!element.isConnected || !tick()) clearInterval(timer);
  }, 1000);
}

/**
 * Names and values, without those that are not known.
 * @param {[string, Child][]} rows
 */
export function facts(rows) {
  const list = h("dl", { class: "facts" });
  for (const [name, value] of rows) {
    if (value === null || value === undefined || value === "") continue;
    add(list, h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  }
  return list;
}

/**
 * Put a text where the user can paste it from; false where the browser does not let it.
 * @param {string} text
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = h("textarea", { class: "away", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy"); // what is left where the page is not https
    field.remove();
    return done;
  }
}

/**
 * @param {string} label
 * @param {() => string | Promise<string>} text
 */
export function copyButton(label, text) {
  const made = button(label, async () => {
    made.textContent = (await copy(await text())) ? "Copied" : "Could not copy";
    setTimeout(() => (made.textContent = label), 2000);
  });
  return made;
}

/**
 * Give the user a file.
 * @param {string} name
 * @param {string} type
 * @param {string[]} parts
 */
export function download(name, type, parts) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/**
 * A line of news that goes away by itself; what it says stands in the session, too.
 * @param {string} message
 * @param {"info" | "warning"} [level]
 */
export function toast(message, level = "info") {
  const place = document.getElementById("toasts");
  if (!place) return;
  const one = h("div", { class: `toast ${level}` }, h("p", {}, message));
  add(one, button("×", () => one.remove(), { "aria-label": "Dismiss" }));
  place.append(one);
  while (place.children.length > 3) place.firstElementChild?.remove();
  const leave = () => (one.matches(":hover, :focus-within") ? wait() : one.remove());
  const wait = () => void setTimeout(leave, 15_000);
  wait();
}
