// What a thrown value is as a typed failure, in words that a user may see, and without secrets.
//
// Owns: reading the error classes of model SDKs and of the runtime, the sentence of a failure, and
// taking secrets out of texts. Its tables, in tables.ts, are those of the guard in Python.
import type { AgentErrorPayload, ErrorType, Phase, RetrySafety } from "./agent_error.js";
import type { Action, Origin } from "./agent_error.js";
import * as tables from "./tables.js";
import { resetOf, waitOf, type Stated } from "./waits.js";

/** A failure before it is known how far its turn had come. */
export interface Failure {
  type: ErrorType;
  reason?: string;
  retryable: boolean;
  origin?: Origin;
  action?: Action;
  message?: string;
  detail?: string;
  retryAfterSeconds?: number;
  resetAtEpochMs?: number;
  httpStatus?: number;
  providerCode?: string;
  requestId?: string;
}

/** A failure in the author's own words: throw it from a prompt's handler. */
export class TurnError extends Error {
  override name = "TurnError";
  readonly type: ErrorType;
  readonly options: Partial<Failure>;
  /** `message` is one plain sentence for the user that ends with what to do. */
  constructor(type: ErrorType, message: string, options: Partial<Failure> = {}) {
    super(message);
    this.type = type;
    this.options = options;
  }
}

const MAX_AUTO_WAIT_SECONDS = 300;
const DAY_SECONDS = 86_400;
const MAX_TEXT = 8192;
const MAX_NODES = 32;
const REDACTED = "(redacted)";
const JSONRPC_CODES = [-32700, -32600, -32601, -32602, -32603];

// Members of an error that may hold a word; what it wraps, the most specific first, since a body
// says more than the sentence that an SDK makes of it; and lists of more.
const names = (text: string): string[] => text.split(" ");
const WORDS = names("code type status errorKind reason quotaId param error codexErrorInfo kind");
const WRAPPED = names(
  "cause lastError error data response responseBody body details detail message metadata",
);
const LISTS = names("errors details violations");

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;

/** The object without the members that are not given. */
export const given = <T extends object>(members: { [name in keyof T]: T[name] | undefined }): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;

/** A name in lower case, without punctuation. */
const bareName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "");

// --- secrets ---

/** The text without anything shaped like a secret, at most 8 KiB of it. */
export function redact(text: string): string {
  let clean =
    text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).replace(/\S*$/, "")} (cut)` : text;
  const folded = clean.toLowerCase();
  for (const [shape, replacement, hints] of tables.SHAPES)
    if (!hints.length || hints.some((hint) => folded.includes(hint)))
      clean = clean.replace(shape, replacement);
  return clean;
}

/** A redacted copy of a JSON value, at most 16 levels and 2000 values of it. */
export function redactJson(value: unknown, left = { values: 2000 }, depth = 0): unknown {
  left.values -= 1;
  if (typeof value === "string") return redact(value);
  if (!isObject(value)) return typeof value === "bigint" ? String(value) : value;
  if (depth >= 16 || left.values < 0) return "(cut)";
  if (Array.isArray(value)) return value.map((each) => redactJson(each, left, depth + 1));
  const entries = Object.entries(value).map(([key, member]) => {
    const name = key === "value" && typeof value["name"] === "string" ? value["name"] : key;
    const bare = bareName(name);
    const isSecret =
      member != null &&
      typeof member !== "boolean" &&
      (tables.SECRET_NAMES.includes(bare) ||
        tables.SECRET_ENDINGS.some((end) => bare.endsWith(end)));
    return [redact(key), isSecret ? REDACTED : redactJson(member, left, depth + 1)] as const;
  });
  return Object.fromEntries(entries);
}

// --- evidence ---

class Evidence implements Stated {
  readonly classes: string[] = [];
  readonly tokens = new Set<string>();
  readonly words = new Set<string>();
  readonly texts: string[] = [];
  readonly headers = new Map<string, string>();
  readonly fields = new Map<string, unknown>();
  status: number | undefined;
  code: string | undefined;
  rpcCode: number | undefined;
  /** It is an exception of the language's own, without a cause: its text may name anything. */
  isBug = false;
}

/** `RateLimitError`, `rate_limit_error` and `RATE-LIMIT` are all `ratelimit`. */
function normalise(name: string): string {
  const bare = bareName(name.slice(0, 96).replace(/^AI_/, ""));
  const stem = bare.replace(/(?:exception|error|err|fault)$/, "");
  return stem && !tables.TOO_WIDE.includes(stem) ? stem : bare;
}

/** A member of a foreign object, whose getter may raise. */
export function member(of: Json, name: string): unknown {
  try {
    return of[name];
  } catch {
    return undefined;
  }
}

function gather(thrown: unknown): Evidence {
  const found = new Evidence();
  const waiting: unknown[] = [thrown];
  const seen = new Set<unknown>();
  while (waiting.length && seen.size < MAX_NODES) {
    const each = waiting.shift();
    if (typeof each === "string") {
      if (each && each.length < 100_000) readText(each, found, waiting);
    } else if (isObject(each) && !seen.has(each)) {
      seen.add(each);
      readObject(each, found, waiting);
    }
  }
  const isExact = tables.EXACT[found.texts.join("").toLowerCase()] !== undefined;
  const names = new Set(found.classes);
  const errors = [...seen].filter((each) => each instanceof Error).length;
  found.isBug =
    !isExact &&
    errors === 1 &&
    names.size === 1 &&
    found.classes.every((name) => tables.BUGS.includes(name));
  return found;
}

function readObject(it: Json, found: Evidence, waiting: unknown[]): void {
  if (it instanceof Error || typeof member(it, "stack") === "string") {
    for (const name of [
      member(it, "name"),
      (member(it, "constructor") as Json | undefined)?.["name"],
    ]) {
      if (typeof name === "string" && name !== "Error" && name !== "Object")
        found.classes.push(normalise(name));
    }
  }
  for (const key of WORDS) {
    const value = member(it, key);
    if (typeof value === "string" && value.length < 96 && !/\s/.test(value)) {
      if (normalise(value) !== "" && value !== "error") found.tokens.add(normalise(value));
      if (key === "code" || (key === "status" && /^[A-Z_]+$/.test(value))) found.code ??= value;
    }
  }
  const statuses = ["statusCode", "status", "http_status", "code"].map((key) =>
    Number(member(it, key)),
  );
  found.status ??= statuses.find((one) => one >= 400 && one < 600);
  const code = member(it, "code");
  if (typeof code === "number" && code < 0) found.rpcCode ??= code;
  else if (typeof code === "number" && code >= 100) found.code ??= String(code);
  for (const key of ["headers", "responseHeaders"]) readHeaders(member(it, key), found);
  for (const key of Object.keys(it).slice(0, 64)) {
    const value = member(it, key);
    const name = bareName(key);
    if (!isObject(value) && !found.fields.has(name)) found.fields.set(name, value);
  }
  for (const key of WRAPPED) waiting.push(member(it, key));
  for (const key of LISTS) {
    const list = member(it, key);
    if (Array.isArray(list)) waiting.push(...list.slice(-8).reverse());
  }
}

function readText(text: string, found: Evidence, waiting: unknown[]): void {
  const start = text.search(/[[{]/);
  let prose = text;
  if (start >= 0) {
    try {
      const body: unknown = JSON.parse(text.slice(start));
      waiting.push(...(Array.isArray(body) ? body : [body]));
      prose = text.slice(0, start);
    } catch {
      // Not JSON: prose.
    }
  }
  if (/\p{L}/u.test(prose)) found.texts.push(prose.trim());
  for (const word of text
    .slice(0, MAX_TEXT)
    .match(
      /\b[A-Za-z]+(?:_[A-Za-z]+)+\b|\b[A-Z][a-z]+[A-Za-z]*(?:Error|Exception)\b|\bE[A-Z]{4,}\b/g,
    ) ?? []) {
    found.words.add(normalise(word));
  }
  const status = /(?:^|\b(?:status(?: code)?|http|error(?: code)?)[ :=(]{1,2})([45]\d\d)\b/i.exec(
    text.slice(0, 500),
  );
  if (status) found.status ??= Number(status[1]);
}

function readHeaders(headers: unknown, found: Evidence): void {
  const entries =
    headers instanceof Headers
      ? [...headers.entries()]
      : isObject(headers)
        ? Object.entries(headers)
        : [];
  for (const [key, value] of entries) {
    if (typeof value === "string" || typeof value === "number")
      found.headers.set(key.toLowerCase(), String(value));
  }
}

// --- the verdict ---

/** Says what a thrown value is as a failure. Total: what nothing recognises is `unknown`. */
export function classify(thrown: unknown, nowMs: number = Date.now()): Failure {
  try {
    if (thrown instanceof TurnError) return ofAuthor(thrown);
    return conclude(gather(thrown), nowMs);
  } catch {
    return { type: "internal", retryable: false };
  }
}

function ofAuthor({ type, message, options }: TurnError): Failure {
  const { retryAfterSeconds: wait = 0 } = options;
  const isWait = wait > 0 && wait < Infinity; // a header that was not given is often `NaN`
  return given<Failure>({
    retryable: tables.TYPES[type].retryable && !(wait > MAX_AUTO_WAIT_SECONDS),
    ...options,
    retryAfterSeconds: isWait ? wait : undefined,
    type,
    message,
  });
}

type Finding = Pick<Failure, "type"> & Partial<Failure>;

function conclude(it: Evidence, nowMs: number): Failure {
  const said = it.texts.filter((each) => !/^(?:json-rpc )?internal error[ .:]*$/i.test(each));
  const texts = [...new Set(said.length ? said : it.texts)];
  const text = texts.join("\n");
  const folded = text.toLowerCase().replace(/\s+/g, " ");
  const reset = resetOf(it, folded) ?? 0;
  const wait =
    waitOf(it, folded, nowMs) ?? (reset > nowMs ? Math.ceil((reset - nowMs) / 1000) : undefined);
  const finding = decide(it, folded, wait);
  let { retryable = tables.TYPES[finding.type].retryable, type } = finding;
  const words = [folded, ...it.tokens].join(" ");
  const sign = tables.SIGNS.find(([of, , parts]) => of === type && saysOneOf(words, parts));
  const reason = finding.reason ?? sign?.[1];
  if (type === "budget" && reason === "usage_window" && (wait ?? Infinity) < DAY_SECONDS)
    [type, retryable] = ["rate_limit", true];
  if (it.headers.get("x-should-retry") === "false" || (wait ?? 0) > MAX_AUTO_WAIT_SECONDS)
    retryable = false;
  const isOwnCode = it.rpcCode !== undefined && !JSONRPC_CODES.includes(it.rpcCode);
  const ids = ["request-id", "x-request-id", "x-amzn-requestid"];
  return given<Failure>({
    type,
    reason,
    retryable,
    origin: finding.origin,
    // An SDK's sentence often quotes the body's.
    detail:
      texts.filter((one) => !texts.some((all) => all !== one && all.includes(one))).join("\n") ||
      undefined,
    retryAfterSeconds: wait,
    resetAtEpochMs: reset > nowMs ? reset : undefined,
    httpStatus: it.status,
    providerCode: it.code ?? (isOwnCode ? String(it.rpcCode) : undefined),
    requestId: ids.map((name) => it.headers.get(name)).find(Boolean),
  });
}

function decide(it: Evidence, folded: string, wait = Infinity): Finding {
  const { classes, tokens, words, status } = it;
  if (classes[0] && tables.CANCELLED.includes(classes[0]) && !/time(?:d )?out/.test(folded)) {
    return { type: "unknown", reason: "agent_cancelled", retryable: false };
  }
  const names = new Set([...classes, ...tokens, ...words]);
  const [certificate, ...transports] = tables.TRANSPORT;
  const transport = (status === undefined ? [certificate, ...transports] : [certificate]).find(
    (row) => row?.names.some((name) => names.has(name)) || saysOneOf(folded, row?.phrases ?? []),
  );
  for (const [part, [type, reason]] of Object.entries(tables.WINDOWS)) {
    if ([...tokens].some((token) => token.includes(part))) return { type, reason };
  }
  if (status === undefined && it.isBug) return { type: "internal", reason: "uncaught_exception" };
  if (it.headers.get("anthropic-ratelimit-unified-status") === "rejected")
    return { type: "budget", reason: "usage_window" };
  if (transport && transport === certificate) return transport;
  const outranked =
    status === 402
      ? tables.PASSING
      : status === 429
        ? tables.LONG_INPUT
        : (status !== undefined && status < 429) || (status === undefined && transport)
          ? tables.VAGUE
          : [];
  const stated = [...tokens, ...classes.filter((name) => !tables.GENERIC.includes(name))].filter(
    (word) => !outranked.includes(word),
  );
  const isShort =
    !saysOneOf(folded, tables.PER_DAY) &&
    (saysOneOf(folded, tables.PER_MINUTE) ||
      folded.includes("throttl") ||
      wait <= MAX_AUTO_WAIT_SECONDS);
  for (const [type, strong, parts] of tables.STRONG) {
    if (stated.some((word) => strong.includes(word))) return { type };
    const sentences = type === "budget" && !isShort ? [...parts, ...tables.QUOTA] : parts;
    if (saysOneOf(folded, sentences, tables.UNLESS[type])) return { type };
  }
  const inProse = [...words].filter(
    (word) => !tables.GENERIC.includes(word) && !outranked.includes(word),
  );
  const spoken = tables.STRONG.find(([, strong]) => inProse.some((word) => strong.includes(word)));
  if (spoken) return { type: spoken[0] };
  const unlisted = [...tokens, ...classes].filter((word) => !tables.LISTED.includes(word));
  const isBlamed = status !== undefined && status < 429 && status !== 408;
  for (const [type, parts] of transport ? [] : tables.PARTS) {
    if (isBlamed && tables.TYPES[type].retryable) continue;
    if (parts.some((part) => unlisted.some((word) => word.includes(part)))) return { type };
  }
  const isEmpty = /^(?:json-rpc )?(?:internal error)?[ .:]*$/.test(folded);
  const row = it.rpcCode === undefined || isEmpty ? undefined : tables.CODES[it.rpcCode];
  if (row) return row;
  if (transport) return transport;
  const exact = status === undefined ? tables.EXACT[folded.replace(/^typeerror: /, "")] : undefined;
  if (exact) return transports.find((each) => each.reason === exact) ?? { type: "network" };
  const isFiner =
    status !== undefined && status < 500 && typeOfStatus(status) !== "invalid_request";
  for (const [type, weak] of tables.WEAK) {
    if (type === "provider_unavailable" && it.rpcCode !== undefined) continue;
    if ([...tokens].some((word) => weak.includes(word)) && !(type === "invalid_request" && isFiner))
      return { type };
  }
  if (status !== undefined) return { type: typeOfStatus(status) };
  const byClass = typeOfNames(classes);
  if (byClass) return { type: byClass };
  const mentioned = tables.MENTIONED.find(([, parts]) => saysOneOf(folded, parts));
  const named = mentioned?.[0] ?? typeOfNames([...words]);
  if (named) return { type: named };
  if (classes.some((name) => tables.BUILTINS.includes(name)))
    return { type: "internal", reason: "uncaught_exception" };
  return { type: it.rpcCode === -32603 && isEmpty ? "internal" : "unknown" };
}

const typeOfStatus = (status: number): ErrorType =>
  tables.STATUSES[status] ?? tables.STATUSES[status >= 500 ? "5xx" : "4xx"] ?? "unknown";

const typeOfNames = (names: readonly string[]): ErrorType | undefined =>
  tables.BY_CLASS[names.find((name) => tables.BY_CLASS[name]) ?? ""];

/** Whether the text has one of the parts; ` .. ` in a part stands for up to 100 characters. */
function saysOneOf(
  folded: string,
  parts: readonly string[],
  unless: readonly string[] = [],
): boolean {
  if (unless.some((part) => folded.includes(part))) return false;
  return parts.some((part) => {
    const [head = "", tail] = part.split(" .. ");
    const at = folded.indexOf(head);
    return (
      at >= 0 &&
      (tail === undefined ||
        folded.slice(at + head.length, at + head.length + 100 + tail.length).includes(tail))
    );
  });
}

// --- words for the user ---

/** The payload of a failure, complete and without secrets. */
export function payloadOf(
  failure: Failure,
  phase?: Phase,
  safety?: RetrySafety,
): AgentErrorPayload {
  const detail = failure.detail ? reword(redact(failure.detail)) : undefined;
  const action = failure.action ?? actionOf(failure, safety);
  const wait = failure.retryAfterSeconds;
  return given<AgentErrorPayload>({
    type: failure.type,
    message: failure.message
      ? oneLine(redact(failure.message)).slice(0, 500)
      : sentenceOf(failure, action, detail),
    detail: detail ? { text: cut(detail, 4000) } : undefined,
    retryable: failure.retryable,
    retry_after_seconds: wait === undefined ? wait : Math.ceil(wait),
    reset_at_epoch_ms: failure.resetAtEpochMs,
    reason: failure.reason,
    origin: failure.origin ?? tables.TYPES[failure.type].origin,
    phase,
    retry_safety: safety,
    action,
    http_status: failure.httpStatus,
    provider_code: failure.providerCode && redact(failure.providerCode).slice(0, 128),
    request_id: failure.requestId && redact(failure.requestId).slice(0, 128),
  });
}

function actionOf(
  { type, reason, retryable, retryAfterSeconds }: Failure,
  safety?: RetrySafety,
): Action {
  if (retryable && type !== "agent_crash") {
    if (safety === "ask") return "confirm_retry";
    if (safety === "offer_continue") return "continue";
  }
  const own = tables.REASONS[type]?.[reason ?? ""]?.action;
  if (own) return own;
  const isLost = tables.TYPES[type].retryable && !retryable && !retryAfterSeconds;
  if (isLost && (type === "rate_limit" || type === "provider_unavailable")) return "switch_model";
  if (isLost && (type === "timeout" || type === "network")) return "fix_configuration";
  return tables.TYPES[type].action;
}

function sentenceOf(
  { type, reason, retryAfterSeconds: wait }: Failure,
  action: Action,
  detail?: string,
): string {
  const own = tables.REASONS[type]?.[reason ?? ""];
  const quote =
    detail && ["unknown", "internal", "invalid_request"].includes(type) ? quoted(detail) : "";
  const when = wait ? ` in ${plainDuration(wait)}` : "";
  let advice = own?.advice ?? tables.ADVICE[action];
  if (when && action === "wait") advice = `Try again${when}.`;
  if (when && action === "top_up")
    advice = `Add credits, switch to another model, or try again${when}.`;
  if (when && ["continue", "confirm_retry", "retry"].includes(action))
    advice = `${advice.replace(/\.$/, "")}${when}.`;
  return `${own?.sentence ?? tables.TYPES[type].sentence}${quote} ${advice}`.slice(0, 500);
}

function quoted(detail: string): string {
  const plain = oneLine(detail.trim().split("\n").at(-1) ?? "")
    .replaceAll('"', "'")
    .replace(/\.+$/, "")
    .replace(/^(?:internal )?error\s?:?\s?/i, "");
  return plain ? ` It said: "${cut(plain, 200)}".` : "";
}

/** The text on one line, without what a client reads as markup or as a signal. */
export function oneLine(text: string): string {
  const plain = text
    .replace(/[\p{C}\p{Z}`*<>{}\\|]+/gu, " ")
    .replaceAll("[", "(")
    .replaceAll("]", ")");
  return reword(plain.trim());
}

function reword(text: string): string {
  return Object.entries(tables.MISREAD).reduce(
    (done, [from, to]) => done.replace(new RegExp(from, "gi"), to),
    text,
  );
}

/** The text cut to a number of bytes of UTF-8. */
export function cut(text: string, bytes: number): string {
  if (new TextEncoder().encode(text).length <= bytes) return text;
  const start = new TextEncoder().encode(text).slice(0, bytes - 3);
  return `${new TextDecoder().decode(start, { stream: true })}...`;
}

function plainDuration(seconds: number): string {
  for (const [size, unit, limit] of [
    [1, "second", 91],
    [60, "minute", 5401],
    [3600, "hour", 172_801],
    [DAY_SECONDS, "day", Infinity],
  ] as const) {
    const count = Math.ceil(seconds / size);
    if (seconds < limit) return `${count} ${unit}${count === 1 ? "" : "s"}`;
  }
  return "";
}
