// The frames of a failure: the JSON-RPC error that ends a turn, and what an agent's own error says.
//
// Owns: the error object of protocol/README.md, and how the guard's handlers hand a failure to it.
import type { AgentErrorPayload } from "./agent_error.js";
import { readError } from "./agent_error.js";
import { classify, cut, given, payloadOf, redact, redactJson, type Failure } from "./classify.js";

const MAX_FRAME_BYTES = 60 * 1024;
const KEPT_CODES = [-32000, -32001, -32002, -32601, -32602];
const MINE = "lastword";

export type Json = { [name: string]: unknown };
export type Id = string | number | null;
/** A JSON-RPC message. */
export type Message = Json & { jsonrpc: "2.0" };
export type Sent = { code?: unknown; message?: unknown; data?: unknown };

export const object = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};

export const updateOf = (sessionId: string, update: Json): Message => ({
  jsonrpc: "2.0",
  method: "session/update",
  params: { sessionId, update },
});
const size = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length;

/**
 * The error object of a thrown value, as an agent of protocol version 2 gives it in the `error` of
 * its idle update. Beside the typed error, `data` has what a guard needs to complete it.
 */
export function errorOf(thrown: unknown): { code: number; message: string; data: Json } {
  const failure = classify(thrown);
  const clean = { ...failure, ...(failure.detail ? { detail: redact(failure.detail) } : {}) };
  const payload = payloadOf(failure, undefined, failure.retryable ? "ask" : "never");
  const error = { ...payload, stopReason: "error" };
  const data = {
    details: payload.message,
    errorKind: payload.type,
    agent_error: error,
    [MINE]: clean,
  };
  return { code: -32603, message: payload.message, data };
}

/** The `error` of a response (section "The JSON-RPC error" of protocol/README.md). */
export function errorObject(
  payload: AgentErrorPayload,
  hadOutput: boolean,
  canLogin: boolean,
  sent?: Sent,
  details?: string,
): Json {
  const isKept = typeof sent?.code === "number" && KEPT_CODES.includes(sent.code);
  let code = !payload.retryable && !hadOutput ? -31050 : -32603;
  if (payload.type === "auth")
    code = canLogin && !hadOutput && payload.action !== "report" ? -32000 : -32603;
  if (isKept) code = sent.code as number;
  const said = typeof sent?.message === "string" ? redact(sent.message).trim() : "";
  const message = (/^(?:internal error|error|)$/i.test(said) ? payload.message : said).slice(
    0,
    500,
  );
  const quote = object(payload.detail)["text"];
  const full =
    typeof quote === "string" && !payload.message.includes(quote)
      ? `${payload.message} (${quote.slice(0, 500)})`
      : payload.message;
  if (details === "alone") {
    if (code === -31050) code = -32603;
    return code === -32603
      ? { code, message, data: { details: full } }
      : { code, message: full.slice(0, 500) };
  }
  const given = sent?.data;
  const plain =
    typeof given === "string"
      ? given
        ? { details: given }
        : {}
      : given == null
        ? {}
        : Array.isArray(given)
          ? { value: given }
          : given;
  const data = object(redactJson(plain));
  if (details === "told" || typeof data["details"] !== "string" || !data["details"])
    data["details"] = details === "told" ? full : payload.message;
  data["errorKind"] ||= payload.type;
  data["agent_error"] = { ...payload, stopReason: "error" };
  if (size({ code, message, data }) < MAX_FRAME_BYTES - 2048) return { code, message, data };
  const { detail: _, ...short } = object(data["agent_error"]);
  return {
    code,
    message,
    data: {
      details: cut(String(data["details"]), 2000),
      errorKind: cut(String(data["errorKind"]), 500),
      agent_error: short,
    },
  };
}

/** What an error of the agent's says; what the guard's own handler sent says all in its payload. */
export function ofError(error: Sent): { failure: Failure; sent?: Sent; own?: AgentErrorPayload } {
  const data = object(error.data);
  const own = "agent_error" in data ? readError(error) : null;
  if (own && MINE in data) return { failure: object(data[MINE]) as unknown as Failure };
  if (own) return { failure: failureOf(own), sent: error, own };
  const failure = classify({ ...error, data: redactJson(error.data) });
  const cancelled = { type: "unknown", reason: "agent_cancelled", retryable: false } as const;
  if (error.code === -32800) Object.assign(failure, cancelled, { providerCode: "-32800" });
  return { failure, sent: error };
}

/** A payload as the failure that it tells of. */
export function failureOf(payload: AgentErrorPayload | null): Failure {
  if (!payload) return { type: "unknown", retryable: false };
  const text = object(payload.detail)["text"];
  return given<Failure>({
    type: payload.type,
    reason: payload.reason,
    retryable: payload.retryable,
    origin: payload.origin,
    action: payload.action,
    httpStatus: payload.http_status,
    providerCode: payload.provider_code,
    requestId: payload.request_id,
    retryAfterSeconds: payload.retry_after_seconds,
    resetAtEpochMs: payload.reset_at_epoch_ms,
    detail: typeof text === "string" ? text : undefined,
  });
}

/** An answer to a request other than a prompt, as the client gets it: a failure is typed, too. */
export function finished(message: Message): Message {
  if (!("error" in message)) return message;
  const { [MINE]: mine, ...data } = object(object(message["error"])["data"]);
  const own = { code: -32603, message: String(data["details"]), data };
  return { ...message, error: mine === undefined ? redactJson(message["error"]) : own };
}
