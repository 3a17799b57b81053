/**
 * A session's current settings, as its agent reports them: the mode, the commands, and how much of
 * the model's context is used.
 * @module
 */
import { button, count, h, line } from "./dom.js";

const MOST = 100;

export class InForce {
  #frame = 0;
  #mode = "";
  #modes = "";
  /** @type {any[]} */
  #commands = [];
  #usage = "";
  #isCommand = false;

  /**
   * @param {HTMLTextAreaElement} box
   * @param {(mode: string) => void} choose
   */
  constructor(box, choose) {
    this.box = box;
    this.mode = h("select", { id: "mode", onchange: () => choose(this.mode.value) });
    this.label = h("span", { hidden: true }, h("label", { for: "mode" }, "Mode"), " ", this.mode);
    this.usage = h("span");
    this.about = h("span", { class: "buttons" }, this.label, this.usage);
    this.list = h("ul", { class: "sessions" });
    this.commands = h("details", { hidden: true }, h("summary", {}, "Commands"), this.list);
    box.addEventListener("input", () => this.match());
  }

  /** @param {any} modes as opening or loading the session tells them */
  loaded(modes) {
    const all = Array.isArray(modes?.availableModes) ? modes.availableModes.slice(0, MOST) : [];
    const text = JSON.stringify(all);
    if (text !== this.#modes) {
      this.#modes = text;
      this.mode.replaceChildren(...all.map((/** @type {any} */ one) => h("option", { value: one.id }, line(one.name ?? one.id, 40).textContent)));
    }
    this.label.hidden = !all.length;
    this.choose(modes?.currentModeId);
  }

  /** @param {unknown} [mode] what is in force now; without, what was before */
  choose(mode = this.#mode) {
    this.#mode = this.mode.value = String(mode);
  }

  /**
   * Take in an update of the session's; false where it is of another kind.
   * @param {any} update
   */
  take(update) {
    switch (update.sessionUpdate) {
      case "current_mode_update":
        this.choose(update.currentModeId);
        return true;
      case "available_commands_update":
        this.#commands = Array.isArray(update.availableCommands) ? update.availableCommands.slice(0, MOST) : [];
        break;
      case "usage_update": {
        const { used, size, cost } = update;
        const money = typeof cost?.amount === "number" ? `, ${cost.amount.toFixed(2)} ${line(cost.currency, 8).textContent}` : "";
        this.#usage = size > 0 ? `Context: ${Math.round((100 * used) / size)} % of ${count(size)} tokens used${money}` : "";
        break;
      }
      default:
        return false;
    }
    this.#frame ||= requestAnimationFrame(() => this.#show());
    return true;
  }

  #show() {
    this.#frame = 0;
    this.usage.textContent = this.#usage;
    this.commands.hidden = !this.#commands.length;
    this.list.replaceChildren(
      ...this.#commands.map((one) => {
        const put = () => {
          this.box.value = `/${one.name} `;
          this.match();
          this.commands.open = false;
          this.box.focus();
        };
        return h("li", {}, button("", put, { "data-name": `/${one.name}` }), " ", line(one.description, 120));
      }),
    );
    for (const each of this.list.querySelectorAll("button")) each.append(line(each.dataset["name"], 60));
    this.match();
  }

  /** What a prompt that begins with a slash may go on with; shown until it goes on otherwise. */
  match() {
    const begun = this.box.value;
    const isCommand = /^\/\S*$/.test(begun);
    for (const each of this.list.querySelectorAll("li")) {
      const name = each.querySelector("button")?.dataset["name"] ?? "";
      each.hidden = isCommand && !name.startsWith(begun);
    }
    if (isCommand !== this.#isCommand) this.commands.open = isCommand;
    this.#isCommand = isCommand;
  }
}
