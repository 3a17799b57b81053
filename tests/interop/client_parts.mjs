/**
 * What the clients on the TypeScript SDK share: options, reporting, the agent's process, the session,
 * and a stream in front of the SDK's for updates that it would drop. Knows none of its versions.
 */
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { parseArgs } from "node:util";

const FUSE_EXIT = 3;
const UNUSABLE_EXIT = 2;
const CLOSE_GRACE_MS = 2000;

export function report(event, fields = {}) {
  process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
}

/** Makes `log` lines of what the SDK complains about. */
export function takeConsole() {
  for (const level of ["log", "info", "warn", "error", "debug"]) {
    console[level] = (...parts) => {
      const text = parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part)));
      report("log", { level, text: text.join(" ") });
    };
  }
}

/** The options before `--` and the command after it; `more` are a client's own. */
export function parse(argv, { protocol, name, more = {} }) {
  const at = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const { values } = parseArgs({
    args: argv.slice(0, at),
    options: {
      name: { type: "string", default: name },
      cwd: { type: "string", default: "." },
      meta: { type: "string" },
      protocol: { type: "string", default: protocol },
      prompt: { type: "string", multiple: true, default: ["What is the answer?"] },
      linger: { type: "string", default: "0.2" },
      timeout: { type: "string", default: "900" },
      "turn-timeout": { type: "string", default: "0" },
      probe: { type: "boolean", default: false },
      "own-stream": { type: "boolean", default: false },
      ...more,
    },
  });
  if (values.protocol !== protocol) {
    process.stderr.write(`This client speaks protocol version ${protocol} only.\n`);
    process.exit(UNUSABLE_EXIT);
  }
  return { ...values, cwd: resolve(values.cwd), command: argv.slice(at + 1) };
}

/** Starts the agent; its stderr is ours unless somebody wants to see what an unread pipe does. */
export function start(options) {
  const [command, ...args] = options.command;
  const stderr = options["undrained-stderr"] ? "pipe" : "inherit";
  const child = spawn(command, args, { stdio: ["pipe", "pipe", stderr], cwd: options.cwd });
  const exited = new Promise((done) => child.on("exit", done));
  child.on("error", (error) => {
    report("failed", { stage: "spawn", text: String(error) });
    process.exit(1);
  });
  child.stdin.on("error", () => {});
  return { child, exited };
}

/** Closes stdin, then asks, then kills: what editors do. */
async function end({ child, exited }) {
  const gone = () => Promise.race([exited.then(() => true), pause(CLOSE_GRACE_MS).then(() => false)]);
  child.stdin.end();
  for (const signal of ["SIGTERM", "SIGKILL"]) {
    if (await gone()) break;
    child.kill(signal);
  }
  await exited;
}

function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds));
}

class Hang extends Error {}

/** The promise's value, or a Hang once the turn's fuse has blown. */
function fused(promise, options) {
  const seconds = Number(options["turn-timeout"]);
  if (!seconds) return promise;
  const blown = pause(seconds * 1000).then(() => Promise.reject(new Hang(`no answer in ${seconds} s`)));
  return Promise.race([promise, blown]);
}

/** An event and its fields for whatever was thrown; SDKs throw errors of the agent's as they like. */
function describe(error) {
  if (error instanceof Hang) return ["hang", {}];
  if (typeof error?.code === "number") {
    return ["error", { code: error.code, message: error.message, data: error.data }];
  }
  return ["exception", { cause: error?.constructor?.name ?? typeof error, text: String(error) }];
}

/** Says how a turn ends: the promise's result, or what it was rejected with. */
async function reportTurn(n, promise, options) {
  try {
    const result = await fused(promise, options);
    report("answer", { n, stop_reason: result.stopReason, result });
  } catch (error) {
    const [event, fields] = describe(error);
    report(event, { n, ...fields });
  }
}

/** Allows once what the agent asks for. */
export function allowOnce({ options }) {
  const chosen = options.find((option) => option.kind === "allow_once");
  return { outcome: chosen ? { outcome: "selected", optionId: chosen.optionId } : { outcome: "cancelled" } };
}

export function noteUpdate({ update }) {
  report("update", { kind: update.sessionUpdate, update });
}

/** A connection's requests by the names of their methods, as two of the SDK's APIs have them. */
export function requests(connection, { agent }) {
  return {
    initialize: (params) => connection.request(agent.initialize, params),
    open: (params) => connection.request(agent.session.new, params),
    prompt: (params) => connection.request(agent.session.prompt, params),
  };
}

/** Initializes, opens a session and prompts in sequence; then ends the agent and this process. */
export async function converse(agent, options, hello, { initialize, open, prompt }) {
  const status = await underFuse(session(), options);
  await end(agent);
  process.exit(status);

  async function turn(sessionId, n, text) {
    report("prompt", { n });
    await reportTurn(n, prompt({ sessionId, prompt: [{ type: "text", text }] }), options);
  }

  async function session() {
    const opening = { cwd: options.cwd, mcpServers: [] };
    let stage = "initialize";
    try {
      await fused(initialize(hello), options);
      stage = "session/new";
      const { sessionId } = await fused(open(opening), options);
      for (const [n, text] of options.prompt.entries()) await turn(sessionId, n, text);
      if (options.probe) {
        stage = "probe";
        const again = await fused(open(opening), options);
        await turn(again.sessionId, options.prompt.length, "hello");
      }
      await pause(Number(options.linger) * 1000);
    } catch (error) {
      report("failed", { stage, ...describe(error)[1] });
    }
  }
}

/** Runs the session under the fuse for all of it; the process's exit status. */
async function underFuse(session, options) {
  let status = 0;
  const fuse = pause(Number(options.timeout) * 1000).then(() => {
    report("fuse");
    status = FUSE_EXIT;
  });
  await Promise.race([session, fuse]);
  return status;
}

/** The SDK's stream, but that failures and retries are noted instead of being dropped by its validation. */
export function withErrors(stream) {
  const tap = new TransformStream({
    transform(message, controller) {
      const told = message.method === "session/update" && message.params?.update;
      if (told && /^agent_(error|retry)$/.test(told.sessionUpdate)) noteUpdate(message.params);
      else controller.enqueue(message);
    },
  });
  return { writable: stream.writable, readable: stream.readable.pipeThrough(tap) };
}
