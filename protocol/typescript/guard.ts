// A guard around an agent on the official TypeScript SDK (`@agentclientprotocol/sdk`): each prompt
// turn ends once, and a failing one with a typed error.
//
// Owns: the handlers and the stream of an agent. The rules are in turns.ts, which does no I/O.
import { classify, member, payloadOf, redact, TurnError } from "./classify.js";
import { errorOf, updateOf, type Message } from "./ladder.js";
import { GuardCore, type GuardOptions } from "./turns.js";

export { classify, errorOf, TurnError, type GuardOptions };

type Method = (...args: never[]) => unknown;
/** What is used of the SDK's `AgentApp`, in protocol version 1 or 2. */
export interface AgentApp {
  onRequest: Method;
  connect: Method;
  connectWith: Method;
}
/** What is used of the SDK's `AgentContext`. */
export interface Client {
  notify(method: string, params: unknown): Promise<void>;
}
/** What is used of the SDK's `Stream`. */
export interface Stream {
  readable: ReadableStream<unknown>;
  writable: WritableStream<unknown>;
}

type Call = (...args: unknown[]) => unknown;
type Context = { signal?: AbortSignal };

/** How late a timer may be: then its process stood still, and what came meanwhile goes first. */
const LATE_MS = 250;
const guardedApps = new WeakSet<AgentApp>();

/**
 * Guards an agent: `guard(acp.agent({ name })).onRequest(…)`, before the handler of
 * `session/prompt` is registered. Changes the agent in place, and returns it.
 */
export function guard<App extends AgentApp>(app: App, options: GuardOptions = {}): App {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  if (process?.env?.["LASTWORD_PASSTHROUGH"] === "1" || guardedApps.has(app)) return app;
  guardedApps.add(app);
  const target = app as unknown as Record<keyof AgentApp, Call>;
  const { onRequest, connect, connectWith } = target;
  let guardsPrompt = false;
  target.onRequest = (method, ...rest) => {
    guardsPrompt ||= method === "session/prompt" || method === "*";
    const handler = rest.pop() as Call;
    return onRequest.call(app, method, ...rest, guarded(handler));
  };
  const through = (peer: unknown): unknown => {
    if (!guardsPrompt) throw new Error('Call guard() before onRequest("session/prompt", …).');
    return guardStream(streamTo(peer), options);
  };
  target.connect = (peer, ...rest) => connect.call(app, through(peer), ...rest);
  target.connectWith = (peer, ...rest) => connectWith.call(app, through(peer), ...rest);
  return app;
}

/** The stream itself, or one to a client in this process. */
function streamTo(peer: unknown): Stream {
  if ("readable" in (peer as object)) return peer as Stream;
  const there = new TransformStream<unknown, unknown>();
  const back = new TransformStream<unknown, unknown>();
  (peer as { connect: Call }).connect({ readable: there.readable, writable: back.writable });
  return { readable: back.readable, writable: there.writable };
}

/** The handler, whose exceptions leave it as typed errors. */
function guarded(handler: Call): Call {
  return async (context, ...rest) => {
    try {
      return await handler(context, ...rest);
    } catch (thrown) {
      throw carried(thrown, (context as Context).signal);
    }
  };
}

/** What to throw instead, so that the SDK sends the typed error: it sends a message of JSON as data. */
function carried(thrown: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return thrown; // the turn has its end already
  const members = Object(thrown) as Record<string, unknown>;
  try {
    console.error(redact(String(members["stack"] ?? thrown)));
  } catch {
    console.error("lastword: the handler threw a value that cannot be printed");
  }
  if (typeof member(members, "toErrorResponse") !== "function")
    return new Error(JSON.stringify(errorOf(thrown).data));
  const cause = member(members, "cause");
  // The SDK's own error keeps its code and words; its cause says more about the model's failure.
  if (cause !== undefined && classify(cause).type !== "unknown") {
    const error = thrown as { data?: unknown };
    const { agent_error } = errorOf(cause).data;
    error.data = { ...Object(error.data), agent_error };
  }
  return thrown;
}

/** The stream for the SDK, with the guard between it and the client. */
export function guardStream(stream: Stream, options: GuardOptions = {}): Stream {
  const reader = stream.readable.getReader();
  const writer = stream.writable.getWriter();
  let incoming!: ReadableStreamDefaultController<unknown>;
  let isOpen = true;
  let written: Promise<void> = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let notBefore = 0; // when the next timer may ring, after one was late
  const toClient = (message: unknown): void => {
    written = writer.write(message);
    written.catch(() => {}); // the client has left; its reader ends too
  };
  const toAgent = (message: unknown): void => {
    if (!isOpen) return;
    incoming.enqueue(message);
    if (!isMessage(message) || message["method"] !== "session/cancel") return;
    // The SDK aborts a handler's signal only if its request is cancelled.
    for (const requestId of core.promptsOf(message["params"]))
      incoming.enqueue({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId } });
  };
  const warn = (text: string): void => console.error(`lastword: ${text}`);
  const core = new GuardCore(options, toClient, toAgent, warn);

  const rearm = (): void => {
    clearTimeout(timer);
    const next = isOpen ? core.nextTimeout() : undefined;
    if (next === undefined) return;
    const due = Math.max(next, notBefore);
    const ring = (): void => {
      if (now() - due <= LATE_MS || due === notBefore) return core.handleTimeout(now());
      notBefore = now() + LATE_MS;
    };
    timer = setTimeout(() => attempt(ring), Math.min(Math.max(0, due - now()), 2 ** 31 - 1));
  };
  /** Runs the guard; whatever is wrong with it, the message passes. */
  const attempt = (run: () => void, otherwise?: () => void): void => {
    try {
      run();
    } catch (fault) {
      warn(`the guard failed, and lets this message pass: ${String(fault)}`);
      otherwise?.();
    }
    rearm();
  };
  const pump = async (): Promise<void> => {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (isMessage(value))
          attempt(
            () => core.fromClient(value, now()),
            () => toAgent(value),
          );
        else toAgent(value);
      }
      isOpen = false;
      incoming.close();
    } catch (error) {
      isOpen = false;
      incoming.error(error);
    }
    clearTimeout(timer);
  };
  return {
    readable: new ReadableStream<unknown>({
      start(controller) {
        incoming = controller;
        void pump();
      },
      cancel(reason) {
        isOpen = false;
        clearTimeout(timer);
        return reader.cancel(reason);
      },
    }),
    writable: new WritableStream<unknown>({
      write(message) {
        if (isMessage(message))
          attempt(
            () => core.fromAgent(message, now()),
            () => toClient(message),
          );
        else toClient(message);
        return written;
      },
      close: () => writer.close(),
      abort: (reason) => writer.abort(reason),
    }),
  };
}

const now = (): number => performance.now();
const isMessage = (value: unknown): value is Message =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Reports that a model call is tried again: a client that can shows it, and the wait does not count as silence. */
export async function reportRetry(
  client: Client,
  sessionId: string,
  error: unknown,
  retry: { attempt: number; maxAttempts?: number; waitSeconds?: number },
): Promise<void> {
  const wait = retry.waitSeconds ?? NaN;
  const failure = { ...classify(error), retryable: true, action: "wait" as const };
  const update = {
    sessionUpdate: "agent_retry",
    attempt: retry.attempt,
    ...(retry.maxAttempts === undefined ? {} : { max_attempts: retry.maxAttempts }),
    ...(Number.isFinite(wait) ? { wait_seconds: Math.ceil(wait) } : {}),
    error: payloadOf(failure, undefined, "auto"),
  };
  const { params } = updateOf(sessionId, update);
  await client.notify("session/update", params);
}

/** Ends the work of a session as failed, in protocol version 2, where a prompt has its answer already. */
export async function failTurn(client: Client, sessionId: string, thrown: unknown): Promise<void> {
  const idle = {
    sessionUpdate: "state_update",
    state: "idle",
    stopReason: "error",
    error: errorOf(thrown),
  };
  await client.notify("session/update", updateOf(sessionId, idle)["params"]);
}
