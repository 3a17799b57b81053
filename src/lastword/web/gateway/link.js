/**
 * One session's link to the gateway: a WebSocket, reconnected by the policy of `reconnect.js`. Owns
 * the socket, the timer, the cursor, and the open requests. The cursor moves when an entry has been
 * applied.
 * @module
 */
import { initial, step } from "./reconnect.js";
import { report, sendReports, sessionPath } from "./api.js";
import { wordOfClose } from "./words.js";

/** @typedef {import("./reconnect.js").State} State */
/** @typedef {import("./reconnect.js").Action} Action */
/**
 * @typedef {{
 *   frame: (frame: any) => void,
 *   anew: (isReset: boolean) => void,
 *   attached: (isReturn: boolean, loaded: any) => void,
 *   show: (line: string, cause: string, why: string | null, advice: string, button: string) => void,
 *   refused: (error: any) => void,
 *   state: (state: State) => void,
 *   rtt: (ms: number) => void,
 * }} Observer
 */

const PROTOCOL = "acp.lastword.v1";
const LOOPBACK = /^(localhost|127(\.[0-9]+){3}|\[::1\])$/;

/** What this window has measured: milliseconds from a probe to its answer, the newest last. */
/** @type {number[]} */
export const rtts = [];

export class Link {
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {State} */
  #state;
  #timer = 0;
  #last = 0;
  #epoch = "";
  #seq = 0;
  /** @type {[number, number]} */
  #part = [0, 0];
  #before = 0;
  #since = 0;
  /** @type {object | null} */
  #viewer = null;
  /** @type {Map<string, string>} */
  #pending = new Map();
  /** @type {Map<string, number>} */
  #probes = new Map();
  /** @type {number | undefined} what the last probe took, until it has been reported to the gateway */
  #rtt;
  #over = new AbortController();

  /**
   * @param {string} session
   * @param {Observer} observer
   */
  constructor(session, observer) {
    this.session = session;
    this.observer = observer;
    this.#state = initial(now());
    const listen = { signal: this.#over.signal };
    document.addEventListener("visibilitychange", () => this.#look(), listen);
    if (!LOOPBACK.test(location.hostname)) {
      addEventListener("online", () => this.#take({ event: "online" }), listen);
      addEventListener("offline", () => this.#take({ event: "offline" }), listen);
      if (!navigator.onLine) this.#take({ event: "offline" });
    }
  }

  get isAttached() {
    return this.#state.phase === "attached";
  }

  start() {
    this.#take({ event: "tick" });
  }

  retry() {
    this.#take({ event: "retry" });
  }

  close() {
    this.#take({ event: "close" });
    this.#over.abort();
    clearTimeout(this.#timer);
  }

  /**
   * Ask for something; the answer comes as a frame with this id, whatever the link does meanwhile.
   * @param {string} method
   * @param {object} params
   */
  request(method, params) {
    this.#last += 1;
    const id = `p${this.#last}`;
    const frame = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    this.#pending.set(id, frame);
    if (this.isAttached) this.#socket?.send(frame);
    return id;
  }

  /**
   * @param {string} method
   * @param {object} params
   */
  notify(method, params) {
    if (this.isAttached) this.#send({ method, params });
  }

  /**
   * Answer a question; again after each attach, since nothing says that the answer came.
   * @param {string} id
   * @param {object} result
   */
  answer(id, result) {
    const frame = JSON.stringify({ jsonrpc: "2.0", id, result });
    this.#pending.set(`answer ${id}`, frame);
    if (this.isAttached) this.#socket?.send(frame);
  }

  #look() {
    this.#take({ event: document.visibilityState === "hidden" ? "hidden" : "visible" });
  }

  /** @param {import("./reconnect.js").Event} event */
  #take(event) {
    const [state, actions] = step(this.#state, event, now(), Math.random());
    const isNew = state !== this.#state;
    this.#state = state;
    for (const action of actions) this.#do(action);
    if (isNew) this.observer.state(this.#state);
  }

  /** @param {Action} action */
  #do(action) {
    switch (action.action) {
      case "connect":
        return this.#connect();
      case "close":
        return this.#drop(action.code, action.reason);
      case "probe":
        return this.#probe();
      case "show":
        return this.observer.show(action.line, action.cause, null, "", "");
      case "give_up":
        report("gave_up", { session_id: this.session, tries: this.#state.tries });
        return this.observer.show(action.line, action.cause, action.why, action.advice, action.button);
      case "wait":
        clearTimeout(this.#timer);
        if (action.until === null) return;
        this.#timer = setTimeout(() => this.#take({ event: "tick" }), Math.max(0, action.until - now()));
    }
  }

  #connect() {
    this.#drop(1000, "");
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    /** @type {WebSocket} */
    let socket;
    try {
      socket = new WebSocket(`${scheme}://${location.host}${sessionPath(this.session)}/ws`, [PROTOCOL]);
    } catch (error) {
      return this.#take({ event: "failed", kind: String(error) });
    }
    this.#socket = socket;
    socket.onopen = () => {
      this.#take({ event: "opened" });
      this.#greet();
    };
    socket.onmessage = (message) => {
      if (socket === this.#socket) this.#receive(String(message.data));
    };
    socket.onclose = (closed) => {
      if (socket === this.#socket) this.#closed(closed.code, closed.reason);
    };
  }

  /**
   * Forget the socket: what it still says is passed to nobody.
   * @param {number} code
   * @param {string} reason
   */
  #drop(code, reason) {
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    if (code === 4408) this.#reportEnd(code, reason);
    socket.close(code, reason);
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  #closed(code, reason) {
    this.#socket = null;
    if (this.isAttached && code !== 1000) this.#reportEnd(code, reason);
    this.#take({ event: "closed", code, reason });
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  #reportEnd(code, reason) {
    const word = wordOfClose(code, reason)?.word ?? `closed_${code}`;
    report(word, { session_id: this.session, code, lasted_ms: Math.max(0, now() - this.#since) });
  }

  /** @param {object} message */
  #send(message) {
    this.#socket?.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  #greet() {
    const capabilities = { session: { notices: {} }, _meta: { agent_error: { version: 1, retry: true } } };
    this.#send({
      id: "initialize",
      method: "initialize",
      params: {
        protocolVersion: 1,
        clientCapabilities: capabilities,
        clientInfo: { name: "lastword page", version: "1" },
        _meta: { lastword: { replay: 1, lines: 1, ...this.#viewer } },
      },
    });
  }

  #attach() {
    const after = this.#epoch ? { after: { epoch: this.#epoch, seq: this.#seq } } : {};
    this.#before = this.#seq;
    const meta = { lastword: { replay: "compact", ...after } };
    const params = { sessionId: this.session, cwd: "/", mcpServers: [], _meta: meta };
    this.#send({ id: "load", method: "session/load", params });
  }

  #probe() {
    this.#last += 1;
    const id = `probe${this.#last}`;
    this.#probes.set(id, performance.now());
    this.#send({ id, method: "_lastword/ping", params: { sessionId: this.session, seq: this.#seq, rttMs: this.#rtt } });
    this.#rtt = undefined;
  }

  /**
   * A message of frames, one a line: a message costs a browser more than what is in it.
   * @param {string} message
   */
  #receive(message) {
    this.#take({ event: "frame" });
    for (const text of message.split("\n")) if (this.#socket) this.#frame(text);
  }

  /** @param {string} text */
  #frame(text) {
    let frame;
    try {
      frame = JSON.parse(text);
    } catch {
      return report("bad_frame", { session_id: this.session });
    }
    if (frame.method === undefined) return this.#answered(frame);
    const ours = frame.params?._meta?.lastword;
    if (frame.method === "_lastword/at" && ours?.epoch) this.#begin(ours.epoch, ours.from);
    if (ours?.of) {
      // A part of an entry, which comes again where the link was cut before its last.
      if (ours.of === this.#part[0] && ours.part <= this.#part[1]) return;
      this.#part = [ours.of, ours.part];
    }
    this.observer.frame(frame);
    if (Number.isSafeInteger(ours?.seq)) this.#seq = ours.seq;
  }

  /**
   * An attach begins here, in this log.
   * @param {string} epoch
   * @param {number} from
   */
  #begin(epoch, from) {
    if (epoch !== this.#epoch) this.observer.anew(this.#epoch !== "");
    this.#epoch = epoch;
    this.#seq = from - 1;
    this.#before = Math.min(this.#before, this.#seq);
  }

  /** @param {any} frame */
  #answered(frame) {
    const id = String(frame.id);
    if (id === "initialize") return this.#greeted(frame);
    if (id === "load") return this.#loaded(frame);
    const began = this.#probes.get(id);
    if (began !== undefined) {
      this.#probes.delete(id);
      this.#rtt = performance.now() - began;
      rtts.push(this.#rtt);
      if (rtts.length > 100) rtts.shift();
      return this.observer.rtt(this.#rtt);
    }
    if (this.#pending.delete(id)) this.observer.frame(frame);
  }

  /** @param {any} frame */
  #greeted(frame) {
    if (frame.error) return this.#refused(frame.error);
    const ours = frame.result?._meta?.lastword ?? {};
    this.#viewer = { viewer: ours.viewer, secret: ours.secret };
    this.#attach();
  }

  /** @param {any} frame */
  #loaded(frame) {
    if (frame.error) return this.#refused(frame.error);
    const ours = frame.result?._meta?.lastword ?? {};
    if (Number.isSafeInteger(ours.head)) this.#seq = Math.max(this.#seq, ours.head);
    const isReturn = this.#state.returning;
    const updates = isReturn ? Math.max(0, this.#seq - this.#before) : 0;
    this.#since = now();
    this.#take({ event: "attached", updates, probes: true });
    for (const waiting of this.#pending.values()) this.#socket?.send(waiting);
    this.observer.attached(isReturn, frame.result ?? {});
    void sendReports();
    this.#probe();
  }

  /**
   * The attach was answered by an error, which says why in a sentence.
   * @param {any} error
   */
  #refused(error) {
    this.observer.refused(error);
    this.#take({ event: "refused", status: error.code === -32002 ? 404 : 503 });
  }
}

const now = () => Math.floor(performance.now());
