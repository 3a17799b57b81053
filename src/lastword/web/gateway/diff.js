/**
 * What a tool changes in a file, line by line.
 * @module
 */
import { LongText, button, h, line, plural } from "./dom.js";

/** Beyond this many pairs of lines they are not compared: all the old, then all the new. */
const MAX_PAIRS = 4_000_000;
const AROUND = 3;
const ROWS = 300;

/** @typedef {{sign: "+" | "−" | " " | "…", text: string}} Row */

/** @param {string} text */
const linesOf = (text) => (text ? text.replace(/\n$/, "").split("\n") : []);

/**
 * @param {string[]} before
 * @param {string[]} after
 * @returns {Row[]}
 */
function compared(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  /** @type {(text: string) => Row} */
  const same = (text) => ({ sign: " ", text });
  const middle = changed(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...before.slice(0, start).map(same), ...middle, ...before.slice(before.length - end).map(same)];
}

/**
 * The longest common lines, and what is beside them.
 * @param {string[]} before
 * @param {string[]} after
 * @returns {Row[]}
 */
function changed(before, after) {
  /** @type {Row[]} */
  const rows = [];
  const gone = (/** @type {string} */ text) => rows.push({ sign: "−", text });
  const came = (/** @type {string} */ text) => rows.push({ sign: "+", text });
  const width = after.length + 1;
  if (before.length * after.length > MAX_PAIRS) {
    before.forEach(gone);
    after.forEach(came);
    return rows;
  }
  const common = new Uint16Array((before.length + 1) * width);
  const at = (/** @type {number} */ one, /** @type {number} */ other) => common[one * width + other] ?? 0;
  for (let one = before.length - 1; one >= 0; one -= 1) {
    for (let other = after.length - 1; other >= 0; other -= 1) {
      const best = before[one] === after[other] ? at(one + 1, other + 1) + 1 : Math.max(at(one + 1, other), at(one, other + 1));
      common[one * width + other] = best;
    }
  }
  let one = 0;
  let other = 0;
  while (one < before.length || other < after.length) {
    const old = before[one] ?? "";
    if (one < before.length && other < after.length && old === after[other]) {
      rows.push({ sign: " ", text: old });
      one += 1;
      other += 1;
    } else if (other >= after.length || (one < before.length && at(one + 1, other) >= at(one, other + 1))) {
      gone(old);
      one += 1;
    } else {
      came(after[other] ?? "");
      other += 1;
    }
  }
  return rows;
}

/**
 * Only what changes, and some lines around it.
 * @param {Row[]} rows
 */
function near(rows) {
  const shown = new Uint8Array(rows.length);
  rows.forEach(({ sign }, place) => sign !== " " && shown.fill(1, Math.max(0, place - AROUND), place + AROUND + 1));
  /** @type {Row[]} */
  const visible = [];
  rows.forEach((row, place) => {
    if (shown[place]) visible.push(row);
    else if (visible.at(-1)?.sign !== "…") visible.push({ sign: "…", text: "" });
  });
  return visible;
}

/** @type {Record<string, [keyof HTMLElementTagNameMap, string]>} */
const SIGNS = { "+": ["ins", "added"], "−": ["del", "removed"], " ": ["span", ""], "…": ["span", ""] };

/** @param {Row} row */
function rowOf({ sign, text }) {
  const [tag] = SIGNS[sign] ?? ["span", ""];
  const shown = text.length > 2000 ? new LongText(text, 2000).element : text;
  return h("div", { class: "line" }, h("span", { class: "sign" }, sign), h(tag, {}, shown));
}

/**
 * A change of a file, as `content` of a tool call has it: `oldText` is missing of a new file.
 * @param {any} content
 */
export function diffView(content) {
  const rows = compared(linesOf(String(content.oldText ?? "")), linesOf(String(content.newText ?? "")));
  const [added, removed] = ["+", "−"].map((sign) => rows.filter((row) => row.sign === sign).length);
  const about = `${typeof content.oldText === "string" ? "" : "New file. "}${plural(added ?? 0, "line")} added, ${removed} removed`;
  const left = near(rows);
  const list = h("div", { class: "diff" });
  const more = button("", () => show());
  function show() {
    list.append(...left.splice(0, ROWS).map(rowOf));
    more.hidden = !left.length;
    more.textContent = `Show more (${plural(left.length, "more line")})`;
  }
  show();
  return h("div", { class: "code" }, h("p", { class: "label" }, line(content.path, 300), ` ${about}`), list, more);
}
