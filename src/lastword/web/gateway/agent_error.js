// Types generated from protocol/schema.json by protocol/typescript/generate.py.
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
];
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
];
export const ORIGIN = [
    "provider",
    "network",
    "agent",
    "process",
    "client",
    "lastword",
];
export const PHASE = [
    "startup",
    "before_request",
    "before_output",
    "mid_output",
    "tool_running",
    "after_tool",
];
export const RETRY_SAFETY = [
    "auto",
    "offer_continue",
    "ask",
    "never",
];
export const SETS = new Map([
    ["origin", ORIGIN],
    ["phase", PHASE],
    ["retry_safety", RETRY_SAFETY],
    ["action", ACTION],
]);
export const COUNTS = ["retry_after_seconds", "reset_at_epoch_ms", "attempts"];
export const WHOLES = ["http_status", "exit_code"];
export const TEXTS = ["source", "reason", "provider_code", "request_id", "exit_signal", "incident_id"];
const RETRYABLE = [
    ...["rate_limit", "provider_unavailable", "timeout", "network"],
    ...["agent_crash", "agent_stalled", "stderr_overflow"],
];
const CODES = { [-32000]: "auth", [-32800]: "cancelled" };
/**
 * Says how a turn failed, if this tells that one did: a `session/update` (the notification, its
 * params or its `update`), a prompt's result, a response, an error, or what an SDK threw. `null`
 * for anything else. An error without a payload gets its type from its code or `errorKind` alone.
 */
export function readError(message) {
    const it = object(message);
    if ("method" in it || "sessionUpdate" in it || "update" in it)
        return ofUpdate(it);
    if (typeof it.type === "string" && typeof it.retryable === "boolean")
        return ofPayload(it);
    if ("stopReason" in it || "_meta" in it)
        return ofResult(it);
    if (it.error != null)
        return ofError(it.error);
    if ("result" in it)
        return ofResult(object(it.result));
    const hasCode = typeof it.code === "number" || typeof it.code === "string";
    return hasCode && ("message" in it || "data" in it) ? ofError(it) : null;
}
function ofUpdate(it) {
    const params = it.method === "session/update" ? object(it.params) : it;
    const update = "sessionUpdate" in it ? it : object(params.update);
    const kind = update.sessionUpdate;
    if (kind === "agent_error" || kind === "_agent_error") {
        const said = [update.message, update.text, update.error].find((text) => sentence(text));
        return ofPayload(isObject(update.error) ? update.error : { message: said, detail: update.raw });
    }
    if (kind === "session_info_update")
        return ofMeta(update);
    const failed = kind === "state_update" && update.state === "idle" && update.stopReason === "error";
    return failed ? ofError(update.error) : null;
}
function ofResult(result) {
    if (result.stopReason === "cancelled")
        return null;
    return ofMeta(result) ?? (result.stopReason === "error" ? ofError(result.error) : null);
}
function ofError(error) {
    const { code, message, data } = object(error);
    const meta = ofMeta({ _meta: data });
    if (meta)
        return meta;
    const kind = ERROR_TYPE.find((word) => word === object(data).errorKind);
    const type = kind ?? (typeof code === "number" ? CODES[code] : undefined) ?? "unknown";
    // -31050 says that a retry is of no use, whatever the type.
    const retryable = code !== -31050 && RETRYABLE.includes(type);
    const said = message || object(data).details;
    return ofPayload({ type, message: said, retryable, retry_safety: retryable ? "ask" : "never" });
}
function ofMeta(carrier) {
    const payload = object(carrier._meta).agent_error;
    if (!isObject(payload))
        return null;
    const isAdvertisement = "version" in payload && !("type" in payload || "message" in payload);
    return isAdvertisement ? null : ofPayload(payload);
}
function ofPayload(payload) {
    const read = Object.entries(payload).map(([key, value]) => [key, member(key, value)]);
    const known = read.filter(([key, value]) => key !== "stopReason" && value != null);
    const it = Object.fromEntries(known);
    const type = ERROR_TYPE.find((word) => word === it.type) ?? "unknown";
    const message = sentence(it.message) || NO_MESSAGE;
    const retryable = it.retryable === undefined ? RETRYABLE.includes(type) : it.retryable === true;
    return { ...it, type, message, retryable };
}
function member(key, value) {
    const number = typeof value === "number" && Math.abs(value) <= 2 ** 53 ? value : NaN;
    const text = typeof value === "string" ? value : Number.isInteger(number) ? `${number}` : null;
    if (key === "detail")
        return isObject(value) ? value : text ? { text } : null;
    if (COUNTS.includes(key))
        return number >= 0 ? Math.ceil(number) : null;
    if (WHOLES.includes(key))
        return Number.isInteger(number) ? number : null;
    if (TEXTS.includes(key))
        return text && [...text].slice(0, 500).join("");
    return SETS.get(key)?.includes(value) ?? true ? value : null;
}
function sentence(value) {
    const plain = (typeof value === "string" ? value : "").replace(/[\p{C}\p{Z}`*<>{}\\|]+/gu, " ");
    const said = [...plain.replaceAll("[", "(").replaceAll("]", ")").trim()];
    return said.length > 500 ? `${said.slice(0, 499).join("")}…` : said.join("");
}
const NO_MESSAGE = "The agent reported a failure without saying which.";
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const object = (value) => (isObject(value) ? value : {});
