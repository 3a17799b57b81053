/**
 * A session's log: what happened, turn by turn, without what was said; the frames come when they
 * are asked for.
 * @module
 */
import { ApiError, ask, controls, events, problem, sessionPath } from "./api.js";
import { TITLES, failureCard, mark } from "./cards.js";
import { LongText, add, button, clock, copyButton, download, facts, h, line, plural, span, when } from "./dom.js";
import { sessionNav } from "./session.js";
import { wordOfClose } from "./words.js";

const MOST = 5000;
const MOST_EXPORTED = 200_000;

/** What the filter offers: a name, and the kinds that it leaves. */
/** @type {[string, string][]} */
const FILTERS = [
  ["All but what was said", "*"],
  ["Failures", "error,supervisor_exited,holder_died,session_not_restored,client_error,log_reset"],
  ["Failures and retries", "error,retry,waits,supervisor_exited,holder_died,session_not_restored,client_error,log_reset"],
  ["Turns", "prompt,answer,error,cancel"],
  ["Tools and questions", "tool_started,tool_ended,asked,question_held,question_decided,delegated"],
  ["Connections", "viewer_came,viewer_left,viewer_lags,viewer_caught_up,gap_told,client_error,holder_died,session_restored"],
  ["Everything", ""],
];

/** @type {Record<string, string>} */
const KINDS = {
  prompt: "Prompt",
  cancel: "Cancel",
  asked: "The agent asks",
  delegated: "The agent uses the client",
  question_held: "A question waits: nobody is there",
  question_decided: "A question is decided",
  tool_started: "Tool starts",
  tool_ended: "Tool ends",
  retry: "The agent tries again",
  answer: "The turn ends",
  error: "Failure",
  supervisor_exited: "The agent's process ended",
  holder_died: "The session's process died",
  session_restored: "The session was brought back",
  session_not_restored: "The session could not be brought back",
  viewer_came: "A viewer came",
  viewer_left: "A viewer left",
  viewer_lags: "A viewer is behind",
  viewer_caught_up: "A viewer has caught up",
  gap_told: "A viewer was told of a gap",
  update: "The agent says something",
  request: "Request",
  result: "Answer to a request",
  waits: "Told of a wait",
  log_reset: "The log begins anew",
  session_ended: "The session ended",
  client_error: "A viewer reports an error",
  life: "News",
};
/** What is no part of what was said, as the gateway is asked for it. */
const NOT_SAID = Object.keys(KINDS).filter((kind) => kind !== "update").join(",");

/**
 * @param {string} id
 * @param {URLSearchParams} query
 * @returns {import("./main.js").View}
 */
export function logView(id, query) {
  const heading = h("h1", {}, line(id, 80));
  const filter = h("select", { id: "filter" }, ...FILTERS.map(([name], place) => h("option", { value: place }, name)));
  const content = h("input", { type: "checkbox", id: "content" });
  const says = h("p", { role: "status", class: "quiet" });
  const list = h("div", { class: "log" });
  /** @type {(kind: string) => Promise<void>} */
  const give = (kind) => exported(id, kind, content.checked, says);
  const element = h(
    "div",
    {},
    h("div", { class: "heading" }, heading, sessionNav(id, true)),
    h("p", { class: "bar" }, h("label", { for: "filter" }, "Show"), " ", filter),
    h(
      "details",
      { class: "bar" },
      h("summary", {}, "Export"),
      h("p", {}, content, " ", h("label", { for: "content" }, "with what was said")),
      h("p", { class: "buttons" }, button("As JSON", () => give("json")), button("As JSON Lines", () => give("jsonl"))),
    ),
    says,
    list,
  );
  let asked = 0;

  async function look() {
    asked += 1;
    const mine = asked;
    says.textContent = "Loading.";
    try {
      const wanted = FILTERS[Number(filter.value)]?.[1] ?? "";
      const kinds = wanted === "*" ? NOT_SAID : wanted;
      const { session } = await ask(sessionPath(id));
      const from = Math.max(session.first - 1, session.head - 50_000, kinds ? 0 : session.head - MOST);
      const place = `&after=${encodeURIComponent(`${session.epoch}:${from}`)}`;
      const found = await events(id, `${kinds ? `&kinds=${kinds}` : ""}${from >= session.first ? place : ""}`, MOST);
      if (mine !== asked) return;
      const more = found.more || from >= session.first ? " There is more; export it to see all." : "";
      says.textContent = `${plural(found.events.length, "entry").replace("entrys", "entries")}.${more}`;
      list.replaceChildren(...timeline(id, found.events, session.first - 1, await controls()));
      openIncident(list, query.get("incident"));
    } catch (error) {
      says.textContent = "";
      const isGone = error instanceof ApiError && error.status === 404;
      list.replaceChildren(
        isGone ? h("p", {}, "This session no longer exists on the gateway. ", h("a", { href: "#/" }, "All sessions")) : problem(error, look),
      );
    }
  }
  filter.addEventListener("change", look);
  void look();
  return { element, title: "Log", close: () => (asked += 1) };
}

/**
 * @param {Element} list
 * @param {string | null} incident
 */
function openIncident(list, incident) {
  if (!incident) return;
  const found = [...list.querySelectorAll("details")].find((each) => each.dataset["incident"] === incident);
  if (!found) return;
  found.open = true;
  found.scrollIntoView({ block: "center" });
  found.querySelector("summary")?.focus({ preventScroll: true });
}

/**
 * @param {string} id
 * @param {any[]} told
 * @param {number} gone
 * @param {boolean} mayRead
 */
function timeline(id, told, gone, mayRead) {
  const parts = [];
  if (gone > 0) {
    const lost = plural(gone, "entry").replace("entrys", "entries");
    parts.push(h("p", { class: "note warning" }, mark("warning"), `${lost} before this are no longer kept.`));
  }
  /** @type {{title: string, events: any[]}[]} */
  const groups = [{ title: "", events: [] }];
  let number = 0;
  for (const event of told) {
    if (event.kind === "prompt") {
      number += 1;
      if (number === 1 && groups[0]) groups[0].title = gone > 0 ? "Earlier" : "Before the first turn";
      groups.push({ title: gone > 0 ? `Turn of ${clock(event.at_epoch_ms)}` : `Turn ${number}`, events: [] });
    }
    groups[groups.length - 1]?.events.push(event);
  }
  for (const group of groups) {
    if (!group.events.length) continue;
    const heading = group.title ? h("h2", {}, group.title, h("small", {}, turnAbout(group.events))) : null;
    parts.push(h("section", { class: "turn-log" }, heading, h("ol", {}, ...group.events.map((event) => row(id, event, mayRead)))));
  }
  if (!told.length) parts.push(h("p", { class: "quiet" }, "Nothing of this kind is in the log."));
  return parts;
}

/** @param {any[]} events */
function turnAbout(events) {
  const [first] = events;
  if (first?.kind !== "prompt") return "";
  const end = events.find((event) => event.turn === first.turn && event !== first);
  if (!end) return " has not ended";
  const how = end.kind === "error" ? "failed" : end.facts.stop_reason === "cancelled" ? "cancelled" : "ended well";
  return ` ${how} after ${span((end.at_epoch_ms - first.at_epoch_ms) / 1000)}`;
}

/**
 * @param {string} id
 * @param {any} event
 * @param {boolean} mayRead
 */
function row(id, event, mayRead) {
  const sign = event.level === "error" ? mark("failed") : event.level === "warning" ? mark("warning") : null;
  const about = event.facts;
  const summary = h("summary", {}, h("time", {}, clock(event.at_epoch_ms)), " ", sign, h("span", {}, inWords(event)));
  const made = h("details", { class: `row ${event.level}`, "data-incident": about.incident_id ?? null }, summary);
  made.addEventListener("toggle", () => {
    if (made.open && made.children.length === 1) made.append(opened(id, event, mayRead));
  });
  return h("li", {}, made);
}

/**
 * What happened, in a line.
 * @param {any} event
 */
function inWords(event) {
  const { kind, facts: about } = event;
  const what = KINDS[kind] ?? kind;
  switch (kind) {
    case "error":
      return `${TITLES[about.type] ?? what}. ${about.sentence ?? ""}`;
    case "retry": {
      const tries = about.attempt ? `, attempt ${about.attempt}${about.max_attempts ? ` of ${about.max_attempts}` : ""}` : "";
      const waits = about.wait_seconds ? `, in ${span(about.wait_seconds)}` : "";
      return `${what} after “${TITLES[about.type] ?? "a failure"}”${tries}${waits}`;
    }
    case "viewer_left": {
      if (about.code === 1000) return `${what}, as it wanted to`;
      const word = wordOfClose(about.code ?? 0, about.cause ?? about.reason ?? "");
      return `${what}: ${word ? word.sentence.replace(/\.$/, "") : "closed"} (${about.code})`;
    }
    case "viewer_came":
      return `${what}: ${about.client || "without a name"}, ${about.role ?? "controller"}`;
    case "answer":
      return about.stop_reason && about.stop_reason !== "end_turn" ? `${what}: ${about.stop_reason.replaceAll("_", " ")}` : what;
    case "supervisor_exited":
      return about.exit_code === undefined ? what : `${what}: exit status ${about.exit_code}`;
    case "tool_started":
    case "tool_ended":
      return `${what}: ${about.tool ?? about.status ?? "other"}`;
    case "question_decided":
      return [`${what}${about.outcome ? `: ${about.outcome}` : ""}`, about.how && `(${about.how})`].filter(Boolean).join(" ").replaceAll("_", " ");
    case "client_error":
      return `${what}: ${String(about.word).replaceAll("_", " ")}${about.code ? ` (${about.code})` : ""}`;
    case "session_restored":
      return about.history === "none" ? `${what}, without its history` : what;
    default: {
      const known = about.method ?? about.update ?? about.word ?? about.what;
      return known ? `${what}: ${String(known).replaceAll("_", " ")}` : what;
    }
  }
}

/**
 * @param {string} id
 * @param {any} event
 * @param {boolean} mayRead
 */
function opened(id, event, mayRead) {
  const place = h("div", { class: "body" });
  const { sentence, ...known } = event.facts;
  if (event.kind === "error") {
    const error = { ...known, message: sentence ?? "" };
    const { card } = failureCard(error, { received: event.at_epoch_ms });
    add(place, card);
  }
  const rows = Object.entries(known).map(([name, value]) => /** @type {[string, any]} */ ([name.replaceAll("_", " "), typeof value === "object" ? JSON.stringify(value) : String(value)]));
  add(place, facts([["When", when(event.at_epoch_ms)], ["Entry", event.seq], ["Viewer", event.viewer], ...(event.kind === "error" ? [] : rows)]));
  const frames = h("div");
  const buttons = h("p", { class: "buttons" });
  if (mayRead) add(buttons, button("Show the frame", () => showFrame(id, event, frames)));
  if (event.kind !== "error") add(buttons, copyButton("Copy", () => JSON.stringify(event, null, 2)));
  add(place, buttons, frames);
  return place;
}

/**
 * @param {string} id
 * @param {any} event
 * @param {Element} place
 */
async function showFrame(id, event, place) {
  try {
    const { session } = await ask(sessionPath(id));
    const after = encodeURIComponent(`${session.epoch}:${event.seq - 1}`);
    const page = await ask(`${sessionPath(id)}/events?limit=1&content=1&after=${after}`);
    const content = page.events[0]?.seq === event.seq ? page.events[0].content : undefined;
    const text = content === undefined ? "This entry has no frame." : JSON.stringify(content, null, 2);
    place.replaceChildren(h("div", { class: "code" }, new LongText(text, 4000).element));
  } catch (error) {
    place.replaceChildren(problem(error, () => showFrame(id, event, place)));
  }
}

/**
 * @param {string} id
 * @param {string} kind
 * @param {boolean} withContent
 * @param {Element} says
 */
async function exported(id, kind, withContent, says) {
  try {
    const found = await events(id, withContent ? "&content=1" : "", MOST_EXPORTED);
    const name = `lastword-${id.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 60)}.${kind}`;
    if (kind === "jsonl") download(name, "application/jsonl", found.events.map((event) => `${JSON.stringify(event)}\n`));
    else {
      const whole = { version: 1, session_id: id, epoch: found.epoch, gap: found.gap, events: found.events };
      download(name, "application/json", [JSON.stringify(whole, null, 2)]);
    }
    says.textContent = `${plural(found.events.length, "entry").replace("entrys", "entries")} exported to ${name}.`;
  } catch (error) {
    says.textContent = error instanceof Error ? error.message : "The export failed.";
  }
}
