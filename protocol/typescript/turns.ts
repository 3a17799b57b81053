// The turns of one connection: which message belongs to which, and how each of them ends.
//
// Owns: the state of every open prompt turn, the choice of the rung (section "The ladder" of
// protocol/README.md), cancels and timeouts. Does not own: what failed (classify.ts), the form of
// an error (ladder.ts), I/O (guard.ts).
import type { AgentErrorPayload, Phase, RetrySafety } from "./agent_error.js";
import { ERROR_TYPE, RETRY_SAFETY, readError } from "./agent_error.js";
import { payloadOf, type Failure } from "./classify.js";
import {
  errorObject,
  failureOf,
  finished,
  object,
  ofError,
  updateOf,
  type Id,
  type Json,
  type Message,
  type Sent,
} from "./ladder.js";
import { CLIENTS } from "./tables.js";

/** The limits of a guard; 0 disables a timeout. */
export interface GuardOptions {
  /** Silence allowed before a turn's first update (900). */
  firstUpdateTimeoutSeconds?: number;
  /** Silence allowed within a turn (900). */
  idleTimeoutSeconds?: number;
  /** Silence allowed during a tool call (7200). */
  toolTimeoutSeconds?: number;
  /** A turn's maximum duration (0). */
  turnTimeoutSeconds?: number;
  /** Silence after which a client that shows notices gets one, once for each (45). */
  warnAfterSeconds?: number;
  /** Time for a handler to answer a cancel (10). */
  cancelGraceSeconds?: number;
  /** Whether `end_turn` with nothing shown is a failure (`error`). */
  silentSuccess?: "error" | "pass";
  /** How a failure reaches a client that has not negotiated (`auto`). */
  fallback?: "auto" | "error" | "result" | "text";
}

const DEFAULTS: Required<GuardOptions> = {
  firstUpdateTimeoutSeconds: 900,
  idleTimeoutSeconds: 900,
  toolTimeoutSeconds: 7200,
  turnTimeoutSeconds: 0,
  warnAfterSeconds: 45,
  cancelGraceSeconds: 10,
  silentSuccess: "error",
  fallback: "auto",
};
const IMPLEMENTATION = "lastword-typescript/0.3.0";
const HOLD_MS = 250;
const MAX_RETRY_WAIT_MS = 6 * 3_600_000;
const MAX_WAITING = 32;
const SAFE_KINDS = ["read", "search", "think", "fetch"];
const STOP_REASONS = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"];
const QUESTIONS = ["session/request_permission", "elicitation/create"];
const CHANGES = ["fs/write_text_file", "terminal/create"];
const FILES_AND_TERMINALS = ["fs/read_text_file", "terminal/output", "terminal/wait_for_exit"];
const NOTIFICATIONS = ["session/update", "elicitation/complete", "$/cancel_request"];
const HARMLESS = [...FILES_AND_TERMINALS, ...NOTIFICATIONS, ...QUESTIONS];
const ABOUT_SESSION =
  /^(?:available_commands|current_mode|config_option|session_info|usage)_update$/;

/** Stands for the idle update of version 2 that a session still owes. */
const IDLE = "lastword:idle";
const UNKNOWN: Failure = { type: "unknown", retryable: false };
const OWN_CANCEL: Failure = { ...UNKNOWN, reason: "agent_cancelled" };
const STALLED: Failure = { type: "agent_stalled", retryable: true };

class Session {
  readonly name: string;
  turns: Turn[] = [];
  readonly tools = new Map<string, { safe: boolean; running: boolean; status: unknown }>();
  readonly questions = new Set<Id>();
  /** Other requests to the client that have no answer yet. */
  readonly calls = new Set<Id>();
  /** Prompts that were answered in the handler's place, whose own answers are still to come. */
  readonly old = new Set<Id>();
  waiting: { message: Message; until: number }[] = [];
  action = false;

  constructor(name: string) {
    this.name = name;
  }

  isRunningTool(): boolean {
    return [...this.tools.values()].some((tool) => tool.running);
  }
}

class Turn {
  readonly session: Session;
  ids: Id[];
  readonly began: number;
  active: number;
  accepted = false;
  shown = false;
  text = false;
  thought = false;
  tool = false;
  ran = false;
  unsafe = false;
  /** Something may have happened that is not known to be harmless. */
  begun = false;
  asked = false;
  left = false;
  lenient = false;
  cancelled = false;
  /** What `active` was when the client got a notice of the silence since. */
  warned: number | undefined;
  stopping: Failure | undefined;
  ends: number | undefined;
  held: { message: Message; until: number } | undefined;
  announced: AgentErrorPayload | undefined;
  hint: Failure | undefined;

  constructor(session: Session, id: Id, now: number) {
    this.session = session;
    this.ids = [id];
    this.began = this.active = now;
  }
}

/** The guard between one client and its agent, without I/O; `now` is in milliseconds. */
export class GuardCore {
  readonly #options: Required<GuardOptions>;
  readonly #sessions = new Map<string, Session>();
  /** The sessions with turns, or that wait for an old handler's answer. */
  readonly #busy = new Set<Session>();
  /** The sessions of the agent's requests to the client. */
  readonly #asked = new Map<Id, Session>();
  readonly #toClient: (message: Message) => void;
  readonly #toAgent: (message: Message) => void;
  readonly #warn: (text: string) => void;
  #initialize: Id | undefined;
  #client = { typed: false, stopReason: false, retry: false, notices: false, name: "" };
  #version = 1;
  #canLogin = false;

  constructor(
    options: GuardOptions,
    toClient: (message: Message) => void,
    toAgent: (message: Message) => void,
    warn: (text: string) => void = () => {},
  ) {
    this.#options = { ...DEFAULTS, ...options };
    this.#toClient = toClient;
    this.#toAgent = toAgent;
    this.#warn = warn;
  }

  /** The open prompts of the session that the params of a message name. */
  promptsOf(params: unknown): Id[] {
    const session = this.#sessions.get(String(object(params)["sessionId"]));
    return session?.turns.flatMap((turn) => turn.ids) ?? [];
  }

  // --- what the client sends ---

  fromClient(message: Message, now: number): void {
    const { method, params } = message as { method?: string; params?: unknown };
    const id = message["id"] as Id;
    const session = this.#sessions.get(String(object(params)["sessionId"]));
    if (method === "initialize") {
      this.#initialize = id;
      this.#readClient(object(params));
    } else if (method === "session/prompt" && this.#begin(message, now)) return;
    else if (session && (method === "session/cancel" || method === "session/close")) {
      for (const turn of session.turns) this.#cancel(turn, now);
      for (const { message: waiting } of session.waiting.splice(0))
        this.#answerCancelled([waiting["id"] as Id]);
    } else if (method === "$/cancel_request") {
      const wanted = object(params)["requestId"] as Id;
      for (const one of this.#busy) {
        for (const turn of one.turns) if (turn.ids.includes(wanted)) this.#cancel(turn, now);
        const at = one.waiting.findIndex((each) => each.message["id"] === wanted);
        if (at >= 0) {
          one.waiting.splice(at, 1);
          return this.#answerCancelled([wanted]);
        }
      }
    } else if (method === undefined) this.#answered(message, now);
    this.#toAgent(message);
  }

  #readClient(params: Json): void {
    const is2 = params["protocolVersion"] === 2;
    const capabilities = object(params[is2 ? "capabilities" : "clientCapabilities"]);
    const said = object(object(capabilities["_meta"])["agent_error"]);
    const typed = Number.isInteger(said["version"]) && (said["version"] as number) >= 1;
    this.#client = {
      typed,
      stopReason: typed && said["stop_reason"] === true,
      retry: typed && said["retry"] === true,
      notices: is2 || "notices" in object(capabilities["session"]),
      name: String(object(params[is2 ? "info" : "clientInfo"])["name"]).toLowerCase(),
    };
  }

  /** Begins a turn, or lets its prompt wait for an old one's answer; true if it waits. */
  #begin(message: Message, now: number): boolean {
    const params = object(message["params"]);
    const id = message["id"] as Id;
    const name = String(params["sessionId"]);
    const session = this.#sessions.get(name) ?? new Session(name);
    this.#sessions.set(name, session);
    this.#busy.add(session);
    for (const one of session.turns) if (one.held) this.#release(one);
    if (session.old.size) {
      if (session.waiting.length < MAX_WAITING) {
        session.waiting.push({ message, until: now + this.#options.cancelGraceSeconds * 1000 });
      } else this.#fail(new Turn(session, id, now), { ...STALLED, reason: "queue_full" });
      return true;
    }
    const [joined] = session.turns;
    if (this.#version === 2 && joined) {
      joined.ids.push(id);
      joined.lenient = true;
      return false;
    }
    // What an earlier turn left open is not this one's.
    if (!joined) for (const open of [session.tools, session.questions, session.calls]) open.clear();
    const turn = new Turn(session, id, now);
    const blocks = Array.isArray(params["prompt"]) ? params["prompt"] : [];
    turn.lenient = blocks.some((block) => String(object(block)["text"] ?? "").startsWith("/"));
    session.turns.push(turn);
    if (session.turns.length > 1) for (const one of session.turns) one.lenient = true;
    return false;
  }

  #cancel(turn: Turn, now: number): void {
    const { session } = turn;
    turn.cancelled = true;
    turn.left ||= session.questions.size > 0 || session.action;
    turn.ends ??= now + this.#options.cancelGraceSeconds * 1000;
    if (turn.held) this.#release(turn);
  }

  /** The client's answer to a request of the agent's. */
  #answered(message: Message, now: number): void {
    const id = message["id"] as Id;
    const session = this.#asked.get(id);
    this.#asked.delete(id);
    if (session?.calls.delete(id)) for (const turn of session.turns) turn.active = now;
    if (!session?.questions.delete(id)) return;
    const result = object(message["result"]);
    const choice = object(result["outcome"])["outcome"] ?? result["action"];
    for (const turn of session.turns) {
      turn.active = now;
      turn.begun ||= choice === "selected";
      if (!turn.cancelled)
        turn.left = "error" in message || choice === "cancelled" || choice === "cancel";
    }
  }

  // --- what the agent sends ---

  fromAgent(message: Message, now: number): void {
    const { method, params } = message as { method?: string; params?: unknown };
    const id = message["id"] as Id;
    if (method === undefined) return this.#response(message, id, now);
    const name = String(object(params)["sessionId"]);
    const session = this.#sessions.get(name);
    const quarantined = session && session.old.size > 0 && session.turns.length === 0;
    const update = method === "session/update" ? object(object(params)["update"]) : undefined;
    if (quarantined && "id" in message) {
      const cancelled = { result: { outcome: { outcome: "cancelled" } } };
      const refused = { error: { code: -32800, message: "The turn has ended." } };
      return this.#toAgent({
        jsonrpc: "2.0",
        id,
        ...(method === QUESTIONS[0] ? cancelled : refused),
      });
    }
    if (quarantined && update?.["state"] === "idle" && session.old.delete(IDLE))
      return this.#resume(session, now);
    if (quarantined && !ABOUT_SESSION.test(String(update?.["sessionUpdate"]))) return;
    if (method === "$/cancel_request") {
      const withdrawn = object(params)["requestId"] as Id;
      this.#asked.get(withdrawn)?.questions.delete(withdrawn);
    }
    const concerned = session ? [session] : [...this.#busy];
    if (session && update && this.#special(session, update, message, now)) return;
    for (const one of concerned) {
      if (update) this.#note(one, update, session !== undefined, now);
      for (const turn of one.turns) {
        turn.active = Math.max(turn.active, now);
        if (update) continue;
        if (CHANGES.includes(method)) turn.unsafe = turn.shown = true;
        else if (!method.startsWith("$/") && !HARMLESS.includes(method)) turn.begun = true;
        if (QUESTIONS.includes(method)) turn.asked = turn.shown = true;
      }
    }
    if (session && "id" in message) {
      (QUESTIONS.includes(method) ? session.questions : session.calls).add(id);
      this.#asked.set(id, session);
    }
    this.#toClient(message);
  }

  /** Handles an update about a failure, a retry or the end of a turn; true if that is all. */
  #special(session: Session, update: Json, message: Message, now: number): boolean {
    const kind = String(update["sessionUpdate"]).replace(/^_/, "");
    const turn = session.turns.at(-1);
    const isOnlyError =
      kind === "session_info_update" &&
      Object.keys(update).length === 2 &&
      Object.keys(object(update["_meta"])).join() === "agent_error";
    if ((kind === "agent_error" || isOnlyError) && turn) {
      turn.announced = readError(update) ?? undefined;
      return true;
    }
    if (kind === "agent_retry") {
      this.#retry(session, update, now);
      return true;
    }
    if (this.#version !== 2 || kind !== "state_update" || !turn) return false;
    session.action = update["state"] === "requires_action";
    if (update["state"] !== "idle" || !turn.accepted) return false;
    // A prompt that is not accepted yet begins work of its own.
    const ids = turn.cancelled ? [] : turn.ids.splice(0);
    if (ids.length) session.turns.push(Object.assign(new Turn(session, null, now), { ids }));
    return this.#idle(turn, update, message, now);
  }

  #idle(turn: Turn, update: Json, message: Message, now: number): boolean {
    const reason = update["stopReason"];
    if (turn.stopping && !turn.cancelled) this.#fail(turn, turn.stopping);
    else if (turn.cancelled && (reason === "error" || (turn.left && reason !== "cancelled"))) {
      if (turn.left) this.#closeTools(turn.session);
      this.#idleAs(turn.session, { stopReason: "cancelled" });
      this.#over(turn);
    } else if (reason === "error") {
      const { sessionUpdate: _, state: __, stopReason: ___, error, ...rest } = update;
      this.#failAs(turn, object(error), rest);
    } else if (isOwnCancel(turn, reason)) this.#fail(turn, OWN_CANCEL);
    else if (reason === "end_turn" && !turn.cancelled && this.#isSilent(turn)) {
      turn.held = { message, until: now + HOLD_MS };
    } else {
      this.#over(turn);
      return false;
    }
    return true;
  }

  #retry(session: Session, update: Json, now: number): void {
    const failure = failureOf(readError({ sessionUpdate: "agent_error", error: update["error"] }));
    const wait = Math.min(Number(update["wait_seconds"] ?? 0) * 1000 || 0, MAX_RETRY_WAIT_MS);
    for (const turn of session.turns) {
      turn.active = now + wait;
      turn.hint = failure;
    }
    const kind = this.#version === 2 ? "_agent_retry" : "agent_retry";
    if (this.#client.retry) return this.#update(session, { ...update, sessionUpdate: kind });
    const attempt =
      update["attempt"] === undefined ? "" : ` (attempt ${String(update["attempt"])})`;
    const when = wait ? ` in ${wait / 1000} s` : "";
    this.#notice(session, `${whatOf(failure)} The agent tries again${when}${attempt}.`);
  }

  #update(session: Session, update: Json): void {
    this.#toClient(updateOf(session.name, update));
  }

  #idleAs(session: Session, end: Json): void {
    this.#update(session, { ...end, sessionUpdate: "state_update", state: "idle" });
  }

  #notice(session: Session, title: string): void {
    if (this.#client.notices)
      this.#update(session, { sessionUpdate: "notice", severity: "warning", title });
  }

  /** Counts what the turn has shown and begun. */
  #note(session: Session, update: Json, isOwn: boolean, now: number): void {
    const kind = String(update["sessionUpdate"]);
    const content = object(update["content"]);
    const isEmpty = content["type"] === "text" && content["text"] === "";
    let shown = ["plan", "plan_update"].includes(kind);
    for (const turn of session.turns) {
      if (turn.stopping) continue;
      if (!isOwn) {
        turn.begun ||= !isEmpty && !ABOUT_SESSION.test(kind);
        continue;
      }
      if (kind === "agent_message_chunk" || kind === "agent_message")
        shown = turn.text ||= !isEmpty;
      if (kind === "agent_thought_chunk" || kind === "agent_thought")
        shown = turn.thought ||= !isEmpty;
      if (kind.startsWith("tool_call")) shown = turn.tool = true;
      turn.shown ||= shown;
      if (shown) turn.hint = undefined;
      if (shown && turn.held) this.#release(turn);
    }
    if (!kind.startsWith("tool_call") || !isOwn) return;
    const id = String(update["toolCallId"]);
    const before = session.tools.get(id);
    const safe =
      update["kind"] === undefined
        ? (before?.safe ?? false)
        : SAFE_KINDS.includes(String(update["kind"]));
    const status = update["status"] ?? before?.status ?? "pending";
    session.tools.set(id, { safe, status, running: status === "in_progress" });
    for (const turn of session.turns) {
      turn.active = now;
      if (status === "pending" || status === "paused") continue;
      if (safe) turn.ran = true;
      else turn.unsafe = true;
    }
    if (status === "completed" || status === "failed") session.tools.delete(id);
  }

  #response(message: Message, id: Id, now: number): void {
    if (id === this.#initialize && "result" in message)
      return this.#toClient(this.#advertised(message));
    for (const session of this.#busy) {
      if (session.old.delete(id)) return this.#resume(session, now);
      const turn = session.turns.find((one) => one.ids.includes(id));
      if (turn) return this.#ended(turn, id, message, now);
    }
    this.#toClient(finished(message));
  }

  /** Sends the prompts that waited, once the handlers of earlier turns have ended. */
  #resume(session: Session, now: number): void {
    if (session.old.size) return;
    for (const { message } of session.waiting.splice(0)) {
      this.#begin(message, now);
      this.#toAgent(message);
    }
  }

  #advertised(message: Message): Message {
    this.#initialize = undefined;
    const result = object(message["result"]);
    this.#version = result["protocolVersion"] === 2 ? 2 : 1;
    this.#canLogin = Array.isArray(result["authMethods"]) && result["authMethods"].length > 0;
    const key = this.#version === 2 ? "capabilities" : "agentCapabilities";
    const capabilities = object(result[key]);
    const own = {
      agent_error: { version: 1, types: [...ERROR_TYPE], implementation: IMPLEMENTATION },
    };
    const meta = { ...own, ...object(capabilities["_meta"]) };
    return { ...message, result: { ...result, [key]: { ...capabilities, _meta: meta } } };
  }

  #ended(turn: Turn, id: Id, message: Message, now: number): void {
    const result = object(message["result"]);
    if (this.#version === 2 && "result" in message) {
      turn.accepted = true;
      turn.ids = turn.ids.filter((one) => one !== id);
      return this.#toClient(message);
    }
    if (this.#version === 2 && (turn.accepted || turn.ids.length > 1)) {
      // A rejected prompt does not end the work that it joined.
      turn.ids = turn.ids.filter((one) => one !== id);
      const { failure, sent } = ofError(object(message["error"]));
      const payload = payloadOf(failure, ...progressOf(turn, failure));
      const error = errorObject(payload, turn.text || turn.tool, this.#canLogin, sent);
      return this.#toClient({ jsonrpc: "2.0", id, error });
    }
    const reason = result["stopReason"];
    if (turn.stopping && !turn.cancelled) return this.#fail(turn, turn.stopping);
    if ("error" in message) {
      if (!turn.cancelled) return this.#failAs(turn, object(message["error"]));
      return this.#endCancelled(turn);
    }
    if (turn.cancelled && turn.left && reason !== "cancelled") {
      this.#closeTools(turn.session);
      this.#over(turn);
      return this.#toClient({ ...message, result: { ...result, stopReason: "cancelled" } });
    }
    const own = turn.announced ?? readError(result);
    if (own && (reason === "error" || reason === "end_turn" || turn.announced))
      return this.#fail(turn, failureOf(own), undefined, own);
    if (!STOP_REASONS.includes(String(reason))) {
      this.#warn(`the handler returned an unknown stop reason: ${String(reason)}`);
      const type = reason == null ? "protocol_error" : "unknown";
      const word = reason == null ? "no_stop_reason" : "unknown_stop_reason";
      return this.#fail(turn, turn.hint ?? { type, reason: word, retryable: false });
    }
    if (isOwnCancel(turn, reason)) return this.#fail(turn, OWN_CANCEL);
    if (reason === "end_turn" && !turn.cancelled && this.#isSilent(turn)) {
      turn.held = { message, until: now + HOLD_MS };
      return;
    }
    this.#over(turn);
    this.#toClient(message);
  }

  #isSilent(turn: Turn): boolean {
    return this.#options.silentSuccess === "error" && !turn.shown && !turn.lenient;
  }

  #release(turn: Turn): void {
    const { message } = turn.held ?? {};
    turn.held = undefined;
    this.#over(turn);
    if (message) this.#toClient(message);
  }

  // --- the end of a turn ---

  #over(turn: Turn): void {
    const { session } = turn;
    session.turns = session.turns.filter((one) => one !== turn);
    if (!session.turns.length) session.action = false;
  }

  #answerCancelled(ids: readonly Id[]): void {
    const cancelled = { error: { code: -32800, message: "The prompt was cancelled." } };
    const answer = this.#version === 2 ? cancelled : { result: { stopReason: "cancelled" } };
    for (const id of ids) this.#toClient({ jsonrpc: "2.0", id, ...answer });
  }

  #endCancelled(turn: Turn): void {
    this.#close(turn);
    this.#answerCancelled(turn.ids);
    if (this.#version === 2) this.#idleAs(turn.session, { stopReason: "cancelled" });
  }

  /** Ends a turn; the last of a session's also ends its tool calls. */
  #close(turn: Turn): void {
    if (turn.session.turns.every((one) => one === turn)) this.#closeTools(turn.session);
    this.#over(turn);
  }

  #closeTools(session: Session): void {
    for (const toolCallId of session.tools.keys())
      this.#update(session, { sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
    session.tools.clear();
  }

  #failAs(turn: Turn, error: Json, state: Json = {}): void {
    const { failure, sent, own } = ofError(error);
    const said = turn.announced ?? own;
    this.#fail(turn, said ? failureOf(said) : failure, sent, said, state);
  }

  /** Ends a turn as failed: closes what it left open, then sends the rung's update and answer. */
  #fail(turn: Turn, failure: Failure, sent?: Sent, own?: AgentErrorPayload, state?: Json): void {
    const { session, ids } = turn;
    const [phase, safety] = progressOf(turn, failure);
    const payload = own ? withSafety(own, safety) : payloadOf(failure, phase, safety);
    this.#close(turn);
    const { typed, stopReason, name } = this.#client;
    const is2 = this.#version === 2;
    const quirk = typed || is2 ? undefined : CLIENTS[name];
    const { fallback } = this.#options;
    const untyped = fallback === "auto" ? (quirk?.rung ?? "error_with_meta") : fallback;
    const rung = typed || is2 ? "typed" : untyped;
    const _meta = { agent_error: { ...payload, stopReason: "error" } };
    const kind = is2 ? "_agent_error" : "agent_error";
    const content = { type: "text", text: payload.message };
    if (typed)
      this.#update(session, { sessionUpdate: kind, stopReason: "error", error: payload });
    else if (rung === "error_with_meta" || rung === "result")
      this.#update(session, { sessionUpdate: "session_info_update", _meta });
    else if (rung === "text")
      this.#update(session, { sessionUpdate: "agent_message_chunk", content });
    const hadOutput = turn.text || turn.tool;
    const error = errorObject(payload, hadOutput, this.#canLogin, sent, quirk?.details);
    const isResult = !is2 && (stopReason || rung === "result" || rung === "text");
    const result = { stopReason: rung === "text" ? "end_turn" : "error", _meta };
    const answer = isResult ? { result } : { error };
    for (const id of ids) this.#toClient({ jsonrpc: "2.0", id, ...answer });
    if (is2) this.#idleAs(session, { ...state, stopReason: "error", error });
  }

  // --- time ---

  /** When `handleTimeout` is due, in milliseconds; `undefined` if nothing waits. */
  nextTimeout(): number | undefined {
    for (const one of this.#busy)
      if (!one.turns.length && !one.waiting.length && !one.old.size) this.#busy.delete(one);
    const due = [...this.#busy].flatMap(({ turns, waiting }) => [
      ...turns.map((turn) => turn.held?.until ?? turn.ends ?? this.#silentAt(turn)),
      ...turns.map((turn) => this.#warningAt(turn)),
      ...waiting.map((one) => one.until),
    ]);
    const earliest = Math.min(...due);
    return earliest < Infinity ? earliest : undefined;
  }

  #silentAt(turn: Turn): number {
    const { session, active, began } = turn;
    if (session.questions.size || session.action) return Infinity;
    const limit = this.#options[`${this.#silenceOf(turn)}TimeoutSeconds`];
    const most = this.#options.turnTimeoutSeconds;
    const whole = most ? began + most * 1000 : Infinity;
    return Math.min(limit ? active + limit * 1000 : Infinity, whole);
  }

  /** Which limit of a silence applies. */
  #silenceOf({ session, active, began }: Turn): "tool" | "firstUpdate" | "idle" {
    if (session.isRunningTool() || session.calls.size) return "tool";
    return active <= began ? "firstUpdate" : "idle";
  }

  /** When the client gets a notice of a silence, one for each. */
  #warningAt({ session, active, warned, held, ends }: Turn): number {
    const isWaiting = session.questions.size + session.calls.size > 0 || session.action;
    const isExempt = isWaiting || session.isRunningTool();
    const after = this.#options.warnAfterSeconds;
    const isDue = after && this.#client.notices && warned !== active && !isExempt && !held && !ends;
    return isDue ? active + after * 1000 : Infinity;
  }

  handleTimeout(now: number): void {
    for (const session of this.#busy) {
      for (const turn of [...session.turns]) this.#due(turn, now);
      for (const one of session.waiting.filter((each) => each.until <= now)) {
        session.waiting = session.waiting.filter((each) => each !== one);
        this.#fail(new Turn(session, one.message["id"] as Id, now), STALLED);
      }
    }
  }

  #due(turn: Turn, now: number): void {
    const { session, hint } = turn;
    if (turn.held) {
      if (turn.held.until > now) return;
      turn.held = undefined;
      this.#warn("the handler returned without having shown anything; throw what went wrong");
      return this.#fail(turn, hint ?? { ...UNKNOWN, reason: "silent_success" });
    }
    if (this.#warningAt(turn) <= now) {
      for (const one of session.turns) one.warned = one.active;
      const seconds = Math.round((now - turn.active) / 1000);
      const silence = `The agent has been silent for ${seconds} seconds.`;
      const guess = `${silence} It may be waiting for the model.`;
      this.#notice(session, hint ? `${whatOf(hint)} ${silence}` : guess);
    }
    if (turn.ends === undefined) {
      if (this.#silentAt(turn) > now) return;
      const seconds = Math.round((now - turn.active) / 1000);
      this.#warn(`the handler has shown nothing for ${seconds} s; the turn ends as a failure`);
      // Stopped like by its user, but it fails, whatever the handler answers.
      const silence = { tool: "tool", firstUpdate: "first_update", idle: "idle" };
      const isWhole = now >= turn.began + (this.#options.turnTimeoutSeconds || Infinity) * 1000;
      const reason = `${isWhole ? "turn" : silence[this.#silenceOf(turn)]}_timeout`;
      turn.stopping = hint ? { ...hint, reason: "retries_pending" } : { ...STALLED, reason };
      turn.ends = now + this.#options.cancelGraceSeconds * 1000;
      if (session.turns.some((one) => one !== turn && one.stopping)) return;
      const params = { sessionId: session.name };
      return this.#toAgent({ jsonrpc: "2.0", method: "session/cancel", params });
    }
    if (turn.ends > now) return;
    for (const id of turn.accepted ? [IDLE, ...turn.ids] : turn.ids) session.old.add(id);
    if (turn.cancelled || !turn.stopping) this.#endCancelled(turn);
    else this.#fail(turn, turn.stopping);
  }
}

/** Whether the agent ended the turn as cancelled, which nobody asked for. */
const isOwnCancel = (turn: Turn, reason: unknown): boolean =>
  reason === "cancelled" && !turn.cancelled && !turn.asked && !turn.lenient;

/** What happened, as a sentence without advice. */
const whatOf = (failure: Failure): string => `${payloadOf(failure).message.split(". ")[0]}.`;

/** How far the turn has come, and whether sending its prompt again would do harm. */
function progressOf(turn: Turn, { retryable }: Failure): [Phase, RetrySafety] {
  const isRunning = turn.session.isRunningTool();
  const ran = turn.ran || turn.unsafe;
  const shown = turn.text || turn.tool ? "mid_output" : "before_output";
  const phase = isRunning ? "tool_running" : ran ? "after_tool" : shown;
  const harmless = turn.text || turn.thought || turn.tool ? "offer_continue" : "auto";
  return [phase, retryable ? (ran || isRunning || turn.begun ? "ask" : harmless) : "never"];
}

/** The agent's own payload, but not less careful about a retry than the turn demands. */
function withSafety(own: AgentErrorPayload, least: RetrySafety): AgentErrorPayload {
  const said = own.retry_safety;
  const isCareless = said !== undefined && RETRY_SAFETY.indexOf(said) < RETRY_SAFETY.indexOf(least);
  return isCareless ? { ...own, retry_safety: least } : own;
}
