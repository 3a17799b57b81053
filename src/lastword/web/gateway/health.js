/**
 * The gateway's health: failures by type and day compared with the days before, why viewers had to
 * reconnect, and how long an answer takes.
 * @module
 */
import { get, problem } from "./api.js";
import { add, count, dayOf, h, span, when } from "./dom.js";
import { rtts } from "./link.js";
import { TITLES } from "./session_events.js";
import { wordOfClose } from "./words.js";

/** What two codes mean that viewers close with themselves. */
/** @type {Record<string, string>} */
const OWN = { 1000: "The viewer closed it, or the session ended.", 1001: "A tab or a program was closed, or the gateway shut down." };

const SVG = "http://www.w3.org/2000/svg";

/** @returns {import("./main.js").View} */
export function healthView() {
  const days = h(
    "select",
    { id: "days" },
    ...[1, 7, 30].map((each) => h("option", { value: each, selected: each === 7 }, each === 1 ? "the last day" : `the last ${each} days`)),
  );
  const place = h("div");
  const element = h("div", {}, h("h1", {}, "Health"), h("p", { class: "bar" }, h("label", { for: "days" }, "Show"), " ", days), place);
  let requests = 0;
  async function look() {
    requests += 1;
    const mine = requests;
    try {
      const stats = await get(`/v1/stats?days=${days.value}`);
      if (mine === requests) place.replaceChildren(...parts(stats));
    } catch (error) {
      if (mine === requests) place.replaceChildren(problem(error, look));
    }
  }
  days.addEventListener("change", look);
  void look();
  return { element, title: "Health", close: () => (requests += 1) };
}

/** @param {any} stats */
function parts(stats) {
  const { now, before } = stats;
  const sections = [];
  if (now) {
    sections.push(h("p", { class: "sentence" }, verdict(now, before)));
    sections.push(h("section", {}, h("h2", {}, "Failures by type"), byType(now, before)));
    sections.push(h("section", {}, h("h2", {}, "Failures by day"), byDay(now, stats)));
    sections.push(h("section", {}, h("h2", {}, "How long turns take"), times(now, before)));
  } else sections.push(h("p", { class: "quiet" }, "There is no record of these days."));
  sections.push(h("section", {}, h("h2", {}, "Closed connections"), closes(stats.gateway)));
  sections.push(h("section", {}, h("h2", {}, "Viewers' links"), links(stats.gateway)));
  sections.push(h("section", {}, h("h2", {}, "This window's link"), link()));
  return sections;
}

/**
 * The sentence that an operator wants first.
 * @param {any} now
 * @param {any} before
 */
function verdict(now, before) {
  if (!now.turns) return "No turn began in these days.";
  const share = (/** @type {any} */ period) => (period?.turns ? (100 * period.failed) / period.turns : null);
  const [is, was] = [share(now) ?? 0, share(before)];
  const sentence = `${count(now.failed)} of ${count(now.turns)} turns failed (${is.toFixed(is < 10 ? 1 : 0)} %)`;
  if (was === null) return `${sentence}; nothing is known of the days before.`;
  const word = Math.abs(is - was) < 0.5 ? "as many as before" : is > was ? "more than before" : "fewer than before";
  return `${sentence}, ${word} (${was.toFixed(was < 10 ? 1 : 0)} %).`;
}

/**
 * @param {any} now
 * @param {any} before
 */
function byType(now, before) {
  const old = before?.by_type ?? {};
  const types = [...new Set([...Object.keys(now.by_type), ...Object.keys(old)])];
  if (!types.length) return h("p", { class: "quiet" }, "Nothing failed.");
  const most = Math.max(1, ...types.map((type) => Math.max(now.by_type[type] ?? 0, old[type] ?? 0)));
  const rows = types.map((type) => {
    const [is, was] = [now.by_type[type] ?? 0, old[type] ?? 0];
    return [TITLES[type] ?? type, count(is), count(was), change(is, was), bars(is / most, was / most)];
  });
  return table(["Type", "Now", "Before", "Change", ""], rows);
}

/**
 * @param {number} is
 * @param {number} was
 */
function change(is, was) {
  if (is === was) return "same";
  return is > was ? `▲ ${count(is - was)} more` : `▼ ${count(was - is)} fewer`;
}

/**
 * @param {any} now
 * @param {any} stats
 */
function byDay(now, stats) {
  if (!now.turns) return h("p", { class: "quiet" }, "No turn began in these days.");
  const days = Array.from({ length: stats.days }, (_, back) => dayOf(stats.to_epoch_ms - back * 86_400_000));
  const dates = [...new Set([...days, ...Object.keys(now.turns_by_day), ...Object.keys(now.by_day)])].sort();
  const most = Math.max(1, ...dates.map((day) => now.by_day[day] ?? 0));
  const chart = h("div", { class: "chart" }, columns(dates.map((day) => (now.by_day[day] ?? 0) / most)));
  const rows = dates.map((day) => [day, count(now.turns_by_day[day] ?? 0), count(now.by_day[day] ?? 0)]);
  return h("div", {}, chart, table(["Day", "Turns", "Failed"], rows));
}

/**
 * @param {any} now
 * @param {any} before
 */
function times(now, before) {
  const shown = (/** @type {number | null | undefined} */ seconds) => (seconds === null || seconds === undefined ? "–" : span(seconds));
  const row = (/** @type {string} */ name, /** @type {string} */ key) => [
    name,
    shown(now[key]?.p50),
    shown(now[key]?.p90),
    shown(before?.[key]?.p50),
  ];
  return table(["", "Half within", "90 % within", "Half, before"], [row("First output", "first_output"), row("Whole turn", "whole_turn")]);
}

/** @param {any} gateway */
function closes(gateway) {
  const codes = Object.entries(gateway.closed).sort((a, b) => Number(b[1]) - Number(a[1]));
  const parts = h("div", {}, h("p", { class: "quiet" }, "Since the gateway was started or reloaded, ", when(gateway.since_epoch_ms), "."));
  if (!codes.length) return add(parts, h("p", { class: "quiet" }, "No connection has been closed.")), parts;
  const rows = codes.map(([code, times]) => {
    const meaning = OWN[code] ?? wordOfClose(Number(code))?.sentence ?? "Unknown code.";
    return [code, meaning, count(Number(times))];
  });
  add(parts, table(["Code", "Meaning", "Times"], rows));
  const errors = Object.entries(gateway.client_errors);
  if (errors.length) {
    add(parts, h("h3", {}, "Reported by viewers"));
    add(parts, table(["What", "Times"], errors.map(([word, times]) => [word.replaceAll("_", " "), count(Number(times))])));
  }
  return parts;
}

/** @type {Record<string, string>} */
const MEASURED = { websocket: "Ping to a viewer", viewer: "Probe of a viewer", "session/new": "Open a session", "session/load": "Load it", "session/resume": "Resume it" };

/** @param {any} gateway */
function links({ round_trips, attaches }) {
  const shown = (/** @type {number} */ seconds) => `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  const rows = Object.entries({ ...round_trips, ...attaches })
    .filter(([, seen]) => seen.count)
    .map(([name, seen]) => [MEASURED[name] ?? name, shown(seen.p50_seconds), shown(seen.p95_seconds), count(seen.count)]);
  return rows.length ? table(["", "Half within", "95 % within", "Times"], rows) : h("p", { class: "quiet" }, "Nothing has been measured yet.");
}

function link() {
  if (!rtts.length) return h("p", { class: "quiet" }, "It has measured nothing yet: open a session.");
  const sorted = [...rtts].sort((a, b) => a - b);
  const half = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const last = rtts[rtts.length - 1] ?? 0;
  return h("p", {}, `The gateway answers in ${half.toFixed(0)} ms (half of ${count(rtts.length)} probes); the last took ${last.toFixed(0)} ms.`);
}

/**
 * @param {string[]} heads
 * @param {(string | Node)[][]} rows
 */
function table(heads, rows) {
  const head = h("tr", {}, ...heads.map((name) => (name ? h("th", { scope: "col" }, name) : h("td"))));
  const body = rows.map((row) => h("tr", {}, ...row.map((cell, place) => (place ? h("td", {}, cell) : h("th", { scope: "row" }, cell)))));
  return h("div", { class: "wide", tabindex: 0, role: "group", "aria-label": "Table" }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...body)));
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} members
 */
function svg(name, members) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(members)) made.setAttribute(key, String(value));
  return made;
}

/**
 * Two bars, one above the other; the table's figures say the same.
 * @param {number} now
 * @param {number} before
 */
function bars(now, before) {
  const made = svg("svg", { viewBox: "0 0 100 14", width: 100, height: 14, "aria-hidden": "true" });
  made.append(svg("rect", { class: "is", width: Math.max(now * 100, 1), height: 7 }));
  made.append(svg("rect", { class: "was", y: 9, width: Math.max(before * 100, 1), height: 4 }));
  return made;
}

/** @param {number[]} parts of the highest */
function columns(parts) {
  const wide = 100 / Math.max(parts.length, 7);
  const made = svg("svg", { viewBox: "0 0 100 30", preserveAspectRatio: "none", "aria-hidden": "true" });
  parts.forEach((part, place) => {
    const high = Math.max(part * 30, 0.3);
    made.append(svg("rect", { class: "is", x: place * wide + wide * 0.1, y: 30 - high, width: wide * 0.8, height: high }));
  });
  return made;
}
