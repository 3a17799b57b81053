/**
 * A session's log: what happened, turn by turn, without the conversation; frames are loaded on
 * request.
 * @module
 */
import { controls, events, get, problem, sessionPath } from "./api.js";
import { mark } from "./cards.js";
import { LongText, button, clock, download, h, line, plural } from "./dom.js";
import { RequestError } from "./requests.js";
import { sessionNav } from "./session.js";
import { FILTERS, LOG_KINDS } from "./session_events.js";
import { Timeline } from "./timeline.js";

const MOST = 5000;
const MOST_EXPORTED = 200_000;

/**
 * What the filter offers, as the gateway is asked for it: a name, and kinds of its log.
 * @type {[string, string][]}
 */
const OFFERED = [
  ["Everything but the conversation", LOG_KINDS.filter((kind) => kind !== "update").join(",")],
  ...FILTERS.map(([name, kinds]) => /** @type {[string, string]} */ ([name, kinds.filter((kind) => LOG_KINDS.includes(kind)).join(",")])),
  ["Everything", ""],
];

/**
 * @param {string} id
 * @param {URLSearchParams} query
 * @returns {import("./main.js").View}
 */
export function logView(id, query) {
  const heading = h("h1", {}, line(id, 80));
  const filter = h("select", { id: "filter" }, ...OFFERED.map(([name], place) => h("option", { value: place }, name)));
  const content = h("input", { type: "checkbox", id: "content" });
  const status = h("p", { role: "status", class: "quiet" });
  const list = h("div", { class: "log" });
  /** @type {(kind: string) => Promise<void>} */
  const give = (kind) => exported(id, kind, content.checked, status);
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
    status,
    list,
  );
  let requests = 0;

  async function look() {
    requests += 1;
    const mine = requests;
    status.textContent = "Loading.";
    try {
      const kinds = OFFERED[Number(filter.value)]?.[1] ?? "";
      const { session } = await get(sessionPath(id));
      const from = Math.max(session.first - 1, session.head - 50_000, kinds ? 0 : session.head - MOST);
      const place = `&after=${encodeURIComponent(`${session.epoch}:${from}`)}`;
      const page = await events(id, `${kinds ? `&kinds=${kinds}` : ""}${from >= session.first ? place : ""}`, MOST);
      if (mine !== requests) return;
      const more = page.more || from >= session.first ? " There is more; export it to see all." : "";
      status.textContent = `${plural(page.events.length, "entry")}.${more}`;
      const gone = session.first - 1;
      const timeline = timelineOf(id, gone, await controls());
      list.replaceChildren(
        gone > 0 ? h("p", { class: "note warning" }, mark("warning"), `${plural(gone, "entry")} before this are no longer kept.`) : "",
        page.events.length ? timeline.element : h("p", { class: "quiet" }, "Nothing of this kind is in the log."),
      );
      timeline.add(page.events);
      timeline.open(query.get("incident"));
    } catch (error) {
      status.textContent = "";
      const isGone = error instanceof RequestError && error.status === 404;
      list.replaceChildren(
        isGone ? h("p", {}, "This session no longer exists on the gateway. ", h("a", { href: "#/" }, "All sessions")) : problem(error, look),
      );
    }
  }
  filter.addEventListener("change", look);
  void look();
  return { element, title: "Log", close: () => (requests += 1) };
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
    const { session } = await get(sessionPath(id));
    const after = encodeURIComponent(`${session.epoch}:${event.seq - 1}`);
    const page = await get(`${sessionPath(id)}/events?limit=1&content=1&after=${after}`);
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
 * @param {Element} status
 */
async function exported(id, kind, withContent, status) {
  try {
    const page = await events(id, withContent ? "&content=1" : "", MOST_EXPORTED);
    const name = `lastword-${id.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 60)}.${kind}`;
    if (kind === "jsonl") download(name, "application/jsonl", page.events.map((event) => `${JSON.stringify(event)}\n`));
    else {
      const whole = { version: 1, session_id: id, epoch: page.epoch, gap: page.gap, events: page.events };
      download(name, "application/json", [JSON.stringify(whole, null, 2)]);
    }
    status.textContent = `${plural(page.events.length, "entry")} exported to ${name}.`;
  } catch (error) {
    status.textContent = error instanceof Error ? error.message : "The export failed.";
  }
}
