/**
 * One session: its conversation, its questions, its prompt box, and the status of its link.
 * @module
 */
import { readError } from "./agent_error.js";
import { controls, events, get, loginHelp, offerPush, problem, sessionPath } from "./api.js";
import { failureCard } from "./cards.js";
import { add, button, h, line, plural, span, toast } from "./dom.js";
import { InForce } from "./in_force.js";
import { Link } from "./link.js";
import { TITLES } from "./session_events.js";
import { answerWords, blockText, permissionCard } from "./tools.js";
import { Transcript } from "./transcript.js";
import { TRANSPORT_WORDS } from "./words.js";

const STOPS = {
  max_tokens: "The answer was cut off: it reached the model's limit.",
  max_turn_requests: "The agent stopped: it reached the limit of model calls in this turn.",
  refusal: "The model declined to continue.",
  cancelled: "Stopped.",
};

/** The kinds of events by which the past has its times and its answers. */
const TOLD = "viewer_came,prompt,asked,question_decided,retry,limit_wait,error,answer";
const ON_THE_PAGE = "Answered on the page";

/** How a question was decided, by the name of the client that answered, or another outcome. @type {Record<string, string>} */
const DECIDED = {
  "lastword page": ON_THE_PAGE,
  notification: "Answered by a notification's button",
  expired: "Declined by lastword, since no viewer was connected",
  rejected: "Declined by lastword, since no viewer was connected",
  timed_out: "Declined by lastword, since nobody answered in time",
  withdrawn: "The question was withdrawn",
  lost: "The question was lost with the agent's process",
};

/** @type {Record<string, string>} */
const ENDS = {
  unauthorized: "No longer logged in",
  session_unknown: "No such session",
  session_ended: "Ended",
  superseded: "Open elsewhere",
};

/** What was typed into a session's prompt box and not sent, while another view is open. @type {Map<string, string>} */
const drafts = new Map();

/** @param {string} name */
const sentence = (name) => {
  const word = TRANSPORT_WORDS.find((each) => each.word === name);
  return word ? `${word.sentence} ${word.advice}` : name.replaceAll("_", " ");
};

/**
 * @param {string} id
 * @returns {import("./main.js").View}
 */
export function sessionView(id) {
  const view = new SessionPage(id);
  return { element: view.element, title: "Session", close: () => view.close() };
}

/**
 * The links between a session's two views.
 * @param {string} id
 * @param {boolean} isLog
 */
export function sessionNav(id, isLog) {
  const place = `#/session/${encodeURIComponent(id)}`;
  return h(
    "nav",
    { class: "tabs", "aria-label": "This session" },
    h("a", { href: place, "aria-current": isLog ? null : "page" }, "Conversation"),
    " ",
    h("a", { href: `${place}/log`, "aria-current": isLog ? "page" : null }, "Log"),
  );
}

class SessionPage {
  /** @type {Map<string, HTMLElement>} */
  #questions = new Map();
  /** @type {Map<string, string>} */
  #clients = new Map();
  /** @type {Map<number, any>} */
  #asked = new Map();
  /** @type {string | null} */
  #prompt = null;
  /** The last prompt, whose files and pictures another client may have given it. @type {any[]} */
  #blocks = [];
  #choice = "";
  #isTurn = false;
  #isTurnSeen = false;
  #works = "";
  #isLive = false;
  #isSaid = false;
  #isEnded = false;
  #failed = "";
  #controls = true;
  #timer = 0;
  /** What has happened until this page was opened, without the conversation. @type {any[]} */
  #past = [];

  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.logUrl = `#/session/${encodeURIComponent(id)}/log`;
    this.transcript = new Transcript(this.logUrl);
    this.heading = h("h1", {}, line(id, 80));
    this.about = h("p", { class: "quiet" });
    this.message = h("span", { role: "status", class: "says" });
    this.countdown = h("span", { class: "countdown" });
    this.help = h("div");
    this.title = h("h2");
    this.status = h("div", { class: "link-status", hidden: true }, this.title, this.message, this.countdown, this.help);
    this.turn = h("p", { role: "status", class: "turn" }, "Loading the conversation…");
    this.questions = h("div");
    this.box = h("textarea", { id: "prompt", rows: 2, "aria-describedby": "prompt-hint", autocomplete: "off" });
    this.box.value = drafts.get(id) ?? "";
    this.inForce = new InForce(this.box, (mode) => this.#choose(mode));
    this.send = h("button", { type: "submit", class: "first", disabled: true }, "Send");
    this.stop = button("Stop", () => this.#cancel(), { hidden: true });
    this.form = h(
      "form",
      { class: "composer" },
      h("label", { for: "prompt" }, "Prompt"),
      this.box,
      h("p", { class: "buttons" }, this.send, this.stop, h("small", { id: "prompt-hint", class: "quiet" }, "Enter sends, Shift+Enter starts a new line.")),
      this.inForce.commands,
    );
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#submit();
    });
    const foot = h("div", { class: "foot" }, this.status, this.questions, h("div", { class: "now" }, this.turn, this.inForce.about), this.form);
    const push = h("p");
    void controls().then((may) => may && offerPush(push, id), () => undefined);
    new ResizeObserver(() => this.transcript.keepEnd()).observe(foot);
    this.element = h(
      "div",
      { class: "session" },
      h("div", { class: "heading" }, this.heading, sessionNav(id, false), this.about, push),
      this.transcript.element,
      foot,
    );
    this.link = new Link(id, {
      frame: (frame) => this.#frame(frame),
      anew: (isReset) => this.#anew(isReset),
      attached: (isReturn, loaded) => this.#attached(isReturn, loaded),
      show: (...shown) => this.#show(...shown),
      refused: (error) => this.#refused(error),
      state: (state) => this.#state(state),
      rtt: (ms) => this.status.setAttribute("data-rtt", ms.toFixed(1)),
    });
    void this.#begin();
  }

  close() {
    drafts.set(this.id, this.box.value);
    this.link.close();
    this.transcript.close();
    clearInterval(this.#timer);
  }

  async #begin() {
    try {
      this.#past = await this.#told(await this.#look());
    } catch (error) {
      const status = /** @type {any} */ (error).status;
      if (status !== 0 && status !== 404) {
        this.transcript.element.replaceWith(problem(error, () => location.reload()));
        this.element.lastElementChild?.remove();
        return;
      }
    }
    this.link.start();
  }

  /** How the session is, as the gateway tells it. */
  async #look() {
    this.#controls = await controls();
    const { session } = await get(sessionPath(this.id) + (this.#controls ? "?content=1" : ""));
    this.#works = session.activity ?? "";
    if (session.title) this.#name(session.title);
    const agent = session.agent ? `${session.agent.name} ${session.agent.version ?? ""}`.trim() : "";
    this.about.replaceChildren();
    add(this.about, line(agent, 80), agent && session.cwd ? " in " : "", line(session.cwd ?? "", 200));
    if (session.node) add(this.about, " on ", line(session.node, 63));
    this.form.hidden = !this.#controls;
    if (!this.#controls) add(this.about, this.about.textContent && " · ", "You watch this session.");
    return session;
  }

  /**
   * When turns began and failed, and who answered which question; nothing where that is not known.
   * @param {any} session
   * @returns {Promise<any[]>}
   */
  async #told({ epoch, first, head }) {
    const from = Math.max(first - 1, head - 50_000);
    const query = `&kinds=${TOLD}${this.#controls ? "&content=1" : ""}${from >= first ? `&after=${epoch}:${from}` : ""}`;
    return events(this.id, query, 20_000).then((page) => page.events, () => []);
  }

  /**
   * Go on in what has happened before, to this place in the log.
   * @param {number} seq
   */
  #reach(seq) {
    for (let event = this.#past[0]; event && event.seq <= seq; event = this.#past[0]) {
      this.#past.shift();
      this.transcript.at = event.at_epoch_ms;
      this.#learn(event);
      if (event.kind === "question_decided") this.transcript.note(this.#decided(event));
    }
  }

  /** @param {any} event */
  #learn({ kind, facts, viewer, content }) {
    if (kind === "viewer_came") this.#clients.set(viewer, facts.client);
    if (kind === "asked") this.#asked.set(facts.question, content?.params);
  }

  /** @param {any} event */
  #decided({ facts, viewer, content }) {
    const client = this.#clients.get(viewer) ?? viewer;
    const how = DECIDED[facts.how === "answered" ? client : facts.how] ?? `Answered in ${line(client, 40).textContent}`;
    return answerWords(how, this.#asked.get(facts.question), content?.result);
  }

  /** @param {string} title */
  #name(title) {
    this.heading.replaceChildren(line(title, 120));
    document.title = `${this.heading.textContent} · lastword`;
  }

  /** @param {boolean} isReset */
  #anew(isReset) {
    this.transcript.clear();
    this.transcript.catchUp(true);
    this.#isTurn = this.#prompt !== null;
    for (const id of [...this.#questions.keys()]) this.#withdraw(id);
    if (isReset) this.#news(sentence("log_reset"), true);
  }

  /**
   * @param {boolean} isReturn
   * @param {any} loaded
   */
  async #attached(isReturn, loaded) {
    this.#isLive = true;
    this.#reach(Infinity);
    this.transcript.at = null;
    this.inForce.loaded(loaded.modes);
    this.transcript.catchUp(false);
    this.#enable();
    this.#isTurnSeen = false;
    try {
      const session = await this.#look();
      // What has begun or ended meanwhile is newer than what the gateway has said of it.
      if (!this.#isTurnSeen) this.#isTurn = this.#prompt !== null || session.state === "running" || session.state === "waiting_for_answer";
    } catch {
      if (!isReturn && !this.#isTurnSeen) this.#isTurn = false;
    }
    this.#enable();
  }

  /** @param {any} error */
  #refused(error) {
    const read = readError(error);
    if (error.code === -32002 || !read) return;
    const { card } = failureCard(read, { received: Date.now(), logUrl: this.logUrl });
    this.help.replaceChildren(card);
  }

  /**
   * @param {string} sentence
   * @param {string} cause
   * @param {string | null} why
   * @param {string} advice
   * @param {string} label
   */
  #show(sentence, cause, why, advice, label) {
    this.#isEnded = why !== null;
    this.title.textContent = why && (ENDS[why] ?? "No connection to the gateway");
    this.title.hidden = !why;
    this.message.textContent = `${sentence} ${advice}`.trim();
    this.help.replaceChildren();
    this.status.hidden = !sentence;
    this.status.classList.toggle("over", why !== null);
    if (cause && why) add(this.help, h("details", {}, h("summary", {}, "What happened"), line(cause)));
    if (why === "unauthorized") add(this.help, loginHelp());
    const buttons = h("p", { class: "buttons" });
    if (label) add(buttons, button(label, () => this.link.retry(), { class: "first" }));
    if (why && why !== "session_unknown") add(buttons, h("a", { href: this.logUrl }, "Session log"));
    if (why) add(buttons, h("a", { href: "#/" }, "All sessions"));
    const isOver = why === "session_unknown" || why === "session_ended";
    this.form.hidden = !this.#controls || isOver;
    if (isOver) this.transcript.empty.remove();
    if (buttons.firstChild) add(this.help, buttons);
    if (!why && sentence.startsWith("Reconnected")) setTimeout(() => this.#quiet(sentence), 8000);
    this.#enable();
  }

  /** @param {string} sentence */
  #quiet(sentence) {
    if (this.message.textContent === sentence) this.status.hidden = true;
  }

  /** @param {import("./reconnect.js").State} state */
  #state(state) {
    clearInterval(this.#timer);
    const tick = () => {
      const waits = state.phase === "waiting" && state.online && state.due !== null && this.message.textContent;
      const left = waits ? (Number(state.due) - performance.now()) / 1000 : 0;
      this.countdown.textContent = left > 0 ? `Next try in ${span(left)}.` : "";
    };
    tick();
    if (state.phase === "waiting") this.#timer = setInterval(tick, 1000);
    if (state.phase !== "attached" && this.#isLive) {
      this.#isLive = false;
      this.#enable();
    }
  }

  #enable() {
    this.send.disabled = !this.#isLive || this.#isTurn;
    this.stop.hidden = !this.#isTurn;
    this.stop.disabled = !this.#isLive;
    this.inForce.mode.disabled = !this.#isLive || !this.#controls;
    let sentence = this.#failed;
    if (this.#isEnded) sentence = "";
    else if (!this.#isLive) sentence = this.transcript.length ? "Not connected. What happens is shown later." : "Loading the conversation…";
    else if (this.#questions.size) sentence = "The agent is waiting for your answer.";
    else if (this.#isTurn) sentence = "The agent is working.";
    else if (this.#works === "active") sentence = "The agent is working in the background.";
    else if (this.#failed) sentence = this.#failed;
    if (this.turn.textContent !== sentence) this.turn.textContent = sentence;
  }

  #submit() {
    const text = this.box.value.trim();
    if (!text || this.send.disabled) return;
    this.box.value = "";
    this.inForce.match();
    this.#say(text);
  }

  /**
   * @param {string} text
   * @param {any[]} [prompt]
   */
  #say(text, prompt = [{ type: "text", text }]) {
    if (!this.#isLive || this.#isTurn) return;
    this.transcript.user(text, true);
    this.#isTurn = this.#isTurnSeen = true;
    this.#failed = "";
    this.#blocks = prompt;
    this.#prompt = this.link.request("session/prompt", { sessionId: this.id, prompt });
    this.#enable();
    this.box.focus({ preventScroll: true });
    scrollTo({ top: document.documentElement.scrollHeight });
  }

  /** @param {string} modeId */
  #choose(modeId) {
    this.#choice = this.link.request("session/set_mode", { sessionId: this.id, modeId });
  }

  #cancel() {
    this.link.notify("session/cancel", { sessionId: this.id });
    for (const id of [...this.#questions.keys()]) {
      this.link.answer(id, { outcome: { outcome: "cancelled" } });
      this.#withdraw(id);
    }
  }

  /** @param {any} frame */
  #frame(frame) {
    const params = frame.params ?? {};
    this.#reach(params._meta?.lastword?.seq ?? 0);
    const isUser = params.update?.sessionUpdate === "user_message_chunk";
    switch (frame.method) {
      case undefined:
        return this.#answered(frame);
      case "session/update":
        this.#update(frame, params.update ?? {});
        this.#isSaid = isUser;
        return;
      case "session/request_permission":
        return this.#question(String(frame.id), params);
      case "$/cancel_request":
        return this.#answeredElsewhere(String(params.requestId), params._meta?.lastword?.text);
      case "_lastword/ended":
        return this.#ended(params.stopReason, params.error && readError(params.error));
      case "_lastword/gap": {
        const lost = plural(params.to - params.from + 1, "entry");
        return this.#news(`${sentence("gap")} (${lost})`, true);
      }
      case "_lastword/life":
        return this.#life(params);
    }
    if (frame.id !== undefined) {
      this.transcript.note("The agent asks for something that this page cannot show. Answer it in another client.", "warning");
    }
  }

  /**
   * @param {any} frame
   * @param {any} update
   */
  #update(frame, update) {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        this.#isTurn = this.#isTurnSeen = true;
        this.#failed = "";
        this.#blocks = this.#isSaid ? [...this.#blocks, update.content] : [update.content];
        if (update.content?.type === "image") this.transcript.picture("You", update.content);
        else this.transcript.user(blockText(update.content), !this.#isSaid);
        return this.#enable();
      case "agent_error":
      case "_agent_error":
        return this.#fail(readError(frame));
      case "agent_retry":
      case "_agent_retry": {
        const error = update.error && readError(update.error);
        // What the user could do about it is not to be done: the agent does.
        const [what = ""] = (error?.message ?? "The model call failed.").split(/(?<=\.)\s/, 1);
        return this.transcript.retry(what, update);
      }
      case "session_info_update":
        if (typeof update.title === "string" && update.title) this.#name(update.title);
        this.#works = update._meta?.lastword?.session ?? this.#works;
        this.#enable();
        return this.#fail(readError(frame));
      case "notice":
        return this.#news(line(update.title, 300).textContent ?? "", update.severity !== "info", this.#isLive ? Date.now() : 0);
      default:
        if (!this.inForce.take(update)) this.transcript.update(update);
    }
  }

  /** @param {any} frame */
  #answered(frame) {
    if (frame.id === this.#choice) {
      if (!frame.error) return this.inForce.choose(this.inForce.mode.value);
      this.inForce.choose();
      return this.#news(`The agent keeps its mode: ${line(frame.error.message).textContent}`, true);
    }
    if (frame.id !== this.#prompt) return;
    this.#prompt = null;
    this.#ended(frame.result?.stopReason, frame.error ? readError(frame) : readError(frame.result));
  }

  /**
   * @param {string | undefined} stopReason
   * @param {any} error
   */
  #ended(stopReason, error) {
    this.#isTurnSeen = true;
    this.#isTurn = this.#prompt !== null;
    this.#works = "";
    if (error) this.#fail(error);
    else {
      this.transcript.settle();
      const sentence = STOPS[/** @type {keyof typeof STOPS} */ (stopReason ?? "")];
      if (sentence) this.transcript.note(sentence, stopReason === "cancelled" ? "info" : "warning");
    }
    for (const id of [...this.#questions.keys()]) this.#withdraw(id);
    this.#enable();
  }

  /** @param {any} error */
  #fail(error) {
    if (!error) return;
    const name = error.incident_id ?? JSON.stringify(error);
    const isKnown = this.#failed !== "" && this.failure === name;
    this.failure = name;
    this.#failed = `The turn failed: ${TITLES[error.type]}.`;
    if (!isKnown) {
      this.transcript.failed(error, {
        received: this.transcript.now,
        again: this.#controls ? () => this.#again() : null,
        edit: this.#controls ? () => this.#edit() : null,
      });
      if (this.#isLive && this.#prompt === null) toast(`${TITLES[error.type]}. The conversation says what to do.`, "warning");
    }
    this.#enable();
  }

  /** Send the last prompt again; one of several texts, which may be pieces, as one text. */
  #again() {
    const isText = this.#blocks.every((block) => block?.type === "text");
    this.#say(this.transcript.lastPrompt, isText ? undefined : this.#blocks);
  }

  #edit() {
    this.box.value = this.transcript.lastPrompt;
    this.box.focus();
  }

  /**
   * @param {string} id
   * @param {any} params
   */
  #question(id, params) {
    if (this.#questions.has(id)) return;
    const card = permissionCard(params, this.transcript.now, (result) => {
      this.link.answer(id, result);
      this.#withdraw(id);
      this.transcript.note(answerWords(ON_THE_PAGE, params, result));
    });
    this.#questions.set(id, card);
    this.questions.append(card);
    this.#isTurn = this.#isTurnSeen = true;
    this.#enable();
  }

  /** @param {string} id */
  #withdraw(id) {
    const card = this.#questions.get(id);
    if (!card) return;
    const hadFocus = card.contains(document.activeElement);
    card.remove();
    this.#questions.delete(id);
    if (hadFocus) (this.questions.querySelector("button") ?? this.box).focus();
    this.#enable();
  }

  /**
   * @param {string} id
   * @param {string} [text]
   */
  #answeredElsewhere(id, text) {
    if (!this.#questions.has(id)) return;
    this.#withdraw(id);
    if (!this.#isLive) return;
    if (text) return this.#news(text, true);
    const told = this.#look().then((session) => this.#told(session)).catch(() => []);
    void told.then((past) => {
      past.forEach((each) => this.#learn(each));
      const event = past.find((each) => each.kind === "question_decided" && id.endsWith(`:${each.facts.question}`));
      this.#news(event ? this.#decided(event) : "The question was answered elsewhere, or withdrawn.", false);
    });
  }

  /** @param {any} params */
  #life(params) {
    const facts = params.facts ?? {};
    switch (params.word) {
      case "restored":
        if (facts.history === "none") return this.#news(sentence("restored_without_history"), true, params.at);
        return this.#news("The agent was restarted, and knows this conversation.", false, params.at);
      case "agent_ended":
        return this.#news(`The agent's process ended (${facts.exit_signal ?? `exit status ${facts.exit_code}`}). The gateway starts it again.`, true, params.at);
      case "holder_died":
        if (!facts.open_turns) return this.#news("The agent or its gateway stopped. The agent is started again.", true, params.at);
        return this.#news(sentence(params.word), true, params.at);
      case "not_restored":
      case "log_reset":
      case "session_ended":
        return this.#news(sentence(params.word), true, params.at);
    }
  }

  /**
   * What used to be silent: as a line of the conversation, and of the moment.
   * @param {string} sentence
   * @param {boolean} isWarning
   * @param {number} [at]
   */
  #news(sentence, isWarning, at = Date.now()) {
    this.transcript.note(sentence, isWarning ? "warning" : "info", at);
    if (Date.now() - at < 60_000) toast(sentence, isWarning ? "warning" : "info");
  }
}
