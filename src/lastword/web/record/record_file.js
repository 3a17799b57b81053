/**
 * An exported session, in the file that holds it: the list that stands there becomes a timeline.
 * @module
 */
import { copyButton, h } from "./dom.js";
import { RecordLog } from "./record.js";

const data = JSON.parse(document.getElementById("record")?.textContent ?? "{}");
const log = new RecordLog();
log.add(data.events);
document.getElementById("timeline")?.replaceChildren(log.element);
document.getElementById("copies")?.append(
  copyButton("Copy the summary", () => data.summary),
  h("span", { class: "quiet" }, "Markdown, for the text of an issue"),
);

/** A link to a failure opens its row. */
function follow() {
  const [name, incident = ""] = location.hash.slice(1).split("=");
  if (name !== "incident") return;
  try {
    log.open(decodeURIComponent(incident));
  } catch {
    return; // no link of this file's
  }
}
addEventListener("hashchange", follow);
follow();
