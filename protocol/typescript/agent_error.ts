// Types generated from protocol/schema.json by protocol/typescript/generate.py.

/** The user's possible action after a failure. */
export type Action = (typeof ACTION)[number];
export const ACTION = [
  "wait",
  "retry",
  "continue",
  "confirm_retry",
  "login",
  "top_up",
  "switch_model",
  "shorten",
  "rephrase",
  "fix_configuration",
  "restart",
  "report",
] as const;

/** What each side advertises in `initialize`, under `_meta.agent_error`. */
export interface Advertisement {
  /** The extension's version. */
  version: number;
  /** Agent: the error types it may send. */
  types?: string[];
  /** Agent: the name and version of its implementation, `name/version`. */
  implementation?: string;
  /** Client: it accepts `stopReason: "error"` in a prompt result. */
  stop_reason?: boolean;
  /** Client: it wants `agent_retry`. */
  retry?: boolean;
  [unknown: string]: unknown;
}

/** One failure: what happened, whose fault it was, and whether to try again. */
export interface AgentErrorPayload {
  /** What went wrong. A reader takes a word it does not know as `unknown`. */
  type: ErrorType;
  /** One plain sentence for the user, without markup; says what to do. */
  message: string;
  /** Redacted details of at most 4 KiB; `text` has the original words. */
  detail?: Record<string, unknown>;
  /** Would the same prompt, sent again, have a chance to succeed? */
  retryable: boolean;
  /** The least time to wait before a retry, rounded up. */
  retry_after_seconds?: number;
  /** When the limit resets, in milliseconds since 1970 UTC. */
  reset_at_epoch_ms?: number;
  /** Who reported it: a provider, a library or a program. */
  source?: string;
  /** A narrower name within `type`; an open set of few values. */
  reason?: string;
  /** Whose fault it was. */
  origin?: Origin;
  /** How far the turn had come. */
  phase?: Phase;
  /** Would a retry do harm? Only `auto` may be retried by a machine. */
  retry_safety?: RetrySafety;
  /** What the user can do about it. */
  action?: Action;
  /** The HTTP status that the provider answered with. */
  http_status?: number;
  /** The provider's or agent's own code, as text, unchanged. */
  provider_code?: string;
  /** The provider's name for the request, for its support. */
  request_id?: string;
  /** How often the model was asked before giving up. */
  attempts?: number;
  /** The dead agent's exit status. */
  exit_code?: number;
  /** The signal that killed the agent, such as `SIGKILL`. */
  exit_signal?: string;
  /** Names the record of this failure. */
  incident_id?: string;
  [unknown: string]: unknown;
}

/** The `update` that says why a turn failed, for a client that negotiated it. */
export interface AgentErrorUpdate {
  /** `_agent_error` in protocol version 2. */
  sessionUpdate: "agent_error" | "_agent_error";
  /** Always `error`. */
  stopReason: "error";
  error: AgentErrorPayload;
  [unknown: string]: unknown;
}

/** The `update` that reports a retry to a client that asked for retries. */
export interface AgentRetryUpdate {
  /** `_agent_retry` in protocol version 2. */
  sessionUpdate: "agent_retry" | "_agent_retry";
  /** The attempt that comes next, from 1. */
  attempt?: number;
  /** After how many the agent gives up. */
  max_attempts?: number;
  /** How long it waits before, rounded up. */
  wait_seconds?: number;
  /** What the attempt before failed with. */
  error?: AgentErrorPayload;
  [unknown: string]: unknown;
}

/** The type of a failure. The first six are the names of opencode's `agent_error` proposal. */
export type ErrorType = (typeof ERROR_TYPE)[number];
export const ERROR_TYPE = [
  "rate_limit",
  "budget",
  "provider_unavailable",
  "context_overflow",
  "auth",
  "unknown",
  "model_not_found",
  "invalid_request",
  "content_filter",
  "timeout",
  "network",
  "cancelled",
  "agent_crash",
  "agent_stalled",
  "stderr_overflow",
  "protocol_error",
  "internal",
] as const;

/** Who or what was at fault. */
export type Origin = (typeof ORIGIN)[number];
export const ORIGIN = [
  "provider",
  "network",
  "agent",
  "process",
  "client",
  "lastword",
] as const;

/** The progress of a turn when it failed. */
export type Phase = (typeof PHASE)[number];
export const PHASE = [
  "startup",
  "before_request",
  "before_output",
  "mid_output",
  "tool_running",
  "after_tool",
] as const;

/** Whether sending the same prompt again would do harm, apart from whether it would help. */
export type RetrySafety = (typeof RETRY_SAFETY)[number];
export const RETRY_SAFETY = [
  "auto",
  "offer_continue",
  "ask",
  "never",
] as const;

export const SETS = new Map<string, readonly string[]>([
    ["origin", ORIGIN],
    ["phase", PHASE],
    ["retry_safety", RETRY_SAFETY],
    ["action", ACTION],
]);
export const COUNTS = ["retry_after_seconds", "reset_at_epoch_ms", "attempts"];
export const WHOLES = ["http_status", "exit_code"];
export const TEXTS = ["source", "reason", "provider_code", "request_id", "exit_signal", "incident_id"];

// --- the reader, written by hand ---

type Members = Record<string, unknown> & { [name in "_meta" | "agent_error" | "code" | "data" |
  "details" | "error" | "errorKind" | "message" | "method" | "params" | "raw" | "result" | "state" |
  "retryable" | "sessionUpdate" | "stopReason" | "text" | "type" | "update"]?: unknown };
const RETRYABLE: readonly ErrorType[] = [
  ...(["rate_limit", "provider_unavailable", "timeout", "network"] as const),
  ...(["agent_crash", "agent_stalled", "stderr_overflow"] as const),
];
const CODES: Record<number, ErrorType> = { [-32000]: "auth", [-32800]: "cancelled" };

/**
 * Says how a turn failed, if this tells that one did: a `session/update` (the notification, its
 * params or its `update`), a prompt's result, a response, an error, or what an SDK threw. `null`
 * for anything else. An error without a payload gets its type from its code or `errorKind` alone.
 */
export function readError(message: unknown): AgentErrorPayload | null {
  const it = object(message);
  if ("method" in it || "sessionUpdate" in it || "update" in it) return ofUpdate(it);
  if (typeof it.type === "string" && typeof it.retryable === "boolean") return ofPayload(it);
  if ("stopReason" in it || "_meta" in it) return ofResult(it);
  if (it.error != null) return ofError(it.error);
  if ("result" in it) return ofResult(object(it.result));
  const hasCode = typeof it.code === "number" || typeof it.code === "string";
  return hasCode && ("message" in it || "data" in it) ? ofError(it) : null;
}

function ofUpdate(it: Members): AgentErrorPayload | null {
  const params = it.method === "session/update" ? object(it.params) : it;
  const update = "sessionUpdate" in it ? it : object(params.update);
  const kind = update.sessionUpdate;
  if (kind === "agent_error" || kind === "_agent_error") {
    const said = [update.message, update.text, update.error].find((text) => sentence(text));
    return ofPayload(isObject(update.error) ? update.error : { message: said, detail: update.raw });
  }
  if (kind === "session_info_update") return ofMeta(update);
  const failed = kind === "state_update" && update.state === "idle" && update.stopReason === "error";
  return failed ? ofError(update.error) : null;
}

function ofResult(result: Members): AgentErrorPayload | null {
  if (result.stopReason === "cancelled") return null;
  return ofMeta(result) ?? (result.stopReason === "error" ? ofError(result.error) : null);
}

function ofError(error: unknown): AgentErrorPayload {
  const { code, message, data } = object(error);
  const meta = ofMeta({ _meta: data });
  if (meta) return meta;
  const kind = ERROR_TYPE.find((word) => word === object(data).errorKind);
  const type = kind ?? (typeof code === "number" ? CODES[code] : undefined) ?? "unknown";
  // -31050 says that a retry is of no use, whatever the type.
  const retryable = code !== -31050 && RETRYABLE.includes(type);
  const said = message || object(data).details;
  return ofPayload({ type, message: said, retryable, retry_safety: retryable ? "ask" : "never" });
}

function ofMeta(carrier: Members): AgentErrorPayload | null {
  const payload = object(carrier._meta).agent_error;
  if (!isObject(payload)) return null;
  const isAdvertisement = "version" in payload && !("type" in payload || "message" in payload);
  return isAdvertisement ? null : ofPayload(payload);
}

function ofPayload(payload: Members): AgentErrorPayload {
  const read = Object.entries(payload).map(([key, value]) => [key, member(key, value)] as const);
  const known = read.filter(([key, value]) => key !== "stopReason" && value != null);
  const it: Members = Object.fromEntries(known);
  const type = ERROR_TYPE.find((word) => word === it.type) ?? "unknown";
  const message = sentence(it.message) || NO_MESSAGE;
  const retryable = it.retryable === undefined ? RETRYABLE.includes(type) : it.retryable === true;
  return { ...it, type, message, retryable };
}

function member(key: string, value: unknown): unknown {
  const number = typeof value === "number" && Math.abs(value) <= 2 ** 53 ? value : NaN;
  const text = typeof value === "string" ? value : Number.isInteger(number) ? `${number}` : null;
  if (key === "detail") return isObject(value) ? value : text ? { text } : null;
  if (COUNTS.includes(key)) return number >= 0 ? Math.ceil(number) : null;
  if (WHOLES.includes(key)) return Number.isInteger(number) ? number : null;
  if (TEXTS.includes(key)) return text && [...text].slice(0, 500).join("");
  return SETS.get(key)?.includes(value as string) ?? true ? value : null;
}

function sentence(value: unknown): string {
  const plain = (typeof value === "string" ? value : "").replace(/[\p{C}\p{Z}`*<>{}\\|]+/gu, " ");
  const said = [...plain.replaceAll("[", "(").replaceAll("]", ")").trim()];
  return said.length > 500 ? `${said.slice(0, 499).join("")}…` : said.join("");
}

const NO_MESSAGE = "The agent reported a failure without saying which.";
const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const object = (value: unknown): Members => (isObject(value) ? value : {});
