/**
 * A client on the official TypeScript SDK (its stable v1 API) that writes down everything it is
 * given. Owns: one session with the command after `--`, and one JSON line on stdout for each thing
 * that happened: `wire` is what passed over the pipes, `update` is what the SDK delivered to user
 * code, `log` is what the SDK itself complained about. Does not own: any judgement. It knows
 * nothing of lastword, and `agent_error` is foreign to its SDK. `client_py.py` writes the same.
 */
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import { parseArgs } from "node:util";
import { PROTOCOL_VERSION, RequestError, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const FUSE_EXIT = 3;
const CLOSE_GRACE_MS = 2000;
const REPORTED_LINE = 1024 * 1024;
const started = performance.now();

function report(event, fields = {}) {
  const t = Math.round(performance.now() - started) / 1000;
  process.stdout.write(`${JSON.stringify({ event, t, ...fields })}\n`);
}

for (const level of ["log", "info", "warn", "error", "debug"]) {
  console[level] = (...parts) => {
    const text = parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part)));
    report("log", { level, text: text.join(" ") });
  };
}

function parse(argv) {
  const at = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const { values } = parseArgs({
    args: argv.slice(0, at),
    options: {
      "agent-error": { type: "boolean", default: false },
      "stop-reason": { type: "boolean", default: false },
      name: { type: "string", default: "interop-ts" },
      cwd: { type: "string", default: "." },
      prompt: { type: "string", multiple: true, default: ["What is the answer?"] },
      pause: { type: "string", default: "0" },
      linger: { type: "string", default: "0.2" },
      timeout: { type: "string", default: "60" },
      "turn-timeout": { type: "string", default: "0" },
      probe: { type: "boolean", default: false },
      "undrained-stderr": { type: "boolean", default: false },
    },
  });
  return { ...values, cwd: resolve(values.cwd), command: argv.slice(at + 1) };
}

function reportLine(direction, line) {
  if (line.length > REPORTED_LINE) {
    report("wire", { direction, bytes: line.length });
    return;
  }
  try {
    report("wire", { direction, message: JSON.parse(line) });
  } catch {
    report("wire", { direction, raw: line });
  }
}

/** Passes bytes on unchanged and notes each whole line of them. */
function tee(direction) {
  const decoder = new TextDecoder();
  let pending = [];
  return new TransformStream({
    transform(chunk, controller) {
      pending.push(decoder.decode(chunk, { stream: true }));
      if (pending.at(-1).includes("\n")) {
        const lines = pending.join("").split("\n");
        pending = [lines.pop()];
        for (const line of lines) reportLine(direction, line);
      }
      controller.enqueue(chunk);
    },
    flush() {
      const rest = pending.join("");
      if (rest) reportLine(direction, rest);
      if (direction === "in") report("eof");
    },
  });
}

function streamOf(child) {
  const outgoing = tee("out");
  outgoing.readable.pipeTo(Writable.toWeb(child.stdin)).catch(() => {});
  return ndJsonStream(outgoing.writable, Readable.toWeb(child.stdout).pipeThrough(tee("in")));
}

function allowOnce({ params }) {
  const kinds = params.options.map((option) => option.kind);
  report("permission", { session: params.sessionId, options: kinds });
  const chosen = params.options.find((option) => option.kind === "allow_once");
  return { outcome: chosen ? { outcome: "selected", optionId: chosen.optionId } : { outcome: "cancelled" } };
}

function noteUpdate({ params }) {
  const { sessionId, update } = params;
  report("update", { kind: update.sessionUpdate, session: sessionId, update });
}

function capabilities(options) {
  if (!options["agent-error"]) return {};
  const extension = { version: 1, ...(options["stop-reason"] ? { stop_reason: true } : {}) };
  return { _meta: { agent_error: extension } };
}

function describe(error) {
  if (error instanceof RequestError) {
    return ["error", { code: error.code, message: error.message, data: error.data }];
  }
  return ["exception", { cause: error?.constructor?.name ?? typeof error, text: String(error) }];
}

class Hang extends Error {}

/** The promise's value, or a Hang once the turn's fuse has blown. */
function fused(promise) {
  const seconds = Number(options["turn-timeout"]);
  if (!seconds) return promise;
  const blown = pause(seconds * 1000).then(() => Promise.reject(new Hang(`no answer in ${seconds} s`)));
  return Promise.race([promise, blown]);
}

async function prompt(agent, sessionId, n, text) {
  report("prompt", { n });
  const from = performance.now();
  const seconds = () => Math.round(performance.now() - from) / 1000;
  try {
    const params = { sessionId, prompt: [{ type: "text", text }] };
    const result = await fused(agent.request(methods.agent.session.prompt, params));
    report("answer", { n, seconds: seconds(), stop_reason: result.stopReason, result });
  } catch (error) {
    const [event, fields] = error instanceof Hang ? ["hang", {}] : describe(error);
    report(event, { n, seconds: seconds(), ...fields });
  }
}

async function converse(agent, options) {
  let stage = "initialize";
  try {
    const hello = {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: capabilities(options),
      clientInfo: { name: options.name, version: "1.0.0" },
    };
    const result = await fused(agent.request(methods.agent.initialize, hello));
    report("initialized", { result });
    stage = "session/new";
    const opening = { cwd: options.cwd, mcpServers: [] };
    const { sessionId } = await fused(agent.request(methods.agent.session.new, opening));
    report("session", { id: sessionId });
    for (const [n, text] of options.prompt.entries()) {
      if (n) await pause(Number(options.pause) * 1000);
      await prompt(agent, sessionId, n, text);
    }
    if (options.probe) {
      stage = "probe";
      const again = await fused(agent.request(methods.agent.session.new, opening));
      await prompt(agent, again.sessionId, options.prompt.length, "hello");
    }
    await pause(Number(options.linger) * 1000);
  } catch (error) {
    report("failed", { stage, ...describe(error)[1] });
  }
}

function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds));
}

/** Closes stdin, then asks, then kills: what editors do. */
async function end(child, exited) {
  const from = performance.now();
  const gone = () => Promise.race([exited.then(() => true), pause(CLOSE_GRACE_MS).then(() => false)]);
  report("closing", { already_exited: child.exitCode !== null || child.signalCode !== null });
  child.stdin.end();
  for (const signal of ["SIGTERM", "SIGKILL"]) {
    if (await gone()) break;
    child.kill(signal);
  }
  const { code, signal } = await exited;
  report("ended", { returncode: code, signal, seconds: Math.round(performance.now() - from) / 1000 });
}

const options = parse(process.argv.slice(2));
const [command, ...args] = options.command;
const child = spawn(command, args, { stdio: ["pipe", "pipe", options["undrained-stderr"] ? "pipe" : "inherit"], cwd: options.cwd });
const exited = new Promise((done) => child.on("exit", (code, signal) => done({ code, signal })));
child.on("error", (error) => {
  report("failed", { stage: "spawn", text: String(error) });
  process.exit(1);
});
child.stdin.on("error", () => {});
report("spawned", { pid: child.pid });

const connection = client({ name: options.name })
  .onRequest(methods.client.session.requestPermission, allowOnce)
  .onNotification(methods.client.session.update, noteUpdate)
  .connect(streamOf(child));

let status = 0;
const fuse = pause(Number(options.timeout) * 1000).then(() => {
  report("fuse");
  status = FUSE_EXIT;
});
await Promise.race([converse(connection.agent, options), fuse]);
await end(child, exited);
process.exit(status);
