/**
 * The page: the view that the part of its address after `#` names, and errors in the page itself.
 * @module
 */
import { problem, report } from "./api.js";
import { h } from "./dom.js";
import { logView } from "./log.js";
import { sessionView } from "./session.js";
import { sessionsView } from "./sessions.js";

/** @typedef {{element: HTMLElement, title: string, close: () => void}} View */

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
/** @type {View | null} */
let shown = null;
let isFirst = true;

/** @returns {View} */
function viewOf() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, id, part] = path.split("/").map((each) => {
    try {
      return decodeURIComponent(each);
    } catch {
      return each;
    }
  });
  if (name === "health") return later("Health", async () => (await import("./health.js")).healthView());
  if (name === "session" && id) {
    return part === "log" ? logView(id, new URLSearchParams(query)) : sessionView(id);
  }
  return sessionsView();
}

/**
 * A view whose script is loaded now.
 * @param {string} title
 * @param {() => Promise<View>} load
 * @returns {View}
 */
function later(title, load) {
  const element = h("div");
  /** @type {View | null} */
  let view = null;
  let isOver = false;
  const begin = () =>
    load().then(
      (loaded) => {
        if (isOver) return loaded.close();
        view = loaded;
        element.replaceChildren(view.element);
      },
      (error) => element.replaceChildren(problem(error, begin)),
    );
  void begin();
  return {
    element,
    title,
    close: () => {
      isOver = true;
      view?.close();
    },
  };
}

function show() {
  shown?.close();
  shown = viewOf();
  document.title = `${shown.title} · lastword`;
  main.replaceChildren(shown.element);
  for (const [id, name] of [["to-sessions", "Sessions"], ["to-health", "Health"]]) {
    const link = document.getElementById(id ?? "");
    if (shown.title === name) link?.setAttribute("aria-current", "page");
    else link?.removeAttribute("aria-current");
  }
  if (!isFirst) main.focus({ preventScroll: true });
  isFirst = false;
  scrollTo({ top: 0, behavior: "instant" });
}

addEventListener("hashchange", show);
addEventListener("error", () => report("script_error"));
addEventListener("unhandledrejection", () => report("script_error"));
document.addEventListener("securitypolicyviolation", () => report("policy_violation"));
document.getElementById("skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

try {
  show();
} catch (error) {
  report("script_error");
  main.replaceChildren(h("p", {}, "This page failed. Reload it, and report it as a bug."));
  throw error;
}
