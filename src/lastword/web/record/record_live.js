/**
 * The record of `lastword run`, read from `lastword log --web`: its sessions, and one with what is
 * still written of it.
 * @module
 */
import { mark } from "./cards.js";
import { h, line, plural, when } from "./dom.js";
import { FrameList } from "./frames.js";
import { RecordLog } from "./record.js";
import { RequestError, problemCard, request } from "./requests.js";
import { TITLES } from "./session_events.js";

const EVERY_MS = 1000;
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
let views = 0;

/** @param {string} path */
const get = (path) => request(path, "`lastword log --web` is no longer running. Run it again for a new link.");

/** @param {any} shown */
function sessionRow(shown) {
  const last = shown.turns.at(-1);
  const past = shown.last_failure;
  const failure = last?.type ?? shown.failures.at(-1)?.facts.type;
  const isOpen = last?.outcome === "open";
  const title = (/** @type {string} */ type) => TITLES[type] ?? TITLES["unknown"];
  const how = failure ? `The last ${last ? "turn" : "request"} failed: ${title(failure)}` : isOpen ? (shown.run.alive ? "Running" : "No end recorded") : "Its last turn ended well";
  const programs = [shown.run.agent ?? shown.run.program, shown.run.client].filter(Boolean).join(" in ");
  return h(
    "li",
    { class: "card" },
    h("h2", {}, h("a", { href: `#/session/${encodeURIComponent(shown.name)}` }, line(shown.session_id || shown.run.run_id, 80))),
    h("p", {}, failure ? mark("failed") : isOpen ? mark("running") : null, how, failure && past ? ", " : null, failure && past ? when(past.at_epoch_ms) : null),
    past && !failure ? h("p", { class: "quiet" }, past.recovered ? "Recovered from: " : "Failed before: ", title(past.type), ", ", when(past.at_epoch_ms)) : null,
    shown.run.alive ? null : h("p", { class: "quiet" }, "The session is over."),
    h("p", { class: "quiet" }, plural(shown.turn_count, "turn"), ...Object.entries(shown.costs).map(([currency, amount]) => `, ${amount.toFixed(2)} ${currency}`), ", ", line(programs, 80), ", ", when(shown.last_epoch_ms)),
  );
}

async function showSessions() {
  const mine = views;
  const place = h("div", {}, h("p", { class: "quiet" }, "Loading."));
  main.replaceChildren(h("div", {}, h("h1", {}, "Recorded sessions"), place));
  document.title = "Recorded sessions · lastword";
  try {
    const { sessions, more } = await get("/record/sessions");
    if (mine !== views) return;
    place.replaceChildren(
      sessions.length ? h("ul", { class: "sessions" }, ...sessions.map(sessionRow)) : h("p", {}, "No turn is recorded yet."),
      more ? h("p", { class: "quiet" }, "There are more; `lastword log --limit 500` lists them.") : "",
    );
  } catch (error) {
    if (mine === views) place.replaceChildren(problemCard(error, showSessions));
  }
}

/**
 * Who is on both sides, whether they go on, and what is not shown.
 * @param {any} run
 * @param {number} older
 */
function sidesOf(run, older) {
  const sides = [run.agent ?? run.program, run.agent_version, run.client && `in ${run.client}`, run.client_version];
  const left = older ? `; ${plural(older, "older entry")} not shown` : "";
  return [line(sides.filter(Boolean).join(" ")), run.alive ? ", goes on" : "", left];
}

/**
 * @param {string} name
 * @param {string | null} incident
 */
async function showSession(name, incident) {
  const mine = views;
  const log = new RecordLog();
  const place = h("div");
  const about = h("p", { class: "quiet" });
  const id = name.split("/").slice(1).join("/") || name;
  const all = h("a", { href: "#/" }, "All sessions");
  main.replaceChildren(h("div", {}, h("div", { class: "heading" }, h("h1", {}, line(id, 80)), all, about), place, log.element));
  document.title = `${id.slice(0, 40)} · lastword`;
  let after = "";
  let older = 0;
  let timer = 0;

  async function look() {
    clearTimeout(timer);
    let isOver = false;
    try {
      for (;;) {
        const page = await get(`/record/session?name=${encodeURIComponent(name)}${after}`);
        if (mine !== views) return;
        log.add(page.events);
        after = `&after=${page.next}`;
        older ||= page.left_out;
        about.replaceChildren(...sidesOf(page.run, older));
        if (!page.more) break;
      }
      place.replaceChildren();
    } catch (error) {
      if (mine !== views) return;
      place.replaceChildren(problemCard(error, look));
      isOver = !(error instanceof RequestError) || error.status !== 503;
    }
    log.open(incident);
    incident = null;
    if (!isOver) timer = setTimeout(lookAgain, EVERY_MS);
  }

  /** Nobody looks at a hidden page, and so it does not ask. */
  function lookAgain() {
    if (mine !== views) return;
    if (document.visibilityState === "visible") void look();
    else document.addEventListener("visibilitychange", lookAgain, { once: true });
  }
  await look();
}

async function showFrames() {
  const mine = views;
  const list = new FrameList();
  const place = h("div");
  main.replaceChildren(h("div", {}, h("div", { class: "heading" }, h("h1", {}, "Messages"), h("a", { href: "#/" }, "All sessions")), place, list.element));
  document.title = "Messages · lastword";
  let after = "";

  async function look() {
    try {
      for (;;) {
        const page = await get(`/record/frames${after}`);
        if (mine !== views) return;
        if (page.anew) list.clear();
        list.add(page.frames);
        after = `?after=${page.next}`;
        if (!page.more) break;
      }
      place.replaceChildren();
      setTimeout(lookAgain, EVERY_MS);
    } catch (error) {
      if (mine === views) place.replaceChildren(problemCard(error, look));
    }
  }

  function lookAgain() {
    if (mine !== views) return;
    if (document.visibilityState === "visible") void look();
    else document.addEventListener("visibilitychange", lookAgain, { once: true });
  }
  await look();
}

function show() {
  views += 1;
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, name = ""] = path.split("/");
  if (view === "frames") return void showFrames();
  if (view !== "session") return void showSessions();
  let decoded = name;
  try {
    decoded = decodeURIComponent(name);
  } catch {
    // as it stands: no session is found, which is said
  }
  void showSession(decoded, new URLSearchParams(query).get("incident"));
}

addEventListener("hashchange", show);
document.getElementById("skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
show();
