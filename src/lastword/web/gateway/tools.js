/**
 * What an agent does with tools: a call with its contents, and its question for permission.
 * @module
 */
import { mark } from "./cards.js";
import { diffView } from "./diff.js";
import { LongText, add, button, h, line, when } from "./dom.js";
import { picture } from "./picture.js";

/** @type {Record<string, string>} */
const OPTION_KINDS = {
  allow_once: "this time",
  allow_always: "always",
  reject_once: "this time",
  reject_always: "always",
};
const MAX_OPTIONS = 20;

/**
 * A question of the agent's for permission.
 * @param {any} params
 * @param {number} at
 * @param {(result: object) => void} answer
 */
export function permissionCard(params, at, answer) {
  const call = params.toolCall ?? {};
  const heading = h("h2", {}, mark("waits"), "The agent asks for permission", h("small", {}, " at ", when(at)));
  heading.id = `ask-${Math.random().toString(36).slice(2)}`;
  const options = Array.isArray(params.options) ? params.options.slice(0, MAX_OPTIONS) : [];
  const buttons = options.map((/** @type {any} */ option) => {
    const made = button("", () => answer(chosen(option.optionId)), { "data-kind": option.kind });
    add(made, line(option.name, 80));
    const kind = OPTION_KINDS[option.kind];
    if (kind && !made.textContent?.toLowerCase().includes(kind)) add(made, h("small", {}, ` (${kind})`));
    return made;
  });
  if (!options.length) buttons.push(button("Decline", () => answer({ outcome: { outcome: "cancelled" } })));
  const about = toolAbout(call);
  return h(
    "section",
    { class: "card ask", role: "group", "aria-labelledby": heading.id },
    heading,
    h("p", { class: "sentence" }, line(call.title ?? "A tool call without a name", 300)),
    about ? h("details", { open: hasDiff(call) }, h("summary", {}, "What it would do"), about) : null,
    h("p", { class: "buttons" }, ...buttons),
  );
}

/**
 * What was answered to a question.
 * @param {string} how by whom, as the beginning of a sentence
 * @param {any} params
 * @param {any} result
 */
export function answerWords(how, params, result) {
  const id = result?.outcome?.optionId;
  const option = Array.isArray(params?.options) ? params.options.find((/** @type {any} */ one) => one?.optionId === id) : null;
  const answer = option ? `: ${line(option.name, 80).textContent}` : "";
  const title = params?.toolCall?.title ? ` (${line(params.toolCall.title, 200).textContent})` : "";
  return `${how}${answer}${title}.`;
}

/** @param {string} optionId */
const chosen = (optionId) => ({ outcome: { outcome: "selected", optionId } });

/**
 * What is known of a tool call beside its title; null where nothing is.
 * @param {any} call
 */
export function toolAbout(call) {
  const parts = h("div");
  const places = Array.isArray(call.locations) ? call.locations.slice(0, 20) : [];
  for (const place of places) {
    const at = typeof place?.line === "number" ? `:${place.line}` : "";
    add(parts, h("p", {}, h("code", {}, line(place?.path, 300), at)));
  }
  const contents = Array.isArray(call.content) ? call.content.slice(0, 50) : [];
  for (const content of contents) add(parts, toolContent(content));
  for (const [name, value] of [["Input", call.rawInput], ["Output", call.rawOutput]]) {
    if (value === undefined || value === null) continue;
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    add(parts, h("p", { class: "label" }, name), h("div", { class: "code" }, new LongText(text, 2000).element));
  }
  return parts.firstChild ? parts : null;
}

/** @param {any} call */
const hasDiff = (call) => Array.isArray(call.content) && call.content.some((/** @type {any} */ one) => one?.type === "diff");

/** @param {any} content */
function toolContent(content) {
  if (content?.type === "diff") return diffView(content);
  if (content?.type === "content") {
    if (content.content?.type === "image") return picture(content.content);
    return h("div", { class: "code" }, new LongText(blockText(content.content), 2000).element);
  }
  return null;
}

/**
 * A block of content as text; what is none is named.
 * @param {any} block
 */
export function blockText(block) {
  if (typeof block?.text === "string") return block.text;
  if (typeof block?.resource?.text === "string") return block.resource.text;
  const name = block?.name ?? block?.uri ?? block?.resource?.uri ?? "";
  return `(${block?.type ?? "something"}${name ? ` ${name}` : ""})`;
}
