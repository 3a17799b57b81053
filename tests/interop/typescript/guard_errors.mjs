// Makes the errors of model SDKs and of the runtime, each with its package's own class, and prints
// the payload that the guard, in the folder that the first argument names, makes of each.
import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const packageOf = createRequire(`${process.argv[2]}/package.json`);
const load = (name) => import(pathToFileURL(packageOf.resolve(name)));
const [{ classify, TurnError }, { payloadOf }] = await Promise.all(
  ["guard", "classify"].map((name) => import(pathToFileURL(`${process.argv[2]}/dist/${name}.js`))),
);
const [ai, openai, anthropic, google, undici] = await Promise.all(
  ["ai", "openai", "@anthropic-ai/sdk", "@google/genai", "undici"].map(load),
);

const NOW = 1_790_000_000_000;
const KEY = "sk-test-0123456789abcdefghijABCDEFGHIJ0123456789";
const call = (statusCode, body, responseHeaders = {}) =>
  new ai.APICallError({
    message: body?.error?.message ?? "Failed",
    url: "https://api.example/v1",
    requestBodyValues: {},
    statusCode,
    responseHeaders,
    responseBody: JSON.stringify(body),
  });
const body = (type, message, more = {}) => ({ error: { type, message, ...more } });
const ofOpenai = (status, error, headers = {}) =>
  openai.APIError.generate(status, { error }, undefined, new Headers(headers));
const ofAnthropic = (status, type, message, headers = {}) =>
  anthropic.APIError.generate(
    status,
    { type: "error", error: { type, message } },
    undefined,
    new Headers(headers),
  );
const ofGoogle = (status, error) =>
  new google.ApiError({ status, message: JSON.stringify({ error }) });
const failed = (cause) => new TypeError("fetch failed", { cause });
const thrownBy = (run) => {
  try {
    run();
  } catch (error) {
    return error;
  }
};

async function refused() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return fetch(`http://127.0.0.1:${port}`).catch((error) => error);
}

const errors = {
  "ai 429": call(429, body("rate_limit_error", "Slow down"), { "retry-after": "20" }),
  "ai 429 in milliseconds": call(429, body("rate_limit_error", "Slow down"), {
    "retry-after-ms": "1500",
  }),
  "ai quota": call(429, body("insufficient_quota", "You exceeded your current quota")),
  "ai 529 after retries": new ai.RetryError({
    message: "Failed after 3 attempts",
    reason: "maxRetriesExceeded",
    errors: [
      call(529, body("overloaded_error", "Overloaded")),
      call(529, body("overloaded_error", "Overloaded")),
    ],
  }),
  "ai context": call(
    400,
    body("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
  ),
  "ai no answer": new ai.APICallError({
    message: "Cannot connect to API",
    url: "https://api.example",
    requestBodyValues: {},
    cause: Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" }),
  }),
  "ai key": call(401, body("authentication_error", `Incorrect API key provided: ${KEY}`)),
  "openai 429": ofOpenai(
    429,
    { code: "rate_limit_exceeded", message: "Rate limit reached" },
    { "retry-after": "7", "x-request-id": "req_9" },
  ),
  "openai quota": ofOpenai(429, {
    code: "insufficient_quota",
    message: "You exceeded your current quota",
  }),
  "openai context": ofOpenai(400, {
    code: "context_length_exceeded",
    message: "This model's maximum context length is 8192 tokens.",
  }),
  "openai key": ofOpenai(401, {
    code: "invalid_api_key",
    message: `Incorrect API key provided: ${KEY}`,
  }),
  "openai model": ofOpenai(404, { code: "model_not_found", message: "The model does not exist" }),
  "openai 500": ofOpenai(500, { type: "server_error", message: "The server had an error" }),
  "openai connection": new openai.APIConnectionError({
    cause: failed(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })),
  }),
  "openai timeout": new openai.APIConnectionTimeoutError(),
  "openai abort": new openai.APIUserAbortError(),
  "openai policy": ofOpenai(400, { code: "content_filter", message: "The response was filtered" }),
  "anthropic 429": ofAnthropic(
    429,
    "rate_limit_error",
    "This request would exceed your rate limit",
    { "retry-after": "600", "request-id": "req_1" },
  ),
  "anthropic overloaded": ofAnthropic(529, "overloaded_error", "Overloaded"),
  "anthropic credit": ofAnthropic(
    400,
    "invalid_request_error",
    "Your credit balance is too low to access the Anthropic API.",
  ),
  "anthropic context": ofAnthropic(
    400,
    "invalid_request_error",
    "prompt is too long: 210000 tokens > 200000 maximum",
  ),
  "anthropic window": ofAnthropic(429, "rate_limit_error", "Limit reached", {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": String(NOW / 1000 + 7200),
  }),
  "anthropic request": ofAnthropic(
    400,
    "invalid_request_error",
    "messages: at least one message is required",
  ),
  "google per day": ofGoogle(429, {
    code: 429,
    status: "RESOURCE_EXHAUSTED",
    message: "You exceeded your current quota",
    details: [{ violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }] }],
  }),
  "google per minute": ofGoogle(429, {
    code: 429,
    status: "RESOURCE_EXHAUSTED",
    message: "Quota exceeded",
    details: [
      { violations: [{ quotaId: "GenerateRequestsPerMinutePerProjectPerModel" }] },
      { retryDelay: "33.2s" },
    ],
  }),
  "google 503": ofGoogle(503, {
    code: 503,
    status: "UNAVAILABLE",
    message: "The model is overloaded",
  }),
  "google key": ofGoogle(400, {
    code: 400,
    status: "INVALID_ARGUMENT",
    message: "API key not valid",
    details: [{ reason: "API_KEY_INVALID" }],
  }),
  "undici headers": failed(new undici.errors.HeadersTimeoutError()),
  "undici socket": failed(new undici.errors.SocketError("other side closed")),
  "undici terminated": new TypeError("terminated", {
    cause: new undici.errors.SocketError("other side closed"),
  }),
  "fetch refused": await refused(),
  "fetch without a cause": new TypeError("fetch failed"),
  "unknown host": failed(
    Object.assign(new Error("getaddrinfo ENOTFOUND api.example"), { code: "ENOTFOUND" }),
  ),
  certificate: failed(
    Object.assign(new Error("certificate has expired"), { code: "CERT_HAS_EXPIRED" }),
  ),
  deadline: new DOMException("The operation was aborted due to timeout", "TimeoutError"),
  bug: thrownBy(() => undefined.rate_limit),
  nothing: undefined,
  text: "429 Too Many Requests",
  unreadable: Object.defineProperty(new Error("x"), "message", {
    get: () => {
      throw new Error("no");
    },
  }),
  "author's": new TurnError("budget", "Your team's budget is used up. Ask Ada.", {
    action: "report",
  }),
  "author's without a wait": new TurnError("rate_limit", "Wait.", {
    retryAfterSeconds: Number(undefined),
  }),
  unrecognised: new Error("The flux capacitor is misaligned"),
};
const payloads = Object.entries(errors).map(([name, error]) => [
  name,
  payloadOf(classify(error, NOW), "before_output", "ask"),
]);
process.stdout.write(JSON.stringify(Object.fromEntries(payloads)));
