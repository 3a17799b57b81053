/**
 * A session's log: what happened, turn by turn, without the conversation; frames are loaded on
 * request.
 * @module
 */
import { ApiError, ask, controls, events, problem, sessionPath } from "./api.js";
import { mark } from "./cards.js";
import { LongText, button, clock, download, h, line, plural } from "./dom.js";
import { sessionNav } from "./session.js";
import { KINDS, Timeline } from "./timeline.js";

const MOST = 5000;
const MOST_EXPORTED = 200_000;

/** What the filter offers: a name, and the kinds that it leaves. */
/** @type {[string, string][]} */
const FILTERS = [
  ["Everything but the conversation", "*"],
  ["Failures", "error,supervisor_exited,holder_died,session_not_restored,client_error,log_reset"],
  ["Failures and retries", "error,retry,waits,supervisor_exited,holder_died,session_not_restored,client_error,log_reset"],
  ["Turns", "prompt,answer,error,cancel"],
  ["Tools and questions", "tool_started,tool_ended,asked,question_held,question_decided,delegated"],
  ["Connections", "viewer_came,viewer_left,viewer_lags,viewer_caught_up,gap_told,client_error,holder_died,session_restored"],
  ["Everything", ""],
];

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
      h("p", {}, content, " ", h("label", { for: "content" }, "with the conversation")),
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
      says.textContent = `${plural(found.events.length, "entry")}.${more}`;
      const gone = session.first - 1;
      const timeline = timelineOf(id, gone, await controls());
      list.replaceChildren(
        gone > 0 ? h("p", { class: "note warning" }, mark("warning"), `${plural(gone, "entry")} before this are no longer kept.`) : "",
        found.events.length ? timeline.element : h("p", { class: "quiet" }, "Nothing of this kind is in the log."),
      );
      timeline.add(found.events);
      timeline.open(query.get("incident"));
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
 * @param {string} id
 * @param {number} gone
 * @param {boolean} mayRead
 */
function timelineOf(id, gone, mayRead) {
  const frameOf = (/** @type {any} */ event) => {
    const place = h("div");
    return { buttons: [button("Show the frame", () => showFrame(id, event, place))], place };
  };
  return new Timeline({
    kinds: KINDS,
    start: gone > 0 ? "Earlier" : "Before the first turn",
    turn: (event, number) => (gone > 0 ? `Turn of ${clock(event.at_epoch_ms)}` : `Turn ${number}`),
    ...(mayRead ? { more: frameOf } : {}),
  });
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
    says.textContent = `${plural(found.events.length, "entry")} exported to ${name}.`;
  } catch (error) {
    says.textContent = error instanceof Error ? error.message : "The export failed.";
  }
}
